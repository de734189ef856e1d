"""VLAN tags of a device's Ethernet interface, around what speaks behind it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from p4mesh.tester.responders import Outgoing, PuntRule, Responder

ADDRESSES_BYTES = 12
TAG_BYTES = 4
_VID_MASK = 0x0FFF


@dataclass(frozen=True)
class Tag:
    """One tag."""

    type: int
    vid: int
    priority: int = 0

    @property
    def octets(self) -> bytes:
        """The tag as it stands in a frame."""
        return self.type.to_bytes(2, "big") + (self.priority << 13 | self.vid).to_bytes(2, "big")


def vlans_of(frame: bytes, depth: int) -> tuple[tuple[int, int], ...]:
    """Type and VLAN of the first ``depth`` tags of a frame, of any priority."""
    ends = range(ADDRESSES_BYTES, ADDRESSES_BYTES + TAG_BYTES * depth, TAG_BYTES)
    words = [(frame[end : end + 2], frame[end + 2 : end + TAG_BYTES]) for end in ends]
    return tuple((int.from_bytes(kind, "big"), int.from_bytes(info, "big") & _VID_MASK) for kind, info in words)


class Tagged:
    """A responder behind tags, the outermost first: it sees the frames of its VLAN alone, and without them."""

    def __init__(self, inner: Responder, tags: Sequence[Tag]) -> None:
        self._inner = inner
        self._tags = tags
        self.vlans = tuple((tag.type, tag.vid) for tag in tags)

    def wants(self) -> Collection[PuntRule]:
        return [PuntRule.of(ether_type=self._tags[0].type)] if self._tags else self._inner.wants()

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        if vlans_of(frame, len(self._tags)) != self.vlans:
            return ()
        behind = ADDRESSES_BYTES + TAG_BYTES * len(self._tags)
        return self.outward(self._inner.on_frame(port, frame[:ADDRESSES_BYTES] + frame[behind:], now_ns))

    def next_event(self) -> int | None:
        return self._inner.next_event()

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        return self.outward(self._inner.on_time(now_ns))

    def outward(self, frames: Iterable[Outgoing]) -> list[Outgoing]:
        """Put the tags into frames that leave."""
        octets = b"".join(tag.octets for tag in self._tags)
        return [replace(it, frame=it.frame[:ADDRESSES_BYTES] + octets + it.frame[ADDRESSES_BYTES:]) for it in frames]
