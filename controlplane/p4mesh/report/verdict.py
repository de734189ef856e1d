"""Words for verdicts: they tell a device that met a goal from one that was measured without a goal."""

from __future__ import annotations

from p4mesh.methods.results.outcome import Outcome
from p4mesh.quantities import number_text
from p4mesh.report.document import Badge, Tone
from p4mesh.verdict import Verdict

NOT_RUN = Badge("not run", Tone.IDLE)
_BADGES = {
    Verdict.MEASURED: Badge("measured", Tone.NEUTRAL),
    Verdict.PASS: Badge("met the goal", Tone.GOOD),
    Verdict.INVALID: Badge("not trusted", Tone.BAD),
    Verdict.ABORT: Badge("aborted", Tone.BAD),
}


def badge(verdict: Verdict, goal: str) -> Badge:
    """The verdict in words: those of a test with a goal differ from those of one without."""
    if verdict is Verdict.FAIL:
        return Badge("missed the goal" if goal else "no result", Tone.BAD)
    return _BADGES[verdict]


def reason_of(verdict: Verdict, reason: str, lost_frames: int, excess_ppm: float | None) -> str:
    """Reason of a trial's verdict that the counts beside it do not show.

    ``reason`` is that of a trial that cannot be trusted. A load without a loss fails where a buffer alone carries it.
    """
    if not reason and verdict is Verdict.FAIL and not lost_frames and excess_ppm:
        return f"a queue fills by {number_text(excess_ppm, 4)} ppm"
    return reason


def statement_of(outcome: Outcome) -> str:
    """One sentence on the meaning of the verdict, and its limits."""
    return f"{outcome.state.value}: {_meaning(outcome.state, outcome.goal)}."


def _meaning(verdict: Verdict, goal: str) -> str:
    if verdict is Verdict.INVALID:
        return "at least one trial could not be trusted, or did not show what it is for; its numbers are no result"
    if verdict is Verdict.ABORT:
        return "a link was down before a trial, or went down during it; its numbers are no result"
    if verdict is Verdict.FAIL:
        return (
            f"the goal was missed: {goal}"
            if goal
            else "at least one search has no result: nothing passed, or what passed failed as well"
        )
    if verdict is Verdict.PASS:
        return f"the goal was met: {goal}"
    if goal:
        return f"the trials can be trusted; they do not tell whether the goal is met: {goal}"
    return "the trials can be trusted; no goal was set, so this says nothing about whether the numbers are good"
