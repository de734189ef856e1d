"""RFC 2544 26.5: system recovery, how long a device goes on losing frames after an overload has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import Annotated

from p4mesh.methods.base import Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Leg, Mesh, measure_throughput
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, choice, decimal, integer, with_defaults
from p4mesh.methods.port_patterns import DURATION_CLAUSE, RFC_DURATION_S
from p4mesh.methods.results import fields
from p4mesh.methods.results.forwarding import MeshThroughput
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import INLINE, OMITTED, Record, table_of
from p4mesh.methods.results.repetition import spread_of
from p4mesh.methods.results.searched import ForGood
from p4mesh.methods.results.throughput_tables import throughput_table
from p4mesh.methods.shapes import SearchTest
from p4mesh.quantities import time_text
from p4mesh.traffic.line_rate import NS_PER_S, NS_PER_US, frame_time_ns, rate_at_pct
from p4mesh.traffic.patterns import Rotate
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Judgement, Verdict

SECTION = "RFC 2544 26.5"
RFC_OVERLOAD_S = 60
RECOVERY = "recovery"
OVERLOAD, REDUCED = "overload", "reduced"
ONE_PORT, TWO_PORTS = "one_port", "two_ports"
_AT_MOST = (
    "recovery takes no longer than is printed, and may be much shorter: the device loses single frames at the "
    "throughput, or frames come late, or few are lost until long after the change, and one of these may be the last gap"
)
_NO_LOSS = "the overload lost no frame, so there is nothing to recover from"
_SOON = Fraction(1, 8)
"""Share of the frames behind a change: of those that are lost by chance, the last one is in it with less than 5 %."""
NOT_APPLICABLE = Judgement(Verdict.MEASURED, "not applicable")


@dataclass(frozen=True, kw_only=True)
class Recovery(Record):
    """Throughput and recovery of one frame size; None where there was no overload, or no recovery."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    state: Annotated[Verdict, fields.STATE]
    throughput_pct: Annotated[float | None, fields.THROUGHPUT_PCT]
    throughput_fps: Annotated[float | None, fields.THROUGHPUT_FPS]
    for_good: ForGood = field(default=ForGood(), metadata=INLINE)
    overload_fps: Annotated[float | None, fields.OVERLOAD_FPS] = None
    reduced_fps: Annotated[float | None, fields.REDUCED_FPS] = None
    recovery_us_avg: Annotated[float | None, fields.RECOVERY_US_AVG] = None
    recovery_us_min: Annotated[float | None, fields.RECOVERY_US_MIN] = None
    recovery_us_max: Annotated[float | None, fields.RECOVERY_US_MAX] = None
    recovery_us_stddev: Annotated[float | None, fields.RECOVERY_US_STDDEV] = None
    resolution_us: Annotated[float | None, fields.RESOLUTION_US] = None
    overload_lost_frames: Annotated[int | None, fields.OVERLOAD_LOST_FRAMES] = None
    reduced_lost_frames: Annotated[int | None, fields.REDUCED_LOST_FRAMES] = None
    corrupted_frames: int | None = field(default=None, metadata=OMITTED)
    runs: Annotated[int | None, fields.RUNS] = None
    throughput: MeshThroughput
    each_us: tuple[float | None, ...] = ()
    finding: str = field(default="", metadata=OMITTED)
    reason: str


