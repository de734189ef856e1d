"""RFC 2544 26.1: throughput, confirmed by a longer trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.conditions.protocols import NO_MIX, protocol_text
from p4mesh.methods.criterion import criterion_of
from p4mesh.methods.mesh import THROUGHPUT, Mesh, forwarding_row, mesh_throughput, trial_spec
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import Parameter, ParameterSet, choice, integer
from p4mesh.methods.port_patterns import (
    DURATION_CLAUSE,
    PARAMETERS,
    RFC_DURATION_S,
    mesh_notes,
    mesh_of,
    ports_used,
)
from p4mesh.methods.results import rate_tables as tables
from p4mesh.methods.results.forwarding import MeshThroughput, MeshTrial
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.searched import JudgedTrial
from p4mesh.methods.results.throughput_tables import advertised_value, direction_table, directions, throughput_table
from p4mesh.methods.rfc2544.per_source_port import (
    PER_SOURCE_PORT,
    PortThroughputs,
    per_port_findings,
    per_port_state,
    per_port_tables,
    throughput_per_port,
)
from p4mesh.methods.search.limit import SearchMethod
from p4mesh.methods.shapes import SearchTest
from p4mesh.methods.throughput_search import Confirmation, search_throughput
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import NS_PER_S

SECTION = "RFC 2544 26.1"
CONFIRMATION = "confirmation"
AGGREGATE = "aggregate"
ThroughputUnit = MeshThroughput | PortThroughputs
"""The throughput of all ports together, or of each source port."""

_SEARCH_S = 30
"""Trials of a search whose result is confirmed for RFC_DURATION_S (methodology 0.5)."""


def _searched(real_time_s: int) -> tuple[Parameter, ...]:
    return (
        *PARAMETERS,
        *shared.trial_parameters(SECTION, RFC_DURATION_S, real_time_s),
        *shared.search_parameters(SECTION),
        integer(
            "confirm_factor", 2, "", SECTION, "length of the confirming trial in search trials; 1 = none", (1, 1000)
        ),
    )


SEARCHED = _searched(RFC_DURATION_S)
"""Parameters of every test that needs the throughput first."""


class Throughput(SearchTest[ThroughputUnit]):
    """The fastest rate at which as many frames come out as went in."""

    name = "rfc2544.throughput"
    title = "Throughput"
    section = SECTION
    part = THROUGHPUT
    parameters = (
        choice(
            "decision",
            AGGREGATE,
            "RFC 2544 16",
            "a frame lost anywhere fails the trial, or only the search of the port that sent it",
            (AGGREGATE, PER_SOURCE_PORT),
        ),
        *_searched(_SEARCH_S),
    )

    def refuses_mix(self, parameters: ParameterSet) -> str:
        decision = parameters.text("decision")
        return "" if decision == AGGREGATE else f"decision={decision} is for frames of one size"

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds without port pairs, and contradicting search bounds."""
        super().check(bed, parameters)
        method = shared.search_of(parameters).method
        if parameters.text("decision") == PER_SOURCE_PORT and method is not SearchMethod.BISECT:
            raise ParameterError(
                f"decision={PER_SOURCE_PORT} with search_method={method.value}", hint="use search_method=bisect"
            )

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        return mesh_of(self.name, bed, parameters)

    def trials_after(self, parameters: ParameterSet) -> int:
        """The confirmation."""
        return int(parameters.integer("confirm_factor") > 1)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> ThroughputUnit:
        """Search and confirm at one frame size."""
        mesh, size = self.mesh(bed, parameters), unit.frame_size
        if parameters.text("decision") == PER_SOURCE_PORT:
            return throughput_per_port(mesh, unit.frame_size_bytes, parameters, session)
        return confirmed_throughput(mesh, size, parameters, session)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, ThroughputUnit]) -> Outcome:
        """The table and the graph that RFC 2544 26.1 asks for."""
        sizes, rate_bps = [unit.frame_size for unit in results], self.mesh(bed, parameters).line_rate_bps
        noted = (*deviations(parameters, sizes, rate_bps), *mesh_notes(self.name, bed, parameters))
        ports = f"{ports_used(bed, parameters)} ports"
        of_ports = [result for result in results.values() if isinstance(result, PortThroughputs)]
        if of_ports:
            verdicts, findings = [per_port_state(of_ports)], per_port_findings(of_ports)
            about = f"each of {ports}"
            return self.outcome(verdicts, about, per_port_tables(of_ports), findings=findings, deviations=noted)
        found = [result for result in results.values() if isinstance(result, MeshThroughput)]
        mix = parameters.values.get("ip_mix", NO_MIX)
        advertised = advertised_value(found, protocol_text(shared.frame_of(parameters), str(mix)))
        return self.outcome(
            [result.search.verdict for result in found],
            ports,
            (throughput_table(found, advertised), direction_table(found)),
            searched=found,
            figures=[tables.rate_figure(found, ())],
            findings=tables.findings({THROUGHPUT: found}),
            deviations=noted,
        )


