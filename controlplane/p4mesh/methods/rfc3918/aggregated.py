"""RFC 3918 4.3: aggregated multicast throughput, the highest load that reaches every member without loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from p4mesh.methods.base import MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.outcome import Cell, Figure, Outcome, Series, Table, with_reasons
from p4mesh.methods.results.record import INLINE, Record
from p4mesh.methods.results.search_findings import excluded_note
from p4mesh.methods.results.search_tables import search_tables
from p4mesh.methods.results.searched import Searched
from p4mesh.methods.rfc3918.rows import MulticastTrial
from p4mesh.methods.rfc3918.searching import COPIES, as_counted, findings_of, search_of_copies, searched_cells
from p4mesh.methods.rfc3918.setup import DURATION_S, Setup, setup_parameters, trial_parameters, verify_parameter
from p4mesh.traffic.line_rate import max_rate_fps, rate_at_pct, tx_frames
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

_COLUMNS = (
    fields.FRAME_SIZE_BYTES,
    fields.GROUPS,
    fields.MEMBERS,
    retitled(fields.TX_PCT, "Offered load"),
    retitled(fields.TX_FPS, "Offered"),
    *COPIES,
)


@dataclass(frozen=True, kw_only=True)
class AggregatedUnit(Record):
    """The throughput of one frame size."""

    frame_size_bytes: int
    groups: int
    members: int
    theoretical_fps: float
    search: Searched[MulticastTrial] = field(metadata=INLINE)


def search_aggregated(setup: Setup, size: int, session: Session, extra: int = 0) -> Searched[MulticastTrial]:
    """Search the highest load at which every member receives every frame; ``extra`` trials follow the search."""

    def spec_of(load: Fraction, length_ns: int) -> TrialSpec:
        return group_trial(setup, size, load, length_ns, watch_queues=True)

    return search_of_copies(setup, size, session, spec_of, as_counted, extra)


def group_trial(
    setup: Setup,
    size: int,
    load: Fraction,
    duration_ns: int,
    groups: int | None = None,
    *,
    watch_queues: bool = False,
    prints_latency: bool = False,
) -> TrialSpec:
    """Return a trial in which the source sends to the groups in turn, beside the burden of the setup."""
    rate = rate_at_pct(load, size, setup.line_rate_bps)
    ranges = setup.groups(groups)
    stream = setup.stream(size, rate, max(1, tx_frames(duration_ns, rate)), ranges)
    burden = setup.burden(size, duration_ns)
    label = f"{ranges[0].count} groups {size} B {float(load):.4f} %{' burdened' if burden else ''}"
    memberships = setup.memberships(ranges, verify=setup.parameters.flag("joins_verify"))
    return setup.trial(
        label,
        (stream, *burden),
        duration_ns,
        memberships,
        per_flow=prints_latency,
        watch_queues=watch_queues,
        prints_latency=prints_latency,
    )


class Aggregated(MethodOf[AggregatedUnit]):
    """Aggregated multicast throughput."""

    name = "rfc3918.aggregated"
    title = "Aggregated multicast throughput"
    section = "RFC 3918 4.3"
    part = "aggregated"
    parameters = (
        *setup_parameters("RFC 3918 4.3"),
        verify_parameter(),
        *trial_parameters("RFC 3918 4.3"),
        *shared.search_parameters("RFC 3918 4.3"),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than two ports, unknown ports and groups, contradicting bounds."""
        Setup(bed, parameters).check(self.name, groups=parameters.integer("groups"))
        shared.search_of(parameters)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the typical length of the search."""
        return shared.search_of(parameters).trials_expected

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> AggregatedUnit:
        """Search the throughput of one frame size."""
        setup, size = Setup(bed, parameters), unit.frame_size_bytes
        return AggregatedUnit(
            frame_size_bytes=size,
            groups=parameters.integer("groups"),
            members=len(setup.receivers),
            theoretical_fps=float(max_rate_fps(size, setup.line_rate_bps)),
            search=search_aggregated(setup, size, session),
        )

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, AggregatedUnit]) -> Outcome:
        """Return the table of RFC 3918 4.3; FAIL where no load is without loss."""
        units = list(results.values())
        rows = tuple(map(_row, units))
        state = Verdict.worst(unit.search.verdict for unit in units)
        sizes = [unit.frame_size_bytes for unit in results]
        note = f"The aggregate counts the copies of all egress ports. {excluded_note(units)}"
        duration = shared.duration_deviation(parameters, sizes, bed.slowest_rate_bps, DURATION_S, "RFC 3918 4.3")
        return Outcome(
            state,
            f"{self.title}: {parameters.integer('groups')} groups, port {parameters.integer('source_port')} to "
            f"{len(Setup(bed, parameters).receivers)} ports with {parameters.text('protocol')}, {state.value}",
            (Table("aggregated", self.title, with_reasons(_COLUMNS, rows), rows, note), *search_tables(units)),
            (_figure(units),),
            tuple(findings_of(units)),
            (duration,) if duration else (),
        )


def _row(unit: AggregatedUnit) -> dict[str, Cell]:
    shown = unit.search.shown
    return shown.cells(_COLUMNS) | {
        "frame_size_bytes": unit.frame_size_bytes,
        "groups": unit.groups,
        "members": unit.members,
        "tx_pct": shown.load_pct,
        "tx_fps": shown.offered_fps,
        **searched_cells(unit.search),
    }


def _figure(units: Sequence[AggregatedUnit]) -> Figure:
    theory = tuple((float(unit.frame_size_bytes), unit.theoretical_fps * unit.members) for unit in units)
    found = tuple(
        (float(unit.frame_size_bytes), unit.search.shown.aggregate_fps)
        for unit in units
        if unit.search.result_pct is not None
    )
    series = (Series("theoretical maximum", theory, theoretical=True), Series("aggregated throughput", found))
    return Figure("aggregated", "Aggregated multicast throughput", "frame size (B)", "frames/s", series)
