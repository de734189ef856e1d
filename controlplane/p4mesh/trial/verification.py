"""Streams that prove a learning phase: at least one frame to every address (methodology 0.3 b)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from p4mesh.traffic.line_rate import rate_at_pct
from p4mesh.traffic.stream import PatternKind, Stream

_LOAD_PCT = 1
"""Low enough for any device, high enough to be short."""


def verification_streams(streams: Sequence[Stream], rate_bps_of: dict[int, int]) -> tuple[tuple[Stream, ...], int]:
    """Return the streams, each shortened to one frame per destination, and their duration in ns.

    Frames to many are left out: they are meant to be flooded.
    """
    shortened = []
    duration_ns = 0
    for stream in streams:
        if stream.pattern in (PatternKind.BROADCAST, PatternKind.MULTICAST):
            continue
        rate_bps = min(rate_bps_of[port] for port in stream.tx_ports)
        rate = min(stream.rate_fps, rate_at_pct(_LOAD_PCT, stream.frame_size_bytes, rate_bps))
        count = len(stream.rx_ports)
        shortened.append(replace(stream, rate_fps=rate, frame_count=count, burst=None, start_offset_ns=()))
        duration_ns = max(duration_ns, int(Fraction(count * 10**9) / rate))
    return tuple(shortened), duration_ns
