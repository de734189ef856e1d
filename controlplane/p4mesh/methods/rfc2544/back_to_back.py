"""RFC 2544 26.4 as replaced by RFC 9004: the longest burst without loss, and the buffer behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from p4mesh.errors import ParameterError
from p4mesh.methods import shared_parameters as shared
from p4mesh.methods.base import Session, TestMethod, TrialNote, Unit, UnitResult
from p4mesh.methods.bed import TestBed
from p4mesh.methods.loss_verification import LossVerification, verified
from p4mesh.methods.mesh import Leg, Mesh, measure_throughput
from p4mesh.methods.metrics import judge_loss
from p4mesh.methods.outcome import Column, Outcome, State, Table
from p4mesh.methods.parameters import Parameter, ParameterSet, integer, with_defaults
from p4mesh.methods.repetition import spread_of
from p4mesh.methods.search import Grid, SearchGoal, SearchOutcome, Verdict, bisect
from p4mesh.methods.search_tables import search_tables
from p4mesh.traffic.line_rate import NS_PER_S, max_rate_fps
from p4mesh.traffic.stream import PatternKind, Stream
from p4mesh.trial.spec import TrialSpec

SECTION = "RFC 9004 6"
BACK_TO_BACK = "back_to_back"
RFC_REPETITIONS = 50
MIN_PORTS = 2
NOT_APPLICABLE = "not applicable"
_FULL_PCT = Fraction(100)
_US_PER_S = 1_000_000

COLUMNS = (
    Column("frame_size_bytes", "Frame size", "B"),
    Column("state", "Result"),
    Column("throughput_pct", "Throughput", "% of line", 4),
    Column("burst_frames_avg", "Burst avg", "frames", 1),
    Column("burst_frames_min", "Burst min", "frames"),
    Column("burst_frames_max", "Burst max", "frames"),
    Column("burst_frames_stddev", "Std dev", "frames", 2),
    Column("implied_buffer_us", "Implied buffer", "us", 3),
    Column("corrected_buffer_us", "Corrected buffer", "us", 3),
    Column("repetitions", "N"),
    Column("trials", "Trials"),
)

SEARCH_COLUMNS = (
    COLUMNS[0],
    Column("search", "Search"),
    Column("state", "Result"),
    Column("lower_frames", "Lower bound", "frames"),
    Column("upper_frames", "Upper bound", "frames"),
    Column("trials", "Trials"),
    Column("steps", "Bursts tried", "frames"),
)


class BackToBack(TestMethod):
    """Bursts at minimum gap from port 1 to port 2, for sizes whose throughput is below line rate."""

    name: ClassVar[str] = "rfc2544.back_to_back"
    title: ClassVar[str] = "Back-to-back frames"
    section: ClassVar[str] = "RFC 2544 26.4, RFC 9004"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        integer("burst_min_frames", 1, "frames", SECTION, "shortest burst of the search", (1, 10**9)),
        integer("burst_max_frames", 100_000, "frames", SECTION, "longest burst of the search", (2, 10**9)),
        integer("burst_step_frames", 1, "frames", SECTION, "resolution of the search", (1, 10**6)),
        integer("repetitions", 1, "searches", SECTION, "complete searches, averaged; RFC 50", (1, 1000)),
        *with_defaults(shared.trial_parameters("RFC 2544 26.1", "60 s"), scaled_frames=500_000),
        *with_defaults(shared.search_parameters("RFC 2544 26.1"), search_resolution_pct=Fraction(1, 100)),
    )

    def check(self, bed: TestBed, parameters: ParameterSet) -> None:
        """Refuse beds without two ports of one rate, and contradicting bounds."""
        bed.require_ports(self.name, MIN_PORTS)
        bed.common_rate_bps(self.name)
        shared.search_of(parameters)
        burst_goal(parameters)

    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return one unit per frame size: the throughput of the size is a prerequisite."""
        return tuple(Unit(size, BACK_TO_BACK) for size in sizes)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the typical length of the throughput search and of the burst searches."""
        bursts = burst_goal(parameters).trials_expected * parameters.integer("repetitions")
        return shared.search_of(parameters).trials_expected + bursts

    def run_unit(self, unit: Unit, bed: TestBed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Find the throughput; below line rate, search the longest burst without loss N times."""
        size, rate_bps = unit.frame_size_bytes, bed.common_rate_bps(self.name)
        sender, receiver = bed.port_numbers[:MIN_PORTS]
        mesh = Mesh((Leg(PatternKind.PAIRS, (sender,), (receiver,)),), rate_bps)
        found = measure_throughput(mesh, size, parameters, session)
        if found["result_pct"] is None:
            return _row(size, rate_bps, found, found["state"], ())
        if found["result_pct"] >= shared.maximum_load_pct(parameters):
            return _row(size, rate_bps, found, NOT_APPLICABLE, ())
        goal, wanted = burst_goal(parameters), parameters.integer("repetitions")
        rule = _rule(parameters)
        outcomes: list[SearchOutcome] = []
        while len(outcomes) < wanted and all(outcome.result is not None for outcome in outcomes):
            left = (wanted - len(outcomes) - 1) * goal.trials_expected

            def trial(frames: Fraction, left: int = left) -> tuple[Verdict, int]:
                spec = _burst_spec(mesh, size, int(frames), parameters)
                result = session.measure(spec, TrialNote(_FULL_PCT, left, judge_loss))
                return judge_loss(result), result.lost_frames

            outcomes.append(bisect(goal, verified(trial, rule)))
        return _row(size, rate_bps, found, _state(outcomes), outcomes)

    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return the table of RFC 9004 section 7."""
        rows = tuple(results.values())
        kinds = {row["state"].partition(":")[0] for row in rows}
        state = next((State(name) for name in ("ABORT", "INVALID", "FAIL") if name in kinds), State.DONE)
        shown = tuple({column.key: row[column.key] for column in COLUMNS} for row in rows)
        note = (
            "'not applicable': the throughput is the line rate, so no burst can fill the buffer. The corrected time is "
            "as exact as the distance of the throughput from line rate."
        )
        searches = parameters.integer("repetitions")
        few = f"N = {searches} searches instead of {RFC_REPETITIONS} (RFC 9004 6.4)."
        return Outcome(
            state,
            f"{self.title}: {state.value}",
            (
                Table("back_to_back", "Back-to-back frames", COLUMNS, shown, note),
                *_burst_table(parameters, tuple(search for row in rows for search in row["searches"])),
                *search_tables([row["throughput"] for row in rows]),
            ),
            (),
            (),
            (few,) if searches < RFC_REPETITIONS else (),
        )


def burst_goal(parameters: ParameterSet) -> SearchGoal:
    """Return the search on the burst length, from the middle of its range."""
    low, high = (Fraction(parameters.integer(f"burst_{name}_frames")) for name in ("min", "max"))
    if low > high:
        raise ParameterError(
            f"burst_min_frames={low} is above burst_max_frames={high}", hint="burst_min_frames <= burst_max_frames"
        )
    step = Fraction(parameters.integer("burst_step_frames"))
    return SearchGoal(Grid.INTEGER.midpoint(low, high), low, high, step, grid=Grid.INTEGER)


def buffer_times_s(burst_frames: Fraction, throughput_fps: Fraction, max_fps: Fraction) -> tuple[Fraction, Fraction]:
    """Return (implied, corrected) buffer time of RFC 9004 6.4 in seconds."""
    implied = burst_frames / max_fps
    return implied, implied * (1 - throughput_fps / max_fps)


def _burst_spec(mesh: Mesh, size: int, frames: int, parameters: ParameterSet) -> TrialSpec:
    fps = max_rate_fps(size, mesh.line_rate_bps)
    (leg,) = mesh.legs
    template = shared.template_of(parameters)
    stream = Stream("burst", size, fps, frames, leg.pattern, leg.tx_ports, leg.rx_ports, template)
    return shared.trial_of(
        parameters,
        f"{BACK_TO_BACK} {size} B {frames} frames",
        (stream,),
        int(frames * NS_PER_S / fps) + 1,
    )


def _rule(parameters: ParameterSet) -> LossVerification:
    return LossVerification(parameters.integer("verify_trials"), parameters.integer("verify_overload_frames"))


def _burst_table(parameters: ParameterSet, rows: tuple[UnitResult, ...]) -> tuple[Table, ...]:
    """Return the searches for the longest burst, where there were any."""
    goal, rule = burst_goal(parameters), _rule(parameters)
    note = (
        f"Bisection of integers from {goal.minimum} to {goal.maximum} frames, first {goal.initial}, resolution "
        f"{goal.resolution}; loss verification with r = {rule.trials}, z = {rule.overload_frames} frames."
    )
    keys = ("frame_size_bytes", "search")
    title = "Searches for the longest burst"
    return (Table("back_to_back_searches", title, SEARCH_COLUMNS, rows, note, True, keys),) if rows else ()


def _search_row(size: int, number: int, outcome: SearchOutcome) -> UnitResult:
    steps = ", ".join(f"{int(step.load)} {step.verdict.value}" for step in outcome.steps)
    return {
        "frame_size_bytes": size,
        "search": number,
        "state": outcome.state.value,
        "lower_frames": None if outcome.passed is None else int(outcome.passed),
        "upper_frames": None if outcome.failed is None else int(outcome.failed),
        "trials": len(outcome.steps),
        "steps": steps,
    }


def _state(outcomes: Sequence[SearchOutcome]) -> str:
    for outcome in outcomes:
        if outcome.result is None:
            return outcome.state.value
        if outcome.result + outcome.goal.resolution >= outcome.goal.maximum:
            return "INVALID: raise burst_max_frames"
    return State.PASS.value


def _row(size: int, rate_bps: int, found: UnitResult, state: str, outcomes: Sequence[SearchOutcome]) -> UnitResult:
    row: UnitResult = {column.key: None for column in COLUMNS}
    trials = found["trials"] + sum(len(outcome.steps) for outcome in outcomes)
    row |= {"frame_size_bytes": size, "state": state, "throughput_pct": found["result_pct"], "trials": trials}
    row["throughput"] = found
    row["searches"] = [_search_row(size, number, outcome) for number, outcome in enumerate(outcomes, start=1)]
    bursts = [int(outcome.result) for outcome in outcomes if outcome.result is not None]
    if state != State.PASS.value or not bursts:
        return row
    spread = spread_of(bursts)
    max_fps = max_rate_fps(size, rate_bps)
    implied, corrected = buffer_times_s(spread.mean, Fraction(found["result_pct"]) / 100 * max_fps, max_fps)
    return row | {
        "burst_frames_avg": float(spread.mean),
        "burst_frames_min": min(bursts),
        "burst_frames_max": max(bursts),
        "burst_frames_stddev": spread.stddev,
        "implied_buffer_us": float(implied * _US_PER_S),
        "corrected_buffer_us": float(corrected * _US_PER_S),
        "repetitions": len(bursts),
    }
