"""BGP of the devices: their peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from p4mesh.otg.bgp_routes import RouteRange, read_routes
from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.interfaces import Address, Interface

MOST_PEERS = 64
"""Most peers of one configuration: each may hold routes in 128 MiB."""
_MOST_LOOPBACKS = 5
"""Most loopbacks with peers behind one Ethernet interface: the stack has room for them."""
_RESERVED_AS = (0, 23456, 65535, 2**32 - 1)
_LONGEST_RESTART_S = 4095
_USUAL_RESTART_S, _USUAL_STALE_S = 45, 10
"""Which the API has where none is given."""
GracefulRestart = tuple[int, bool]
"""Seconds that a peer has to come back in, and whether it has them after NOTIFICATIONs, too."""
_UNICAST = ("ipv4_unicast", "ipv6_unicast", "route_refresh")


@dataclass(frozen=True)
class BgpPeer:
    """One session."""

    name: str
    interface: Interface
    """Address that the session is from: one of the Ethernet interface, or a loopback."""
    on_wire: Interface
    """Address of the Ethernet interface that it goes by way of."""
    router_id: IPv4Address
    own_as: int
    neighbour_as: int | None
    """None: any but its own."""
    address: Address
    """Address of the neighbour."""
    hold_time_s: int
    passive: bool
    routes: tuple[RouteRange, ...] = ()
    kept_versions: tuple[int, ...] = ()
    """Versions of the routes of the neighbour that the state tells."""
    graceful_restart: GracefulRestart | None = None
    """None: routes go with the session."""
    warnings: tuple[str, ...] = ()
    """On what has no effect."""

    @property
    def is_multihop(self) -> bool:
        """Whether the neighbour is not on the wire, or the session is from a loopback."""
        return bool(self.interface.via) or self.address not in self.on_wire.network


def read_bgp(element: Element, names: Mapping[str, tuple[Interface, ...]]) -> list[BgpPeer]:
    """Read the object ``bgp`` of a device whose interfaces have these names."""
    peers: list[BgpPeer] = []
    with element.whole():
        router_id = IPv4Address(element.text("router_id", "0.0.0.0"))
        for version in (4, 6):
            for interface in element.elements(f"ipv{version}_interfaces"):
                with interface.whole():
                    name = interface.text(f"ipv{version}_name")
                    found = names.get(name, ())
                    if len(found) != 1 or found[0].address.version != version:
                        raise refusal(interface.at(f"ipv{version}_name"), f"'{name}' is no IPv{version} address", names)
                    on_wire = names[found[0].via][0] if found[0].via else found[0]
                    others = names[on_wire.ethernet]
                    peers += [_peer(item, found[0], on_wire, others, router_id) for item in interface.elements("peers")]
    if peers and router_id == IPv4Address(0):
        raise refusal(element.at("router_id"), "is missing", "an IPv4 address but 0.0.0.0")
    owners = {(peer.on_wire.ethernet, peer.on_wire.address.version): peer.on_wire.name for peer in peers}
    for peer in peers:
        if owners[peer.on_wire.ethernet, peer.on_wire.address.version] != peer.on_wire.name:
            raise refusal(element.path, f"has peers on several addresses of {peer.on_wire.ethernet}", "one per version")
        loopbacks = {
            it.interface.name for it in peers if it.interface.via and it.on_wire.ethernet == peer.on_wire.ethernet
        }
        if len(loopbacks) > _MOST_LOOPBACKS:
            raise refusal(element.path, f"has peers on {len(loopbacks)} loopbacks", f"up to {_MOST_LOOPBACKS}")
    ends = [(peer.on_wire.ethernet, peer.address) for peer in peers]
    if twice := next((end for end in ends if ends.count(end) > 1), None):
        raise refusal(element.path, f"has two peers of {twice[1]} on {twice[0]}", "one")
    return peers


def _peer(
    element: Element, interface: Interface, on_wire: Interface, others: Sequence[Interface], router_id: IPv4Address
) -> BgpPeer:
    with element.whole():
        name, address = element.text("name"), element.address("peer_address")
        own_as, is_internal = element.integer("as_number"), element.text("as_type") == "ibgp"
        if own_as in _RESERVED_AS:
            raise refusal(element.at("as_number"), f"is {own_as}", "1 to 4294967294 but 23456 and 65535")
        element.require("as_number_width", "four")
        element.require("traditional_nlri_for_ipv4_routes", True)
        with element.element("capability").whole() as capability:
            for key in _UNICAST:
                capability.require(key, True)
            capability.require_left(False)
        with element.element("learned_information_filter").whole() as learned:
            kept = tuple(version for version in (4, 6) if learned.flag(f"unicast_ipv{version}_prefix"))
            learned.require_left(False)
        with element.element("advanced").whole() as advanced:
            hold_time_s = advanced.integer("hold_time_interval", 90)
            if hold_time_s in (1, 2) or hold_time_s > 0xFFFF:
                raise refusal(advanced.at("hold_time_interval"), f"is {hold_time_s}", "0, or 3 to 65535")
            advanced.require("keep_alive_interval", hold_time_s // 3)
            for key, usual in (("update_interval", 0), ("time_to_live", 64), ("listen_port", 179)):
                advanced.require(key, usual)
            advanced.require("neighbor_port", 179)
            passive = advanced.flag("passive_mode")
        warnings: list[str] = []
        restart = _graceful_restart(element.element("graceful_restart"), warnings)
        routes = tuple(
            read_routes(item, interface, others, own_as)
            for key in ("v4_routes", "v6_routes")
            for item in element.elements(key)
        )
        warnings += (warning for item in routes for warning in item.warnings)
    peer = BgpPeer(
        name,
        interface,
        on_wire,
        router_id,
        own_as,
        own_as if is_internal else None,
        address,
        hold_time_s,
        passive,
        routes,
        kept,
        restart,
        tuple(warnings),
    )
    next_on_wire = on_wire.gateway if peer.is_multihop else address
    if next_on_wire not in on_wire.network or next_on_wire == on_wire.address:
        what = f"{address} is reached by way of {next_on_wire}, which is no neighbour of {on_wire.name}"
        raise refusal(element.at("peer_address"), what, f"a gateway, or a peer, in {on_wire.network}")
    return peer


def _graceful_restart(element: Element, warnings: list[str]) -> GracefulRestart | None:
    """Read when a peer restarts gracefully, and warn of what has no effect."""
    with element.whole():
        enabled = element.flag("enable_gr")
        seconds = element.integer("restart_time", _USUAL_RESTART_S)
        element.require("enable_llgr", False)
        notifications = element.flag("enable_notification", True)
        if element.integer("stale_time", _USUAL_STALE_S) != _USUAL_STALE_S:
            warnings.append(f"{element.at('stale_time')} has no effect: it is of long-lived graceful restart")
        if not enabled and (seconds, notifications) != (_USUAL_RESTART_S, True):
            warnings.append(f"{element.path} has no effect: enable_gr is false")
        if seconds > _LONGEST_RESTART_S:
            raise refusal(element.at("restart_time"), f"is {seconds:,}", f"0 to {_LONGEST_RESTART_S:,}")
        return (seconds, notifications) if enabled else None
