"""RFC 2889 5.1.2, several addresses per port: all of them are learned, used by every frame, and owned by their port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import pytest
from support.networks import parsed, switch
from support.runs import truth

from p4mesh.errors import ParameterError
from p4mesh.layers import udp
from p4mesh.tester.stream_checks import check_stream
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import FieldModifier, Progression, Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

PORTS = (1, 2, 3, 4)
ADDRESSES = 8
MESH = Stream("mesh", 64, Fraction(100_000), 3_000, FullMesh(), PORTS, PORTS, addresses_per_port=ADDRESSES)


@contextmanager
def table_of(entries: int) -> Iterator[TrialEngine]:
    with open_measurer(parsed(switch(f"mac_table: {{entries: {entries}}}"))) as measurer:
        yield measurer


def trial(learning: Learning) -> TrialSpec:
    return TrialSpec("mesh", (MESH,), 30_000_000, learning, 0, 0, per_flow=True)


def test_a_table_that_holds_all_addresses_forwards_every_frame_to_its_port() -> None:
    with table_of(len(PORTS) * ADDRESSES) as measurer:
        result = measurer.measure(trial(Learning(wait_ns=1_000_000)))
    assert (result.status, result.lost_frames, result.flooded_frames) == (Verdict.MEASURED, 0, 0)
    assert {flow.rx_frames for flow in result.flows} == {1_000}, "the order of the ports is that of one address"


def test_learning_is_not_verified_when_one_address_finds_no_room() -> None:
    with table_of(len(PORTS) * ADDRESSES - 1) as measurer:
        result = measurer.measure(trial(Learning(wait_ns=1_000_000)))
    assert result.status is Verdict.INVALID
    assert "flooded" in result.reason


def test_frames_come_from_every_address() -> None:
    """Without a learning phase the switch learns from the test frames alone."""
    with table_of(1024) as measurer:
        measurer.measure(trial(Learning(enabled=False)))
        counted = truth(measurer)["nodes"]["dut"]
    assert counted["counters"]["learned"] == len(PORTS) * ADDRESSES


@pytest.mark.parametrize("count", [0, 3, 2048])
def test_the_number_is_a_power_of_two(count: int) -> None:
    with pytest.raises(ParameterError, match=f"{count} addresses per port"):
        check_stream(replace(MESH, addresses_per_port=count))


def test_addresses_take_both_modifiers() -> None:
    modifier = FieldModifier(udp.DESTINATION, Progression(4))
    with pytest.raises(ParameterError, match="beside modifiers"):
        check_stream(replace(MESH, modifiers=(modifier,)))
