"""RFC 2889 5.1 on devices with closed-form answers: rates, verdicts, and trials that enter no average."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.beds import GIGABIT, make_bed
from support.fakes import FakeMeasurer, capacity, wire
from support.runs import run_units

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.measurement.counts import QueueTrend, Trend
from p4mesh.methods.base import TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import FullMesh
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

TEST = FullyMeshed()
BED = make_bed(18)


def run(measurer: FakeMeasurer, sizes: tuple[int, ...] = (64,), *settings: str) -> tuple[Outcome, dict[Unit, Any]]:
    results, outcome = run_units(TEST, BED, measurer, sizes, *settings)
    return outcome, results


def test_a_wire_reaches_100_percent_at_every_size_without_loss() -> None:
    outcome, results = run(FakeMeasurer(wire), TEST.frame_sizes_bytes)
    assert outcome.state is Verdict.MEASURED
    for unit, result in results.items():
        theory = 18 * max_rate_fps(unit.frame_size_bytes, GIGABIT)
        if unit.part == "throughput":
            found = result.search
            assert (found.state, found.throughput_pct, found.trials) == (Verdict.MEASURED, 100.0, 1)
            assert result.of_latency.load_pct == 100
        else:
            assert result.mfr.mfr_fps == result.frmol.frmol_fps == pytest.approx(float(theory), rel=1e-12)
            assert [row.forwarding_pct for row in result.rows] == pytest.approx(list(range(10, 101, 10)), rel=1e-12)
            assert all(row.lost_frames == 0 for row in result.rows)


@pytest.mark.parametrize("limit_fps", [100_000, 4_700_000, 15_000_000])
def test_the_search_finds_a_known_capacity_within_its_resolution(limit_fps: int) -> None:
    _, results = run(FakeMeasurer(capacity(Fraction(limit_fps))), (64,), "parts=throughput")
    (found,) = results.values()
    limit_pct = 100 * Fraction(limit_fps) / (18 * max_rate_fps(64, GIGABIT))
    assert found.search.throughput_pct <= limit_pct < found.search.upper_pct
    assert found.search.upper_pct - found.search.throughput_pct <= 0.1
    assert found.search.shown.lost_frames == 0


@pytest.mark.parametrize("method", ["bisect", "bisect_verified", "linear_down", "linear_up", "combo", "mlr"])
def test_every_search_method_answers_with_a_load_that_passed(method: str) -> None:
    settings = (f"search_method={method}", "search_step_pct=1", "parts=throughput")
    outcome, results = run(FakeMeasurer(capacity(Fraction(4_700_000))), (64,), *settings)
    (found,) = results.values()
    limit_pct = 100 * Fraction(4_700_000) / (18 * max_rate_fps(64, GIGABIT))
    assert outcome.state is Verdict.MEASURED
    assert limit_pct - 1 <= found.search.throughput_pct <= limit_pct + Fraction(1, 1000)
    assert found.search.shown.verdict is Verdict.PASS
    assert found.search.shown.load_pct == found.search.throughput_pct
    assert found.search.goal.search_method == method


def test_frmol_may_be_lower_than_mfr_and_the_offered_load_of_the_mfr_is_cited() -> None:
    def collapse(spec: TrialSpec, sent: int) -> int:
        offered = 18 * spec.streams[0].rate_fps
        return sent if offered <= 4_700_000 else sent // 100

    _, results = run(FakeMeasurer(collapse), (128,), "parts=forwarding")
    (found,) = results.values()
    theory = float(18 * max_rate_fps(128, GIGABIT))
    assert found.mfr.mfr_fps == pytest.approx(0.30 * theory, rel=1e-4)
    assert found.mfr_offered_pct == pytest.approx(30, rel=1e-4)
    assert found.frmol.frmol_fps == pytest.approx(0.01 * theory, rel=1e-2)


def test_streams_are_the_mesh_of_the_rfc_with_exact_frame_counts() -> None:
    measurer = FakeMeasurer()
    run(measurer, (1518,), "parts=forwarding", "duration_ms=30000", "sweep_start_pct=100")
    (spec,) = measurer.specs
    (stream,) = spec.streams
    assert stream.pattern == FullMesh()
    assert stream.tx_ports == stream.rx_ports == tuple(range(1, 19))
    assert stream.rate_fps == max_rate_fps(1518, GIGABIT)
    assert stream.frame_count == 2_438_231
    assert spec.duration_ns == 30 * 10**9


def test_nothing_passes_shows_the_last_load_and_its_loss() -> None:
    outcome, results = run(FakeMeasurer(lambda _, sent: sent - 1), (64,), "parts=throughput")
    (found,) = results.values()
    assert outcome.state is Verdict.FAIL
    assert found.search.throughput_pct is None
    assert found.search.shown.load_pct <= 0.2
    assert found.search.shown.lost_frames == 1


@pytest.mark.parametrize(("status", "state"), [(Verdict.INVALID, Verdict.INVALID), (Verdict.ABORT, Verdict.ABORT)])
def test_an_untrusted_trial_is_no_verdict_and_no_rate(status: Verdict, state: Verdict) -> None:
    """Half of the sweep cannot be trusted: it is named, and MFR comes from the other half."""

    def untrusted_above_half(spec: TrialSpec) -> Verdict:
        return status if spec.streams[0].rate_fps > max_rate_fps(64, GIGABIT) / 2 else Verdict.MEASURED

    outcome, results = run(FakeMeasurer(status=untrusted_above_half), (64,), "parts=forwarding")
    (found,) = results.values()
    assert outcome.state is state
    assert found.mfr_offered_pct == pytest.approx(50, rel=1e-4)
    assert found.frmol.frmol_fps is None
    assert sum(status.value in text for text in outcome.findings) == 5


def test_an_untrusted_trial_ends_the_search() -> None:
    outcome, results = run(FakeMeasurer(status=lambda _: Verdict.INVALID), (64,), "parts=throughput")
    (found,) = results.values()
    assert outcome.state is Verdict.INVALID
    assert (found.search.state, found.search.throughput_pct, found.search.trials) == (Verdict.INVALID, None, 1)


def test_flooding_is_reported_even_when_nothing_is_lost() -> None:
    outcome, _ = run(FakeMeasurer(flooded=7), (64,), "parts=throughput")
    assert outcome.state is Verdict.MEASURED
    assert "flooding detected: 14 frames (throughput 64 B)" in outcome.findings, "of a search and its latency trial"


def test_a_short_trial_is_declared_as_a_deviation_and_30_s_is_not() -> None:
    scaled = run(FakeMeasurer(), (64, 1518), "scaled_frames=40000")[0].deviations
    assert any("Trial duration 26.88 to 492.2 ms instead of the 30 s" in text for text in scaled)
    assert not any("Trial duration" in text for text in run(FakeMeasurer(), (64,), "duration_ms=30000")[0].deviations)


@pytest.mark.parametrize(("parts", "told"), [("both", True), ("throughput", False), ("forwarding", False)])
def test_trials_that_a_sweep_takes_over_from_the_search_are_a_deviation(parts: str, told: bool) -> None:
    outcome, _ = run(FakeMeasurer(), (64,), f"parts={parts}")
    assert any("takes over trials that are equal" in text for text in outcome.deviations) is told


def test_scaled_trials_send_equally_many_frames_at_every_size() -> None:
    measurer = FakeMeasurer()
    run(measurer, TEST.frame_sizes_bytes, "parts=throughput", "scaled_frames=40000")
    assert {spec.streams[0].frame_count for spec in measurer.specs} == {40000}


@pytest.mark.parametrize(
    ("ports", "message"),
    [
        (make_bed(1), "needs at least 2 tester ports, topology 'fake' has 1"),
        (make_bed(rates_bps=(10**9, 10**9, 10**10)), "needs tester ports of one line rate"),
    ],
)
def test_beds_that_the_pattern_cannot_use_are_refused(ports: Bed, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        TEST.check(ports, resolve(TEST.name, TEST.parameters, ()))


@pytest.mark.parametrize(
    "settings",
    [("sweep_start_pct=50", "sweep_end_pct=40"), ("search_min_pct=60",), ("search_max_pct=40",)],
)
def test_contradicting_parameters_are_refused(settings: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError):
        TEST.check(BED, resolve(TEST.name, TEST.parameters, settings))


@pytest.mark.parametrize(
    ("setting", "message"),
    [("frame_format=ethernet", "routed=true with frame_format=ethernet"), ("addresses_per_port=4", "has one address")],
)
def test_a_router_forwards_frames_with_ip_to_the_one_address_of_a_station(setting: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TEST.check(BED, resolve(TEST.name, TEST.parameters, ("routed=true", setting)))
    for allowed in ("routed=true", setting):
        TEST.check(BED, resolve(TEST.name, TEST.parameters, (allowed,)))


def test_a_sweep_of_ten_loads_follows_the_search_of_its_size_whose_latency_is_measured_last() -> None:
    """A guided search needs six trials as a rule."""
    parameters = resolve(TEST.name, TEST.parameters, ())
    search, sweep = TEST.units(parameters, (64,))
    assert (TEST.follows(search), TEST.follows(sweep)) == (None, search)
    assert [TEST.trials_expected(unit, parameters) for unit in (search, sweep)] == [6 + 1, 10]


def test_bursts_are_asked_for_only_when_wanted() -> None:
    measurer = FakeMeasurer()
    run(measurer, (64,), "parts=throughput")
    run(measurer, (64,), "parts=throughput", "burst_frames=24")
    assert [spec.streams[0].burst and spec.streams[0].burst.frames for spec in measurer.specs] == [None, None, 24, 24]


@pytest.mark.parametrize(
    ("limit", "state"), [("none", Verdict.MEASURED), ("0", Verdict.FAIL), ("49", Verdict.FAIL), ("51", Verdict.PASS)]
)
def test_a_sweep_is_measured_and_passes_or_fails_by_a_threshold(limit: str, state: Verdict) -> None:
    """Methodology 0.6: a device that carries half of the line loses 50 % at 100 % load, and 0 % up to half of it."""
    half = capacity(18 * max_rate_fps(64, GIGABIT) / 2)
    settings = ("parts=forwarding", "sweep_start_pct=50", "sweep_step_pct=50", f"sweep_loss_limit_pct={limit}")
    outcome, results = run(FakeMeasurer(half), (64,), *settings)
    (row,) = outcome.tables[0].rows
    assert (outcome.state, row["state"]) == (state, state.value)
    (found,) = results.values()
    first = Verdict.MEASURED if limit == "none" else Verdict.PASS
    assert [row.verdict for row in found.rows] == [first, state]


def test_a_sweep_that_fails_its_limit_fails_the_test_beside_a_throughput_that_passes() -> None:
    half = capacity(18 * max_rate_fps(64, GIGABIT) / 2)
    assert run(FakeMeasurer(half), (64,), "sweep_loss_limit_pct=1")[0].state is Verdict.FAIL
    assert run(FakeMeasurer(half), (64,))[0].state is Verdict.MEASURED


def test_one_frame_of_each_port_is_offered_in_its_own_time() -> None:
    """10 % of 10 frames: there is no distance of two departures, and the load is still that of the trial."""
    settings = ("parts=forwarding", "scaled_frames=10", "sweep_start_pct=10", "sweep_end_pct=10")
    (found,) = run(FakeMeasurer(), (64,), *settings)[1].values()
    assert found.rows[0].tx_frames == 18
    assert found.mfr_offered_pct == pytest.approx(10, rel=1e-12)
    assert found.mfr.mfr_fps == pytest.approx(float(18 * max_rate_fps(64, GIGABIT) / 10), rel=1e-12)


def test_duplicate_and_reordered_frames_are_findings() -> None:
    class Careless(FakeMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            return replace(super().measure(spec), duplicate_frames=3, reordered_frames=2)

    outcome, _ = run(Careless(), (64,), "parts=forwarding", "sweep_start_pct=50", "sweep_step_pct=50")
    assert outcome.findings == (
        "6 duplicate frames received (forwarding 64 B)",
        "4 reordered frames received (forwarding 64 B)",
    )


def test_a_forwarding_rate_that_only_a_buffer_carries_is_a_finding() -> None:
    """Queues fill at both loads, and nothing is lost yet: the highest rate is that at 100 %."""

    class Filling(FakeMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            filling = QueueTrend(Trend.FILLING, 80.0, 1.0, 120.0, 8.5, (3,))
            return replace(super().measure(spec), queues=filling)

    outcome, _ = run(Filling(), (64,), "parts=forwarding", "sweep_start_pct=50", "sweep_step_pct=50")
    (found,) = outcome.findings
    assert found.startswith("forwarding 64 B at 100 %: not sustained: 80 ppm")


class SkewedMeasurer(FakeMeasurer):
    """The last port starts a share of the trial after the first."""

    def __init__(self, percent: float) -> None:
        super().__init__()
        self.percent = percent

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        return replace(super().measure(spec), start_skew_ns=int(spec.duration_ns * self.percent / 100))


def test_ports_that_do_not_start_within_a_hundredth_of_the_trial_are_a_finding() -> None:
    settings = ("parts=forwarding", "duration_ms=100", "sweep_start_pct=100")
    assert run(SkewedMeasurer(0.9), (64,), *settings)[0].findings == ()
    (text,) = run(SkewedMeasurer(3.1), (64,), *settings)[0].findings
    assert text.startswith("ports started up to 3,100 us apart, 3.1 % of the trial (forwarding 64 B at 100 %)")


def test_what_the_rfc_wants_reported_of_the_traffic_is_there() -> None:
    for frames, bursts in ((1, "no bursts"), (2, "bursts of 2 frames"), (24, "bursts of 24 frames")):
        outcome, _ = run(FakeMeasurer(), (64,), "parts=throughput", f"burst_frames={frames}", "addresses_per_port=4")
        text = f"Addresses per port: 4; duplex mode full; gaps of 96 bits or more; {bursts}."
        assert text in outcome.deviations


def test_loads_can_be_cut_to_three_decimals() -> None:
    """From 10 % to 100 %, for a limit of 14.2 %."""
    device = capacity(Fraction("0.142") * 18 * max_rate_fps(64, GIGABIT))
    bounds = ("search_initial_pct=10", "search_min_pct=10", "search_resolution_pct=2", "search_try_max_first=false")
    asked = ("search_method=bisect", *bounds)
    exact, cut = (
        run(FakeMeasurer(device), (64,), "parts=throughput", *asked, f"search_grid={grid}")
        for grid in ("exact", "three_decimals")
    )
    shown = [[row.load_pct for row in next(iter(results.values())).search.rows] for _, results in (exact, cut)]
    # The last one is the result again, with as many frames as a trial at the maximum.
    assert shown[0] == [10, 55, 32.5, 21.25, 15.625, 12.8125, 14.21875, 13.515625, 13.515625]
    assert shown[1] == [10, 55, 32.5, 21.25, 15.625, 12.812, 14.218, 13.515, 13.515]
