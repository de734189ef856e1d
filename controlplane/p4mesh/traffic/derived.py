"""Streams made from a stream: mixes of frame sizes, parts in turn, later starts, several addresses per port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.stream import FieldModifier, ModifiedField, PseudoRandom, Stream


@dataclass(frozen=True)
class MixPart:
    """One frame size of a mix and its share in frames."""

    frame_size_bytes: int
    weight: int


SIMPLE_IMIX = (MixPart(64, 7), MixPart(570, 4), MixPart(1518, 1))
"""The mix of 7 : 4 : 1 frames that is commonly called IMIX (RFC 6985 section 3)."""


def mixed(stream: Stream, parts: Sequence[MixPart] = SIMPLE_IMIX) -> tuple[Stream, ...]:
    """Return one stream per frame size, which together have the rate and the count of ``stream``.

    Each has its own seeds and its exact share of the rate, so the shares hold over any time. The frame counts are
    rounded down, except that of the first part, which takes the rest.
    """
    total = sum(part.weight for part in parts)
    streams = []
    for part in parts:
        share = Fraction(part.weight, total)
        streams.append(
            replace(
                stream,
                name=f"{stream.name}/{part.frame_size_bytes}",
                frame_size_bytes=part.frame_size_bytes,
                rate_fps=stream.rate_fps * share,
                frame_count=int(stream.frame_count * share),
            )
        )
    left = stream.frame_count - sum(made.frame_count for made in streams)
    streams[0] = replace(streams[0], frame_count=streams[0].frame_count + left)
    return tuple(streams)


def mixed_in_turn(stream: Stream, parts: Sequence[MixPart]) -> tuple[Stream, ...]:
    """Return the streams of a mix, the first frame of each size one frame interval after that of the size before.

    With equal shares, sizes then leave in turn and never at the same moment.
    """
    interval_ns = Fraction(NS_PER_S) / stream.rate_fps
    return tuple(
        with_start_skew(made, dict.fromkeys(stream.tx_ports, round(place * interval_ns)))
        for place, made in enumerate(mixed(stream, parts))
    )


def with_independent_phases(stream: Stream, seed: int = 0) -> Stream:
    """Return the stream with a pseudo-random start of each port within one frame interval, or one burst."""
    random = Random(f"{seed} {stream.name}")
    together = stream.burst.frames if stream.burst else 1
    interval_ns = int(Fraction(together * NS_PER_S) / stream.rate_fps)
    return with_start_skew(stream, {port: random.randrange(max(1, interval_ns)) for port in stream.tx_ports})


def consecutive(stream: Stream, parts: Mapping[str, int]) -> tuple[Stream, ...]:
    """Return streams that send the frames of ``stream`` one part after the other; parts are names and numbers of
    frames.

    Each begins in the slot after the last one of the part before it, so that the frames keep their distance.
    Parts without frames are left out. The order of destinations starts anew in every part.
    """
    interval_ns = Fraction(NS_PER_S) / stream.rate_fps
    offsets = stream.start_offset_ns or (0,) * len(stream.tx_ports)
    streams, sent = [], 0
    for name, count in parts.items():
        later_ns = round(sent * interval_ns)
        starts = tuple(offset + later_ns for offset in offsets) if sent else stream.start_offset_ns
        if count:
            streams.append(replace(stream, name=name, frame_count=count, start_offset_ns=starts))
        sent += count
    return tuple(streams)


def staggered(streams: Sequence[Stream], step_ns: int) -> tuple[Stream, ...]:
    """Return the streams with each transmit port starting ``step_ns`` after the one before it."""
    if not step_ns:
        return tuple(streams)
    ports = dict.fromkeys(port for stream in streams for port in stream.tx_ports)
    later_ns = {port: place * step_ns for place, port in enumerate(ports)}
    return tuple(with_start_skew(stream, later_ns) for stream in streams)


def with_start_skew(stream: Stream, skew_ns_of: Mapping[int, int]) -> Stream:
    """Return the stream with each transmit port starting later by the port's own skew."""
    skews = [skew_ns_of.get(port, 0) for port in stream.tx_ports]
    if not any(skews):
        return stream
    offsets = stream.start_offset_ns or (0,) * len(skews)
    return replace(stream, start_offset_ns=tuple(map(sum, zip(offsets, skews, strict=True))))


def with_addresses(stream: Stream) -> Stream:
    """Return the stream with a pseudo-random choice of its ``addresses_per_port`` in every frame (methodology 0.4)."""
    if stream.addresses_per_port == 1:
        return stream
    mask = stream.addresses_per_port - 1
    return replace(
        stream,
        addresses_per_port=1,
        modifiers=(
            FieldModifier(ModifiedField.ETHERNET_DST, PseudoRandom(seed=1, mask=mask)),
            FieldModifier(ModifiedField.ETHERNET_SRC, PseudoRandom(seed=2, mask=mask)),
        ),
    )
