"""RFC 2889 5.5: head-of-line blocking and back pressure, from counts per flow."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support.beds import GIGABIT, make_bed
from support.fakes import FlowMeasurer, lossless
from support.runs import run_unit

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.measurement.counts import PortCounts
from p4mesh.methods.base import TrialNote
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2889.congestion_control import Congestion, CongestionControl
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


def test_a_switch_without_blocking_loses_a_third_at_the_congested_port_only() -> None:
    result, outcome, _ = run(queue_at_c)
    assert result.uncongested_loss_pct == 0
    assert result.congested_loss_pct == pytest.approx(100 / 3, abs=0.01)
    assert (result.head_of_line_blocking, result.back_pressure) == ("no", "no")
    assert outcome.state is Verdict.PASS


def test_loss_at_the_uncongested_port_is_head_of_line_blocking() -> None:
    result, outcome, _ = run(blocking)
    assert result.uncongested_loss_pct == BLOCKING_U_PCT
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
    with pytest.raises(ParameterError, match=message):
        run(queue_at_c, 8, 64, *settings)


def test_the_offered_load_of_each_source_is_shown() -> None:
    result, _, _ = run(queue_at_c, 4, 64, "ppm_below=100")
    assert (result.split_pct, result.steady_pct) == (pytest.approx(99.99), pytest.approx(99.99))
    assert result.offered_pct == pytest.approx(99.99, abs=1e-9), "and that of all of them"


def test_sources_that_start_apart_are_a_finding_with_the_frames_that_it_adds() -> None:
    """3.1 ms at 64 B and 1 Gbit/s: half of 4613 frames of source 1 find the congested port free."""
    _, outcome, _ = run(queue_at_c, skew_ns=3_100_000)
    assert any("started 3,100 us apart" in text and "2,306 frames more" in text for text in outcome.findings)
    assert run(queue_at_c)[1].findings == ()
