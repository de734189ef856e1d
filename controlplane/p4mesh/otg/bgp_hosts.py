"""BGP sessions of the devices: a speaker of the engine's crate ``peers`` for each Ethernet interface."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

from p4mesh._engine import RoutingPeer
from p4mesh.otg.bgp import BgpPeer, GracefulRestart
from p4mesh.otg.bgp_actions import Ending
from p4mesh.otg.bgp_routes import RouteRange
from p4mesh.otg.interfaces import Address
from p4mesh.tester.responders import Outgoing, PuntRule
from p4mesh.tester.responders.bgp_peers import is_question

_KINDS = (0x0806, 0x0800, 0x86DD)
_RETRY_S = 1
_PAGE = 10_000
"""Routes that are taken at once."""


@dataclass(frozen=True)
class _Address:
    address: Address
    prefix_bits: int


@dataclass(frozen=True)
class _Session:
    """A session, as the engine reads it."""

    address: Address
    neighbour_as: int | None
    own_as: int
    router_id: IPv4Address
    hold_time_s: int
    passive: bool
    connect_retry_s: int = _RETRY_S
    bfd_interval_us: int | None = None
    bfd_multiplier: int = 3
    multihop: tuple[Address, Address] | None = None
    """Own address, and the gateway, where the neighbour is not on the wire."""
    both_families: bool = True
    graceful_restart: GracefulRestart | None = None


@dataclass
class SessionState:
    """A session and what has been learned by it."""

    up: bool = False
    flaps: int = 0
    advertised: set[str] = field(default_factory=set)
    """Names of the ranges that are announced."""


@dataclass(frozen=True)
class SessionCounts:
    """State of RFC 4271 8.2.2, routes that came, and the messages of both directions by kind."""

    fsm_state: str = "idle"
    routes: int = 0
    sent: Mapping[str, int] = field(default_factory=dict)
    received: Mapping[str, int] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, int]:
        """Columns of the API's metric."""
        kinds = ("opens", "updates", "keepalives", "notifications", "route_withdraws")
        return {
            "routes_received": self.routes,
            "end_of_rib_received": self.received.get("ends_of_routes", 0),
            **{f"{kind}_sent": self.sent.get(kind, 0) for kind in kinds},
            **{f"{kind}_received": self.received.get(kind, 0) for kind in kinds},
        }


class BgpSpeaker:
    """A responder for all peers of one Ethernet interface."""

    def __init__(self, peers: Sequence[BgpPeer], own_addresses: Collection[object], seed: int, now_ns: int) -> None:
        self._peers = {peer.name: number for number, peer in enumerate(peers)}
        self._port = peers[0].interface.port.number
        interfaces = {peer.on_wire.address.version: peer.on_wire for peer in peers}
        addresses = [_Address(it.address, it.prefix_bits) for it in interfaces.values()]
        # Of two devices that are neighbours one waits for the other: both would connect at once.
        sessions = [
            _Session(
                peer.address,
                peer.neighbour_as,
                peer.own_as,
                peer.router_id,
                peer.hold_time_s,
                peer.passive or (peer.address in own_addresses and int(peer.interface.address) > int(peer.address)),
                multihop=(peer.interface.address, peer.on_wire.gateway) if peer.is_multihop else None,
                graceful_restart=peer.graceful_restart,
            )
            for peer in peers
        ]
        self._speaker = RoutingPeer(peers[0].interface.mac, addresses, sessions, seed, now_ns)
        self.states = {peer.name: SessionState() for peer in peers}
        self._now_ns = now_ns
        self._next_ns: int | None = now_ns
        for peer in peers:
            for routes in peer.routes:
                self.advertise(peer.name, routes, now_ns)

    def advertise(self, peer: str, routes: RouteRange, now_ns: int) -> None:
        """Announce a range, as soon as the session is up."""
        self.states[peer].advertised.add(routes.name)
        self._speaker.announce(
            self._peers[peer], [str(network) for network in routes.networks], now_ns, routes.attributes
        )
        self._next_ns = now_ns

    def withdraw(self, peer: str, routes: RouteRange, now_ns: int) -> None:
        """Withdraw a range."""
        self.states[peer].advertised.discard(routes.name)
        self._speaker.withdraw(self._peers[peer], [str(network) for network in routes.networks], now_ns)
        self._next_ns = now_ns

    def counts(self, peer: str) -> SessionCounts:
        """Messages and routes of a session so far, and its state."""
        number = self._peers[peer]
        sent, received = self._speaker.counts(number)
        return SessionCounts(self._speaker.state(number), self._speaker.received(number), sent, received)

    def routes(self, peer: str) -> Iterator[Mapping[str, Any]]:
        """Routes of the neighbour, in their order."""
        behind: str | None = None
        while page := self._speaker.routes(self._peers[peer], behind, _PAGE):
            yield from page
            behind = page[-1]["network"]

    def end(self, peer: str, ending: Ending, now_ns: int) -> list[Outgoing]:
        """End a session, which comes again; gives the frames that say so."""
        number = self._peers[peer]
        if ending.away_ns is not None:
            self._speaker.restart(number, ending.notification, ending.away_ns, now_ns)
        elif ending.notification is not None:
            self._speaker.notify(number, ending.notification, ending.close_after_ns, now_ns)
        return self._leaving(now_ns)

    def start(self, peers: Iterable[str], now_ns: int) -> list[Outgoing]:
        """Start sessions that were stopped; gives the frames that leave."""
        for peer in peers:
            self._speaker.start(self._peers[peer], now_ns)
        return self._leaving(now_ns)

    def stop(self, peers: Iterable[str], now_ns: int) -> list[Outgoing]:
        """End sessions until they are started; gives the frames that say so."""
        for peer in peers:
            self._speaker.stop(self._peers[peer], now_ns)
        return self._leaving(now_ns)

    def wants(self) -> Collection[PuntRule]:
        return [PuntRule.of(ether_type=kind) for kind in _KINDS]

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        if port != self._port or is_question(frame):
            return []
        self._speaker.on_frame(frame, now_ns)
        return self._leaving(now_ns)

    def next_event(self) -> int | None:
        return self._next_ns

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        self._speaker.on_time(now_ns)
        return self._leaving(now_ns)

    def _leaving(self, now_ns: int) -> list[Outgoing]:
        names = list(self._peers)
        for number, _, what, _ in self._speaker.take_events():
            state = self.states[names[number]]
            if what == "up":
                state.up = True
            elif what == "down":
                state.flaps += state.up
                state.up = False
        frames = [Outgoing(self._port, frame) for frame in self._speaker.take_frames()]
        next_ns = self._speaker.next_event(now_ns)
        # A timer that is due now has been served: the next one is later.
        self._next_ns = None if next_ns is None else max(next_ns, now_ns + 1)
        return frames
