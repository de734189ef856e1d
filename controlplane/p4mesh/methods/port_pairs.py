"""Builds the traffic of RFC 2544: port pairs, one pair alone (section 15), half to half (section 16), full mesh."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.methods.bed import Bed, Port
from p4mesh.methods.mesh import Leg, Mesh
from p4mesh.methods.options.parameters import Parameter, ParameterSet, boolean, choice
from p4mesh.traffic.patterns import FullMesh, InPhase, Pairs, Pattern

PAIRS, FIRST_PAIR, MULTI_PORT, FULL_MESH = "pairs", "first_pair", "multi_port", "full_mesh"
RFC_DURATION_S = 60
MIN_PORTS = 2

PARAMETERS: tuple[Parameter, ...] = (
    choice(
        "ports",
        PAIRS,
        "RFC 2544 15, 16",
        "neighbouring ports in pairs, ports 1 and 2 alone, half to half in phase, or each to all others in turn",
        (PAIRS, FIRST_PAIR, MULTI_PORT, FULL_MESH),
    ),
    boolean("bidirectional", True, "RFC 2544 14", "every port transmits; else the first of a pair or the first half"),
)


def mesh_of(test: str, bed: Bed, parameters: ParameterSet) -> Mesh:
    """Return the traffic of a test; raises TopologyError for an odd number of ports, but in a full mesh.

    Ports may have different rates; 100 % is the rate of the slowest one in use, which every port can send and receive.
    """
    kind = parameters.text("ports")
    bed.require_ports(test, MIN_PORTS)
    ports = _used(bed, parameters)
    if kind == FULL_MESH:
        if not parameters.flag("bidirectional"):
            raise ParameterError(
                f"{test}: ports={FULL_MESH} with bidirectional=false: in a full mesh every port transmits",
                hint="leave bidirectional out, or use ports=pairs",
            )
        return Mesh((Leg(FullMesh(), ports, ports),), bed.common_rate_bps(test))
    if len(ports) % 2:
        raise TopologyError(
            f"{test} needs an even number of tester ports, topology '{bed.topology}' has {len(ports)}",
            hint="ports 1 and 2 are a pair, 3 and 4, and so on; --set ports=first_pair uses ports 1 and 2 alone",
        )
    pattern: Pattern
    if kind != MULTI_PORT:
        first, second, pattern = ports[::2], ports[1::2], Pairs()
    else:
        half = len(ports) // 2
        first, second, pattern = ports[:half], ports[half:], InPhase()
    legs = [Leg(pattern, first, second)]
    if parameters.flag("bidirectional"):
        legs.append(Leg(pattern, second, first))
    return Mesh(tuple(legs), min(port.own_rate_bps for port in bed.ports if port.number in ports))


def percent_of(bed: Bed, parameters: ParameterSet) -> tuple[str, ...]:
    """Return the rate that loads are percent of, where the ports in use have different rates."""
    return rates_text([port for port in bed.ports if port.number in _used(bed, parameters)])


def rates_text(ports: Sequence[Port]) -> tuple[str, ...]:
    """Return the sentence about ports of different nominal rates; empty where they are the same."""
    rates = sorted({port.rate_bps for port in ports})
    if len(rates) == 1:
        return ()
    listed = " and ".join(f"{rate / 1e9:g}" for rate in rates)
    slowest = min(port.own_rate_bps for port in ports) / 1e9
    return (f"Ports have {listed} Gbit/s. Loads are percent of the slowest port's line rate, {slowest:g} Gbit/s.",)


def _used(bed: Bed, parameters: ParameterSet) -> tuple[int, ...]:
    return bed.port_numbers[:MIN_PORTS] if parameters.text("ports") == FIRST_PAIR else bed.port_numbers
