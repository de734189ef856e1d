"""Devices that speak on the ports of the tester: they answer questions and echoes, and ask for their gateways."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from p4mesh.errors import OtgError
from p4mesh.otg.bgp import BgpPeer
from p4mesh.otg.bgp_actions import Ending
from p4mesh.otg.bgp_hosts import BgpSpeaker, SessionCounts, SessionState
from p4mesh.otg.devices import Devices
from p4mesh.otg.dispatcher import Dispatcher, Member
from p4mesh.otg.echoes import Echoes
from p4mesh.otg.interfaces import Address, Interface
from p4mesh.otg.tags import Tag, Tagged
from p4mesh.tester.instrument import Tester
from p4mesh.tester.responders import Outgoing, PuntRule, Responder
from p4mesh.tester.responders.port_hosts import outgoing, station_hosts
from p4mesh.tester.stations import Station
from p4mesh.traffic.line_rate import NS_PER_S

_ASK_EVERY_NS = NS_PER_S
_ASKED_AT_ONCE, _ASK_AGAIN_NS = 64, 640_000
"""Addresses that ask for their gateways together, and the time until the next ones do: questions go to all stations,
and a port's queue has 1,024 frames."""
_ANSWER_NS = 10_000_000
"""Time that gateways get to answer before a start is over."""
_PATIENCE_NS = NS_PER_S
"""Time in which answers to what was asked are to come."""
_NO_IPV4, _NO_IPV6 = IPv4Address(0), IPv6Address(0)


