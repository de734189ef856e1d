"""Repeats a load that a trial cannot judge in longer trials, until one tells whether a queue fills, and with what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict

MOST_LENGTHENING = 32
"""A trial is at most this many times as long as asked: with 30,000 frames per port, 50 ppm are then 48 frames."""
UNTIL_FULL = 10
"""A queue that fills by copies may be full in a trial so many times as long."""
LEAST_EXCESS_PPM = 50
"""Least excess that is a FAIL in a trial of any length."""


class Judged(Protocol):
    """A trial and the verdict on it."""

    @property
    def verdict(self) -> Verdict:
        """UNCLEAR where a longer trial is to decide."""
        ...

    @property
    def result(self) -> TrialResult:
        """Result of the trial."""
        ...


J = TypeVar("J", bound=Judged)


def until_clear(measure: Callable[[int], J], duration_ns: int) -> J:
    """The first trial that tells, beginning with one of ``duration_ns``, or the longest one."""
    length_ns = duration_ns
    while True:
        judged = measure(length_ns)
        trend = judged.result.queues
        if judged.verdict is not Verdict.UNCLEAR or trend is None or length_ns >= MOST_LENGTHENING * duration_ns:
            return judged
        length_ns = min(length_ns * (trend.longer or UNTIL_FULL), MOST_LENGTHENING * duration_ns)


def settled(verdict: Verdict, result: TrialResult) -> Verdict:
    """The verdict that a search goes on with: a trial of the greatest length is judged by what is certain."""
    if verdict is not Verdict.UNCLEAR or result.queues is None:
        return verdict
    certain_ppm = result.queues.excess_ppm - result.queues.error_ppm
    return Verdict.FAIL if certain_ppm > LEAST_EXCESS_PPM else Verdict.PASS
