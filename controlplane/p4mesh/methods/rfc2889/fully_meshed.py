"""RFC 2889 5.1: fully meshed throughput, frame loss and forwarding rates."""

from __future__ import annotations

from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Mesh
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.port_patterns import full_mesh, pattern_parameters
from p4mesh.methods.rfc2889.meshed import Meshed, mesh_parameters
from p4mesh.traffic.patterns import FullMesh, MeshStreams


class FullyMeshed(Meshed):
    """Every port sends to every other port in the order of RFC 2889 5.1.3."""

    name = "rfc2889.fully_meshed"
    title = "Fully meshed throughput, frame loss and forwarding rates"
    terms = "FRMOL, maximum offered load"
    section = "RFC 2889 5.1"
    parameters = (
        *mesh_parameters("5.1"),
        *pattern_parameters("RFC 2889 5.1.3", FullMesh.kind, MeshStreams.kind),
    )

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        """One leg with all ports on both sides; needs two ports of one line rate."""
        return full_mesh(self.name, bed, parameters)
