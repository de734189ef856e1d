"""Counts the datagrams that come back from destinations of the controller's frames (RFC 2544 11.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from p4mesh.tester.responders.base import Outgoing, PuntRule

Endpoint = tuple[str, int]
"""IP address and UDP port."""

_IPV4, _IPV6 = 0x0800, 0x86DD


class Answers:
    """Sends nothing; counts answers to given datagrams."""

    def __init__(self) -> None:
        self._asked: set[Endpoint] = set()
        self.count = 0
        """Datagrams that came from such a destination."""

    def expect_from(self, datagram: bytes) -> None:
        """Count from now on the frames from the destination of a frame; only datagrams have one."""
        ends = udp_ends(datagram)
        if ends is not None:
            self._asked.add(ends[1])

    def wants(self) -> Collection[PuntRule]:
        """Return all of IP."""
        return (PuntRule.of(ether_type=_IPV4), PuntRule.of(ether_type=_IPV6))

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        """Count the frame when it is an answer."""
        if self._asked:
            ends = udp_ends(frame)
            self.count += ends is not None and ends[0] in self._asked
        return ()

    def next_event(self) -> int | None:
        """Return None."""
        return None

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        """Return nothing."""
        return ()


def udp_ends(frame: bytes) -> tuple[Endpoint, Endpoint] | None:
    """Return source and destination of a UDP datagram as (address, port); None for any other frame."""
    packet = Ether(frame)
    datagram = packet.getlayer(UDP)
    network = packet.getlayer(IP) or packet.getlayer(IPv6)
    if datagram is None or network is None:
        return None
    return (network.src, datagram.sport), (network.dst, datagram.dport)
