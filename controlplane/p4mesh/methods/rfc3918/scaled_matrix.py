"""RFC 3918 4.2: scaled group forwarding matrix, the forwarding rate against the number of groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from p4mesh.errors import ParameterError
from p4mesh.methods.base import MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.longer_trials import Asked, measure_each
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, boolean, integer, percent
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.loss_interval import longer_text
from p4mesh.methods.results.outcome import Figure, Outcome, Series
from p4mesh.methods.results.queues import queue_findings
from p4mesh.methods.results.record import Record
from p4mesh.methods.rfc3918.aggregated import group_trial
from p4mesh.methods.rfc3918.group_capacity import GroupsTrial, capacity_trials, groups_row
from p4mesh.methods.rfc3918.rows import LOST_COPIES, RX_ALL_PORTS, untrusted
from p4mesh.methods.rfc3918.setup import DURATION_S, MAX_GROUPS, Setup, setup_parameters, trial_parameters
from p4mesh.methods.sweeps import measured
from p4mesh.traffic.line_rate import NS_PER_MS
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

_CAPACITY_LOAD_PCT = Fraction(1)
_COLUMNS = (
    fields.FRAME_SIZE_BYTES,
    fields.GROUPS,
    retitled(fields.LOAD_PCT, "Intended load"),
    fields.OFFERED_FPS,
    fields.TX_FRAMES,
    RX_ALL_PORTS,
    LOST_COPIES,
    fields.FORWARDING_FPS,
    fields.QUEUES,
    fields.VERDICT,
)


@dataclass(frozen=True, kw_only=True)
class MatrixUnit(Record):
    """The forwarding rates of one frame size."""

    frame_size_bytes: int
    rows: tuple[GroupsTrial, ...]
    capacity: tuple[GroupsTrial, ...]
    """Trials of the capacity, up to the first that does not pass; none where it was not asked for."""

    @property
    def verdict(self) -> Verdict:
        """The worst of its trials; that of the capacity where it cannot be trusted, or no number of groups was held."""
        ended = [trial.verdict for trial in self.capacity[-1:] if not trial.status.trusted or not self.rows]
        return Verdict.worst([*ended, *(row.verdict for row in self.rows)])


class ScaledMatrix(MethodOf[MatrixUnit]):
    """Scaled group forwarding matrix."""

    name = "rfc3918.scaled_matrix"
    title = "Scaled group forwarding matrix"
    section = "RFC 3918 4.2"
    part = "groups"
    parameters = (
        *setup_parameters("RFC 3918 4.2", groups=100),
        integer("groups_step", 10, "groups", "RFC 3918 4.2", "first number of groups, and the step", (1, MAX_GROUPS)),
        boolean("until_capacity", True, "RFC 3918 4.2", "end at the group capacity (7.1), which is measured first"),
        percent("load_pct", "100", "RFC 3918 4.2", "load of the source"),
        boolean("joins_verify", False, "RFC 3918 3", "before each trial every member must receive every group"),
        *trial_parameters("RFC 3918 4.2"),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than two ports, unknown ports and groups, a step beyond the groups."""
        Setup(bed, parameters).check(self.name, groups=parameters.integer("groups"))
        if parameters.integer("groups_step") > parameters.integer("groups"):
            raise ParameterError(
                f"groups_step={parameters.integer('groups_step')} is above groups={parameters.integer('groups')}",
                hint="groups_step <= groups, the largest number of groups",
            )

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return len(_counts(parameters)) * (1 + parameters.flag("until_capacity"))

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> MatrixUnit:
        """Measure every number of groups, up to the capacity where that is asked for, at the same load."""
        setup, size = Setup(bed, parameters), unit.frame_size_bytes
        load = parameters.number("load_pct")
        duration_ns = shared.duration_ns_of(parameters, size, setup.line_rate_bps)
        counts = _counts(parameters)
        capacity: tuple[GroupsTrial, ...] = ()
        if parameters.flag("until_capacity"):
            capacity = capacity_trials(setup, size, session, counts, _CAPACITY_LOAD_PCT, extra=len(counts))
            counts = tuple(trial.groups for trial in capacity if trial.verdict is Verdict.PASS)

        def trial_of(count: int, length_ns: int) -> TrialSpec:
            return group_trial(setup, size, load, length_ns, count, watch_queues=True)

        asked = [Asked(load, partial(trial_of, count), duration_ns, measured) for count in counts]
        taken = measure_each(session, asked, lengthen=parameters.flag(shared.SUSTAINED))
        rows = [
            groups_row(one.spec, one.result, setup.line_rate_bps, load, measured(one.result), count)
            for one, count in zip(taken, counts, strict=True)
        ]
        return MatrixUnit(frame_size_bytes=size, rows=tuple(rows), capacity=capacity)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, MatrixUnit]) -> Outcome:
        """The matrix; FAIL where not even the first number of groups was held."""
        units = list(results.values())
        rows = [(unit, row) for unit in units for row in unit.rows]
        series = tuple(
            Series(f"{unit.frame_size_bytes} B", tuple((float(row.groups), row.forwarding_fps) for row in unit.rows))
            for unit in units
        )
        figure = Figure("scaled_matrix", "Aggregated forwarding rate against groups", "groups", "frames/s", series)
        durations_ns = [round(row.duration_ms * NS_PER_MS) for _, row in rows]
        headline = (fields.FORWARDING_FPS,)
        table = GroupsTrial.table(
            "scaled_matrix",
            self.title,
            rows,
            longer_text([row.tx_frames for _, row in rows], 1),
            columns=_COLUMNS,
            keys=_COLUMNS[:2],
            headline=headline,
        )
        return self.outcome(
            (unit.verdict for unit in units),
            f"up to {parameters.integer('groups')} groups",
            (table,),
            figures=(figure,),
            findings=(text for unit in units for text in _findings(unit)),
            deviations=(shared.duration_text(durations_ns, DURATION_S, self.section),),
        )


def _findings(unit: MatrixUnit) -> Iterator[str]:
    size = unit.frame_size_bytes
    yield from untrusted(size, [*unit.capacity, *unit.rows])
    for row in unit.rows:
        yield from queue_findings(f"{size} B, {row.groups} groups", [row])
    if unit.capacity and (last := unit.capacity[-1]).verdict is Verdict.FAIL:
        held = f"{unit.capacity[-2].groups} groups pass" if unit.rows else "no number of groups passes"
        yield f"{size} B: the matrix ends at the group capacity (RFC 3918 7.1): {held}, {last.groups} fail"


def _counts(parameters: ParameterSet) -> tuple[int, ...]:
    """Step, 2 step, ... and at last the number of groups."""
    step, last = parameters.integer("groups_step"), parameters.integer("groups")
    return (*range(step, last, step), last)
