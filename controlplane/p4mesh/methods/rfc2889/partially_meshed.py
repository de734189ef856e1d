"""RFC 2889 5.2: partially meshed, one port to many ports, many to one, or both at once."""

from __future__ import annotations

from fractions import Fraction

from p4mesh.errors import TopologyError
from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Leg, Mesh
from p4mesh.methods.options.parameters import ParameterSet, choice, port_number
from p4mesh.methods.rfc2889.meshed import Meshed, mesh_parameters
from p4mesh.traffic.patterns import Rotate

MIN_PORTS = 3
FROM_ONE, TO_ONE, BOTH = "from_one", "to_one", "both"


class PartiallyMeshed(Meshed):
    """One port exchanges traffic with all the others (RFC 2889 5.2.3)."""

    name = "rfc2889.partially_meshed"
    title = "Partially meshed one-to-many and many-to-one"
    section = "RFC 2889 5.2"
    parameters = (
        choice("direction", BOTH, "RFC 2889 5.2.2", "who transmits", (FROM_ONE, TO_ONE, BOTH)),
        port_number("one_port", 1, "RFC 2889 5.2.2", "the one port"),
        *mesh_parameters("5.2"),
    )

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        """A leg per direction; loads are percent of each port's own rate (RFC 2889 5.2.2).

        K equal ports over-subscribe the one port above 100/K %.
        """
        bed.require_ports(self.name, MIN_PORTS)
        one = bed.require_port("one_port", parameters.integer("one_port"))
        many = tuple(port for port in bed.port_numbers if port != one)
        fast, slow = _common_rate_bps(self.name, bed, (one,)), _common_rate_bps(self.name, bed, many)
        inside = len(many) * slow
        direction = parameters.text("direction")
        legs = []
        limits = [Fraction(1)]
        if direction in (FROM_ONE, BOTH):
            legs.append(Leg(Rotate(), (one,), many, fast))
            limits.append(Fraction(inside, fast))
        if direction in (TO_ONE, BOTH):
            legs.append(Leg(Rotate(), many, (one,), slow))
            limits.append(Fraction(fast, inside))
        line_rate = min(fast, slow)
        lines = len(legs) * Fraction(min(fast, inside), line_rate)
        return Mesh(tuple(legs), line_rate, 100 * min(limits), limit_lines=lines)


def _common_rate_bps(test: str, bed: Bed, ports: tuple[int, ...]) -> int:
    """The line rate of the many ports, by their slowest clock; the one port may have another."""
    alike = [port for port in bed.ports if port.number in ports]
    rates = sorted({port.rate_bps for port in alike})
    if len(rates) > 1:
        listed = ", ".join(f"{rate} bit/s" for rate in rates)
        raise TopologyError(
            f"{test} needs many ports of one line rate, topology '{bed.topology}' has {listed}",
            hint="give them the same rate_bps; only one_port may differ",
        )
    return min(port.own_rate_bps for port in alike)
