"""Shared part of the mesh tests of RFC 2889 (5.1 to 5.4); each test adds its ports and pattern."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import (
    FORWARDING,
    THROUGHPUT,
    measure_forwarding,
    measure_throughput,
)
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import Parameter, ParameterSet, boolean, choice
from p4mesh.methods.port_patterns import pattern_notes
from p4mesh.methods.results import rate_tables as tables
from p4mesh.methods.results.forwarding import MeshSweep, MeshThroughput
from p4mesh.methods.results.latency import LATENCY_DEFINITION, check_definition
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.queues import queue_findings
from p4mesh.methods.rfc2889.mesh_latency import PERCENTILES, MeshLatency, mesh_latency_tables, mesh_overflows
from p4mesh.methods.search.limit import SearchMethod
from p4mesh.methods.shapes import MeshTest
from p4mesh.methods.sweeps import loss_limit, loss_limit_pct
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.stream import MAX_ADDRESSES_PER_PORT

BOTH = "both"
MeshUnit = MeshThroughput | MeshSweep
"""One sub-test at one frame size."""
_TAKEN_OVER = "Loads that the search has tried are not tried again: the sweep takes over trials that are equal."
_ADDRESSES = tuple(str(1 << bits) for bits in range(MAX_ADDRESSES_PER_PORT.bit_length()))


def mesh_parameters(clause: str) -> tuple[Parameter, ...]:
    """The parameters of a mesh test; ``clause`` is its RFC 2889 section."""
    return (
        choice("parts", BOTH, f"RFC 2889 {clause}.3", "which sub-tests run", (BOTH, FORWARDING, THROUGHPUT)),
        choice(
            "addresses_per_port",
            "1",
            f"RFC 2889 {clause}.2",
            "MAC addresses behind each port, of which every frame has a pseudo-random source and destination",
            _ADDRESSES,
        ),
        boolean(
            "routed", False, f"RFC 2889 {clause}.2", "the device is a router: its addresses are found by ARP or ND"
        ),
        LATENCY_DEFINITION,
        shared.DEPARTURE_ERROR,
        PERCENTILES,
        *shared.trial_parameters(f"RFC 2889 {clause}.2"),
        *shared.sweep_parameters(f"RFC 2889 {clause}.2"),
        loss_limit(f"RFC 2889 {clause}.4"),
        *shared.search_parameters(f"RFC 2889 {clause}.3", SearchMethod.GUIDED),
    )


class Meshed(MeshTest[MeshUnit]):
    """Throughput search and forwarding-rate sweep over one traffic pattern."""

    def refuses_mix(self, parameters: ParameterSet) -> str:
        return ""

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds that the pattern cannot use, and contradicting parameters."""
        super().check(bed, parameters)
        _check_routed(self.name, parameters)
        shared.sweep_of(parameters)
        shared.search_of(parameters)
        check_definition(self.name, bed, parameters)

    def latency_pairs(self, bed: Bed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        """The pairs of the pattern."""
        return self.mesh(bed, parameters).pairs

    def units(self, parameters: ParameterSet, sizes: Sequence[FrameSize]) -> tuple[Unit, ...]:
        """One unit per frame size and sub-test."""
        wanted = parameters.text("parts")
        parts = (THROUGHPUT, FORWARDING) if wanted == BOTH else (wanted,)
        return tuple(Unit(size, part) for size in sizes for part in parts)

    def follows(self, unit: Unit) -> Unit | None:
        """The search of the same size for a sweep, which need not repeat the maximum load."""
        return replace(unit, part=THROUGHPUT) if unit.part == FORWARDING else None

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """The sweep length, or the typical length of the search and its latency trial."""
        if unit.part == FORWARDING:
            return len(shared.sweep_of(parameters))
        return shared.search_of(parameters).trials_expected + 1

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> MeshUnit:
        """Measure one sub-test at one frame size."""
        size = unit.frame_size
        mesh = replace(
            self.mesh(bed, parameters),
            addresses_per_port=int(parameters.text("addresses_per_port")),
            routed=parameters.flag("routed"),
        )
        describe = MeshLatency(bed, size, parameters, mesh)
        if unit.part == FORWARDING:
            return measure_forwarding(mesh, size, parameters, session, describe)
        return measure_throughput(mesh, size, parameters, session, describe)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, MeshUnit]) -> Outcome:
        """The tables of methodology 3.1 and the verdict."""
        throughput = [result for result in results.values() if isinstance(result, MeshThroughput)]
        swept = [result for result in results.values() if isinstance(result, MeshSweep)]
        forwarding = tables.with_searches(swept, throughput)
        mesh = self.mesh(bed, parameters)
        shown = []
        if throughput:
            shown.append(tables.mesh_throughput_table(throughput))
        if forwarding:
            shown += [tables.forwarding_table(forwarding, loss_limit_pct(parameters)), *tables.sweep_tables(forwarding)]
        shown += mesh_latency_tables(bed, parameters, throughput, forwarding, mesh)
        shown.append(tables.port_table(throughput, forwarding))
        return self.outcome(
            [tables.overall_state(throughput, forwarding)],
            f"{len(bed.ports)} ports",
            shown,
            searched=throughput,
            figures=(tables.rate_figure(throughput, forwarding), *tables.load_figures(forwarding)),
            findings=(
                *tables.findings({THROUGHPUT: throughput, FORWARDING: forwarding}),
                *_carried_by_buffers(forwarding),
                *mesh_overflows(throughput, forwarding),
            ),
            deviations=(
                self.short_trials(bed, parameters, results),
                *pattern_notes(mesh),
                _about_frames(parameters),
                _TAKEN_OVER if parameters.text("parts") == BOTH else "",
            ),
        )


def _check_routed(test: str, parameters: ParameterSet) -> None:
    """Raise ParameterError for frames that no router forwards."""
    if not parameters.flag("routed"):
        return
    if shared.frame_of(parameters).network is None:
        raise ParameterError(f"{test}: routed=true with frame_format=ethernet", hint="use frame_format=ipv4 or ipv6")
    if parameters.text("addresses_per_port") != "1":
        raise ParameterError(
            f"{test}: routed=true with addresses_per_port={parameters.text('addresses_per_port')}: a station has one "
            "address towards its router",
            hint="leave addresses_per_port out",
        )


def _about_frames(parameters: ParameterSet) -> str:
    burst_frames = parameters.integer("burst_frames")
    bursts = f"bursts of {burst_frames} frames" if burst_frames > 1 else "no bursts"
    return (
        f"Addresses per port: {parameters.text('addresses_per_port')}; duplex mode full; gaps of 96 bits or more; "
        f"{bursts}."
    )


def _carried_by_buffers(sweeps: Sequence[MeshSweep]) -> Iterator[str]:
    """Yield findings on sweeps in which a queue filled at the maximum forwarding rate."""
    for sweep in sweeps:
        best = [row for row in sweep.rows if row.trusted and row.forwarding_fps == sweep.mfr.mfr_fps]
        yield from queue_findings(f"{FORWARDING} {sweep.frame_size_bytes} B", best)