class SystemRecovery(SearchTest[Recovery]):
    """An overload changes to half its rate from one frame to the next; the last loss tells the recovery."""

    name = "rfc2544.system_recovery"
    title = "System recovery"
    terms = "overload"
    section = SECTION
    part = RECOVERY
    duration_s, duration_clause = RFC_DURATION_S, DURATION_CLAUSE
    parameters = (
        choice(
            "overload_from",
            ONE_PORT,
            SECTION,
            "port 1 to port 2, or ports 1 and 2 to port 3 for devices that no single port overloads",
            (ONE_PORT, TWO_PORTS),
        ),
        decimal("overload_pct", "110", "% of throughput", SECTION, "overload, at most line rate", ("101", "1000")),
        decimal("reduced_pct", "50", "% of overload", SECTION, "rate after the overload", ("1", "99")),
        shared.scaled_duration(
            "overload_ms",
            SECTION,
            f"length of the overload; RFC at least {RFC_OVERLOAD_S} s",
            RFC_OVERLOAD_S,
            "10 x scaled_frames at line rate",
        ),
        integer("runs", 10, "runs", SECTION, "runs, averaged", (1, 1000)),
        *with_defaults(shared.trial_parameters(SECTION, RFC_DURATION_S), scaled_frames=50_000),
        *shared.search_parameters("RFC 2544 26.1"),
    )

    def goal(self, parameters: ParameterSet) -> str:
        """The criterion of the test, and the threshold of the throughput where there is one."""
        return ", ".join(filter(None, ("the device recovers from overload", super().goal(parameters))))

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        """From port 1 to port 2, or from ports 1 and 2 to port 3."""
        senders = 1 if parameters.text("overload_from") == ONE_PORT else 2
        bed.require_ports(self.name, senders + 1)
        ports = bed.port_numbers
        leg = Leg(Rotate(), ports[:senders], (ports[senders],))
        return Mesh((leg,), bed.common_rate_bps(self.name), Fraction(100, senders))

    def trials_after(self, parameters: ParameterSet) -> int:
        return parameters.integer("runs")

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> Recovery:
        """Find the throughput; where it can be exceeded, measure the recovery in each run."""
        mesh, size = self.mesh(bed, parameters), unit.frame_size_bytes
        found = measure_throughput(mesh, size, parameters, session)
        throughput_pct = found.search.result_load_pct
        if throughput_pct is None:
            return _row(size, found, Judgement(found.search.state))
        overload_pct = min(
            throughput_pct * parameters.number("overload_pct") / 100, shared.maximum_load_pct(parameters)
        )
        if overload_pct <= throughput_pct:
            return _row(size, found, NOT_APPLICABLE)
        spec = recovery_spec(mesh, size, overload_pct, parameters)
        runs = parameters.integer("runs")
        session.announce([spec] * runs)
        results = [session.measure(spec, TrialNote(overload_pct, runs - run - 1)) for run in range(runs)]
        return _measured(_row(size, found, _judgement(results)), spec, results)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, Recovery]) -> Outcome:
        """The table of methodology 2.5; a device that never recovers fails."""
        rows = tuple(results.values())
        searched = [row.throughput for row in rows]
        rate_bps = self.mesh(bed, parameters).line_rate_bps
        shortest_ns = min(_overload_ns(unit.frame_size_bytes, rate_bps, parameters) for unit in results)
        short = f"Overload of {time_text(shortest_ns)} or more instead of {RFC_OVERLOAD_S} s."
        table = Recovery.table(
            "system_recovery",
            "System recovery",
            rows,
            "Recovery is the departure of the last lost frame less that of the first frame at the reduced rate; 0 "
            f"where nothing was lost after the change. '{NOT_APPLICABLE.reason}': the throughput is the highest load "
            "that the tester can offer, so there is no overload. Rates are sums over the transmitting ports.",
            headline=(fields.STATE, fields.THROUGHPUT_PCT, fields.RECOVERY_US_AVG, fields.RECOVERY_US_MAX),
        )
        runs = [
            (row, {"run": number, "recovery_us": value})
            for row in rows
            for number, value in enumerate(row.each_us, start=1)
        ]
        columns = (fields.FRAME_SIZE_BYTES, fields.RUN, fields.RECOVERY_US, fields.RESOLUTION_US)
        title = "System recovery, each run"
        each = table_of("system_recovery_runs", title, columns, runs, keys=columns[:2], detail=True)
        return self.outcome(
            [verdict for row in rows for verdict in (row.state, row.throughput.search.verdict)],
            "",
            (table, *([each] if runs else []), throughput_table(searched)),
            searched=searched,
            findings=[
                f"{row.frame_size_bytes} B: {text}"
                for row in rows
                for text in (row.finding, "" if row.state.good else row.reason)
                if text
            ],
            deviations=(
                self.short_trials(bed, parameters, results),
                short if shortest_ns < RFC_OVERLOAD_S * NS_PER_S else "",
            ),
        )


def recovery_spec(mesh: Mesh, size: int, overload_pct: Fraction, parameters: ParameterSet) -> TrialSpec:
    """One continuous transmission: the overload, and from its next departure on the reduced rate.

    The reduced stream counts its own departures from the start of the trial and leaves out as many as
    the overload lasts, so the overload is made of a whole number of them.
    """
    (leg,) = mesh.legs
    fast_fps = rate_at_pct(overload_pct, size, mesh.line_rate_bps)
    slow_fps = fast_fps * parameters.number("reduced_pct") / 100
    skipped = ceil(_overload_ns(size, mesh.line_rate_bps, parameters) * slow_fps / NS_PER_S)
    change_ns = skipped * NS_PER_S / slow_fps
    slow_frames = max(2, int(shared.duration_ns_of(parameters, size, mesh.line_rate_bps) * slow_fps / NS_PER_S))
    frame = shared.frame_of(parameters)

    def stream(name: str, rate_fps: Fraction, frames: int, offset_ns: int = 0) -> Stream:
        offsets = (offset_ns,) * len(leg.tx_ports) if offset_ns else ()
        return Stream(
            name, size, rate_fps, frames, leg.pattern, leg.tx_ports, leg.rx_ports, frame, start_offset_ns=offsets
        )

    streams = (
        stream(OVERLOAD, fast_fps, ceil(change_ns * fast_fps / NS_PER_S)),
        stream(REDUCED, slow_fps, slow_frames, round(change_ns)),
    )
    duration_ns = ceil(slow_frames * NS_PER_S / slow_fps)
    label = f"{RECOVERY} {size} B {float(overload_pct):.4f} %"
    return shared.trial_of(parameters, label, streams, duration_ns, per_flow=True)


