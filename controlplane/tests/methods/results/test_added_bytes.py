"""Kinds of latency where a device adds bytes: the frame that leaves is longer than the one that came."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from support.networks import network, node, parsed

from p4mesh.methods.results.latency import Definition, offset_ns
from p4mesh.run.options import RunOptions
from p4mesh.run.traffic import run_traffic

TEN_GIGABIT = 10**10
TAG_NS, FRAME_NS = 8 * 4 / 10, 8 * 64 / 10
FIFO_NS = FRAME_NS + 600 + 2 * 5
"""Store and forward, 600 ns in the device, two cables of 5 ns."""

TRAFFIC = """\
name: tagged
latency_definition: {definition}
phases: {{learning_wait_ms: 1, settle_ms: 1, restabilise_ms: 0}}
classes:
  one: {{senders: 1, receivers: 2, pattern: pairs, rate: 20 %, sizes: 64, frames: 1000}}
"""


@pytest.mark.parametrize(
    ("definition", "expected_ns"),
    [
        ("FIFO", FIFO_NS),
        ("LIFO", FIFO_NS - FRAME_NS),
        ("LILO", FIFO_NS + TAG_NS),
        ("FILO", FIFO_NS + FRAME_NS + TAG_NS),
        ("MIMO", FIFO_NS + TAG_NS),
    ],
)
def test_a_tag_that_a_device_adds_is_a_part_of_the_frame_that_leaves(
    tmp_path: Path, definition: str, expected_ns: float
) -> None:
    members = "{port: 1, mode: {access: 100}}, {port: 2, mode: {trunk: {vids: [100, 200], native: 200}}}"
    dut = node("dut", "latency_ns: 600", f"vlans: {{ports: [{members}]}}", ports=2, rates_bps=TEN_GIGABIT)
    links = [(f"tester:{port}", f"dut:{port}", "latency_ns: 5") for port in (1, 2)]
    topology = parsed(network(dut, links=links, ports=2, rates_bps=TEN_GIGABIT, tester="clock_tick_ps: 100"))
    (tmp_path / "traffic.yaml").write_text(TRAFFIC.format(definition=definition))
    run = run_traffic(RunOptions(tmp_path / "traffic.yaml", topology, None, (), tmp_path / "out", 1))
    (table,) = (table for table in run.outcome.tables if table.name == "classes")
    (row,) = table.rows
    assert row["rx_frames"] == 1000 and row["rx_bytes"] == 68 * 1000
    assert row["min_us"] == row["max_us"] == pytest.approx(expected_ns / 1000, abs=1e-9)


@pytest.mark.parametrize(("rate_in", "rate_out"), [(1, 1), (1, 10), (10, 1)])
@pytest.mark.parametrize("added_bytes", [-4.0, 0.0, 4.0, 24.0])
def test_conversions_are_those_of_the_two_frames(rate_in: int, rate_out: int, added_bytes: float) -> None:
    """The bit times of both frames, and for MIMO the smaller of LILO and FILO less the nominal output time."""
    size = 128
    s_in, s_out = Fraction(8 * size, rate_in), Fraction(8 * (size + int(added_bytes)), rate_out)
    found = {kind: offset_ns(kind, size, rate_in * 10**9, rate_out * 10**9, added_bytes) for kind in Definition}
    assert found[Definition.FIFO] == 0
    assert found[Definition.LIFO] == -s_in
    assert found[Definition.LILO] == s_out - s_in
    assert found[Definition.FILO] == s_out
    assert found[Definition.MIMO] == min(s_out - s_in, s_out - s_in * rate_in / rate_out)