def confirmed_throughput(mesh: Mesh, size: FrameSize, parameters: ParameterSet, session: Session) -> MeshThroughput:
    """Search the throughput and confirm it by a longer trial; if that fails, search below with trials of its length.

    A short trial does not see what the longer one saw, so searching on with short trials would lead back.
    """
    search = shared.search_of(parameters)
    factor = parameters.integer("confirm_factor")
    criterion = criterion_of(parameters)
    duration_ns = shared.duration_ns_of(parameters, size, mesh.line_rate_bps)

    def measured(part: str, load: Fraction, remaining: int, length_ns: int) -> JudgedTrial[MeshTrial]:
        spec = trial_spec(mesh, part, size, load, parameters, length_ns)
        result = session.measure(spec, TrialNote(load, remaining, criterion))
        ways = directions([(leg.tx_ports, leg.rx_ports) for leg in mesh.legs], result)
        row = replace(forwarding_row(mesh, spec, result, load, criterion(result)), directions=ways)
        return criterion.judged(result, row)

    def searched(load: Fraction, remaining: int, length_ns: int) -> JudgedTrial[MeshTrial]:
        return measured(THROUGHPUT, load, remaining + 1, length_ns)

    def confirming(load: Fraction, remaining: int, length_ns: int) -> JudgedTrial[MeshTrial]:
        return measured(CONFIRMATION, load, remaining, length_ns)

    confirmation = Confirmation(confirming, factor) if factor > 1 else None
    found = search_throughput(search, duration_ns, searched, confirmation, mesh.theoretical_pct)
    return mesh_throughput(mesh, size, found)


def deviations(parameters: ParameterSet, sizes: Sequence[FrameSize], line_rate_bps: int) -> tuple[str, ...]:
    """Durations that depart from RFC 2544; searches may be short where the confirming trial is not."""
    factor = parameters.integer("confirm_factor")
    shortest = min(factor * shared.duration_ns_of(parameters, size, line_rate_bps) for size in sizes)
    duration = shared.duration_deviation(parameters, sizes, line_rate_bps, RFC_DURATION_S, DURATION_CLAUSE)
    as_many_frames = parameters.is_word("duration_ms")
    confirmed = ""
    if factor == 1 and as_many_frames and parameters.text("search_method") != SearchMethod.MLR.value:
        confirmed = (
            "Results are tried again only at loads so low that fewer frames were sent than at the highest one, by a "
            "trial of as many."
        )
    elif factor == 1:
        confirmed = "Results are not confirmed by a longer trial than those of the search."
    if duration and shortest >= RFC_DURATION_S * NS_PER_S:
        duration = (
            f"Search trials are shorter than the {RFC_DURATION_S} s of {DURATION_CLAUSE}, the confirming ones are not."
        )
    elif duration and factor > 1:
        # A sentence of its own: other tests of a suite have the one before it as well, and it is shown once.
        longer = ", and longer at loads so low that fewer frames would be sent than at the highest one"
        scaled = longer if as_many_frames else ""
        confirmed = f"Confirming trials take {factor} times as long as those of the search{scaled}."
    return tuple(text for text in (duration, confirmed) if text)
