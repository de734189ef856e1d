"""Destination sequences of methodology 0.4, as pure functions.

Ports are positions 1..N in configuration order; ``k`` = 0, 1, 2, ... is the frame counter of one
source. These functions are the oracle for the P4 program and for the conservation checks; they are
never on the path of a frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from p4mesh.traffic.stream import PatternKind, Stream


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


def destinations(stream: Stream, source_index: int, k: int) -> tuple[int, ...]:
    """Return the tester ports that frame ``k`` of transmit port number ``source_index`` is for.

    ``source_index`` counts from 0 in ``stream.tx_ports``. Unicast gives one port, broadcast and
    multicast every receive port but the source.
    """
    tx, rx = stream.tx_ports, stream.rx_ports
    if stream.pattern is PatternKind.FULL_MESH:
        return (tx[full_mesh(source_index + 1, k, len(tx)) - 1],)
    if stream.pattern is PatternKind.ROTATE:
        return (rotate(source_index + 1, k, rx),)
    if stream.pattern is PatternKind.PAIRS:
        return (rx[source_index],)
    if stream.pattern is PatternKind.IN_PHASE:
        return (in_phase(k, rx),)
    return tuple(port for port in rx if port != tx[source_index])


def flow_counts(stream: Stream) -> Counter[tuple[int, int]]:
    """Return how many frames each (transmit port, receive port) pair carries in the whole stream.

    Closed form: the sequences are periodic, so whole periods are multiplied and only the rest of
    the last period is walked.
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
    if stream.pattern is PatternKind.FULL_MESH:
        return len(stream.tx_ports) - 1
    if stream.pattern in (PatternKind.ROTATE, PatternKind.IN_PHASE):
        return len(stream.rx_ports)
    return 1
