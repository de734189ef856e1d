"""RFC 2889 5.4: partially meshed unidirectional traffic, half of the ports to the others, or groups of any size."""

from __future__ import annotations

from fractions import Fraction

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Leg, Mesh
from p4mesh.methods.options.parameters import Kind, Parameter, ParameterSet, boolean
from p4mesh.methods.port_patterns import pattern_of, pattern_parameters
from p4mesh.methods.rfc2889.meshed import Meshed, mesh_parameters
from p4mesh.traffic.patterns import InPhase, Pairs, Rotate

MIN_PORTS = 2
HALF = "half"
_SECTION = "RFC 2889 5.4.2"


class Unidirectional(Meshed):
    """The first half of the ports sends to the second half in turn (RFC 2889 5.4.3)."""

    name = "rfc2889.unidirectional"
    title = "Partially meshed unidirectional traffic"
    section = "RFC 2889 5.4"
    parameters = (
        Parameter(
            "senders",
            Kind.INTEGER,
            HALF,
            "ports",
            _SECTION,
            "how many of the ports send, the first ones; the others receive",
            Fraction(1),
            Fraction(511),
            (HALF,),
        ),
        *pattern_parameters(_SECTION, Rotate.kind, Pairs.kind, InPhase.kind),
        boolean("bidirectional", False, _SECTION, "receivers send to the senders as well"),
        *mesh_parameters("5.4"),
    )

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        """A leg per direction between the first ports and the others."""
        bed.require_ports(self.name, MIN_PORTS)
        ports = bed.port_numbers
        count = _senders(self.name, bed, parameters)
        senders, receivers = ports[:count], ports[count:]
        pattern = pattern_of(self.name, parameters)
        if isinstance(pattern, Pairs) and len(senders) != len(receivers):
            raise ParameterError(
                f"pattern=pairs: {len(senders)} ports send, {len(receivers)} receive",
                hint="a pair has one of each: use senders=half",
            )
        legs = [Leg(pattern, senders, receivers)]
        if parameters.flag("bidirectional"):
            legs.append(Leg(pattern, receivers, senders))
        limits = [Fraction(100 * len(leg.rx_ports), len(leg.tx_ports)) for leg in legs]
        return Mesh(tuple(legs), bed.common_rate_bps(self.name), min(Fraction(100), *limits))


def _senders(test: str, bed: Bed, parameters: ParameterSet) -> int:
    """Number of ports that send; half of them needs an even number."""
    ports = len(bed.ports)
    if not parameters.is_word("senders"):
        count = parameters.integer("senders")
        if count >= ports:
            raise ParameterError(
                f"senders={count}: topology '{bed.topology}' has {ports} ports", hint=f"1 to {ports - 1} of them send"
            )
        return count
    if ports % 2:
        raise TopologyError(
            f"{test} needs an even number of tester ports, topology '{bed.topology}' has {ports}",
            hint="the first half sends to the second half",
        )
    return ports // 2
