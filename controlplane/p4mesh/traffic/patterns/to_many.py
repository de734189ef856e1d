"""Patterns whose frames are each expected on several ports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import ClassVar

from p4mesh.errors import ParameterError
from p4mesh.traffic.addresses import BROADCAST_MAC, group_mac
from p4mesh.traffic.patterns.base import USUAL_GROUP, Carrier, Destination, Pattern, Places, Ports, SharedAddress

MAX_GROUPS = 1 << 16
"""Groups of one range; no program has room for as many flows."""
_ALL_SYSTEMS = IPv4Address("224.0.0.1")
_ALL_NODES = IPv6Address("ff02::1")
_BROADCAST = SharedAddress(BROADCAST_MAC, IPv4Address("255.255.255.255"), _ALL_NODES)


@dataclass(frozen=True)
class Broadcast(Pattern):
    """Every frame to ff:ff:ff:ff:ff:ff, expected once on every receive port but the source."""

    kind: ClassVar[str] = "broadcast"
    to_many: ClassVar[bool] = True

    def destinations(self, ports: Ports) -> tuple[Destination, ...]:
        """The one address of all receive ports."""
        return (Destination(ports.rx_ports, _BROADCAST),)

    def places(self, ports: Ports, source: int) -> Places:
        """Stay at the one address."""
        return Places(0, 1, 1)


@dataclass(frozen=True)
class GroupRange:
    """Consecutive multicast groups with the same receivers."""

    first: str = USUAL_GROUP
    """IPv4 or IPv6 group address."""
    count: int = 1
    receivers: tuple[int, ...] = ()
    """Ports that are to receive a copy; empty = every receive port of the stream."""

    @property
    def first_address(self) -> IPv4Address | IPv6Address:
        """The first group; raises ValueError when the text is not an address."""
        return ip_address(self.first)

    @cached_property
    def groups(self) -> tuple[IPv4Address | IPv6Address, ...]:
        """All groups, in order."""
        first = self.first_address
        return tuple(first + number for number in range(self.count))


@dataclass(frozen=True)
class Multicast(Pattern):
    """Frames to multicast groups, each expected once on every receiver of its group but the source.

    Every source visits all groups in turn, from the first; with ``own_groups`` source i sends to group i alone.
    """

    kind: ClassVar[str] = "multicast"
    to_many: ClassVar[bool] = True
    groups: tuple[GroupRange, ...] = (GroupRange(),)
    own_groups: bool = False

    def destinations(self, ports: Ports) -> tuple[Destination, ...]:
        """All groups. Frames are told apart by their group where there are several."""
        several = sum(part.count for part in self.groups) > 1
        return tuple(
            Destination(part.receivers or ports.rx_ports, _shared(group), str(group) if several else "")
            for part in self.groups
            for group in part.groups
        )

    def places(self, ports: Ports, source: int) -> Places:
        """Visit all groups, or stay at the source's own."""
        count = sum(part.count for part in self.groups)
        return Places(source, 1, count) if self.own_groups else Places(0, count, count)

    def check(self, stream: Carrier) -> None:
        """Require groups of the stream's IP version, each named once, whose receivers are receive ports."""
        named: set[IPv4Address | IPv6Address] = set()
        for part in self.groups:
            _check_addresses(part, stream)
            if strangers := sorted(set(part.receivers) - set(stream.rx_ports)):
                raise ParameterError(
                    f"stream '{stream.name}': port {strangers[0]} receives group {part.first} and is no receive port",
                    hint=f"receive ports are {', '.join(map(str, stream.rx_ports))}",
                )
            if twice := named.intersection(part.groups):
                raise ParameterError(
                    f"stream '{stream.name}': group {min(twice, key=int)} is named twice",
                    hint="give each group one set of receivers",
                )
            named.update(part.groups)
        if not named:
            raise ParameterError(f"stream '{stream.name}' has no multicast group", hint="name one such as 225.1.1.1")
        if self.own_groups and len(named) != len(stream.tx_ports):
            raise ParameterError(
                f"stream '{stream.name}': {len(named)} groups for {len(stream.tx_ports)} transmit ports",
                hint="name one group per transmit port, in their order",
            )

    @property
    def first_group(self) -> str:
        return self.groups[0].first if self.groups else USUAL_GROUP


def _check_addresses(part: GroupRange, stream: Carrier) -> None:
    if not 1 <= part.count <= MAX_GROUPS:
        raise ParameterError(
            f"stream '{stream.name}': {part.count} groups from {part.first}", hint=f"use 1 to {MAX_GROUPS} groups"
        )
    try:
        for end in (part.first_address, part.first_address + (part.count - 1)):
            group_mac(end)
    except ValueError as error:
        raise ParameterError(f"stream '{stream.name}': {error}", hint="use a group such as 225.1.1.1") from None
    network = stream.frame.network
    if network and network.version != part.first_address.version:
        raise ParameterError(
            f"stream '{stream.name}': group {part.first} does not fit IPv{network.version} frames",
            hint="give an address of the same IP version",
        )


def _shared(group: IPv4Address | IPv6Address) -> SharedAddress:
    if isinstance(group, IPv4Address):
        return SharedAddress(group_mac(group), group, _ALL_NODES)
    return SharedAddress(group_mac(group), _ALL_SYSTEMS, group)
