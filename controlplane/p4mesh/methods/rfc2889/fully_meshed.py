"""RFC 2889 5.1: fully meshed throughput, frame loss and forwarding rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from p4mesh.methods.base import Session, TestMethod, Unit, UnitResult
from p4mesh.methods.bed import TestBed
from p4mesh.methods.outcome import Outcome
from p4mesh.methods.parameters import Parameter, ParameterSet, choice
from p4mesh.methods.rfc2889 import parameters as shared
from p4mesh.methods.rfc2889 import tables
from p4mesh.methods.rfc2889.forwarding import FORWARDING, PARTS, THROUGHPUT, Mesh
from p4mesh.traffic.stream import PatternKind

MIN_PORTS = 2


class FullyMeshed(TestMethod):
    """Every port sends to every other port in the order of RFC 2889 5.1.3."""

    name: ClassVar[str] = "rfc2889.fully_meshed"
    title: ClassVar[str] = "Fully meshed throughput, frame loss and forwarding rates"
    section: ClassVar[str] = "RFC 2889 5.1"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        choice("parts", "both", "RFC 2889 5.1.3", "which sub-tests run", ("both", FORWARDING, THROUGHPUT)),
        *shared.TRIAL,
        *shared.SWEEP,
        *shared.SEARCH,
    )

    def check(self, bed: TestBed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than two ports or mixed line rates, and contradicting parameters."""
        bed.require_ports(self.name, MIN_PORTS)
        bed.common_rate_bps(self.name)
        shared.sweep_of(parameters)
        shared.goal_of(parameters)

    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return one unit per frame size and sub-test."""
        return tuple(Unit(size, part) for size in sizes for part in _parts(parameters))

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the sweep length or the typical length of the search."""
        if unit.part == FORWARDING:
            return len(shared.sweep_of(parameters))
        return shared.goal_of(parameters).trials_expected

    def run_unit(self, unit: Unit, bed: TestBed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Measure one sub-test at one frame size."""
        ports = bed.port_numbers
        mesh = Mesh(PatternKind.FULL_MESH, ports, ports, bed.common_rate_bps(self.name))
        return PARTS[unit.part](mesh, unit.frame_size_bytes, parameters, session)

    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return the tables of methodology 3.1 and the verdict."""
        throughput = [result for unit, result in results.items() if unit.part == THROUGHPUT]
        forwarding = [result for unit, result in results.items() if unit.part == FORWARDING]
        state = tables.overall_state(throughput, forwarding)
        shown = []
        if throughput:
            shown.append(tables.throughput_table(throughput))
        if forwarding:
            shown += [tables.forwarding_table(forwarding), *tables.sweep_tables(forwarding)]
        return Outcome(
            state,
            f"{self.title}: {len(bed.ports)} ports, {state.value}",
            tuple(shown),
            (tables.rate_figure(throughput, forwarding), *tables.load_figures(forwarding)),
            tables.findings({THROUGHPUT: throughput, FORWARDING: forwarding}),
            _deviations(parameters, [unit.frame_size_bytes for unit in results], bed.common_rate_bps(self.name)),
        )


def _parts(parameters: ParameterSet) -> tuple[str, ...]:
    wanted = parameters.text("parts")
    return (THROUGHPUT, FORWARDING) if wanted == "both" else (wanted,)


def _deviations(parameters: ParameterSet, sizes: Sequence[int], line_rate_bps: int) -> tuple[str, ...]:
    duration = shared.duration_deviation(parameters, sizes, line_rate_bps)
    return (*([duration] if duration else []), "One address per port; duplex mode full.")
