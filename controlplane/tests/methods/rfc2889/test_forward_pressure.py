"""RFC 2889 5.6: forward pressure and maximum forwarding rate against their formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.beds import GIGABIT, make_bed
from support.fakes import FakeMeasurer, FlowMeasurer, TrialLog, capacity, lossless
from support.runs import run_unit, run_units

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.measurement.counts import PortCounts, Transient
from p4mesh.methods.base import RFC_FRAME_SIZES_BYTES, Method, TrialNote
from p4mesh.methods.bed import Bed, TimeStamps
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2889.device_clock import DeviceClock, Pace, calibration_sizes, measured_clock
from p4mesh.methods.rfc2889.forward_pressure import DETECTED, ForwardPressure
from p4mesh.methods.rfc2889.maximum_forwarding_rate import MaximumForwardingRate, MaximumRate
from p4mesh.quantities import signed_text
from p4mesh.traffic.line_rate import frame_time_ns, max_rate_fps, tx_frames
from p4mesh.traffic.stamps import StampKind
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict


def bed(ifg_bits: int = 88) -> Bed:
    return make_bed(2, ifg_bits=ifg_bits)


class OverloadedMeasurer(FlowMeasurer):
    """A device with ``overhead_bytes`` per frame, a clock that is off, and a queue of 64 frames."""

    def __init__(self, overhead_bytes: int, offset_ppm: int = 0, lost: Mapping[int, int] | None = None) -> None:
        super().__init__(lambda _, sent: sent)
        self.overhead_bytes = overhead_bytes
        self.rate_bps = Fraction(GIGABIT) * (1 + Fraction(offset_ppm, 10**6))
        self.lost = lost or {}

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        (stream,) = spec.streams
        size = stream.frame_size_bytes
        fits = tx_frames(spec.duration_ns, max_rate_fps(size, self.rate_bps, self.overhead_bytes)) + 64
        kept = min(stream.frame_count, fits)
        self.carry_flows = lambda _, sent: {key: kept - self.lost.get(size, 0) for key in sent}
        interval_ns = max(frame_time_ns(size, self.rate_bps, self.overhead_bytes), frame_time_ns(size, GIGABIT, 19))
        result = super().measure(spec, note)
        last_ns = round((kept - 1) * interval_ns)
        return replace(result, flows=tuple(replace(flow, last_rx_ns=last_ns) for flow in result.flows))


def measured(measurer: FakeMeasurer, sizes: Sequence[int], *settings: str) -> Outcome:
    """Run the test on a device at frame sizes."""
    return run_units(ForwardPressure(), bed(), measurer, sizes, *settings)[1]


def forward_pressure(size: int, overhead_bytes: int, *settings: str) -> tuple[dict[str, Any], Verdict]:
    """Measure one frame size; return its row and the verdict."""
    outcome = measured(OverloadedMeasurer(overhead_bytes), (size,), *settings)
    ((row,),) = (table.rows for table in outcome.tables)
    return dict(row), outcome.state


@pytest.mark.parametrize(
    ("size", "shown"),
    [(64, 95.454), (128, 97.368), (256, 98.571), (512, 99.254), (1024, 99.618), (1280, 99.693), (1518, 99.740)],
)
def test_a_switch_with_24_bytes_of_overhead_shows_the_published_utilisation(size: int, shown: float) -> None:
    result, state = forward_pressure(size, 24)
    assert result["forwarding_pct"] == pytest.approx(shown, abs=0.001)
    assert result["finding"] == "not detected"
    assert state is Verdict.PASS


def test_30_seconds_send_the_frames_of_the_report() -> None:
    result, _ = forward_pressure(64, 24, "duration_ms=30000")
    assert result["tx_frames"] == 45_180_722
    assert result["rx_frames"] == 42_613_636 + 64
    assert result["offered_pct"] == pytest.approx(101.205, abs=0.001)


def test_rx_utilisation_is_count_over_the_transmission_time() -> None:
    """In 30 s the 64 frames that leave afterwards are 1.5 ppm of all, which their own time takes away again."""
    result, _ = forward_pressure(64, 24, "duration_ms=30000")
    assert result["forwarding_fps"] == pytest.approx(result["rx_frames"] / 30, rel=2e-6)
    assert result["forwarding_pct"] == pytest.approx(result["rx_frames"] / 30 * 84 * 8 / GIGABIT * 100, rel=2e-6)


def test_frames_that_leave_after_a_short_trial_are_no_forward_pressure() -> None:
    """64 frames of 1000 are 6.4 %: by count over T a device at line rate would seem to send 106.4 %."""
    result, _ = forward_pressure(64, 20, "scaled_frames=1000", "clock_calibration=false")
    assert result["rx_frames"] * 672 > 1.01 * 1000 * 672
    assert (result["forwarding_pct"], result["finding"]) == (pytest.approx(100, abs=0.002), "not detected")


def test_loss_at_the_ends_does_not_raise_the_utilisation() -> None:
    """Half of the frames, sent at the pace of the short gap: no forward pressure by count over T."""

    class Late(OverloadedMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            result = super().measure(spec, note)
            half = result.rx_frames // 2
            flows = tuple(replace(flow, first_rx_ns=flow.last_rx_ns // 2) for flow in result.flows)
            return replace(result, rx_frames=half, lost_frames=result.tx_frames - half, flows=flows)

    outcome = measured(Late(19), (64,), "clock_calibration=false")
    (row,) = outcome.tables[0].rows
    assert row["forwarding_pct"] == pytest.approx(50 * 84 / 83, rel=1e-4)
    assert row["finding"] == "not detected"


def test_a_switch_that_follows_the_short_gap_is_detected_in_the_words_of_the_rfc() -> None:
    result, state = forward_pressure(64, 19)
    assert result["finding"] == DETECTED == "Forward Pressure detected"
    assert state is Verdict.FAIL


@pytest.mark.parametrize(
    ("settings", "smallest"),
    [
        ((), 64),
        (("vlan_id=7",), 128),
        (("frame_format=ipv6",), 128),
        (("headers=mpls/ipv4/udp",), 128),
        (("headers=ipv6(source=1::1, destination=1::2)/gre/ipv6/tcp",), 256),
    ],
)
def test_the_clock_takes_the_smallest_frames_that_fit_the_headers(settings: tuple[str, ...], smallest: int) -> None:
    test = ForwardPressure()
    units = test.units(resolve(test.name, test.parameters, settings), (1518,))
    assert [unit.frame_size_bytes for unit in units] == [1518, smallest, 512]


def test_headers_that_leave_no_room_in_small_frames_leave_the_clock_out() -> None:
    """124 bytes of one's own behind five segments: the shortest frame has 348 bytes."""
    test = ForwardPressure()
    segments = "ipv6(source=1::1, destination=1::2)/segment_routing(segments=1::2 1::3 1::4 1::5 1::6)"
    settings = (f"headers={segments}/ipv6/tcp/bytes(content={'00' * 124})",)
    (unit,) = test.units(resolve(test.name, test.parameters, settings), (512,))
    assert unit.frame_size_bytes == 512


