"""RFC 2889 5.6: forward pressure and maximum forwarding rate against their formulas."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from fakes import FakeMeasurer, FlowMeasurer, TrialLog, capacity, lossless

from p4mesh.errors import UnsupportedError
from p4mesh.methods.base import TrialNote, UnitResult
from p4mesh.methods.bed import TestBed, TestPort, TimeStamps
from p4mesh.methods.outcome import State
from p4mesh.methods.parameters import resolve
from p4mesh.methods.rfc2889.forward_pressure import DETECTED, ForwardPressure
from p4mesh.methods.rfc2889.maximum_forwarding_rate import MaximumForwardingRate, steps_to_maximum
from p4mesh.traffic.line_rate import frame_time_ns, max_rate_fps, tx_frames
from p4mesh.trial.result import PortCounts, TrialResult
from p4mesh.trial.spec import TrialSpec

GIGABIT = 10**9
Counts = dict[tuple[str, int, int], int]


def bed(ifg_bits: int = 88) -> TestBed:
    return TestBed("fake", tuple(TestPort(n, f"p{n}", GIGABIT, ifg_bits) for n in (1, 2)))


def forward_pressure(size: int, overhead_bytes: int, *settings: str) -> tuple[UnitResult, State]:
    """Measure a device that forwards with ``overhead_bytes`` per frame, from a queue of 64 frames."""

    def carry(spec: TrialSpec, sent: Counts) -> Counts:
        fits = tx_frames(spec.duration_ns, max_rate_fps(size, GIGABIT, overhead_bytes)) + 64
        return {key: min(count, fits) for key, count in sent.items()}

    interval_ns = max(frame_time_ns(size, GIGABIT, overhead_bytes), frame_time_ns(size, GIGABIT, 19))
    measurer = FlowMeasurer(carry, interval_ns)
    test = ForwardPressure()
    parameters = resolve(test.name, test.parameters, settings)
    test.check(bed(), parameters)
    (unit,) = test.units(parameters, (size,))
    result = test.run_unit(unit, bed(), parameters, measurer)
    return result, test.assemble(bed(), parameters, {unit: result}).state


@pytest.mark.parametrize(
    ("size", "shown"),
    [(64, 95.454), (128, 97.368), (256, 98.571), (512, 99.254), (1024, 99.618), (1280, 99.693), (1518, 99.740)],
)
def test_a_switch_with_24_bytes_of_overhead_shows_the_published_utilisation(size: int, shown: float) -> None:
    result, state = forward_pressure(size, 24)
    assert result["rx_pct"] == pytest.approx(shown, abs=0.001)
    assert result["finding"] == "not detected"
    assert state is State.PASS


def test_30_seconds_send_the_frames_of_the_report() -> None:
    result, _ = forward_pressure(64, 24, "duration_ms=30000")
    assert result["tx_frames"] == 45_180_722
    assert result["rx_frames"] == 42_613_636 + 64
    assert result["tx_pct"] == pytest.approx(101.205, abs=0.001)


def test_a_switch_that_follows_the_short_gap_is_detected_in_the_words_of_the_rfc() -> None:
    result, state = forward_pressure(64, 19)
    assert result["finding"] == DETECTED == "Forward Pressure detected"
    assert state is State.FAIL


def test_a_switch_at_line_rate_is_within_the_clock_tolerance() -> None:
    assert forward_pressure(64, 20)[0]["finding"] == "not detected"


class SpacingMeasurer(FlowMeasurer):
    """Delivers everything; the shortest distance of two frames is ``spacing_ns``."""

    def __init__(self, spacing_ns: float | None) -> None:
        super().__init__(lossless, frame_time_ns(64, GIGABIT, 20))
        self.spacing_ns = spacing_ns

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        ports = (PortCounts(1), PortCounts(2, min_spacing_ns=self.spacing_ns))
        return replace(super().measure(spec), ports=ports)


@pytest.mark.parametrize(
    ("spacing_ns", "resolution_ns", "shown"),
    [
        (672, 1, "no"),
        (671, 1, "no"),  # a time stamp of 1 ns may be this much off
        (670, 1, "yes"),
        (664, 1, "yes"),  # 88 bits
        (670, 2.5, "no"),
        (None, 1, None),
    ],
)
def test_the_shortest_gap_is_a_check_of_its_own(
    spacing_ns: float | None, resolution_ns: float, shown: str | None
) -> None:
    """At 64 bytes and 1 Gbit/s a frame takes 672 ns: shorter distances than that, less the resolution, are short."""
    test = ForwardPressure()
    stamped = replace(bed(), stamps=TimeStamps(Fraction(resolution_ns)))
    parameters = resolve(test.name, test.parameters, ())
    (unit,) = test.units(parameters, (64,))
    result = test.run_unit(unit, stamped, parameters, SpacingMeasurer(spacing_ns))
    assert (result["short_gap"], result["finding"]) == (shown, "not detected")
    findings = test.assemble(stamped, parameters, {unit: result}).findings
    assert any("below 96 bits" in text for text in findings) == (shown == "yes")
    software = replace(bed(), stamps=TimeStamps(Fraction(1), first_bit=False))
    assert test.run_unit(unit, software, parameters, SpacingMeasurer(spacing_ns))["short_gap"] is None


def test_the_ports_are_parameters() -> None:
    measurer = SpacingMeasurer(None)
    test = ForwardPressure()
    parameters = resolve(test.name, test.parameters, ("tx_port=2", "rx_port=1"))
    test.run_unit(test.units(parameters, (64,))[0], bed(), parameters, measurer)
    (stream,) = measurer.specs[0].streams
    assert (stream.tx_ports, stream.rx_ports) == ((2,), (1,))


def test_a_port_that_cannot_send_the_short_gap_is_not_supported() -> None:
    with pytest.raises(UnsupportedError, match="its shortest gap is 96 bits"):
        ForwardPressure().check(bed(96), resolve("t", ForwardPressure().parameters, ()))


def test_steps_end_at_the_maximum() -> None:
    assert steps_to_maximum(Fraction(75), Fraction(10)) == (85, 95, 100)
    assert steps_to_maximum(Fraction(100), Fraction(10)) == ()


def maximum_rate(measurer: FakeMeasurer, *settings: str) -> UnitResult:
    test = MaximumForwardingRate()
    parameters = resolve(test.name, test.parameters, settings)
    (unit,) = test.units(parameters, (64,))
    result = test.run_unit(unit, bed(), parameters, measurer)
    test.assemble(bed(), parameters, {unit: result})
    return result


def test_the_steps_are_a_sweep_without_a_threshold() -> None:
    """Half of the line gets through: above it frames are lost in the search, which fails, and in the steps."""
    test, log = MaximumForwardingRate(), TrialLog(FakeMeasurer(capacity(max_rate_fps(64, GIGABIT) / 2)))
    parameters = resolve(test.name, test.parameters, ("step_pct=25",))
    (unit,) = test.units(parameters, (64,))
    result = test.run_unit(unit, bed(), parameters, log)
    outcome = test.assemble(bed(), parameters, {unit: result})
    lossy = [(row["load_pct"], row["lost_frames"] > 0) for row in result["rows"]]
    assert lossy == [(50, False), (75, True), (100, True)]
    assert log.verdicts[-2:] == ["PASS", "PASS"]
    assert (outcome.state, outcome.tables[0].rows[0]["state"]) == (State.PASS, "PASS")


def test_a_device_at_line_rate_has_its_maximum_at_the_maximum_offered_load() -> None:
    result = maximum_rate(FlowMeasurer(lossless))
    assert result["mfr_fps"] == result["throughput_fps"] == result["frmol_fps"]
    assert result["mfr_load_pct"] == 100


def test_the_maximum_between_throughput_and_line_rate_is_cited_with_its_load() -> None:
    """Loses a little above 50 %, forwards most at 80 %, and collapses at 100 %."""

    def carry(spec: TrialSpec, sent: int) -> int:
        load = float(spec.streams[0].rate_fps / max_rate_fps(64, GIGABIT))
        return sent if load <= 0.5 else int(sent * 0.9) if load < 0.85 else int(sent * 0.1)

    result = maximum_rate(FakeMeasurer(carry))
    assert result["mfr_load_pct"] == pytest.approx(80, abs=0.1)
    assert result["mfr_fps"] == pytest.approx(0.9 * 0.8 * float(max_rate_fps(64, GIGABIT)), rel=1e-2)
    assert result["frmol_fps"] == pytest.approx(0.1 * float(max_rate_fps(64, GIGABIT)), rel=1e-2)


def test_the_sweep_starts_at_the_throughput_so_the_maximum_is_not_below_it() -> None:
    """A device that collapses above 50 % forwards most at its throughput (methodology 3.6.2: mfr = max from there)."""

    def carry(spec: TrialSpec, sent: int) -> int:
        return sent if spec.streams[0].rate_fps <= max_rate_fps(64, GIGABIT) / 2 else sent // 1000

    result = maximum_rate(FakeMeasurer(carry))
    assert (
        result["mfr_fps"] == result["throughput_fps"] == pytest.approx(float(max_rate_fps(64, GIGABIT) / 2), rel=1e-3)
    )
    assert result["mfr_load_pct"] == pytest.approx(50, abs=0.1)
    assert result["rows"][0]["load_pct"] == result["mfr_load_pct"], "the throughput is the first load"
    assert [row["load_pct"] for row in result["rows"]][-1] == 100


def test_a_throughput_at_a_lowered_maximum_is_the_maximum() -> None:
    """If the throughput is the maximum offered load, no further load is tried (RFC 2889 5.6.3)."""
    measurer = FlowMeasurer(lossless)
    result = maximum_rate(measurer, "ppm_below=100")
    assert result["mfr_fps"] == result["throughput_fps"] == result["frmol_fps"]
    assert result["mfr_load_pct"] == pytest.approx(99.99)
    assert len(measurer.specs) == 1
