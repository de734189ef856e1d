"""Every way of up to four layers behind Ethernet is sent, received and counted exactly, many streams at a time."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.networks import shipped
from support.stacks import STACKS, stacks_of_depth

from p4mesh.errors import ParameterError
from p4mesh.layers import Frame
from p4mesh.tester.sendable import require_sendable
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

STREAMS, FRAMES = 32, 3
"""Streams of a trial: half of those of the program, so that their seeds fit into the loop."""


def has_room(frame: Frame) -> bool:
    """Whether the program takes so many headers; no other reason refuses these ways."""
    try:
        require_sendable("any", frame)
    except ParameterError as error:
        assert "bytes of headers between" in error.message
        return False
    return True


def assert_counted(frames: list[Frame]) -> None:
    """Assert that each frame of each stream is received in its flow, and nothing else."""
    with open_measurer(shipped("back-to-back")) as measurer:
        for number in range(0, len(frames), STREAMS):
            streams = tuple(
                Stream(f"s{place}", 300, Fraction(10_000), FRAMES, Pairs(), (1,), (2,), frame)
                for place, frame in enumerate(frames[number : number + STREAMS])
            )
            result = measurer.measure(TrialSpec("any", streams, 300_000, Learning(enabled=False), per_flow=True))
            assert (result.status, result.reason) == (Verdict.MEASURED, "")
            received = {flow.stream: flow.rx_frames for flow in result.flows}
            kinds = {stream.name: [layer.kind for layer in stream.frame.layers] for stream in streams}
            assert {name: kinds[name] for name, count in received.items() if count != FRAMES} == {}
            assert (result.tx_frames, result.rx_frames) == (FRAMES * len(streams), FRAMES * len(streams))


@pytest.mark.parametrize(("depth", "ways", "fit"), [(1, 6, 6), (2, 36, 34), (3, 188, 125), (4, 992, 397)])
def test_every_way_of_layers_that_the_program_has_room_for_is_counted_exactly(depth: int, ways: int, fit: int) -> None:
    frames = list(stacks_of_depth(depth))
    sent = [frame for frame in frames if has_room(frame)]
    assert (len(frames), len(sent)) == (ways, fit)
    assert_counted(sent)


def test_chosen_stacks_are_counted_exactly() -> None:
    assert_counted([Frame(layers) for layers in STACKS.values()])