class Hosts:
    """The devices of one configuration. Their addresses are up while it lasts; BGP speaks when it is started."""

    def __init__(self, tester: Tester, devices: Devices) -> None:
        self._tester = tester
        self._peers = devices.peers
        self._hosts: dict[str, _Host] = {}
        self._echoes = {it.name: Echoes(it) for it in (*devices.interfaces, *devices.loopbacks)}
        members = [_member(echoes, echoes.interface) for echoes in self._echoes.values()]
        learners: dict[tuple[int, tuple[Tag, ...], Address], _Host] = {}
        for it in devices.interfaces:
            self._hosts[it.name] = host = _Host(it)
            # The first one learns the MAC address of a gateway for all: each would look at each answer.
            host.learner = learners.setdefault((it.port.number, tuple(it.tags), it.gateway), host)
            members.append(_member(host, it, *([it.gateway] if host.learner is host else [])))
        self._dispatcher = Dispatcher(members)
        self._speakers: dict[str, tuple[BgpSpeaker, Tagged]] = {}
        """Speakers of BGP by the names of their peers, while they speak."""

    @property
    def speak(self) -> bool:
        """Whether BGP is started."""
        return bool(self._speakers)

    @property
    def is_running(self) -> bool:
        """Whether sessions are wanted, or a gateway is asked for."""
        return self.speak or any(host.gateway_mac is None for host in self._hosts.values())

    def begin(self) -> None:
        """Let devices answer, and ask for their gateways, which are known afterwards where they answer at once."""
        if self._hosts:
            begin_ns = self._tester.packets.now_ns
            for place, host in enumerate(self._hosts.values()):
                host.due_ns = begin_ns + place // _ASKED_AT_ONCE * _ASK_AGAIN_NS
            self._tester.packets.attach(self._dispatcher)
            self._tester.wait(len(self._hosts) // _ASKED_AT_ONCE * _ASK_AGAIN_NS + _ANSWER_NS)

    def end(self) -> None:
        """Let devices be silent."""
        self.stop()
        if self._hosts:
            self._tester.packets.detach(self._dispatcher)

    def start(self) -> None:
        """Start the sessions of BGP that are not started."""
        if self._speakers:
            self.change_sessions(list(self._speakers), up=True)
            return
        packets = self._tester.packets
        by_ethernet: dict[str, list[BgpPeer]] = {}
        for peer in self._peers.values():
            by_ethernet.setdefault(peer.interface.ethernet, []).append(peer)
        addresses = {peer.interface.address for peer in self._peers.values()}
        for seed, peers in enumerate(by_ethernet.values(), 1):
            speaker = BgpSpeaker(peers, addresses, seed, packets.now_ns)
            tagged = Tagged(speaker, peers[0].interface.tags)
            self._speakers.update(dict.fromkeys((peer.name for peer in peers), (speaker, tagged)))
            packets.attach(tagged)

    def stop(self) -> None:
        """End the sessions of BGP, and say so to the neighbours."""
        packets = self._tester.packets
        for speaker, tagged in dict.fromkeys(self._speakers.values()):
            packets.send(tagged.outward(speaker.stop(speaker.states, packets.now_ns)))
            packets.detach(tagged)
        self._speakers = {}

    def change_sessions(self, peers: Sequence[str], *, up: bool) -> None:
        """Start sessions, or end them until they are started; raises OtgError where BGP is not started."""
        if not self._speakers:
            raise OtgError("BGP is not started", hint="the state protocol.all starts it")
        packets = self._tester.packets
        for peer in peers:
            speaker, tagged = self._speakers[peer]
            change = speaker.start if up else speaker.stop
            packets.send(tagged.outward(change([peer], packets.now_ns)))

    def gateway_mac(self, interface: Interface) -> bytes | None:
        """MAC address of the gateway of an interface; None where it has not answered."""
        return self._hosts[interface.via or interface.name].gateway_mac

    def change_routes(self, names: Sequence[str], *, announced: bool) -> None:
        """Announce or withdraw ranges of routes."""
        for peer in self._peers.values():
            for routes in peer.routes:
                if routes.name in names and peer.name in self._speakers:
                    speaker, _ = self._speakers[peer.name]
                    change = speaker.advertise if announced else speaker.withdraw
                    change(peer.name, routes, self._tester.packets.now_ns)

    def session(self, peer: str) -> tuple[SessionState, SessionCounts]:
        """State of a session, and what it has sent and received."""
        if peer not in self._speakers:
            return SessionState(), SessionCounts()
        speaker, _ = self._speakers[peer]
        return speaker.states[peer], speaker.counts(peer)

    def end_session(self, peer: str, ending: Ending) -> None:
        """End a session that is up; it comes again by itself."""
        speaker, tagged = self._speakers[peer]
        packets = self._tester.packets
        packets.send(tagged.outward(speaker.end(peer, ending, packets.now_ns)))

    def routes(self, peer: str) -> Iterable[Mapping[str, Any]]:
        """Routes of the neighbour of a peer."""
        return self._speakers[peer][0].routes(peer) if peer in self._speakers else ()

    def ping(self, asked: Sequence[tuple[Interface, Address]]) -> list[bool]:
        """Let interfaces of devices ask addresses for echoes; tell which of them answer."""
        packets = self._tester.packets
        askers = [self._next_hop(interface, address) for interface, address in asked]
        # Hosts of the devices are attached already.
        strangers = [Tagged(it, it.interface.tags) for it in askers if it not in self._hosts.values()]
        packets.attach(*strangers)
        self._come(lambda: all(asker.gateway_mac is not None for asker in askers))
        packets.detach(*strangers)
        sent: list[tuple[Echoes, int] | None] = []
        for (interface, address), asker in zip(asked, askers, strict=True):
            echoes = self._echoes[interface.name]
            if asker.gateway_mac is None:
                sent.append(None)
            else:
                number, frames = echoes.ask(asker.gateway_mac, address)
                packets.send(Tagged(echoes, interface.tags).outward(frames))
                sent.append((echoes, number))
        self._come(lambda: all(it is None or it[1] in it[0].answered for it in sent))
        return [it is not None and it[1] in it[0].answered for it in sent]

    def _next_hop(self, interface: Interface, address: Address) -> _Host:
        """Host that knows, or asks for, the MAC address to which packets to an address go."""
        if address == interface.gateway or address not in interface.network:
            return self._hosts[interface.via or interface.name]
        return _Host(replace(interface, gateway=address, gateway_mac=None))

    def _come(self, has_come: Callable[[], bool]) -> None:
        """Wait until something has come, for a while."""
        end_ns = self._tester.packets.now_ns + _PATIENCE_NS
        while not has_come() and self._tester.packets.now_ns < end_ns:
            self._tester.wait(_ANSWER_NS)


def _member(responder: Responder, interface: Interface, *others: Address) -> Member:
    tagged = Tagged(responder, interface.tags)
    return Member(tagged, interface.port.number, {interface.address, *others})


class _Host:
    """One interface of a device: a responder that asks for its gateway until that answers."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        own, gateway = interface.address, interface.gateway
        ipv4, ipv6 = (own, _NO_IPV6) if isinstance(own, IPv4Address) else (_NO_IPV4, own)
        routers = (gateway, _NO_IPV6) if isinstance(gateway, IPv4Address) else (_NO_IPV4, gateway)
        self._stations = station_hosts([Station(interface.port.number, interface.mac, ipv4, ipv6, routers)])
        self.learner = self
        """Host that learns the MAC address of the gateway."""
        self.due_ns = 0
        self._has_asked = False

    @property
    def gateway_mac(self) -> bytes | None:
        if self.interface.gateway_mac is not None:
            return self.interface.gateway_mac
        place = self.interface.port.number, self.interface.address.version
        mac = self.learner._stations.hosts.routers.get(place)
        return bytes(mac) if mac is not None else None

    def wants(self) -> Collection[PuntRule]:
        return self._stations.wants()

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        return self._stations.on_frame(port, frame, now_ns) if port == self.interface.port.number else ()

    def next_event(self) -> int | None:
        if self.interface.gateway_mac is not None:
            return None
        # An address whose gateway another one has found asks once all the same: switches learn where it is.
        return self.due_ns if self.gateway_mac is None or not self._has_asked else None

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        self.due_ns, self._has_asked = now_ns + _ASK_EVERY_NS, True
        place = self.interface.port.number, self.interface.address.version
        return outgoing(self._stations.hosts.questions([place]))
