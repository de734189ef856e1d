"""The answer of a trial. Counts are integers; every ratio is derived from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Status(str, Enum):
    """Whether a trial can be trusted (methodology 0.6)."""

    VALID = "VALID"
    INVALID = "INVALID"
    """Counts do not add up or the tester under-delivered; never PASS or FAIL."""
    ABORT = "ABORT"
    """Loss of link during the trial."""


@dataclass(frozen=True)
class LatencyStats:
    """Latency of one group of frames in nanoseconds, definition FIFO unless stated.

    ``sum_ns`` is exact in clock ticks; averages are derived: ``sum_ns / count``.
    """

    count: int
    min_ns: float
    max_ns: float
    sum_ns: float
    jitter_count: int = 0
    jitter_min_ns: float = 0.0
    jitter_max_ns: float = 0.0
    jitter_sum_ns: float = 0.0
    percentiles_ns: tuple[tuple[float, float], ...] = ()
    """(per cent, latency) pairs, each within 0.79 % of the true value; empty without histograms."""


@dataclass(frozen=True)
class PortCounts:
    """Test frames of one tester port."""

    port: int
    tx_frames: int = 0
    rx_frames: int = 0
    """Expected here, signature valid, duplicates included."""
    flooded_frames: int = 0
    foreign_frames: int = 0
    stale_frames: int = 0
    damaged_frames: int = 0
    pause_frames: int = 0
    """IEEE 802.3x PAUSE frames received from the device."""
    min_spacing_ns: float | None = None
    """Smallest distance of the starts of two frames received; None with fewer than two frames."""


@dataclass(frozen=True)
class FlowCounts:
    """One flow: (stream, source port, destination port)."""

    stream: str
    tx_port: int
    rx_port: int
    tx_frames: int
    rx_frames: int
    duplicate_frames: int = 0
    reordered_frames: int = 0
    latency: LatencyStats | None = None
    first_rx_ns: int = 0
    last_rx_ns: int = 0
    """Arrival of the first and the last frame: receive rate = (rx-1)/(last-first). Both 0 when not known."""

    @property
    def lost_frames(self) -> int:
        """Frames sent and never received at the right port; negative values are a broken trial."""
        return self.tx_frames - (self.rx_frames - self.duplicate_frames)


@dataclass(frozen=True)
class StreamPacing:
    """How exactly the tester can send one stream (docs/DATAPLANE.md)."""

    stream: str
    seeds: int
    round_ns: float
    """Time of one round of the loop; no departure is later than this."""
    loop_share_pct: float
    """Share of the recirculation port that the stream's seeds occupy."""
    interval_ns: float
    """Mean distance of departures as programmed."""
    rate_error_ppm: float
    """Programmed against intended rate."""
    departure_error_ns: float
    """Largest difference of a departure from its ideal time when the seeds are evenly spread."""


@dataclass(frozen=True)
class TrialResult:
    """Counts of one trial, in total, per port and optionally per flow."""

    status: Status
    reason: str
    """Why the trial is not VALID; empty otherwise."""
    label: str
    duration_ns: int
    intended_frames: int
    """Sum of the frame counts that the specification asks for."""
    tx_frames: int
    expected_rx_frames: int
    """tx_frames for unicast; copies that should arrive for broadcast and multicast."""
    rx_frames: int
    lost_frames: int
    duplicate_frames: int
    reordered_frames: int
    flooded_frames: int
    foreign_frames: int
    stale_frames: int
    damaged_frames: int
    first_tx_ns: int
    last_tx_ns: int
    """Time stamps of the first and last test frame sent: offered load = (tx-1)/(last-first) per port."""
    ports: tuple[PortCounts, ...] = ()
    latency: LatencyStats | None = None
    flows: tuple[FlowCounts, ...] = field(default=())
    start_skew_ns: int = 0
    """Largest difference of first transmit time stamps between ports of one stream."""
    pacing: tuple[StreamPacing, ...] = ()
