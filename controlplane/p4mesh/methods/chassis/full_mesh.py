"""Throughput, latency and jitter of a full mesh at the throughput and at 10, 50 and 90 % of line rate.

Published tests of chassis with hundreds of ports print these columns per frame size: frames per second of all
receivers, Tbit/s, percent of line rate, latency and jitter of every frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.chassis import tables as own
from p4mesh.methods.chassis.loads import FRAME_SIZES_BYTES, LOWER_LOADS_PCT, PPM_BELOW
from p4mesh.methods.chassis.udp_ports import FIXED, UDP_PORTS, udp_modifiers
from p4mesh.methods.criterion import criterion_of
from p4mesh.methods.mesh import LATENCY, THROUGHPUT, Mesh, measure_loads, measure_throughput
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, with_defaults
from p4mesh.methods.port_patterns import (
    DURATION_CLAUSE,
    PATTERN,
    PORTS_IN_STEP,
    RFC_DURATION_S,
    full_mesh,
    pattern_parameters,
)
from p4mesh.methods.results import rate_tables
from p4mesh.methods.results.forwarding import MeshThroughput, MeshTrial
from p4mesh.methods.results.latency import LATENCY_DEFINITION, check_definition, definition_text
from p4mesh.methods.results.latency_tables import latency_note
from p4mesh.methods.results.loss_interval import longer_text
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import Record
from p4mesh.methods.rfc2889.mesh_latency import PERCENTILES, MeshLatency
from p4mesh.methods.shapes import SearchTest
from p4mesh.traffic.patterns import FullMesh, MeshStreams

SECTION = "RFC 2544 26.1, 26.2"


@dataclass(frozen=True, kw_only=True)
class LoadsUnit(Record):
    """Throughput of one frame size, and the trials at the lower loads that it reaches."""

    frame_size_bytes: int
    throughput: MeshThroughput
    lower: tuple[MeshTrial, ...]
    flooded_frames: int

    @property
    def rows(self) -> tuple[MeshTrial, ...]:
        """Every trial at a lower load."""
        return self.lower


class FullMeshAtLoads(SearchTest[LoadsUnit]):
    """The throughput of each frame size, then latency and jitter of every frame at it and at lower loads."""

    name = "chassis.full_mesh"
    title = "Full mesh at 10, 50, 90 % and at the throughput"
    section = SECTION
    part = LATENCY
    duration_s, duration_clause = RFC_DURATION_S, DURATION_CLAUSE
    frame_sizes_bytes = FRAME_SIZES_BYTES
    parameters = (
        *pattern_parameters("RFC 2889 5.1.3", FullMesh.kind, MeshStreams.kind),
        UDP_PORTS,
        *with_defaults((LATENCY_DEFINITION,), latency_definition="LIFO"),
        shared.DEPARTURE_ERROR,
        PERCENTILES,
        *with_defaults(shared.trial_parameters(SECTION, RFC_DURATION_S), ppm_below=Fraction(PPM_BELOW)),
        *shared.search_parameters(SECTION),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds without two ports of one rate, and contradicting parameters."""
        super().check(bed, parameters)
        check_definition(self.name, bed, parameters)
        if parameters.text(UDP_PORTS.name) != FIXED and shared.frame_of(parameters).network is None:
            raise ParameterError(
                f"{UDP_PORTS.name}={parameters.text(UDP_PORTS.name)}: frames without IP have no UDP ports",
                hint="use frame_format=ipv4 or ipv6",
            )

    def latency_pairs(self, bed: Bed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        """Every ordered pair of ports."""
        return self.mesh(bed, parameters).pairs

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        """One leg with all ports on both sides; needs two ports of one line rate."""
        return replace(
            full_mesh(self.name, bed, parameters),
            modifiers=udp_modifiers(parameters),
            watched=parameters.flag(shared.SUSTAINED),
        )

    def goal(self, parameters: ParameterSet) -> str:
        """The criterion of the loads, and what the user's thresholds state."""
        return ", ".join(filter(None, (own.GOAL, super().goal(parameters))))

    def trials_after(self, parameters: ParameterSet) -> int:
        """The trial at the throughput, and those at the lower loads."""
        return 1 + len(LOWER_LOADS_PCT)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> LoadsUnit:
        """Find the throughput, then measure latency at it and at the lower loads that it reaches."""
        mesh, size = self.mesh(bed, parameters), unit.frame_size_bytes
        describe = MeshLatency(bed, size, parameters, mesh)
        found = measure_throughput(mesh, size, parameters, session, describe)
        limit = found.search.result_load_pct
        loads = [load for load in LOWER_LOADS_PCT if limit is not None and load <= limit]
        judge = criterion_of(parameters)
        lower = measure_loads(
            mesh, LATENCY, size, loads, parameters, session, judge=judge, describe=describe, sweep=False
        )
        flooded = sum(row.flooded_frames for row in lower)
        return LoadsUnit(frame_size_bytes=size, throughput=found, lower=tuple(lower), flooded_frames=flooded)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, LoadsUnit]) -> Outcome:
        """The table at the throughput, that at every load, jitter against load, and the figures."""
        units = list(results.values())
        found = [unit.throughput for unit in units]
        rows = [row for unit in units for row in _rows(unit)]
        mesh = self.mesh(bed, parameters)
        trials = [row for unit in units for row in (*unit.lower, unit.throughput.of_latency) if row is not None]
        longer = longer_text([row.tx_frames for row in trials], len(bed.ports))
        definition, note = definition_text(bed, parameters), f"{longer} {latency_note(bed)}"
        phases = f"Pattern {mesh.legs[0].pattern.kind}: {_phases(parameters)}."
        return self.outcome(
            [rate_tables.overall_state(found, units)],
            f"{len(bed.ports)} ports",
            (*own.tables_of(rows, definition, note), rate_tables.mesh_throughput_table(found)),
            searched=found,
            figures=own.figures_of(rows, definition),
            findings=rate_tables.findings({THROUGHPUT: found, LATENCY: [unit for unit in units if unit.rows]}),
            deviations=(self.short_trials(bed, parameters, results), phases),
        )


def _rows(unit: LoadsUnit) -> list[own.AtLoad]:
    size, highest = unit.frame_size_bytes, unit.throughput.of_latency
    lower = [own.at_load_of(row, size, row.load_pct) for row in unit.lower]
    return own.rows_of(size, (*lower, *([own.at_load_of(highest, size)] if highest else [])))


def _phases(parameters: ParameterSet) -> str:
    if parameters.text(PATTERN) == FullMesh.kind:
        return "all ports in step, so that no two of them send to one port at a time"
    in_step = parameters.integer(PORTS_IN_STEP)
    together = f"{in_step} neighbouring ports have" if in_step > 1 else "each port has"
    return f"{together} a phase of their own, so outputs are over-subscribed for short times"
