"""Finer bins of a histogram: as many as the program has room for, which add up to those that it has else."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support.networks import parsed, switch

from p4mesh.target.loop import LoopModel
from p4mesh.target.table import TARGETS
from p4mesh.tester import planning
from p4mesh.tester.contract import load_contract
from p4mesh.tester.histogram import HistogramPer, bin_bounds_ticks, bin_of
from p4mesh.tester.histogram_plan import with_finer_bins, with_histograms
from p4mesh.tester.opening import open_tester
from p4mesh.tester.plan import Limits, limits_of, make_plan
from p4mesh.tester.reading import Reading
from p4mesh.traffic.arrivals import Poisson
from p4mesh.traffic.patterns import Pairs, Rotate
from p4mesh.traffic.stream import Stream

FINER_BITS = 3
LIMITS = replace(Limits.of(load_contract(), 1000, LoopModel(10**11, 500_000), "test"), finer_bits=FINER_BITS)
FRAMES, RATE_FPS = 2000, 60_000


def stream(name: str, port: int) -> Stream:
    return Stream(name, 128, Fraction(1000), 10, Pairs(), (port,), (port + 1,))


@pytest.mark.parametrize(("histograms", "finer_bits"), [(1, 3), (32, 3), (33, 2), (64, 2), (128, 1), (129, 0)])
def test_histograms_share_the_cells_of_the_program(histograms: int, finer_bits: int) -> None:
    """256 histograms of 2,048 bins."""
    ports = tuple(range(1, 2 * histograms + 1))
    streams = (Stream("s", 128, Fraction(1000), 10, Pairs(), ports[::2], ports[1::2]),)
    plan = make_plan(streams, LIMITS, dict.fromkeys(ports, 10**9))
    plan = with_finer_bins(with_histograms(plan, HistogramPer.STREAM_AND_PORT, (), LIMITS), LIMITS)
    assert len(plan.histograms) == histograms
    assert {found.finer_bits for found in plan.histograms} == {finer_bits}
    assert {rule.finer_bits for rule in plan.histogram_rules} == {finer_bits}


@pytest.mark.parametrize("per", HistogramPer)
def test_rules_select_the_histogram_of_a_flow_and_no_frame_of_others(per: HistogramPer) -> None:
    """Streams of five flows at two ports, whose numbers are no aligned block."""
    streams = [
        Stream(name, 128, Fraction(1000), 10, Rotate(), tx, (4, 5), traffic_class=name)
        for name, tx in (("s", (1, 2, 3)), ("t", (6, 7)), ("u", (8,)))
    ]
    plan = with_histograms(make_plan(streams, LIMITS, dict.fromkeys(range(1, 9), 10**9)), per, (), LIMITS)
    assert len(plan.histograms) == {"class": 3, "stream": 3, "stream_and_port": 6, "flow": len(plan.flows)}[per.value]
    for number in range(len(plan.flows) + 3):
        for port in range(1, 9):
            named = next((flow for flow in plan.flows if flow.cell % LIMITS.flows == number), None)
            own = named is not None and (named.rx_port == port if per is HistogramPer.FLOW else port in (4, 5))
            found = [
                plan.histograms[rule.histogram]
                for rule in plan.histogram_rules
                if rule.port == port and number & rule.mask == rule.flow
            ]
            assert len(found) == own, (number, port)
            assert named is None or named.rx_port != port or named.cell in found[0].cells


def test_simulated_time_needs_no_finer_bins_and_a_plan_without_histograms_has_none() -> None:
    capabilities = TARGETS["sim"].declare(parsed(switch()))
    assert not limits_of(load_contract(), capabilities, {}).finer_bits
    assert limits_of(load_contract(), replace(capabilities, real_time=True), {}).finer_bits == FINER_BITS
    plan = make_plan((stream("s", 1),), LIMITS, {1: 10**9, 2: 10**9})
    assert with_finer_bins(plan, LIMITS) is plan


def reading_of(finer_bits: int, interarrival: HistogramPer | None, monkeypatch: pytest.MonkeyPatch) -> Reading:
    """Frames that leave at random and wait for each other in front of a slower port."""
    monkeypatch.setattr(planning, "limits_of", lambda *given: replace(limits_of(*given), finer_bits=finer_bits))
    random = Stream("s", 128, Fraction(RATE_FPS), FRAMES, Pairs(), (1,), (2,), arrivals=Poisson())
    topology = parsed(switch("latency_ns: 40000", ports=2, rates_bps=(10**9, 10**8), tester="clock_tick_ps: 1000"))
    with open_tester(TARGETS["sim"], topology) as tester:
        tester.load(tester.plan((random,), HistogramPer.STREAM, interarrival=interarrival))
        tester.arm()
        tester.wait(tester.start())
        tester.wait(2 * FRAMES * 10**9 // RATE_FPS)
        return tester.read()


def as_coarse(counts: list[int]) -> list[int]:
    """Finer bins, added up to the others."""
    found = [0] * (len(counts) >> FINER_BITS)
    for index, frames in enumerate(counts):
        low, high = bin_bounds_ticks(index, FINER_BITS)
        if frames:
            assert bin_of(low) == bin_of(high)
            found[bin_of(low)] += frames
    return found


def test_finer_bins_add_up_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same frames: latencies, increases and decreases, and times between arrivals and between departures."""
    coarse, finer = (reading_of(bits, None, monkeypatch).bins[0] for bits in (0, FINER_BITS))
    half, finer_half = len(coarse.ipdv) // 2, len(finer.ipdv) // 2
    for few, many in (
        (coarse.latency, finer.latency),
        (coarse.ipdv[:half], finer.ipdv[:finer_half]),
        (coarse.ipdv[half:], finer.ipdv[finer_half:]),
    ):
        assert sum(few) and as_coarse(list(many)) == list(few)
        assert sum(map(bool, many)) > sum(map(bool, few))
    coarse_times, finer_times = (
        reading_of(bits, HistogramPer.STREAM, monkeypatch).interarrival[0] for bits in (0, FINER_BITS)
    )
    assert as_coarse(list(finer_times.arrivals)) == coarse_times.arrivals
    assert as_coarse(list(finer_times.departures)) == coarse_times.departures
    assert sum(coarse_times.arrivals) == FRAMES - 1
