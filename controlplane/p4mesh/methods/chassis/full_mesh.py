"""Throughput, latency and jitter of a full mesh at the throughput and at 10, 50 and 90 % of line rate.

Published tests of chassis with hundreds of ports print these columns per frame size: frames per second of all
receivers, Tbit/s, percent of line rate, latency and jitter of every frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from p4mesh.errors import ParameterError
from p4mesh.methods.base import MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.chassis import tables as own
from p4mesh.methods.chassis.loads import FRAME_SIZES_BYTES, LOWER_LOADS_PCT, PPM_BELOW
from p4mesh.methods.chassis.udp_ports import FIXED, UDP_PORTS, udp_modifiers
from p4mesh.methods.criterion import criterion_of
from p4mesh.methods.longer_trials import Asked, measure_each
from p4mesh.methods.mesh import LATENCY, THROUGHPUT, Mesh, measure_throughput, swept_row, trial_spec
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, with_defaults
from p4mesh.methods.port_patterns import PATTERN, PORTS_IN_STEP, full_mesh, pattern_parameters
from p4mesh.methods.results import rate_tables
from p4mesh.methods.results.forwarding import MeshThroughput, MeshTrial
from p4mesh.methods.results.latency import LATENCY_DEFINITION, check_definition, definition_text
from p4mesh.methods.results.latency_tables import latency_note
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import Record
from p4mesh.methods.results.search_findings import search_findings
from p4mesh.methods.results.search_tables import search_tables
from p4mesh.methods.rfc2889.mesh_latency import PERCENTILES, MeshLatency
from p4mesh.traffic.patterns import FullMesh, MeshStreams
from p4mesh.trial.spec import TrialSpec

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


class FullMeshAtLoads(MethodOf[LoadsUnit]):
    """The throughput of each frame size, then latency and jitter of every frame at it and at lower loads."""

    name = "chassis.full_mesh"
    title = "Full mesh at 10, 50, 90 % and at the throughput"
    section = SECTION
    part = LATENCY
    frame_sizes_bytes = FRAME_SIZES_BYTES
    parameters = (
        *pattern_parameters("RFC 2889 5.1.3", FullMesh.kind, MeshStreams.kind),
        UDP_PORTS,
        *with_defaults((LATENCY_DEFINITION,), latency_definition="LIFO"),
        shared.DEPARTURE_ERROR,
        PERCENTILES,
        *with_defaults(shared.trial_parameters(SECTION, 60), ppm_below=Fraction(PPM_BELOW)),
        *shared.search_parameters(SECTION),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds without two ports of one rate, and contradicting parameters."""
        self.mesh(bed, parameters)
        shared.search_of(parameters)
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

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """The typical length of the search, its latency trial, and the lower loads."""
        return shared.search_of(parameters).trials_expected + 1 + len(LOWER_LOADS_PCT)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> LoadsUnit:
        """Find the throughput, then measure latency at it and at the lower loads that it reaches."""
        mesh, size = self.mesh(bed, parameters), unit.frame_size_bytes
        describe = MeshLatency(bed, size, parameters, mesh)
        found = measure_throughput(mesh, size, parameters, session, describe)
        limit = found.search.result_load_pct
        duration_ns = shared.duration_ns_of(parameters, size, mesh.line_rate_bps)
        criterion = criterion_of(parameters)

        def spec_at(load: Fraction, length_ns: int) -> TrialSpec:
            return describe.asked(trial_spec(mesh, LATENCY, size, load, parameters, length_ns), sweep=False)

        asked = [
            Asked(load, partial(spec_at, load), duration_ns, criterion)
            for load in LOWER_LOADS_PCT
            if limit is not None and load <= limit
        ]
        taken = measure_each(session, asked, lengthen=parameters.flag(shared.SUSTAINED))
        lower = tuple(describe(swept_row(one, mesh, criterion), one.result) for one in taken)
        flooded = sum(row.flooded_frames for row in lower)
        return LoadsUnit(frame_size_bytes=size, throughput=found, lower=lower, flooded_frames=flooded)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, LoadsUnit]) -> Outcome:
        """The table at the throughput, that at every load, jitter against load, and the figures."""
        units = list(results.values())
        found = [unit.throughput for unit in units]
        rows = [row for unit in units for row in _rows(unit)]
        mesh = self.mesh(bed, parameters)
        definition, note = definition_text(bed, parameters), latency_note(bed)
        sizes = [unit.frame_size_bytes for unit in units]
        duration = shared.duration_deviation(parameters, sizes, mesh.line_rate_bps, 60, "RFC 2544 24")
        phases = f"Pattern {mesh.legs[0].pattern.kind}: {_phases(parameters)}."
        return self.outcome(
            [rate_tables.overall_state(found, units)],
            f"{len(bed.ports)} ports",
            (*own.tables_of(rows, definition, note), rate_tables.mesh_throughput_table(found), *search_tables(found)),
            figures=own.figures_of(rows, definition),
            findings=(
                *search_findings(found),
                *rate_tables.findings({THROUGHPUT: found, LATENCY: [unit for unit in units if unit.rows]}),
            ),
            deviations=(duration, phases),
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
