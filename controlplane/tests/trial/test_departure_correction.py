"""Stamps of departures by the kernel: their errors, and latencies without the way through the sending kernel."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from support.networks import parsed, switch

from p4mesh.measurement.counts import (
    Counts,
    FlowCounts,
    HistogramStats,
    LatencyBins,
    LatencyStats,
    MessageCounts,
    MessageTime,
)
from p4mesh.measurement.departure_correction import corrected
from p4mesh.methods.results.latency import summarise
from p4mesh.methods.results.latency_cells import Circumstances, LatencyCells, latency_cells
from p4mesh.report.stamps import stamps_table
from p4mesh.run.trial_findings import stamp_finding
from p4mesh.store.codec import decode, encode
from p4mesh.store.run_files import StoredTrial
from p4mesh.tester.histogram import HistogramPer
from p4mesh.tester.plan import Plan
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stamps import KERNEL, PROGRAM, PortStamps, most_of, port_stamps
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

DELAYS_NS = {1: 1000.0, 2: 3000.0}
SMALLEST_NS = {1: 700, 2: 1900}
SPEC = TrialSpec(
    "corrected",
    (Stream("pairs", 128, Fraction(10_000), 100, Pairs(), (1, 2), (2, 1)),),
    10_000_000,
    Learning(enabled=False),
    per_flow=True,
    histograms=HistogramPer.STREAM,
)


def test_the_spread_of_delays_is_the_error() -> None:
    bins = [(1000, 1001, 40), (1100, 1101, 50), (1500, 1501, 9), (9000, 9001, 1)]
    total = sum(low * number for low, _, number in bins)
    found = port_stamps(3, "XDP program", (100, total, (1000, 9000), bins), 250.0)
    assert (found.departures, found.samples, found.delay_avg_ns) == (KERNEL, 100, total / 100)
    assert (found.delay_min_ns, found.delay_max_ns) == (1000, 9000)
    # The average is 1175: 75 away are 50 frames, 175 away 40, 325 away 9, and 7825 the last.
    assert (found.error_median_ns, found.error_p99_ns) == (75, 325)
    deviation_ns = sqrt((50 * 75**2 + 40 * 175**2 + 9 * 325**2 + 7825**2) / 100)
    assert found.delay_deviation_ns == pytest.approx(deviation_ns)
    assert (found.single_error_ns, found.cable_error_ns) == (1175 - 1000 + 325, 250 + 1175 - 1000)
    assert replace(found, cable_ns=0.0).cable_error_ns == 0
    # Exact for all 100 departures; of a quarter of them, and of four times as many, it is that of a sample.
    assert found.average_error_ns(100) == 0
    assert found.average_error_ns(25) == pytest.approx(1.96 * deviation_ns * sqrt(1 / 25 - 1 / 100))
    assert found.average_error_ns(400) == pytest.approx(1.96 * deviation_ns * sqrt(1 / 100 - 1 / 400))


def test_without_stamps_of_the_kernel_the_error_is_not_known() -> None:
    found = port_stamps(3, "kernel", (0, 0, None, []))
    assert (found.departures, found.samples, found.error_median_ns, found.error_p99_ns) == (PROGRAM, 0, None, None)


VARYING = "jitter: {uniform: {max_ns: 3000}}"


def measured(stamps: dict[int, PortStamps], spec: TrialSpec = SPEC, *model: str) -> TrialResult:
    with open_measurer(parsed(switch("latency_ns: 2000", *model)), "sim") as measurer:
        measurer.tester.target.port_stamps = lambda: stamps  # type: ignore[method-assign]
        return measurer.measure(spec)


def without(latency: LatencyStats | None, delay_ns: float, smallest_ns: float) -> list[float]:
    """The average of a latency, less a delay; and maximum, percentiles and minimum, less the smallest delay."""
    assert latency is not None
    average_ns = latency.sum_ns / latency.count - delay_ns
    single = [latency.max_ns, *(value for _, value in latency.percentiles_ns), latency.min_ns]
    return [average_ns, *(value - smallest_ns for value in single)]


def test_averages_are_less_by_the_average_delay_and_single_values_by_the_smallest_one() -> None:
    stamps = {
        port: PortStamps(port, KERNEL, KERNEL, 200, delay, SMALLEST_NS[port], 0, 1.0, 50.0, 400.0, 60.0)
        for port, delay in DELAYS_NS.items()
    }
    raw, found = measured({}, SPEC, VARYING), measured(stamps, SPEC, VARYING)
    assert (raw.stamps, found.stamps) == ((), tuple(stamps.values()))
    # Each port has sent 100 of the 200 departures that were stamped. Other work made those of port 2 longer.
    cables_ns = 60 + 3000 - 1900
    assert found.latency_error_ns == pytest.approx(1.96 * 400 * sqrt(1 / 100 - 1 / 200) + cables_ns)
    assert found.single_latency_error_ns == 3000 - 1900 + 50 + cables_ns
    assert not (raw.unstamped_departures or found.unstamped_departures)
    for before, after in zip(raw.flows, found.flows, strict=True):
        port = before.tx_port
        assert without(after.latency, 0, 0) == pytest.approx(
            without(before.latency, DELAYS_NS[port], SMALLEST_NS[port])
        )
    # Both ports sent as many frames; the smallest delay of either is in each of them.
    assert without(found.latency, 0, 0) == pytest.approx(without(raw.latency, 2000, 700))
    (before_all,), (after_all,) = raw.histograms, found.histograms
    assert without(after_all.latency, 0, 0) == pytest.approx(without(before_all.latency, 2000, 700))
    bins, moved = before_all.latency.bins, after_all.latency.bins
    assert bins and moved and moved.low_ns == pytest.approx([low - 700 for low in bins.low_ns])
    assert decode(TrialResult, encode(found)) == found


STAMPS = {port: PortStamps(port, KERNEL, KERNEL, 100, DELAYS_NS[port], SMALLEST_NS[port]) for port in (1, 2)}
BY_HAND = cast(
    "Plan",
    SimpleNamespace(
        ports=(1, 2, 3),
        flows=[SimpleNamespace(cell=cell, tx_port=port, expected=cell < 2) for cell, port in enumerate((1, 2, 2))],
        histograms=[SimpleNamespace(stream="s", tx_port=2, rx_port=3, cells=(1, 2))],
    ),
)
"""30 frames of port 1 and 10 of port 2 arrived, and 5 more of port 2 where they were not expected."""


def by_hand(counts: Counts, stamps: dict[int, PortStamps] = STAMPS) -> Counts:
    records = np.zeros(3, dtype=[("frames", np.uint64)])
    records["frames"] = (30, 10, 5)
    return corrected(counts, BY_HAND, records, stamps)


def test_a_delay_of_several_ports_is_their_mean_in_the_shares_of_their_frames() -> None:
    """30 frames with 1,000 ns and 10 with 3,000 ns: 1,500 ns on average, and 700 ns in each."""
    latency = LatencyStats(40, 5000.0, 9000.0, 240_000.0)
    found = by_hand(Counts(latency=latency)).latency
    assert found is not None
    assert (found.min_ns, found.max_ns, found.sum_ns) == (4300, 8300, 40 * 4500)
    behind = PortStamps(1, KERNEL, KERNEL, 100, 0.0, -40)
    assert by_hand(Counts(latency=latency), {1: behind}).latency == latency, "no frame left before its time"


def test_bins_that_would_begin_before_the_departure_become_one() -> None:
    """All frames of the histogram come from port 2, with 1,900 ns at least; no bin is shorter than 1 ns."""
    bins = LatencyBins((500.0, 1000.0, 5000.0), (1000.0, 2000.0, 6000.0), (1, 2, 3))
    latency = LatencyStats(6, 500.0, 6000.0, 24_000.0, percentiles_ns=((50.0, 1800.0), (99.0, 5900.0)), bins=bins)
    (found,) = by_hand(Counts(histograms=(HistogramStats("s", 2, 3, latency),))).histograms
    assert found.latency.percentiles_ns == ((50, 0), (99, 4000))
    assert found.latency.bins == LatencyBins((0.0, 3100.0), (100.0, 4100.0), (3, 3))
    alone = replace(latency, bins=LatencyBins((500.0,), (1000.0,), (6,)))
    (found,) = by_hand(Counts(histograms=(HistogramStats("s", 2, 3, alone),))).histograms
    assert found.latency.bins == LatencyBins((0.0,), (1.0,), (6,))


def test_times_of_messages_are_less_by_the_delay_of_their_sender() -> None:
    """Of two messages from port 2: 5,000 ns less the smallest delay would be longer than 3,000 ns on average."""
    time = MessageTime(2, 5000.0, 7000.0, 12_000.0)
    message = MessageCounts("s", 2, 3, 4, 2, 2, 0, fifo=time, filo=replace(time, count=1, sum_ns=6000.0))
    (found,) = by_hand(Counts(messages=(message,))).messages
    assert found.fifo == MessageTime(2, 2000.0, 5100.0, 6000.0)
    assert (found.lilo, found.filo) == (None, MessageTime(1, 3000.0, 3000.0, 3000.0))


@pytest.mark.parametrize(("sum_ns", "impossible"), [(2000.0, 0), (1999.0, 1)])
def test_an_average_of_nothing_is_possible_and_one_below_is_not(sum_ns: float, impossible: int) -> None:
    flow = FlowCounts("s", 1, 3, 2, 2, latency=LatencyStats(2, 900.0, 1100.0, sum_ns))
    found = by_hand(Counts(flows=(flow,)))
    assert found.impossible_averages == impossible
    assert found.flows[0].latency == LatencyStats(2, 0.0, 400.0, 0.0)


@pytest.mark.parametrize(("average_ns", "impossible"), [(481.0, 0), (479.0, 1)])
def test_chance_among_few_frames_makes_an_average_that_is_no_fault(average_ns: float, impossible: int) -> None:
    """The delay of 2 of 100 frames differs from 1,000 ns by 1.96 * 189.5 * 0.7 = 260 ns, in one of many flows 520."""
    flow = FlowCounts("s", 1, 3, 2, 2, latency=LatencyStats(2, 400.0, 700.0, 2 * average_ns))
    stamps = {1: replace(STAMPS[1], delay_deviation_ns=189.5)}
    found = by_hand(Counts(flows=(flow,)), stamps)
    assert found.impossible_averages == impossible
    assert found.flows[0].latency == LatencyStats(2, 0.0, 0.0, 0.0)


def test_nothing_that_was_measured_has_no_error() -> None:
    found = by_hand(Counts())
    assert found.stamps == tuple(STAMPS.values())
    assert (found.latency_error_ns, found.single_latency_error_ns, found.impossible_averages) == (0, 0, 0)
    assert by_hand(Counts(), {9: STAMPS[1]}) == Counts(), "a port that is not of the plan"
    # Port 3 sends nothing: its departures need no stamps.
    program = PortStamps(3, KERNEL, PROGRAM)
    assert not by_hand(Counts(), {3: program}).unstamped_departures
    assert by_hand(Counts(), {2: replace(program, port=2)}).unstamped_departures


def test_the_average_keeps_its_value_where_the_smallest_latency_would_be_above_it() -> None:
    """All frames take as long here, so the smallest is the average, too."""
    stamps = {port: PortStamps(port, KERNEL, KERNEL, 100, 1000.0, 700) for port in (1, 2)}
    raw, found = measured({}), measured(stamps)
    assert found.status is Verdict.MEASURED
    for before, after in zip(raw.flows, found.flows, strict=True):
        assert before.latency and after.latency
        assert after.latency.sum_ns / after.latency.count == before.latency.sum_ns / before.latency.count - 1000
        assert after.latency.min_ns == before.latency.min_ns - 1000


def test_one_frame_has_one_latency() -> None:
    spec = replace(SPEC, streams=(replace(SPEC.streams[0], frame_count=1),))
    stamps = {port: PortStamps(port, KERNEL, KERNEL, 100, 1000.0, 700) for port in (1, 2)}
    for flow in measured(stamps, spec).flows:
        assert flow.latency and flow.latency.min_ns == flow.latency.max_ns == flow.latency.sum_ns


def test_a_clock_that_is_behind_by_its_error_adds_nothing_to_any_frame() -> None:
    raw = measured({})
    behind = measured({port: PortStamps(port, KERNEL, KERNEL, 100, 0.0, -40) for port in (1, 2)})
    assert raw.latency and behind.latency and behind.latency.min_ns == raw.latency.min_ns


def test_delays_longer_than_the_latencies_that_contain_them_are_a_fault() -> None:
    found = measured({port: PortStamps(port, KERNEL, KERNEL, 100, 10**6, 10**6) for port in (1, 2)})
    assert found.status is Verdict.INVALID
    # Of all frames, of both flows and of the histogram.
    assert found.reason == (
        "4 averages of latency are shorter than the average way of a departure through the sending kernel: its stamps "
        "are not of these frames"
    )


def test_without_stamps_of_the_kernel_no_latency_has_an_error_that_is_known() -> None:
    stamps = {port: PortStamps(port, KERNEL, PROGRAM) for port in (1, 2)}
    for found, known in ((measured(stamps), False), (measured({}), True)):
        circumstances = Circumstances.of([found], Fraction(0))
        whole = summarise(found.latency)
        assert whole and found.unstamped_departures is not known
        assert (circumstances.error_ns(whole) is not None) is known


def test_the_errors_of_stamps_stand_beside_latencies() -> None:
    stamps = {port: PortStamps(port, KERNEL, KERNEL, 100, 1000.0, 700, 0, 1.0, 50.0, 400.0, 60.0) for port in (1, 2)}
    found = measured(stamps)
    cells = latency_cells(summarise(found.latency), "FIFO", Circumstances.of([found], Fraction(0)))
    # Both flows have all stamps of their ports: what is left are the cables, and what other work adds there.
    assert (cells.times.avg_error_us, cells.times.single_error_us) == (0.36, 0.71)
    shown = LatencyCells.table("latency", "Latency", [cells])
    keys = [column.key for column in shown.columns]
    assert keys[keys.index("max_us") + 1] == "single_error_us"
    without_stamps = LatencyCells.table(
        "latency", "Latency", [replace(cells, times=replace(cells.times, single_error_us=None))]
    )
    assert "single_error_us" not in [column.key for column in without_stamps.columns]


def stored(*stamps: PortStamps) -> StoredTrial:
    result: dict[str, Any] = {"stamps": [encode(found) for found in stamps]}
    return StoredTrial(**dict.fromkeys(StoredTrial.__dataclass_fields__) | {"result": result})


def test_the_report_has_the_worst_error_of_each_port() -> None:
    table = stamps_table(
        [
            stored(PortStamps(1, KERNEL, KERNEL, 5, 1000.0, 1, 9, 100.0, 900.0), PortStamps(2, KERNEL, PROGRAM)),
            stored(PortStamps(1, KERNEL, PROGRAM)),
            stored(PortStamps(1, KERNEL, KERNEL, 7, 500.0, 1, 9, 200.0, 300.0)),
        ]
    )
    assert table is not None
    first, second = table.rows
    assert (first["departures"], first["samples"], first["delay_avg_us"]) == (KERNEL, 12, 1.0)
    assert (first["error_median_us"], first["error_p99_us"]) == (0.2, 0.9)
    # The average is 999 ns above the smallest.
    assert first["rest_p99_us"] == pytest.approx(0.999 + 0.9)
    assert (second["departures"], second["samples"], second["error_p99_us"]) == (PROGRAM, 0, None)
    assert stamps_table([stored()]) is None


def test_a_finding_names_sources_and_the_worst_errors() -> None:
    exact = stored(PortStamps(1, "XDP program", KERNEL, 5, 1000.0, 1, 9, 100.0, 900.0), PortStamps(2, KERNEL, PROGRAM))
    fast = stored(PortStamps(1, "XDP program", PROGRAM))
    sources = "time stamps: arrivals by XDP program and kernel; departures by the program"
    errors = "by the kernel too: error of a latency at most 0.10 us (median) and 0.90 us (99 %)"
    assert stamp_finding([exact]) == (f"{sources}, in 1 of 1 trials {errors}",)
    unknown = "; without stamps of the kernel the error is not known"
    assert stamp_finding([fast, exact]) == (f"{sources}, in 1 of 2 trials {errors}{unknown}",)
    assert stamp_finding([fast]) == (f"{sources.replace(' and kernel', '')}{unknown}",)
    assert stamp_finding([stored()]) == ()


def test_most_delays_are_those_that_one_in_twenty_exceeds() -> None:
    """94 of 100 are below 100 ns and one below 200 ns."""
    bins = [(0, 100, 94), (100, 200, 1), (200, 300, 5)]
    assert most_of((100, 0, (0, 299), bins)) == 199
    assert most_of((100, 0, (0, 299), [(0, 100, 95), *bins[1:]])) == 99
    assert most_of((0, 0, None, [])) == 0
