"""Throughput decided for every source port by itself: all ports search at the same time, each with its own load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Annotated

from p4mesh.measurement.counts import FlowCounts, Trend
from p4mesh.methods.base import Session, TrialNote
from p4mesh.methods.criterion import Criterion, criterion_of, fills_by_copies, kept_share
from p4mesh.methods.mesh import Mesh
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.results import fields
from p4mesh.methods.results.corrupted import Corrupted, CorruptedAtPorts
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.loss_interval import excluded_ratio
from p4mesh.methods.results.metrics import search_verdict
from p4mesh.methods.results.outcome import Table
from p4mesh.methods.results.queues import QueueCells, queue_cells
from p4mesh.methods.results.rare_loss import CountedTrial, RareLoss, rare_loss, together
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.methods.results.search_findings import Excluded, excluded_text, of_copies_text, rare_loss_text
from p4mesh.methods.results.searched import AT_LEAST, FOR_GOOD_NOTE, ForGood, judged, less_bucket
from p4mesh.methods.search.bisection import bisect_each
from p4mesh.methods.search.goal import SearchGoal, SearchOutcome, SearchStep
from p4mesh.methods.search.lengthening import MOST_LENGTHENING, settled, until_clear
from p4mesh.methods.search.limit import stretch
from p4mesh.traffic.line_rate import NS_PER_MS, l1_rate_bps, rate_at_pct, tx_frames
from p4mesh.traffic.patterns import InPhase, Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

PER_SOURCE_PORT = "per_source_port"
_PPM = 1_000_000


@dataclass(frozen=True, kw_only=True)
class PortThroughput(Record):
    """Result of the search for one source port."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    port: Annotated[int, retitled(fields.PORT, "Source port")]
    state: Annotated[Verdict, fields.STATE]
    reason: str
    throughput_pct: Annotated[float | None, fields.THROUGHPUT_PCT]
    throughput_fps: Annotated[float | None, fields.THROUGHPUT_FPS]
    throughput_l1_mbps: Annotated[float | None, fields.THROUGHPUT_L1_MBPS]
    for_good: ForGood = field(default=ForGood(), metadata=INLINE)
    upper_pct: Annotated[float | None, fields.UPPER_PCT]
    trials: Annotated[int, fields.TRIALS]
    accepted_frames: int = field(default=0, metadata=OMITTED)
    """Lost in the trial of the result, which passed all the same."""
    excluded_loss_ppm: float | None = field(default=None, metadata=OMITTED)
    """Loss ratio that the trial of the result excludes with 95 % confidence; None without a result."""
    of_copies_pct: float | None = field(default=None, metadata=OMITTED)
    """Lowest load above the result at which a queue filled by no more than copies; None where no such load failed."""
    rare_loss: RareLoss | None = field(default=None, metadata=OMITTED)
    """Losses that do not come from a lack of capacity; None when all of them may come from it."""


