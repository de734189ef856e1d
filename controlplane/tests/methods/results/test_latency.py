"""Latency in RFC 2544 26.2: definitions, tagged frames, variation, on times with closed forms."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from ipaddress import IPv6Network
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from support.beds import GIGABIT
from support.delays import DelayMeasurer, Delays, constant, statistics
from support.latency_bench import QUICK, bed, rows, run, wires
from support.runs import run_units

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.layers import ipv4, ipv6
from p4mesh.measurement.counts import (
    FlowCounts,
    HistogramStats,
    LatencyStats,
    PortCounts,
    QueueTrend,
    StreamPacing,
    Transient,
    Trend,
)
from p4mesh.methods.base import Method, TrialNote
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.latency import (
    Definition,
    Group,
    Spread,
    groups_of,
    merged,
    offset_ns,
    shift_ns,
    summarise,
)
from p4mesh.methods.results.latency_cells import (
    CALIBRATED,
    RAW,
    CalibrationCells,
    Circumstances,
    Jitter,
    LatencyCells,
    _without_ns,
    calibration_cells,
    definition_cells,
    latency_cells,
    us,
    variation_cells,
)
from p4mesh.methods.results.latency_tables import (
    architecture,
    calibration_table,
    latency_note,
    overflows,
    variation_table,
)
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2889.broadcast import Broadcast
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed
from p4mesh.tester.stations import station
from p4mesh.traffic.derived import consecutive
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stamps import StampKind
from p4mesh.traffic.stream import Stream, ValueList
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict


def alternating(low: float, high: float) -> Delays:
    return lambda stream, tx, rx, count: [low if number % 2 == 0 else high for number in range(count)]


# Definitions


@pytest.mark.parametrize("kind", Definition)
def test_all_definitions_follow_from_one_pair_of_time_stamps(kind: Definition) -> None:
    """128 B at 10G in, 1G out and back; the device takes 5000 ns from first bit to first bit."""
    s_fast, s_slow = Fraction(1024, 10), Fraction(1024)
    _, outcome = run(Latency(), bed(10**10, 10**9), constant(5000.0), 128, f"latency_definition={kind.value}")
    expected = {
        "10 -> 1": {
            "FIFO": 5000,
            "LIFO": 5000 - s_fast,
            "LILO": 5000 - s_fast + s_slow,
            "FILO": 5000 + s_slow,
            "MIMO": 5000,
        },
        "1 -> 10": {
            "FIFO": 5000,
            "LIFO": 5000 - s_slow,
            "LILO": 5000 - s_slow + s_fast,
            "FILO": 5000 + s_fast,
            "MIMO": 5000 - s_slow + s_fast,
        },
    }
    found = {row["link"]: row for row in rows(outcome, "latency")}
    for link, values in expected.items():
        row = found[link]
        assert row["definition"] == kind.value
        shown = {row["min_us"], row["avg_us"], row["max_us"], row["p50_us"], row["p99_9_us"]}
        assert shown == {float(values[kind.value] / 1000)}
    defined = rows(outcome, "latency_definitions")
    assert [row["link"] for row in defined] == list(expected)
    for row in defined:
        for name, value in expected[str(row["link"])].items():
            assert row[f"{name.lower()}_us"] == pytest.approx(float(value / 1000)), (row["link"], name)


def test_the_default_definition_is_last_in_last_out() -> None:
    _, outcome = run(Latency(), bed(), constant(2000.0), 64)
    assert {row["definition"] for row in rows(outcome, "latency")} == {"LILO"}
    assert "resolution 1 ns" in outcome.tables[0].note


def test_software_time_stamps_are_lilo_like_and_not_converted() -> None:
    _, outcome = run(Latency(), bed(stamps=StampKind.SOFTWARE), constant(40_000.0), 64)
    (row,) = rows(outcome, "latency")
    assert (row["definition"], row["avg_us"]) == ("LILO-like", 40.0)
    assert "by software around whole frames, resolution 1,000 ns" in outcome.tables[0].note
    assert "latency_definitions" not in {table.name for table in outcome.tables}


@pytest.mark.parametrize("test", [Latency(), Broadcast(), FullyMeshed()])
@pytest.mark.parametrize(("stamps", "target"), [(StampKind.SOFTWARE, "bmv2"), (StampKind.PARSER, "tofino")])
def test_other_definitions_are_refused_without_stamps_of_first_bits(
    test: Method, stamps: StampKind, target: str
) -> None:
    parameters = resolve(test.name, test.parameters, ("latency_definition=FIFO",))
    with pytest.raises(UnsupportedError, match=f"latency_definition=FIFO is not supported on {target}") as caught:
        test.check(bed(stamps=stamps), parameters)
    assert ("calibrate" in caught.value.hint) == (stamps is StampKind.PARSER)


def test_stamps_of_an_egress_parser_have_no_definition_without_wires() -> None:
    """Goal: the measured interval has its own name and is not converted; a note tells of the unknown constant."""
    _, outcome = run(Latency(), bed(stamps=StampKind.PARSER), constant(2500.0), 128)
    (row,) = rows(outcome, "latency")
    assert (row["definition"], row["avg_us"]) == ("parser to first bit", 2.5)
    assert "from the egress parser to the line is part of each latency: no wire was measured" in outcome.tables[0].note
    assert "latency_definitions" not in {table.name for table in outcome.tables}


def test_a_wire_gives_the_constant_of_an_egress_parser_and_thus_every_definition() -> None:
    """Goal: 500 ns from parser to line and 2000 ns of the device, 128 B at 1G: calibrated rows are of the device."""
    where = bed(stamps=StampKind.PARSER, calibration=wires(500.0, 500.0))
    for definition, device_us in (("FIFO", 2.0), ("LILO", 2.0), ("LIFO", 2.0 - 1.024), ("FILO", 2.0 + 1.024)):
        _, outcome = run(Latency(), where, constant(2500.0), 128, f"latency_definition={definition}")
        found = {row["calibrated"]: row for row in rows(outcome, "latency")}
        assert {row["definition"] for row in found.values()} == {definition}
        assert found["yes"]["avg_us"] == pytest.approx(device_us)
        assert "latency_definitions" in {table.name for table in outcome.tables}
        assert "is part of each latency, and of its wire" in outcome.tables[0].note


def test_definitions_at_different_rates() -> None:
    s_in, s_out = Fraction(512), Fraction(5120)
    slower = {kind: offset_ns(kind, 64, 10**9, 10**8) for kind in Definition}
    assert slower[Definition.LILO] == s_out - s_in
    assert slower[Definition.MIMO] == 0, "Rin >= Rout: FILO - NFOT"
    faster = {kind: offset_ns(kind, 64, 10**8, 10**9) for kind in Definition}
    assert faster[Definition.MIMO] == faster[Definition.LILO] == s_in - s_out, "Rin <= Rout: LILO"


def test_definitions_at_equal_rates() -> None:
    serialization = Fraction(8 * 64)
    assert {kind: offset_ns(kind, 64, GIGABIT) for kind in Definition} == {
        Definition.FIFO: 0,
        Definition.LILO: 0,
        Definition.MIMO: 0,
        Definition.LIFO: -serialization,
        Definition.FILO: serialization,
    }


# Summaries


def test_a_percentile_lies_within_what_was_measured() -> None:
    stats = LatencyStats(2, 1000.0, 1010.0, 2010.0, percentiles_ns=((50.0, 996.0), (99.9, 1012.0)))
    summary = summarise(stats)
    assert summary is not None
    assert dict(summary.percentiles_ns) == {50.0: 1000, 99.9: 1010}
    varied = LatencyStats(
        2, 1.0, 9.0, 10.0, ipdv_count=1, ipdv_min_ns=-250.0, ipdv_max_ns=250.0, ipdv_percentiles_ns=((99.0, 251.0),)
    )
    assert (found := summarise(varied)) is not None and dict(found.ipdv_percentiles_ns) == {99.0: 250}


def test_the_error_of_a_percentile_is_unknown_while_a_queue_fills_and_reaches_the_maximum_behind_a_full_one() -> None:
    stats = LatencyStats(
        9000, 1000.0, 5000.0, 9e6, percentiles_ns=((50.0, 1000.0), (99.9, 4000.0)), percentile_errors_ns=((50.0, 8.0),)
    )
    summary = summarise(stats)
    assert summary is not None

    def errors_ns(circumstances: Circumstances) -> tuple[Fraction | None, Fraction | None]:
        return circumstances.percentile_error_ns(summary, 50.0), circumstances.percentile_error_ns(summary, 99.9)

    assert errors_ns(Circumstances()) == (8, None), "too few frames for 99.9 %"
    assert errors_ns(Circumstances(average_error_ns=20.0)) == (20, None), "frames depend on each other"
    exact = replace(summary, percentile_errors_ns={50.0: Fraction(1, 4)})
    assert Circumstances().percentile_error_ns(exact, 50.0) == Fraction(1, 4)
    assert errors_ns(Circumstances(filling=True)) == (None, None)
    assert errors_ns(Circumstances(overflowed=True)) == (4000, None)


@pytest.mark.parametrize(
    ("changed", "known"),
    [
        ({}, True),
        ({"queues": QueueTrend(Trend.STEADY)}, True),
        ({"queues": QueueTrend(Trend.UNCLEAR)}, False),
        ({"queues": QueueTrend(Trend.STEADY, error_ppm=40.0)}, True),
        ({"queues": QueueTrend(Trend.STEADY, excess_ppm=0.1)}, False),
        ({"latency_growth_ns": 400.0}, False),
    ],
)
def test_the_error_is_unknown_where_a_longer_trial_may_have_longer_latencies(
    changed: dict[str, Any], known: bool
) -> None:
    """Goal: no average with an error beside the finding that averages depend on the length of the trial."""
    result = replace(TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13), **changed)
    stats = LatencyStats(
        9000, 1000.0, 5000.0, 9e6, percentiles_ns=((99.0, 4000.0),), percentile_errors_ns=((99.0, 8.0),)
    )
    summary = summarise(stats)
    circumstances = Circumstances.of([result], Fraction(1))
    cells, varied = latency_cells(summary, "LILO", circumstances), variation_cells(summary, circumstances)
    errors = (cells.times.avg_error_us, cells.times.p99_error_us, varied.pdv_p99_error_us)
    assert all((error is not None) == known for error in errors), errors


VARIED = LatencyStats(
    100, 1000.0, 5000.0, 200_000.0, 99, 10.0, 400.0, 9900.0,
    percentiles_ns=((50.0, 2000.0), (99.0, 3000.0), (99.9, 4500.0)),
    percentile_errors_ns=((50.0, 8.0), (99.0, 80.0), (99.9, 160.0)),
    ipdv_count=99, ipdv_min_ns=-400.0, ipdv_max_ns=300.0, ipdv_sum_ns=-990.0,
    ipdv_percentiles_ns=((1.0, -350.0), (99.0, 250.0)), ipdv_percentile_errors_ns=((1.0, 20.0), (99.0, 30.0)),
    rfc3550_jitter_flows=4, rfc3550_jitter_sum_ns=480.0, rfc3550_jitter_max_ns=150.0,
)  # fmt: skip
"""100 latencies with a mean of 2 us between 1 and 5 us, and 99 differences of 100 ns between 10 and 400 ns."""
OF_MEAN_NS = 1.96 * (1000 * 3000 / 100) ** 0.5
OF_DIFFERENCE_NS = 2**0.5 * 1.96 * (90 * 300 / 99) ** 0.5
"""Errors of samples by the largest variance between the ends; neighbours have a frame in common."""


def test_errors_of_latencies_add_what_stamps_and_late_departures_may_be() -> None:
    """Two stamps of 8 ns are off by less than 8; departures 300 ns late count up to what is above the least latency."""
    summary = summarise(VARIED)
    assert summary is not None
    circumstances = Circumstances("steady", 300.0, 0.0, 40.0, resolution_ns=Fraction(8))
    cells = latency_cells(summary, "FIFO", circumstances)
    times, us = cells.times, pytest.approx
    assert (times.min_us, times.avg_us, times.max_us, times.single_error_us) == (1, 2, 5, 0.04)
    assert times.avg_error_us == us((OF_MEAN_NS + 8 + 300) / 1000)
    assert (times.p50_us, times.p99_us, times.p99_9_us) == (2, 3, 4.5)
    # That of a single frame is the least error.
    assert (times.p50_error_us, times.p99_error_us, times.p99_9_error_us) == us((0.348, 0.388, 0.468))
    assert (cells.samples, cells.queues, cells.departure_error_ns, cells.overflow_frames) == (100, "steady", 300, 0)
    jitter = cells.jitter
    assert (jitter.jitter_min_us, jitter.jitter_avg_us, jitter.jitter_max_us) == (0.01, 0.1, 0.4)
    assert jitter.jitter_avg_error_us == us((OF_DIFFERENCE_NS + 2 * 8 + 100) / 1000)
    behind = Jitter.of(summary, replace(circumstances, overflowed=True))
    assert behind.jitter_avg_error_us == us((300 + 2 * 8 + 100) / 1000)
    assert (
        Jitter.of(summary, replace(circumstances, begun_share=0.25)).jitter_avg_error_us == behind.jitter_avg_error_us
    )

    def error_ns(**changed: Any) -> float | None:
        found = replace(circumstances, **changed).error_ns(summary)
        return None if found is None else float(found)

    assert error_ns(departure_error_ns=2000.0) == us(OF_MEAN_NS + 8 + 1000)
    assert error_ns(departure_error_ns=None, average_error_ns=500.0) == 508
    assert error_ns(overflowed=True) == 3000 + 308
    # A quarter of the frames may have had any latency from 1,000 to 5,000 ns. If it was the latter, the others have
    # (2,000 - 5,000 / 4) / 0.75 = 1,000 on the average; of all frames but one in 1,000, any.
    assert error_ns(begun_share=0.25) == us(1000 + 308)
    assert error_ns(begun_share=0.999) == us(0.999 * 4000 + 308)
    assert error_ns(begun_share=1.0) == us(4000 + 308)
    assert error_ns(filling=True) is error_ns(average_error_ns=None) is None
    for count, known in ((1, False), (2, True)):
        few = summarise(replace(VARIED, count=count, sum_ns=2000.0 * count))
        assert few is not None and (circumstances.error_ns(few) is not None) is known

    def median_error_ns(**changed: Any) -> Fraction | None:
        return replace(circumstances, **changed).percentile_error_ns(summary, 50.0)

    assert (median_error_ns(overflowed=True), median_error_ns(departure_error_ns=2000.0)) == (3308, 1048)
    assert median_error_ns(begun_share=0.25) == 3308
    # Without 1 % of the frames the median is between the quantiles 49.5 and 50.5 %, that is between 1 us and p99;
    # p99 between 98.01 and 99.01 %: between the median and p99.9.
    assert median_error_ns(burst_share=0.01) == 1000 + 308
    assert median_error_ns(burst_share=0.98) == 1000 + 308, "between those of 1 and of 99 %"
    assert replace(circumstances, burst_share=0.01).percentile_error_ns(summary, 99.0) == 1500 + 308
    assert median_error_ns(average_error_ns=None) is None
    assert circumstances.percentile_error_ns(replace(summary, overflow_count=1), 50.0) is None
    # Latencies that are all the same met no queue.
    alike = summarise(LatencyStats(10, 1000.0, 1000.0, 10_000.0))
    assert alike is not None and circumstances.error_ns(alike) == 8
    single = Spread(1, Fraction(5), Fraction(5), Fraction(5))
    assert circumstances.difference_error_ns(single) is circumstances.difference_error_ns(None) is None


def test_jitter_of_copies_has_the_error_of_as_many_frames_as_were_sent() -> None:
    """Of two differences of 0 and 100 ns the error is 98; four copies of each frame may be delayed together."""
    jitter = Spread(2, Fraction(0), Fraction(50), Fraction(100))
    plain = TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13)
    copied = replace(plain, tx_frames=100, expected_rx_frames=400)
    for of_all, factor in ((True, 2), (False, 1)):
        circumstances = Circumstances.of([copied], Fraction(0), of_all=of_all)
        assert circumstances.difference_error_ns(jitter) == pytest.approx(factor * 98, rel=1e-4)


def test_variations_of_the_delay_have_twice_the_error_of_stamps() -> None:
    """Each is a difference of two latencies. RFC 3550 has flows of 99 / 4 differences, of which 15/16 are left each."""
    summary = summarise(VARIED)
    assert summary is not None
    found, us = (
        variation_cells(summary, Circumstances(departure_error_ns=300.0, resolution_ns=Fraction(8))),
        pytest.approx,
    )
    assert (found.pdv_p99_us, found.pdv_p99_9_us, found.pdv_max_us) == (2, 3.5, 4)
    assert (found.pdv_p99_error_us, found.pdv_p99_9_error_us) == us((0.08 + 0.316, 0.16 + 0.316))
    assert (found.ipdv_min_us, found.ipdv_p1_us, found.ipdv_avg_us, found.ipdv_p99_us) == (-0.4, -0.35, -0.01, 0.25)
    assert (found.ipdv_p1_error_us, found.ipdv_p99_error_us) == us((0.02 + 0.316, 0.03 + 0.016 + 0.25))
    assert found.ipdv_avg_error_us == us((2**0.5 * 1.96 * (390 * 310 / 99) ** 0.5 + 16 + 10) / 1000)
    assert (found.ipdv_max_us, found.ipdv_samples) == (0.3, 99)
    assert (found.rfc3550_avg_us, found.rfc3550_max_us) == (0.12, 0.15)
    of_a_flow = 1.96 * (90 * 300 / 99) ** 0.5 * (99 / 16) ** 0.5
    jitter_error_ns = 2**0.5 * 1.96 * (90 * 300 / 99) ** 0.5 + 16 + 100
    smoothed_ns = of_a_flow / 4**0.5 + (100 + jitter_error_ns) * (15 / 16) ** (99 / 4) + 4
    assert found.rfc3550_avg_error_us == us((smoothed_ns + 16 + 120) / 1000)
    behind = variation_cells(
        summary, Circumstances(departure_error_ns=300.0, resolution_ns=Fraction(8), overflowed=True)
    )
    begun = variation_cells(
        summary, Circumstances(departure_error_ns=300.0, resolution_ns=Fraction(8), begun_share=0.25)
    )
    assert (begun.pdv_p99_error_us, begun.pdv_p99_9_error_us) == us((2 + 0.316, 3.5 + 0.316))
    assert begun.ipdv_avg_error_us == behind.ipdv_avg_error_us
    assert behind.rfc3550_avg_error_us == us((280 + 16 + 120) / 1000)
    assert behind.ipdv_avg_error_us == us((390 + 16 + 10) / 1000)
    assert (behind.ipdv_p1_error_us, behind.ipdv_p99_error_us) == us((0.65 + 0.316, 0.65 + 0.016 + 0.25))
    assert (behind.pdv_p99_error_us, behind.pdv_p99_9_error_us) == us((2 + 0.316, 0.5 + 0.316))
    assert variation_cells(summarise(replace(VARIED, count=1)), Circumstances()).pdv_max_us is None
    assert variation_cells(summarise(replace(VARIED, count=2)), Circumstances()).pdv_max_us == 4
    grown = variation_cells(summary, Circumstances(filling=True))
    assert (grown.pdv_p99_error_us, grown.ipdv_p99_error_us) == (None, None)
    # Differences are others behind the filling of a queue, too, or where nobody knows whether one fills.
    assert (grown.ipdv_avg_error_us, grown.rfc3550_avg_error_us) == (None, None)


def test_frames_of_other_rates_that_were_not_met_are_in_the_errors_of_averages_and_twice_in_those_of_differences() -> (
    None
):
    alike = summarise(LatencyStats(63, 500.0, 500.0, 63 * 500.0, 62, 0.0, 0.0, 0.0))
    assert alike is not None
    found = Circumstances(unmet_ns=60.0)
    assert (found.error_ns(alike), found.difference_error_ns(alike.jitter)) == (60, 120)
    varied = summarise(VARIED)
    assert varied is not None and variation_cells(varied, Circumstances(unmet_ns=2000.0)).pdv_p99_9_error_us == 2
    result = replace(TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13), unmet_ns=60.0)
    assert Circumstances.of([result], Fraction(0)) == found


FILLS = QueueTrend(Trend.FILLING)


def test_averages_in_all_definitions_share_the_error_of_first_bits() -> None:
    """Of 9,000 latencies between 1 and 5 us the error of the average is that of stamps and of the largest variance."""
    found = dict.fromkeys(Definition, summarise(VARIED))
    circumstances = Circumstances(average_error_ns=20.0)
    cells = definition_cells(found, circumstances)
    first = found[Definition.FIFO]
    assert first is not None
    assert (cells.fifo_us, cells.filo_us, cells.avg_error_us) == (2, 2, us(circumstances.error_ns(first)))
    assert cells.avg_error_us == pytest.approx(OF_MEAN_NS / 1000)
    none = definition_cells(found | {Definition.FIFO: None}, circumstances)
    assert (none.fifo_us, none.lilo_us, none.avg_error_us) == (None, 2, None)


def test_a_wire_stands_beside_the_latency_that_has_it() -> None:
    """1.5 +-0.25 us of 4 us: 2.5 us are left."""
    wires = {(1, 2, 64): SimpleNamespace(median_ns=1500.0, median_error_ns=250.0)}
    bed: Any = SimpleNamespace(calibration=SimpleNamespace(wire=lambda *place: wires[place]))
    assert calibration_cells(bed, 64, 1, 2, 4.0) == CalibrationCells(
        tx_port=1, rx_port=2, wire_us=1.5, wire_error_us=0.25, latency_raw_us=4.0, latency_calibrated_us=2.5
    )


def test_circumstances_are_the_worst_of_their_trials() -> None:
    plain = TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13)
    paced = tuple(StreamPacing("s", 1, 0.0, 0.0, 0.0, 0.0, 0.0, error_ns) for error_ns in (20.0, 30.0))
    one = replace(plain, latency_error_ns=5.0, single_latency_error_ns=40.0, pacing=paced)
    other = replace(plain, latency_error_ns=9.0, single_latency_error_ns=7.0)
    found = Circumstances.of([one, other], Fraction(8))
    assert found == Circumstances(None, 30.0, 9.0, 40.0, resolution_ns=Fraction(8))
    assert Circumstances.of([], Fraction(8)) == Circumstances(None, None, 0.0, None, resolution_ns=Fraction(8))
    unstamped = Circumstances.of([one, replace(other, unstamped_departures=True)], Fraction(8))
    assert (unstamped.average_error_ns, unstamped.single_error_ns) == (None, None)
    begun = replace(other, transient=Transient(0, over=False, frames=0))
    assert Circumstances.of([begun, one], Fraction(8)).begun_share == 1
    growing = (
        replace(other, latency_growth_ns=0.5),
        replace(other, ports=(PortCounts(2, late_frames=1),), queues=FILLS),
    )
    assert [Circumstances.of([result], Fraction(8)).filling for result in growing] == [True, True]
    # 8 lost for each late frame: a queue was full, and is no reason for latencies that grow.
    late = replace(other, lost_frames=8, ports=(PortCounts(2, late_frames=1),))
    assert [getattr(Circumstances.of([late], Fraction(8)), name) for name in ("overflowed", "filling")] == [True, False]


def test_frames_beyond_the_time_stamps_leave_no_error_that_is_known() -> None:
    summary = summarise(LatencyStats(9000, 1000.0, 4294967295.0, 9e6, overflow_count=3))
    assert summary is not None and Circumstances().error_ns(summary) is None


def test_the_error_of_an_average_of_differences_covers_that_neighbours_share_a_frame() -> None:
    rng = random.Random(7)
    errors = []
    for _ in range(300):
        delays = [rng.choice((0.0, 100.0)) for _ in range(401)]
        jitter = [abs(late - early) for early, late in pairwise(delays)]
        spread = Spread(400, Fraction(0), Fraction(sum(jitter)) / 400, Fraction(100))
        assert spread.difference_error_ns is not None
        errors.append(abs(float(spread.avg_ns) - 50.0) <= spread.difference_error_ns)
    assert sum(errors) / len(errors) >= 0.95
    assert Spread(1, Fraction(3), Fraction(3), Fraction(3)).difference_error_ns is None
    # Of two values 50 from both ends: sqrt(2) * 1.96 * 50 / sqrt(2).
    assert Spread(2, Fraction(0), Fraction(50), Fraction(100)).difference_error_ns == pytest.approx(98, rel=1e-4)


@pytest.mark.parametrize(("flows", "frames"), [(1, 401), (8, 21), (60, 201), (4, 4)])
def test_the_error_of_smoothed_jitter_covers_its_samples_and_its_start_from_zero(flows: int, frames: int) -> None:
    """Delays of 0 or 100 ns, each half of the time: the mean difference is 50 ns, its variance 50^2."""
    rng = random.Random(11)
    covered = []
    for _ in range(200):
        stats = [statistics([rng.choice((0.0, 100.0)) for _ in range(frames)], percentiles=False) for _ in range(flows)]
        whole = merged([found for one in stats if (found := summarise(one))])
        assert whole is not None and whole.rfc3550 is not None and whole.jitter is not None
        of_jitter_ns = whole.jitter.difference_error_ns
        assert of_jitter_ns is not None
        error_ns = whole.smoothed_error_ns(of_jitter_ns, Fraction(0))
        assert error_ns is not None
        covered.append(abs(whole.rfc3550.avg_ns - 50) <= error_ns)
        # Spreads of two values have the variance that the bound takes.
        left_ns = float(whole.jitter.avg_ns + of_jitter_ns) * (15 / 16) ** (frames - 1)
        assert frames < 20 or error_ns == pytest.approx(1.96 * 50 / 4 / flows**0.5 + left_ns, rel=0.1)
    assert sum(covered) / len(covered) >= 0.95


def test_smoothed_jitter_of_a_single_difference_has_no_error() -> None:
    summary = summarise(statistics([0.0, 100.0], percentiles=False))
    assert summary is not None and summary.rfc3550 is not None
    assert summary.smoothed_error_ns(Fraction(0), Fraction(1)) is None


def test_averages_of_groups_are_weighted_with_their_frames() -> None:
    groups = [summarise(LatencyStats(count, low, low, low * count)) for count, low in ((1, 100.0), (3, 200.0))]
    whole = merged([group for group in groups if group])
    assert whole is not None and whole.latency == Spread(4, Fraction(100), Fraction(175), Fraction(200))
    assert merged([]) is None and summarise(LatencyStats(0, 0.0, 0.0, 0.0)) is None


def test_percentiles_of_groups_are_the_most_unfavourable_that_all_groups_have() -> None:
    """The largest, but the smallest of a difference below its median."""
    other = replace(
        VARIED,
        percentiles_ns=((50.0, 1500.0), (99.0, 3500.0)),
        percentile_errors_ns=((50.0, 4.0), (99.0, 90.0)),
        ipdv_percentiles_ns=((1.0, -360.0), (50.0, 20.0), (99.0, 240.0)),
        max_ns=4000.0,
        overflow_count=2,
    )
    one = replace(VARIED, ipdv_percentiles_ns=((1.0, -350.0), (50.0, 10.0), (99.0, 250.0)), overflow_count=1)
    whole = merged([found for stats in (one, other) if (found := summarise(stats))])
    assert whole is not None and (whole.pdv_max_ns, whole.overflow_count) == (4000, 3)
    assert [dict(found) for found in (whole.percentiles_ns, whole.pdv_percentiles_ns)] == [
        {50: 2000, 99: 3500},
        {50: 1000, 99: 2500},
    ]
    assert dict(whole.percentile_errors_ns) == dict(whole.pdv_percentile_errors_ns) == {50: 8, 99: 90}
    assert dict(whole.ipdv_percentiles_ns) == {1: -360, 50: 20, 99: 250}
    assert whole.rfc3550 == Spread(8, Fraction(0), Fraction(120), Fraction(150))


def test_the_latency_of_streams_is_that_of_their_flows_with_histograms_where_there_are_any() -> None:
    flow = FlowCounts("a", 1, 2, 9, 9, latency=VARIED)
    plain = replace(TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13), flows=(flow, replace(flow, stream="b")))
    assert groups_of(plain, ["a"]) == [Group(1, 2, VARIED)]
    one = HistogramStats("a", 3, 4, replace(VARIED, count=7))
    counted = replace(plain, histograms=(one, replace(one, stream="b"), replace(one, tx_port=None)))
    assert groups_of(counted, ["a"]) == [Group(3, 4, one.latency)]
    assert shift_ns(bed(), Definition.FILO, 64, 1, 2) == 512, "without statistics frames come back as long"


def test_latency_may_be_negative_for_cut_through() -> None:
    summary = summarise(LatencyStats(1, 100.0, 100.0, 100.0), offset_ns(Definition.LIFO, 1518, GIGABIT))
    assert summary is not None and summary.latency.avg_ns == 100 - 12144


# RFC 2544 26.2: what is a sample


def streams_of(measurer: DelayMeasurer) -> tuple[Stream, ...]:
    return measurer.specs[-1].streams


def test_the_parts_of_a_stream_keep_its_slots() -> None:
    whole = Stream("s", 64, Fraction(1_000_000), 10, Pairs(), (1, 2), (2, 1), start_offset_ns=(0, 500))
    first, second = consecutive(whole, {"a": 4, "none": 0, "b": 6})
    assert (first.name, first.frame_count, first.start_offset_ns) == ("a", 4, (0, 500))
    assert (second.name, second.frame_count, second.start_offset_ns) == ("b", 6, (4000, 4500))


def test_all_frames_after_the_warm_up_are_samples() -> None:
    def delays(stream: Stream, tx: int, rx: int, count: int) -> Sequence[float]:
        return [9000.0 if stream.name.endswith("before") else 2000.0] * count

    measurer, outcome = run(Latency(), bed(), delays, 64)
    before, sampled = streams_of(measurer)
    assert before.frame_count == sampled.frame_count == 100, "twice the search trial, half of it"
    assert sampled.start_offset_ns[0] == round(100 * 10**9 / max_rate_fps(64, GIGABIT))
    (row,) = rows(outcome, "latency")
    assert (row["max_us"], row["samples"], row["runs"]) == (2.0, 200, 1)
    assert (row["stddev_us"], row["rsd_pct"]) == (None, None), "of one run"
    assert row["rate_fps"] == pytest.approx(1_488_095.24), "of a port"
    said = (
        "samples begin after 50 % of them (RFC: 60 s of 120 s).",
        "All frames after",
        "1 run per load instead of 20.",
    )
    assert all(any(part in text for text in outcome.deviations) for part in said)
    assert "Percentiles are those of the slowest port pair" in outcome.tables[0].note
    (figure,) = outcome.figures
    assert {line.points for line in figure.series} == {((64, 2.0),)}
    assert [line.name for line in figure.series] == ["minimum", "average", "maximum"]


def test_without_a_warm_up_the_stream_is_one() -> None:
    measurer, _ = run(Latency(), bed(), constant(2000.0), 64, "warm_up_pct=0")
    (stream,) = streams_of(measurer)
    assert stream.frame_count == 200


def test_a_tagged_frame_takes_the_place_of_a_frame_in_twenty_runs() -> None:
    """Run n takes 1000 + 10 n ns: the average of the tagged frames is that of 20 runs."""
    seen: list[str] = []

    def delays(stream: Stream, tx: int, rx: int, count: int) -> Sequence[float]:
        if not stream.name.startswith("pairs") or "-" in stream.name:
            return [77_000.0] * count
        if count == 1 and tx == 1:
            seen.append(stream.name)
        return [1000.0 + 10 * len(seen)] * count

    measurer, outcome = run(Latency(), bed(), delays, 64, "mode=rfc")
    before, tagged, after = streams_of(measurer)
    assert (before.frame_count, tagged.frame_count, after.frame_count) == (100, 1, 99)
    assert tagged.start_offset_ns < after.start_offset_ns
    (row,) = rows(outcome, "latency")
    assert (row["runs"], row["samples"]) == (20, 40), "one tagged frame per port and run"
    assert row["avg_us"] == pytest.approx((1000 + 10 * 10.5) / 1000)
    assert row["stddev_us"] == pytest.approx(0.01 * (35**0.5), rel=1e-6), "of 1 to 20: square root of 35"
    assert row["rsd_pct"] == pytest.approx(100 * float(str(row["stddev_us"])) / float(str(row["avg_us"])))
    assert not {"p99_us", "jitter_avg_us"} & set(row), "of one frame per flow and run"
    assert "Percentiles" not in outcome.tables[0].note
    assert not any("did not arrive" in text or "All frames" in text for text in outcome.deviations + outcome.findings)
    assert not any("instead of 20" in text for text in outcome.deviations)


def test_the_second_series_goes_to_a_new_network() -> None:
    measurer, outcome = run(Latency(), bed(), constant(2000.0), 64, "mode=rfc", "tagged_network=both", "runs=2")
    specs = [spec for spec in measurer.specs if spec.label.startswith("latency")]
    changed = [[bool(stream.modifiers) for stream in spec.streams] for spec in specs]
    assert changed == [[False, False, False]] * 2 + [[False, True, False]] * 2
    (modifier,) = specs[-1].streams[1].modifiers
    assert modifier.field == ipv4.DESTINATION
    assert [row["network"] for row in rows(outcome, "latency")] == ["same network", "new network"]
    assert any("2 runs per load instead of 20" in text for text in outcome.deviations)


def test_the_new_network_of_ipv6_is_another_one_of_120_bits() -> None:
    measurer, _ = run(Latency(), bed(), constant(2000.0), 128, "mode=rfc", "tagged_network=new", "frame_format=ipv6")
    (modifier,) = measurer.specs[-1].streams[1].modifiers
    assert modifier.field == ipv6.DESTINATION
    assert isinstance(modifier.values, ValueList)
    moved = int(station(2).ipv6) + modifier.values.values[0]
    assert IPv6Network((moved, 120), strict=False) != IPv6Network((int(station(2).ipv6), 120), strict=False)


def test_columns_are_in_the_order_of_the_specification() -> None:
    """latency_and_jitter.md 4; errors and standard deviations stand behind their values."""
    _, outcome = run(Latency(), bed(), constant(2000.0), 64)
    wanted = ["definition", "min_us", "avg_us", "max_us", "p50_us", "p99_us", "p99_9_us", "samples"]
    wanted += ["jitter_min_us", "jitter_avg_us", "jitter_max_us", "calibrated"]
    shown = [column.key for column in outcome.tables[0].columns]
    assert [key for key in shown if key in wanted] == wanted


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("tagged_network=new",), "mode=all_frames has no tagged frames"),
        (("mode=rfc", "tagged_network=new", "frame_format=ethernet"), "frames without IP have no network"),
        (("mode=rfc", "tagged_network=new", "modifier=networks"), "modifier=networks chooses the networks"),
    ],
)
def test_a_new_network_needs_tagged_ip_frames(settings: tuple[str, ...], message: str) -> None:
    test = find_test("rfc2544.latency")
    with pytest.raises(ParameterError, match=message):
        test.check(bed(), resolve(test.name, test.parameters, settings))


@pytest.mark.parametrize(("unknown", "missing"), [((2,), 3), ((1, 2), 6)])
def test_tagged_frames_that_do_not_arrive_are_counted(unknown: tuple[int, ...], missing: int) -> None:
    """The device does not know the new network behind some ports; at 90 %, above the throughput, nothing is sent."""

    class Lossy(DelayMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            result = super().measure(spec)
            new = {stream.name for stream in spec.streams if stream.modifiers}
            flows = (flow for flow in result.flows if flow.stream not in new or flow.rx_port not in unknown)
            return replace(result, flows=tuple(flows))

    test = Latency()
    settings = ("mode=rfc", "tagged_network=new", "runs=3", "loads=all", "search_max_pct=60", "search_initial_pct=60")
    parameters = resolve(test.name, test.parameters, (*QUICK, *settings))
    (unit,) = test.units(parameters, (64,))
    result = test.run_unit(unit, bed(), parameters, Lossy(constant(2000.0)))
    outcome = test.assemble(bed(), parameters, {unit: result})
    lost = [text for text in outcome.findings if "did not arrive" in text]
    where = ("10 %", "50 %", "throughput")
    assert lost == [f"64 B at {at}, new network: {missing} of 6 tagged frames did not arrive" for at in where]


def test_loss_while_latency_is_measured_is_said() -> None:
    test = Latency()
    parameters = resolve(test.name, test.parameters, QUICK)

    class Lossy(DelayMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            result = super().measure(spec)
            return replace(result, lost_frames=3) if spec.label.startswith("latency") else result

    (unit,) = test.units(parameters, (64,))
    result = test.run_unit(unit, bed(), parameters, Lossy(constant(2000.0)))
    outcome = test.assemble(bed(), parameters, {unit: result})
    assert "64 B at throughput, same network: 3 frames were lost while latency was measured" in outcome.findings


@pytest.mark.parametrize("modifier", ["none", "broadcast", "networks", "filter_25"])
def test_the_conditions_of_section_11_leave_the_samples_alone(modifier: str) -> None:
    """Frames of the condition take 90 us, those of the test 2 us; both have percentiles of their own."""

    def delays(stream: Stream, tx: int, rx: int, count: int) -> Sequence[float]:
        return [90_000.0 if stream.name.endswith(modifier) else 2000.0] * count

    settings = (f"modifier={modifier}", "scaled_frames=1000")
    test = find_test("rfc2544.latency")
    parameters = resolve(test.name, test.parameters, (*settings, "search_resolution_pct=10"))
    test.check(bed(), parameters)
    (unit,) = test.units(parameters, (64,))
    result = test.run_unit(unit, bed(), parameters, DelayMeasurer(delays))
    outcome = test.assemble(bed(), parameters, {unit: result})
    (row,) = rows(outcome, "latency")
    expected = 2000 * (1 if modifier in ("none", "networks") else Fraction(99, 100))
    assert (row["max_us"], row["p99_9_us"], row["samples"]) == (2.0, 2.0, expected)


def test_untrusted_runs_are_not_averaged() -> None:
    test = Latency()
    parameters = resolve(test.name, test.parameters, (*QUICK, "runs=3"))
    calls: list[str] = []

    def status(spec: TrialSpec) -> Verdict:
        calls.append(spec.label)
        return Verdict.INVALID if sum(label.startswith("latency") for label in calls) == 2 else Verdict.MEASURED

    def delays(stream: Stream, tx: int, rx: int, count: int) -> Sequence[float]:
        return [50_000.0 if sum(label.startswith("latency") for label in calls) == 2 else 2000.0] * count

    (unit,) = test.units(parameters, (64,))
    result = test.run_unit(unit, bed(), parameters, DelayMeasurer(delays, status))
    outcome = test.assemble(bed(), parameters, {unit: result})
    (row,) = rows(outcome, "latency")
    assert (row["runs"], row["max_us"], row["stddev_us"]) == (2, 2.0, 0)
    assert outcome.state is Verdict.INVALID
    assert "latency trial, 64 B at throughput, same network: INVALID: the fake says so" in outcome.findings


# Variation


def test_jitter_pdv_ipdv_and_rfc_3550_of_a_known_sequence() -> None:
    """Latency alternates between 1000 and 1400 ns: 50 frames each, last change upwards."""
    _, outcome = run(Latency(), bed(), alternating(1000.0, 1400.0), 64)
    (row,) = rows(outcome, "latency")
    assert (row["jitter_min_us"], row["jitter_avg_us"], row["jitter_max_us"]) == (0.4, 0.4, 0.4)
    assert row["jitter_avg_error_us"] == 0.002, "all are equal: that of four time stamps of 1 ns"
    (row,) = rows(outcome, "latency_variation")
    assert (row["pdv_p99_us"], row["pdv_p99_9_us"], row["pdv_max_us"]) == (0.4, 0.4, 0.4)
    assert (row["ipdv_min_us"], row["ipdv_max_us"], row["ipdv_p1_us"], row["ipdv_p99_us"]) == (-0.4, 0.4, -0.4, 0.4)
    assert row["ipdv_avg_us"] == pytest.approx(0.4 / 99), "50 steps up, 49 down"
    assert row["ipdv_samples"] == 198
    assert row["rfc3550_avg_us"] == pytest.approx(0.4 * (1 - (15 / 16) ** 99))
    # It began with 0, and stays within half a tick of 1 ns; a difference has four time stamps of 1 ns.
    assert row["rfc3550_avg_error_us"] == pytest.approx(0.402 * (15 / 16) ** 99 + 0.0005 + 0.002)
    # 50 steps up and 49 down, twice: a mean over 198 of values between -0.4 and 0.4, that share frames.
    assert row["ipdv_avg_error_us"] == pytest.approx(
        0.002 + 1.96 * 2**0.5 * (0.4**2 - (0.4 / 99) ** 2) ** 0.5 / 197**0.5, rel=0.02
    )


def test_pdv_is_that_of_each_flow() -> None:
    """Two directions with different but constant latency: no delay varies."""
    _, outcome = run(Latency(), bed(), lambda stream, tx, rx, count: [1000.0 * tx] * count, 64)
    (row,) = rows(outcome, "latency_variation")
    assert (row["pdv_max_us"], row["ipdv_max_us"]) == (0.0, 0.0)


def test_low_and_high_over_the_ports_stand_beside_the_average_of_all_frames() -> None:
    _, outcome = run(Latency(), bed(), lambda stream, tx, rx, count: [1000.0 + 1000 * tx] * count, 128)
    (row,) = rows(outcome, "latency")
    assert (row["avg_low_us"], row["avg_us"], row["avg_high_us"]) == (2.0, 2.5, 3.0)
    pairs = [(r["tx_port"], r["rx_port"], r["avg_us"], r["p99_us"]) for r in rows(outcome, "latency_pairs")]
    assert pairs == [(1, 2, 2.0, 2.0), (2, 1, 3.0, 3.0)]
    assert row["pair_error_us"] == max(float(str(r["avg_error_us"])) for r in rows(outcome, "latency_pairs"))


# Type of the device


@pytest.mark.parametrize(
    ("stages", "text"),
    [
        (0, "Cut-through device, or a wire"),
        (1, "Store-and-forward device:"),
        (3, "Store-and-forward device of 3 stages"),
        (Fraction(1, 2), "Device type not identified"),
    ],
)
def test_growth_with_the_frame_size_tells_the_type_of_the_device(stages: Fraction, text: str) -> None:
    latency = {size: 700 + stages * 8 * size for size in (64, 512, 1518)}
    assert architecture({size: Fraction(value) for size, value in latency.items()}, GIGABIT).startswith(text)
    assert architecture({64: Fraction(700)}, GIGABIT) == ""


@pytest.mark.parametrize(
    ("growth", "text"),
    [
        ("0.1", "Cut-through device, or a wire: .* by 0.10 of"),
        ("1.1", "Store-and-forward device: .* by 1.10 of"),
        ("1.9", "Store-and-forward device of 2 stages: .* by 1.90 of"),
        ("2.11", "Device type not identified: .* by 2.11 of"),
        ("-1", "Device type not identified: .* by -1.00 of"),
    ],
)
def test_a_device_type_is_told_to_a_tenth_of_the_serialization_time(growth: str, text: str) -> None:
    """A line of 8 Gbit/s takes 1 ns for a byte: the frame of 66 bytes takes two ``growth`` more."""
    found = {64: Fraction(700), 66: 700 + 2 * Fraction(growth)}
    assert re.match(text, architecture(found, 8 * GIGABIT))


@pytest.mark.parametrize(
    ("rates_bps", "text"),
    [
        ((GIGABIT, GIGABIT), "Store-and-forward device: the smallest first-in first-out latency grows by 1.00"),
        ((10**10, GIGABIT), ""),
    ],
)
def test_definitions_tell_the_type_of_the_device_where_ports_have_one_rate(
    rates_bps: tuple[int, int], text: str
) -> None:
    delays: Delays = lambda stream, tx, rx, count: [700.0 + 8 * stream.frame_size_bytes] * count  # noqa: E731
    _, outcome = run_units(Latency(), bed(*rates_bps), DelayMeasurer(delays), (64, 1518), *QUICK)
    (table,) = (table for table in outcome.tables if table.name == "latency_definitions")
    assert text in table.note and ("device:" in table.note) == bool(text)
    names = {line.name for line in outcome.figures[0].series}
    assert ("maximum, 10 -> 1" in names) == (not text) and ("maximum" in names) == bool(text)


@pytest.mark.parametrize("histograms", [1, 2])
def test_flows_are_counted_in_histograms_where_there_is_one_for_each(histograms: int) -> None:
    measurer = DelayMeasurer(constant(2000.0))
    run_units(Latency(), replace(bed(), histograms=histograms), measurer, (64,), *QUICK)
    spec = measurer.specs[-1]
    assert (len(spec.histogram_flows), spec.per_flow) == ((2, False) if histograms == 2 else (0, True))


@pytest.mark.parametrize(
    ("unmeasured", "title", "shown"),
    [
        (("IPDV", "RFC 3550 jitter"), "PDV", {"pdv_p99_us"}),
        (("RFC 3550 jitter",), "PDV, IPDV", {"pdv_p99_us", "ipdv_p99_us", "ipdv_samples"}),
        ((), "PDV, IPDV, RFC 3550 jitter", {"pdv_p99_us", "ipdv_p99_us", "rfc3550_max_us"}),
    ],
)
def test_a_table_of_variation_has_what_the_target_measures(
    unmeasured: tuple[str, ...], title: str, shown: set[str]
) -> None:
    """Goal: columns, title and note leave out what is missing, and the note says what that is."""
    table = variation_table(replace(bed(), target="tofino", unmeasured=unmeasured), "v", (), (), ())
    keys = {column.key for column in table.columns}
    assert table.title == f"Delay variation: {title}" and shown <= keys
    assert any(key.startswith("rfc3550") for key in keys) == ("RFC 3550 jitter" not in unmeasured)
    assert ("ipdv_p1_us" in keys) == ("ipdv_max_us" in keys) == ("IPDV" not in unmeasured)
    assert (f"{', '.join(unmeasured)}: not supported on tofino." in table.note) == bool(unmeasured)


def test_a_variation_without_an_error_stands_beside_the_state_of_the_queues() -> None:
    steady, filling = (
        ({"queues": text}, variation_cells(summarise(VARIED), Circumstances(filling=text != "steady")))
        for text in ("steady", "filling, 50 ppm")
    )
    lost = {"queues": "frames lost"}, variation_cells(summarise(VARIED), Circumstances(overflowed=True))
    assert "queues" not in variation_table(bed(), "v", (), (), [steady, lost]).rows[0], "both have errors"
    both = variation_table(bed(), "v", (), (), [steady, filling])
    assert [(row["queues"], row["pdv_p99_error_us"]) for row in both.rows] == [
        ("steady", pytest.approx(0.08)),
        ("filling, 50 ppm", None),
    ]
    assert both.columns[-1].key == "queues" and "unknown (?) of too few frames, and while a queue fills" in both.note


def test_a_table_of_sums_over_flows_has_no_pdv_and_no_percentiles_of_frames_that_were_not_counted() -> None:
    whole = variation_table(bed(), "v", (), (), ())
    sums = variation_table(bed(), "v", (), (), (), of_flows=False, counted=False)
    assert ("PDV: latency above" in whole.note, whole.detail) == (True, False)
    assert ("PDV: latency above" in sums.note, sums.detail) == (False, True)
    left_out = {column.key for column in whole.columns} - {column.key for column in sums.columns}
    assert {"pdv_max_us", "ipdv_p1_us", "ipdv_p99_us"} <= left_out and "ipdv_max_us" not in left_out


@pytest.mark.parametrize(("pairs", "detail"), [(60, False), (61, True)])
def test_more_than_60_wires_are_no_table_for_a_terminal(pairs: int, detail: bool) -> None:
    assert calibration_table("c", bed(calibration=wires(1.0, 1.0)), (), (), [{}] * pairs).detail is detail


def test_frames_beyond_the_time_stamps_are_counted_once_for_a_size() -> None:
    def cells(count: int, calibrated: str = RAW) -> LatencyCells:
        found = summarise(replace(VARIED, overflow_count=count))
        return latency_cells(found, "FIFO", Circumstances(), calibrated)

    rows_of = [(64, cells(1200)), (64, cells(34)), (64, cells(1200, CALIBRATED)), (128, cells(0))]
    (finding,) = overflows(rows_of)
    assert finding.startswith("64 B: 1,234 frames took longer")


def test_the_note_says_whether_wires_are_subtracted() -> None:
    assert "yes: the wire of the calibration is subtracted" in latency_note(bed(calibration=wires(1.0, 1.0)))
    assert "nothing is subtracted. Jitter" in latency_note(bed())


@pytest.mark.parametrize(
    ("share", "average_ns", "error_ns"),
    [
        # A quarter of the frames has 1 to 5 us: they are off from the others by 4/3 of what they are off from all.
        (Fraction(1, 4), 3500, Fraction(2500, 3)),
        (Fraction(1, 4), 2500, Fraction(2500, 3)),
        # By no more than all of the range.
        (Fraction(1, 4), 1000, 1000),
        (Fraction(1), 2000, 4000),
        (Fraction(0), 2000, 0),
    ],
)
def test_an_average_without_some_frames_is_off_by_their_share(
    share: Fraction, average_ns: int, error_ns: Fraction
) -> None:
    assert _without_ns(share, Fraction(1000), Fraction(average_ns), Fraction(5000)) == error_ns
