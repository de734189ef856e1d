"""Load sequences that do not depend on a search, and their verdicts: the 2889 sweep, the 2544 frame-loss sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import ceil

from p4mesh.methods.longer_trials import Taken
from p4mesh.methods.options.parameters import Parameter, ParameterSet, decimal
from p4mesh.methods.results.metrics import judge_missed, missed_frames
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict

Judge = Callable[[TrialResult], Verdict]
LOSS_LIMIT = "sweep_loss_limit_pct"
NO_LIMIT = "none"


def loss_limit(section: str) -> Parameter:
    """The parameter that gives a sweep a criterion."""
    summary = "a load of the sweep that loses more is a FAIL; none = no goal"
    return decimal(LOSS_LIMIT, NO_LIMIT, "%", section, summary, ("0", "100"), (NO_LIMIT,))


def loss_limit_pct(parameters: ParameterSet) -> Fraction | None:
    """The loss above which a load of the sweep is a FAIL; None when there is no such threshold."""
    return None if parameters.is_word(LOSS_LIMIT) else parameters.number(LOSS_LIMIT)


def measured(result: TrialResult) -> Verdict:
    """The verdict on a trial of a sweep without a threshold: none, whatever it lost, if it can be trusted."""
    return result.status


def judge_of(parameters: ParameterSet) -> Judge:
    """The criterion of each trial of a sweep."""
    limit = loss_limit_pct(parameters)
    return measured if limit is None else partial(judge_missed, acceptable_pct=limit)


def sweep_loads(start: Fraction, end: Fraction, step: Fraction) -> tuple[Fraction, ...]:
    """Start, start + step, ... and always ``end`` (RFC 2889 5.1: FRMOL needs the last load).

    Raises ValueError when ``start`` exceeds ``end`` or ``step`` is not positive.
    """
    if start > end or step <= 0:
        raise ValueError(f"no sweep from {start} to {end} in steps of {step}")
    loads = [start + index * step for index in range(int((end - start) / step) + 1)]
    if loads[-1] < end:
        loads.append(end)
    return tuple(loads)


def frame_loss_loads(step: Fraction = Fraction(10), maximum: Fraction = Fraction(100)) -> tuple[Fraction, ...]:
    """``maximum`` (100), 100 - step, ... %, down to the lowest positive load (RFC 2544 26.3: steps of 10 %)."""
    beyond, steps = (100 - maximum) // step, ceil(100 / step)
    return tuple(min(100 - number * step, maximum) for number in range(beyond, steps))


def loses_nothing_twice(taken: Sequence[Taken]) -> bool:
    """Whether two successive loads were loss-free: there RFC 2544 26.3 stops."""
    return len(taken) > 1 and all(one.result.status.trusted and missed_frames(one.result) == 0 for one in taken[-2:])
