"""Throughput as data: runs a limit search and keeps the row of every trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from p4mesh.methods.base import UnitResult
from p4mesh.methods.limit_search import LimitSearch, TrialAnswer
from p4mesh.methods.search import Verdict
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.trial.result import TrialResult


@dataclass(frozen=True)
class JudgedTrial:
    """A trial with its verdict and the row that tables show."""

    verdict: Verdict
    result: TrialResult
    row: UnitResult


def search_throughput(
    search: LimitSearch, duration_ns: int, trial: Callable[[Fraction, int], JudgedTrial]
) -> UnitResult:
    """Return result, bounds and rows; ``trial(load, remaining)`` measures and judges one load.

    The row shown is that of the result, or of the last load tried when nothing passed.
    """
    rows: list[UnitResult] = []

    def answer(load: Fraction) -> TrialAnswer:
        judged = trial(load, max(0, search.trials_expected - len(rows) - 1))
        rows.append({**judged.row, "verdict": judged.verdict.value})
        return TrialAnswer(judged.verdict, judged.result.expected_rx_frames, judged.result.lost_frames)

    found = search.run(answer, Fraction(duration_ns, NS_PER_S))
    outcome = found.outcome
    result_pct = None if outcome.result is None else float(outcome.result)
    answers = [row for row in rows if row["verdict"] == Verdict.PASS.value and row["load_pct"] == result_pct]
    return {
        "state": outcome.state.value,
        "result_pct": result_pct,
        "upper_pct": None if outcome.failed is None else float(outcome.failed),
        "at_least": outcome.at_least,
        "search_method": search.method.value,
        "conditional_pct": None if found.conditional_pct is None else float(found.conditional_pct),
        "trials": len(rows),
        "shown": answers[-1] if answers else rows[-1],
        "rows": rows,
        "flooded_frames": sum(row["flooded_frames"] for row in rows),
    }
