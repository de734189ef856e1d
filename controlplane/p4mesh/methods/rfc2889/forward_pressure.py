"""RFC 2889 5.6.3: forward pressure, does the device transmit with less than the minimum gap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

from p4mesh.errors import UnsupportedError
from p4mesh.methods.base import MethodOf, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, boolean, decimal
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.loss_interval import forgiven_text
from p4mesh.methods.results.metrics import (
    cut_frames,
    early_frames,
    hidden_frames,
    missed_error_pct,
    missed_frames,
    rate_error,
    steady_share,
    transmission_s,
)
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.methods.rfc2889.device_clock import (
    PPM,
    DeviceClock,
    Pace,
    calibration_sizes,
    measured_clock,
)
from p4mesh.methods.rfc2889.port_pair import pair_of, pair_parameters
from p4mesh.quantities import number_text, signed_text
from p4mesh.tester.frames import minimum_frame_bytes
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import (
    NS_PER_S,
    PREAMBLE_BYTES,
    STANDARD_IFG_BYTES,
    STANDARD_OVERHEAD_BYTES,
    frame_time_ns,
    max_rate_fps,
    tx_frames,
    utilisation_pct,
)
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stamps import StampKind
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

IFG_BYTES = STANDARD_IFG_BYTES - 1
DETECTED, NOT_DETECTED = "Forward Pressure detected", "not detected"
PRESSURE, CLOCK = "forward_pressure", "clock"
_CLAUSE = "RFC 2889 5.6.3"
_HUNDRED = Fraction(100)
_PPM_PER_PCT = 10_000
_NOTE = (
    "Rx util = received frames, each counted once, x 8 (L + 20) / (R x time). The time is the transmission time T or, "
    "where longer, that from the first frame received to the end of the slot of the last one: frames lost at the ends "
    "do not raise it, nor do frames that leave the device's queue after T. These count as lost, "
    "because a longer trial loses as many more. "
)
_NO_ARRIVALS = "The target does not tell when frames arrive, so T it is: frames that leave after T raise Rx util. "


@dataclass(frozen=True, kw_only=True)
class Pressure(Record):
    """Result of one trial without the verdict, which needs the clock."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    tx_frames: Annotated[int, fields.TX_FRAMES]
    offered_fps: Annotated[float, fields.OFFERED_FPS]
    offered_pct: Annotated[float, retitled(fields.OFFERED_PCT, "Tx util", digits=3)]
    rx_frames: Annotated[int, fields.RX_FRAMES]
    forwarding_fps: Annotated[float, fields.FORWARDING_FPS]
    forwarding_error_fps: Annotated[float, fields.FORWARDING_ERROR_FPS]
    forwarding_pct: Annotated[float, retitled(fields.FORWARDING_PCT, "Rx util", digits=3)]
    min_spacing_ns: float | None
    loss_pct: Annotated[float, fields.LOSS_PCT]
    loss_error_pct: Annotated[float | None, fields.LOSS_ERROR_PCT]
    corrupted_frames: int | None = field(default=None, metadata=OMITTED)
    slot_bytes: str | None
    """Mean distance of two frames in bytes; an exact fraction, as the clock takes differences of these times."""
    status: Verdict
    by_arrival: bool
    """Whether the target tells when frames arrive."""
    reason: str


@dataclass(frozen=True, kw_only=True)
class JudgedPressure(Record):
    """A trial with limit, clock and verdict."""

    pressure: Pressure = field(metadata=INLINE)
    limit_pct: Annotated[float, fields.LIMIT_PCT]
    clock_ppm: Annotated[float | None, fields.CLOCK_PPM]
    min_rx_gap_ns: Annotated[float | None, fields.MIN_RX_GAP_NS]
    min_rx_gap_error_ns: Annotated[float | None, fields.MIN_RX_GAP_ERROR_NS]
    short_gap: Annotated[bool | None, fields.SHORT_GAP]
    """Whether two frames came closer than 96 bits allow; None where that cannot be told."""
    finding: Annotated[str | None, fields.FINDING]
    """``DETECTED`` in the words of the RFC; None where the trial cannot be trusted."""
    state: Annotated[Verdict, fields.STATE]


