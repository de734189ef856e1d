"""Every port sends to a group of its own that all others join, with staggered starts; search of the smallest stagger.

RFC 3918 4.3 with N sources. Ports that start together send their frames to each output at once, so that an output
gets N - 1 frames at a time; started one after the other, they take turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from p4mesh.errors import ParameterError
from p4mesh.methods.base import MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.criterion import Criterion, judged
from p4mesh.methods.longer_trials import Asked, Taken, measure_each
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import Parameter, ParameterSet, decimal, integer
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.latency import LATENCY_DEFINITION, check_definition, definition_of, groups_of
from p4mesh.methods.results.latency_cells import Circumstances, LatencyCells
from p4mesh.methods.results.latency_tables import LATENCY_COLUMNS, OF_HISTOGRAMS, latency_note
from p4mesh.methods.results.layers import LayerCells, PortLatency, layer_cells, layer_tables
from p4mesh.methods.results.loss_interval import longer_text
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.queues import queue_findings
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.methods.rfc3918.rows import (
    LOST_COPIES,
    RX_ALL_PORTS,
    CopyRates,
    MulticastTrial,
    copies_latency,
    copy_rates,
    trial_row,
    untrusted,
)
from p4mesh.methods.rfc3918.setup import (
    DURATION_S,
    MULTICAST,
    Setup,
    setup_parameters,
    trial_parameters,
    verify_parameter,
)
from p4mesh.quantities import number_text, typed_text
from p4mesh.traffic.derived import staggered
from p4mesh.traffic.line_rate import NS_PER_MS, NS_PER_S, NS_PER_US, rate_at_pct, tx_frames
from p4mesh.traffic.patterns import GroupRange, Multicast
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

_SEARCH = "search"
_CLAUSE = "RFC 3918 4.3"
_MOST_COPIES = 100_000_000
"""Copies of a trial that is lengthened for its stagger: more would simulate for longer than some minutes."""
_OWN = ("source_port", "groups", "start_stagger_us")
_UNKNOWN = OF_HISTOGRAMS | {"calibrated"}
_TRIALS = (
    fields.FRAME_SIZE_BYTES,
    fields.STAGGER_US,
    retitled(fields.LOAD_PCT, "Load of each output"),
    retitled(fields.TX_FRAMES, "Tx, all ports"),
    RX_ALL_PORTS,
    LOST_COPIES,
    retitled(fields.LOSS_PCT, "Loss", digits=6),
    fields.LOSS_ERROR_PCT,
    fields.FLOODED_FRAMES,
    fields.VERDICT,
)
_SUMMARY = (
    fields.FRAME_SIZE_BYTES,
    fields.STAGGER_US,
    *CopyRates.columns(),
    fields.STATE,
    *(column for column in LATENCY_COLUMNS if column.key not in _UNKNOWN),
)


@dataclass(frozen=True, kw_only=True)
class StaggerTrial(Record):
    """The trial with one stagger."""

    stagger_us: float
    trial: MulticastTrial
    rates: CopyRates = field(metadata=INLINE)
    latency: LatencyCells = field(metadata=INLINE)
    layers: tuple[LayerCells, ...] | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class NToNUnit(Record):
    """The trials of one frame size, up to the first without loss where it is searched."""

    frame_size_bytes: int
    state: Verdict
    """Verdict of the last trial."""
    rows: tuple[StaggerTrial, ...]


class NToN(MethodOf[NToNUnit]):
    """N-to-N multicast."""

    name = "rfc3918.n_to_n"
    title = "N-to-N multicast"
    section = "RFC 3918 4.3, every port a source"
    part = "n to n"
    parameters: tuple[Parameter, ...] = (
        *(item for item in setup_parameters(_CLAUSE) if item.name not in _OWN),
        decimal(
            "load_pct",
            "99.955",
            "% of line rate",
            _CLAUSE,
            "load of each output, of all its sources",
            ("0.0001", "100"),
        ),
        decimal(
            "stagger_us",
            "448",
            "us",
            "RFC 2889 5.1.3",
            "start of each port after the one before it; search = the least multiple of stagger_step_us without loss",
            ("0", "1000000"),
            (_SEARCH,),
        ),
        decimal("stagger_step_us", "64", "us", "RFC 2889 5.1.3", "step of the search", ("0.001", "1000000")),
        integer("stagger_steps", 16, "steps", "RFC 2889 5.1.3", "largest stagger of the search, in steps", (1, 10_000)),
        LATENCY_DEFINITION,
        verify_parameter(),
        *(item for item in trial_parameters(_CLAUSE) if item.name not in _OWN),
    )

    def goal(self, parameters: ParameterSet) -> str:
        """The criterion of each trial."""
        return "no copy is lost, nor will be once the queues are full"

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than three ports, unknown ports and groups."""
        bed.require_ports(self.name, 3)
        Setup(bed, parameters).check_hosts(len(bed.ports))
        check_definition(self.name, bed, parameters)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return len(_staggers_us(parameters))

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> NToNUnit:
        """Measure with the stagger that is given, or with one after the other until nothing is lost."""
        setup, size = Setup(bed, parameters), unit.frame_size_bytes
        staggers = _staggers_us(parameters)
        load, sustained = parameters.number("load_pct"), parameters.flag(shared.SUSTAINED)
        judge = Criterion(sustained=sustained)
        rows: list[StaggerTrial] = []
        for place, stagger_us in enumerate(staggers, start=1):
            spec_of = partial(n_to_n_trial, setup, size, load, stagger_us)
            asked = Asked(load, spec_of, _duration_ns(setup, size, load, stagger_us), judge)
            taken = _taken(session, asked, len(staggers) - place, lengthen=sustained)
            spec, result = taken.spec, taken.result
            trial = trial_row(spec, result, setup.line_rate_bps, load, judge(result))
            rows.append(
                StaggerTrial(
                    stagger_us=float(stagger_us),
                    trial=trial,
                    rates=copy_rates(
                        trial.forwarding_fps,
                        trial.forwarding_error_fps,
                        size,
                        len(bed.ports),
                        bed.slowest_rate_bps,
                    ),
                    latency=copies_latency(setup, size, result),
                    layers=_layers(setup, size, result),
                )
            )
            if trial.verdict is not Verdict.FAIL:
                break
        return NToNUnit(frame_size_bytes=size, state=judged(rows[-1].trial.verdict), rows=tuple(rows))

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, NToNUnit]) -> Outcome:
        """The rates with the last stagger of each size, and all trials; PASS iff nothing was lost with it."""
        units = list(results.values())
        shown = [unit.rows[-1] for unit in units]
        trials = [(unit, row, row.trial) for unit in units for row in unit.rows]
        layers = [(unit, unit.rows[-1], cells) for unit in units for cells in unit.rows[-1].layers or ()]
        durations_ns = [round(row.trial.duration_ms * NS_PER_MS) for unit in units for row in unit.rows]
        searched = parameters.is_word("stagger_us")
        note = (
            f"The smallest multiple of {number_text(parameters.number('stagger_step_us'))} us with which nothing is "
            "lost; "
            "staggers are tried upwards, because a larger one may meet the same phases again. "
            if searched
            else ""
        )
        return self.outcome(
            (unit.state for unit in units),
            f"{len(bed.ports)} ports, each to a group of its own with {parameters.text('protocol')}",
            (
                NToNUnit.table(
                    "n_to_n",
                    self.title,
                    list(zip(units, shown, strict=True)),
                    f"{note}{latency_note(bed)} {longer_text([row.trial.tx_frames for row in shown], len(bed.ports))}",
                    columns=_SUMMARY,
                    optional=(fields.QUEUES,),
                    headline=(fields.STAGGER_US, fields.STATE, fields.FORWARDING_FPS, fields.AVG_US, fields.MAX_US),
                ),
                *layer_tables("n_to_n_layers", self.title, _SUMMARY[:2], _SUMMARY[:1], layers),
                StaggerTrial.table(
                    "n_to_n_trials", "N-to-N multicast: all trials", trials, columns=_TRIALS, keys=(), detail=True
                ),
            ),
            findings=(text for unit in units for text in _findings(unit)),
            deviations=(shared.duration_text(durations_ns, DURATION_S, _CLAUSE),),
        )


