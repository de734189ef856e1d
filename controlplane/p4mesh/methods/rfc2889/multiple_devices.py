"""RFC 2889 5.3: partially meshed multiple devices, two switches joined by one uplink."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from p4mesh.errors import TopologyError
from p4mesh.methods.bed import TestBed
from p4mesh.methods.mesh import Leg, Mesh
from p4mesh.methods.parameters import Parameter, ParameterSet, boolean
from p4mesh.methods.rfc2889.mesh_test import MeshTest, mesh_parameters
from p4mesh.traffic.stream import PatternKind


class MultipleDevices(MeshTest):
    """Ports on one device talk to the ports on the other, with or without local traffic."""

    name: ClassVar[str] = "rfc2889.multiple_devices"
    title: ClassVar[str] = "Partially meshed multiple devices"
    section: ClassVar[str] = "RFC 2889 5.3"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        boolean("local_traffic", False, "RFC 2889 5.3.2", "also send between the ports of one device"),
        *mesh_parameters("5.3"),
    )

    def mesh(self, bed: TestBed, parameters: ParameterSet) -> Mesh:
        """Return a full mesh with local traffic, else two legs across; needs two equal groups of ports."""
        rate = bed.common_rate_bps(self.name)
        first, second = _groups(self.name, bed)
        if parameters.flag("local_traffic"):
            ports = bed.port_numbers
            return Mesh((Leg(PatternKind.FULL_MESH, ports, ports),), rate)
        if not bed.uplink_rate_bps:
            raise TopologyError(
                f"{self.name} needs a link between the two devices, topology '{bed.topology}' has none",
                hint="add a link from a port of one device to a port of the other",
            )
        uplink = Fraction(bed.uplink_rate_bps, rate)
        legs = (Leg(PatternKind.ROTATE, first, second), Leg(PatternKind.ROTATE, second, first))
        return Mesh(legs, rate, min(Fraction(100), 100 * uplink / len(first)), uplink)


def _groups(test: str, bed: TestBed) -> tuple[tuple[int, ...], tuple[int, ...]]:
    groups: dict[str, list[int]] = {}
    for port in bed.ports:
        groups.setdefault(port.attached_to, []).append(port.number)
    sizes = {len(ports) for ports in groups.values()}
    if len(groups) != 2 or len(sizes) != 1:
        found = ", ".join(f"{len(ports)} on {node}" for node, ports in groups.items())
        raise TopologyError(
            f"{test} needs equally many tester ports on two devices, topology '{bed.topology}' has {found}",
            hint="link half of the tester ports to each of two devices, and the devices to each other",
        )
    first, second = groups.values()
    return tuple(first), tuple(second)
