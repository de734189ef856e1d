"""Throughput as data: runs a limit search and keeps the row of every trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from p4mesh.methods.base import UnitResult
from p4mesh.methods.search.goal import Verdict
from p4mesh.methods.search.limit import LimitSearch, TrialAnswer
from p4mesh.methods.search.mlr import MlrGoalResult
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.trial.result import TrialResult

NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class JudgedTrial:
    """A trial with its verdict and the row that tables show."""

    verdict: Verdict
    result: TrialResult
    row: UnitResult


def search_throughput(
    search: LimitSearch, duration_ns: int, trial: Callable[[Fraction, int, int], JudgedTrial]
) -> UnitResult:
    """Return result, bounds, goal and rows; ``trial(load, remaining, duration_ns)`` measures and judges one load.

    The row shown is that of the result, or of the last load tried when nothing passed.
    """
    rows: list[UnitResult] = []

    def answer(load: Fraction, duration_s: Fraction) -> TrialAnswer:
        length_ns = round(duration_s * NS_PER_S)
        judged = trial(load, max(0, search.trials_expected - len(rows) - 1), length_ns)
        rows.append({**judged.row, "verdict": judged.verdict.value, "duration_ms": length_ns / NS_PER_MS})
        return TrialAnswer(judged.verdict, judged.result.expected_rx_frames, judged.result.lost_frames)

    found = search.run(answer, Fraction(duration_ns, NS_PER_S))
    outcome = found.outcome
    result_pct = _number(outcome.result)
    answers = [row for row in rows if row["verdict"] == Verdict.PASS.value and row["load_pct"] == result_pct]
    return {
        "state": outcome.state.value,
        "result_pct": result_pct,
        "lower_pct": _number(outcome.passed),
        "upper_pct": _number(outcome.failed),
        "at_least": outcome.at_least,
        "goal": search.attributes,
        "mlr_goals": [_mlr_row(result) for result in found.goals],
        "trials": len(rows),
        "shown": answers[-1] if answers else rows[-1],
        "rows": rows,
        "flooded_frames": sum(row["flooded_frames"] for row in rows),
    }


def result_load_pct(found: UnitResult) -> Fraction:
    """Return the load of the result, as exact as its decimals: one at the highest load equals that load.

    Stored as a binary number, 99.99 is a little less than it says.
    """
    return Fraction(str(found["result_pct"]))


def verdict_of(found: UnitResult) -> str:
    """Return the verdict on the device: a search that passes below the threshold is a FAIL (methodology 2.1)."""
    below = found["result_pct"] is not None and found["result_pct"] < found["goal"]["threshold_pct"]
    return Verdict.FAIL.value if below else str(found["state"])


def _mlr_row(result: MlrGoalResult) -> UnitResult:
    goal = result.goal
    initial_s = goal.final_trial_duration_s if goal.initial_trial_duration_s is None else goal.initial_trial_duration_s
    return {
        "initial_duration_ms": float(1000 * initial_s),
        "final_duration_ms": float(1000 * goal.final_trial_duration_s),
        "duration_sum_ms": float(1000 * goal.duration_sum_s),
        "goal_loss_pct": float(100 * goal.loss_ratio),
        "exceed_pct": float(100 * goal.exceed_ratio),
        "width_pct": float(100 * goal.relative_width),
        "lower_pct": _number(result.lower),
        "upper_pct": _number(result.upper),
        "conditional_pct": _number(result.conditional),
        "regularity": "irregular" if result.lower is None else "regular",
    }


def _number(load: Fraction | None) -> float | None:
    return None if load is None else float(load)
