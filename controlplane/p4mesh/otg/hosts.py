"""Devices that speak on the ports of the tester: they answer ARP and neighbour discovery and ask for their gateways."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address

from p4mesh.otg.devices import Interface
from p4mesh.tester.instrument import Tester
from p4mesh.tester.responders import Outgoing, PuntRule
from p4mesh.tester.responders.port_hosts import outgoing, station_hosts
from p4mesh.tester.stations import Station
from p4mesh.traffic.line_rate import NS_PER_S

_ASK_EVERY_NS = NS_PER_S
_ANSWER_NS = 10_000_000
"""Time that gateways get to answer before a start is over."""
_NO_IPV4, _NO_IPV6 = IPv4Address(0), IPv6Address(0)


class Hosts:
    """The devices of one configuration; they are silent until they are started."""

    def __init__(self, tester: Tester, interfaces: Sequence[Interface]) -> None:
        self._tester = tester
        self._hosts = {interface.name: _Host(interface) for interface in interfaces}
        self._started = False

    @property
    def is_running(self) -> bool:
        """Whether they speak."""
        return self._started and bool(self._hosts)

    def start(self) -> None:
        """Let them speak; gateways are known afterwards where they answer at once."""
        if self._started or not self._hosts:
            return
        self._started = True
        packets = self._tester.packets
        for host in self._hosts.values():
            host.due_ns = packets.now_ns
        packets.attach(*self._hosts.values())
        self._tester.wait(_ANSWER_NS)

    def stop(self) -> None:
        """Let them be silent."""
        if self._started:
            self._tester.packets.detach(*self._hosts.values())
        self._started = False

    def gateway_mac(self, interface: Interface) -> bytes | None:
        """MAC address of the gateway of an interface; None where it has not answered."""
        return self._hosts[interface.name].gateway_mac


class _Host:
    """One interface of a device: a responder that asks for its gateway until that answers."""

    def __init__(self, interface: Interface) -> None:
        self._interface = interface
        own, gateway = interface.address, interface.gateway
        ipv4, ipv6 = (own, _NO_IPV6) if isinstance(own, IPv4Address) else (_NO_IPV4, own)
        routers = (gateway, _NO_IPV6) if isinstance(gateway, IPv4Address) else (_NO_IPV4, gateway)
        self._stations = station_hosts([Station(interface.port.number, interface.mac, ipv4, ipv6, routers)])
        self.due_ns = 0
        """Time of the next question."""

    @property
    def gateway_mac(self) -> bytes | None:
        if self._interface.gateway_mac is not None:
            return self._interface.gateway_mac
        place = self._interface.port.number, self._interface.address.version
        mac = self._stations.hosts.routers.get(place)
        return bytes(mac) if mac is not None else None

    def wants(self) -> Collection[PuntRule]:
        return self._stations.wants()

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        return self._stations.on_frame(port, frame, now_ns) if port == self._interface.port.number else ()

    def next_event(self) -> int | None:
        return self.due_ns if self.gateway_mac is None else None

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        self.due_ns = now_ns + _ASK_EVERY_NS
        place = self._interface.port.number, self._interface.address.version
        return outgoing(self._stations.hosts.questions([place]))
