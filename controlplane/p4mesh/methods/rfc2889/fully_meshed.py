"""RFC 2889 5.1: fully meshed throughput, frame loss and forwarding rates."""

from __future__ import annotations

from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Leg, Mesh
from p4mesh.methods.options.parameters import ParameterSet, choice
from p4mesh.methods.rfc2889.meshed import Meshed, mesh_parameters
from p4mesh.traffic.patterns import FullMesh, MeshStreams, Pattern

MIN_PORTS = 2


class FullyMeshed(Meshed):
    """Every port sends to every other port in the order of RFC 2889 5.1.3."""

    name = "rfc2889.fully_meshed"
    title = "Fully meshed throughput, frame loss and forwarding rates"
    section = "RFC 2889 5.1"
    parameters = (
        *mesh_parameters("5.1"),
        choice(
            "pattern",
            FullMesh.kind,
            "RFC 2889 5.1.3",
            "order of the standard with all ports in step, or mesh_streams: ports without a common phase",
            (FullMesh.kind, MeshStreams.kind),
        ),
    )

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        """Return one leg with all ports on both sides; needs two ports of one line rate."""
        bed.require_ports(self.name, MIN_PORTS)
        ports = bed.port_numbers
        pattern = Pattern.of_kind(parameters.text("pattern"))()
        return Mesh((Leg(pattern, ports, ports),), bed.common_rate_bps(self.name))
