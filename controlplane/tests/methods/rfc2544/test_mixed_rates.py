"""Ports of different rates: every test of port pairs takes them, in percent of the slower, and says so."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import pytest
from support.networks import parsed
from support.runs import run_on_sim

from p4mesh.methods.registry import find_test
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.verdict import Verdict

SIZE = 512
QUICK = ("scaled_frames=2000", "learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1")
QUEUE = 32
MIXED = """
name: mixed
tester:
  ports:
    - {{numbers: 1, rate_bps: {first}}}
    - {{numbers: 2, rate_bps: {second}}}
nodes:
  - name: dut
    device: ethernet_switch
    ports:
      - {{numbers: 1, rate_bps: {first}, queue_frames: {queue}}}
      - {{numbers: 2, rate_bps: {second}, queue_frames: {queue}}}
links: [{{from: "tester:1-2", to: "dut:1-2"}}]
"""
SAID = "Ports have 0.1 and 1 Gbit/s. Loads are percent of the slowest port's line rate, 0.1 Gbit/s."


def mixed(first: int, second: int) -> str:
    return MIXED.format(first=first, second=second, queue=QUEUE)


@pytest.mark.parametrize("rates", [(10**9, 10**8), (10**8, 10**9)])
@pytest.mark.parametrize("asked", ["pattern=pairs", "ports=first_pair", "pattern=in_phase"])
@pytest.mark.parametrize("name", ["throughput", "frame_loss", "latency"])
def test_port_pairs_may_have_two_rates(name: str, asked: str, rates: tuple[int, int]) -> None:
    test = find_test(f"rfc2544.{name}")
    results, outcome, _ = run_on_sim(test, parsed(mixed(*rates)), (SIZE,), asked, *QUICK)
    (result,) = (unit.result for unit in results.values())
    assert SAID in outcome.deviations
    assert outcome.state is Verdict.MEASURED
    searched = result.throughput if name == "latency" else result
    shown = searched.rows[-1] if name == "frame_loss" else searched.search.shown
    assert shown.lost_frames == 0
    if name != "frame_loss":
        assert searched.search.result_pct == 100
        assert shown.offered_fps == pytest.approx(float(2 * max_rate_fps(SIZE, 10**8)))
        assert searched.theoretical_fps == pytest.approx(shown.offered_fps)


def test_each_port_may_search_with_its_own_load_of_the_slower_rate() -> None:
    test = find_test("rfc2544.throughput")
    topology = parsed(mixed(10**9, 10**8))
    results, outcome, _ = run_on_sim(test, topology, (SIZE,), "decision=per_source_port", *QUICK)
    (result,) = (unit.result for unit in results.values())
    assert [port.tx_pct for port in result.ports] == [100, 100]
    assert SAID in outcome.deviations


def test_bursts_of_a_faster_port_fill_the_buffer_of_the_slower_one() -> None:
    """They have the minimum gap of the sender: the longest is Q / (1 - 0.1), and the buffer holds Q frames."""
    test = find_test("rfc2544.back_to_back")
    topology = parsed(mixed(10**9, 10**8))
    results, outcome, _ = run_on_sim(test, topology, (SIZE,), "repetitions=1", *QUICK)
    (row,) = (unit.result for unit in results.values())
    assert row.state is Verdict.MEASURED and row.throughput_pct == 100
    assert row.throughput_fps == pytest.approx(float(max_rate_fps(SIZE, 10**8)))
    longest = floor(QUEUE / (1 - Fraction(1, 10)))
    assert longest <= row.burst_frames_avg <= longest + 2, "one frame is on the wire, and one may come while it ends"
    frames = row.corrected_buffer_s * float(max_rate_fps(SIZE, 10**9))
    assert frames == pytest.approx(QUEUE, abs=2)
    assert SAID in outcome.deviations
    assert "Bursts have the minimum gap of port 1, which is faster than port 2." in outcome.deviations


def test_bursts_of_a_slower_port_fill_nothing() -> None:
    test = find_test("rfc2544.back_to_back")
    topology = parsed(mixed(10**8, 10**9))
    results, outcome, _ = run_on_sim(test, topology, (SIZE,), "repetitions=1", *QUICK)
    (row,) = (unit.result for unit in results.values())
    assert row.reason == "not applicable"
    assert outcome.deviations[1] == SAID
