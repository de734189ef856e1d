"""RFC 2889 5.4: partially meshed unidirectional traffic, one half of the ports to the other."""

from __future__ import annotations

from p4mesh.errors import TopologyError
from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Leg, Mesh
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.rfc2889.meshed import Meshed, mesh_parameters
from p4mesh.traffic.patterns import Rotate

MIN_PORTS = 2


class Unidirectional(Meshed):
    """The first half of the ports sends to the second half in turn (RFC 2889 5.4.3)."""

    name = "rfc2889.unidirectional"
    title = "Partially meshed unidirectional traffic"
    section = "RFC 2889 5.4"
    parameters = mesh_parameters("5.4")

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        """Return one leg from the first to the second half; needs an even number of ports."""
        bed.require_ports(self.name, MIN_PORTS)
        ports = bed.port_numbers
        if len(ports) % 2:
            raise TopologyError(
                f"{self.name} needs an even number of tester ports, topology '{bed.topology}' has {len(ports)}",
                hint="the first half sends to the second half",
            )
        half = len(ports) // 2
        return Mesh((Leg(Rotate(), ports[:half], ports[half:]),), bed.common_rate_bps(self.name))
