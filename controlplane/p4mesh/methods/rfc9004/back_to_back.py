"""RFC 2544 26.4 as replaced by RFC 9004: the longest burst without loss, and the buffer behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import sqrt
from typing import Annotated

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Session, TrialNote, Unit
from p4mesh.methods.bed import Bed, Port
from p4mesh.methods.mesh import Leg, Mesh, measure_throughput
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, decimal, integer, with_defaults
from p4mesh.methods.port_patterns import DURATION_CLAUSE, RFC_DURATION_S, rates_text
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.forwarding import MeshThroughput
from p4mesh.methods.results.metrics import judge_loss, search_verdict
from p4mesh.methods.results.outcome import Outcome, Table
from p4mesh.methods.results.record import INLINE, Record
from p4mesh.methods.results.repetition import spread_of
from p4mesh.methods.results.searched import ForGood
from p4mesh.methods.rfc9004.buffer_times import (
    Between,
    between_throughputs,
    buffer_errors,
    buffer_times,
    hidden_finding,
    in_longer_trials,
)
from p4mesh.methods.rfc9004.burst_searches import Searches, burst_goal
from p4mesh.methods.search.bisection import bisect
from p4mesh.methods.search.goal import SearchOutcome
from p4mesh.methods.search.loss_verification import LossVerification, verified
from p4mesh.methods.shapes import SearchTest
from p4mesh.quantities import number_text, typed_text
from p4mesh.traffic.line_rate import NS_PER_S, max_rate_fps, rate_at_pct
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Judgement, Verdict

SECTION = "RFC 9004 6.2"
BACK_TO_BACK = "back_to_back"
RFC_REPETITIONS = 50
MIN_PORTS = 2
NOT_APPLICABLE = Judgement(Verdict.MEASURED, "not applicable")
NO_LIMIT_FOUND = Judgement(Verdict.INVALID, "raise search_max_pct")
THROUGHPUT = "throughput"
MAX_BURST_FRAMES = (1 << 31) - 1
"""Largest number that a transmitter counts to."""
_FULL_PCT = Fraction(100)
_DEVIATIONS_95 = 1.96
_RAISE = 4
"""Factor by which the longest burst grows when a result is near it."""


@dataclass(frozen=True, kw_only=True)
class BurstSearch(Record):
    """One search for the longest burst without loss."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    search: Annotated[int, fields.SEARCH]
    state: Annotated[Verdict, fields.STATE]
    reason: str = ""
    limit_frames: Annotated[int, retitled(fields.LIMIT_FRAMES, "Longest allowed")]
    lower_frames: Annotated[int | None, fields.LOWER_FRAMES]
    upper_frames: Annotated[int | None, fields.UPPER_FRAMES]
    trials: Annotated[int, fields.TRIALS]
    steps: Annotated[str, fields.STEPS]


