"""RFC 2889 5.6.4: maximum forwarding rate between the throughput and the maximum offered load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from p4mesh.methods.base import MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Leg, Mesh, measure_throughput, swept_row, trial_spec
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, percent
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.forwarding import MeshThroughput, MeshTrial
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import Record, table_of
from p4mesh.methods.results.search_findings import search_findings
from p4mesh.methods.results.search_tables import search_tables
from p4mesh.methods.rfc2889.port_pair import pair_of, pair_parameters
from p4mesh.methods.sweeps import measured, swept
from p4mesh.traffic.patterns import Pairs
from p4mesh.verdict import Verdict

_COLUMNS = (
    fields.FRAME_SIZE_BYTES,
    fields.THROUGHPUT_FPS,
    retitled(fields.LOAD_PCT, "Iload at MFR"),
    retitled(fields.OFFERED_FPS, "Oload at MFR"),
    fields.TX_FRAMES,
    fields.RX_FRAMES,
    fields.LOSS_PCT,
    fields.MFR_FPS,
    fields.FRMOL_OFFERED_PCT,
    fields.FRMOL_FPS,
    fields.STATE,
)


@dataclass(frozen=True, kw_only=True)
class MaximumRate(Record):
    """Throughput, MFR and FRMOL of one frame size; None without a trial that can be trusted."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    throughput_fps: Annotated[float | None, fields.THROUGHPUT_FPS]
    mfr_fps: Annotated[float | None, fields.MFR_FPS]
    frmol_offered_pct: Annotated[float | None, fields.FRMOL_OFFERED_PCT]
    frmol_fps: Annotated[float | None, fields.FRMOL_FPS]
    rows: tuple[MeshTrial, ...]
    """The trial at the throughput, and the steps from there."""
    throughput: MeshThroughput
    state: Annotated[Verdict, fields.STATE]

    @property
    def best(self) -> MeshTrial | None:
        """The trial at the MFR."""
        return _fastest(self.throughput, self.rows)


class MaximumForwardingRate(MethodOf[MaximumRate]):
    """Throughput of one port pair, then loads from there to the maximum in steps."""

    name = "rfc2889.maximum_forwarding_rate"
    title = "Maximum forwarding rate"
    terms = "MFR, overload"
    section = "RFC 2889 5.6"
    part = "maximum_rate"
    parameters = (
        *pair_parameters("RFC 2889 5.6.2"),
        percent("step_pct", "10", "RFC 2889 5.6.4", "step from the throughput to the maximum offered load"),
        *shared.trial_parameters("RFC 2889 5.6.2"),
        *shared.search_parameters("RFC 2889 5.6.3"),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds without two ports of one rate, and contradicting parameters."""
        pair_of(self.name, bed, parameters)
        shared.search_of(parameters)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the typical length of the search and a few steps."""
        return shared.search_of(parameters).trials_expected + 1

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> MaximumRate:
        """Search the throughput; if it is below the maximum, step up to it."""
        size = unit.frame_size_bytes
        sender, receiver = pair_of(self.name, bed, parameters)
        mesh = Mesh((Leg(Pairs(), (sender.number,), (receiver.number,)),), sender.own_rate_bps)
        found = measure_throughput(mesh, size, parameters, session)
        at = found.search.result_load_pct
        start, rows = (Fraction(0), []) if at is None else (at, [found.search.shown])
        maximum = shared.maximum_load_pct(parameters)
        loads = steps_to_maximum(start, parameters.number("step_pct"), maximum)
        trials = swept(
            loads,
            lambda load, length_ns: trial_spec(mesh, "maximum_rate", size, load, parameters, length_ns),
            shared.duration_ns_of(parameters, size, mesh.line_rate_bps),
            session,
            lengthen=parameters.flag(shared.SUSTAINED),
        )
        rows += [swept_row(one, mesh, measured) for one in trials]
        return _result(size, found, rows, maximum)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, MaximumRate]) -> Outcome:
        """Return the table of methodology 3.6.2; the only criterion beside a threshold is that trials are trusted."""
        rows = tuple(results.values())
        state = Verdict.worst(row.state for row in rows)
        table = table_of(
            "maximum_forwarding_rate",
            self.title,
            _COLUMNS,
            [(row.best or {}, row) for row in rows],
            "MFR is the highest forwarding rate of all trials: those of the search, and the steps from the "
            "throughput to the maximum offered load, where FRMOL is read. Loss at the MFR is that of a trial of any "
            "length: frames that a queue held back until the transmission was over count as lost.",
            headline=(fields.STATE, fields.THROUGHPUT_FPS, fields.MFR_FPS, fields.LOAD_PCT, fields.FRMOL_FPS),
        )
        searches = search_tables([row.throughput for row in rows])
        sizes = [unit.frame_size_bytes for unit in results]
        duration = shared.duration_deviation(parameters, sizes, pair_of(self.name, bed, parameters)[0].own_rate_bps)
        return Outcome(
            state,
            f"{self.title}: {state.value}",
            (table, *searches),
            (),
            tuple(search_findings([row.throughput for row in rows])),
            (duration,) if duration else (),
        )


def steps_to_maximum(
    throughput_pct: Fraction, step_pct: Fraction, maximum_pct: Fraction = Fraction(100)
) -> tuple[Fraction, ...]:
    """Return the loads of the RFC's pseudo code above the throughput; the last one is the maximum."""
    loads = []
    load = throughput_pct
    while load < maximum_pct:
        load = min(load + step_pct, maximum_pct)
        loads.append(load)
    return tuple(loads)


def _fastest(found: MeshThroughput, rows: Sequence[MeshTrial]) -> MeshTrial | None:
    """Trial with the highest forwarding rate, of those of the search, too."""
    every = (*rows, *found.search.rows)
    return max((row for row in every if row.trusted), key=lambda row: row.forwarding_fps, default=None)


def _result(size: int, found: MeshThroughput, rows: Sequence[MeshTrial], maximum: Fraction) -> MaximumRate:
    # The verdict of the search covers loads that the tester cannot send. A device without a throughput has rates.
    told = bool(found.search.goal.threshold_pct) or found.search.state.ends_search
    searched = [found.search.verdict] if told else []
    untrusted = [row.status for row in rows if not row.trusted]
    trusted = [row for row in rows if row.trusted]
    best = _fastest(found, rows)
    at_maximum = [row for row in trusted if row.load_pct == float(maximum)]
    return MaximumRate(
        frame_size_bytes=size,
        throughput_fps=found.search.shown.forwarding_fps if found.search.throughput_pct is not None else None,
        mfr_fps=best.forwarding_fps if best else None,
        frmol_offered_pct=at_maximum[-1].offered_pct if at_maximum else None,
        frmol_fps=at_maximum[-1].forwarding_fps if at_maximum else None,
        rows=tuple(rows),
        throughput=found,
        state=Verdict.worst((*searched, *untrusted)),
    )
