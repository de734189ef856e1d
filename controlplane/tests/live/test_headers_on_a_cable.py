"""Frames of every stack of headers go through a cable of the kernel, are found again and counted."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.linux_devices import TARGETS, needs_root, shipped_on, valid
from support.stacks import STACKS

from p4mesh.layers import Frame
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, needs_root]
FRAMES = 20


@pytest.mark.parametrize("target", TARGETS)
def test_frames_of_every_stack_are_counted(target: str) -> None:
    streams = tuple(
        Stream(f"s{place}", 300, Fraction(50), FRAMES, Pairs(), (1,), (2,), Frame(layers))
        for place, layers in enumerate(STACKS.values())
    )
    with open_measurer(shipped_on("back-to-back"), target) as measurer:
        spec = TrialSpec("all", streams, 4 * 10**8, Learning(enabled=False), 3 * 10**8, 0, per_flow=True)
        result = valid(lambda: measurer.measure(spec))
    names = dict(zip((stream.name for stream in streams), STACKS, strict=True))
    assert {names[flow.stream]: flow.rx_frames for flow in result.flows} == dict.fromkeys(STACKS, FRAMES)
    assert (result.corrupted_frames, result.duplicate_frames) == (0, 0)
