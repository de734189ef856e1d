"""Ranges of routes that BGP peers of the devices announce, with their attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address, ip_network

from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.interfaces import Address, Interface

Network = IPv4Network | IPv6Network
Segment = tuple[bool, list[int]]
"""Part of a path: whether it is a set, and its AS numbers."""
_MOST_ROUTES = 100_000
"""Most routes of one range."""
_MOST_COMMUNITIES = 32
"""Most communities of each kind: every message of routes repeats them."""
_MOST_AS_NUMBERS = 255
KNOWN_COMMUNITIES = {
    "no_export": 0xFFFFFF01,
    "no_advertised": 0xFFFFFF02,
    "no_export_subconfed": 0xFFFFFF03,
    "llgr_stale": 0xFFFF0006,
    "no_llgr": 0xFFFF0007,
}
"""Communities with names in the API (RFC 1997, RFC 9494)."""
_TARGET_OR_ORIGIN = {"route_target_subtype": 2, "route_origin_subtype": 3}
_EXTENDED = {
    "transitive_2octet_as_type": (0, _TARGET_OR_ORIGIN, ("global_2byte_as", 2), ("local_4byte_admin", 4)),
    "transitive_ipv4_address_type": (1, _TARGET_OR_ORIGIN, ("global_ipv4_admin", 4), ("local_2byte_admin", 2)),
    "transitive_4octet_as_type": (2, _TARGET_OR_ORIGIN, ("global_4byte_as", 4), ("local_2byte_admin", 2)),
}
"""Extended communities: type, subtypes, and the two parts of the value with their bytes (RFC 4360, RFC 5668)."""


@dataclass(frozen=True)
class RouteAttributes:
    """Attributes of the routes of a range, as the engine reads them."""

    origin: str
    next_hop: Address
    as_path: list[Segment] | None
    """The whole path; None: the own AS, and nothing within it."""
    metric: int | None
    local_preference: int | None
    communities: list[int]
    extended_communities: list[bytes]


@dataclass(frozen=True)
class RouteRange:
    """Networks that a peer announces and withdraws together."""

    name: str
    networks: tuple[Network, ...]
    attributes: RouteAttributes
    host: Interface
    """An end of flows: the first address of the range, behind the peer."""
    warnings: tuple[str, ...] = ()
    """On what has no effect."""


def read_routes(element: Element, interface: Interface, others: Sequence[Interface], own_as: int) -> RouteRange:
    """Read a range of a peer on an interface; ``others`` are the addresses of the same Ethernet interface."""
    networks: list[Network] = []
    with element.whole():
        name = element.text("name")
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
        attributes = _attributes(element, _next_hop(element, first.version, interface, others), own_as)
        warnings = tuple(_without_effect(element))
    via = interface.via or interface.name
    host = replace(interface, name=name, address=first, via=via)
    return RouteRange(name, tuple(networks), attributes, host, warnings)


def _without_effect(element: Element) -> Iterator[str]:
    """Yield warnings on next hops that are given, and are not the one that the mode names."""
    is_manual = element.text("next_hop_mode") == "manual"
    for kind in ("ipv4", "ipv6"):
        key, is_named = f"next_hop_{kind}_address", is_manual and element.text("next_hop_address_type", kind) == kind
        if not is_named and not element.address(key, "0.0.0.0").is_unspecified:
            yield f"{element.at(key)} has no effect: next_hop_mode and next_hop_address_type name another next hop"


def _consecutive(network: Network, count: int, step: int) -> Sequence[Network]:
    distance = step << (network.max_prefixlen - network.prefixlen)
    first = int(network.network_address)
    return [type(network)((first + place * distance, network.prefixlen)) for place in range(count)]


def _next_hop(element: Element, version: int, interface: Interface, others: Sequence[Interface]) -> Address:
    mode, kind = element.text("next_hop_mode", "local_ip"), element.text("next_hop_address_type", f"ipv{version}")
    given = {
        key: element.address(f"next_hop_{key}_address", unspecified)
        for key, unspecified in (("ipv4", "0.0.0.0"), ("ipv6", "::"))
    }
    if mode == "manual":
        if kind != f"ipv{version}":
            raise refusal(element.at("next_hop_address_type"), f"is {kind}", f"ipv{version}, as the routes are")
        if given[kind].is_unspecified or given[kind].is_multicast:
            raise refusal(element.at(f"next_hop_{kind}_address"), f"is {given[kind]}", "the address of a host")
        return given[kind]
    own = next((it.address for it in (interface, *others) if it.address.version == version), None)
    if own is None:
        what = f"is local_ip, and {interface.ethernet} has no address of IPv{version}"
        raise refusal(element.at("next_hop_mode"), what, "manual")
    return own


def _attributes(element: Element, next_hop: Address, own_as: int) -> RouteAttributes:
    with element.element("advanced").whole() as advanced:
        advanced.require("include_origin", True)
        origin = advanced.text("origin", "igp")
        has_preference = advanced.flag("include_local_preference", True)
        preference = advanced.integer("local_preference", 100)
        has_metric = advanced.flag("include_multi_exit_discriminator", True) and "multi_exit_discriminator" in advanced
        metric = advanced.integer("multi_exit_discriminator")
    return RouteAttributes(
        origin,
        next_hop,
        _path(element.element("as_path"), own_as) if "as_path" in element else None,
        metric if has_metric else None,
        preference if has_preference else None,
        [_community(item) for item in _few(element, "communities")],
        [_extended(item) for item in _few(element, "extended_communities")],
    )


def _few(element: Element, key: str) -> list[Element]:
    items = element.elements(key)
    if len(items) > _MOST_COMMUNITIES:
        raise refusal(element.at(key), f"are {len(items)}", f"up to {_MOST_COMMUNITIES}")
    return items


def _path(element: Element, own_as: int) -> list[Segment]:
    kinds = {"as_seq": False, "as_set": True}
    segments: list[Segment] = []
    with element.whole():
        mode = element.text("as_set_mode", "do_not_include_local_as")
        for item in element.elements("segments"):
            with item.whole():
                kind = item.text("type", "as_seq")
                if kind not in kinds:
                    raise refusal(item.at("type"), f"is {kind}", kinds)
                numbers = item.integers("as_numbers")
                if not numbers:
                    raise refusal(item.at("as_numbers"), "is empty", "one AS number or more")
                segments.append((kinds[kind], numbers))
        if sum(len(numbers) for _, numbers in segments) > _MOST_AS_NUMBERS:
            raise refusal(element.at("segments"), "have too many AS numbers", f"up to {_MOST_AS_NUMBERS}")
        own = {"include_as_seq": (False, [own_as]), "include_as_set": (True, [own_as])}
        if mode == "prepend_to_first_segment":
            kind_of_first, numbers = segments[0] if segments else (False, [])
            return [(kind_of_first, [own_as, *numbers]), *segments[1:]]
        if mode not in (*own, "do_not_include_local_as"):
            valid = ("do_not_include_local_as", *own, "prepend_to_first_segment")
            raise refusal(element.at("as_set_mode"), f"is {mode}", valid)
    return [own[mode], *segments] if mode in own else segments


def _community(element: Element) -> int:
    with element.whole():
        kind, number = element.text("type", "manual_as_number"), element.integer("as_number")
        return KNOWN_COMMUNITIES.get(kind, number << 16 | element.integer("as_custom"))


def _extended(element: Element) -> bytes:
    with element.whole():
        choice = element.choice(*_EXTENDED, "custom", default="transitive_2octet_as_type")
        with element.element(choice).whole() as inner:
            if choice == "custom":
                sizes = {"community_type": 1, "community_subtype": 1, "value": 6}
                return b"".join(_padded(inner, key, size) for key, size in sizes.items())
            kind, subtypes, *fields = _EXTENDED[choice]
            subtype = inner.choice(*subtypes, default="route_target_subtype")
            with inner.element(subtype).whole() as value:
                octets = [_number(value, key).to_bytes(size, "big") for key, size in fields]
            return bytes((kind, subtypes[subtype])) + b"".join(octets)


def _padded(element: Element, key: str, size: int) -> bytes:
    octets = element.octets(key)
    if len(octets) > size:
        raise refusal(element.at(key), f"has {len(octets)} bytes", f"up to {size}")
    return octets.rjust(size, b"\0")


def _number(element: Element, key: str) -> int:
    if key == "global_ipv4_admin":
        return int(IPv4Address(element.text(key, "0.0.0.0")))
    return element.integer(key)
