"""RFC 2889 5.6.3: forward pressure, does the device transmit with less than the minimum gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from p4mesh.errors import UnsupportedError
from p4mesh.methods import shared_parameters as shared
from p4mesh.methods.base import Session, TestMethod, TrialNote, Unit, UnitResult
from p4mesh.methods.bed import TestBed
from p4mesh.methods.outcome import Column, Outcome, State, Table
from p4mesh.methods.parameters import Parameter, ParameterSet, decimal
from p4mesh.methods.rfc2889.port_pair import pair_of, pair_parameters
from p4mesh.traffic.line_rate import (
    NS_PER_S,
    PREAMBLE_BYTES,
    STANDARD_IFG_BYTES,
    frame_time_ns,
    max_rate_fps,
    tx_frames,
    utilisation_pct,
)
from p4mesh.traffic.stream import PatternKind, Stream
from p4mesh.trial.result import Status, TrialResult

IFG_BYTES = STANDARD_IFG_BYTES - 1
DETECTED = "Forward Pressure detected"
_CLAUSE = "RFC 2889 5.6.3"
_HUNDRED = Fraction(100)
_PPM_PER_PCT = 10_000
_YES, _NO = "yes", "no"
_NOTES = {
    True: "Rx util is the rate between the first and the last arrival: frames that leave the device's queue after the "
    "transmission do not raise it.",
    False: "Rx util is received frames per transmission time: frames that leave the device's queue after the "
    "transmission raise it.",
}

COLUMNS = (
    Column("frame_size_bytes", "Frame size", "B"),
    Column("tx_frames", "Tx", "frames"),
    Column("tx_fps", "Tx", "frames/s", 0),
    Column("tx_pct", "Tx util", "% of line", 3),
    Column("rx_frames", "Rx", "frames"),
    Column("rx_fps", "Rx", "frames/s", 0),
    Column("rx_pct", "Rx util", "% of line", 3),
    Column("min_rx_gap_ns", "Min Rx gap", "ns", 3),
    Column("short_gap", "Below 96 bits"),
    Column("loss_pct", "Loss", "%", 4),
    Column("finding", "Result"),
)


class ForwardPressure(TestMethod):
    """One port sends with a gap of 88 bits; the receive utilisation shows the device's own gap."""

    name: ClassVar[str] = "rfc2889.forward_pressure"
    title: ClassVar[str] = "Forward pressure"
    section: ClassVar[str] = "RFC 2889 5.6"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        *pair_parameters("RFC 2889 5.6.2"),
        decimal("detect_above_pct", "0.01", "% of line rate", _CLAUSE, "excess over 100 % that counts", ("0", "10")),
        decimal("clock_tolerance_ppm", "100", "ppm", _CLAUSE, "tolerance for the device's clock", ("0", "1000")),
        *shared.trial_parameters("RFC 2889 5.6.2"),
    )

    def check(self, bed: TestBed, parameters: ParameterSet) -> None:
        """Refuse beds without two ports of one rate, and ports that cannot send the short gap."""
        sender, _ = pair_of(self.name, bed, parameters)
        if sender.ifg_bits > 8 * IFG_BYTES:
            raise UnsupportedError(
                f"{self.name}: not supported on port {sender.name} of topology '{bed.topology}': "
                f"its shortest gap is {sender.ifg_bits} bits, the test needs {8 * IFG_BYTES}",
                hint=f"set ifg_bits: {8 * IFG_BYTES} for this tester port, where the hardware can do it",
            )

    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return one unit per frame size."""
        return tuple(Unit(size, "forward_pressure") for size in sizes)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the one trial."""
        return 1

    def run_unit(self, unit: Unit, bed: TestBed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Offer one byte per frame more than the line rate of the standard gap."""
        size, rate = unit.frame_size_bytes, bed.common_rate_bps(self.name)
        sender, receiver = pair_of(self.name, bed, parameters)
        fps = max_rate_fps(size, rate, PREAMBLE_BYTES + IFG_BYTES)
        duration_ns = shared.duration_ns_of(parameters, size, rate)
        count = tx_frames(duration_ns, fps)
        template = shared.template_of(parameters)
        stream = Stream("overload", size, fps, count, PatternKind.PAIRS, (sender.number,), (receiver.number,), template)
        spec = shared.trial_of(
            parameters,
            f"forward pressure {size} B",
            (stream,),
            duration_ns,
            per_flow=True,
        )
        result = session.measure(spec, TrialNote(_HUNDRED, 0))
        tolerance_pct = parameters.number("clock_tolerance_ppm") / _PPM_PER_PCT
        limit = _HUNDRED + parameters.number("detect_above_pct") + tolerance_pct
        row = _row(stream, result, rate, limit)
        return row | {"short_gap": _short_gap(result, stream, bed, rate, tolerance_pct)}

    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return the table of methodology 3.6.1; the device fails when forward pressure was detected."""
        rows = tuple(results.values())
        states = {row["state"] for row in rows}
        state = next((State(name) for name in ("ABORT", "INVALID", "FAIL") if name in states), State.PASS)
        table = Table(
            "forward_pressure",
            "Forward pressure",
            COLUMNS,
            tuple({column.key: row[column.key] for column in COLUMNS} for row in rows),
            _NOTES[all(row["by_arrival"] for row in rows)],
        )
        sizes = [unit.frame_size_bytes for unit in results]
        duration = shared.duration_deviation(parameters, sizes, bed.common_rate_bps(self.name))
        return Outcome(
            state,
            f"{self.title}: {state.value}",
            (table,),
            (),
            (
                *(f"{row['frame_size_bytes']} B: {row['reason']}" for row in rows if row["reason"]),
                *(
                    f"{row['frame_size_bytes']} B: two frames arrived with a gap of {row['min_rx_gap_ns']:g} ns, below "
                    "96 bits, though the mean rate is not above line rate"
                    for row in rows
                    if row["short_gap"] == _YES and row["state"] == State.PASS.value
                ),
            ),
            (duration,) if duration else (),
        )


def received_fps(result: TrialResult, stream: Stream) -> tuple[Fraction, bool]:
    """Return the rate between first and last arrival and True, else that of the transmission time and False."""
    received = result.rx_frames - result.duplicate_frames
    flow = result.flows[0] if result.flows else None
    if flow is not None and flow.last_rx_ns > flow.first_rx_ns and received > 1:
        return Fraction((received - 1) * NS_PER_S, flow.last_rx_ns - flow.first_rx_ns), True
    return received * stream.rate_fps / stream.frame_count, False


def _shortest_gap_ns(result: TrialResult, stream: Stream, line_rate_bps: int) -> float | None:
    """Return the shortest gap between two frames at the receiver: 96 bit times at line rate."""
    spacings = [port.min_spacing_ns for port in result.ports if port.port in stream.rx_ports]
    if not spacings or spacings[0] is None:
        return None
    return spacings[0] - float(frame_time_ns(stream.frame_size_bytes, line_rate_bps, PREAMBLE_BYTES))


def _short_gap(
    result: TrialResult, stream: Stream, bed: TestBed, line_rate_bps: int, tolerance_pct: Fraction
) -> str | None:
    """Return whether two frames arrived closer than 96 bits allow, beyond what clock and time stamps explain.

    None where it cannot be told: without two frames, without trust, or with stamps taken around whole frames.
    """
    gap_ns = _shortest_gap_ns(result, stream, line_rate_bps)
    if gap_ns is None or result.status is not Status.VALID or not bed.stamps.first_bit:
        return None
    slot_ns = frame_time_ns(stream.frame_size_bytes, line_rate_bps)
    missing_ns = frame_time_ns(STANDARD_IFG_BYTES, line_rate_bps, 0) - Fraction(gap_ns)
    return _YES if missing_ns > slot_ns * tolerance_pct / _HUNDRED + bed.stamps.resolution_ns else _NO


def _row(stream: Stream, result: TrialResult, line_rate_bps: int, limit_pct: Fraction) -> UnitResult:
    size = stream.frame_size_bytes
    fps, by_arrival = received_fps(result, stream)
    rx_pct = utilisation_pct(fps, size, line_rate_bps)
    trusted = result.status is Status.VALID
    detected = trusted and rx_pct > limit_pct
    return {
        "frame_size_bytes": size,
        "tx_frames": result.tx_frames,
        "tx_fps": float(stream.rate_fps),
        "tx_pct": float(utilisation_pct(stream.rate_fps, size, line_rate_bps)),
        "rx_frames": result.rx_frames,
        "rx_fps": float(fps),
        "rx_pct": float(rx_pct),
        "min_rx_gap_ns": _shortest_gap_ns(result, stream, line_rate_bps),
        "loss_pct": float(Fraction(100 * result.lost_frames, result.expected_rx_frames or 1)),
        "finding": DETECTED if detected else "not detected" if trusted else result.status.value,
        "state": (State.FAIL if detected else State.PASS).value if trusted else result.status.value,
        "by_arrival": by_arrival,
        "reason": result.reason,
    }
