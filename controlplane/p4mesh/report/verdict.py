"""Words for verdicts: they tell a test that was executed from one whose device met a goal."""

from __future__ import annotations

from p4mesh.methods.results.outcome import Outcome, State
from p4mesh.report.document import Badge, Tone

EXECUTED = "executed"
MET = "met the goal"
MISSED = "missed the goal"
NOT_RUN = "not run"
_UNTRUSTED = {State.INVALID: "not trusted", State.ABORT: "aborted"}


def badge_of(outcome: Outcome) -> Badge:
    """Return the verdict of a test in words."""
    return badge(outcome.state.value, outcome.goal)


def badge(state: str, goal: str) -> Badge:
    """Return a verdict in words; ``state`` may also say that a test of a suite was not run."""
    if state not in {item.value for item in State}:
        return Badge(NOT_RUN, Tone.IDLE)
    verdict = State(state)
    if verdict in _UNTRUSTED:
        return Badge(_UNTRUSTED[verdict], Tone.BAD)
    if verdict is State.FAIL:
        return Badge(MISSED, Tone.BAD)
    return Badge(MET, Tone.GOOD) if goal and verdict is State.PASS else Badge(EXECUTED, Tone.NEUTRAL)


def statement_of(outcome: Outcome) -> str:
    """Return one sentence on the meaning of the verdict, and its limits."""
    verdict = outcome.state
    if verdict is State.INVALID:
        return "INVALID: at least one trial could not be trusted; its numbers are no result."
    if verdict is State.ABORT:
        return "ABORT: a link went down during a trial; its numbers are no result."
    if verdict is State.FAIL:
        return f"FAIL: the goal was missed: {outcome.goal or 'at least one result could not be reached'}."
    if outcome.goal and verdict is State.PASS:
        return f"PASS: the goal was met: {outcome.goal}."
    return (
        f"{verdict.value}: the test was executed and its trials can be trusted. No goal was set, so this says nothing "
        "about whether the numbers are good."
    )
