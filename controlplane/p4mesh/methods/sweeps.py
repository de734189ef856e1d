"""Load sequences that do not depend on a search, and their verdicts: the 2889 sweep, the 2544 frame-loss sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial

from p4mesh.methods.base import Session, TrialNote
from p4mesh.methods.options.parameters import Parameter, ParameterSet, decimal
from p4mesh.methods.results.metrics import judge_loss
from p4mesh.methods.search.goal import Verdict
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

Judge = Callable[[TrialResult], Verdict]
LOSS_LIMIT = "sweep_loss_limit_pct"
NO_LIMIT = "none"


def loss_limit(section: str) -> Parameter:
    """Return the parameter that gives a sweep a criterion."""
    summary = "a load of the sweep that loses more is a FAIL; none = executed is a PASS"
    return decimal(LOSS_LIMIT, NO_LIMIT, "%", section, summary, ("0", "100"), (NO_LIMIT,))


def loss_limit_pct(parameters: ParameterSet) -> Fraction | None:
    """Return the loss above which a load of the sweep is a FAIL; None when there is no such threshold."""
    return None if parameters.is_word(LOSS_LIMIT) else parameters.number(LOSS_LIMIT)


def executed(result: TrialResult) -> Verdict:
    """Judge a trial of a sweep without a threshold: PASS whatever it lost (methodology 0.6)."""
    return judge_loss(result, Fraction(100))


def judge_of(parameters: ParameterSet) -> Judge:
    """Return the criterion of each trial of a sweep."""
    limit = loss_limit_pct(parameters)
    return executed if limit is None else partial(judge_loss, acceptable_pct=limit)


def sweep_loads(start: Fraction, end: Fraction, step: Fraction) -> tuple[Fraction, ...]:
    """Return start, start + step, ... and always ``end`` (RFC 2889 5.1: FRMOL needs the last load).

    Raises ValueError when ``start`` exceeds ``end`` or ``step`` is not positive.
    """
    if start > end or step <= 0:
        raise ValueError(f"no sweep from {start} to {end} in steps of {step}")
    loads = [start + index * step for index in range(int((end - start) / step) + 1)]
    if loads[-1] < end:
        loads.append(end)
    return tuple(loads)


def frame_loss_loads(
    lossless: Callable[[Fraction], bool],
    step: Fraction = Fraction(10),
    *,
    full: bool = False,
    maximum: Fraction = Fraction(100),
) -> Iterator[Fraction]:
    """Yield ``maximum`` (100), 100 - step, ... % until two successive loads were loss-free (RFC 2544 26.3).

    ``lossless(load)`` is asked after the caller measured the yielded load. ``full`` continues to
    the lowest positive load. RFC 2544 allows steps of at most 10 %.
    """
    load, clean = 100 - (100 - maximum) // step * step, 0
    while load > 0 and (full or clean < 2):
        offered = min(load, maximum)
        yield offered
        clean = clean + 1 if lossless(offered) else 0
        load -= step


def swept(
    loads: Sequence[Fraction],
    spec_at: Callable[[Fraction], TrialSpec],
    session: Session,
    remaining: Callable[[int], int] | None = None,
    judge: Judge = executed,
) -> Iterator[tuple[Fraction, TrialSpec, TrialResult]]:
    """Announce the trials at all loads, then measure and yield one after the other.

    A caller that has seen enough stops iterating. ``remaining`` tells how many trials are expected after
    the one with this index; by default all of them. ``judge`` gives each trial its verdict in the log.
    """
    specs = [spec_at(load) for load in loads]
    session.announce(specs)
    for index, (load, spec) in enumerate(zip(loads, specs, strict=True)):
        left = remaining(index) if remaining else len(loads) - index - 1
        yield load, spec, session.measure(spec, TrialNote(load, left, judge))
