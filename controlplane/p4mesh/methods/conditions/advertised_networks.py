"""Hosts one hop behind the device, in networks of one prefix length that it has routes to (RFC 5180 5.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_interface
from typing import Annotated

from p4mesh.errors import ParameterError
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import Parameter, ParameterSet, choice, integer
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.outcome import Table
from p4mesh.methods.results.record import Record
from p4mesh.tester.stations import host_behind, host_in, station
from p4mesh.traffic.addresses import (
    ADVERTISED_PREFIX_BITS,
    MAX_ADVERTISED_PORT,
    MAX_NETWORKS_PER_PORT,
    MAX_NETWORKS_PORT,
    NETWORK_BITS,
)

NAME, CONNECTED = "advertised_prefix", "none"
CONNECTED_PREFIX_BITS = 64
"""Length of the networks that the tester's stations share with the device (RFC 5180 5.2.1)."""
_MAX_IPV4_PORT = 255
_IPV4_PREFIX_BITS = 24
_RANGE_PREFIX_BITS = 48
"""Length of the range that RFC 5180 gives to benchmarks."""
PARAMETER: Parameter = choice(
    NAME,
    CONNECTED,
    "RFC 5180 5.2",
    "frames go to hosts one hop behind the device, in networks of this length; none = to its neighbours, 64 bits",
    (CONNECTED, *map(str, ADVERTISED_PREFIX_BITS)),
)
COUNT: Parameter = integer(
    "advertised_networks",
    0,
    "networks",
    "RFC 5180 5.2",
    "networks behind each port (10.P.N.0/24 or 2001:2:P:N::/64), used in turn by its senders; 0 = advertised_prefix",
    (0, MAX_NETWORKS_PER_PORT),
)


@dataclass(frozen=True, kw_only=True)
class Route(Record):
    """A network behind a port of the device, and the station that leads to it."""

    port: Annotated[int, retitled(fields.PORT, "Behind port")]
    network: Annotated[str, fields.NETWORK]
    next_hop: Annotated[str, fields.NEXT_HOP]
    host: Annotated[str, fields.HOST]


def prefix_bits(parameters: ParameterSet) -> int:
    """Length of the networks behind the device; 0 when frames go to its neighbours."""
    text = parameters.text(NAME)
    return 0 if text == CONNECTED else int(text)


def count(parameters: ParameterSet) -> int:
    """How many networks behind each port frames go to; 0 where they are not asked for by number."""
    return parameters.integer(COUNT.name)


def uses_routes(parameters: ParameterSet) -> bool:
    """Whether frames go to networks that the device has routes to."""
    chosen = NAME in parameters.values and COUNT.name in parameters.values
    return chosen and bool(prefix_bits(parameters) or count(parameters))


def check(test: str, bed: Bed, parameters: ParameterSet) -> None:
    """Refuse networks without a router, and networks that another parameter chooses as well."""
    value, networks = parameters.text(NAME), count(parameters)
    if value == CONNECTED and not networks:
        return
    asked = f"{test}: {COUNT.name}={networks}" if networks else f"{test}: {NAME}={value}"
    if networks and value != CONNECTED:
        raise ParameterError(f"{asked} with {NAME}={value}, which chooses networks", hint="leave one of them out")
    if not parameters.flag("routed"):
        raise ParameterError(f"{asked} without routed=true: a bridge has no routes", hint="add --set routed=true")
    for name, chosen in (("modifier", "networks"), ("tagged_network", "new"), ("tagged_network", "both")):
        if parameters.values.get(name) == chosen:
            raise ParameterError(f"{asked} with {name}={chosen}, which chooses networks", hint="leave one of them out")
    limit = MAX_ADVERTISED_PORT if parameters.text("ip_mix") == "none" else _MAX_IPV4_PORT
    limit = MAX_NETWORKS_PORT if networks else limit
    if max(bed.port_numbers) > limit:
        raise ParameterError(f"{asked}: there are addresses for ports 1..{limit}", hint="use fewer ports")


def deviations(bed: Bed, parameters: ParameterSet) -> tuple[str, ...]:
    """Deviations from the text, for the report."""
    bits, networks = prefix_bits(parameters), count(parameters)
    if not bits and not networks:
        return ()
    texts = []
    if not bed.announces_routes:
        of = f"{networks} networks per port" if networks else f"{bits} bits"
        texts.append(f"Routes of {of} are the user's to configure, no routing protocol advertises them.")
    if bits == _RANGE_PREFIX_BITS:
        texts.append(
            "Networks of 48 bits are 2001:2:N::/48 behind port N: the range of RFC 5180, 2001:2::/48, is only one."
        )
    if networks:
        texts.append(
            f"{networks} networks behind each port: its senders use them in turn. With fewer senders to a port than "
            "networks, the others carry no traffic."
        )
    return (" ".join(texts),) if texts else ()


def route_tables(bed: Bed, parameters: ParameterSet) -> tuple[Table, ...]:
    """The routes that the device must have."""
    bits, networks = prefix_bits(parameters), count(parameters)
    if not bits and not networks:
        return ()
    own = 4 if parameters.text("frame_format") == "ipv4" else 6
    versions = (own,) if parameters.text("ip_mix") == "none" else (4, 6)
    rows = [row for port in bed.port_numbers for version in versions for row in _routes(port, version, bits, networks)]
    note = "Stations of the tester are the next hops; they answer ARP and neighbour discovery."
    keys = (fields.PORT, fields.NETWORK)
    return (Route.table("routes", "Routes of the device", rows, note, keys=keys, detail=True),)


def _routes(port: int, version: int, prefix_bits: int, networks: int) -> Iterator[Route]:
    """Routes to the networks behind a port: to some by their number, or to the one of a prefix length."""
    owner = station(port)
    length = NETWORK_BITS[version] if networks else _IPV4_PREFIX_BITS if version == 4 else prefix_bits
    hosts = [host_in(owner, version, number) for number in range(networks)]
    for behind in hosts or [host_behind(owner, version, prefix_bits)]:
        next_hop, host = (owner.ipv4, behind.ipv4) if version == 4 else (owner.ipv6, behind.ipv6)
        network = ip_interface(f"{host}/{length}").network
        yield Route(port=port, network=str(network), next_hop=str(next_hop), host=str(host))