def _taken(session: Session, asked: Asked, left: int, *, lengthen: bool) -> Taken:
    """The trial with one stagger; ``left`` may follow."""
    return measure_each(session, [asked], lengthen=lengthen, remaining=lambda _: left)[0]


def _findings(unit: NToNUnit) -> Iterator[str]:
    yield from untrusted(unit.frame_size_bytes, [row.trial for row in unit.rows])
    yield from queue_findings(f"{unit.frame_size_bytes} B", [unit.rows[-1].trial])


def _staggers_us(parameters: ParameterSet) -> tuple[Fraction, ...]:
    if not parameters.is_word("stagger_us"):
        return (parameters.number("stagger_us"),)
    step = parameters.number("stagger_step_us")
    return tuple(number * step for number in range(parameters.integer("stagger_steps") + 1))


def n_to_n_trial(
    setup: Setup,
    size: int,
    load: Fraction,
    stagger_us: Fraction,
    duration_ns: int,
    *,
    at_once: bool = False,
    prints_latency: bool = False,
) -> TrialSpec:
    """A trial in which each port sends to the group of its place, so that all outputs get the load.

    ``at_once``: all ports start within the distance of the frames of one, which leaves their frames as far apart as
    whole distances more would.
    """
    ports = setup.bed.port_numbers
    rate = _rate_fps(setup, size, load)
    first = GroupRange(setup.first_group, len(ports)).groups
    ranges = tuple(
        GroupRange(str(group), 1, tuple(other for other in ports if other != port))
        for group, port in zip(first, ports, strict=True)
    )
    count = max(1, tx_frames(duration_ns, rate))
    pattern = Multicast(ranges, own_groups=True)
    stream = Stream(MULTICAST, size, rate, count, pattern, ports, ports, setup.frame)
    within_ns = NS_PER_S / rate if at_once else None
    (stream,) = staggered((stream,), round(stagger_us * NS_PER_US), within_ns)
    memberships = setup.memberships(ranges, verify=setup.parameters.flag("joins_verify"))
    label = f"{len(ports)} to {len(ports)} {size} B stagger {typed_text(stagger_us)} us"
    return setup.trial(
        label,
        (stream,),
        duration_ns,
        memberships,
        per_flow=True,
        watch_queues=True,
        watch_losses=True,
        prints_latency=prints_latency,
    )


