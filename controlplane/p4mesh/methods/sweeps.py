"""Load sequences that do not depend on a search: the 2889 sweep and the 2544 frame-loss sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from p4mesh.methods.base import Session, TrialNote
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec


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
    load, clean = Fraction(100), 0
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
) -> Iterator[tuple[Fraction, TrialSpec, TrialResult]]:
    """Announce the trials at all loads, then measure and yield one after the other.

    A caller that has seen enough stops iterating. ``remaining`` tells how many trials are expected after
    the one with this index; by default all of them.
    """
    specs = [spec_at(load) for load in loads]
    session.announce(specs)
    for index, (load, spec) in enumerate(zip(loads, specs, strict=True)):
        left = remaining(index) if remaining else len(loads) - index - 1
        yield load, spec, session.measure(spec, TrialNote(load, left))
