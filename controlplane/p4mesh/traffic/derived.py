"""Streams made from a stream: mixes of frame sizes, parts in turn, later starts, several addresses per port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import zip_longest
from random import Random

from p4mesh.layers import ethernet
from p4mesh.traffic.imix import SIMPLE_IMIX, MixPart
from p4mesh.traffic.line_rate import NS_PER_S, Rational, tx_frames
from p4mesh.traffic.patterns import InPhase
from p4mesh.traffic.stream import FieldModifier, PseudoRandom, Stream


def mixed(stream: Stream, parts: Sequence[MixPart] = SIMPLE_IMIX) -> tuple[Stream, ...]:
    """Splits a stream into one per frame size, which together have its rate and its count.

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
    return tuple(made for made in streams if made.frame_count)


def mixed_in_turn(stream: Stream, parts: Sequence[MixPart]) -> tuple[Stream, ...]:
    """Splits a stream as :func:`mixed` does; each size begins one frame interval after the size before.

    With equal shares, sizes then leave in turn and never at the same moment.
    """
    interval_ns = Fraction(NS_PER_S) / stream.rate_fps
    return tuple(
        with_start_skew(made, dict.fromkeys(stream.tx_ports, round(place * interval_ns)))
        for place, made in enumerate(mixed(stream, parts))
    )


CLOCK_SPREAD_PPM = 100
"""Largest distance of the clocks of two senders that drift apart."""


def drifting(stream: Stream, duration_ns: int | None, seed: int = 0) -> tuple[Stream, ...]:
    """Splits a stream into one per transmit port, as senders with clocks of their own send: their phases move.

    Each is slower than ``stream`` by a pseudo-random part of at most 100 ppm and begins at a moment of its own. It
    sends the frames of ``duration_ns``, or as many as ``stream`` without one. Its destinations and their order stay.
    """
    stream = with_independent_phases(stream, seed)
    random = Random(f"clocks {seed} {stream.name}")
    streams = []
    for source in range(len(stream.tx_ports)):
        # Never faster: a stream at line rate would no longer fit.
        rate_fps = stream.rate_fps * (1 - Fraction(random.randrange(1000 * CLOCK_SPREAD_PPM), 10**9))
        frames = stream.frame_count if duration_ns is None else tx_frames(duration_ns, rate_fps)
        streams.append(replace(_of_sender(stream, source), rate_fps=rate_fps, frame_count=frames))
    return tuple(streams)


def with_own_arrivals(stream: Stream, first: int = 0) -> tuple[Stream, ...]:
    """Splits a stream into one per transmit port, whose arrivals do not depend on each other.

    The senders are numbers ``first`` and up; the destinations of each and their order stay.
    """
    assert stream.arrivals is not None
    return tuple(
        replace(_of_sender(stream, source), arrivals=stream.arrivals.of_sender(first + source))
        for source in range(len(stream.tx_ports))
    )


def _of_sender(stream: Stream, source: int) -> Stream:
    """The part of a stream that one of its ports sends."""
    port = stream.tx_ports[source]
    to_each = tuple(flow.ports[0] for flow in stream.pattern.flows(stream, source))
    return replace(
        stream,
        name=f"{stream.name}/{port}",
        pattern=stream.pattern if stream.pattern.to_many else InPhase(),
        tx_ports=(port,),
        rx_ports=stream.rx_ports if stream.pattern.to_many else to_each,
        start_offset_ns=stream.start_offset_ns[source : source + 1],
    )


def in_turn(stream: Stream, sizes_bytes: Sequence[int], interval_carries_bytes: Rational) -> Stream:
    """Gives the frames of a stream all sizes in turn, at equal distances of their starts; ``sizes_bytes`` ascend.

    They go upwards where a frame interval, which carries frames of ``interval_carries_bytes``, has room for the largest
    one. Else the smallest and the largest of those that are left take turns, so that no port falls behind.
    """
    order = list(sizes_bytes)
    if order[-1] > interval_carries_bytes:
        half = (len(order) + 1) // 2
        paired = zip_longest(order[:half], reversed(order[half:]))
        order = [size for pair in paired for size in pair if size is not None]
    return replace(stream, frame_size_bytes=max(order), sizes_in_turn_bytes=tuple(order))


def with_independent_phases(stream: Stream, seed: int = 0) -> Stream:
    """Gives each port a pseudo-random start within one frame interval, or one burst."""
    random = Random(f"{seed} {stream.name}")
    together = stream.burst.frames if stream.burst else 1
    interval_ns = int(Fraction(together * NS_PER_S) / stream.rate_fps)
    return with_start_skew(stream, {port: random.randrange(max(1, interval_ns)) for port in stream.tx_ports})


def consecutive(stream: Stream, parts: Mapping[str, int]) -> tuple[Stream, ...]:
    """Splits a stream into parts that send its frames one after the other, given as names and numbers of frames.

    Each begins in the slot after the last one of the part before it, so that the frames keep their distance. Parts
    without frames are left out. The order of destinations starts anew in every part.
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


def chains_of(streams: Sequence[Stream]) -> list[list[Stream]]:
    """Streams; those that send one behind the other, as parts of :func:`consecutive` do, are one chain."""
    chains: list[list[Stream]] = []
    last: dict[tuple[object, ...], list[Stream]] = {}
    for stream in sorted(streams, key=_begin_ns):
        place, frame_ns = (stream.tx_ports, stream.rx_ports, stream.rate_fps), NS_PER_S / stream.rate_fps
        chain = last.get(place)
        if chain is None or abs(_begin_ns(stream) - _begin_ns(chain[-1]) - chain[-1].frame_count * frame_ns) > frame_ns:
            chain = last[place] = []
            chains.append(chain)
        chain.append(stream)
    return chains


def _begin_ns(stream: Stream) -> int:
    return max(stream.start_offset_ns, default=0)


def staggered(streams: Sequence[Stream], step_ns: int, within_ns: Fraction | None = None) -> tuple[Stream, ...]:
    """Lets each transmit port start ``step_ns`` after the one before it; multiples of ``within_ns`` are left out."""
    if not step_ns:
        return tuple(streams)
    ports = dict.fromkeys(port for stream in streams for port in stream.tx_ports)
    later_ns = {port: place * step_ns for place, port in enumerate(ports)}
    if within_ns:
        later_ns = {port: int(later % within_ns) for port, later in later_ns.items()}
    return tuple(with_start_skew(stream, later_ns) for stream in streams)


def with_start_skew(stream: Stream, skew_ns_of: Mapping[int, int]) -> Stream:
    """Lets each transmit port start later by its own skew, in ns."""
    skews = [skew_ns_of.get(port, 0) for port in stream.tx_ports]
    if not any(skews):
        return stream
    offsets = stream.start_offset_ns or (0,) * len(skews)
    return replace(stream, start_offset_ns=tuple(map(sum, zip(offsets, skews, strict=True))))


def with_addresses(stream: Stream) -> Stream:
    """Makes each frame choose among its ``addresses_per_port`` pseudo-randomly (methodology 0.4), by both modifiers."""
    if stream.addresses_per_port == 1:
        return stream
    mask = stream.addresses_per_port - 1
    return replace(
        stream,
        addresses_per_port=1,
        modifiers=(
            FieldModifier(ethernet.DESTINATION, PseudoRandom(seed=1, mask=mask)),
            FieldModifier(ethernet.SOURCE, PseudoRandom(seed=2, mask=mask)),
        ),
    )
