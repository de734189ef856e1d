"""Throughput of bunch-to-bucket measurements, many ports to one (timing network report 3.2, methodology 7.2)."""

from __future__ import annotations

from fractions import Fraction

from p4mesh.errors import ParameterError
from p4mesh.methods.bed import Bed
from p4mesh.methods.gsi.defaults import MESSAGE_SIZES_BYTES, SEARCH
from p4mesh.methods.mesh import Leg, Mesh
from p4mesh.methods.options.parameters import ParameterSet, integer, port_number, with_defaults
from p4mesh.methods.rfc2889.meshed import Meshed, mesh_parameters
from p4mesh.traffic.patterns import Rotate

_SECTION = "GSI timing network 3.2"
_SEARCH = {**SEARCH, "search_initial_pct": Fraction(1), "search_resolution_pct": Fraction("0.1")}


class B2b(Meshed):
    """Several ports send to one; 100 % is the share of the cap that ``rate_fraction_pct`` gives."""

    name = "gsi.b2b"
    title = "Bunch-to-bucket measurements to one port"
    section = _SECTION
    frame_sizes_bytes = MESSAGE_SIZES_BYTES
    parameters = (
        port_number("receiver", 1, _SECTION, "port that receives"),
        integer(
            "west_ports",
            0,
            "ports",
            _SECTION,
            "ports that send, of the highest numbers; 0 = all others",
            (0, 511),
        ),
        *with_defaults(mesh_parameters("5.4"), **_SEARCH),
    )

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        """One leg from the west ports to the receiver."""
        receiver = bed.require_port("receiver", parameters.integer("receiver"))
        wanted = parameters.integer("west_ports")
        others = tuple(port for port in bed.port_numbers if port != receiver)
        if wanted > len(others):
            raise ParameterError(
                f"west_ports={wanted}: topology '{bed.topology}' has {len(others)} ports beside the receiver",
                hint=f"use 1 to {len(others)}, or 0 for all of them",
            )
        bed.require_ports(self.name, 2)
        senders = others[-wanted:] if wanted else others
        most = Fraction(100, len(senders))
        return Mesh((Leg(Rotate(), senders, (receiver,)),), bed.common_rate_bps(self.name), most)
