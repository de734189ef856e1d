"""Bisection that leaves out the trials whose verdicts follow from others.

A device that loses nothing at a load loses nothing below it; one that fails at a load fails above it. Bisection rests
on that, too: it never comes back to a load below one that passed. But it walks to the limit in halves. A trial that
fails tells more than its verdict: what the device forwarded. So the two loads between which the bisection would end are
known after few trials, and only these need trials of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from p4mesh.methods.search.bisection import bisection
from p4mesh.methods.search.collapse import Collapse
from p4mesh.methods.search.goal import SearchGoal, SearchOutcome, SearchStep
from p4mesh.verdict import Verdict

Trial = Callable[[Fraction], tuple[Verdict, Fraction | None]]
"""Load -> verdict, and the load that the device forwarded where it is known."""
_MISSES = 2
"""Guesses in a row that may be wrong; a step of the bisection follows, so that any device is searched in twice its
trials."""


def guided(goal: SearchGoal, trial: Trial) -> SearchOutcome:
    """The bracket of :func:`p4mesh.methods.search.bisection.bisection`, with as few trials as needed.

    The first load of the bisection is tried, then the highest. From what the device forwarded at a load that failed
    follows where the bisection would end: the load below the limit is tried, then the one above it. Where a trial has
    another verdict than was expected, its result is the next guess; where two are wrong in a row, or nothing is known,
    the bisection makes a step. A device that forwards less than half of a load that passed collapses above its limit.
    Then the loads that failed say where the limit is (:mod:`p4mesh.methods.search.collapse`), and the load above it is
    tried first, because one that fails says more. All loads are such of the bisection, so that a device whose verdicts
    change once, from PASS to FAIL, has the same result. Where the highest load passes, it is the result.
    """
    search = _Known(goal)
    collapse = Collapse()
    guess: Fraction | None = None
    misses = 0
    load = search.next_load(None)
    while load is not None:
        expected = None if guess is None else _expected(load, guess)
        verdict, forwarded = trial(load)
        search.note(load, verdict)
        if verdict.ends_search or (verdict is Verdict.PASS and load == goal.maximum):
            break
        misses = misses + 1 if verdict is not expected and expected is not None else 0
        if verdict is Verdict.FAIL:
            guess = forwarded
            if forwarded is not None:
                collapse.note(load, forwarded)
        elif verdict is Verdict.PASS and guess is not None:
            # The limit is at the guess or, as this load passed, not far above it.
            guess = max(guess, load)
        collapses = search.passed is not None and collapse.least < search.passed / 2
        if collapses:
            # A load that passed says nothing about the limit.
            guess = collapse.limit if verdict is Verdict.FAIL else None
        if not search.allows(guess):
            guess = None
        if search.failed is None and goal.descent is None:
            load = goal.maximum
        elif misses < _MISSES:
            load = search.next_load(guess, above_first=collapses)
        else:
            misses, load = 0, search.next_load(None)
    return SearchOutcome.of_steps(search.steps, goal)


def _expected(load: Fraction, guess: Fraction) -> Verdict:
    """The verdict on a load that follows from a guess of the limit."""
    return Verdict.PASS if load <= guess else Verdict.FAIL


class _Known:
    """Verdicts on every load that follow from the trials so far."""

    def __init__(self, goal: SearchGoal) -> None:
        self.goal = goal
        self.steps: list[SearchStep] = []
        self.passed: Fraction | None = None
        """The highest load that passed."""
        self.failed: SearchStep | None = None
        """The lowest load that did not, FAIL or UNDELIVERED."""

    def note(self, load: Fraction, verdict: Verdict) -> None:
        self.steps.append(SearchStep(load, verdict))
        if verdict is Verdict.PASS:
            self.passed = load if self.passed is None else max(self.passed, load)
        elif not verdict.ends_search and (self.failed is None or load < self.failed.load):
            self.failed = self.steps[-1]

    def allows(self, guess: Fraction | None) -> bool:
        """Whether the limit may be there."""
        if guess is None:
            return False
        return (self.passed is None or guess >= self.passed) and (self.failed is None or guess < self.failed.load)

    def next_load(self, guess: Fraction | None, above_first: bool = False) -> Fraction | None:
        """The next load of the bisection that is worth a trial, or None at its end.

        With a guess of the limit that is the last load that would pass, or else the last that would fail, or the other
        way round; without, the first one that no trial says anything about.
        """
        search = bisection(self.goal)
        load = next(search)
        while True:
            verdict = self._implied(load)
            if verdict is None:
                if guess is None:
                    return load
                verdict = _expected(load, guess)
            try:
                load = search.send(verdict)
            except StopIteration as end:
                outcome: SearchOutcome = end.value
                bounds = (outcome.failed, outcome.passed) if above_first else (outcome.passed, outcome.failed)
                return next((bound for bound in bounds if bound is not None and self._implied(bound) is None), None)

    def _implied(self, load: Fraction) -> Verdict | None:
        """The verdict on a load that follows from the trials, where one does."""
        if self.passed is not None and load <= self.passed:
            return Verdict.PASS
        if self.failed is not None and load >= self.failed.load:
            return self.failed.verdict
        return None
