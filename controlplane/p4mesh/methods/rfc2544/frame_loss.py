"""RFC 2544 26.3: frame loss rate over the whole range of input rates."""

from __future__ import annotations

from collections.abc import Mapping

from p4mesh.methods.base import MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import swept_row, trial_spec
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, boolean, decimal
from p4mesh.methods.port_patterns import PARAMETERS, RFC_DURATION_S, mesh_notes, mesh_of, ports_used
from p4mesh.methods.results import rate_tables as tables
from p4mesh.methods.results.forwarding import LossSweep, loss_sweep
from p4mesh.methods.results.loss_interval import INTERVAL_NOTE
from p4mesh.methods.results.loss_tables import loss_table
from p4mesh.methods.results.outcome import Figure, Outcome, Series
from p4mesh.methods.results.queues import queue_findings
from p4mesh.methods.sweeps import frame_loss_loads, judge_of, loses_nothing_twice, loss_limit, loss_limit_pct, swept

SECTION = "RFC 2544 26.3"
FRAME_LOSS = "frame_loss"
_TYPICAL_TRIALS = 3


class FrameLoss(MethodOf[LossSweep]):
    """Loads from 100 % downwards until two in a row lose nothing."""

    name = "rfc2544.frame_loss"
    title = "Frame loss rate"
    section = SECTION
    part = FRAME_LOSS
    parameters = (
        decimal("step_pct", "10", "% of line rate", SECTION, "step of the load; at most 10 %", ("0.1", "10")),
        boolean("full_sweep", False, SECTION, "go on to the lowest load"),
        loss_limit(SECTION),
        *PARAMETERS,
        *shared.trial_parameters(SECTION, RFC_DURATION_S),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds without port pairs."""
        mesh_of(self.name, bed, parameters)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the length of the whole sweep, or of one that loses frames at the top only."""
        whole = len(frame_loss_loads(parameters.number("step_pct"), shared.maximum_load_pct(parameters)))
        return whole if parameters.flag("full_sweep") else min(whole, _TYPICAL_TRIALS)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> LossSweep:
        """Measure the sweep of one frame size."""
        mesh, size = mesh_of(self.name, bed, parameters), unit.frame_size_bytes
        expected = self.trials_expected(unit, parameters)
        judge = judge_of(parameters)
        trials = swept(
            frame_loss_loads(parameters.number("step_pct"), shared.maximum_load_pct(parameters)),
            lambda load, length_ns: trial_spec(mesh, FRAME_LOSS, size, load, parameters, length_ns),
            shared.duration_ns_of(parameters, size, mesh.line_rate_bps),
            session,
            lengthen=parameters.flag(shared.SUSTAINED),
            judge=judge,
            remaining=lambda index: max(0, expected - index - 1),
            enough=None if parameters.flag("full_sweep") else loses_nothing_twice,
        )
        return loss_sweep(size, (swept_row(one, mesh, judge) for one in trials))

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, LossSweep]) -> Outcome:
        """Return the table, and the graph with fixed axes of 0 to 100 %."""
        units = list(results.values())
        series = tuple(
            Series(
                f"{unit.frame_size_bytes} B",
                tuple((row.load_pct, row.loss_pct) for row in unit.rows if row.trusted),
            )
            for unit in units
        )
        sizes = [unit.frame_size_bytes for unit in results]
        rate_bps = mesh_of(self.name, bed, parameters).line_rate_bps
        duration = shared.duration_deviation(parameters, sizes, rate_bps, RFC_DURATION_S, "RFC 2544 24")
        state = tables.overall_state((), units)
        note = f"{tables.criterion_note(loss_limit_pct(parameters))} {INTERVAL_NOTE}"
        return Outcome(
            state,
            f"{self.title}: {ports_used(bed, parameters)} ports, {state.value}",
            (loss_table(FRAME_LOSS, self.title, units, note),),
            (_figure(series),),
            (
                *tables.findings({FRAME_LOSS: units}),
                *(text for unit in units for text in queue_findings(f"{unit.frame_size_bytes} B", unit.rows)),
            ),
            (*((duration,) if duration else ()), *mesh_notes(self.name, bed, parameters)),
        )


def _figure(series: tuple[Series, ...]) -> Figure:
    title = "Frame loss against load"
    return Figure("loss", title, "input rate (% of line rate)", "loss (%)", series, 100.0, 100.0)
