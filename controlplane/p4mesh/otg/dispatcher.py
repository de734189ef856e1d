"""All addresses of the devices as one responder: a frame goes to those alone that it is about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from p4mesh.otg.interfaces import Address
from p4mesh.otg.tags import ADDRESSES_BYTES, TAG_BYTES, Tagged, vlans_of
from p4mesh.tester.responders import Outgoing, PuntRule

_PLACES = {0x0806: ((16, 4), (26, 4)), 0x0800: ((18, 4),), 0x86DD: ((26, 16), (50, 16))}
"""Place, from the EtherType on, and bytes of the addresses that a packet is about: sender and target of ARP (RFC 826),
the destination of IP, and the target of neighbour discovery (RFC 4861)."""


@dataclass(frozen=True)
class Member:
    """A responder behind its tags, with the addresses for which it gets frames of its VLAN."""

    responder: Tagged
    port: int
    addresses: Collection[Address]


class Dispatcher:
    """A responder for all of ``members``."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members
        self._rules = frozenset(rule for it in members for rule in it.responder.wants())
        self._depths = sorted({len(it.responder.vlans) for it in members})
        self._of: dict[tuple[int, tuple[tuple[int, int], ...], bytes], list[Tagged]] = {}
        for it in members:
            for address in it.addresses:
                self._of.setdefault((it.port, it.responder.vlans, address.packed), []).append(it.responder)
        self._due_ns: int | None = 0

    def wants(self) -> Collection[PuntRule]:
        return self._rules

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        concerned: dict[Tagged, None] = {}
        for depth in self._depths:
            vlans = vlans_of(frame, depth)
            for address in _addresses(frame, ADDRESSES_BYTES + TAG_BYTES * depth):
                concerned |= dict.fromkeys(self._of.get((port, vlans, address), ()))
        return [outgoing for responder in concerned for outgoing in responder.on_frame(port, frame, now_ns)]

    def next_event(self) -> int | None:
        return self._due_ns

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        sent: list[Outgoing] = []
        times: list[int] = []
        for it in self._members:
            due_ns = it.responder.next_event()
            if due_ns is not None and due_ns <= now_ns:
                sent += it.responder.on_time(now_ns)
                due_ns = it.responder.next_event()
            if due_ns is not None:
                times.append(due_ns)
        self._due_ns = min(times, default=None)
        return sent


def _addresses(frame: bytes, begin: int) -> Iterator[bytes]:
    kind = int.from_bytes(frame[begin : begin + 2], "big")
    for place, length in _PLACES.get(kind, ()):
        yield frame[begin + place : begin + place + length]
