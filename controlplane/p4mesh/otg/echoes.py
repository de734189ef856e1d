"""Echoes of the devices' addresses (RFC 792, RFC 4443 4): they answer requests, and ask on demand."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from p4mesh.layers import Ethernet, Frame, Icmp, Icmpv6, IPv4, IPv6
from p4mesh.otg.interfaces import Address, Interface
from p4mesh.tester.responders import Outgoing, PuntRule

_HOPS = 64
_DATA = bytes(range(32))
_IPV4, _IPV6 = 0x0800, 0x86DD
_LENGTH_AT = {_IPV4: (16, 14), _IPV6: (18, 54)}
"""Place of the length of a packet in a frame, and of the first byte that counts."""
_REPLIES: dict[type[Icmp | Icmpv6], tuple[int, int]] = {Icmp: (8, 0), Icmpv6: (128, 129)}
"""Types of requests and of replies."""


class Echoes:
    """A responder for one address of a device."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self._kinds: tuple[Any, Any] = (IPv4, Icmp) if interface.address.version == 4 else (IPv6, Icmpv6)
        self._asked = 0
        self.answered: set[int] = set()
        """Numbers of the requests that were answered."""

    def wants(self) -> Collection[PuntRule]:
        return [PuntRule.of(ether_type=_IPV4 if self.interface.address.version == 4 else _IPV6)]

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        if port != self.interface.port.number or frame[:6] != self.interface.mac:
            return ()
        read, data = Frame.read(_without_padding(frame))
        if tuple(map(type, read.layers)) != (Ethernet, *self._kinds) or read.wrong_fields:
            return ()
        ethernet, network, message = read.layers
        assert isinstance(ethernet, Ethernet)
        assert isinstance(network, IPv4 | IPv6)
        assert isinstance(message, Icmp | Icmpv6)
        if network.destination != self.interface.address:
            return ()
        request, reply = _REPLIES[type(message)]
        if message.type == reply:
            self.answered.add(message.sequence)
        if message.type != request or network.source is None or ethernet.source is None:
            return ()
        return self._frame(ethernet.source, network.source, replace(message, type=reply), data)

    def next_event(self) -> int | None:
        return None

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        return ()

    def ask(self, mac: bytes, address: Address) -> tuple[int, list[Outgoing]]:
        """Number and frame of a new request to an address by way of a MAC address."""
        self._asked = (self._asked + 1) & 0xFFFF
        self.answered.discard(self._asked)
        message = self._kinds[1](sequence=self._asked)
        return self._asked, self._frame(mac, address, message, _DATA)

    def _frame(self, mac: bytes, address: Address, message: Icmp | Icmpv6, data: bytes) -> list[Outgoing]:
        interface = self.interface
        network = self._kinds[0](ttl=_HOPS, source=interface.address, destination=address)
        frame = Frame((Ethernet(destination=mac, source=interface.mac), network, message))
        return [Outgoing(interface.port.number, frame.write(data))]


def _without_padding(frame: bytes) -> bytes:
    """The frame up to the end of its packet; bytes behind it bring it to the shortest length."""
    length_at, begins_at = _LENGTH_AT.get(int.from_bytes(frame[12:14], "big"), (0, 0))
    return frame[: begins_at + int.from_bytes(frame[length_at : length_at + 2], "big")] if begins_at else frame
