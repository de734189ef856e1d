"""RFC 2889 5.5: congestion control, head-of-line blocking and back pressure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from p4mesh.methods import shared_parameters as shared
from p4mesh.methods.base import Session, TestMethod, TrialNote, Unit, UnitResult
from p4mesh.methods.bed import TestBed
from p4mesh.methods.outcome import Column, Outcome, State, Table
from p4mesh.methods.parameters import Parameter, ParameterSet, integer
from p4mesh.traffic.line_rate import NS_PER_S, rate_at_pct, tx_frames
from p4mesh.traffic.stream import PatternKind, Stream
from p4mesh.trial.result import FlowCounts, Status, TrialResult
from p4mesh.trial.spec import TrialSpec

PORTS_PER_BLOCK = 4
_ALONE, _CONGESTED = "alone", "congested"
_YES, _NO, _INCONCLUSIVE = "yes", "no", "inconclusive"
_HUNDRED = Fraction(100)
_ROTATE = PatternKind.ROTATE

COLUMNS = (
    Column("frame_size_bytes", "Frame size", "B"),
    Column("tx_pct", "Tx per source", "% of line", 3),
    Column("tx_frames", "Tx", "frames"),
    Column("uncongested_tx_frames", "U Tx", "frames"),
    Column("uncongested_rx_frames", "U Rx", "frames"),
    Column("uncongested_loss_pct", "U loss", "%", 4),
    Column("uncongested_fps", "U FR", "frames/s", 0),
    Column("congested_tx_frames", "C Tx", "frames"),
    Column("congested_rx_frames", "C Rx", "frames"),
    Column("congested_loss_pct", "C loss", "%", 4),
    Column("congested_fps", "C FR", "frames/s", 0),
    Column("pause_frames", "PAUSE", "frames"),
    Column("head_of_line_blocking", "HOL blocking"),
    Column("back_pressure", "Back pressure"),
    Column("state", "Result"),
)


class CongestionControl(TestMethod):
    """Blocks of four ports: source 1 alternates U and C, source 2 sends to C only, all at line rate."""

    name: ClassVar[str] = "rfc2889.congestion_control"
    title: ClassVar[str] = "Congestion control"
    section: ClassVar[str] = "RFC 2889 5.5"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        integer("blocks", 1, "blocks", "RFC 2889 5.5.2", "blocks of four ports that run at once", (1, 128)),
        *shared.trial_parameters("RFC 2889 5.5.2"),
    )

    def check(self, bed: TestBed, parameters: ParameterSet) -> None:
        """Refuse beds without enough ports of one rate for the blocks."""
        bed.require_ports(self.name, PORTS_PER_BLOCK * parameters.integer("blocks"))
        bed.common_rate_bps(self.name)

    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return one unit per frame size."""
        return tuple(Unit(size, "congestion") for size in sizes)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Source 1 alone, then both."""
        return 2

    def run_unit(self, unit: Unit, bed: TestBed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Measure the blocks without and with congestion; every block starts at once."""
        size, rate = unit.frame_size_bytes, bed.common_rate_bps(self.name)
        blocks = _blocks(bed, parameters.integer("blocks"))
        alone = session.measure(_spec(_ALONE, size, blocks, rate, parameters), TrialNote(_HUNDRED, 1))
        both = session.measure(_spec(_CONGESTED, size, blocks, rate, parameters), TrialNote(_HUNDRED, 0))
        duration_ns = shared.duration_ns_of(parameters, size, rate)
        return _row(size, blocks, alone, both, shared.maximum_load_pct(parameters), duration_ns)

    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return the table of methodology 3.5; PASS iff no uncongested frame was lost at any size."""
        rows = tuple(results.values())
        states = {row["state"] for row in rows}
        state = next((State(name) for name in ("ABORT", "INVALID", "FAIL") if name in states), State.PASS)
        table = Table(
            "congestion",
            "Congestion control",
            COLUMNS,
            tuple({column.key: row[column.key] for column in COLUMNS} for row in rows),
            "C Tx is what was offered to the congested port, 150 % of its line rate unless sources were held back by "
            "PAUSE frames. Sums over all blocks; FR is received frames per transmission time.",
        )
        blocks = parameters.integer("blocks")
        sizes = [unit.frame_size_bytes for unit in results]
        duration = shared.duration_deviation(parameters, sizes, bed.common_rate_bps(self.name))
        unused = len(bed.ports) - blocks * PORTS_PER_BLOCK
        noted = [duration, f"{unused} of {len(bed.ports)} ports are unused." if unused else ""]
        return Outcome(
            state,
            f"{self.title}: {blocks * PORTS_PER_BLOCK} ports, {state.value}",
            (table,),
            (),
            tuple(f"{row['frame_size_bytes']} B: {row['reason']}" for row in rows if row["reason"]),
            tuple(text for text in noted if text),
        )


Block = tuple[int, int, int, int]
"""Source 1 (split), source 2, uncongested receiver, congested receiver."""


def _blocks(bed: TestBed, count: int) -> tuple[Block, ...]:
    numbers = bed.port_numbers
    starts = range(0, count * PORTS_PER_BLOCK, PORTS_PER_BLOCK)
    return tuple((numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]) for i in starts)


def _spec(part: str, size: int, blocks: Sequence[Block], rate_bps: int, parameters: ParameterSet) -> TrialSpec:
    duration_ns = shared.duration_ns_of(parameters, size, rate_bps)
    fps = rate_at_pct(shared.maximum_load_pct(parameters), size, rate_bps)
    count = tx_frames(duration_ns, fps)
    count -= count % 2  # source 1 sends equally many frames to U and to C
    template = shared.template_of(parameters)
    streams = []
    for number, (split, steady, uncongested, congested) in enumerate(blocks, start=1):
        streams.append(
            Stream(f"split{number}", size, fps, count, _ROTATE, (split,), (uncongested, congested), template)
        )
        if part == _CONGESTED:
            streams.append(Stream(f"steady{number}", size, fps, count, _ROTATE, (steady,), (congested,), template))
    return shared.trial_of(
        parameters,
        f"{part} {size} B",
        tuple(streams),
        duration_ns,
        per_flow=True,
    )


def _row(
    size: int,
    blocks: Sequence[Block],
    alone: TrialResult,
    both: TrialResult,
    maximum_pct: Fraction,
    duration_ns: int,
) -> UnitResult:
    uncongested = [flow for flow in both.flows if any(flow.rx_port == block[2] for block in blocks)]
    congested = [flow for flow in both.flows if any(flow.rx_port == block[3] for block in blocks)]
    untrusted = next((result for result in (alone, both) if result.status is not Status.VALID), None)
    lost_u, lost_c = _lost(uncongested), _lost(congested)
    blocking = _NO if lost_u == 0 else _YES if alone.lost_frames == 0 else _INCONCLUSIVE
    state = State.PASS if lost_u == 0 else State.FAIL
    reason = (
        "" if blocking != _INCONCLUSIVE else "source 1 alone already loses frames: an input limit, not HOL blocking"
    )
    back_pressure = _YES if lost_c == 0 else _NO
    sources = {port for block in blocks for port in block[:2]}
    pause_frames = sum(port.pause_frames for port in both.ports if port.port in sources)
    if untrusted is both and both.status is Status.INVALID and pause_frames:
        # The device has held its sources back: less was offered than intended, and that is the finding.
        back_pressure, reason = _YES, f"flow control: {pause_frames} PAUSE frames to the sources; {both.reason}"
        paused = {port.port for port in both.ports if port.pause_frames}
        if lost_u == 0 and any(block[0] in paused for block in blocks):
            blocking = _INCONCLUSIVE  # what source 1 sends to the uncongested port was held back too
    elif untrusted is not None:
        blocking, state, reason = _INCONCLUSIVE, State(untrusted.status.value), untrusted.reason
        back_pressure = _INCONCLUSIVE
    seconds = Fraction(duration_ns, NS_PER_S)
    return {
        "frame_size_bytes": size,
        "tx_pct": float(maximum_pct * both.tx_frames / both.intended_frames) if both.intended_frames else None,
        "tx_frames": both.tx_frames,
        "uncongested_fps": float((_sent(uncongested) - lost_u) / seconds),
        "congested_fps": float((_sent(congested) - lost_c) / seconds),
        "pause_frames": pause_frames,
        "uncongested_tx_frames": _sent(uncongested),
        "uncongested_rx_frames": _sent(uncongested) - lost_u,
        "uncongested_loss_pct": _percent(lost_u, _sent(uncongested)),
        "congested_tx_frames": _sent(congested),
        "congested_rx_frames": _sent(congested) - lost_c,
        "congested_loss_pct": _percent(lost_c, _sent(congested)),
        "head_of_line_blocking": blocking,
        "back_pressure": back_pressure,
        "state": state.value,
        "reason": reason,
    }


def _sent(flows: Sequence[FlowCounts]) -> int:
    return sum(flow.tx_frames for flow in flows)


def _lost(flows: Sequence[FlowCounts]) -> int:
    return sum(flow.lost_frames for flow in flows)


def _percent(part: int, whole: int) -> float | None:
    return float(Fraction(100 * part, whole)) if whole else None
