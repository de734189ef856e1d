"""Ports of different rates: every test of port pairs takes them, in percent of the slower, and says so."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import pytest
from support.networks import parsed, switch
from support.runs import run_on_sim

from p4mesh.methods.registry import find_test
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.verdict import Verdict

SIZE = 512
QUICK_FRAMES = 2000
QUICK = (f"scaled_frames={QUICK_FRAMES}", "learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1")
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
        assert searched.search.throughput_pct == 100
        assert shown.offered_fps == pytest.approx(float(2 * max_rate_fps(SIZE, 10**8)))
        assert searched.theoretical_fps == pytest.approx(shown.offered_fps)


THREE = ((10**9, 10**8, 10**7, 10**7, 10**7), (10**8, 10**7))
"""Rates of five ports, and what their two pairs carry; the fifth has no partner."""
SAID_OF_THREE = (
    "Ports have 0.01, 0.1 and 1 Gbit/s. Loads are percent of the line rate of the slower port of each pair: 0.1 Gbit/s "
    "for 1 and 2; 0.01 Gbit/s for 3 and 4.",
    "Port 5 has no partner and takes no part.",
)


@pytest.mark.parametrize("name", ["throughput", "frame_loss", "latency"])
def test_each_pair_of_three_rates_runs_at_its_slower_port(name: str) -> None:
    """Goal: 100 % is 100 Mbit/s for one pair and 10 for the other, in the same trial; both carry all of it."""
    rates_bps, carried = THREE
    topology = parsed(switch(ports=5, rates_bps=rates_bps, port=f"queue_frames: {QUEUE}"))
    results, outcome, trials = run_on_sim(find_test(f"rfc2544.{name}"), topology, (SIZE,), *QUICK)
    (result,) = (unit.result for unit in results.values())
    assert set(SAID_OF_THREE) <= set(outcome.deviations)
    assert outcome.state is Verdict.MEASURED
    whole_fps = float(sum(2 * max_rate_fps(SIZE, rate) for rate in carried))
    if name == "frame_loss":
        assert (result.rows[0].load_pct, result.rows[0].lost_frames) == (100, 0)
        assert result.rows[0].offered_fps == pytest.approx(whole_fps)
    else:
        search = (result.throughput if name == "latency" else result).search
        assert (search.throughput_pct, search.shown.lost_frames) == (100, 0)
        assert search.shown.offered_fps == search.shown.forwarding_fps == pytest.approx(whole_fps, rel=1e-3)
    spec, counted = trials[0]
    sent = {port.port: port.tx_frames for port in counted.ports}
    assert (sent[1], sent[3]) == (10 * QUICK_FRAMES, QUICK_FRAMES) == (sent[2], sent[4]) and not sent.get(5)
    assert all(stream.rate_fps in {max_rate_fps(SIZE, rate) for rate in carried} for stream in spec.streams)


def test_each_port_of_three_rates_may_search_by_itself() -> None:
    rates_bps, carried = THREE
    topology = parsed(switch(ports=5, rates_bps=rates_bps, port=f"queue_frames: {QUEUE}"))
    test = find_test("rfc2544.throughput")
    results, _, _ = run_on_sim(test, topology, (SIZE,), "decision=per_source_port", *QUICK)
    (result,) = (unit.result for unit in results.values())
    fps = [float(max_rate_fps(SIZE, rate)) for rate in carried]
    assert [port.throughput_fps for port in result.ports] == pytest.approx([fps[0], fps[0], fps[1], fps[1]])


@pytest.mark.parametrize("pattern", ["full_mesh", "mesh_streams", "one_to_many", "many_to_one"])
def test_patterns_of_all_ports_run_at_the_slowest(pattern: str) -> None:
    rates_bps, _ = THREE
    topology = parsed(switch(ports=5, rates_bps=rates_bps, port="queue_frames: 512"))
    test = find_test("rfc2544.frame_loss")
    results, outcome, trials = run_on_sim(test, topology, (SIZE,), f"pattern={pattern}", "step_pct=5", *QUICK)
    (result,) = (unit.result for unit in results.values())
    said = "Ports have 0.01, 0.1 and 1 Gbit/s. Loads are percent of the slowest port's line rate, 0.01 Gbit/s."
    assert said in outcome.deviations
    least = 25 if pattern == "many_to_one" else 100
    assert all(row.lost_frames == 0 for row in result.rows if row.load_pct <= least)
    assert max(stream.rate_fps for stream in trials[0][0].streams) == max_rate_fps(SIZE, 10**7)


def test_each_port_may_search_with_its_own_load_of_the_slower_rate() -> None:
    test = find_test("rfc2544.throughput")
    topology = parsed(mixed(10**9, 10**8))
    results, outcome, _ = run_on_sim(test, topology, (SIZE,), "decision=per_source_port", *QUICK)
    (result,) = (unit.result for unit in results.values())
    assert [port.throughput_pct for port in result.ports] == [100, 100]
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