@dataclass(frozen=True, kw_only=True)
class PortTrial(Record):
    """Counts of one source port in a trial."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    trial: Annotated[int, fields.TRIAL]
    duration_ms: Annotated[float, fields.DURATION_MS]
    port: Annotated[int, retitled(fields.PORT, "Source port")]
    load_pct: Annotated[float, fields.LOAD_PCT]
    tx_frames: Annotated[int, fields.TX_FRAMES]
    lost_frames: Annotated[int, fields.LOST_FRAMES]
    corrupted: Corrupted = field(metadata=INLINE)
    verdict: Annotated[Verdict, fields.VERDICT]
    status: Verdict
    reason: str
    flooded_frames: int
    watched: QueueCells | None = field(default=None, metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class PortThroughputs(Record):
    """The searches of all source ports with one frame size."""

    frame_size_bytes: int
    ports: tuple[PortThroughput, ...]
    rows: tuple[PortTrial, ...]


def throughput_per_port(mesh: Mesh, size: int, parameters: ParameterSet, session: Session) -> PortThroughputs:
    """Search and confirm the throughput of every source port; ports that fail the longer trial search below.

    A port's loss is that of the frames that it sent, wherever they were lost.
    """
    search = shared.search_of(parameters)
    goal = search.goal
    duration_ns = shared.duration_ns_of(parameters, size, mesh.line_rate_bps)
    rows: list[PortTrial] = []

    criterion = criterion_of(parameters)

    def measured(loads: Mapping[int, Fraction], length_ns: int) -> _JudgedPorts:
        spec = port_spec(mesh, size, loads, length_ns, parameters)
        result = session.measure(spec, TrialNote(max(loads.values()), max(0, goal.trials_expected - len(rows))))
        judged = _JudgedPorts(result, {port: _verdict(result, port, criterion) for port in loads})
        number = 1 + max((row.trial for row in rows), default=0)
        rows.extend(_trial_row(size, number, length_ns, port, loads[port], judged) for port in loads)
        return judged

    by_copies: dict[int, dict[Fraction, bool]] = {port: {} for port in mesh.tx_ports}
    """Whether a load failed by no more than copies, of each port and load whose last trial failed."""

    def trial(loads: Mapping[int, Fraction], first_ns: int) -> dict[int, Verdict]:
        judged = until_clear(lambda length_ns: measured(loads, length_ns), first_ns)
        result = judged.result
        verdicts = {port: search_verdict(result, settled(found, result)) for port, found in judged.of_ports.items()}
        for port, load in loads.items():
            by_copies[port].pop(load, None)
            if verdicts[port] is Verdict.FAIL:
                by_copies[port][load] = not _lost(result, port)[1] and fills_by_copies(result, _filled(result))
        return verdicts

    goals: dict[int, SearchGoal] = dict.fromkeys(mesh.tx_ports, goal)
    found = bisect_each(goals, lambda loads: trial(loads, duration_ns))
    failed_at = {port: outcome.failed for port, outcome in found.items()}
    results = [outcome.result for outcome in found.values() if outcome.result is not None]
    # The trial is one of all ports, so the port with the lowest load says how long it takes to send as many frames.
    stretches = [min(Fraction(MOST_LENGTHENING), stretch(search, load)) for load in results]
    factor = max((Fraction(parameters.integer("confirm_factor")), *stretches))
    if factor > 1 and results:
        long_ns = round(factor * duration_ns)
        held = {port: goal.minimum if one.result is None else one.result for port, one in found.items()}
        verdicts = trial(held, long_ns)
        again: dict[int, SearchGoal] = {}
        for port, load in held.items():
            if found[port].result is None or verdicts[port] is Verdict.PASS:
                continue
            failed_at[port] = load if verdicts[port] is Verdict.FAIL else failed_at[port]
            found[port] = SearchOutcome.of_steps((SearchStep(load, verdicts[port]),), goal)
            if not verdicts[port].ends_search and load > goal.minimum:
                again[port] = goal.below(load)
        found |= bisect_each(again, lambda loads: trial({**held, **loads}, long_ns))
    accepted, threshold_pct = criterion.acceptable_pct / 100, float(search.threshold)
    ports = tuple(
        _port_row(
            size,
            mesh,
            port,
            one,
            failed_at[port],
            by_copies[port],
            [row for row in rows if row.port == port],
            accepted,
            threshold_pct,
            sustained=criterion.sustained,
        )
        for port, one in sorted(found.items())
    )
    return PortThroughputs(frame_size_bytes=size, ports=ports, rows=tuple(rows))


def port_spec(
    mesh: Mesh, size: int, loads: Mapping[int, Fraction], duration_ns: int, parameters: ParameterSet
) -> TrialSpec:
    """The trial with a stream per source port, each at its own load."""
    streams = []
    for leg in mesh.legs:
        for index, port in enumerate(leg.tx_ports):
            rate_fps = rate_at_pct(loads[port], size, mesh.rate_of(leg))
            whole = Stream(
                name=f"port{port}",
                frame_size_bytes=size,
                rate_fps=rate_fps,
                frame_count=max(1, tx_frames(duration_ns, rate_fps)),
                pattern=leg.pattern,
                tx_ports=leg.tx_ports,
                rx_ports=leg.rx_ports,
                frame=shared.frame_of(parameters),
            )
            streams.append(_of_source(whole, index))
    span = f"{float(min(loads.values())):.4f} to {float(max(loads.values())):.4f}"
    label = f"{PER_SOURCE_PORT} {size} B {span} %"
    return shared.trial_of(parameters, label, tuple(streams), duration_ns, per_flow=True, watch_queues=True)


def _of_source(whole: Stream, source: int) -> Stream:
    """The frames of one source of a stream: to the same receivers in the same order, at the same times."""
    order = tuple(flow.ports[0] for flow in whole.pattern.flows(whole, source))
    return replace(
        whole,
        pattern=Pairs() if len(order) == 1 else InPhase(),
        tx_ports=whole.tx_ports[source : source + 1],
        rx_ports=order,
        start_offset_ns=whole.as_sent().start_offset_ns[source : source + 1],
    )


def per_port_tables(results: Sequence[PortThroughputs]) -> tuple[Table, ...]:
    """A row per frame size and source port, and every trial of every port."""
    note = (
        "Every source port searches by itself while the others send at their own loads; a port fails when a frame that "
        "it sent is lost anywhere, or goes through a queue that fills all the time."
    )
    excluded = excluded_text(
        [
            Excluded(f"{row.frame_size_bytes} B from port {row.port}", row.excluded_loss_ppm, row.accepted_frames)
            for result in results
            for row in result.ports
            if row.excluded_loss_ppm is not None
        ]
    )
    return (
        PortThroughput.table(
            "throughput_per_port",
            "Throughput of each source port",
            [row for result in results for row in result.ports],
            f"{note} {FOR_GOOD_NOTE} {excluded}".rstrip(),
            keys=(fields.FRAME_SIZE_BYTES, fields.PORT),
            headline=(fields.STATE, fields.THROUGHPUT_PCT, fields.THROUGHPUT_FPS, fields.UPPER_PCT),
        ),
        PortTrial.table(
            "search_trials",
            "Searches: all trials",
            [row for result in results for row in result.rows],
            keys=(),
            detail=True,
        ),
    )


def per_port_findings(results: Sequence[PortThroughputs]) -> Iterator[str]:
    """Rare losses of source ports, of all that have them in one sentence, and trials that cannot be trusted."""
    for result in results:
        for independent in (True, False):
            lossy = [row for row in result.ports if row.rare_loss and row.rare_loss.independent is independent]
            losses = [row.rare_loss for row in lossy if row.rare_loss is not None]
            if losses:
                ports = f"source port{'s' if len(lossy) > 1 else ''} {', '.join(str(row.port) for row in lossy)}"
                yield f"{result.frame_size_bytes} B, {ports}: {rare_loss_text(together(losses))}"
        for row in result.ports:
            if row.of_copies_pct is not None:
                yield f"{result.frame_size_bytes} B, source port {row.port}: {of_copies_text(row.of_copies_pct)}"
    untrusted = {row.reason: f"{row.frame_size_bytes} B" for result in results for row in result.rows}
    yield from (f"{where}: {reason}" for reason, where in untrusted.items() if reason)


def per_port_state(results: Sequence[PortThroughputs]) -> Verdict:
    """The worst verdict on a port."""
    return Verdict.worst(row.state for result in results for row in result.ports)


def _flows(result: TrialResult, port: int) -> list[FlowCounts]:
    return [flow for flow in result.flows if flow.tx_port == port]


def _lost(result: TrialResult, port: int) -> tuple[int, int]:
    flows = _flows(result, port)
    return sum(flow.tx_frames for flow in flows), sum(flow.lost_frames for flow in flows)


@dataclass(frozen=True)
class _JudgedPorts:
    """A trial, and the verdict on the frames of each source port."""

    result: TrialResult
    of_ports: Mapping[int, Verdict]

    @cached_property
    def corrupted(self) -> CorruptedAtPorts:
        """Corrupted frames of the trial."""
        return CorruptedAtPorts(self.result)

    @property
    def verdict(self) -> Verdict:
        """UNCLEAR where the trial is too short for one of them."""
        unclear = Verdict.UNCLEAR in self.of_ports.values()
        return Verdict.UNCLEAR if unclear else next(iter(self.of_ports.values()))


def _verdict(result: TrialResult, port: int, criterion: Criterion) -> Verdict:
    """The verdict on a source port: on its own losses, and on queues that its frames go through."""
    if not result.status.trusted:
        return result.status
    sent, lost = _lost(result, port)
    if 100 * lost > criterion.acceptable_pct * sent:
        return Verdict.FAIL
    trend = result.queues
    if not criterion.sustained or trend is None:
        return Verdict.PASS
    if trend.trend is Trend.UNCLEAR:
        return Verdict.UNCLEAR
    filled = _filled(result)
    if 100 * kept_share(result) <= criterion.acceptable_pct or port not in {flow.tx_port for flow in filled}:
        return Verdict.PASS
    return Verdict.UNCLEAR if fills_by_copies(result, filled) else Verdict.FAIL


def _filled(result: TrialResult) -> list[FlowCounts]:
    """Flows through queues that fill."""
    ports = () if result.queues is None else result.queues.rx_ports
    return [flow for flow in result.flows if flow.rx_port in ports]


def _trial_row(size: int, number: int, length_ns: int, port: int, load: Fraction, judged: _JudgedPorts) -> PortTrial:
    result = judged.result
    sent, lost = _lost(result, port)
    return PortTrial(
        frame_size_bytes=size,
        trial=number,
        duration_ms=length_ns / NS_PER_MS,
        port=port,
        load_pct=float(load),
        tx_frames=sent,
        lost_frames=lost,
        corrupted=judged.corrupted.of(_flows(result, port)),
        verdict=judged.of_ports[port],
        watched=queue_cells(result),
        status=result.status,
        reason=result.reason,
        flooded_frames=result.flooded_frames,
    )


def _port_row(
    size: int,
    mesh: Mesh,
    port: int,
    found: SearchOutcome,
    failed_at: Fraction | None,
    by_copies: Mapping[Fraction, bool],
    rows: Sequence[PortTrial],
    accepted_ratio: Fraction,
    threshold_pct: float,
    *,
    sustained: bool,
) -> PortThroughput:
    """The result of a port; ``rows`` are its trials, ``by_copies`` the loads that failed."""
    at_result = [row for row in rows if found.result is not None and row.load_pct == float(found.result)]
    last = at_result[-1] if at_result else None
    lowest = min((load for load in (found.failed, failed_at) if load is not None), default=None)
    of_copies = None
    if found.result is not None and lowest is not None and by_copies.get(lowest):
        of_copies = float(lowest)
        lowest = min((load for load, copies in by_copies.items() if not copies), default=None)
    throughput_pct = None if found.result is None else float(found.result)
    fps = None if found.result is None else rate_at_pct(found.result, size, mesh.rate_of_port(port))
    return PortThroughput(
        frame_size_bytes=size,
        port=port,
        state=judged(found.state, throughput_pct, threshold_pct),
        reason=AT_LEAST if (found.at_least or of_copies) and lowest is None else "",
        throughput_pct=throughput_pct,
        throughput_fps=None if fps is None else float(fps),
        throughput_l1_mbps=None if fps is None else float(l1_rate_bps(fps, size) / 1_000_000),
        for_good=_for_good(throughput_pct, last, sustained=sustained),
        upper_pct=None if lowest is None else float(lowest),
        trials=len(rows),
        accepted_frames=last.lost_frames if last else 0,
        excluded_loss_ppm=_PPM * excluded_ratio(last.lost_frames, last.tx_frames) if last else None,
        of_copies_pct=of_copies,
        rare_loss=rare_loss(
            [_counted(row) for row in rows if row.status.trusted],
            accepted_ratio,
        ),
    )


def _for_good(throughput_pct: float | None, last: PortTrial | None, *, sustained: bool) -> ForGood:
    """Load of a port that the device carries for any time; a queue that fills anywhere may be one on its way."""
    if throughput_pct is None or last is None:
        return ForGood()
    watched = last.watched if sustained else None
    excess_ppm = (watched.excess_ppm or 0) + watched.excess_error_ppm if watched else 0
    carried_pct = throughput_pct / (1 + excess_ppm / _PPM)
    return ForGood(carried_pct=carried_pct if watched else None, bucket_pct=less_bucket(carried_pct, last.tx_frames))


def _counted(row: PortTrial) -> CountedTrial:
    length_ns = round(row.duration_ms * NS_PER_MS)
    return CountedTrial(
        Fraction(row.load_pct),
        length_ns,
        row.tx_frames,
        row.lost_frames,
        corrupted_frames=row.corrupted.corrupted_frames or 0,
    )
