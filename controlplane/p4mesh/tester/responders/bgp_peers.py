"""Stations that speak BGP (RFC 4271), and BFD (RFC 5880) where asked, with the routers of their ports.

TCP, the messages and the state machines are those of the engine's crate ``peers``; this part moves their frames from
and to ports.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from p4mesh._engine import RoutingPeer
from p4mesh.tester.responders.base import Outgoing, PuntRule
from p4mesh.tester.stations import Station
from p4mesh.topology.keys import Bfd
from p4mesh.topology.keys import BgpPeers as Settings

Session = tuple[int, int]
"""Port and IP version."""

_ARP, _IPV4, _IPV6 = 0x0806, 0x0800, 0x86DD
_ETHER_TYPE = slice(12, 14)
_ARP_OPERATION, _ARP_REQUEST = slice(20, 22), b"\x00\x01"
_NEXT_HEADER, _ICMPV6 = 20, 58
_ICMPV6_TYPE, _SOLICITATION = 54, 135
_PREFIX_BITS = {4: 24, 6: 64}
_SESSIONS_PER_RETRY_S = 32
"""Attempts to connect that may begin in a second: many more, in step, would keep each other from coming to an end."""
_US_PER_MS = 1000
_MS_PER_S = 1000
_CONNECT_S = 1
"""Time from an attempt to connect to a session that is up: a segment of it may be lost once (RFC 6298 2.1)."""


def notice_time_s(settings: Settings) -> Fraction | None:
    """Time within which one side of a session notices the end of the other one; None where it never does.

    It is that of BFD where stations have it, else the hold time.
    """
    if settings.bfd:
        return Fraction(settings.bfd.interval_ms * settings.bfd.multiplier, _MS_PER_S)
    return Fraction(settings.hold_time_s) or None


def return_time_s(settings: Settings, sessions: int) -> Fraction | None:
    """Time within which a router that has lost its sessions uses the routes of all stations again.

    It begins when the router can speak. A station notices the loss, connects again and announces; then the router has
    the time that it has before streams. None: a station notices nothing.
    """
    noticed_s = notice_time_s(settings)
    if noticed_s is None:
        return None
    return noticed_s + _retry_s(sessions) + _CONNECT_S + Fraction(str(settings.wait_s))


def _retry_s(sessions: int) -> int:
    """Seconds between attempts to connect of each of so many sessions."""
    return 1 + sessions // _SESSIONS_PER_RETRY_S


@dataclass(frozen=True)
class _Interface:
    address: IPv4Address | IPv6Address
    prefix_bits: int


@dataclass(frozen=True)
class _Neighbour:
    """A session, as the engine reads it."""

    address: IPv4Address | IPv6Address
    neighbour_as: int
    own_as: int
    router_id: IPv4Address
    hold_time_s: int
    bfd_interval_us: int | None
    bfd_multiplier: int
    connect_retry_s: int
    passive: bool = False
    multihop: None = None
    both_families: bool = False
    graceful_restart: None = None


class BgpPeers:
    """One session per port and IP version, with host 1 of the station's network."""

    def __init__(self, stations: dict[Session, Station], settings: Settings, seed: int, now_ns: int) -> None:
        retry_s = _retry_s(len(stations))
        self._peers = {
            session: _peer(session, station, settings, retry_s, seed, now_ns) for session, station in stations.items()
        }
        self._now_ns = now_ns
        self._at_port: dict[int, list[Session]] = {}
        for session in self._peers:
            self._at_port.setdefault(session[0], []).append(session)
        self._next_ns: dict[Session, int | None] = {}
        """Time at which each session acts next; None for one that waits."""
        self._announced: set[Session] = set()
        self.ended: dict[Session, str] = {}
        """Sessions that were up and ended, with the first reason."""
        self._reasons: dict[Session, str] = {}
        self._up: set[Session] = set()
        self._wanted: set[Session] = set()
        """Sessions with something to announce."""
        self._muted: set[Session] = set()
        self._scheduled: list[tuple[int, int, Callable[[int], None]]] = []

    def schedule(self, at_ns: int, change: Callable[[int], None]) -> None:
        """Let something happen to the sessions at a time; ``change`` gets the time at which it happens."""
        heappush(self._scheduled, (at_ns, len(self._scheduled), change))

    def mute(self, sessions: Iterable[Session]) -> None:
        """Let sessions neither speak nor hear from now on; their end is no surprise."""
        self._muted.update(sessions)

    def withdraw(self, networks: Mapping[Session, Sequence[IPv4Network | IPv6Network]], now_ns: int) -> None:
        """Withdraw networks that were announced."""
        for session, given in networks.items():
            self._peers[session].withdraw(0, [str(network) for network in given], now_ns)

    def announce(self, networks: Mapping[Session, Sequence[IPv4Network | IPv6Network]], now_ns: int) -> None:
        """Announce networks, each as soon as its session is up."""
        for session, given in networks.items():
            self._wanted.add(session)
            self._peers[session].announce(0, [str(network) for network in given], now_ns)

    def waiting(self) -> dict[Session, str]:
        """Sessions whose router has not acknowledged all announcements, each with the last known reason."""
        return {
            session: self._reasons.get(session, "the router does not answer")
            for session in self._peers
            if session not in (self._announced if session in self._wanted else self._up)
        }

    def stop(self, now_ns: int) -> list[Outgoing]:
        """End all sessions; return the frames that say so."""
        leaving = self._leaving()
        for (port, _), peer in self._peers.items():
            peer.stop(0, now_ns)
            leaving.extend(Outgoing(port, frame) for frame in peer.take_frames())
        self._peers, self._next_ns = {}, {}
        return leaving

    def wants(self) -> Collection[PuntRule]:
        """Rules for ARP, IPv4 and IPv6: the keys of the table cannot single out BGP."""
        return tuple(PuntRule.of(ether_type=kind) for kind in (_ARP, _IPV4, _IPV6))

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        """Hand the frame to the sessions of the port; questions for MAC addresses are answered by others."""
        self._now_ns = now_ns
        if is_question(frame):
            return []
        heard = [session for session in self._at_port.get(port, ()) if session not in self._muted]
        for session in heard:
            self._peers[session].on_frame(frame, now_ns)
        return self._leaving(heard)

    def next_event(self) -> int | None:
        times = [time_ns for time_ns in self._next_ns.values() if time_ns is not None]
        times += [at_ns for at_ns, _, _ in self._scheduled[:1]]
        return min(times, default=None)

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        """Gives the frames to send because timers are due, or because the sessions have just begun."""
        self._now_ns = now_ns
        changed: set[Session] = set()
        while self._scheduled and self._scheduled[0][0] <= now_ns:
            heappop(self._scheduled)[2](now_ns)
            changed.update(self._peers)
        due = [session for session, at_ns in self._next_ns.items() if at_ns is not None and at_ns <= now_ns]
        for session in due:
            self._peers[session].on_time(now_ns)
        return self._leaving(sorted({*due, *changed}))

    def begin(self) -> list[Outgoing]:
        """Gives the first frames of the sessions."""
        return self._leaving()

    def _leaving(self, sessions: Iterable[Session] | None = None) -> list[Outgoing]:
        """Gives the frames of some sessions, by default of all, and notes before what happened to them."""
        leaving = []
        for session in self._peers if sessions is None else sessions:
            peer = self._peers[session]
            self._note_events(session, peer)
            frames = peer.take_frames()
            if session not in self._muted:
                leaving += [Outgoing(session[0], frame) for frame in frames]
            self._next_ns[session] = peer.next_event(self._now_ns)
        return leaving

    def _note_events(self, session: Session, peer: RoutingPeer) -> None:
        for _, _, what, why in peer.take_events():
            if what == "up":
                self._up.add(session)
            elif what == "announced":
                self._announced.add(session)
            elif what == "down":
                self._reasons[session] = why or ""
                if session in self._announced and session not in self._muted:
                    self.ended.setdefault(session, why or "")


