"""Computes the receiver of each frame by the formulas of the RFCs: an oracle for the traffic patterns.

Written from methodology 0.4 and apart from the product: nothing here knows destination lists, places or flows.
It sees neither the P4 program's arithmetic nor addresses. Ports are positions 1..N in configuration order; ``k`` =
0, 1, 2, ... is the frame counter of one source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from p4mesh.traffic.patterns import Message
from p4mesh.traffic.stream import Stream


def full_mesh(source: int, k: int, port_count: int) -> int:
    """RFC 2889 5.1.3: ``1 + ((i + (k mod (N-1))) mod N)``; a permutation of the ports at every k."""
    return 1 + (source + k % (port_count - 1)) % port_count


def rotate(source: int, k: int, receivers: Sequence[int]) -> int:
    """RFC 2889 5.4.3: ``r[(i - 1 + k) mod K]``; one-to-many with i = 1, many-to-one with K = 1."""
    return receivers[(source - 1 + k) % len(receivers)]


def two_groups(index: int, k: int, other_group: Sequence[int]) -> int:
    """RFC 2889 5.3.3, local traffic off: source number ``index`` (0-based) of its group of n."""
    return other_group[(index + k) % len(other_group)]


def in_phase(k: int, receivers: Sequence[int]) -> int:
    """RFC 2544 section 16: all sources send the same sequence, deliberate N:1 collisions."""
    return receivers[k % len(receivers)]


_UNICAST: dict[str, Callable[[Stream, int, int], int]] = {
    "full_mesh": lambda stream, source, k: stream.tx_ports[full_mesh(source + 1, k, len(stream.tx_ports)) - 1],
    "rotate": lambda stream, source, k: rotate(source + 1, k, stream.rx_ports),
    "pairs": lambda stream, source, k: stream.rx_ports[source],
    "in_phase": lambda stream, source, k: in_phase(k, stream.rx_ports),
}


def destinations(stream: Stream, source: int, k: int) -> tuple[int, ...]:
    """The tester ports that frame ``k`` of transmit port number ``source``, from 0, is for.

    Unicast gives one port, broadcast and multicast with one group every receive port but the source.
    """
    if isinstance(stream.pattern, Message):
        k //= stream.pattern.frames
        stream = replace(stream, pattern=stream.pattern.order)
    kind = stream.pattern.kind
    if kind in _UNICAST:
        return (_UNICAST[kind](stream, source, k),)
    assert kind in ("broadcast", "multicast"), f"the oracle does not know the pattern {kind}"
    return tuple(port for port in stream.rx_ports if port != stream.tx_ports[source])


def flow_counts(stream: Stream) -> Counter[tuple[int, int]]:
    """Number of frames that each (transmit port, receive port) pair carries in the whole stream.

    The sequences are periodic, so whole periods are multiplied and only the rest of the last period is walked.
    """
    counts: Counter[tuple[int, int]] = Counter()
    period = _period(stream)
    whole, rest = divmod(stream.frame_count, period)
    for index, source in enumerate(stream.tx_ports):
        for k in range(period):
            times = whole + (1 if k < rest else 0)
            if times:
                for destination in destinations(stream, index, k):
                    counts[source, destination] += times
    return counts


def _period(stream: Stream) -> int:
    if isinstance(stream.pattern, Message):
        return stream.pattern.frames * _period(replace(stream, pattern=stream.pattern.order))
    periods = {"full_mesh": len(stream.tx_ports) - 1, "rotate": len(stream.rx_ports), "in_phase": len(stream.rx_ports)}
    return periods.get(stream.pattern.kind, 1)
