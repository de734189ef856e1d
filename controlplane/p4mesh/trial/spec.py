"""The question that a trial answers: ``measure(TrialSpec) -> TrialResult``."""

from __future__ import annotations

from dataclasses import dataclass, field

from p4mesh.traffic.stream import Stream


@dataclass(frozen=True)
class Learning:
    """Learning phase before the trial (methodology 0.3 b)."""

    enabled: bool = True
    ports: tuple[int, ...] = ()
    """Ports whose addresses the device learns; empty = every port of the streams."""
    rate_fps: int = 1000
    frames_per_address: int = 1
    wait_ns: int = 2_000_000_000
    verify: bool = True
    """Send at least one frame per address and require the expected port without flooding."""


@dataclass(frozen=True)
class TrialSpec:
    """One trial: streams that start together, then silence, then read-out.

    ``duration_ns`` is the nominal transmission time; each stream carries its exact frame count.
    """

    label: str
    streams: tuple[Stream, ...]
    duration_ns: int
    learning: Learning = field(default_factory=Learning)
    settle_ns: int = 2_000_000_000
    """Wait for residual frames; the trial engine extends it while frames are in flight."""
    restabilise_ns: int = 5_000_000_000
    """Silence after the trial (RFC 2544 23e)."""
    per_flow: bool = False
    """Keep one row per flow in the result, not only per port and in total."""
    histograms: bool = False
    """Count every frame in the latency histogram of its stream, for percentiles."""
