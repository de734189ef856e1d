"""Hosts one hop behind the device, in networks of one prefix length that it has routes to (RFC 5180 5.2)."""

from __future__ import annotations

from ipaddress import ip_interface

from p4mesh.errors import ParameterError
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import Parameter, ParameterSet, choice
from p4mesh.methods.results.outcome import Cell, Column, Table
from p4mesh.tester.stations import host_behind, station
from p4mesh.traffic.addresses import ADVERTISED_PREFIX_BITS, MAX_ADVERTISED_PORT

NAME, CONNECTED = "advertised_prefix", "none"
CONNECTED_PREFIX_BITS = 64
"""Of the networks that the tester's stations share with the device (RFC 5180 5.2.1)."""
_MAX_IPV4_PORT = 255
_IPV4_PREFIX_BITS = 24
_RANGE_PREFIX_BITS = 48
"""Of the range that RFC 5180 gives to benchmarks."""
PARAMETER: Parameter = choice(
    NAME,
    CONNECTED,
    "RFC 5180 5.2",
    "frames go to hosts one hop behind the device, in networks of this length; none = to its neighbours, 64 bits",
    (CONNECTED, *map(str, ADVERTISED_PREFIX_BITS)),
)
_COLUMNS = (
    Column("port", "Behind port"),
    Column("network", "Network"),
    Column("next_hop", "Next hop"),
    Column("host", "Host"),
)


def prefix_bits(parameters: ParameterSet) -> int:
    """Return the length of the networks behind the device; 0 when frames go to its neighbours."""
    text = parameters.text(NAME)
    return 0 if text == CONNECTED else int(text)


def check(test: str, bed: Bed, parameters: ParameterSet) -> None:
    """Refuse networks without a router, and networks that another parameter chooses as well."""
    value = parameters.text(NAME)
    if value == CONNECTED:
        return
    asked = f"{test}: {NAME}={value}"
    if not parameters.flag("routed"):
        raise ParameterError(f"{asked} without routed=true: a bridge has no routes", hint="add --set routed=true")
    for name, chosen in (("modifier", "networks"), ("tagged_network", "new"), ("tagged_network", "both")):
        if parameters.values.get(name) == chosen:
            raise ParameterError(f"{asked} with {name}={chosen}, which chooses networks", hint="leave one of them out")
    limit = MAX_ADVERTISED_PORT if parameters.text("ip_mix") == "none" else _MAX_IPV4_PORT
    if max(bed.port_numbers) > limit:
        raise ParameterError(f"{asked}: there are addresses for ports 1..{limit}", hint="use fewer ports")


def deviations(parameters: ParameterSet) -> tuple[str, ...]:
    """Return the deviations from the text, for the report."""
    bits = prefix_bits(parameters)
    if not bits:
        return ()
    text = f"Routes of {bits} bits are the user's to configure, no routing protocol advertises them."
    outside = "Networks of 48 bits are 2001:2:N::/48 behind port N: the range of RFC 5180, 2001:2::/48, is only one."
    return (f"{text} {outside}" if bits == _RANGE_PREFIX_BITS else text,)


def route_tables(bed: Bed, parameters: ParameterSet) -> tuple[Table, ...]:
    """Return the routes that the device must have."""
    bits = prefix_bits(parameters)
    if not bits:
        return ()
    mixed = parameters.text("ip_mix") != "none"
    rows = [_row(port, version, bits) for port in bed.port_numbers for version in ((4, 6) if mixed else (6,))]
    note = "Stations of the tester are the next hops; they answer ARP and neighbour discovery."
    return (Table("routes", "Routes of the device", _COLUMNS, tuple(rows), note, True, ("port", "network")),)


def _row(port: int, ip_version: int, prefix_bits: int) -> dict[str, Cell]:
    owner = station(port)
    behind = host_behind(owner, ip_version, prefix_bits)
    next_hop, host = (owner.ipv4, behind.ipv4) if ip_version == 4 else (owner.ipv6, behind.ipv6)
    bits = _IPV4_PREFIX_BITS if ip_version == 4 else prefix_bits
    network = ip_interface(f"{host}/{bits}").network
    return {"port": port, "network": str(network), "next_hop": str(next_hop), "host": str(host)}