def _peer(session: Session, station: Station, settings: Settings, retry_s: int, seed: int, now_ns: int) -> RoutingPeer:
    port, version = session
    own, router = (station.ipv4, station.router_ipv4) if version == 4 else (station.ipv6, station.router_ipv6)
    bfd = settings.bfd
    neighbour = _Neighbour(
        address=router,
        neighbour_as=settings.router_as,
        own_as=settings.first_as + port - 1,
        router_id=station.ipv4,
        hold_time_s=settings.hold_time_s,
        bfd_interval_us=bfd.interval_ms * _US_PER_MS if bfd else None,
        bfd_multiplier=(bfd or Bfd()).multiplier,
        connect_retry_s=retry_s,
    )
    # The two sessions of a port draw random numbers of their own.
    return RoutingPeer(station.mac, [_Interface(own, _PREFIX_BITS[version])], [neighbour], seed * 2 + version, now_ns)


def is_question(frame: bytes) -> bool:
    """Whether a frame asks for a MAC address, which stations answer."""
    ether_type = int.from_bytes(frame[_ETHER_TYPE], "big")
    if ether_type == _ARP:
        return frame[_ARP_OPERATION] == _ARP_REQUEST
    is_icmpv6 = ether_type == _IPV6 and len(frame) > _ICMPV6_TYPE and frame[_NEXT_HEADER] == _ICMPV6
    return is_icmpv6 and frame[_ICMPV6_TYPE] == _SOLICITATION
