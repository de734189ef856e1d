"""What the mesh tests of RFC 2889 (5.1 to 5.4) have in common; each test adds its ports and pattern."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from p4mesh.methods import rate_tables as tables
from p4mesh.methods import shared_parameters as shared
from p4mesh.methods.base import Session, TestMethod, Unit, UnitResult
from p4mesh.methods.bed import TestBed
from p4mesh.methods.mesh import FORWARDING, PARTS, THROUGHPUT, Mesh
from p4mesh.methods.outcome import Outcome
from p4mesh.methods.parameters import Parameter, ParameterSet, choice

BOTH = "both"


def mesh_parameters(clause: str) -> tuple[Parameter, ...]:
    """Return the parameters of a mesh test; ``clause`` is its RFC 2889 section."""
    return (
        choice("parts", BOTH, f"RFC 2889 {clause}.3", "which sub-tests run", (BOTH, FORWARDING, THROUGHPUT)),
        *shared.trial_parameters(f"RFC 2889 {clause}.2"),
        *shared.sweep_parameters(f"RFC 2889 {clause}.2"),
        *shared.search_parameters(f"RFC 2889 {clause}.3"),
    )


class MeshTest(TestMethod):
    """Throughput search and forwarding-rate sweep over one traffic pattern."""

    @abstractmethod
    def mesh(self, bed: TestBed, parameters: ParameterSet) -> Mesh:
        """Return who sends to whom; raise TopologyError when the ports do not allow it."""

    def check(self, bed: TestBed, parameters: ParameterSet) -> None:
        """Refuse beds that the pattern cannot use, and contradicting parameters."""
        self.mesh(bed, parameters)
        shared.sweep_of(parameters)
        shared.search_of(parameters)

    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return one unit per frame size and sub-test."""
        wanted = parameters.text("parts")
        parts = (THROUGHPUT, FORWARDING) if wanted == BOTH else (wanted,)
        return tuple(Unit(size, part) for size in sizes for part in parts)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the sweep length or the typical length of the search."""
        if unit.part == FORWARDING:
            return len(shared.sweep_of(parameters))
        return shared.search_of(parameters).trials_expected

    def run_unit(self, unit: Unit, bed: TestBed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Measure one sub-test at one frame size."""
        return PARTS[unit.part](self.mesh(bed, parameters), unit.frame_size_bytes, parameters, session)

    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return the tables of methodology 3.1 and the verdict."""
        throughput = [result for unit, result in results.items() if unit.part == THROUGHPUT]
        forwarding = [result for unit, result in results.items() if unit.part == FORWARDING]
        mesh = self.mesh(bed, parameters)
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
            _deviations(parameters, [unit.frame_size_bytes for unit in results], mesh),
        )


def _deviations(parameters: ParameterSet, sizes: Sequence[int], mesh: Mesh) -> tuple[str, ...]:
    noted = [shared.duration_deviation(parameters, sizes, mesh.line_rate_bps)]
    if mesh.load_limit_pct < 100:
        noted.append(
            f"The pattern over-subscribes an output above {float(mesh.load_limit_pct):.4g} % of line rate per port: "
            "no device has a higher throughput."
        )
    noted.append("One address per port; duplex mode full.")
    return tuple(text for text in noted if text)
