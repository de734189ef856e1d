"""Stamps of departures by the kernel: their errors, and latencies without the way through the sending kernel."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import Any

import pytest
from support.networks import parsed, switch

from p4mesh.measurement.counts import LatencyStats
from p4mesh.report.stamps import stamps_table
from p4mesh.run.trial_findings import stamp_finding, stray_findings
from p4mesh.store.codec import decode, encode
from p4mesh.store.run_files import StoredTrial
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stamps import KERNEL, PROGRAM, PortStamps, port_stamps
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec

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
    found = port_stamps(3, "XDP program", total, (1000, 9000), bins)
    assert (found.departures, found.samples, found.delay_avg_ns) == (KERNEL, 100, total / 100)
    assert (found.delay_min_ns, found.delay_max_ns) == (1000, 9000)
    # The average is 1175: 75 away are 50 frames, 175 away 40, 325 away 9, and 7825 the last.
    assert (found.error_median_ns, found.error_p99_ns) == (75, 325)
    deviation_ns = sqrt((50 * 75**2 + 40 * 175**2 + 9 * 325**2 + 7825**2) / 100)
    assert found.delay_avg_error_ns == pytest.approx(1.96 * deviation_ns / sqrt(100))


def test_without_stamps_of_the_kernel_the_error_is_not_known() -> None:
    found = port_stamps(3, "kernel", 0, None, [])
    assert (found.departures, found.samples, found.error_median_ns, found.error_p99_ns) == (PROGRAM, 0, None, None)


VARYING = "jitter: {uniform: {max_ns: 3000}}"


def measured(stamps: dict[int, PortStamps], spec: TrialSpec = SPEC, *model: str) -> TrialResult:
    with open_measurer(parsed(switch("latency_ns: 2000", *model)), "sim") as measurer:
        measurer.tester.target.port_stamps = lambda: stamps  # type: ignore[method-assign]
        return measurer.measure(spec)


def without(latency: LatencyStats | None, delay_ns: float, smallest_ns: float) -> list[float]:
    """Return the average of a latency, less a delay; and maximum, percentiles and minimum, less the smallest delay."""
    assert latency is not None
    average_ns = latency.sum_ns / latency.count - delay_ns
    single = [latency.max_ns, *(value for _, value in latency.percentiles_ns), latency.min_ns]
    return [average_ns, *(value - smallest_ns for value in single)]


def test_averages_are_less_by_the_average_delay_and_single_values_by_the_smallest_one() -> None:
    stamps = {
        port: PortStamps(port, KERNEL, KERNEL, 100, delay, SMALLEST_NS[port], delay_avg_error_ns=5.0)
        for port, delay in DELAYS_NS.items()
    }
    raw, found = measured({}, SPEC, VARYING), measured(stamps, SPEC, VARYING)
    assert (raw.stamps, found.stamps) == ((), tuple(stamps.values()))
    assert (found.latency_error_ns, found.uncorrected_averages) == (5.0, 0)
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


def test_the_smallest_latency_stays_where_delays_vary_by_more_than_it() -> None:
    long = replace(SPEC.streams[0], name="long", frame_size_bytes=1500, rate_fps=Fraction(5000), frame_count=50)
    spec = replace(SPEC, streams=(*SPEC.streams, long))
    raw = measured({}, spec)
    assert raw.latency and 2000 < raw.latency.min_ns < raw.latency.max_ns - 10_000
    delay_ns = raw.latency.min_ns + 100
    found = measured({port: PortStamps(port, KERNEL, KERNEL, 100, delay_ns, 1900, 10**5) for port in (1, 2)}, spec)
    assert found.latency and found.latency.min_ns == pytest.approx(raw.latency.min_ns - 1900)
    # A clock that is behind by its error adds nothing to any frame.
    behind = measured({port: PortStamps(port, KERNEL, KERNEL, 100, 10.0, -40) for port in (1, 2)}, spec)
    assert behind.latency and behind.latency.min_ns == raw.latency.min_ns


def test_an_average_that_the_delays_would_bring_below_the_smallest_latency_is_less_by_the_smallest_delay() -> None:
    """All frames take as long, so that delays of 1,000 and 3,000 ns on average are not theirs."""
    stamps = {
        port: PortStamps(port, KERNEL, KERNEL, 100, delay, SMALLEST_NS[port], delay_avg_error_ns=5.0)
        for port, delay in DELAYS_NS.items()
    }
    raw, found = measured({}), measured(stamps)
    assert found.uncorrected_averages == 2
    # Of all frames together: 2,000 ns on average, 700 at least.
    assert found.latency_error_ns == 2000 - 700 + 5
    for before, after in zip(raw.flows, found.flows, strict=True):
        assert (
            before.latency
            and after.latency
            and after.latency.min_ns == before.latency.min_ns - SMALLEST_NS[before.tx_port]
        )
        assert after.latency.sum_ns / after.latency.count == pytest.approx(after.latency.min_ns)
    fields: dict[str, Any] = dict.fromkeys(StoredTrial.__dataclass_fields__)
    trial = StoredTrial(**fields | {"result": encode(found)})
    (text,) = (text for text in stray_findings({"one": [trial]}) if "sending kernel" in text)
    assert text.startswith("2 averages of latency in 1 trials of one may be too high by up to 1.3 us")


def test_an_average_that_becomes_the_smallest_latency_leaves_enough() -> None:
    raw, found = measured({}), measured({port: PortStamps(port, KERNEL, KERNEL, 100, 700.0, 700) for port in (1, 2)})
    assert (found.uncorrected_averages, found.latency_error_ns) == (0, 0)
    assert without(found.latency, 0, 0) == pytest.approx(without(raw.latency, 700, 700))


def test_no_latency_is_below_zero_and_no_frame_leaves_the_histogram() -> None:
    found = measured({port: PortStamps(port, KERNEL, KERNEL, 100, 10**6, 10**6) for port in (1, 2)})
    assert found.latency and (found.latency.min_ns, found.latency.sum_ns, found.latency.max_ns) == (0, 0, 0)
    (histogram,) = found.histograms
    assert histogram.latency.bins and histogram.latency.bins.frames == (200,)


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
