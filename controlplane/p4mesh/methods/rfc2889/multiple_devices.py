"""RFC 2889 5.3: partially meshed multiple devices, two switches joined by one uplink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import cast

from p4mesh.errors import TopologyError
from p4mesh.methods.base import Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Leg, Mesh
from p4mesh.methods.options.parameters import ParameterSet, boolean
from p4mesh.methods.results import fields
from p4mesh.methods.results.outcome import Cell, Outcome, Table
from p4mesh.methods.results.rate_tables import MESH_THROUGHPUT
from p4mesh.methods.rfc2889.meshed import Meshed, MeshUnit, mesh_parameters
from p4mesh.traffic.patterns import FullMesh, Rotate

_RESULT_TABLES = (MESH_THROUGHPUT, "forwarding_rate")
UPLINK_COLUMNS = (fields.UPLINK_MBPS, fields.LOCAL_TRAFFIC, fields.THEORETICAL_PCT, fields.THEORETICAL_FPS)


class MultipleDevices(Meshed):
    """Ports on one device talk to the ports on the other, with or without local traffic."""

    name = "rfc2889.multiple_devices"
    title = "Partially meshed multiple devices"
    section = "RFC 2889 5.3"
    parameters = (
        boolean("local_traffic", False, "RFC 2889 5.3.2", "also send between the ports of one device"),
        *mesh_parameters("5.3"),
    )

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        """A full mesh with local traffic, else two legs across; needs two equal groups of ports."""
        rate = bed.common_rate_bps(self.name)
        first, second = _groups(self.name, bed)
        if not bed.uplink_rate_bps:
            raise TopologyError(
                f"{self.name} needs a link between the two devices, topology '{bed.topology}' has none",
                hint="add a link from a port of one device to a port of the other",
            )
        uplink, ports = Fraction(bed.uplink_rate_bps, rate), len(first)
        if parameters.flag("local_traffic"):
            # Of the 2n - 1 destinations of a port n are behind the uplink.
            share = Fraction(ports, 2 * ports - 1)
            across = min(ports * share, uplink)
            limit = min(Fraction(100), 100 * uplink / (ports * share))
            everyone = bed.port_numbers
            lines = 2 * (ports * (1 - share) + across)
            return Mesh((Leg(FullMesh(), everyone, everyone),), rate, limit, limit_lines=lines)
        legs = (Leg(Rotate(), first, second), Leg(Rotate(), second, first))
        return Mesh(legs, rate, min(Fraction(100), 100 * uplink / ports), uplink_lines=uplink)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, MeshUnit]) -> Outcome:
        """The tables of the mesh tests with the uplink, and the most that it carries."""
        outcome = super().assemble(bed, parameters, results)
        limits = {unit.frame_size_bytes: result.theoretical_fps for unit, result in results.items()}
        fixed = {
            "uplink_mbps": bed.uplink_rate_bps / 1_000_000,
            "local_traffic": "on" if parameters.flag("local_traffic") else "off",
            "theoretical_pct": float(self.mesh(bed, parameters).theoretical_pct),
        }
        tables = tuple(
            _with_uplink(table, fixed, limits) if table.name in _RESULT_TABLES else table for table in outcome.tables
        )
        return replace(outcome, tables=tables)


def _with_uplink(table: Table, fixed: Mapping[str, Cell], limits: Mapping[int, float]) -> Table:
    """A result table with the columns that methodology 3.3 adds."""
    rows = tuple({**row, **fixed, "theoretical_fps": limits[cast(int, row["frame_size_bytes"])]} for row in table.rows)
    kept = tuple(column for column in table.columns if column != fields.THEORETICAL_PCT)
    known = {column.key for column in kept}
    added = tuple(column for column in UPLINK_COLUMNS if column.key not in known)
    return replace(table, columns=(*kept, *added), rows=rows)


def _groups(test: str, bed: Bed) -> tuple[tuple[int, ...], tuple[int, ...]]:
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