def test_a_switch_at_line_rate_is_within_the_clock_tolerance() -> None:
    assert forward_pressure(64, 20)[0]["finding"] == "not detected"


@pytest.mark.parametrize("sizes", [RFC_FRAME_SIZES_BYTES, (64,), (1518,), (64, 9216), (1518, 4096, 9216)])
@pytest.mark.parametrize("offset_ppm", [-150, -50, 0, 50, 150])
def test_a_fast_clock_is_no_forward_pressure_and_is_measured(sizes: tuple[int, ...], offset_ppm: int) -> None:
    outcome = measured(OverloadedMeasurer(20, offset_ppm), sizes)
    for row in outcome.tables[0].rows:
        assert row["finding"] == "not detected", row
        assert row["clock_ppm"] == pytest.approx(offset_ppm, abs=0.5)
        assert row["limit_pct"] == pytest.approx(100.01 + offset_ppm / 10_000, abs=1e-4)
    assert [row["frame_size_bytes"] for row in outcome.tables[0].rows] == list(sizes)
    assert f"{signed_text(offset_ppm)} ppm" in outcome.tables[0].note and "20.000 bytes" in outcome.tables[0].note


@pytest.mark.parametrize("sizes", [RFC_FRAME_SIZES_BYTES, (64,), (512,), (1518,), (1518, 9216)])
@pytest.mark.parametrize("offset_ppm", [-150, -50, 0, 50, 150])
def test_a_gap_of_one_byte_less_is_detected_on_slow_and_fast_clocks(sizes: tuple[int, ...], offset_ppm: int) -> None:
    outcome = measured(OverloadedMeasurer(19, offset_ppm), sizes)
    assert [row["finding"] for row in outcome.tables[0].rows] == [DETECTED] * len(sizes)
    assert outcome.state is Verdict.FAIL