@dataclass(frozen=True, kw_only=True)
class Bursts(Record):
    """Throughput, longest burst and buffer of one frame size; None where there is no burst that fills the buffer."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    state: Annotated[Verdict, fields.STATE]
    reason: str = ""
    burst_frames_avg: Annotated[float | None, fields.BURST_FRAMES_AVG] = None
    burst_error_frames: Annotated[float | None, fields.BURST_ERROR_FRAMES] = None
    burst_frames_min: Annotated[int | None, fields.BURST_FRAMES_MIN] = None
    burst_frames_max: Annotated[int | None, fields.BURST_FRAMES_MAX] = None
    burst_frames_stddev: Annotated[float | None, fields.BURST_FRAMES_STDDEV] = None
    corrected_buffer_s: Annotated[float | None, fields.CORRECTED_BUFFER_S] = None
    corrected_error_s: Annotated[float | None, fields.CORRECTED_ERROR_S] = None
    implied_buffer_s: Annotated[float | None, fields.IMPLIED_BUFFER_S] = None
    implied_error_s: Annotated[float | None, fields.IMPLIED_ERROR_S] = None
    actual_buffer_s: Annotated[float | None, fields.ACTUAL_BUFFER_S] = None
    actual_error_s: Annotated[float | None, fields.ACTUAL_ERROR_S] = None
    actual_fps: Annotated[float | None, fields.ACTUAL_FPS] = None
    throughput_fps: Annotated[float | None, fields.THROUGHPUT_FPS] = None
    throughput_pct: Annotated[float | None, fields.THROUGHPUT_PCT]
    for_good: ForGood = field(default=ForGood(), metadata=INLINE)
    limit_frames: Annotated[int | None, fields.LIMIT_FRAMES] = None
    repetitions: Annotated[int | None, retitled(fields.REPETITIONS, "N")] = None
    trials: Annotated[int, fields.TRIALS]
    throughput: MeshThroughput
    searches: tuple[BurstSearch, ...]


class BackToBack(SearchTest[Bursts]):
    """Bursts at minimum gap from port 1 to port 2, for sizes whose throughput is below line rate."""

    name = "rfc2544.back_to_back"
    title = "Back-to-back frames"
    terms = "burst, buffer size"
    section = "RFC 2544 26.4, RFC 9004"
    part = BACK_TO_BACK
    duration_s, duration_clause = RFC_DURATION_S, DURATION_CLAUSE
    parameters = (
        integer("burst_min_frames", 1, "frames", SECTION, "shortest burst of the search", (1, MAX_BURST_FRAMES)),
        integer(
            "burst_max_frames",
            100_000,
            "frames",
            SECTION,
            "longest burst of the search, raised and searched again when a result is near it",
            (2, MAX_BURST_FRAMES),
        ),
        decimal(
            "burst_limit_s", "30", "s", SECTION, "how long the longest burst may become by that", ("0.000001", "300")
        ),
        integer("burst_step_frames", 1, "frames", SECTION, "resolution of the search", (1, 10**6)),
        integer(
            "repetitions", RFC_REPETITIONS, "searches", "RFC 9004 6.3", "N: complete searches, averaged", (1, 1000)
        ),
        decimal(
            "actual_pct",
            THROUGHPUT,
            "% of line rate",
            "RFC 9004 7",
            "rate, at most the throughput, for which the buffer time is told as well",
            ("0.0001", "100"),
            (THROUGHPUT,),
        ),
        decimal(
            "buffer_error_pct",
            "1",
            "%",
            "RFC 9004 6.4",
            "of the corrected time, by short throughput trials; scaled ones are repeated longer where it would be more",
            ("0.1", "100"),
        ),
        *with_defaults(shared.trial_parameters("RFC 2544 26.1", RFC_DURATION_S), scaled_frames=500_000),
        *with_defaults(shared.search_parameters("RFC 2544 26.1"), search_resolution_pct=Fraction(1, 1000)),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds without two ports, contradicting bounds, and a throughput with loss."""
        super().check(bed, parameters)
        burst_goal(parameters)
        acceptable = parameters.number("acceptable_loss_pct")
        if acceptable:
            raise ParameterError(
                f"acceptable_loss_pct={typed_text(acceptable)}: {self.name} needs the throughput without loss",
                hint="leave acceptable_loss_pct out (RFC 9004 5)",
            )

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        bed.require_ports(self.name, MIN_PORTS)
        return _pair_of(bed).mesh

    def trials_after(self, parameters: ParameterSet) -> int:
        return burst_goal(parameters).trials_expected * parameters.integer("repetitions")

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> Bursts:
        """Find the throughput; below line rate, search the longest burst without loss N times."""
        size, pair = unit.frame_size_bytes, _pair_of(bed)
        mesh = pair.mesh
        found = measure_throughput(mesh, size, parameters, session)
        throughput_pct = found.search.result_load_pct
        if throughput_pct is None:
            return _row(size, pair, found, Judgement(found.search.state), Searches(0), parameters)
        if throughput_pct >= shared.maximum_load_pct(parameters) and not pair.overloads:
            return _row(size, pair, found, NOT_APPLICABLE, Searches(0), parameters)
        if found.search.upper_pct is None and throughput_pct < shared.maximum_load_pct(parameters):
            return _row(size, pair, found, NO_LIMIT_FOUND, Searches(0), parameters)
        rule = _rule(parameters)
        searches = Searches(parameters.integer("repetitions"))
        longest = parameters.integer("burst_max_frames")
        cap = max(longest, min(MAX_BURST_FRAMES, int(parameters.number("burst_limit_s") * pair.burst_fps(size))))
        while not searches.complete:
            goal = burst_goal(parameters, longest)
            left, lost = (searches.missing - 1) * goal.trials_expected, list[int]()

            def trial(frames: Fraction, left: int = left, lost: list[int] = lost) -> tuple[Verdict, int]:
                spec = burst_spec(mesh, size, int(frames), pair.burst_fps(size), parameters)
                result = session.measure(spec, TrialNote(_FULL_PCT, left, judge_loss))
                lost.append(result.lost_frames)
                return search_verdict(result, judge_loss(result)), lost[-1]

            found_burst = bisect(goal, verified(trial, rule))
            searches.add(found_burst, len(lost), raised=longest < cap)
            if searches.last_is_near:
                longest = min(cap, _RAISE * longest)
        if searches.last.state is Verdict.MEASURED and found.search.upper_pct is not None:
            found = in_longer_trials(found, spread_of(searches.bursts).mean, mesh, size, parameters, session)
        judgement = Judgement(found.search.state) if found.search.throughput_pct is None else searches.last
        return _row(size, pair, found, judgement, searches, parameters)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, Bursts]) -> Outcome:
        """The table of RFC 9004 section 7."""
        rows = tuple(results.values())
        goal, rule, pair = burst_goal(parameters), _rule(parameters), _pair_of(bed)
        resolution, searches = float(parameters.number("search_resolution_pct")), parameters.integer("repetitions")
        table = Bursts.table(
            "back_to_back",
            "Back-to-back frames",
            rows,
            f"Average of N = {searches} searches (RFC 9004 6.3): binary search with loss "
            f"verification, smallest step {goal.resolution} (frames), r = {rule.trials} trials, "
            f"z = {rule.overload_frames:,} frames. '{NOT_APPLICABLE.reason}': the throughput is the line rate, so no "
            "burst can fill the buffer. Corrected buffer = implied x (1 - throughput / line rate): the nearer the "
            f"throughput to line rate, the larger its error; the throughput is within {number_text(resolution)} % of "
            "line. Errors of buffers (+-) are those of a throughput anywhere in its bracket, and of the burst. "
            "Actual buffer: the same frames at another rate.",
            headline=(fields.STATE, fields.BURST_FRAMES_AVG, fields.CORRECTED_BUFFER_S, fields.THROUGHPUT_PCT),
        )
        hidden = [
            text
            for row in rows
            if row.burst_frames_avg is not None and row.throughput.search.upper_pct is not None
            for text in hidden_finding(Fraction(row.burst_frames_avg), row.throughput, pair.line_rate_bps, parameters)
        ]
        few = f"N = {searches} searches instead of {RFC_REPETITIONS} (RFC 9004 6.3)."
        ipv6 = "RFC 5180 7.4 no longer recommends this test for IPv6."
        return self.outcome(
            [verdict for row in rows for verdict in (row.state, row.throughput.search.verdict)],
            "",
            (table, *_burst_table(parameters, [search for row in rows for search in row.searches])),
            searched=[row.throughput for row in rows],
            findings=hidden,
            deviations=(
                self.short_trials(bed, parameters, results),
                *pair.said,
                few if searches < RFC_REPETITIONS else "",
                ipv6 if parameters.text("frame_format") == "ipv6" else "",
            ),
        )


