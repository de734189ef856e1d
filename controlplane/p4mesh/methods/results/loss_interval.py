"""Computes the interval of a device's loss ratio from lost frames, if each frame is lost independently."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, log, sqrt
from statistics import NormalDist

from p4mesh.methods.results import fields
from p4mesh.methods.results.outcome import Cell
from p4mesh.quantities import number_text

CONFIDENCE = 0.95
BUCKET_FRAMES = 1000
"""Burst that a policer may forgive each port; what columns of a bucket assume."""
_RULE_OF_THREE = 3
"""-ln(0.05), rounded up: a ratio of 3/n loses no frame of n with a probability of 5 %."""
INTERVAL_COLUMNS = (
    fields.LOSS_LOW_PCT,
    fields.LOSS_HIGH_PCT,
    fields.BUCKET_LOSS_PCT,
)
BUCKET_LOSSES = (
    f"'Bucket of {BUCKET_FRAMES:,}': the most that a longer trial loses if the device forgives each sender a burst "
    "of so many frames, as policers do. One that collapses once that is used up may lose all."
)
"""Sentences on losses."""
INTERVAL_NOTE = (
    "With 95 % confidence, the device's loss ratio lies between the two limits, if each frame is lost by itself. "
    f"{BUCKET_LOSSES}"
)
BUCKET_RATES = (
    f"'Bucket of {BUCKET_FRAMES:,}': the least of a rate that is for good, if the device forgives each sender a burst "
    "of so many frames, as policers do."
)
"""Sentence on forwarding rates."""
_DEVIATIONS = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


_LOSES = "loses up to {} more of them in a longer trial; one that collapses then may lose all"
LEARNS = "learns up to {} fewer of more addresses at the same rate"
"""Losses of a device with an empty bucket, and addresses that it does not learn; both for :func:`forgiven_text`."""


def forgiven_text(frames: Iterable[float], effect: str = _LOSES) -> str:
    """The sentence on what a bucket hides; ``frames`` are those that a sender of each trial has sent."""
    most_pct = 100 * BUCKET_FRAMES / max(BUCKET_FRAMES, min(frames, default=0))
    return (
        f"A device that forgives each sender a burst of {BUCKET_FRAMES:,} frames, as policers do, "
        f"{effect.format(f'{number_text(most_pct, 4)} %')}."
    )


def longer_text(frames: Sequence[int], senders: int) -> str:
    """The sentences on what longer trials may lose, where these sent so many ``frames``; copies of one are no more."""
    most_pct = 100 * excluded_ratio(0, min(frames, default=0))
    return (
        "Where no frame is lost, the true ratio is below 3/n of the n frames sent, with 95 % confidence: "
        f"{number_text(most_pct, 2)} % in the shortest trial. {forgiven_text(sent / senders for sent in frames)}"
    )


def loss_interval(lost_frames: float, frames: float) -> tuple[float, float]:
    """The loss ratios between which the true one lies, with 95 % confidence; (0, 1) where nothing was sent.

    Without loss the upper end is 3/n, else both are those of Wilson's score interval.
    """
    if frames <= 0:
        return 0.0, 1.0
    if lost_frames <= 0:
        return 0.0, min(1.0, _RULE_OF_THREE / frames)
    ratio, spread = lost_frames / frames, _DEVIATIONS**2 / frames
    middle = (ratio + spread / 2) / (1 + spread)
    half = sqrt(spread * (ratio * (1 - ratio) + spread / 4)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def loss_error_pct(lost_frames: float, frames: float) -> float | None:
    """The larger side of that interval in percent; None where nothing was sent."""
    if frames <= 0:
        return None
    low, high = loss_interval(lost_frames, frames)
    return 100 * max(lost_frames / frames - low, high - lost_frames / frames)


def interval_cells(
    lost_frames: int, frames: int, doubtful_frames: int | None = None, senders: int = 1
) -> dict[str, Cell]:
    """The cells of INTERVAL_COLUMNS; so many of the lost frames may have come late."""
    low, _ = loss_interval(lost_frames - (doubtful_frames or 0), frames)
    _, high = loss_interval(lost_frames, frames)
    bucket = bucket_ratio(high * frames if lost_frames else 0, frames, senders)
    return {"loss_low_pct": 100 * low, "loss_high_pct": 100 * high, "bucket_loss_pct": 100 * bucket}


def frames_apart(lost_ratio: float) -> int:
    """Frames in a row, one of which comes with 95 % confidence, where each is lost with this probability below 1."""
    unseen = 1 - CONFIDENCE
    return ceil(log(unseen) / log(lost_ratio)) if lost_ratio > unseen else 1


def bucket_ratio(most_lost: float, frames: float, senders: int) -> float:
    """The most that a longer trial loses, 0 to 1, if the device forgives each sender BUCKET_FRAMES.

    Of the frames of this one, at most so many are lost: those that are, and the error of that.
    """
    return min(1.0, (most_lost + BUCKET_FRAMES * senders) / frames) if frames else 1.0


def excluded_ratio(lost_frames: float, frames: float) -> float:
    """The loss ratio that a trial excludes, with 95 % confidence: 3/n where nothing was lost."""
    return loss_interval(lost_frames, frames)[1]
