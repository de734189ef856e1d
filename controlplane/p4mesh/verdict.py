"""The one vocabulary of verdicts, from the trial to the report (docs/METHODOLOGY.md, "Verdicts").

PASS and FAIL are words for goals, and for the trials of a search. What has no goal is MEASURED. Words for people are
made of these where text is made: in tables, on the terminal, on pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """Verdict on a trial, a row, or a whole test; listed from the best to the worst."""

    MEASURED = "MEASURED"
    """There are numbers that can be trusted, and no goal that judges them."""
    PASS = "PASS"
    """A goal was met."""
    UNCLEAR = "UNCLEAR"
    """No frame was lost, and the trial is too short to tell whether a queue fills: a longer one decides."""
    FAIL = "FAIL"
    """A goal was missed, or a search found no load that passes."""
    UNDELIVERED = "UNDELIVERED"
    """An INVALID trial whose load the tester could not send. It says nothing about the device; searches go on below."""
    INVALID = "INVALID"
    """Counts do not add up or the tester under-delivered: the numbers are no result."""
    ABORT = "ABORT"
    """A link went down: the numbers are no result."""

    @classmethod
    def worst(cls, found: Iterable[Verdict]) -> Verdict:
        """The worst of these; MEASURED where there is none, since nothing was judged."""
        order = list(cls)
        return max(found, key=order.index, default=cls.MEASURED)

    @property
    def trusted(self) -> bool:
        """Whether the numbers are a result."""
        return self not in (Verdict.UNDELIVERED, Verdict.INVALID, Verdict.ABORT)

    @property
    def good(self) -> bool:
        """Whether the numbers are a result, and no goal was missed."""
        return self in (Verdict.MEASURED, Verdict.PASS)

    @property
    def decides(self) -> bool:
        """Whether the device was judged."""
        return self in (Verdict.PASS, Verdict.FAIL)

    @property
    def ends_search(self) -> bool:
        """Whether no further trial makes sense: the tester or a link is at fault, at any load."""
        return self in (Verdict.INVALID, Verdict.ABORT)


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason: what was missed, what qualifies it, or why there is no result; empty without one."""

    state: Verdict
    reason: str = ""