class ForwardPressure(MethodOf[Pressure]):
    """One port sends with a gap of 88 bits; the receive utilisation shows the device's own gap."""

    name = "rfc2889.forward_pressure"
    title = "Forward pressure"
    terms = "interframe gap, full-speed input"
    section = "RFC 2889 5.6"
    parameters = (
        *pair_parameters("RFC 2889 5.6.2"),
        decimal("detect_above_pct", "0.01", "% of line rate", _CLAUSE, "excess over 100 % that counts", ("0", "10")),
        boolean(
            "clock_calibration",
            True,
            _CLAUSE,
            "measure the device's clock with the smallest and the largest frame size; three sizes are needed, with "
            "fewer up to three more are measured",
        ),
        decimal(
            "clock_tolerance_ppm",
            "100",
            "ppm",
            _CLAUSE,
            "tolerance for the device's clock where it is not measured",
            ("0", "1000"),
        ),
        *shared.trial_parameters("RFC 2889 5.6.2"),
    )

    def goal(self, parameters: ParameterSet) -> str:
        """The criterion of the test."""
        return "the device sends no faster than the limit, so no forward pressure"

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds without two ports of one rate, and ports that cannot send the short gap."""
        sender, _ = pair_of(self.name, bed, parameters)
        if sender.ifg_bits > 8 * IFG_BYTES:
            raise UnsupportedError(
                f"{self.name}: not supported on port {sender.name} of topology '{bed.topology}': "
                f"its shortest gap is {sender.ifg_bits} bits, the test needs {8 * IFG_BYTES}",
                hint=f"set ifg_bits: {8 * IFG_BYTES} for this tester port, where the hardware can do it",
            )

    def units(self, parameters: ParameterSet, sizes: Sequence[FrameSize]) -> tuple[Unit, ...]:
        """One unit per frame size, and one for each further size that the clock takes."""
        least = minimum_frame_bytes(shared.frame_of(parameters))
        more = calibration_sizes(sizes, least) if parameters.flag("clock_calibration") else ()
        return tuple(Unit(size, part) for part, some in ((PRESSURE, sizes), (CLOCK, more)) for size in some)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """The one trial."""
        return 1

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> Pressure:
        """Offer one byte per frame more than the line rate of the standard gap."""
        size = unit.frame_size_bytes
        sender, receiver = pair_of(self.name, bed, parameters)
        rate = sender.own_rate_bps
        fps = max_rate_fps(size, rate, PREAMBLE_BYTES + IFG_BYTES)
        duration_ns = shared.duration_ns_of(parameters, size, rate)
        count = tx_frames(duration_ns, fps)
        frame = shared.frame_of(parameters)
        stream = Stream("overload", size, fps, count, Pairs(), (sender.number,), (receiver.number,), frame)
        spec = shared.trial_of(
            parameters,
            f"forward pressure {size} B",
            (stream,),
            duration_ns,
            per_flow=True,
            watch_queues=True,
        )
        return _row(spec, session.measure(spec, TrialNote(_HUNDRED, 0)), rate)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, Pressure]) -> Outcome:
        """The table of methodology 3.6.1; the device fails when forward pressure was detected."""
        rate = pair_of(self.name, bed, parameters)[0].own_rate_bps
        off = DeviceClock(None, why="clock_calibration is off")
        clock = _clock(results.values(), parameters) if parameters.flag("clock_calibration") else off
        measured = [row for unit, row in results.items() if unit.part == PRESSURE]
        rows = [_judged(row, clock, bed, parameters, rate) for row in measured]
        state = Verdict.worst(row.state for row in rows)
        table = JudgedPressure.table(
            "forward_pressure",
            "Forward pressure",
            rows,
            _NOTE
            + ("" if all(row.pressure.by_arrival for row in rows) else _NO_ARRIVALS)
            + f"{_about(clock, parameters)} {forgiven_text(row.pressure.tx_frames for row in rows)}",
            headline=(fields.STATE, fields.OFFERED_PCT, fields.FORWARDING_PCT, fields.LIMIT_PCT, fields.FINDING),
        )
        sizes = [unit.frame_size_bytes for unit in results]
        duration = shared.duration_deviation(parameters, sizes, rate)
        return Outcome(
            state,
            f"{self.title}: {state.value}",
            (table,),
            (),
            (
                *(f"{row.frame_size_bytes} B: {row.reason}" for row in measured if row.reason),
                *(
                    f"{row.pressure.frame_size_bytes} B: two frames arrived with a gap of {number_text(gap_ns)} +- "
                    f"{number_text(row.min_rx_gap_error_ns)} ns, below 96 bits, though the mean rate is not above the "
                    "limit"
                    for row in rows
                    if row.short_gap and row.state is Verdict.PASS
                    if (gap_ns := row.min_rx_gap_ns) is not None and row.min_rx_gap_error_ns is not None
                ),
            ),
            (duration,) if duration else (),
        )


def _row(spec: TrialSpec, result: TrialResult, line_rate_bps: int) -> Pressure:
    """The result of one trial without the verdict, which needs the clock."""
    (stream,) = spec.streams
    size = stream.frame_size_bytes
    slot_ns = frame_time_ns(size, line_rate_bps)
    received = result.rx_frames - result.duplicate_frames
    flow = result.flows[0] if result.flows else None
    span_ns = flow.last_rx_ns - flow.first_rx_ns if flow is not None and received > 1 else 0
    busy_ns = max(transmission_s(spec) * NS_PER_S, span_ns + slot_ns if span_ns else Fraction(0))
    fps = Fraction((received - early_frames(result)) * NS_PER_S) / busy_ns
    spacing_ns = next((port.min_spacing_ns for port in result.ports if port.port in stream.rx_ports), None)
    slot_bytes = span_ns / slot_ns * (size + STANDARD_OVERHEAD_BYTES) / (received - 1) if span_ns else None
    return Pressure(
        frame_size_bytes=size,
        tx_frames=result.tx_frames,
        offered_fps=float(stream.rate_fps),
        offered_pct=float(utilisation_pct(stream.rate_fps, size, line_rate_bps)),
        rx_frames=result.rx_frames,
        forwarding_fps=float(fps),
        forwarding_error_fps=float(
            rate_error(
                result, fps, (cut_frames(result) + hidden_frames(result)) * NS_PER_S / busy_ns / steady_share(result)
            )
        ),
        forwarding_pct=float(utilisation_pct(fps, size, line_rate_bps)),
        min_spacing_ns=spacing_ns,
        loss_pct=float(Fraction(100 * missed_frames(result), result.expected_rx_frames or 1)),
        loss_error_pct=missed_error_pct(result, missed_frames(result), result.expected_rx_frames),
        corrupted_frames=result.corrupted_frames or None,
        slot_bytes=None if slot_bytes is None else str(slot_bytes),
        status=result.status,
        by_arrival=span_ns > 0 or received < 2,
        reason=result.reason,
    )


def _allowed_ppm(parameters: ParameterSet) -> Fraction:
    """The tolerance for a measured clock: half of the excess that counts."""
    return parameters.number("detect_above_pct") * _PPM_PER_PCT / 2


def _clock(rows: Iterable[Pressure], parameters: ParameterSet) -> DeviceClock:
    paces = [
        Pace(
            row.frame_size_bytes,
            Fraction(row.slot_bytes),
            Fraction(row.frame_size_bytes + PREAMBLE_BYTES + IFG_BYTES),
        )
        for row in rows
        if row.slot_bytes is not None and row.status.trusted
    ]
    return measured_clock(paces, _allowed_ppm(parameters))


def _judged(
    row: Pressure, clock: DeviceClock, bed: Bed, parameters: ParameterSet, line_rate_bps: int
) -> JudgedPressure:
    """The row with limit, clock and verdict."""
    measured = clock.offset_ppm is not None
    offset_ppm = clock.offset_ppm if clock.offset_ppm is not None else parameters.number("clock_tolerance_ppm")
    limit_pct = _HUNDRED + offset_ppm / _PPM_PER_PCT + parameters.number("detect_above_pct")
    trusted = row.status.trusted
    detected = trusted and row.forwarding_pct > limit_pct
    # A fast clock sends the whole frame faster, gap included.
    earliest_ns = frame_time_ns(row.frame_size_bytes, line_rate_bps) / (1 + offset_ppm / PPM)
    if measured:
        earliest_ns *= 1 - _allowed_ppm(parameters) / PPM
    on_wire_ns = frame_time_ns(row.frame_size_bytes, line_rate_bps, PREAMBLE_BYTES)
    own_ppm, unsure_ppm = (offset_ppm, _allowed_ppm(parameters)) if measured else (Fraction(0), offset_ppm)
    gap_ns = None if row.min_spacing_ns is None else row.min_spacing_ns - float(on_wire_ns / (1 + own_ppm / PPM))
    error_ns = bed.stamps.resolution_ns + on_wire_ns * unsure_ppm / PPM
    told = gap_ns is not None and bed.stamps.kind is not StampKind.SOFTWARE
    return JudgedPressure(
        pressure=row,
        limit_pct=float(limit_pct),
        clock_ppm=None if clock.offset_ppm is None or clock.of_sender else float(clock.offset_ppm),
        min_rx_gap_ns=gap_ns,
        min_rx_gap_error_ns=float(error_ns) if told else None,
        short_gap=_short_gap(row, earliest_ns, bed, line_rate_bps) if trusted else None,
        finding=(DETECTED if detected else NOT_DETECTED) if trusted else None,
        state=(Verdict.FAIL if detected else Verdict.PASS) if trusted else row.status,
    )


def _short_gap(row: Pressure, earliest_ns: Fraction, bed: Bed, line_rate_bps: int) -> bool | None:
    """Whether two frames arrived closer than 96 bits allow, beyond what clock and time stamps explain.

    None where it cannot be told: without two frames, or with stamps that are taken around whole frames or coarser
    than the gap.
    """
    coarse = bed.stamps.resolution_ns > frame_time_ns(STANDARD_IFG_BYTES, line_rate_bps, 0)
    if row.min_spacing_ns is None or coarse or bed.stamps.kind is StampKind.SOFTWARE:
        return None
    return row.min_spacing_ns < earliest_ns - bed.stamps.resolution_ns


def _about(clock: DeviceClock, parameters: ParameterSet) -> str:
    excess = f"{number_text(parameters.number('detect_above_pct'))} %"
    if clock.offset_ppm is None:
        tolerance = f"{number_text(parameters.number('clock_tolerance_ppm'))} ppm for the device's clock"
        return f"Limit: 100 %, {tolerance}, and {excess}. The clock was not measured: {clock.why}."
    if clock.of_sender:
        return f"Limit: 100 % and {excess}. The device keeps the pace of the sender at every size."
    assert clock.overhead_bytes is not None
    return (
        f"Limit: 100 %, the device's clock, and {excess}. Under the same overload, the time that a frame of the device "
        f"takes grows with its length as its clock says, {signed_text(round(clock.offset_ppm, 1))} ppm against the "
        f"tester's port; the rest is preamble and gap, {float(clock.overhead_bytes):.3f} bytes (RFC: 20)."
    )
