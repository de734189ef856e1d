"""Latency definitions of RFC 1242, RFC 8238 and ATM Forum BTD-TEST-TM, from one time-stamp pair.

The tester measures first bit in to first bit out (FIFO). The others follow for contiguous frames:
``LIFO = FIFO - Sin``, ``LILO = FIFO - Sin + Sout``, ``FILO = FIFO + Sout`` and
``MIMO = min(LILO, FILO - NFOT)``, where S is the serialization time at the input or output rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from p4mesh.traffic.line_rate import serialization_ns
from p4mesh.trial.result import LatencyStats


class Definition(str, Enum):
    """Which bits of a frame delimit the interval."""

    FIFO = "FIFO"
    """First in, first out: RFC 1242 for bit-forwarding (cut-through) devices."""
    LIFO = "LIFO"
    """Last in, first out: RFC 1242 for store-and-forward devices; negative for cut-through."""
    LILO = "LILO"
    """Last in, last out: RFC 4689 forwarding delay."""
    FILO = "FILO"
    """First in, last out: RFC 8238."""
    MIMO = "MIMO"
    """Message in, message out of a message of one frame."""


@dataclass(frozen=True)
class LatencySummary:
    """Minimum, average and maximum of one trial, in nanoseconds, with RFC 4689 jitter."""

    definition: Definition
    samples: int
    min_ns: Fraction
    avg_ns: Fraction
    max_ns: Fraction
    jitter_avg_ns: Fraction | None
    jitter_max_ns: Fraction | None
    percentiles_ns: tuple[tuple[float, Fraction], ...] = ()
    """(per cent, latency) pairs from the histogram; empty when none was kept."""


def offset_ns(
    definition: Definition, frame_size_bytes: int, rate_in_bps: int, rate_out_bps: int | None = None
) -> Fraction:
    """Return what to add to FIFO; ``rate_out_bps`` is the input rate unless given."""
    s_in = serialization_ns(frame_size_bytes, rate_in_bps)
    s_out = serialization_ns(frame_size_bytes, rate_out_bps or rate_in_bps)
    if definition is Definition.LIFO:
        return -s_in
    if definition is Definition.LILO:
        return s_out - s_in
    if definition is Definition.FILO:
        return s_out
    if definition is Definition.MIMO:
        return min(s_out - s_in, Fraction(0))  # FILO - NFOT = FIFO, for one contiguous frame
    return Fraction(0)


def summarise(
    stats: LatencyStats,
    definition: Definition,
    frame_size_bytes: int,
    rate_in_bps: int,
    rate_out_bps: int | None = None,
) -> LatencySummary | None:
    """Return the summary of measured FIFO latency in another definition; None without samples."""
    if not stats.count:
        return None
    shift = offset_ns(definition, frame_size_bytes, rate_in_bps, rate_out_bps)
    jitter = stats.jitter_count > 0
    return LatencySummary(
        definition,
        stats.count,
        Fraction(stats.min_ns) + shift,
        Fraction(stats.sum_ns) / stats.count + shift,
        Fraction(stats.max_ns) + shift,
        Fraction(stats.jitter_sum_ns) / stats.jitter_count if jitter else None,
        Fraction(stats.jitter_max_ns) if jitter else None,
        tuple((percent, Fraction(value) + shift) for percent, value in stats.percentiles_ns),
    )
