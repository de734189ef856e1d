"""BGP of the devices: their peers, and the ranges of routes that these announce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address, ip_network

from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.interfaces import Address, Interface

Network = IPv4Network | IPv6Network
_MOST_ROUTES = 100_000
"""Of one configuration."""
_UNICAST = ("ipv4_unicast", "ipv6_unicast", "route_refresh")


@dataclass(frozen=True)
class RouteRange:
    """Networks that a peer announces and withdraws together."""

    name: str
    networks: tuple[Network, ...]
    host: Interface
    """An end of flows: the first address of the range, behind the peer."""


@dataclass(frozen=True)
class BgpPeer:
    """One session."""

    name: str
    interface: Interface
    router_id: IPv4Address
    own_as: int
    neighbour_as: int | None
    """None: any but its own."""
    address: Address
    """Address of the neighbour."""
    hold_time_s: int
    passive: bool
    routes: tuple[RouteRange, ...] = ()


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
                    peers += [_peer(item, found[0], router_id) for item in interface.elements("peers")]
    owners = {(peer.interface.ethernet, peer.interface.address.version): peer.interface.name for peer in peers}
    for peer in peers:
        if owners[peer.interface.ethernet, peer.interface.address.version] != peer.interface.name:
            raise refusal(
                element.path, f"has peers on several addresses of {peer.interface.ethernet}", "one per version"
            )
    return peers


def _peer(element: Element, interface: Interface, router_id: IPv4Address) -> BgpPeer:
    with element.whole():
        name, address = element.text("name"), element.address("peer_address")
        if address not in ip_network((interface.address, interface.prefix_bits), strict=False):
            raise refusal(
                element.at("peer_address"), f"{address} is not in the network of {interface.name}", "one in it"
            )
        own_as, is_internal = element.integer("as_number"), element.text("as_type") == "ibgp"
        element.require("as_number_width", "four")
        element.require("traditional_nlri_for_ipv4_routes", True)
        with element.element("capability").whole() as capability:
            for key in _UNICAST:
                capability.require(key, True)
            capability.require_left(False)
        with element.element("learned_information_filter").whole() as learned:
            learned.flag("unicast_ipv4_prefix")
            learned.flag("unicast_ipv6_prefix")
            learned.require_left(False)
        with element.element("advanced").whole() as advanced:
            hold_time_s = advanced.integer("hold_time_interval", 90)
            advanced.require("keep_alive_interval", hold_time_s // 3)
            for key, usual in (("update_interval", 0), ("time_to_live", 64), ("listen_port", 179)):
                advanced.require(key, usual)
            advanced.require("neighbor_port", 179)
            passive = advanced.flag("passive_mode")
        routes = tuple(_routes(item, interface) for key in ("v4_routes", "v6_routes") for item in element.elements(key))
    neighbour_as = own_as if is_internal else None
    return BgpPeer(name, interface, router_id, own_as, neighbour_as, address, hold_time_s, passive, routes)


def _routes(element: Element, interface: Interface) -> RouteRange:
    networks: list[Network] = []
    with element.whole():
        name = element.text("name")
        element.require("next_hop_mode", "local_ip")
        for key in ("next_hop_address_type", "next_hop_ipv4_address", "next_hop_ipv6_address"):
            element.text(key)
        with element.element("advanced").whole() as advanced:
            for key, usual in (("origin", "igp"), ("local_preference", 100), ("include_origin", True)):
                advanced.require(key, usual)
            advanced.flag("include_local_preference")
            advanced.flag("include_multi_exit_discriminator")
        first = None
        for item in element.elements("addresses"):
            with item.whole():
                address, count, step = item.text("address"), item.integer("count", 1), item.integer("step", 1)
                network = ip_network((address, item.integer("prefix", 24 if "." in address else 64)), strict=False)
                first = first or ip_address(address)
            host_bits = network.max_prefixlen - network.prefixlen
            if len(networks) + count > _MOST_ROUTES:
                raise refusal(item.at("count"), f"is {count}", f"{_MOST_ROUTES} routes of a range")
            if int(network.network_address) + ((count - 1) * step << host_bits) >> network.max_prefixlen:
                raise refusal(item.at("count"), f"is {count}, which leaves IPv{network.version}", "fewer networks")
            networks += _consecutive(network, count, step)
    if first is None:
        raise refusal(element.at("addresses"), "is empty", "one address or more")
    return RouteRange(name, tuple(networks), replace(interface, name=name, address=first, via=interface.name))


def _consecutive(network: Network, count: int, step: int) -> Sequence[Network]:
    distance = step << (network.max_prefixlen - network.prefixlen)
    first = int(network.network_address)
    return [type(network)((first + place * distance, network.prefixlen)) for place in range(count)]