def _rate_fps(setup: Setup, size: int, load: Fraction) -> Fraction:
    """Rate of each port, whose frames go to all others."""
    return rate_at_pct(load, size, setup.line_rate_bps) / (len(setup.bed.ports) - 1)


def _duration_ns(setup: Setup, size: int, load: Fraction, stagger_us: Fraction) -> int:
    """The time of a trial in which all ports send together for half of it at least.

    A scaled trial is lengthened for it; raises ParameterError where it would have too many copies, or has a time of
    its own that is too short.
    """
    parameters, others = setup.parameters, len(setup.bed.ports) - 1
    given_ns = shared.duration_ns_of(parameters, size, setup.line_rate_bps)
    last_start_ns = others * round(stagger_us * NS_PER_US)
    needed_ns = 2 * last_start_ns
    if needed_ns <= given_ns:
        return given_ns
    copies = (others + 1) * others * tx_frames(needed_ns, _rate_fps(setup, size, load))
    if parameters.is_word("duration_ms") and copies <= _MOST_COPIES:
        return needed_ns
    raise ParameterError(
        f"stagger of {number_text(stagger_us)} us: the last of {others + 1} ports starts "
        f"{number_text(last_start_ns / NS_PER_MS)} ms "
        f"after the first, and a trial takes {number_text(given_ns / NS_PER_MS)} ms",
        hint=f"set duration_ms={-(-needed_ns // NS_PER_MS)}, so that all ports send together for half of it, or a "
        "smaller stagger_us",
    )


def _layers(setup: Setup, size: int, result: TrialResult) -> tuple[LayerCells, ...] | None:
    kind = definition_of(setup.parameters)
    groups, circumstances = groups_of(result, (MULTICAST,)), Circumstances.of([result], setup.bed.stamps.resolution_ns)
    return layer_cells(setup.bed, PortLatency.of_groups(groups, setup.bed, size, kind, circumstances)) or None
