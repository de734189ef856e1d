"""BGP sessions between the stations of routed streams and their routers, around one trial after the other.

Each trial has sessions of its own: its result does not depend on the trials before it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from ipaddress import IPv4Network, IPv6Network, ip_network

from p4mesh.target.base import Target
from p4mesh.tester.packet_service import PacketService
from p4mesh.tester.responders.bgp_peers import BgpPeers, Session
from p4mesh.tester.stations import host_behind, station, stations_of
from p4mesh.traffic.addresses import ADVERTISED_PREFIX_BITS, NETWORK_BITS, host_in_network
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.refused_routes import RefusedRoutes
from p4mesh.traffic.routing_event import RoutingChange, RoutingEvent
from p4mesh.traffic.stream import Stream

LONGEST_PERIODIC_BYTES = 96
"""Length of the longer of a KEEPALIVE over IPv6 and a BFD packet, with their headers and without FCS."""
_STEP_NS = 50_000_000
_MOST_STEPS = 1200
"""One minute in all: several attempts to connect."""
_IPV4_PREFIX_BITS = 24
_MAX_IPV4_PORT = 255
"""Last port with a network of its own in 198.19.0.0/16 (RFC 2544 C.2.2)."""


class RoutingService:
    """The sessions of one trial; without ``bgp`` in the topology, or without routed streams, nothing happens."""

    def __init__(self, packets: PacketService, wait: Callable[[int | Fraction], None], target: Target) -> None:
        self._packets = packets
        self._wait = wait
        self._settings = target.topology.bgp
        self._target = target
        self._stations = stations_of(target.topology)
        self._networks: dict[Session, list[IPv4Network | IPv6Network]] = {}
        self._peers: BgpPeers | None = None
        self._event: RoutingEvent | None = None
        self._receivers: list[Session] = []

    @property
    def is_active(self) -> bool:
        """Sessions are up: their periodic messages share the wires with the streams."""
        return self._peers is not None

    def begin(self, streams: tuple[Stream, ...], number: int, event: RoutingEvent | None = None) -> str:
        """Announce the networks behind the stations of trial ``number``, and give the routers time to use them.

        Those that ``event`` announces later are left out. Returns a sentence on sessions that are not up, or an empty
        text.
        """
        self._silence()
        settings = self._settings
        sessions = _sessions(streams)
        if settings is None or not sessions:
            return ""
        self._target.take_refused_routes()
        now_ns = self._packets.now_ns
        peers = BgpPeers({session: self._stations[session[0]] for session in sessions}, settings, number, now_ns)
        self._peers = peers
        self._packets.attach(peers)
        self._event = event
        self._receivers = [session for session in sessions if session[0] in _receiving(streams)]
        behind = max((stream.advertised_networks for stream in streams), default=0)
        networks = {session: networks_behind(*session, behind) for session in sessions}
        later = event is not None and event.change is RoutingChange.ANNOUNCEMENT
        peers.announce({one: of for one, of in networks.items() if not (later and one in self._receivers)}, now_ns)
        self._networks = networks
        self._packets.send(peers.begin())
        for _ in range(_MOST_STEPS):
            if not peers.waiting():
                break
            self._wait(_STEP_NS)
        waiting = peers.waiting()
        if waiting:
            (port, version), reason = min(waiting.items())
            count = f"{len(waiting)} of {len(sessions)} sessions are not up"
            return f"no BGP session over IPv{version} on port {port}: {reason}; {count}"
        self._wait(int(settings.wait_s * NS_PER_S))
        return ""

    def change_after(self, after_ns: int) -> None:
        """Let the receivers make the change of the trial once this much time has passed."""
        peers, event = self._peers, self._event
        if peers is None or event is None:
            return
        at_ns = self._packets.now_ns + after_ns
        networks = {session: self._networks[session] for session in self._receivers}
        if event.change is RoutingChange.ANNOUNCEMENT:
            peers.schedule(at_ns, lambda now_ns: peers.announce(networks, now_ns))
        elif event.change is RoutingChange.SILENCE:
            peers.schedule(at_ns, lambda _: peers.mute(self._receivers))
        elif event.change is RoutingChange.LOSS_OF_LINK:
            peers.schedule(at_ns, lambda _: self._lose_links(peers))
        else:
            peers.schedule(at_ns, lambda now_ns: peers.withdraw(networks, now_ns))
        if event.change is RoutingChange.FLAP:
            peers.schedule(at_ns + event.hold_ns, lambda now_ns: peers.announce(networks, now_ns))

    def _lose_links(self, peers: BgpPeers) -> None:
        peers.mute(self._receivers)
        for port in sorted({port for port, _ in self._receivers}):
            self._target.set_link(port, False)

    def refused(self) -> tuple[RefusedRoutes, ...]:
        """Networks of the sessions that devices had no room for, without those of earlier calls."""
        return self._target.take_refused_routes() if self.is_active else ()

    def end(self) -> str:
        """End the sessions; return a sentence on one that had ended before, or an empty text."""
        peers = self._peers
        if peers is None:
            return ""
        self._packets.serve()
        self._packets.send(peers.stop(self._packets.now_ns))
        self._silence()
        if self._event is not None and self._event.change is RoutingChange.LOSS_OF_LINK:
            for port in sorted({port for port, _ in self._receivers}):
                self._target.set_link(port, True)
        if not peers.ended:
            return ""
        (port, version), reason = min(peers.ended.items())
        return f"the BGP session over IPv{version} on port {port} ended during the trial: {reason}"

    def _silence(self) -> None:
        if self._peers is not None:
            self._packets.detach(self._peers)
            self._peers = None


def networks_behind(port: int, version: int, count: int = 0) -> list[IPv4Network | IPv6Network]:
    """Networks of the hosts behind the station of a port (RFC 2544 C.2.2, RFC 5180 5.2), or ``count`` numbered ones."""
    owner = station(port)
    if count:
        hosts = [host_in_network(port, version, number) for number in range(count)]
        return [ip_network((host, NETWORK_BITS[version]), strict=False) for host in hosts]
    if version == 4 and port > _MAX_IPV4_PORT:
        return []
    if version == 4:
        return [IPv4Network((host_behind(owner, 4, _IPV4_PREFIX_BITS).ipv4, _IPV4_PREFIX_BITS), strict=False)]
    return [IPv6Network((host_behind(owner, 6, bits).ipv6, bits), strict=False) for bits in ADVERTISED_PREFIX_BITS]


def _receiving(streams: tuple[Stream, ...]) -> set[int]:
    return {port for stream in streams for port in stream.rx_ports}


def _sessions(streams: tuple[Stream, ...]) -> list[Session]:
    wanted = {
        (port, stream.address_version)
        for stream in streams
        if stream.routed
        for port in (*stream.tx_ports, *stream.rx_ports)
    }
    return sorted(wanted)
