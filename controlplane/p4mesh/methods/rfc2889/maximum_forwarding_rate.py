"""RFC 2889 5.6.4: maximum forwarding rate between the throughput and the maximum offered load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

from p4mesh.methods.base import Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Mesh, measure_loads, measure_throughput
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, percent
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.forwarding import BestRate, LastRate, MeshThroughput, MeshTrial, fastest
from p4mesh.methods.results.loss_interval import BUCKET_RATES
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import INLINE, Record
from p4mesh.methods.results.searched import FOR_GOOD, FOR_GOOD_NOTE
from p4mesh.methods.rfc2889.port_pair import pair_mesh, pair_parameters
from p4mesh.methods.shapes import SearchTest
from p4mesh.methods.sweeps import sweep_loads
from p4mesh.verdict import Verdict

_AT_MFR = (
    *FOR_GOOD,
    retitled(fields.LOAD_PCT, "Iload at MFR"),
    retitled(fields.OFFERED_FPS, "Oload at MFR"),
    fields.TX_FRAMES,
    fields.RX_FRAMES,
    fields.LOSS_PCT,
    fields.LOSS_ERROR_PCT,
)


@dataclass(frozen=True, kw_only=True)
class MaximumRate(Record):
    """Throughput, MFR and FRMOL of one frame size; None without a trial that can be trusted."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    throughput_fps: Annotated[float | None, fields.THROUGHPUT_FPS]
    mfr: BestRate = field(metadata=INLINE)
    frmol_offered_pct: Annotated[float | None, fields.FRMOL_OFFERED_PCT]
    frmol: LastRate = field(metadata=INLINE)
    rows: tuple[MeshTrial, ...]
    """The trial at the throughput, and the steps from there."""
    throughput: MeshThroughput
    state: Annotated[Verdict, fields.STATE]

    @property
    def best(self) -> MeshTrial | None:
        """The trial at the MFR."""
        return fastest((*self.rows, *self.throughput.rows))


class MaximumForwardingRate(SearchTest[MaximumRate]):
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

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        return pair_mesh(self.name, bed, parameters)

    def trials_after(self, parameters: ParameterSet) -> int:
        return 1

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> MaximumRate:
        """Search the throughput; if it is below the maximum, step up to it."""
        mesh, size = self.mesh(bed, parameters), unit.frame_size_bytes
        found = measure_throughput(mesh, size, parameters, session)
        search, start = found.search, found.search.result_load_pct
        steps = sweep_loads(start or Fraction(0), shared.maximum_load_pct(parameters), parameters.number("step_pct"))
        rows = [] if start is None else [search.shown]
        rows += measure_loads(mesh, self.part, size, steps[1:], parameters, session)
        last = rows[-1]
        # The verdict of the search covers loads that the tester cannot send. A device without a throughput has rates.
        told = bool(search.goal.threshold_pct) or search.state.ends_search
        return MaximumRate(
            frame_size_bytes=size,
            throughput_fps=None if start is None else search.shown.forwarding_fps,
            mfr=BestRate.of((*rows, *search.rows)),
            frmol_offered_pct=last.offered_pct if last.trusted else None,
            frmol=LastRate.of(last),
            rows=tuple(rows),
            throughput=found,
            state=Verdict.worst((*([search.verdict] if told else []), *(row.status for row in rows))),
        )

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, MaximumRate]) -> Outcome:
        """The table of methodology 3.6.2; the only criterion beside a threshold is that trials are trusted."""
        units, columns = list(results.values()), MaximumRate.columns()
        table = MaximumRate.table(
            "maximum_forwarding_rate",
            self.title,
            [
                (best or {}, best.loss_error if best else {}, unit, unit.throughput.search.for_good)
                for unit in units
                for best in (unit.best,)
            ],
            "MFR is the highest forwarding rate of all trials: those of the search, and the steps from the throughput "
            "to the maximum offered load, where FRMOL is read. Loss at the MFR is that of a trial of any length: "
            "frames that a queue held back until the transmission was over count as lost. "
            f"{BUCKET_RATES} {FOR_GOOD_NOTE}",
            columns=(*columns[:2], *_AT_MFR, *columns[2:]),
            headline=(fields.STATE, fields.THROUGHPUT_FPS, fields.MFR_FPS, fields.LOAD_PCT, fields.FRMOL_FPS),
        )
        return self.outcome(
            [unit.state for unit in units],
            "",
            [table],
            searched=[unit.throughput for unit in units],
            deviations=[self.short_trials(bed, parameters, results)],
        )
