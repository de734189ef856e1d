"""RFC 2544 26.3: frame loss rate over the whole range of input rates."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from p4mesh.methods.base import Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Mesh, measure_loads
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, boolean, decimal
from p4mesh.methods.port_patterns import (
    DURATION_CLAUSE,
    PARAMETERS,
    RFC_DURATION_S,
    mesh_notes,
    mesh_of,
    ports_used,
)
from p4mesh.methods.results import rate_tables as tables
from p4mesh.methods.results.forwarding import LossSweep, loss_sweep
from p4mesh.methods.results.loss_interval import INTERVAL_NOTE
from p4mesh.methods.results.loss_tables import loss_table
from p4mesh.methods.results.outcome import Figure, Outcome, Series
from p4mesh.methods.results.queues import queue_findings
from p4mesh.methods.shapes import MeshTest
from p4mesh.methods.sweeps import frame_loss_loads, judge_of, loses_nothing_twice, loss_limit, loss_limit_pct

SECTION = "RFC 2544 26.3"
FRAME_LOSS = "frame_loss"
_TYPICAL_TRIALS = 3


class FrameLoss(MeshTest[LossSweep]):
    """Loads from 100 % downwards until two in a row lose nothing."""

    name = "rfc2544.frame_loss"
    title = "Frame loss rate"
    section = SECTION
    part = FRAME_LOSS
    duration_s, duration_clause = RFC_DURATION_S, DURATION_CLAUSE
    parameters = (
        decimal("step_pct", "10", "% of line rate", SECTION, "step of the load; at most 10 %", ("0.1", "10")),
        boolean("full_sweep", False, SECTION, "go on to the lowest load"),
        loss_limit(SECTION),
        *PARAMETERS,
        *shared.trial_parameters(SECTION, RFC_DURATION_S),
    )

    def refuses_mix(self, parameters: ParameterSet) -> str:
        return ""

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        return mesh_of(self.name, bed, parameters)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """The whole sweep, or one that loses frames at the top only."""
        whole = len(_loads(parameters))
        return whole if parameters.flag("full_sweep") else min(whole, _TYPICAL_TRIALS)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> LossSweep:
        """Measure the sweep of one frame size."""
        size, expected = unit.frame_size, self.trials_expected(unit, parameters)
        rows = measure_loads(
            self.mesh(bed, parameters),
            FRAME_LOSS,
            size,
            _loads(parameters),
            parameters,
            session,
            judge=judge_of(parameters),
            remaining=lambda index: max(0, expected - index - 1),
            enough=None if parameters.flag("full_sweep") else loses_nothing_twice,
        )
        return loss_sweep(size, rows)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, LossSweep]) -> Outcome:
        """The table, and the graph with fixed axes of 0 to 100 %."""
        units = list(results.values())
        lines = tuple(
            Series(
                f"{unit.frame_size_bytes} B", tuple((row.load_pct, row.loss_pct) for row in unit.rows if row.trusted)
            )
            for unit in units
        )
        title = "Frame loss against load"
        figure = Figure("loss", title, "input rate (% of line rate)", "loss (%)", lines, 100.0, 100.0)
        note = f"{tables.criterion_note(loss_limit_pct(parameters))} {INTERVAL_NOTE}"
        queues = [text for unit in units for text in queue_findings(f"{unit.frame_size_bytes} B", unit.rows)]
        return self.outcome(
            map(tables.sweep_state, units),
            f"{ports_used(bed, parameters)} ports",
            [loss_table(FRAME_LOSS, self.title, units, note)],
            figures=[figure],
            findings=(*tables.findings({FRAME_LOSS: units}), *queues),
            deviations=(self.short_trials(bed, parameters, results), *mesh_notes(self.name, bed, parameters)),
        )


def _loads(parameters: ParameterSet) -> tuple[Fraction, ...]:
    return frame_loss_loads(parameters.number("step_pct"), shared.maximum_load_pct(parameters))