def test_without_calibration_a_clock_beyond_the_tolerance_looks_like_forward_pressure() -> None:
    settings = ("clock_calibration=false",)
    for offset_ppm, finding in ((150, "not detected"), (250, DETECTED)):
        (row,) = measured(OverloadedMeasurer(20, offset_ppm), (512,), *settings).tables[0].rows
        assert (row["finding"], row["clock_ppm"]) == (finding, None)
        assert row["limit_pct"] == pytest.approx(100.02)
    (row,) = measured(OverloadedMeasurer(20, 250), (512,)).tables[0].rows
    assert (row["finding"], row["clock_ppm"]) == ("not detected", pytest.approx(250, abs=0.5))


def test_a_device_that_is_slow_at_one_size_has_no_clock() -> None:
    """5 frames more are lost of 30,000 at the largest size: that is no slow clock, which would lower the limit."""
    outcome = measured(OverloadedMeasurer(20, 0, lost={1518: 5}), RFC_FRAME_SIZES_BYTES)
    assert [row["finding"] for row in outcome.tables[0].rows] == ["not detected"] * 7
    assert {row["clock_ppm"] for row in outcome.tables[0].rows} == {None}
    assert "The clock was not measured: the paces at 64, 128 and 1518 B are not in line" in outcome.tables[0].note


@pytest.mark.parametrize(
    ("paces", "why"),
    [
        ({64: 84, 512: 532}, "fewer than three sizes"),
        ({512: 532, 1024: 1044, 1518: 1538}, "fewer than three sizes"),
        ({64: 112, 512: 532, 1518: 1538}, "do not come from a clock"),  # a fabric slot: small frames take longer
        ({64: 84, 512: 533, 1518: 1538}, "64, 512 and 1518 B are not in line"),
        ({64: 1600, 512: 1600, 1518: 1600}, "large frames do not take longer"),
    ],
)
def test_paces_that_no_clock_explains_measure_none(paces: dict[int, int], why: str) -> None:
    clock = measured_clock(
        [Pace(size, Fraction(slot), Fraction(size + 19)) for size, slot in paces.items()], Fraction(50)
    )
    assert clock.offset_ppm is None and why in clock.why


def test_sizes_at_which_a_device_keeps_up_tell_nothing_of_its_clock() -> None:
    """At 9216 bytes the overload is 108 ppm: a clock that is 150 ppm fast forwards every frame."""
    paces = [
        Pace(size, max(Fraction(size + 20) / (1 + Fraction(150, 10**6)), Fraction(size + 19)), Fraction(size + 19))
        for size in (64, 512, 1518, 9216)
    ]
    assert paces[-1].slot_bytes == 9235
    assert measured_clock(paces, Fraction(50)).offset_ppm == 150


def clock_of(paces: dict[int, Fraction], sender: int = 19, tolerance_ppm: int = 50) -> DeviceClock:
    return measured_clock([Pace(*one, Fraction(one[0] + sender)) for one in paces.items()], Fraction(tolerance_ppm))


def test_a_clock_and_its_gap_follow_from_the_smallest_and_the_largest_frames() -> None:
    """Slots of L + 22 bytes of a clock that is 100 ppm slow; the middle one may be off by 50 ppm, and no more."""
    slow = {size: Fraction(size + 22) * (1 + Fraction(100, 999_900)) for size in (1518, 64, 512)}
    assert clock_of(slow) == DeviceClock(Fraction(-100), Fraction(22))
    for off_ppm, known in ((50, True), (-50, True), (51, False), (-51, False)):
        bent = slow | {512: slow[512] * (1 + Fraction(off_ppm, 10**6))}
        assert (clock_of(bent).offset_ppm is not None) is known, off_ppm
    # A device that keeps up with the sender at all sizes has the pace of the sender.
    own = {size: Fraction(size + 19) for size in (64, 512, 1518)}
    assert clock_of(own) == DeviceClock(Fraction(0), Fraction(19), of_sender=True)
    # 1,000 ppm may still be a clock.
    for ppm, known in ((1000, True), (-1000, True), (1001, False), (-1001, False)):
        paces = {size: Fraction(size + 30) / (1 + Fraction(ppm, 10**6)) for size in (64, 512, 1518)}
        assert (clock_of(paces).offset_ppm == ppm) is known, ppm


