"""Measures trials at loads that are known beforehand, and repeats longer those that were too short to tell.

Where a trial loses nothing and does not tell whether a queue fills, a longer one replaces it. A search does the same,
one trial at a time (:mod:`p4mesh.methods.search.lengthening`). A longer one replaces a trial that ends soon after the
device began to lose frames, too: it has no steady part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from p4mesh.measurement.counts import Trend
from p4mesh.methods.base import Session, TrialNote
from p4mesh.methods.search.lengthening import MOST_LENGTHENING
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

_WITH_A_STEADY_PART = 4
"""A transient that ended in the second half of a trial is over in the first half of one so many times as long."""


@dataclass(frozen=True)
class Asked:
    """A trial at a load, of any length."""

    load_pct: Fraction
    spec_of: Callable[[int], TrialSpec]
    """The trial that takes so many nanoseconds."""
    duration_ns: int
    judge: Callable[[TrialResult], Verdict] | None = None
    """The verdict on this trial alone, for the log."""


@dataclass(frozen=True)
class Taken:
    """A trial and its result: the longest one where several were needed."""

    load_pct: Fraction
    spec: TrialSpec
    result: TrialResult


def measure_each(
    session: Session,
    asked: Sequence[Asked],
    *,
    lengthen: bool,
    remaining: Callable[[int], int] | None = None,
    enough: Callable[[Sequence[Taken]], bool] | None = None,
) -> list[Taken]:
    """The trials in their order; with ``lengthen``, as long as it takes to tell whether a queue fills.

    ``remaining`` tells how many trials are expected after the one with this index; by default all of them. What comes
    after trials that are ``enough`` is not measured.
    """
    taken: list[Taken] = []
    while len(taken) < len(asked):
        left = asked[len(taken) :]
        specs = [one.spec_of(one.duration_ns) for one in left]
        session.announce(specs)
        for one, spec in zip(left, specs, strict=True):
            after = remaining(len(taken)) if remaining else len(asked) - len(taken) - 1
            result = session.measure(spec, TrialNote(one.load_pct, after, one.judge))
            taken.append(Taken(one.load_pct, spec, result))
            if enough and enough(taken):
                break
        if lengthen:
            _lengthen(session, asked, taken)
        if enough and enough(taken):
            break
    return taken


def _lengthen(session: Session, asked: Sequence[Asked], taken: list[Taken]) -> None:
    """Replace trials by longer ones, side by side, until each tells or has the greatest length."""
    while True:
        lengths_ns = {place: _longer_ns(one, asked[place].duration_ns) for place, one in enumerate(taken)}
        longer = {place: asked[place].spec_of(length) for place, length in lengths_ns.items() if length is not None}
        # Trials of whole bursts have few lengths: there may be none between this one and the greatest.
        specs = {place: spec for place, spec in longer.items() if spec.duration_ns > taken[place].spec.duration_ns}
        if not specs:
            return
        session.announce(list(specs.values()))
        for after, (place, spec) in zip(reversed(range(len(specs))), specs.items(), strict=True):
            one = asked[place]
            result = session.measure(spec, TrialNote(one.load_pct, after, one.judge))
            taken[place] = Taken(one.load_pct, spec, result)


def _longer_ns(taken: Taken, duration_ns: int) -> int | None:
    """How long a trial must be to tell; None where it tells, or cannot be longer."""
    result, most_ns = taken.result, MOST_LENGTHENING * duration_ns
    if result.transient is not None and not result.transient.over and taken.spec.duration_ns < most_ns:
        return min(taken.spec.duration_ns * _WITH_A_STEADY_PART, most_ns)
    if not result.status.trusted or result.lost_frames or result.queues is None:
        return None
    if result.queues.trend is not Trend.UNCLEAR or taken.spec.duration_ns >= most_ns:
        return None
    return min(taken.spec.duration_ns * result.queues.longer, most_ns)
