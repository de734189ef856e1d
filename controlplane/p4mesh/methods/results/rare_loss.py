"""Finds rare loss: a device that loses single frames at loads far below what it forwards.

A search without acceptable loss goes down below every load at which such a device happens to lose a frame, so its
result depends on the number of frames of a trial, not on the capacity of the device. The trials of the search itself
show this: the rate that was forwarded at a high load is a capacity, and losses well below it have another reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import log, sqrt

from p4mesh.methods.results.loss_interval import loss_interval
from p4mesh.methods.results.record import OMITTED, Record

_WELL_BELOW = Fraction(9, 10)
"""Share of the capacity below which a loss has another reason."""
_SPAN = 2
"""Least quotient of the highest and the lowest load with loss at which a ratio may be called independent of the load.
"""
_MIN_LOST = 10
"""Least number of lost frames with which the ratios of several loads can be compared."""
_NO_CAPACITY = Fraction(1, 100)
"""Share of a load that is too little to be called the capacity of a device that forwards a higher one."""
_DEVIATIONS = 3
"""Standard deviations by which ratios of loads may differ and still count as the same."""


@dataclass(frozen=True)
class CountedTrial:
    """Counts of one trial of a search."""

    load_pct: Fraction
    duration_ns: int
    frames: int
    """Frames that should have arrived."""
    lost_frames: int
    alone: float = 1.0
    """Part of the frames that are no copies of others: copies may be lost together."""
    corrupted_frames: int = 0
    """Frames among those lost that came with another payload."""

    @property
    def forwarded_pct(self) -> Fraction:
        """Received load in percent of line rate."""
        return self.load_pct * (self.frames - self.lost_frames) / self.frames


@dataclass(frozen=True, kw_only=True)
class RareLoss(Record):
    """Rare losses of a search; loads in percent of line rate."""

    independent: bool
    """The ratio is the same at all loads, as far as the counts can tell."""
    frames: int
    lost_frames: int
    lowest_pct: float
    highest_pct: float
    """Loads of the trials that lost frames."""
    forwarded_pct: float
    """Forwarding of the device at a higher load."""
    alone: float = 1.0
    """Part of the frames that are no copies of others."""
    corrupted_frames: int | None = field(default=None, metadata=OMITTED)
    """Frames among those lost that came with another payload; None for 0."""

    @property
    def ratio(self) -> float:
        """Lost frames of all."""
        return self.lost_frames / self.frames

    @property
    def interval(self) -> tuple[float, float]:
        """The ratios between which the true one lies, with 95 % confidence."""
        return loss_interval(self.lost_frames * self.alone, self.frames * self.alone)


def together(found: Sequence[RareLoss]) -> RareLoss:
    """The rare losses of several searches as one; the device forwards what each of them has seen forwarded."""
    return RareLoss(
        independent=all(one.independent for one in found),
        frames=sum(one.frames for one in found),
        lost_frames=sum(one.lost_frames for one in found),
        lowest_pct=min(one.lowest_pct for one in found),
        highest_pct=max(one.highest_pct for one in found),
        forwarded_pct=min(one.forwarded_pct for one in found),
        alone=min(one.alone for one in found),
        corrupted_frames=sum(one.corrupted_frames or 0 for one in found) or None,
    )


def rare_loss(trials: Sequence[CountedTrial], accepted_ratio: Fraction = Fraction(0)) -> RareLoss | None:
    """The losses of a search that have another reason than lack of capacity; None without such losses.

    Losses that the search accepts are left out.

    A device with a buffer loses less in a short trial than in a long one, so a load is compared with what was
    forwarded in trials that took as long or longer, or of which no buffer can be the reason. Where the ratio of loss is
    the same over a wide range of loads, no lack of capacity explains it, whatever the durations.
    """
    found = _unexplained([trial for trial in trials if trial.frames > 0])
    return found if found is not None and found.lost_frames > accepted_ratio * found.frames else None


def _unexplained(counted: Sequence[CountedTrial]) -> RareLoss | None:
    capacity = max((trial.forwarded_pct for trial in counted), default=Fraction(0))
    below = [trial for trial in counted if trial.load_pct <= _WELL_BELOW * capacity]
    if _same_ratio(below):
        # Trials near the capacity that lost the same ratio belong to it as well.
        near = [trial for trial in counted if trial.load_pct > _WELL_BELOW * capacity]
        below += [trial for trial in near if _same_ratio([*below, trial])]
        return _found(below, capacity, independent=True)
    lossy = [trial for trial in below if trial.lost_frames and _forwarded_more(trial, counted)]
    if not lossy:
        return None
    loads = {trial.load_pct for trial in lossy}
    return _found([trial for trial in counted if trial.load_pct in loads], capacity, independent=False)


def _forwarded_more(lossy: CountedTrial, trials: Sequence[CountedTrial]) -> bool:
    return any(
        _WELL_BELOW * trial.forwarded_pct >= lossy.load_pct
        and (trial.duration_ns >= lossy.duration_ns or not _limited(lossy, trial))
        for trial in trials
    )


def _limited(slower: CountedTrial, faster: CountedTrial) -> bool:
    """Whether a capacity behind a buffer can explain the losses of two trials, of which the slower took longer.

    Both trials fill the same buffer, so that ``frames - lost - capacity * duration`` of the slower is at most that of
    the faster. Of as many frames, less is lost at the lower load.
    """
    longer_ns = slower.duration_ns - faster.duration_ns
    passed = (slower.frames - slower.lost_frames) - (faster.frames - faster.lost_frames)
    return passed * slower.duration_ns > _NO_CAPACITY * slower.frames * longer_ns


def _same_ratio(trials: Sequence[CountedTrial]) -> bool:
    """Whether trials over a wide range of loads have lost one and the same ratio of their frames.

    Compares by the likelihood ratio (G test), whose mean is the degrees of freedom and its variance twice that.
    """
    lossy = [trial.load_pct for trial in trials if trial.lost_frames]
    if not lossy or max(lossy) < _SPAN * min(lossy):
        return False
    frames, lost = sum(trial.frames for trial in trials), sum(trial.lost_frames for trial in trials)
    if lost < _MIN_LOST or lost == frames:
        return False
    measure = 0.0
    for trial in trials:
        for count, share in ((trial.lost_frames, lost / frames), (trial.frames - trial.lost_frames, 1 - lost / frames)):
            measure += 2 * count * log(count / (trial.frames * share)) if count else 0.0
    measure *= min(trial.alone for trial in trials)
    freedom = len(trials) - 1
    return measure <= freedom + _DEVIATIONS * sqrt(2 * freedom)


def _found(trials: Sequence[CountedTrial], capacity: Fraction, *, independent: bool) -> RareLoss:
    lossy = [trial.load_pct for trial in trials if trial.lost_frames]
    return RareLoss(
        independent=independent,
        frames=sum(trial.frames for trial in trials),
        lost_frames=sum(trial.lost_frames for trial in trials),
        lowest_pct=float(min(lossy)),
        highest_pct=float(max(lossy)),
        forwarded_pct=float(capacity),
        alone=min(trial.alone for trial in trials),
        corrupted_frames=sum(trial.corrupted_frames for trial in trials) or None,
    )
