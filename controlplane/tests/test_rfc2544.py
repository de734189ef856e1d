"""RFC 2544 and RFC 9004 on devices with closed-form answers."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest
from fakes import FakeMeasurer, capacity, wire

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.methods.base import TestMethod, UnitResult
from p4mesh.methods.bed import TestBed, TestPort
from p4mesh.methods.outcome import Outcome, State
from p4mesh.methods.parameters import resolve
from p4mesh.methods.repetition import spread_of
from p4mesh.methods.rfc2544.back_to_back import BackToBack, buffer_times_s
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.stream import PatternKind
from p4mesh.trial.result import Status
from p4mesh.trial.spec import HistogramPer, TrialSpec

GIGABIT = 10**9


def bed(count: int = 4) -> TestBed:
    return TestBed("fake", tuple(TestPort(n, f"p{n}", GIGABIT) for n in range(1, count + 1)))


def run(test: TestMethod, measurer: FakeMeasurer, size: int, *settings: str) -> tuple[UnitResult, Outcome]:
    parameters = resolve(test.name, test.parameters, settings)
    test.check(bed(), parameters)
    (unit,) = test.units(parameters, (size,))
    result = test.run_unit(unit, bed(), parameters, measurer)
    return result, test.assemble(bed(), parameters, {unit: result})


def tail_drop(queue_frames: int, overhead_bytes: int = 24, size: int = 64) -> FakeMeasurer:
    """Return a device with a queue per output: a burst loses what neither drains nor waits."""

    def carry(spec: TrialSpec, sent: int) -> int:
        stream = spec.streams[0]
        rho = min(Fraction(1), max_rate_fps(size, GIGABIT, overhead_bytes) / stream.rate_fps)
        lost = max(0, ceil(stream.frame_count * (1 - rho)) - queue_frames)
        return sent - lost * sum(len(item.tx_ports) for item in spec.streams)

    return FakeMeasurer(carry)


def test_pairs_are_neighbours_in_both_directions() -> None:
    measurer = FakeMeasurer()
    run(Throughput(), measurer, 64)
    out, back = measurer.specs[0].streams
    assert (out.pattern, out.tx_ports, out.rx_ports) == (PatternKind.PAIRS, (1, 3), (2, 4))
    assert (back.tx_ports, back.rx_ports) == ((2, 4), (1, 3))


def test_multi_port_traffic_is_in_phase_from_half_to_half() -> None:
    measurer = FakeMeasurer()
    run(Throughput(), measurer, 64, "ports=multi_port", "bidirectional=false")
    (stream,) = measurer.specs[0].streams
    assert (stream.pattern, stream.tx_ports, stream.rx_ports) == (PatternKind.IN_PHASE, (1, 2), (3, 4))


def test_throughput_of_a_known_capacity_is_confirmed_by_a_longer_trial() -> None:
    limit_fps = Fraction(3_000_000)
    measurer = FakeMeasurer(capacity(limit_fps))
    result, outcome = run(Throughput(), measurer, 64)
    limit_pct = 100 * limit_fps / (4 * max_rate_fps(64, GIGABIT))
    assert limit_pct - Fraction(1, 10) <= result["result_pct"] <= limit_pct
    assert outcome.state is State.PASS
    assert measurer.specs[-1].duration_ns == 2 * measurer.specs[0].duration_ns
    assert measurer.specs[-1].label.startswith("confirmation")


def test_a_result_that_fails_the_longer_trial_is_searched_again_below() -> None:
    """A queue of 100 frames hides the overload from the search trials, not from the confirmation."""
    measurer = tail_drop(100)
    result, _ = run(Throughput(), measurer, 64, "scaled_frames=1000", "confirm_factor=50")
    assert measurer.specs[1].label.startswith("confirmation")
    true_limit = 100 * Fraction(84, 88)
    assert result["result_pct"] <= true_limit + 100 * Fraction(100, 50_000)
    assert result["shown"]["verdict"] == "PASS"


@pytest.mark.parametrize("method", ["bisect", "linear_down"])
def test_a_limit_that_short_trials_do_not_see_is_found_with_long_ones(method: str) -> None:
    """Short trials pass at every load, long ones above 30 % fail: below the first load of the search."""
    limit_fps = Fraction(30, 100) * max_rate_fps(64, GIGABIT)

    def carry(spec: TrialSpec, sent: int) -> int:
        seen = spec.duration_ns > measurer.specs[0].duration_ns and spec.streams[0].rate_fps > limit_fps
        return sent - 1 if seen else sent

    measurer = FakeMeasurer(carry)
    settings = ("search_max_pct=45", "search_initial_pct=45", f"search_method={method}", "search_step_pct=5")
    result, _ = run(Throughput(), measurer, 64, *settings)
    assert result["result_pct"] == pytest.approx(30, abs=0.1)
    assert result["shown"]["verdict"] == "PASS"
    assert len(measurer.specs) < 20


def test_frame_formats_reach_the_streams() -> None:
    measurer = FakeMeasurer()
    run(Throughput(), measurer, 128, "frame_format=ipv6")
    assert measurer.specs[0].streams[0].template.ip_version == 6


def test_frame_loss_starts_at_100_and_stops_after_two_lossless_loads() -> None:
    result, outcome = run(FrameLoss(), FakeMeasurer(capacity(Fraction(4_500_000))), 64)
    assert [row["load_pct"] for row in result["rows"]] == [100, 90, 80, 70, 60]
    assert result["rows"][0]["loss_pct"] == pytest.approx(100 * (1 - 4.5 / (4 * 1.488095)), abs=0.01)
    assert outcome.figures[0].x_max == outcome.figures[0].y_max == 100


def test_an_untrusted_load_is_not_lossless_and_not_in_the_table() -> None:
    measurer = FakeMeasurer(status=lambda spec: Status.INVALID if len(measurer.specs) == 1 else Status.VALID)
    result, outcome = run(FrameLoss(), measurer, 64)
    assert len(result["rows"]) == 3
    assert len(outcome.tables[0].rows) == 2
    assert outcome.state is State.INVALID


def test_latency_is_measured_at_the_throughput_and_below_it() -> None:
    measurer = FakeMeasurer(capacity(Fraction(3_000_000)))
    result, _ = run(Latency(), measurer, 64, "loads=all")
    assert [(row["at"], row["definition"]) for row in result["latency"]] == [
        ("10 %", "LILO"),
        ("50 %", "LILO"),
        ("throughput", "LILO"),
        ("90 %", "NA"),
    ]
    assert result["latency"][2]["load_pct"] == result["throughput"]["result_pct"]


def test_latency_trials_ask_for_histograms_and_searches_do_not() -> None:
    measurer = FakeMeasurer(wire)
    run(Latency(), measurer, 64)
    assert [spec.histograms for spec in measurer.specs] == [None, None, HistogramPer.FLOW]
    assert {name for name, _, _ in measurer.specs[-1].histogram_flows} == {"pairs1"}, "not of the warm-up"


@pytest.mark.parametrize(("size", "burst", "corrected_us"), [(64, 1408, 43.0), (1518, 24672, 787.0)])
def test_back_to_back_finds_the_queue_behind_an_egress_overhead_of_24_bytes(
    size: int, burst: int, corrected_us: float
) -> None:
    """``b2b = Q / (1 - rho)`` and ``corrected = Q / max_fps`` for Q = 64."""
    settings = ()
    result, outcome = run(BackToBack(), tail_drop(64, size=size), size, *settings)
    assert result["burst_frames_avg"] == burst
    assert result["corrected_buffer_us"] == pytest.approx(corrected_us, rel=0.12)
    assert outcome.state is State.DONE


def test_buffer_times_are_exact_with_the_exact_throughput() -> None:
    max_fps, throughput = max_rate_fps(64, GIGABIT), max_rate_fps(64, GIGABIT, 24)
    _, corrected = buffer_times_s(Fraction(1408), throughput, max_fps)
    assert corrected == 64 / max_fps


def test_back_to_back_does_not_apply_at_line_rate() -> None:
    result, outcome = run(BackToBack(), FakeMeasurer(wire), 64)
    assert (result["state"], result["burst_frames_avg"]) == ("not applicable", None)
    assert outcome.state is State.DONE


def test_a_burst_at_the_upper_limit_is_invalid() -> None:
    settings = ("scaled_frames=200000", "burst_max_frames=1000")
    result, outcome = run(BackToBack(), tail_drop(64), 64, *settings)
    assert result["state"] == "INVALID: raise burst_max_frames"
    assert result["burst_frames_avg"] is None
    assert outcome.state is State.INVALID


@pytest.mark.parametrize("test", [Throughput(), Latency(), FrameLoss()])
def test_an_odd_number_of_ports_is_refused(test: TestMethod) -> None:
    with pytest.raises(TopologyError, match="needs an even number of tester ports"):
        test.check(bed(3), resolve(test.name, test.parameters, ()))


def test_contradicting_burst_bounds_are_refused() -> None:
    with pytest.raises(ParameterError, match="burst_min_frames=50 is above"):
        run(BackToBack(), FakeMeasurer(), 64, "burst_min_frames=50", "burst_max_frames=40")


def test_spread_of_measurements() -> None:
    spread = spread_of([2, 4, 4, 4, 5, 5, 7, 9])
    assert (spread.minimum, spread.mean, spread.maximum) == (2, 5, 9)
    assert spread.stddev == pytest.approx((32 / 7) ** 0.5)
    assert spread.rsd_pct == pytest.approx(100 * (32 / 7) ** 0.5 / 5)
    assert spread_of([3]).stddev == 0
    assert spread_of([0, 0]).rsd_pct is None
    with pytest.raises(ValueError, match="no value"):
        spread_of([])
