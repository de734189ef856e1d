"""Line-rate arithmetic of Ethernet, in exact rationals.

Frame sizes are L2 sizes in bytes: first byte of the destination address to last byte of the FCS.
An *L1* rate counts preamble, start delimiter and inter-frame gap; an *L2* rate counts the frame
alone. Every name says which one it is. References: RFC 2544 appendix B, RFC 8238 section 5.3.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from p4mesh.traffic.imix import FrameSize

PREAMBLE_BYTES = 8
"""Seven bytes of preamble and the start frame delimiter."""
STANDARD_IFG_BYTES = 12
"""Minimum inter-frame gap of 96 bit times."""
STANDARD_OVERHEAD_BYTES = PREAMBLE_BYTES + STANDARD_IFG_BYTES
SMALLEST_FRAME_BYTES, LARGEST_FRAME_BYTES = 64, 16_000
"""Sizes of test frames. A target may carry less: ``Capabilities.largest_frame_bytes``."""
NS_PER_S, NS_PER_MS, NS_PER_US = 1_000_000_000, 1_000_000, 1_000
PS_PER_S, PS_PER_NS = 1_000_000_000_000, 1_000

Rational = int | Fraction


@lru_cache
def own_line_rate_bps(rate_bps: int, clock_offset_ppm: Rational | float) -> int:
    """Line rate of a port by its own clock, in whole bit/s that it can send (RFC 8238 section 5.3)."""
    # By its text, a float is the decimal number that the user wrote.
    return int(rate_bps * (1 + Fraction(str(clock_offset_ppm)) / 1_000_000))


@lru_cache
def max_rate_fps(
    frame_size_bytes: Rational, line_rate_bps: Rational, overhead_bytes: Rational = STANDARD_OVERHEAD_BYTES
) -> Fraction:
    """Highest frame rate of a line, not rounded: ``R / (8 (L + overhead))`` (RFC 2544 appendix B)."""
    return Fraction(line_rate_bps) / (8 * (frame_size_bytes + Fraction(overhead_bytes)))


def l1_rate_bps(rate_fps: Rational, frame_size_bytes: FrameSize) -> Fraction:
    """L1 bit rate ``f * 8 (L + 20)``, overhead of the standard gap included."""
    return Fraction(rate_fps) * 8 * (frame_size_bytes + STANDARD_OVERHEAD_BYTES)


def l2_rate_bps(rate_fps: Rational, frame_size_bytes: FrameSize) -> Fraction:
    """L2 bit rate ``f * 8 L``."""
    return Fraction(rate_fps) * 8 * frame_size_bytes


def utilisation_pct(rate_fps: Rational, frame_size_bytes: FrameSize, line_rate_bps: Rational) -> Fraction:
    """L1 rate as percent of the line rate, the "%" of every report table."""
    return 100 * l1_rate_bps(rate_fps, frame_size_bytes) / Fraction(line_rate_bps)


def rate_at_pct(
    load_pct: Rational,
    frame_size_bytes: FrameSize,
    line_rate_bps: Rational,
    overhead_bytes: Rational = STANDARD_OVERHEAD_BYTES,
) -> Fraction:
    """Frame rate at ``load_pct`` percent of the line rate, or of the rate cap of a port."""
    return Fraction(load_pct) / 100 * max_rate_fps(frame_size_bytes, line_rate_bps, overhead_bytes)


def tx_frames(duration_ns: int, rate_fps: Rational) -> int:
    """Frames that a trial of this length sends: ``floor(T * fps)``."""
    return int(Fraction(duration_ns, NS_PER_S) * Fraction(rate_fps))


def serialization_ns(frame_size_bytes: FrameSize, line_rate_bps: Rational) -> Fraction:
    """Nanoseconds that the bits of one frame take, ``8 L / R``, without preamble and gap."""
    return Fraction(8 * frame_size_bytes * NS_PER_S) / Fraction(line_rate_bps)


@lru_cache
def frame_time_ns(
    frame_size_bytes: FrameSize, line_rate_bps: Rational, overhead_bytes: Rational = STANDARD_OVERHEAD_BYTES
) -> Fraction:
    """Nanoseconds that a frame occupies the line, with preamble and gap: ``8 (L + overhead) / R``."""
    return 8 * (frame_size_bytes + Fraction(overhead_bytes)) * NS_PER_S / Fraction(line_rate_bps)


def forwarded_utilisation_pct(frame_size_bytes: FrameSize, overhead_bytes: Rational) -> Fraction:
    """Utilisation in percent of a saturated output whose overhead per frame is not 20 bytes."""
    shown = 100 * (frame_size_bytes + STANDARD_OVERHEAD_BYTES)
    return Fraction(shown) / (frame_size_bytes + Fraction(overhead_bytes))
