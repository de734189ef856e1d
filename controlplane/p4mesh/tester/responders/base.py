"""Defines the interface of a protocol on tester ports to the packet service."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

Match = int | tuple[int, int]
"""A value, or (value, mask) of which only the bits of the mask count."""


@dataclass(frozen=True)
class PuntRule:
    """Frames without signature that the controller is to see, by keys of the program's table ``punt``.

    A key that is left out matches any frame. The program knows which keys there are.
    """

    keys: tuple[tuple[str, Match], ...]

    @classmethod
    def of(cls, **keys: Match) -> PuntRule:
        """Rule with some keys, such as ``PuntRule.of(port=3, ether_type=0x0806)``; ports are the tester's."""
        return cls(tuple(sorted(keys.items())))


@dataclass(frozen=True)
class Outgoing:
    """A frame that leaves a port of the tester, from the destination address on, without FCS."""

    port: int
    frame: bytes
    stamped: bool = False
    """Keep the time at which it leaves, in place of that of the stamped frame before it on the port."""


class Responder(Protocol):
    """One protocol. ``now_ns`` is the target's time, which never goes back; only differences have a meaning."""

    def wants(self) -> Collection[PuntRule]:
        """Rules for the frames that the responder is to see; it may get others as well."""

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        """Takes a frame that has arrived, and gives the frames to send because of it."""

    def next_event(self) -> int | None:
        """Time of the next timer in ns; None without one."""

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        """Gives the frames to send because the next timer is due; the timer after it is later."""