@pytest.mark.parametrize(
    ("sizes", "known"),
    [((256, 512, 1024), True), ((257, 512, 1518), False), ((64, 128, 255), False), ((64, 128, 256), True)],
)
def test_three_sizes_with_a_small_one_and_one_four_times_as_large_make_a_clock(
    sizes: tuple[int, ...], known: bool
) -> None:
    paces = {size: Fraction(size + 20) for size in sizes}
    assert (clock_of(paces).offset_ppm is not None) is known
    assert calibration_sizes(sizes, 64) == (
        () if known else tuple(size for size in (64, 512, 1518) if size not in sizes)
    )
    # At the pace of the sender, within the tolerance, nothing is known of the device.
    edge = {size: Fraction(size + 19) * (1 + Fraction(50, 10**6)) for size in sizes}
    assert clock_of(edge).of_sender is known


@pytest.mark.parametrize(
    ("least", "found"),
    [(64, (64, 512, 1518)), (65, (128, 512, 1518)), (129, (256, 512, 1518)), (256, (256, 512, 1518)), (257, ())],
)
def test_a_calibration_begins_with_the_smallest_frames_that_there_may_be(least: int, found: tuple[int, ...]) -> None:
    assert calibration_sizes((), least) == found


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
    parameters = resolve(test.name, test.parameters, ("clock_calibration=false",))
    (unit,) = test.units(parameters, (64,))
    result = test.run_unit(unit, stamped, parameters, SpacingMeasurer(spacing_ns))
    outcome = test.assemble(stamped, parameters, {unit: result})
    (row,) = outcome.tables[0].rows
    assert (row["short_gap"], row["finding"]) == (shown, "not detected")
    assert any("below 96 bits" in text for text in outcome.findings) == (shown == "yes")
    software = replace(bed(), stamps=TimeStamps(Fraction(1), StampKind.SOFTWARE))
    (row,) = test.assemble(software, parameters, {unit: result}).tables[0].rows
    assert row["short_gap"] is None


