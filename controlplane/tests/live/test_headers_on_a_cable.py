"""Frames of every stack of headers go through a cable of the kernel, are found again and counted."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import partial

import pytest
from support.linux_devices import TARGETS, needs_root, shipped_on, valid
from support.stacks import STACKS

from p4mesh.layers import Frame
from p4mesh.layers.notation import frame_of_text
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

pytestmark = [pytest.mark.live, needs_root]
FRAMES, STREAMS = 20, 40


@pytest.mark.parametrize("target", TARGETS)
def test_frames_of_every_stack_are_counted(target: str) -> None:
    """Method: several trials, each with a part of the stacks."""
    names = list(STACKS)
    with open_measurer(shipped_on("back-to-back"), target) as measurer:
        for first in range(0, len(names), STREAMS):
            chosen = names[first : first + STREAMS]
            streams = tuple(
                Stream(name, 300, Fraction(50), FRAMES, Pairs(), (1,), (2,), Frame(STACKS[name])) for name in chosen
            )
            spec = TrialSpec("all", streams, 4 * 10**8, Learning(enabled=False), 3 * 10**8, 0, per_flow=True)
            result = valid(partial(measurer.measure, spec))
            assert {flow.stream: flow.rx_frames for flow in result.flows} == dict.fromkeys(chosen, FRAMES)
            assert (result.corrupted_frames, result.duplicate_frames) == (0, 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("headers", "found"), [("mpls(label=100)/ipv4/udp", True), ("mpls(ttl=63)/ipv4/udp", False)])
def test_headers_that_came_are_compared(target: str, headers: str, found: bool) -> None:
    """Goal: a trial with other headers than those that the device was to make is INVALID, and names both."""
    frame = frame_of_text("mpls(label=100, ttl=64)/ipv4/udp")
    stream = Stream("one", 256, Fraction(200), FRAMES, Pairs(), (1,), (2,), frame)
    with open_measurer(shipped_on("back-to-back"), target) as measurer:
        spec = TrialSpec("one", (stream,), 10**8, Learning(enabled=False), 3 * 10**8, 0, received_headers=headers)
        result = measurer.measure(spec)
    assert result.rx_frames == FRAMES
    if found:
        assert (result.status, result.reason) == (Verdict.MEASURED, "")
    else:
        assert result.status is Verdict.INVALID
        assert re.fullmatch(r"headers: port 2 received mpls\(label=100\)/ipv4.*, not mpls\(ttl=63\).*", result.reason)
