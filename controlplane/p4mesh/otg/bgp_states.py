"""State of BGP: the routes of the neighbours, as the API has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import islice
from typing import Any

from snappi import otg_pb2 as pb2

from p4mesh.errors import OtgError
from p4mesh.otg.bgp import BgpPeer
from p4mesh.otg.bgp_routes import KNOWN_COMMUNITIES
from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.metrics import chosen

_MOST_PREFIXES = 20_000
"""Most prefixes in one answer: the text of each has some hundred bytes."""
_NAMES = {value: name for name, value in KNOWN_COMMUNITIES.items()}


@dataclass(frozen=True)
class Prefix:
    """A network as the engine writes it: a request is for thousands, which the library of addresses reads slowly."""

    address: str
    bits: int

    @classmethod
    def of(cls, text: str) -> Prefix:
        """The prefix of ADDRESS/BITS."""
        address, _, bits = text.partition("/")
        # The engine writes IPv4 addresses within IPv6 (RFC 4291 2.5.5.2) with dots, ipaddress does not.
        return cls(str(ip_address(address)) if ":" in address and "." in address else address, int(bits))

    @property
    def version(self) -> int:
        """4 or 6."""
        return 6 if ":" in self.address else 4


@dataclass(frozen=True)
class PrefixFilter:
    """Networks that a request asks for; what is empty or None says nothing."""

    addresses: frozenset[str]
    prefix_bits: int | None
    origin: str

    def takes(self, network: Prefix, origin: str) -> bool:
        """Whether a route is asked for."""
        return (
            (not self.addresses or network.address in self.addresses)
            and self.prefix_bits in (None, network.bits)
            and self.origin in ("", origin)
        )


def bgp_prefixes(
    element: Element, peers: Mapping[str, BgpPeer], learned: Callable[[str], Iterable[Mapping[str, Any]]]
) -> pb2.StatesResponse:
    """Routes of the neighbours of peers, of the families that their ``learned_information_filter`` names."""
    with element.whole():
        names = chosen(element.texts("bgp_peer_names"), peers, "BGP peer")
        families = element.texts("prefix_filters") or ["ipv4_unicast", "ipv6_unicast"]
        filters = {version: _filters(element, f"ipv{version}_unicast_filters") for version in (4, 6)}
    for family in families:
        if family not in ("ipv4_unicast", "ipv6_unicast"):
            raise refusal(element.at("prefix_filters"), f"has {family}", ("ipv4_unicast", "ipv6_unicast"))
    response = pb2.StatesResponse(choice=pb2.StatesResponse.Choice.bgp_prefixes)
    left = _MOST_PREFIXES
    for name in names:
        wanted = {version for version in peers[name].kept_versions if f"ipv{version}_unicast" in families}
        state = response.bgp_prefixes.add(bgp_peer_name=name)
        found = (
            (network, route)
            for route in learned(name)
            if (network := Prefix.of(route["network"])).version in wanted
            and (
                not filters[network.version]
                or any(it.takes(network, route["origin"]) for it in filters[network.version])
            )
        )
        for network, route in islice(found, left + 1):
            left -= 1
            if left < 0:
                raise OtgError(
                    f"the routes are more than {_MOST_PREFIXES}",
                    hint="ask for some peers, for one family, or with filters of addresses",
                )
            _add_prefix(state, network, route)
    return response


def _filters(element: Element, key: str) -> Sequence[PrefixFilter]:
    found = []
    for item in element.elements(key):
        with item.whole():
            bits = item.integer("prefix_length") if "prefix_length" in item else None
            found.append(PrefixFilter(frozenset(item.texts("addresses")), bits, item.text("origin")))
    return found


def _add_prefix(state: pb2.BgpPrefixesState, network: Prefix, route: Mapping[str, Any]) -> None:
    prefix = getattr(state, f"ipv{network.version}_unicast_prefixes").add(prefix_length=network.bits)
    setattr(prefix, f"ipv{network.version}_address", network.address)
    prefix.origin = type(prefix).Origin.Enum.Value(route["origin"])
    if (hop := route["next_hop"]) is not None:
        setattr(prefix, f"ipv{hop.version}_next_hop", str(hop))
    for key, given in (("local_preference", "local_preference"), ("multi_exit_discriminator", "metric")):
        if route[given] is not None:
            setattr(prefix, key, route[given])
    kinds = pb2.ResultBgpAsPathSegment.Type
    for is_set, numbers in route["as_path"]:
        prefix.as_path.segments.add(type=kinds.as_set if is_set else kinds.as_seq, as_numbers=numbers)
    for value in route["communities"]:
        kind = pb2.ResultBgpCommunity.Type.Enum.Value(_NAMES.get(value, "manual_as_number"))
        prefix.communities.add(type=kind, as_number=value >> 16, as_custom=value & 0xFFFF)
    for octets in route["extended_communities"]:
        prefix.extended_communities.add(raw=bytes(octets).hex())
