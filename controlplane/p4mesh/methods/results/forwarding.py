"""Holds the results of trials over a mesh of ports: rates and counts of a trial, of a search and of a sweep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated

from p4mesh.measurement.counts import Trend
from p4mesh.methods.results import fields
from p4mesh.methods.results.corrupted import Corrupted
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.latency_cells import CalibrationCells, DefinitionCells, LatencyCells, VariationCells
from p4mesh.methods.results.layers import LayerCells
from p4mesh.methods.results.loss_interval import BUCKET_FRAMES, interval_cells, loss_interval
from p4mesh.methods.results.metrics import held_of_excess
from p4mesh.methods.results.outcome import Cell
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.methods.results.searched import Searched, SearchRow
from p4mesh.traffic.imix import FrameSize


@dataclass(frozen=True, kw_only=True)
class PortRates(Record):
    """Counts of one port in a trial."""

    port: Annotated[int, fields.PORT]
    tx_frames: Annotated[int, fields.TX_FRAMES]
    rx_frames: Annotated[int, fields.RX_FRAMES]
    forwarding_fps: Annotated[float, retitled(fields.FORWARDING_FPS, "Forwarding rate")]
    forwarding_error_fps: Annotated[float, fields.FORWARDING_ERROR_FPS]
    flooded_frames: Annotated[int, fields.FLOODED_FRAMES]


@dataclass(frozen=True, kw_only=True)
class Direction(Record):
    """Frames sent and received in one direction of a trial."""

    from_ports: Annotated[str, fields.FROM_PORTS]
    to_ports: Annotated[str, fields.TO_PORTS]
    tx_frames: Annotated[int, fields.TX_FRAMES]
    rx_frames: Annotated[int, fields.RX_FRAMES]
    lost_frames: Annotated[int | None, fields.LOST_FRAMES]
    """None where it is not known."""
    corrupted: Corrupted = field(metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class MeshLatencyRow(Record):
    """Latency of all frames of a trial, as measured or less the latency of the wires."""

    latency: LatencyCells = field(metadata=INLINE)
    variation: VariationCells | None = field(default=None, metadata=INLINE)
    definitions: DefinitionCells | None = field(default=None, metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class MeshTrial(SearchRow):
    """Rates and counts of one trial, and the columns that its test adds."""

    frame_size_bytes: FrameSize | None = field(default=None, metadata=OMITTED)
    offered_pct: float
    offered_l1_mbps: float
    tx_frames: int
    rx_frames: int
    late_frames: int
    """Received after the transmission, from queues of the device; no rate counts them."""
    early_frames: int = 0
    """Received at first beyond the rate of the rest, as a buffer or a bucket filled; no rate counts them."""
    uneven_frames: int | None = field(default=None, metadata=OMITTED)
    """Frames by which those of a longer trial may differ, as frames left unevenly; None for 0."""
    settled: bool = True
    """Whether the trial went on for long enough behind a transient to tell what is forwarded for good."""
    doubtful_frames: int | None = field(default=None, metadata=OMITTED)
    """Lost frames that may have come late; None where there is none."""
    forwarding_pct: float
    forwarding_l1_mbps: float
    duplicate_frames: int
    reordered_frames: int
    start_skew_us: float
    start_skew_pct: float
    ports: tuple[PortRates, ...]
    latency: tuple[MeshLatencyRow, ...] | None = field(default=None, metadata=OMITTED)
    wires: tuple[CalibrationCells, ...] | None = field(default=None, metadata=OMITTED)
    layers: tuple[LayerCells, ...] | None = field(default=None, metadata=OMITTED)
    directions: tuple[Direction, ...] | None = field(default=None, metadata=OMITTED)

    @property
    def bucket_fps(self) -> float:
        """The least of the forwarding rate that is for good, if the device forgives each sender BUCKET_FRAMES."""
        senders = sum(port.tx_frames > 0 for port in self.ports)
        return max(0.0, self.forwarding_fps - BUCKET_FRAMES * senders * self._frame_fps)

    @property
    def held_fps(self) -> float:
        """Most of the forwarding rate that a queue may have held, where the trial does not tell whether one fills."""
        unclear = self.watched is not None and self.watched.queues == Trend.UNCLEAR.value
        return self.forwarding_fps * self._held_pct / 100 if unclear else 0.0

    @property
    def _held_pct(self) -> float:
        """Most of the frames that a queue may have held, in percent; 0 where some were missed."""
        if self.watched is None or any(self._missed_frames):
            return 0.0
        return 100 * held_of_excess((self.watched.excess_ppm or 0.0) + self.watched.excess_error_ppm)

    @property
    def forwarding_error_pct(self) -> float:
        """Error of the forwarding rate as percent of the line rate of the transmitting ports."""
        return self.forwarding_error_fps * self.offered_pct / self.offered_fps if self.offered_fps else 0.0

    @property
    def _frame_fps(self) -> float:
        """Rate of one frame in the time of transmission."""
        return self.offered_fps / max(1, self.tx_frames)

    @property
    def interval(self) -> dict[str, Cell]:
        """The cells that say between which limits the loss lies.

        Copies that came have taken the place of frames that wait; in a longer trial a full queue may lose copies.
        """
        senders = sum(port.tx_frames > 0 for port in self.ports)
        missed, doubtful = self._missed_frames
        cells = interval_cells(missed, self.tx_frames, doubtful, senders)
        return cells if self.settled else cells | dict.fromkeys(("loss_high_pct", "bucket_loss_pct"), 100.0)

    @property
    def loss_error(self) -> dict[str, Cell]:
        """The cell of the larger distance of the loss from these limits; none of a trial that cannot be trusted."""
        if not self.trusted:
            return {}
        missed, doubtful = self._missed_frames
        low, _ = loss_interval(missed - doubtful, self.tx_frames)
        _, high = loss_interval(missed, self.tx_frames) if self.settled else (low, 1.0)
        return {"loss_error_pct": max(self.loss_pct - 100 * low, 100 * high - self.loss_pct, self._held_pct)}

    @property
    def _missed_frames(self) -> tuple[int, int]:
        """Most frames that a longer trial loses as well, and how many of them it may not."""
        doubtful = (self.doubtful_frames or 0) + min(self.late_frames, self.duplicate_frames)
        uneven = self.uneven_frames or 0
        return self.lost_frames + self.late_frames + self.early_frames + uneven, doubtful + 2 * uneven


@dataclass(frozen=True, kw_only=True)
class MeshThroughput(Record):
    """The throughput of one frame size, and the theoretical maximum of the pattern."""

    frame_size_bytes: FrameSize
    search: Searched[MeshTrial] = field(metadata=INLINE)
    theoretical_fps: float
    theoretical_pct: float
    trial_frames: int | None = field(default=None, metadata=OMITTED)
    """Frames of the trials at line rate, of a throughput that was searched again."""
    of_latency: MeshTrial | None = field(default=None, metadata=OMITTED)
    """The trial at the result whose latency is printed; None where none is."""

    @property
    def flooded_frames(self) -> int:
        """Flooded frames of the search that decided, and of its trial for latency."""
        return self.search.flooded_frames + (self.of_latency.flooded_frames if self.of_latency else 0)

    @property
    def rows(self) -> tuple[MeshTrial, ...]:
        """Every trial."""
        return (*self.search.rows, *([self.of_latency] if self.of_latency else []))


@dataclass(frozen=True, kw_only=True)
class LossSweep(Record):
    """Trials of one frame size at several loads; each row has its frame size."""

    frame_size_bytes: FrameSize
    rows: tuple[MeshTrial, ...]
    flooded_frames: int


@dataclass(frozen=True, kw_only=True)
class BestRate(Record):
    """The highest forwarding rate of some trials; empty without a trial that can be trusted."""

    mfr_fps: Annotated[float | None, fields.MFR_FPS] = None
    mfr_error_fps: Annotated[float | None, fields.MFR_ERROR_FPS] = None
    mfr_bucket_fps: Annotated[float | None, fields.MFR_BUCKET_FPS] = None

    @classmethod
    def of(cls, rows: Iterable[MeshTrial]) -> BestRate:
        """The rate of the fastest trial; what others forwarded that may have filled a queue is in its error."""
        rows = tuple(rows)
        best = fastest(rows)
        if best is None:
            return cls()
        most_fps = max(row.forwarding_fps for row in _that_count(rows))
        error_fps = max(best.forwarding_error_fps, most_fps - best.forwarding_fps)
        return cls(mfr_fps=best.forwarding_fps, mfr_error_fps=error_fps, mfr_bucket_fps=best.bucket_fps)


@dataclass(frozen=True, kw_only=True)
class LastRate(Record):
    """The forwarding rate at the maximum offered load; empty where its trial cannot be trusted."""

    frmol_fps: Annotated[float | None, fields.FRMOL_FPS] = None
    frmol_error_fps: Annotated[float | None, fields.FRMOL_ERROR_FPS] = None
    frmol_bucket_fps: Annotated[float | None, fields.FRMOL_BUCKET_FPS] = None

    @classmethod
    def of(cls, last: MeshTrial) -> LastRate:
        """The rate of the last trial."""
        if not last.trusted:
            return cls()
        return cls(
            frmol_fps=last.forwarding_fps, frmol_error_fps=last.forwarding_error_fps, frmol_bucket_fps=last.bucket_fps
        )


@dataclass(frozen=True, kw_only=True)
class MeshSweep(Record):
    """The forwarding-rate sweep of one frame size; None without a trial that can be trusted."""

    frame_size_bytes: Annotated[FrameSize, fields.FRAME_SIZE_BYTES]
    rows: tuple[MeshTrial, ...]
    theoretical_fps: Annotated[float, fields.THEORETICAL_FPS]
    mfr: BestRate = field(default_factory=lambda: BestRate(), metadata=INLINE)
    mfr_offered_pct: Annotated[float | None, fields.MFR_OFFERED_PCT] = None
    frmol: LastRate = field(metadata=INLINE)
    frmol_offered_pct: Annotated[float | None, fields.FRMOL_OFFERED_PCT]
    late_frames: Annotated[int, fields.LATE_FRAMES]
    """The late frames of the load with most of them."""
    flooded_frames: Annotated[int, fields.FLOODED_FRAMES]
    theoretical_pct: float

    def with_best(self, rows: Iterable[MeshTrial]) -> MeshSweep:
        """The sweep with the MFR of some trials."""
        rows = tuple(rows)
        best = fastest(rows)
        return replace(self, mfr=BestRate.of(rows), mfr_offered_pct=best.offered_pct if best else None)


def fastest(rows: Iterable[MeshTrial]) -> MeshTrial | None:
    """The trial with the highest forwarding rate that no queue may have held; None where none can be trusted."""
    return max(_that_count(rows), key=lambda row: row.forwarding_fps - row.held_fps, default=None)


def _that_count(rows: Iterable[MeshTrial]) -> list[MeshTrial]:
    """Trials that can be trusted, of those at one load the longest.

    One that was too short to tell how much is forwarded behind a transient has forwarded what a buffer took: it counts
    only where there is no other.
    """
    longest: dict[float, MeshTrial] = {}
    for row in sorted((row for row in rows if row.trusted), key=lambda row: row.duration_ms):
        longest[row.load_pct] = row
    trusted = list(longest.values())
    return [row for row in trusted if row.settled] or trusted


def loss_sweep(size: FrameSize, rows: Iterable[MeshTrial]) -> LossSweep:
    """The trials of one frame size with the flooded frames of all of them."""
    sized = tuple(replace(row, frame_size_bytes=size) for row in rows)
    return LossSweep(frame_size_bytes=size, rows=sized, flooded_frames=sum(row.flooded_frames for row in sized))
