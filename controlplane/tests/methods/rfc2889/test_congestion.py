"""RFC 2889 5.5: head-of-line blocking and back pressure, from counts per flow."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from support.beds import GIGABIT, make_bed
from support.fakes import FlowMeasurer, lossless
from support.networks import changed
from support.runs import run_on_sim, run_unit

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.measurement.counts import PortCounts, QueueTrend, Transient, Trend
from p4mesh.methods.base import TrialNote
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2889.congestion_control import Congestion, CongestionControl, _skew
from p4mesh.methods.search.lengthening import MOST_LENGTHENING
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

Counts = dict[tuple[str, int, int], int]
TEST = CongestionControl()
BLOCKING_U_PCT = 25


def queue_at_c(_: TrialSpec, sent: Counts) -> Counts:
    """Let the congested port carry line rate: of 1.5 offered frames 1 arrives."""
    loads: dict[int, int] = {}
    for key, count in sent.items():
        loads[key[2]] = loads.get(key[2], 0) + count
    full = max(count for (name, _, _), count in sent.items() if name.startswith("split")) * 2
    return {key: count * full // loads[key[2]] if loads[key[2]] > full else count for key, count in sent.items()}


def blocking(spec: TrialSpec, sent: Counts) -> Counts:
    """Also lose uncongested frames as soon as the other port is congested."""
    arrived = queue_at_c(spec, sent)
    if len(spec.streams) == 1:
        return arrived
    return {key: count * 3 // 4 if key[2] % 4 == 3 else count for key, count in arrived.items()}


def lossy_input(spec: TrialSpec, sent: Counts) -> Counts:
    """Lose frames of source 1 always."""
    return {key: count - 1 for key, count in sent.items()}


def run(
    carry: object, ports: int = 4, size: int = 64, *settings: str, devices: str = "", skew_ns: int = 0
) -> tuple[Congestion, Outcome, FlowMeasurer]:
    measurer = Skewed(carry, skew_ns)
    bed = make_bed(ports, behind=devices or "a" * ports)
    result, outcome = run_unit(TEST, bed, measurer, size, "scaled_frames=6000", *settings)
    return result, outcome, measurer


class Skewed(FlowMeasurer):
    """Port 2 starts ``skew_ns`` after the others."""

    def __init__(self, carry: object, skew_ns: int) -> None:
        super().__init__(carry)  # type: ignore[arg-type]
        self.skew_ns = skew_ns

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        result = super().measure(spec)
        flows = (replace(flow, first_tx_ns=self.skew_ns if flow.tx_port == 2 else 0) for flow in result.flows)
        return replace(result, flows=tuple(flows))


def test_source_1_alternates_and_source_2_fills_the_congested_port() -> None:
    result, _, measurer = run(queue_at_c)
    split, steady = measurer.specs[1].streams
    assert (split.tx_ports, split.rx_ports) == ((1,), (3, 4))
    assert (steady.tx_ports, steady.rx_ports) == ((2,), (4,))
    assert split.rate_fps == steady.rate_fps == Fraction(10**9, 8 * 84)
    assert result.congested_tx_frames == 3 * result.uncongested_tx_frames
    assert result.alone_loss_pct == 0
    few = run(queue_at_c, 4, 64, "duration_ms=0.33936", "block_ports=1,2,3,4")
    assert few[2].specs[1].streams[0].frame_count == 504, "an even number"
    assert few[0].congested_bucket_fps == 0, "1,000 frames of each source may be forgiven"


def test_a_switch_without_blocking_loses_a_third_at_the_congested_port_only() -> None:
    result, outcome, _ = run(queue_at_c)
    assert result.uncongested_loss_pct == 0
    assert result.congested_loss_pct == pytest.approx(100 / 3, abs=0.01)
    assert (result.head_of_line_blocking, result.back_pressure) == ("no", "no")
    assert outcome.state is Verdict.PASS


def test_loss_at_the_uncongested_port_is_head_of_line_blocking() -> None:
    result, outcome, _ = run(blocking)
    assert result.uncongested_loss_pct == BLOCKING_U_PCT
    assert (result.uncongested_tx_frames, result.uncongested_rx_frames) == (3000, 2250)
    # The normal approximation of its sampling error.
    assert result.uncongested_loss_error_pct == pytest.approx(
        196 * (0.25 * 0.75 / result.uncongested_tx_frames) ** 0.5, rel=0.05
    )
    assert result.alone_loss_error_pct == pytest.approx(150 / result.uncongested_tx_frames, rel=0.01)
    # Half of the frames of source 1 are for the uncongested port, and a quarter of them is lost.
    assert result.uncongested_fps == pytest.approx(0.75 * GIGABIT / (8 * 84) / 2, rel=1e-3)
    assert result.head_of_line_blocking == "yes"
    assert outcome.state is Verdict.FAIL


def test_an_input_that_loses_frames_alone_makes_blocking_inconclusive() -> None:
    result, outcome, _ = run(lossy_input)
    assert result.head_of_line_blocking == "inconclusive"
    assert "input limit" in outcome.findings[0]
    assert result.alone_loss_pct == pytest.approx(100 * 2 / 6000), "one frame of each flow"


def test_no_loss_under_overload_is_back_pressure() -> None:
    assert run(lossless)[0].back_pressure == "yes"


@pytest.mark.parametrize(("paused", "back_pressure"), [(1, "yes"), (2, "yes"), (3, "no"), (4, "no")])
def test_pause_frames_to_the_sources_alone_are_back_pressure(paused: int, back_pressure: str) -> None:
    class Paused(FlowMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            return replace(super().measure(spec), ports=(PortCounts(paused, pause_frames=7),))

    result, _ = run_unit(TEST, make_bed(behind="aaaa"), Paused(queue_at_c), 64, "scaled_frames=6000")
    assert (result.back_pressure, result.pause_frames) == (back_pressure, 7 if back_pressure == "yes" else 0)


def test_several_blocks_run_at_once_and_unused_ports_are_named() -> None:
    result, outcome, measurer = run(queue_at_c, 18, 64, "blocks=4")
    assert len(measurer.specs[1].streams) == 8
    assert any("2 of 18 ports are unused" in text for text in outcome.deviations)
    assert result.head_of_line_blocking == "no"


def test_three_ports_are_not_enough_and_seven_not_for_two_blocks() -> None:
    with pytest.raises(TopologyError, match="needs at least 4"):
        run(queue_at_c, 3)
    with pytest.raises(TopologyError, match="needs at least 8"):
        run(queue_at_c, 7, 64, "blocks=2")


def test_loss_behind_a_link_between_devices_is_no_head_of_line_blocking() -> None:
    """Both sources on one device, both receivers on another: the flows share the link, and the loss."""
    result, outcome, _ = run(blocking, devices="aabb")
    assert (result.head_of_line_blocking, outcome.state) == ("inconclusive", Verdict.FAIL)
    assert "64 B: both flows share the way from a to b" in outcome.findings[0]
    assert run(queue_at_c, devices="aabb")[0].head_of_line_blocking == "no"
    assert run(blocking, devices="aaab")[0].head_of_line_blocking == "yes", "the uncongested flow stays in a"


def test_rates_behind_a_link_between_devices_contain_those_once_its_queue_is_full() -> None:
    """200 frames wait for the link; full, it loses all frames to the port that the other source sends nothing to."""
    topology = changed("two-switches", ("queue_frames: 16", "queue_frames: 200"))

    def row(frames: int) -> dict[str, Any]:
        settings = ("learning_wait_ms=1", "settle_ms=10", "restabilise_ms=1", f"scaled_frames={frames}")
        return dict(run_on_sim(TEST, topology, (300,), *settings)[1].tables[0].rows[0])

    short, long = row(400), row(6000)
    assert (long["uncongested_fps"], long["congested_loss_pct"]) == (0, pytest.approx(100 / 3))
    for key, error in (
        ("uncongested_fps", "block_error_fps"),
        ("congested_fps", "block_error_fps"),
        ("uncongested_loss_pct", "uncongested_loss_error_pct"),
        ("congested_loss_pct", "congested_loss_error_pct"),
    ):
        assert 0 < abs(short[key] - long[key]) <= short[error] + long[error], key


def test_blocks_of_any_ports() -> None:
    _, outcome, measurer = run(queue_at_c, 10, 64, "block_ports=9,10,5,6;1,2,7,8")
    first, second = measurer.specs[1].streams[:2], measurer.specs[1].streams[2:]
    assert [(stream.tx_ports, stream.rx_ports) for stream in first] == [((9,), (5, 6)), ((10,), (6,))]
    assert [(stream.tx_ports, stream.rx_ports) for stream in second] == [((1,), (7, 8)), ((2,), (8,))]
    assert any("2 of 10 ports are unused" in text for text in outcome.deviations)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("block_ports=1,2,3",), "no blocks of 4 ports"),
        (("block_ports=1,2,3,3",), "be given once"),
        (("block_ports=1,2,3,99",), "every port must exist"),
        (("block_ports=1,2,3,x",), "every port must exist"),
        (("block_ports=1,2,3,4", "blocks=2"), "no 2 blocks of 4 ports"),
    ],
)
def test_ports_that_form_no_blocks_are_refused(settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as refused:
        run(queue_at_c, 8, 64, *settings)
    assert message != "every port must exist" or refused.value.hint == "ports are 1 to 8"


def test_the_offered_load_of_each_source_is_shown() -> None:
    result, _, _ = run(queue_at_c, 4, 64, "ppm_below=100")
    assert (result.split_pct, result.steady_pct) == (pytest.approx(99.99), pytest.approx(99.99))
    assert result.offered_pct == pytest.approx(99.99, abs=1e-9), "and that of all of them"


def test_sources_that_start_apart_are_a_finding_with_the_frames_that_it_adds() -> None:
    """3.1 ms at 64 B and 1 Gbit/s: half of 4613 frames of source 1 find the congested port free."""
    _, outcome, _ = run(queue_at_c, skew_ns=3_100_000)
    assert any("started 3,100 us apart" in text and "2,306 frames more" in text for text in outcome.findings)
    assert run(queue_at_c)[1].findings == ()


class Answering(FlowMeasurer):
    """The first trial loses nothing; of those with congestion, C loses so much, and results come with changes."""

    def __init__(self, lost_c: int, *changes: dict[str, Any]) -> None:
        def carry(spec: TrialSpec, sent: Counts) -> Counts:
            return {key: count - lost_c * (key[0] == "steady1") for key, count in sent.items()}

        super().__init__(carry)
        self.changes = changes

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        result = super().measure(spec, note)
        place = min(len(self.specs) - 2, len(self.changes) - 1)
        return result if len(spec.streams) == 1 or place < 0 else replace(result, **self.changes[place])


QUEUED = {"queues": QueueTrend(Trend.FILLING, 500_000.0)}
BURST = Transient(ends_ns=1_008_000, over=True, frames=400, hidden_frames=10)
FRAME_FPS = 1e9 / (6000 * 672)
"""One frame of a trial: 6,000 frames of 64 bytes of each source at 1 Gbit/s."""


@pytest.mark.parametrize(
    ("lost", "changes", "received", "missed", "error"),
    [
        # 1.96 standard deviations of 3,000 of 9,000 frames, sqrt(3000 x 2 / 3), and one frame cut at the end.
        (3000, {}, 6000, 3000, 88 + 1),
        # 500 were in the queue when the transmission was over: full queues leave nothing to chance.
        (2500, {"ports": (PortCounts(4, rx_frames=6500, late_frames=500),), **QUEUED}, 6000, 3000, 1),
        # 400 were let through at first, which took a quarter of the time; the rate is that of the other three.
        (2600, {"ports": (PortCounts(4, early_frames=400),), "transient": BURST}, 6000, 3000, (2 + 10) * 4 / 3),
        # More than the line carries in the time: the device held back its sources, and nothing is lost.
        (0, {"ports": (PortCounts(4, rx_frames=9000, late_frames=700),)}, 8300, 0, 1),
        (3000, {"ports": (PortCounts(4, rx_frames=6000, late_frames=500),)}, 6000, 3000, 88 + 1),
    ],
)
def test_frames_of_the_congested_port_that_a_longer_trial_loses_are_in_no_rate(
    lost: int, changes: dict[str, Any], received: int, missed: int, error: float
) -> None:
    result, _ = run_unit(TEST, make_bed(behind="aaaa"), Answering(lost, changes), 64, "scaled_frames=6000")
    assert result.congested_fps == pytest.approx(received * FRAME_FPS)
    assert result.congested_bucket_fps == pytest.approx((received - 2 * 1000) * FRAME_FPS), "1,000 of each source"
    assert result.congested_loss_pct == pytest.approx(100 * missed / 9000)
    assert result.congested_bucket_pct == pytest.approx(100 * (missed + 2000) / 9000)
    assert result.block_error_fps == pytest.approx(error * FRAME_FPS, rel=0.01)
    assert (result.congested_tx_frames, result.congested_rx_frames) == (9000, 9000 - lost)
    assert (result.uncongested_fps, result.uncongested_bucket_pct) == (pytest.approx(3000 * FRAME_FPS), 100 / 3)


def test_a_trial_whose_queue_to_the_uncongested_port_fills_is_repeated_longer() -> None:
    """200 of 3,000 frames wait for U and none is lost: four times as long, then sixteen, until it is told."""
    waits = {"ports": (PortCounts(3, rx_frames=3000, late_frames=200),), **QUEUED}
    measurer = Answering(0, waits, waits, {})
    run_unit(TEST, make_bed(behind="aaaa"), measurer, 64, "scaled_frames=6000")
    counts = [spec.streams[0].frame_count for spec in measurer.specs]
    assert counts == [6000, 6000, 24_000, 96_000]
    measurer = Answering(0, waits)
    result, _ = run_unit(TEST, make_bed(behind="aaaa"), measurer, 64, "scaled_frames=6000")
    most = MOST_LENGTHENING * 6000
    assert measurer.specs[-1].streams[0].frame_count == most and measurer.specs[-2].streams[0].frame_count < most
    assert (result.head_of_line_blocking, result.uncongested_rx_frames) == ("yes", most // 2)
    assert result.uncongested_loss_pct == pytest.approx(100 * 200 / (most // 2)), "it is lost in a longer one"
    measurer = Answering(0, waits)
    run_unit(TEST, make_bed(behind="aaaa"), measurer, 64, "duration_ms=1")
    assert len(measurer.specs) == 2, "a length that was asked for stays"


@pytest.mark.parametrize(("paused", "blocking"), [(1, "inconclusive"), (2, "no")])
def test_a_trial_that_pause_frames_cut_short_is_back_pressure(paused: int, blocking: str) -> None:
    """Where source 1 was held back, so were its frames to the uncongested port."""
    held = {"status": Verdict.INVALID, "reason": "95 % offered", "ports": (PortCounts(paused, pause_frames=7),)}
    result, _ = run_unit(TEST, make_bed(behind="aaaa"), Answering(0, held), 64, "scaled_frames=6000")
    assert (result.head_of_line_blocking, result.back_pressure, result.state) == (blocking, "yes", Verdict.PASS)
    assert result.reason == "flow control: 7 PAUSE frames to the sources; 95 % offered"
    assert result.pressure == ""
    broken = {**held, "ports": (PortCounts(3, pause_frames=7),)}
    result, _ = run_unit(TEST, make_bed(behind="aaaa"), Answering(0, broken), 64, "scaled_frames=6000")
    assert (result.head_of_line_blocking, result.back_pressure) == ("inconclusive", "inconclusive")
    assert (result.state, result.reason) == (Verdict.INVALID, "95 % offered")


def test_a_transient_to_the_uncongested_port_is_a_loss() -> None:
    """30 of 3,000 frames were let through at first."""
    burst = {"ports": (PortCounts(3, early_frames=30),), "transient": BURST}
    result, _ = run_unit(TEST, make_bed(behind="aaaa"), Answering(0, burst), 64, "scaled_frames=6000")
    assert (result.uncongested_loss_pct, result.uncongested_fps) == (1, pytest.approx(2970 * FRAME_FPS))
    assert (result.head_of_line_blocking, result.state) == ("yes", Verdict.FAIL)


@pytest.mark.parametrize(
    ("lost", "changes", "back_pressure", "told"),
    [
        (0, {}, "yes", "a buffer that holds the overload, 3000 frames, looks like back pressure"),
        (0, QUEUED, "no", "no back pressure, but a buffer that holds the overload: not sustained"),
        (1, {}, "no", ""),
        (1, QUEUED, "no", ""),
    ],
)
def test_no_loss_and_no_pause_frame_may_be_a_buffer(
    lost: int, changes: dict[str, Any], back_pressure: str, told: str
) -> None:
    result, _ = run_unit(TEST, make_bed(behind="aaaa"), Answering(lost, changes), 64, "scaled_frames=6000")
    assert told in result.pressure and bool(result.pressure) == bool(told)
    assert result.back_pressure == back_pressure


def test_what_each_source_offers_is_shown_by_itself() -> None:
    """Source 2 sends a quarter less than it was asked to."""

    class Slow(FlowMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            result = super().measure(spec, note)
            flows = [replace(flow, tx_frames=4500) if flow.tx_port == 2 else flow for flow in result.flows]
            return replace(result, flows=tuple(flows))

    result, _ = run_unit(TEST, make_bed(behind="aaaa"), Slow(lossless), 64, "scaled_frames=6000")
    assert (result.split_pct, result.steady_pct) == (100, 75)


def test_sources_that_both_start_late_are_as_far_apart_as_their_starts() -> None:
    """1 and 4.1 ms: 3.1 ms of 1,488,095 frames/s, half of which one source sends to the congested port."""
    starts = [SimpleNamespace(tx_port=port, first_tx_ns=start_ns) for port, start_ns in ((1, 10**6), (2, 4_100_000))]
    both: Any = SimpleNamespace(flows=starts)
    assert "started 3,100 us apart" in _skew(both, [(1, 2, 3, 4)], Fraction(1_488_095))
    assert _skew(both, [(1, 2, 3, 4)], Fraction(600)) == "", "less than a frame"
