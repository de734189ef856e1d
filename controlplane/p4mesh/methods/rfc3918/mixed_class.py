"""RFC 3918 4.1: mixed class throughput, multicast and unicast from one port in a fixed ratio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from p4mesh.methods.base import MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, decimal
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.metrics import transmission_s
from p4mesh.methods.results.outcome import Cell, Outcome, Table, with_reasons
from p4mesh.methods.results.record import INLINE, Record
from p4mesh.methods.results.search_findings import excluded_note
from p4mesh.methods.results.search_tables import search_tables
from p4mesh.methods.results.searched import Searched
from p4mesh.methods.rfc3918.rows import MulticastTrial
from p4mesh.methods.rfc3918.searching import findings_of, search_of_copies, searched_cells
from p4mesh.methods.rfc3918.setup import DURATION_S, Setup, setup_parameters, trial_parameters, verify_parameter
from p4mesh.traffic.line_rate import NS_PER_S, rate_at_pct, tx_frames
from p4mesh.traffic.patterns import Rotate
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

UNICAST = "unicast"
_COLUMNS = (
    fields.FRAME_SIZE_BYTES,
    retitled(fields.LOAD_PCT, "Intended load"),
    fields.MULTICAST_PCT,
    fields.MULTICAST_TX,
    fields.UNICAST_TX,
    fields.MULTICAST_FPS,
    fields.UNICAST_FPS,
    fields.MULTICAST_LOST,
    fields.UNICAST_LOST,
    fields.STATE,
    fields.UPPER_PCT,
    fields.TRIALS,
)


@dataclass(frozen=True, kw_only=True)
class MixedTrial(MulticastTrial):
    """A trial by class."""

    multicast_tx: int
    unicast_tx: int
    multicast_fps: float
    unicast_fps: float
    multicast_lost: int
    unicast_lost: int


@dataclass(frozen=True, kw_only=True)
class MixedUnit(Record):
    """The throughput of one frame size."""

    frame_size_bytes: int
    multicast_pct: float
    search: Searched[MixedTrial] = field(metadata=INLINE)


class MixedClass(MethodOf[MixedUnit]):
    """Mixed class throughput."""

    name = "rfc3918.mixed_class"
    title = "Mixed class throughput"
    section = "RFC 3918 4.1"
    part = "mixed class"
    parameters = (
        *setup_parameters("RFC 3918 4.1"),
        decimal("multicast_pct", "50", "% of frames", "RFC 3918 4.1", "multicast frames of the source", ("1", "99")),
        verify_parameter(),
        *trial_parameters("RFC 3918 4.1"),
        *shared.search_parameters("RFC 3918 4.1"),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than two ports, unknown ports and groups, contradicting bounds."""
        Setup(bed, parameters).check(self.name, groups=parameters.integer("groups"))
        shared.search_of(parameters)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the typical length of the search."""
        return shared.search_of(parameters).trials_expected

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> MixedUnit:
        """Search the highest load without loss in both classes."""
        setup, size = Setup(bed, parameters), unit.frame_size_bytes

        def spec_of(load: Fraction, length_ns: int) -> TrialSpec:
            return _spec(setup, size, load, length_ns)

        return MixedUnit(
            frame_size_bytes=size,
            multicast_pct=float(parameters.number("multicast_pct")),
            search=search_of_copies(setup, size, session, spec_of, _by_class),
        )

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, MixedUnit]) -> Outcome:
        """Return the table of RFC 3918 4.1; FAIL where no load is without loss in both classes."""
        units = list(results.values())
        rows = tuple(map(_row, units))
        state = Verdict.worst(unit.search.verdict for unit in units)
        sizes = [unit.frame_size_bytes for unit in results]
        note = (
            f"Each multicast frame is expected on every egress port, each unicast frame on one. {excluded_note(units)}"
        )
        duration = shared.duration_deviation(parameters, sizes, bed.slowest_rate_bps, DURATION_S, "RFC 3918 4.1")
        return Outcome(
            state,
            f"{self.title}: {parameters.integer('groups')} groups and {len(Setup(bed, parameters).receivers)} unicast "
            f"destinations, {state.value}",
            (Table("mixed_class", self.title, with_reasons(_COLUMNS, rows), rows, note), *search_tables(units)),
            (),
            tuple(findings_of(units)),
            (duration,) if duration else (),
        )


def _spec(setup: Setup, size: int, load: Fraction, duration_ns: int) -> TrialSpec:
    """Return a trial whose unicast frames lie between the multicast frames: m1 u1 m2 u2 with equal shares."""
    share = setup.parameters.number("multicast_pct") / 100
    rate = rate_at_pct(load, size, setup.line_rate_bps)
    groups = setup.groups()
    multicast, unicast = share * rate, (1 - share) * rate
    sent = setup.stream(size, multicast, max(1, tx_frames(duration_ns, multicast)), groups)
    others = Stream(
        UNICAST,
        size,
        unicast,
        max(1, tx_frames(duration_ns, unicast)),
        Rotate(),
        (setup.source,),
        setup.receivers,
        setup.frame,
        start_offset_ns=(round(NS_PER_S / rate),),
    )
    label = f"mixed class {size} B {float(load):.4f} %"
    memberships = setup.memberships(groups, verify=setup.parameters.flag("joins_verify"))
    return setup.trial(label, (sent, others), duration_ns, memberships, per_flow=True, watch_queues=True)


def _by_class(row: MulticastTrial, spec: TrialSpec, result: TrialResult) -> MixedTrial:
    """Return the row with the frames of each class; frames that belong to no unicast flow are multicast."""
    unicast = [flow for flow in result.flows if flow.stream == UNICAST]
    sent, lost = sum(flow.tx_frames for flow in unicast), sum(flow.lost_frames for flow in unicast)
    seconds = transmission_s(spec)
    copies = row.rx_frames - (sent - lost)
    return MixedTrial(
        **{name: getattr(row, name) for name in MulticastTrial.__dataclass_fields__},
        multicast_tx=row.tx_frames - sent,
        unicast_tx=sent,
        multicast_fps=float(copies / seconds),
        unicast_fps=float((sent - lost) / seconds),
        multicast_lost=row.lost_frames - lost,
        unicast_lost=lost,
    )


def _row(unit: MixedUnit) -> dict[str, Cell]:
    return unit.search.shown.cells(_COLUMNS) | {
        "frame_size_bytes": unit.frame_size_bytes,
        "multicast_pct": unit.multicast_pct,
        **searched_cells(unit.search),
    }
