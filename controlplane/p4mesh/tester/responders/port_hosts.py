"""Hosts of the engine's crate ``peers`` on tester ports: the frames that they are to see, and those that they send."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Generic, Protocol, TypeVar

from p4mesh._engine import GroupHosts, Querier, Stations
from p4mesh.tester.responders.base import Outgoing, PuntRule
from p4mesh.tester.stations import Station
from p4mesh.traffic.memberships import Version

_ARP, _IPV4, _IPV6 = 0x0806, 0x0800, 0x86DD
_GROUPS = {4: (0x01005E000000, 0xFFFFFF800000), 6: (0x333300000000, 0xFFFF00000000)}
"""MAC addresses of groups by IP version (RFC 1112 6.4, RFC 2464 7): value and mask."""

Leaving = tuple[int, bytes, bool]
"""Port, frame, and whether the time at which it leaves is to be kept."""


class Hosts(Protocol):
    """One kind of hosts in the engine."""

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Leaving]:
        """Take a frame, and give those that answer it."""

    def next_event(self) -> int | None:
        """Give the time of the next timer in ns."""

    def on_time(self, now_ns: int) -> Iterable[Leaving]:
        """Give the frames that are due."""


HostsT = TypeVar("HostsT", bound=Hosts)


class PortHosts(Generic[HostsT]):
    """A responder whose work is done by ``hosts``."""

    def __init__(self, hosts: HostsT, rules: Collection[PuntRule]) -> None:
        self.hosts = hosts
        self._rules = rules

    def wants(self) -> Collection[PuntRule]:
        """Give the rules for the frames of the protocol."""
        return self._rules

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        """Hand a frame over, and send the answers."""
        return outgoing(self.hosts.on_frame(port, frame, now_ns))

    def next_event(self) -> int | None:
        """Give the time of the next timer of any of the hosts, in ns."""
        return self.hosts.next_event()

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        """Send what is due."""
        return outgoing(self.hosts.on_time(now_ns))


def outgoing(frames: Iterable[Leaving]) -> list[Outgoing]:
    """Make frames of hosts such as the packet service sends."""
    return [Outgoing(*frame) for frame in frames]


def station_hosts(stations: Collection[Station]) -> PortHosts[Stations]:
    """Let stations answer ARP and neighbour discovery, ask for their routers, and count answers to datagrams."""
    # Neighbour discovery has no EtherType of its own, and a datagram that is an answer may come by any protocol.
    return PortHosts(Stations(list(stations)), [PuntRule.of(ether_type=kind) for kind in (_ARP, _IPV4, _IPV6)])


def group_hosts(
    stations: Collection[Station], version: Version, *, joins_per_s: int, robustness: int, seed: int
) -> PortHosts[GroupHosts]:
    """Let stations join groups at a pace of all ports together; ``seed`` decides their random delays."""
    hosts = GroupHosts(list(stations), version.value, joins_per_s=joins_per_s, robustness=robustness, seed=seed)
    return PortHosts(hosts, [_to_groups(version)])


def querier(
    station: Station, version: Version, now_ns: int, *, interval_ns: int, robustness: int
) -> PortHosts[Querier]:
    """Let a station ask hosts for their memberships, from ``now_ns`` on."""
    asking = Querier(station, version.value, now_ns, interval_ns=interval_ns, robustness=robustness)
    return PortHosts(asking, [_to_groups(version)])


def _to_groups(version: Version) -> PuntRule:
    """Choose all frames to groups of the IP version: queries and reports go to several of them."""
    kind = _IPV4 if version.ip_version == 4 else _IPV6
    return PuntRule.of(ether_type=kind, destination_mac=_GROUPS[version.ip_version])
