"""Builds the traffic of RFC 2544: port pairs, one pair alone (section 15), or half to half in phase (section 16)."""

from __future__ import annotations

from p4mesh.errors import TopologyError
from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Leg, Mesh
from p4mesh.methods.options.parameters import Parameter, ParameterSet, boolean, choice
from p4mesh.traffic.patterns import InPhase, Pairs, Pattern

PAIRS, FIRST_PAIR, MULTI_PORT = "pairs", "first_pair", "multi_port"
RFC_DURATION_S = 60
MIN_PORTS = 2

PARAMETERS: tuple[Parameter, ...] = (
    choice(
        "ports",
        PAIRS,
        "RFC 2544 15, 16",
        "neighbouring ports in pairs, ports 1 and 2 alone, or half to half in phase",
        (PAIRS, FIRST_PAIR, MULTI_PORT),
    ),
    boolean("bidirectional", True, "RFC 2544 14", "every port transmits; else the first of a pair or the first half"),
)


def mesh_of(test: str, bed: Bed, parameters: ParameterSet, *, mixed_rates: bool = False) -> Mesh:
    """Return the traffic of a test; raises TopologyError for an odd number of ports or mixed rates.

    With ``mixed_rates`` pairs may have ports of different rates; 100 % is the rate of the slowest port.
    """
    kind = parameters.text("ports")
    bed.require_ports(test, MIN_PORTS)
    ports = bed.port_numbers[:MIN_PORTS] if kind == FIRST_PAIR else bed.port_numbers
    if len(ports) % 2:
        raise TopologyError(
            f"{test} needs an even number of tester ports, topology '{bed.topology}' has {len(ports)}",
            hint="ports 1 and 2 are a pair, 3 and 4, and so on; --set ports=first_pair uses ports 1 and 2 alone",
        )
    mixed = mixed_rates and kind != MULTI_PORT
    rate_bps = bed.slowest_rate_bps if mixed else bed.common_rate_bps(test)
    pattern: Pattern
    if kind != MULTI_PORT:
        first, second, pattern = ports[::2], ports[1::2], Pairs()
    else:
        half = len(ports) // 2
        first, second, pattern = ports[:half], ports[half:], InPhase()
    legs = [Leg(pattern, first, second)]
    if parameters.flag("bidirectional"):
        legs.append(Leg(pattern, second, first))
    return Mesh(tuple(legs), rate_bps)
