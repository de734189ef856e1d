"""Describes the queues of the device beside loads and latencies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

from p4mesh.measurement.counts import Trend
from p4mesh.methods.results import fields
from p4mesh.methods.results.metrics import growing_ppm, grows, is_settled, trend_of
from p4mesh.methods.results.record import Record
from p4mesh.quantities import number_text, ports_text, time_text
from p4mesh.trial.result import TrialResult

TRANSIENT = "transient"
"""State of queues: frames were lost, and a trial that is too short does not tell how many a longer one loses."""
FRAMES_LOST = "frames lost"
"""State of queues: none grew, as what one could not hold was lost."""
NOT_JUDGED = "not judged"
"""State of queues that were not watched, as latencies of such traffic grow and fall without them."""
UNCLEAR_LOSS = f"{FRAMES_LOST}, {Trend.UNCLEAR.value}"
"""State of queues that may fill beside lost frames: how many a longer trial loses is not known."""
GROWS = "may grow"
"""State of queues beside a latency that grew by less than what makes a load fail, but certainly."""
TOO_SHORT = "the trial is too short to tell whether a queue fills"


@dataclass(frozen=True, kw_only=True)
class QueueCells(Record):
    """Whether a queue fills, and how fast; the last ones only of queues that do."""

    queues: Annotated[str, fields.QUEUES]
    excess_ppm: Annotated[float | None, fields.EXCESS_PPM] = None
    excess_error_ppm: Annotated[float, fields.EXCESS_ERROR_PPM]
    excess_fps: Annotated[float | None, fields.EXCESS_FPS] = None
    overflow_s: Annotated[float | None, fields.OVERFLOW_S] = None
    rx_ports: tuple[int, ...] = ()

    @property
    def fills(self) -> bool:
        """Whether more comes into a queue than leaves it."""
        return self.queues == Trend.FILLING.value

    @property
    def sentence(self) -> str:
        """Note on a load without loss; empty for a load that the device carries for any time."""
        if self.queues == Trend.UNCLEAR.value:
            return TOO_SHORT
        if not self.fills:
            return ""
        assert self.overflow_s is not None and self.excess_ppm is not None and self.excess_fps is not None
        ports = f"port{'s' if len(self.rx_ports) > 1 else ''} {ports_text(sorted(self.rx_ports))}"
        return (
            f"not sustained: {number_text(self.excess_ppm, 4)} ppm ({number_text(self.excess_fps, 4)} frames/s) more "
            "comes "
            f"in than leaves the queue to {ports}; a buffer of 1,000 frames is full after "
            f"{time_text(self.overflow_s * 1e9)}"
        )


def queue_cells(result: TrialResult) -> QueueCells | None:
    """The cells of a trial; None where queues were not watched, or could not be judged."""
    trend = result.queues
    if trend is None:
        return None
    if not is_settled(result):
        return QueueCells(queues=TRANSIENT, excess_error_ppm=trend.excess_ppm + trend.error_ppm)
    if trend.trend is not Trend.FILLING:
        state = beside_loss(trend_of(result)) if result.lost_frames else trend.trend.value
        return QueueCells(queues=state, excess_error_ppm=trend.excess_ppm + trend.error_ppm)
    return QueueCells(
        queues=trend.trend.value,
        excess_ppm=trend.excess_ppm,
        excess_error_ppm=trend.error_ppm,
        excess_fps=trend.excess_fps,
        overflow_s=trend.overflow_s,
        rx_ports=trend.rx_ports,
    )


def beside_loss(trend: Trend | None) -> str:
    """The state of queues that do not certainly fill, where frames were lost."""
    return UNCLEAR_LOSS if trend is Trend.UNCLEAR else FRAMES_LOST


def queue_text(results: Sequence[TrialResult]) -> str | None:
    """The text beside a latency of some trials: the worst state of their queues."""
    trends, is_lossy = set(map(trend_of, results)), any(result.lost_frames for result in results)
    if not all(map(is_settled, results)):
        return TRANSIENT
    if Trend.FILLING in trends:
        filling = [each.queues for each in results if each.queues and each.queues.trend is Trend.FILLING]
        return f"{Trend.FILLING.value}, {number_text(max(trend.excess_ppm for trend in filling), 4)} ppm"
    if Trend.UNCLEAR in trends:
        return UNCLEAR_LOSS if is_lossy else Trend.UNCLEAR.value
    if any(map(grows, results)):
        excess_ppm = max(map(growing_ppm, results))
        return f"{GROWS}, {number_text(excess_ppm, 4)} ppm" if excess_ppm else GROWS
    if is_lossy:
        return FRAMES_LOST
    return Trend.STEADY.value if Trend.STEADY in trends else None


class Watched(Protocol):
    """The row of a trial: its load, its lost frames, and the state of its queues."""

    @property
    def load_pct(self) -> float: ...
    @property
    def lost_frames(self) -> int: ...
    @property
    def watched(self) -> QueueCells | None: ...


def queue_findings(where: str, rows: Sequence[Watched]) -> Iterator[str]:
    """Yield findings on results whose load only a buffer carries, or may carry."""
    for row in rows:
        if row.watched is not None and not row.lost_frames and row.watched.sentence:
            yield f"{where} at {number_text(row.load_pct)} %: {row.watched.sentence}"
