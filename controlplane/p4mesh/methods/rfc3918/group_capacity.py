"""RFC 3918 7.1: multicast group capacity, the most groups of which every egress port receives at least one frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from p4mesh.errors import ParameterError
from p4mesh.methods.base import MethodOf, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import ParameterSet, integer, percent
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import Record
from p4mesh.methods.results.searched import AT_LEAST
from p4mesh.methods.rfc3918.rows import RX_ALL_PORTS, MulticastTrial, trial_row, untrusted
from p4mesh.methods.rfc3918.setup import MAX_GROUPS, Setup, setup_parameters, trial_parameters
from p4mesh.traffic.line_rate import NS_PER_S, rate_at_pct
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

_OWN = ("duration_ms", "scaled_frames")
_TRIALS = (
    fields.FRAME_SIZE_BYTES,
    retitled(fields.GROUPS, "Groups per port"),
    fields.TX_FRAMES,
    RX_ALL_PORTS,
    fields.SILENT_MEMBERSHIPS,
    fields.FLOODED_FRAMES,
    fields.VERDICT,
)


@dataclass(frozen=True, kw_only=True)
class GroupsTrial(MulticastTrial):
    """A trial with one number of groups."""

    groups: int
    silent_memberships: int


@dataclass(frozen=True, kw_only=True)
class CapacityUnit(Record):
    """The capacity with one frame size."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    capacity_groups: Annotated[int | None, fields.CAPACITY_GROUPS]
    upper_groups: Annotated[int | None, fields.UPPER_GROUPS]
    members: Annotated[int, fields.MEMBERS]
    state: Annotated[Verdict, fields.STATE]
    reason: str
    trials: Annotated[int, fields.TRIALS]
    rows: tuple[GroupsTrial, ...]


_HEADLINE = (fields.CAPACITY_GROUPS, fields.UPPER_GROUPS, fields.STATE)


class GroupCapacity(MethodOf[CapacityUnit]):
    """Multicast group capacity."""

    name = "rfc3918.group_capacity"
    title = "Multicast group capacity"
    section = "RFC 3918 7.1"
    part = "capacity"
    parameters = (
        *(item for item in setup_parameters("RFC 3918 7.1", groups=MAX_GROUPS) if item.name != "groups"),
        integer("groups_first", 10, "groups", "RFC 3918 7.1", "groups of the first trial", (1, MAX_GROUPS)),
        integer("groups_step", 10, "groups", "RFC 3918 7.1", "groups that each trial has more", (1, MAX_GROUPS)),
        integer("groups_max", 200, "groups", "RFC 3918 7.1", "groups of the last trial", (1, MAX_GROUPS)),
        integer("frames_per_group", 1, "frames", "RFC 3918 7.1", "frames to each group", (1, 10_000)),
        percent("load_pct", "1", "RFC 3918 7.1", "load of the source"),
        *(item for item in trial_parameters("RFC 3918 7.1") if item.name not in _OWN),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than two ports, unknown ports and groups, a first number beyond the last."""
        Setup(bed, parameters).check(self.name, groups=parameters.integer("groups_max"))
        first, last = parameters.integer("groups_first"), parameters.integer("groups_max")
        if first > last:
            raise ParameterError(f"groups_first={first} is above groups_max={last}", hint="groups_first <= groups_max")

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return len(_counts(parameters))

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> CapacityUnit:
        """Add groups until a port does not receive one of them."""
        setup, size = Setup(bed, parameters), unit.frame_size_bytes
        frames = parameters.integer("frames_per_group")
        rows = capacity_trials(setup, size, session, _counts(parameters), parameters.number("load_pct"), frames)
        passed = max((row.groups for row in rows if row.verdict is Verdict.PASS), default=None)
        last = rows[-1]
        return CapacityUnit(
            frame_size_bytes=size,
            capacity_groups=passed,
            upper_groups=last.groups if last.verdict is Verdict.FAIL else None,
            members=len(setup.receivers),
            state=Verdict.MEASURED if passed and last.verdict.decides else last.verdict,
            reason=AT_LEAST if passed and last.verdict is not Verdict.FAIL else "",
            trials=len(rows),
            rows=rows,
        )

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, CapacityUnit]) -> Outcome:
        """The capacities; FAIL where not even the first number of groups was held."""
        units = list(results.values())
        trials = [(unit, row) for unit in units for row in unit.rows]
        note = "Capacity: the last number of groups of which every egress port received at least one frame each."
        return self.outcome(
            (unit.state for unit in units),
            f"{len(Setup(bed, parameters).receivers)} egress ports",
            (
                CapacityUnit.table("group_capacity", self.title, units, note, headline=_HEADLINE),
                GroupsTrial.table(
                    "group_capacity_trials", "Group capacity: all trials", trials, columns=_TRIALS, keys=(), detail=True
                ),
            ),
            findings=(text for unit in units for text in _findings(unit)),
        )


def _findings(unit: CapacityUnit) -> Iterator[str]:
    yield from untrusted(unit.frame_size_bytes, unit.rows)
    if unit.reason:
        yield f"{unit.frame_size_bytes} B: >= {unit.capacity_groups:,} groups; no more was tried"


def capacity_trials(
    setup: Setup,
    size: int,
    session: Session,
    counts: Sequence[int],
    load: Fraction,
    frames_per_group: int = 1,
    extra: int = 0,
) -> tuple[GroupsTrial, ...]:
    """Measure numbers of groups up to the first that does not pass; at most ``extra`` trials follow."""
    rows: list[GroupsTrial] = []
    for place, count in enumerate(counts, start=1):
        spec = _spec(setup, size, count, load, count * frames_per_group)
        result = session.measure(spec, TrialNote(load, len(counts) - place + extra, _judge))
        rows.append(groups_row(spec, result, setup.line_rate_bps, load, _judge(result), count))
        if rows[-1].verdict is not Verdict.PASS:
            break
    return tuple(rows)


def groups_row(
    spec: TrialSpec, result: TrialResult, rate_bps: int, load: Fraction, verdict: Verdict, groups: int
) -> GroupsTrial:
    """The row of a trial with a number of groups."""
    row = trial_row(spec, result, rate_bps, load, verdict)
    return GroupsTrial(**vars(row), groups=groups, silent_memberships=result.silent_flows)


def _counts(parameters: ParameterSet) -> tuple[int, ...]:
    first, step, last = (parameters.integer(f"groups_{name}") for name in ("first", "step", "max"))
    return (*range(first, last, step), last)


def _judge(result: TrialResult) -> Verdict:
    """PASS iff every egress port has received at least one frame of each group."""
    if not result.status.trusted:
        return result.status
    return Verdict.FAIL if result.silent_flows else Verdict.PASS


def _spec(setup: Setup, size: int, count: int, load: Fraction, frames: int) -> TrialSpec:
    rate = rate_at_pct(load, size, setup.line_rate_bps)
    groups = setup.groups(count)
    stream = setup.stream(size, rate, frames, groups)
    memberships = setup.memberships(groups, verify=False)
    duration_ns = int(frames * NS_PER_S / rate) + 1
    return setup.trial(f"{count} groups {size} B", (stream,), duration_ns, memberships)