@dataclass(frozen=True)
class _Pair:
    """Port 1, which sends, and port 2."""

    sender: Port
    receiver: Port

    @property
    def line_rate_bps(self) -> int:
        """100 % of a load: the line rate of the slower port."""
        return min(self.sender.own_rate_bps, self.receiver.own_rate_bps)

    @property
    def overloads(self) -> bool:
        """Whether the sender is faster than the receiver, so that a burst at minimum gap fills a buffer in any case."""
        return self.sender.rate_bps > self.receiver.rate_bps

    @property
    def mesh(self) -> Mesh:
        """The traffic that the throughput is searched with."""
        return Mesh((Leg(Pairs(), (self.sender.number,), (self.receiver.number,)),), self.line_rate_bps)

    @property
    def said(self) -> tuple[str, ...]:
        """Finding on ports that differ."""
        bursts = ("Bursts have the minimum gap of port 1, which is faster than port 2.",) if self.overloads else ()
        return (*rates_text([self.sender, self.receiver]), *bursts)

    def burst_fps(self, size: int) -> Fraction:
        """Rate within a burst, in frames/s."""
        return max_rate_fps(size, self.sender.own_rate_bps if self.overloads else self.line_rate_bps)


def _pair_of(bed: Bed) -> _Pair:
    return _Pair(*bed.ports[:MIN_PORTS])


def burst_spec(mesh: Mesh, size: int, frames: int, fps: Fraction, parameters: ParameterSet) -> TrialSpec:
    """The trial of one burst; the silence behind it is as long as the burst where that takes longer."""
    (leg,) = mesh.legs
    frame = shared.frame_of(parameters)
    stream = Stream("burst", size, fps, frames, leg.pattern, leg.tx_ports, leg.rx_ports, frame)
    spec = shared.trial_of(
        parameters,
        f"{BACK_TO_BACK} {size} B {frames} frames",
        (stream,),
        int(frames * NS_PER_S / fps) + 1,
    )
    return replace(spec, settle_ns=max(spec.settle_ns, spec.duration_ns))