def recovery_ns(result: TrialResult, reduced: Stream) -> Fraction | None:
    """T_B - t_A of the worst transmit port, 0 without a loss after t_A, None while losses go on to the end.

    t_A is the departure of the first frame at the reduced rate, t_B that of the last lost frame, one
    interval before the frame behind the last gap.
    """
    longest = Fraction(0)
    for flow in result.flows:
        if flow.stream != reduced.name or flow.lost_frames == 0:
            continue
        if flow.tail_lost_frames or flow.last_gap_tx_ns is None:
            return None
        interval_ns = NS_PER_S / reduced.rate_fps * reduced.frame_count / flow.tx_frames
        longest = max(longest, flow.last_gap_tx_ns - interval_ns - flow.first_tx_ns)
    return longest


def _overload_ns(size: int, rate_bps: int, parameters: ParameterSet) -> int:
    if parameters.is_word("overload_ms"):
        return ceil(10 * parameters.integer("scaled_frames") * frame_time_ns(size, rate_bps))
    return shared.nanoseconds(parameters, "overload_ms")


def _lost(result: TrialResult, stream: str) -> int:
    return sum(flow.lost_frames for flow in result.flows if flow.stream == stream)


def _reorders(results: Sequence[TrialResult], stream: str) -> bool:
    return any(
        flow.lost_frames and flow.reordered_frames
        for result in results
        for flow in result.flows
        if flow.stream == stream
    )


def _lost_by_chance(result: TrialResult, reduced: Stream) -> bool:
    """Whether the last gap may be a frame lost by chance, and not the end of the recovery.

    Not where most frames in front of it were lost, nor where it comes early: chance would take later frames, too.
    """
    whole_ns = NS_PER_S / reduced.rate_fps * reduced.frame_count
    shares = (
        (flow, (flow.last_gap_tx_ns - flow.first_tx_ns) / whole_ns)
        for flow in result.flows
        if flow.stream == reduced.name and flow.lost_frames and flow.last_gap_tx_ns is not None
    )
    return any(share > _SOON and 2 * flow.lost_frames < share * flow.tx_frames for flow, share in shares)


def _judgement(results: Sequence[TrialResult]) -> Judgement:
    for result in results:
        if not result.status.trusted:
            return Judgement(result.status, result.reason)
    return Judgement(Verdict.PASS)


def _row(size: int, found: MeshThroughput, judgement: Judgement) -> Recovery:
    search = found.search
    return Recovery(
        frame_size_bytes=size,
        state=judgement.state,
        throughput_pct=search.throughput_pct,
        throughput_fps=search.shown.offered_fps if search.throughput_pct is not None else None,
        for_good=search.for_good,
        throughput=found,
        reason=judgement.reason,
    )


def _measured(row: Recovery, spec: TrialSpec, results: Sequence[TrialResult]) -> Recovery:
    """The row with losses and recovery times of the runs."""
    overload, reduced = spec.streams
    ports = len(overload.tx_ports)
    row = replace(
        row,
        overload_fps=float(ports * overload.rate_fps),
        reduced_fps=float(ports * reduced.rate_fps),
        resolution_us=float(NS_PER_S / reduced.rate_fps / NS_PER_US),
        overload_lost_frames=sum(_lost(result, OVERLOAD) for result in results),
        reduced_lost_frames=sum(_lost(result, REDUCED) for result in results),
        corrupted_frames=sum(result.corrupted_frames for result in results) or None,
        runs=len(results),
    )
    if row.state is not Verdict.PASS:
        return row
    times_ns = [recovery_ns(result, reduced) for result in results]
    known = [value for value in times_ns if value is not None]
    row = replace(row, each_us=tuple(None if value is None else float(value / NS_PER_US) for value in times_ns))
    if len(known) < len(times_ns):
        return replace(row, state=Verdict.FAIL, reason="frames were lost until the end of the trial")
    spread = spread_of(known)
    by_chance = row.throughput.search.shown.lost_frames or any(_lost_by_chance(found, reduced) for found in results)
    if by_chance or _reorders(results, REDUCED):
        most_us = max(NS_PER_S / reduced.rate_fps, spread.maximum) / NS_PER_US
        row = replace(row, finding=_AT_MOST, resolution_us=float(most_us))
    lossless = sum(not _lost(result, OVERLOAD) for result in results)
    if lossless:
        of_runs = "" if lossless == len(results) else f" in {lossless} of {len(results)} runs"
        row = replace(row, reason=_NO_LOSS + of_runs)
        if overload.frame_count < RFC_OVERLOAD_S * overload.rate_fps:
            longer = f"{row.reason}; one of {RFC_OVERLOAD_S} s (overload_ms) may fill a queue"
            row = replace(row, reason=longer, finding=row.finding or longer, resolution_us=None)
    return replace(
        row,
        recovery_us_avg=float(spread.mean / NS_PER_US),
        recovery_us_min=float(spread.minimum / NS_PER_US),
        recovery_us_max=float(spread.maximum / NS_PER_US),
        recovery_us_stddev=spread.stddev / NS_PER_US,
    )
