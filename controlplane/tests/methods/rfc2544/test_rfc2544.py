"""RFC 2544 and RFC 9004 on devices with closed-form answers."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.beds import GIGABIT, make_bed
from support.fakes import FakeMeasurer, capacity, wire
from support.runs import run_unit

from p4mesh.errors import ParameterError
from p4mesh.layers import IPv6
from p4mesh.methods.base import Method, TrialNote, Unit
from p4mesh.methods.mesh import Leg, Mesh, measure_throughput
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.results.forwarding import MeshThroughput
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.repetition import spread_of
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2544.latency_rows import NotReached
from p4mesh.methods.rfc2544.throughput import Throughput, deviations
from p4mesh.methods.rfc9004.back_to_back import BackToBack
from p4mesh.methods.rfc9004.buffer_times import (
    Between,
    between_throughputs,
    buffer_errors,
    buffer_times,
    in_longer_trials,
    without_buffer,
)
from p4mesh.methods.rfc9004.burst_searches import burst_goal
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import InPhase, Pairs
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

BED = make_bed()


def run(test: Method, measurer: FakeMeasurer, size: int, *settings: str) -> tuple[Any, Outcome]:
    return run_unit(test, BED, measurer, size, *settings)


def tail_drop(queue_frames: int, overhead_bytes: int = 24, size: int = 64) -> FakeMeasurer:
    """A device with a queue per output: a burst loses what neither drains nor waits."""

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
    assert (out.pattern, out.tx_ports, out.rx_ports) == (Pairs(), (1, 3), (2, 4))
    assert (back.tx_ports, back.rx_ports) == ((2, 4), (1, 3))


def test_multi_port_traffic_is_in_phase_from_half_to_half() -> None:
    measurer = FakeMeasurer()
    run(Throughput(), measurer, 64, "pattern=in_phase", "bidirectional=false")
    (stream,) = measurer.specs[0].streams
    assert (stream.pattern, stream.tx_ports, stream.rx_ports) == (InPhase(), (1, 2), (3, 4))


def test_throughput_of_a_known_capacity_is_confirmed_by_a_longer_trial() -> None:
    limit_fps = Fraction(3_000_000)
    measurer = FakeMeasurer(capacity(limit_fps))
    result, outcome = run(Throughput(), measurer, 64)
    limit_pct = 100 * limit_fps / (4 * max_rate_fps(64, GIGABIT))
    assert limit_pct - Fraction(1, 10) <= result.search.throughput_pct <= limit_pct
    assert outcome.state is Verdict.MEASURED
    assert measurer.specs[-1].duration_ns == 2 * measurer.specs[0].duration_ns
    assert measurer.specs[-1].label.startswith("confirmation")


def test_a_result_that_fails_the_longer_trial_is_searched_again_below() -> None:
    """A queue of 100 frames hides the overload from the search trials, not from the confirmation."""
    measurer = tail_drop(100)
    result, _ = run(Throughput(), measurer, 64, "scaled_frames=1000", "confirm_factor=50")
    assert measurer.specs[1].label.startswith("confirmation")
    true_limit = 100 * Fraction(84, 88)
    assert result.search.throughput_pct <= true_limit + 100 * Fraction(100, 50_000)
    assert result.search.shown.verdict is Verdict.PASS


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
    assert result.search.throughput_pct == pytest.approx(30, abs=0.1)
    assert result.search.shown.verdict is Verdict.PASS
    assert len(measurer.specs) < 20


def test_frame_formats_reach_the_streams() -> None:
    measurer = FakeMeasurer()
    run(Throughput(), measurer, 128, "frame_format=ipv6")
    assert isinstance(measurer.specs[0].streams[0].frame.network, IPv6)


def test_frame_loss_starts_at_100_and_stops_after_two_lossless_loads() -> None:
    result, outcome = run(FrameLoss(), FakeMeasurer(capacity(Fraction(4_500_000))), 64)
    assert [row.load_pct for row in result.rows] == [100, 90, 80, 70, 60]
    assert result.rows[0].loss_pct == pytest.approx(100 * (1 - 4.5 / (4 * 1.488095)), abs=0.01)
    assert outcome.figures[0].x_max == outcome.figures[0].y_max == 100


@pytest.mark.parametrize(
    ("limit", "verdicts"),
    [("none", ["MEASURED"] * 5), ("0", ["FAIL"] * 3 + ["PASS"] * 2), ("15", ["FAIL"] * 2 + ["PASS"] * 3)],
)
def test_a_frame_loss_sweep_is_measured_and_passes_or_fails_by_a_threshold(limit: str, verdicts: list[str]) -> None:
    """A device that carries 75 % of line rate loses, at 100, 90 and 80 %, 25, 16.7 and 6.25 % of the frames."""
    device = FakeMeasurer(capacity(3 * max_rate_fps(64, GIGABIT)))
    result, outcome = run(FrameLoss(), device, 64, f"sweep_loss_limit_pct={limit}")
    assert [row.loss_pct for row in result.rows] == pytest.approx([25, 100 / 6, 6.25, 0, 0], abs=0.01)
    assert [row["state"] for row in outcome.tables[0].rows] == verdicts
    assert outcome.state is (Verdict.worst(map(Verdict, verdicts)))


def test_an_untrusted_load_is_not_lossless_and_shows_no_counts() -> None:
    measurer = FakeMeasurer(status=lambda spec: Verdict.INVALID if len(measurer.specs) == 1 else Verdict.MEASURED)
    result, outcome = run(FrameLoss(), measurer, 64)
    assert len(result.rows) == 3
    first, *others = outcome.tables[0].rows
    shown = {key: cell for key, cell in first.items() if cell is not None}
    assert shown == {"frame_size_bytes": 64, "load_pct": 100, "state": "INVALID"}
    assert [row["state"] for row in others] == ["MEASURED", "MEASURED"]
    assert [[x for x, _ in series.points] for series in outcome.figures[0].series] == [[90, 80]]
    assert outcome.state is Verdict.INVALID


def test_latency_is_measured_at_the_throughput_and_below_it() -> None:
    measurer = FakeMeasurer(capacity(Fraction(3_000_000)))
    result, _ = run(Latency(), measurer, 64, "loads=all")
    assert [row.latency.definition for row in result.latency] == ["LILO", "LILO", "NA", "LILO"]
    shown = [row if isinstance(row, NotReached) else row.place for row in result.latency]
    assert [place.at for place in shown] == ["10 %", "50 %", "90 %", "throughput"]
    assert shown[3].load_pct == result.throughput.search.throughput_pct


def test_a_load_that_equals_the_throughput_is_measured() -> None:
    settings = ("loads=all", "search_max_pct=90", "search_initial_pct=90")
    result, _ = run(Latency(), FakeMeasurer(wire), 64, *settings)
    assert [row.latency.definition for row in result.latency] == ["LILO"] * 4


def test_the_throughput_table_is_that_of_the_rfc() -> None:
    """Theoretical rate, throughput in frames/s, % and bits of both layers, trials, duration of the deciding one."""
    result, outcome = run(Throughput(), FakeMeasurer(capacity(Fraction(3_000_000))), 64)
    table = outcome.tables[0]
    assert [column.title for column in table.columns][:9] == [
        "Frame size",
        "Result",
        "Theoretical",
        "Throughput",
        "Throughput",
        "L1",
        "L2",
        "Trials",
        "Duration",
    ]
    (row,) = table.rows
    line_fps = 4 * float(max_rate_fps(64, GIGABIT))
    assert row["theoretical_fps"] == pytest.approx(line_fps)
    assert row["throughput_fps"] == pytest.approx(line_fps * result.search.throughput_pct / 100, rel=1e-4)
    assert row["throughput_l1_mbps"] == pytest.approx(row["throughput_fps"] * 8 * 84 / 1e6)
    assert row["throughput_l2_mbps"] == pytest.approx(row["throughput_fps"] * 8 * 64 / 1e6)
    assert row["duration_ms"] == pytest.approx(2 * 30_000 * 672e-6), "the confirming trial"
    assert f"As a single value: {row['throughput_fps']:,.0f} frames/s with 64 B frames, of 5,952,381" in table.note
    assert "IPv4/UDP" in table.note


def test_a_throughput_that_was_not_found_is_no_number() -> None:
    _, outcome = run(Throughput(), FakeMeasurer(lambda _, sent: 0), 64)
    (row,) = outcome.tables[0].rows
    assert (row["state"], row["throughput_fps"], row["throughput_pct"]) == ("FAIL", None, None)
    assert (row["tried_pct"] < 1, row["loss_pct"]) == (True, 100)
    assert "As a single value" not in outcome.tables[0].note


def test_the_throughput_shows_what_each_direction_sent_and_received() -> None:
    result, outcome = run(Throughput(), FakeMeasurer(wire), 64)
    table = outcome.tables[1]
    assert [(row["from_ports"], row["to_ports"]) for row in table.rows] == [("1, 3", "2, 4"), ("2, 4", "1, 3")]
    sent = result.search.shown.tx_frames / 2
    # The fake knows counts of the ports of one direction only.
    assert table.rows[0]["tx_frames"] == sent


def test_one_pair_of_ports_can_be_measured_alone() -> None:
    measurer = FakeMeasurer()
    run(Throughput(), measurer, 64, "ports=first_pair", "bidirectional=false")
    (stream,) = measurer.specs[0].streams
    assert (stream.tx_ports, stream.rx_ports) == ((1,), (2,))
    parameters = resolve(Throughput.name, Throughput.parameters, ("ports=first_pair",))
    Throughput().check(make_bed(3), parameters)


def test_a_short_search_with_a_confirmation_of_the_rfc_says_so() -> None:
    _, outcome = run(Throughput(), FakeMeasurer(wire), 64, "duration_ms=6000", "confirm_factor=10")
    assert outcome.deviations == (
        "Search trials are shorter than the 60 s of RFC 2544 24, the confirming ones are not.",
    )
    _, outcome = run(Throughput(), FakeMeasurer(wire), 64, "duration_ms=60000")
    assert outcome.deviations == ()


def test_tests_of_a_suite_say_in_the_same_words_that_trials_are_short() -> None:
    _, searched = run(Throughput(), FakeMeasurer(wire), 64)
    _, swept = run(FrameLoss(), FakeMeasurer(wire), 64)
    assert searched.deviations[0] == swept.deviations[0], "the page of the suite shows it once"
    words = "Confirming trials take 2 times as long as those of the search"
    low = ", and longer at loads so low that fewer frames would be sent than at the highest one"
    assert searched.deviations[1:] == (f"{words}{low}.",)
    _, timed = run(Throughput(), FakeMeasurer(wire), 64, "duration_ms=100")
    assert timed.deviations[1:] == (f"{words}.",), "all trials are as long as was asked for"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ((), "Results are tried again only at loads so low that fewer frames were sent"),
        (("search_method=mlr",), "Results are not confirmed by a longer trial"),
        (("duration_ms=60000",), "Results are not confirmed by a longer trial"),
    ],
)
def test_results_that_are_not_confirmed_say_so(settings: tuple[str, ...], said: str) -> None:
    parameters = resolve(Throughput.name, Throughput.parameters, ("confirm_factor=1", *settings))
    assert deviations(parameters, (64,), 10**9)[-1].startswith(said)


def test_latency_as_the_rfc_wants_it_departs_from_nothing() -> None:
    _, outcome = run(Latency(), FakeMeasurer(wire), 64, "duration_ms=60000", "mode=rfc")
    assert outcome.deviations == ()
    shown = {column.key for column in outcome.tables[0].columns}
    assert not shown & {"p50_us", "p99_us", "percentile_error_us", "jitter_avg_us"}, "one frame per flow and run"
    _, outcome = run(Latency(), FakeMeasurer(wire), 64, "duration_ms=60000", "mode=rfc", "warm_up_pct=40")
    assert any("samples begin after 40 %" in text for text in outcome.deviations)


def test_latency_trials_ask_for_histograms_and_searches_do_not() -> None:
    measurer = FakeMeasurer(wire)
    run(Latency(), measurer, 64)
    assert [spec.histograms for spec in measurer.specs] == [None, None, HistogramPer.FLOW]
    assert {name for name, _, _ in measurer.specs[-1].histogram_flows} == {"pairs1"}, "not of the warm-up"


PUBLISHED_QUEUE = ((64, 1408, 43.0e-6), (1518, 24672, 787e-6))
"""Frame size, longest burst, corrected buffer time of Q = 64 frames behind an egress overhead of 24 bytes."""


@pytest.mark.parametrize(("size", "burst", "corrected_s"), PUBLISHED_QUEUE)
def test_back_to_back_finds_the_queue_behind_an_egress_overhead_of_24_bytes(
    size: int, burst: int, corrected_s: float
) -> None:
    """``b2b = Q / (1 - rho)`` and ``corrected = Q / max_fps``, as exact as trials of 60 s find the throughput."""
    settings = ("duration_ms=60000", "search_resolution_pct=0.0001", "repetitions=2")
    result, outcome = run(BackToBack(), tail_drop(64, size=size), size, *settings)
    assert result.burst_frames_avg == burst
    # A queue of 64 frames lets throughput read 64 / (frames of 60 s) of line rate too high.
    frames = 60 * max_rate_fps(size, GIGABIT)
    error = float(
        (64 / frames + Fraction(1, 10**6)) / (1 - max_rate_fps(size, GIGABIT, 24) / max_rate_fps(size, GIGABIT))
    )
    assert error < 0.01
    assert result.corrected_buffer_s == pytest.approx(corrected_s, rel=error + 0.001)
    assert result.implied_buffer_s == pytest.approx(burst / float(max_rate_fps(size, GIGABIT)))
    assert outcome.state is Verdict.MEASURED


@pytest.mark.parametrize(("size", "burst", "corrected_s"), PUBLISHED_QUEUE)
def test_scaled_trials_find_the_published_buffer_within_one_percent(size: int, burst: int, corrected_s: float) -> None:
    """With the default durations: those of 1518 bytes are repeated with 100 times the burst."""
    measurer = tail_drop(64, size=size)
    result, outcome = run(BackToBack(), measurer, size, "repetitions=2")
    assert result.burst_frames_avg == burst
    assert result.corrected_buffer_s == pytest.approx(corrected_s, rel=0.0115)
    longest = max(spec.duration_ns for spec in measurer.specs if spec.label.startswith("throughput"))
    assert longest == pytest.approx(max(500_000, 100 * burst) / float(max_rate_fps(size, GIGABIT)) * 1e9, rel=1e-6)
    assert not outcome.findings


@pytest.mark.parametrize(("size", "burst", "corrected_s"), PUBLISHED_QUEUE)
def test_buffer_times_are_exact_with_the_exact_throughput(size: int, burst: int, corrected_s: float) -> None:
    max_fps, throughput = max_rate_fps(size, GIGABIT), max_rate_fps(size, GIGABIT, 24)
    times = buffer_times(Fraction(burst), throughput, max_fps, max_fps / 10)
    assert times.corrected_s == 64 / max_fps
    assert float(times.corrected_s) == pytest.approx(corrected_s, rel=0.001)
    assert times.actual_s == 640 / max_fps, "ten times as long at a tenth of the rate"


def test_a_longer_burst_and_a_lower_throughput_make_every_buffer_time_longer() -> None:
    """100 frames of 1 s at 100 frames/s, half of which leave meanwhile; at most 120 frames and 40 frames/s."""
    burst, throughput = (Between(*map(Fraction, ends)) for ends in ((90, 100, 120), (40, 50, 60)))
    errors = buffer_errors(burst, throughput, Fraction(100), None)
    # 0.9 to 1.2 s; 0.36 to 0.72 s; 0.6 to 1.8 s in frames of the throughput.
    assert [float(error) for error in vars(errors).values()] == pytest.approx([0.2, 0.22, 0.8])
    assert float(buffer_errors(burst, throughput, Fraction(100), Fraction(10)).actual_s) == pytest.approx(2.2)
    shorter = Between(Fraction(50), Fraction(100), Fraction(101))
    exact = Between(*[Fraction(50)] * 3)
    assert buffer_errors(shorter, exact, Fraction(100), None).implied_s == Fraction(1, 2)


def test_a_buffer_that_helps_a_trial_is_taken_off_its_throughput() -> None:
    """Of 80 % a trial of 1,000 frames with a burst of 100 reads 0.8 / (1 - 0.02)."""
    assert without_buffer(Fraction(40, 49), Fraction(100), 1000) == Fraction(4, 5)


def searched(result: int, lower: int | None, upper: int | None, frames: int = 1000) -> MeshThroughput:
    """As much of a throughput in percent as its interval is made from."""
    shown = SimpleNamespace(ports=[SimpleNamespace(tx_frames=frames), SimpleNamespace(tx_frames=frames - 1)])
    search = SimpleNamespace(result_load_pct=Fraction(result), lower_pct=lower, upper_pct=upper, shown=shown)
    return cast(MeshThroughput, SimpleNamespace(search=search))


HELPED = 100 * Fraction(8, 10) * 900 / (1000 - 80)
"""80 % of a trial of 1,000 frames that a buffer of 100 helped."""


@pytest.mark.parametrize(
    ("lower", "upper", "frames", "low", "high"),
    [
        (79, 81, 1000, HELPED, 81),
        (None, None, 1000, HELPED, 80),
        (70, 75, 1000, 70, 80),
        (79, 81, 101, 100 * Fraction(8, 10) / (101 - 80), 81),
        # A trial that ends before the buffer is full tells nothing.
        (79, 81, 100, 0, 81),
    ],
)
def test_a_throughput_for_good_is_at_least_what_no_buffer_helps(
    lower: int | None, upper: int | None, frames: int, low: Fraction, high: int
) -> None:
    found = between_throughputs(searched(80, lower, upper, frames), Fraction(100))
    assert found == Between(Fraction(low), Fraction(80), Fraction(high))


@pytest.mark.parametrize(
    ("settings", "frames"),
    [
        # A burst of 100 frames is 10 % of a trial of 1,000, 5 % of one of 2,000; ten times as long is the most.
        (("buffer_error_pct=5",), 2000),
        (("buffer_error_pct=0.5",), 10_000),
        (("buffer_error_pct=10",), None),
        (("buffer_error_pct=5", "sustained=true"), 2000),
        (("buffer_error_pct=5", "duration_ms=0.672"), None),
    ],
)
def test_a_throughput_that_a_buffer_helps_is_searched_again_below_it_in_longer_trials(
    settings: tuple[str, ...], frames: int | None
) -> None:
    test = BackToBack()
    usual = ("sustained=false", "search_resolution_pct=1", "search_method=bisect", "search_try_max_first=false")
    given = [each for each in usual if each.partition("=")[0] not in " ".join(settings)]
    scaled = () if "duration_ms" in settings[-1] else ("scaled_frames=1000",)
    parameters = resolve(test.name, test.parameters, (*given, *scaled, *settings))
    mesh = Mesh((Leg(Pairs(), (1,), (2,)),), GIGABIT)
    measurer = FakeMeasurer(capacity(Fraction(8, 10) * max_rate_fps(64, GIGABIT)))
    first = measure_throughput(mesh, 64, parameters, measurer)
    trials = len(measurer.specs)
    found = in_longer_trials(first, Fraction(100), mesh, 64, parameters, measurer)
    if frames is None:
        assert found is first
        return
    again = measurer.specs[trials:]
    line_fps = max_rate_fps(64, GIGABIT)
    highest_pct = first.search.result_load_pct
    assert highest_pct is not None and found.trial_frames == frames
    initial_pct = 100 * without_buffer(highest_pct / 100, Fraction(100), 1000) - 1
    assert 100 * again[0].streams[0].rate_fps / line_fps == pytest.approx(initial_pct, rel=1e-9)
    assert again[0].duration_ns == pytest.approx(frames * 672, abs=1)
    assert max(spec.streams[0].rate_fps for spec in again) <= highest_pct * line_fps / 100
    assert found.search.trials == len(measurer.specs) == len(found.search.rows)
    assert found.search.upper_pct is not None and found.search.upper_pct >= highest_pct


def test_back_to_back_is_the_average_of_fifty_searches() -> None:
    """The device loses one frame more in every second search: bursts of 1408 and 1386 frames in turn."""
    test = BackToBack()
    assert resolve(test.name, test.parameters, ()).integer("repetitions") == 50

    def carry(spec: TrialSpec, sent: int) -> int:
        burst = spec.label.startswith("back_to_back")
        found = [label for label in measurer.labels if label.endswith(" 1408 frames")]
        queue = 64 if not burst or len(found) % 2 == 0 else 63
        return tail_drop(queue).carry(spec, sent)

    class Labelled(FakeMeasurer):
        @property
        def labels(self) -> list[str]:
            return [spec.label for spec in self.specs[:-1]]

    measurer = Labelled(carry)
    result, outcome = run(BackToBack(), measurer, 64, "scaled_frames=5000")
    assert result.repetitions == 50
    assert result.burst_frames_min < result.burst_frames_avg < result.burst_frames_max == 1408
    assert result.burst_frames_stddev > 0
    (table,) = (table for table in outcome.tables if table.name == "back_to_back_searches")
    assert [row["search"] for row in table.rows] == list(range(1, 51)) and table.detail
    assert max(int(str(row["lower_frames"])) for row in table.rows) == 1408
    assert result.trials == result.throughput.search.trials + sum(int(str(row["trials"])) for row in table.rows)
    step_frames = resolve(test.name, test.parameters, ()).integer("burst_step_frames")
    sampled = 1.96 * result.burst_frames_stddev / 50**0.5
    assert result.burst_error_frames == pytest.approx(step_frames + sampled)
    assert not any("instead of 50" in text for text in outcome.deviations)


def test_the_actual_buffer_time_is_told_for_the_rate_of_interest() -> None:
    """A queue that empties in T at line rate takes 10 T at 10 % of it; above the throughput that has no meaning."""
    result, _ = run(BackToBack(), tail_drop(64), 64, "repetitions=1", "actual_pct=10")
    assert result.actual_fps == pytest.approx(148_809.5, abs=0.1)
    assert result.actual_buffer_s == pytest.approx(10 * result.corrected_buffer_s)
    assert result.actual_error_s == pytest.approx(10 * result.corrected_error_s)
    result, _ = run(BackToBack(), tail_drop(64), 64, "repetitions=1", "actual_pct=99")
    assert (result.actual_buffer_s, result.actual_error_s) == (None, None)
    result, _ = run(BackToBack(), tail_drop(64), 64, "repetitions=1")
    assert result.actual_fps == result.throughput_fps
    longer = 1_488_095.2 / result.throughput_fps
    assert result.actual_buffer_s == pytest.approx(longer * result.corrected_buffer_s)
    assert result.actual_error_s > longer * result.corrected_error_s, "a lower throughput empties it later"


@pytest.mark.parametrize(("settings", "hidden"), [((), False), (("duration_ms=2", "sustained=false"), True)])
def test_a_buffer_that_throughput_trials_do_not_fill_is_said_to_read_too_short(
    settings: tuple[str, ...], hidden: bool
) -> None:
    """The burst of 1408 frames is 47 % of the 2,976 of 2 ms."""
    _, outcome = run(BackToBack(), tail_drop(64), 64, "repetitions=1", *settings)
    said = "64 B: the corrected buffer may read 47.3 % too short"
    assert [text.startswith(said) for text in outcome.findings] == [True] * hidden


class Noted(FakeMeasurer):
    """Keeps how many trials are expected after each, by the first word of its label."""

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        assert note is not None
        self.__dict__.setdefault(spec.label.partition(" ")[0], []).append(note.remaining)
        return super().measure(spec, note)


def test_every_trial_says_how_many_are_expected_after_it() -> None:
    """A search of up to 100,000 frames takes 2 + log2(100,000) trials: 19. A sweep ends after three, or at 10 %."""
    bursts = Noted(tail_drop(64).carry)
    run(BackToBack(), bursts, 64, "repetitions=3", "scaled_frames=5000")
    assert list(dict.fromkeys(vars(bursts)["back_to_back"])) == [38, 19, 0]
    for settings, left in (((), [2, 1, 0, 0, 0]), (("full_sweep=true",), list(range(9, -1, -1)))):
        sweep = Noted(capacity(Fraction(4_500_000)))
        run(FrameLoss(), sweep, 64, *settings)
        assert vars(sweep)["frame_loss"] == left
    bisects = ("search_method=bisect", "search_try_max_first=false", "search_resolution_pct=10", "search_min_pct=20")
    search = Noted(wire)
    run(Throughput(), search, 64, *bisects, "search_initial_pct=60")
    # 60, 80 and 90 % of 2 + log2(80 / 10), and the confirmation.
    assert (vars(search)["throughput"], vars(search)["confirmation"]) == ([5, 4, 3], [0])
    for more, trials in (((), 6), (("confirm_factor=1",), 5)):
        parameters = resolve(Throughput.name, Throughput.parameters, (*bisects, *more))
        assert Throughput().trials_expected(Unit(64, ""), parameters) == trials


@pytest.mark.parametrize("settings", [(), ("duration_ms=10",), ("search_method=mlr",)])
def test_a_search_that_is_not_confirmed_says_so(settings: tuple[str, ...]) -> None:
    """Of 600,000 frames/s, 40 % of the line, a scaled trial is made 2.5 times as long, with as many frames."""
    measurer = Noted(capacity(Fraction(600_000)))
    _, outcome = run(Throughput(), measurer, 64, "confirm_factor=1", *settings)
    assert "confirmation" not in vars(measurer)
    lengths = {spec.duration_ns for spec in measurer.specs}
    said = "Results are not confirmed by a longer trial than those of the search."
    if not settings:
        assert len(lengths) == 2
        said = (
            "Results are tried again only at loads so low that fewer frames were sent than at the highest one, by a "
            "trial of as many."
        )
    assert settings != ("duration_ms=10",) or len(lengths) == 1
    assert outcome.deviations[1:] == (said,)


def test_only_bursts_that_lose_few_frames_are_tried_again() -> None:
    """Bursts of N frames lose N / 22 - 64: at most 1,000 up to 23,408 frames."""
    result, _ = run(BackToBack(), tail_drop(64), 64, "repetitions=1")
    (search,) = result.searches
    steps = [step.split() for step in search.steps.split(", ")]
    again = [frames for frames, verdict in steps if verdict == "FAIL" and int(frames) <= 23_408]
    assert search.trials == len(steps) + len(again) > len(steps)


def test_a_search_without_a_result_leaves_no_average_of_those_before_it() -> None:
    """From its second search on, which begins with 1,000 frames as well, the device loses nothing."""

    def carry(spec: TrialSpec, sent: int) -> int:
        begun = sum(one.label == "back_to_back 64 B 1000 frames" for one in measurer.specs)
        return sent if begun > 1 else tail_drop(64).carry(spec, sent)

    measurer = FakeMeasurer(carry)
    limits = ("burst_max_frames=2000", "burst_limit_s=0.00067")
    result, _ = run(BackToBack(), measurer, 64, "repetitions=3", *limits)
    assert (result.searches[0].state, result.searches[0].lower_frames) == (Verdict.MEASURED, 1408)
    assert (len(result.searches), result.state, result.burst_frames_avg) == (2, Verdict.INVALID, None)


@pytest.mark.parametrize("ppm_below", [0, 100])
def test_back_to_back_does_not_apply_at_line_rate(ppm_below: int) -> None:
    result, outcome = run(BackToBack(), FakeMeasurer(wire), 64, f"ppm_below={ppm_below}")
    assert (result.state, result.reason, result.burst_frames_avg) == (Verdict.MEASURED, "not applicable", None)
    assert outcome.state is Verdict.MEASURED


def test_a_throughput_that_was_not_searched_to_its_end_is_no_prerequisite() -> None:
    result, outcome = run(BackToBack(), FakeMeasurer(wire), 64, "search_max_pct=50")
    assert (
        (result.state, result.reason)
        == (outcome.state, "raise search_max_pct")
        == (Verdict.INVALID, "raise search_max_pct")
    )


def test_a_burst_near_the_upper_limit_is_searched_again_with_a_longer_one() -> None:
    """1408 frames are beyond 1000 and near 1420: both are repeated, the table says so."""
    for longest in (1000, 1420):
        result, outcome = run(BackToBack(), tail_drop(64), 64, f"burst_max_frames={longest}", "repetitions=3")
        assert (result.state, result.burst_frames_avg) == (Verdict.MEASURED, 1408)
        assert (result.limit_frames, result.repetitions) == (4 * longest, 3)
        (table,) = (table for table in outcome.tables if table.name == "back_to_back_searches")
        assert [row["reason"] for row in table.rows] == ["near the limit: repeated", "", "", ""]
        assert outcome.state is Verdict.MEASURED


def test_a_burst_near_the_limit_of_all_limits_is_invalid() -> None:
    """0.67 ms are 997 frames of 64 bytes."""
    result, outcome = run(BackToBack(), tail_drop(64), 64, "burst_max_frames=100", "burst_limit_s=0.00067")
    assert (result.state, result.reason) == (Verdict.INVALID, "raise burst_limit_s")
    assert (result.limit_frames, result.burst_frames_avg) == (997, None)
    assert outcome.state is Verdict.INVALID


def test_the_silence_behind_a_burst_is_not_shorter_than_the_burst() -> None:
    """RFC 9004 6.2: at least 2 s, more when the burst takes longer."""
    measurer = tail_drop(64)
    run(BackToBack(), measurer, 64, "burst_max_frames=20000000", "repetitions=1")
    bursts = [spec for spec in measurer.specs if spec.label.startswith("back_to_back")]
    assert max(spec.duration_ns for spec in bursts) > 6 * 10**9
    assert all(spec.settle_ns == max(2 * 10**9, spec.duration_ns) for spec in bursts)
    assert all(spec.duration_ns == 672 * spec.streams[0].frame_count + 1 for spec in bursts)


def test_back_to_back_refuses_a_throughput_with_loss() -> None:
    with pytest.raises(ParameterError, match=r"acceptable_loss_pct=1: rfc2544\.back_to_back needs the throughput"):
        run(BackToBack(), FakeMeasurer(), 64, "acceptable_loss_pct=1")


def test_back_to_back_says_where_it_departs_from_the_rfc() -> None:
    _, outcome = run(BackToBack(), tail_drop(64, size=128), 128, "repetitions=1", "frame_format=ipv6")
    text = " ".join(outcome.deviations)
    assert all(part in text for part in ("instead of the 60 s", "N = 1 searches instead of 50", "RFC 5180 7.4"))
    assert "Bursts have" not in text, "both ports have one rate"


def test_contradicting_burst_bounds_are_refused() -> None:
    with pytest.raises(ParameterError, match="burst_min_frames=50 is above"):
        run(BackToBack(), FakeMeasurer(), 64, "burst_min_frames=50", "burst_max_frames=40")
    bounds = ("burst_min_frames=50", "burst_max_frames=50")
    assert burst_goal(resolve(BackToBack.name, BackToBack.parameters, bounds)).initial == 50


def test_spread_of_measurements() -> None:
    spread = spread_of([2, 4, 4, 4, 5, 5, 7, 9])
    assert (spread.minimum, spread.mean, spread.maximum) == (2, 5, 9)
    assert spread.stddev == pytest.approx((32 / 7) ** 0.5)
    assert spread.rsd_pct == pytest.approx(100 * (32 / 7) ** 0.5 / 5)
    assert spread_of([3]).stddev == 0
    assert spread_of([0, 0]).rsd_pct is None
    with pytest.raises(ValueError, match="no value"):
        spread_of([])