def _rule(parameters: ParameterSet) -> LossVerification:
    return LossVerification(parameters.integer("verify_trials"), parameters.integer("verify_overload_frames"))


def _burst_table(parameters: ParameterSet, searches: Sequence[BurstSearch]) -> tuple[Table, ...]:
    """The searches for the longest burst, where there were any."""
    goal, rule = burst_goal(parameters), _rule(parameters)
    note = (
        f"Bisection of integers from {goal.minimum} to the longest burst allowed, first its middle, resolution "
        f"{goal.resolution}; loss verification with r = {rule.trials}, z = {rule.overload_frames:,} frames. A result "
        f"within 1 % of the longest burst is repeated with {_RAISE} times that length."
    )
    keys = (fields.FRAME_SIZE_BYTES, fields.SEARCH)
    title = "Searches for the longest burst"
    table = BurstSearch.table("back_to_back_searches", title, searches, note, keys=keys, detail=True)
    return (table,) if searches else ()


def _search_row(size: int, number: int, outcome: SearchOutcome, judgement: Judgement, trials: int) -> BurstSearch:
    steps = ", ".join(f"{int(step.load)} {step.verdict.value}" for step in outcome.steps)
    return BurstSearch(
        frame_size_bytes=size,
        search=number,
        state=judgement.state,
        reason=judgement.reason,
        limit_frames=int(outcome.goal.maximum),
        lower_frames=None if outcome.passed is None else int(outcome.passed),
        upper_frames=None if outcome.failed is None else int(outcome.failed),
        trials=trials,
        steps=steps,
    )


def _row(
    size: int,
    pair: _Pair,
    found: MeshThroughput,
    judgement: Judgement,
    searches: Searches,
    parameters: ParameterSet,
) -> Bursts:
    throughput_pct = found.search.result_load_pct
    row = Bursts(
        frame_size_bytes=size,
        state=judgement.state,
        reason=judgement.reason,
        throughput_pct=found.search.throughput_pct,
        for_good=found.search.for_good,
        trials=found.search.trials + sum(searches.trials),
        throughput=found,
        searches=tuple(
            _search_row(size, number, *search, trials)
            for number, (search, trials) in enumerate(zip(searches.outcomes, searches.trials, strict=True), 1)
        ),
    )
    if throughput_pct is None:
        return row
    max_fps = pair.burst_fps(size)
    throughput_fps = rate_at_pct(throughput_pct, size, pair.line_rate_bps)
    limit_frames = int(searches.outcomes[-1][0].goal.maximum) if searches.outcomes else None
    row = replace(row, throughput_fps=float(throughput_fps), limit_frames=limit_frames)
    bursts = searches.bursts
    if judgement != Judgement(Verdict.MEASURED) or not bursts:
        return row
    spread = spread_of(bursts)
    asked_fps = (
        throughput_fps
        if parameters.is_word("actual_pct")
        else rate_at_pct(parameters.number("actual_pct"), size, pair.line_rate_bps)
    )
    times = buffer_times(spread.mean, throughput_fps, max_fps, asked_fps)
    sampling = Fraction(_DEVIATIONS_95 * spread.stddev / sqrt(len(bursts)))
    step_frames = parameters.integer("burst_step_frames")
    burst = Between(max(Fraction(0), spread.mean - sampling), spread.mean, spread.mean + step_frames + sampling)
    shares = between_throughputs(found, spread.mean)
    ends = (rate_at_pct(share, size, pair.line_rate_bps) for share in (shares.low, shares.value, shares.high))
    follows = parameters.is_word("actual_pct")
    # Trials that a buffer may have carried as a whole know no least throughput, and no longest time at that rate.
    unknown = follows and not shares.low
    errors = buffer_errors(burst, Between(*ends), max_fps, None if follows and not unknown else asked_fps)
    possible = asked_fps <= throughput_fps
    return replace(
        row,
        burst_frames_avg=float(spread.mean),
        burst_error_frames=float(burst.high - burst.value),
        burst_frames_min=min(bursts),
        burst_frames_max=max(bursts),
        burst_frames_stddev=spread.stddev,
        corrected_buffer_s=float(times.corrected_s),
        corrected_error_s=float(errors.corrected_s),
        implied_buffer_s=float(times.implied_s),
        implied_error_s=float(errors.implied_s),
        actual_buffer_s=float(times.actual_s) if possible else None,
        actual_error_s=float(errors.actual_s) if possible and not unknown else None,
        actual_fps=float(asked_fps),
        repetitions=len(bursts),
    )
