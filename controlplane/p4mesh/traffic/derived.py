"""Streams made from a stream: frame size mixes, and the mesh of a tester without phase control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.stream import PatternKind, Stream


@dataclass(frozen=True)
class MixPart:
    """One frame size of a mix and its share in frames."""

    frame_size_bytes: int
    weight: int


SIMPLE_IMIX = (MixPart(64, 7), MixPart(570, 4), MixPart(1518, 1))
"""The mix of 7 : 4 : 1 frames that is commonly called IMIX (RFC 6985 section 3)."""


def mixed(stream: Stream, parts: Sequence[MixPart] = SIMPLE_IMIX) -> tuple[Stream, ...]:
    """Return one stream per frame size, which together have the rate and the count of ``stream``.

    Each has its own seeds and its exact share of the rate, so the shares hold over any time. The
    frame counts are rounded down, except that of the first part, which takes what is left.
    """
    total = sum(part.weight for part in parts)
    streams = []
    for part in parts:
        share = Fraction(part.weight, total)
        streams.append(
            replace(
                stream,
                name=f"{stream.name}-{part.frame_size_bytes}",
                frame_size_bytes=part.frame_size_bytes,
                rate_fps=stream.rate_fps * share,
                frame_count=int(stream.frame_count * share),
            )
        )
    left = stream.frame_count - sum(made.frame_count for made in streams)
    streams[0] = replace(streams[0], frame_count=streams[0].frame_count + left)
    return tuple(streams)


def without_phase(stream: Stream, seed: int = 0) -> Stream:
    """Return the pattern ``mesh_streams`` as a full mesh whose ports do not start in step.

    Every port begins with a pseudo-random number of departures left out, fewer than its destinations.
    The destinations of a moment are then no permutation: outputs are over-subscribed for short times.
    """
    random = Random(seed)
    interval_ns = Fraction(NS_PER_S) / stream.rate_fps
    offsets = tuple(round(random.randrange(len(stream.rx_ports) - 1) * interval_ns) for _ in stream.tx_ports)
    return replace(stream, pattern=PatternKind.FULL_MESH, start_offset_ns=offsets)
