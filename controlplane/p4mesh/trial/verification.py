"""Streams that prove a learning phase: at least one frame to every address (methodology 0.3 b)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from p4mesh.layers import ethernet
from p4mesh.traffic.line_rate import rate_at_pct
from p4mesh.traffic.stream import FieldModifier, Stream, ValueList

_LOAD_PCT = 1
"""Low enough for any device, high enough to be short."""


def verification_streams(streams: Sequence[Stream], rate_bps_of: dict[int, int]) -> tuple[tuple[Stream, ...], int]:
    """Shortens the streams to one frame per destination; with them, their duration in ns.

    Frames to many are left out, they are meant to be flooded; so are those that a device is meant to drop.
    """
    shortened = []
    duration_ns = 0
    for stream in streams:
        pattern = stream.pattern.for_each_address()
        if stream.may_be_filtered or stream.frame.bad_checksums or pattern is None:
            continue
        rate_bps = min(rate_bps_of[port] for port in stream.tx_ports)
        rate = min(stream.rate_fps, rate_at_pct(_LOAD_PCT, stream.frame_size_bytes, rate_bps))
        count = len(stream.rx_ports) * stream.addresses_per_port
        to_each = replace(_to_each_address(stream), pattern=pattern, rate_fps=rate, frame_count=count)
        shortened.append(
            replace(to_each, burst=None, arrivals=None, start_offset_ns=(), bad_fcs=False, sizes_in_turn_bytes=())
        )
        duration_ns = max(duration_ns, int(Fraction(count * 10**9) / rate))
    return tuple(shortened), duration_ns


def _to_each_address(stream: Stream) -> Stream:
    """Gives the stream one round of all its ports for each address of a port."""
    if stream.addresses_per_port == 1:
        return stream
    rounds = tuple(place for place in range(stream.addresses_per_port) for _ in stream.rx_ports)
    return replace(
        stream,
        addresses_per_port=1,
        modifiers=(FieldModifier(ethernet.DESTINATION, ValueList(rounds)),),
    )