@pytest.mark.parametrize(
    ("settings", "spacing_ns", "gap_ns", "error_ns", "shown"),
    [
        # 520 bytes take 4,160 ns, less 100 ppm by a clock that is known to 50 ppm; a slot of 532 takes 4,255.574 ns.
        ((), 4255.574, 95.990, 1 + 0.208, "no"),
        ((), 4254.37, 94.786, 1 + 0.208, "no"),
        ((), 4254.35, 94.766, 1 + 0.208, "yes"),
        # A clock that is not known may be 100 ppm off.
        (("clock_calibration=false",), 4255.574, 95.574, 1 + 0.416, "no"),
        (("clock_calibration=false",), 4254.58, 94.58, 1 + 0.416, "no"),
        (("clock_calibration=false",), 4254.56, 94.56, 1 + 0.416, "yes"),
    ],
)
def test_the_gap_of_a_fast_clock_is_measured_by_that_clock(
    settings: tuple[str, ...], spacing_ns: float, gap_ns: float, error_ns: float, shown: str
) -> None:
    class Spaced(OverloadedMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            return replace(super().measure(spec, note), ports=(PortCounts(2, min_spacing_ns=spacing_ns),))

    (row,) = measured(Spaced(20, 100), (512,), "scaled_frames=100000", *settings).tables[0].rows
    assert row["min_rx_gap_ns"] == pytest.approx(gap_ns, abs=0.003)
    assert row["min_rx_gap_error_ns"] == pytest.approx(error_ns, abs=0.001)
    assert row["short_gap"] == shown


@pytest.mark.parametrize(("resolution_ns", "shown"), [(96, "no"), (97, None), (100, None)])
def test_stamps_coarser_than_the_gap_do_not_tell_whether_it_is_short(resolution_ns: int, shown: str | None) -> None:
    """96 bits at 1 Gbit/s."""
    stamped = replace(bed(), stamps=TimeStamps(Fraction(resolution_ns)))
    _, outcome = run_units(ForwardPressure(), stamped, SpacingMeasurer(672), (64,), "clock_calibration=false")
    assert outcome.tables[0].rows[0]["short_gap"] == shown


@pytest.mark.parametrize(("frames", "slot_bytes"), [(2, "175/2"), (1, None), (0, None)])
def test_two_frames_have_a_distance(frames: int, slot_bytes: str | None) -> None:
    """700 ns are 87.5 bytes at 1 Gbit/s."""
    few = FlowMeasurer(lambda _, sent: dict.fromkeys(sent, frames), Fraction(700))
    result, outcome = run_unit(ForwardPressure(), bed(), few, 64, "clock_calibration=false")
    assert (result.slot_bytes, result.by_arrival) == (slot_bytes, True)
    assert result.loss_pct == pytest.approx(100 - 100 * frames / result.tx_frames)
    assert "does not tell when frames arrive" not in outcome.tables[0].note
    blind, told = run_unit(ForwardPressure(), bed(), FlowMeasurer(lossless), 64, "clock_calibration=false")
    assert (blind.slot_bytes, blind.by_arrival) == (None, False)
    assert "does not tell when frames arrive" in told.tables[0].note
    note = measured(FlowMeasurer(lossless), (64,)).tables[0].note
    assert "The clock was not measured: " in note, "without arrivals"


def test_frames_of_a_transient_are_in_no_rate() -> None:
    """10 frames more came in the first half of the time, and 4 more may have."""

    class Bursty(FlowMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            burst = Transient(spec.duration_ns // 2, over=True, frames=10, hidden_frames=4)
            return replace(super().measure(spec, note), transient=burst)

    settings = ("clock_calibration=false", "scaled_frames=1000")
    result, _ = run_unit(ForwardPressure(), bed(), Bursty(lossless), 64, *settings)
    seconds = result.tx_frames / result.offered_fps
    assert result.forwarding_fps == pytest.approx((result.tx_frames - 10) / seconds)
    assert result.forwarding_error_fps == pytest.approx(2 * (2 + 4) / seconds, rel=1e-4)
    assert result.loss_pct == pytest.approx(1000 / result.tx_frames)


def test_a_trial_that_cannot_be_trusted_tells_nothing_of_the_clock() -> None:
    class Broken(OverloadedMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            result = super().measure(spec, note)
            is_long = spec.streams[0].frame_size_bytes == 1518
            return replace(result, status=Verdict.INVALID, reason="no link") if is_long else result

    outcome = measured(Broken(20, 50), (64, 512, 1518))
    assert "The clock was not measured: fewer than three sizes" in outcome.tables[0].note
    assert outcome.findings == ("1518 B: no link",)


def test_the_ports_are_parameters() -> None:
    measurer = SpacingMeasurer(None)
    test = ForwardPressure()
    parameters = resolve(test.name, test.parameters, ("tx_port=2", "rx_port=1"))
    test.run_unit(test.units(parameters, (64,))[0], bed(), parameters, measurer)
    (stream,) = measurer.specs[0].streams
    assert (stream.tx_ports, stream.rx_ports) == ((2,), (1,))


def test_two_ports_of_one_rate_are_enough_on_a_bed_of_several() -> None:
    """Forward pressure, the maximum forwarding rate and errored frames use two ports, whatever the others are."""
    rates = (10**10, GIGABIT, GIGABIT)
    mixed = make_bed(rates_bps=rates, ifg_bits=88)
    tests: tuple[Method, ...] = (ForwardPressure(), MaximumForwardingRate())
    for test in tests:
        for tx, rx, alike in ((1, 2, "none"), (3, 1, "2")):
            parameters = resolve(test.name, test.parameters, (f"tx_port={tx}", f"rx_port={rx}"))
            with pytest.raises(ParameterError, match="two ports of one line rate are needed") as caught:
                test.check(mixed, parameters)
            assert caught.value.hint == f"ports of the rate of port {tx}: {alike}"
        parameters = resolve(test.name, test.parameters, ("tx_port=3", "rx_port=2"))
        test.check(mixed, parameters)
        measurer = FlowMeasurer(lossless, frame_time_ns(64, GIGABIT, 20))
        (unit, *_) = test.units(parameters, (64,))
        test.assemble(mixed, parameters, {unit: test.run_unit(unit, mixed, parameters, measurer)})
        (stream,) = measurer.specs[0].streams
        assert (stream.tx_ports, stream.rx_ports) == ((3,), (2,))
        assert stream.rate_fps <= max_rate_fps(64, GIGABIT, 19)


def test_a_port_that_cannot_send_the_short_gap_is_not_supported() -> None:
    with pytest.raises(UnsupportedError, match="its shortest gap is 96 bits, the test needs 88") as refused:
        ForwardPressure().check(bed(96), resolve("t", ForwardPressure().parameters, ()))
    assert "set ifg_bits: 88 for this" in str(refused.value.hint)


def load_at_mfr(result: MaximumRate) -> float:
    assert result.best is not None
    return result.best.load_pct


def maximum_rate(measurer: FakeMeasurer, *settings: str) -> MaximumRate:
    result: MaximumRate = run_unit(MaximumForwardingRate(), bed(), measurer, 64, *settings)[0]
    return result


def test_the_steps_are_a_sweep_without_a_threshold() -> None:
    """Half of the line gets through: above it frames are lost in the search, which fails, and in the steps."""
    test, log = MaximumForwardingRate(), TrialLog(FakeMeasurer(capacity(max_rate_fps(64, GIGABIT) / 2)))
    parameters = resolve(test.name, test.parameters, ("step_pct=25",))
    (unit,) = test.units(parameters, (64,))
    result = test.run_unit(unit, bed(), parameters, log)
    outcome = test.assemble(bed(), parameters, {unit: result})
    lossy = [(row.load_pct, row.lost_frames > 0) for row in result.rows]
    assert lossy == [(50, False), (75, True), (100, True)]
    assert log.verdicts[-2:] == ["MEASURED", "MEASURED"]
    assert (outcome.state, outcome.tables[0].rows[0]["state"]) == (Verdict.MEASURED, "MEASURED")


def test_a_device_at_line_rate_has_its_maximum_at_the_maximum_offered_load() -> None:
    result = maximum_rate(FlowMeasurer(lossless))
    assert result.mfr.mfr_fps == result.throughput_fps == result.frmol.frmol_fps
    assert load_at_mfr(result) == 100


def test_the_maximum_between_throughput_and_line_rate_is_cited_with_its_load() -> None:
    """Loses a little above 50 %, forwards most at 80 %, and collapses at 100 %."""

    def carry(spec: TrialSpec, sent: int) -> int:
        load = float(spec.streams[0].rate_fps / max_rate_fps(64, GIGABIT))
        return sent if load <= 0.5 else int(sent * 0.9) if load < 0.85 else int(sent * 0.1)

    result = maximum_rate(FakeMeasurer(carry))
    assert load_at_mfr(result) == pytest.approx(80, abs=0.1)
    assert result.mfr.mfr_fps == pytest.approx(0.9 * 0.8 * float(max_rate_fps(64, GIGABIT)), rel=1e-2)
    assert result.frmol.frmol_fps == pytest.approx(0.1 * float(max_rate_fps(64, GIGABIT)), rel=1e-2)


def test_the_sweep_starts_at_the_throughput_so_the_maximum_is_not_below_it() -> None:
    """A device that collapses above 50 % forwards most at its throughput (methodology 3.6.2: mfr = max from there)."""

    def carry(spec: TrialSpec, sent: int) -> int:
        return sent if spec.streams[0].rate_fps <= max_rate_fps(64, GIGABIT) / 2 else sent // 1000

    result = maximum_rate(FakeMeasurer(carry))
    assert result.mfr.mfr_fps == result.throughput_fps == pytest.approx(float(max_rate_fps(64, GIGABIT) / 2), rel=1e-3)
    assert load_at_mfr(result) == pytest.approx(50, abs=0.1)
    assert result.rows[0].load_pct == load_at_mfr(result), "the throughput is the first load"
    assert [row.load_pct for row in result.rows][-1] == 100


def test_a_throughput_at_a_lowered_maximum_is_the_maximum() -> None:
    """If the throughput is the maximum offered load, no further load is tried (RFC 2889 5.6.3)."""
    measurer = FlowMeasurer(lossless)
    result = maximum_rate(measurer, "ppm_below=100")
    assert result.mfr.mfr_fps == result.throughput_fps == result.frmol.frmol_fps
    assert load_at_mfr(result) == pytest.approx(99.99)
    assert result.frmol_offered_pct == pytest.approx(99.99, rel=1e-4)
    assert len(measurer.specs) == 1
