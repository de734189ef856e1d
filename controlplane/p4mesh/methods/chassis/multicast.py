"""Rate, latency and jitter of multicast at the throughput and at 10, 50 and 90 %: one port to all, and all to all."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import ceil

from p4mesh.methods.base import MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.chassis import tables as own
from p4mesh.methods.chassis.loads import FRAME_SIZES_BYTES, LOWER_LOADS_PCT, PPM_BELOW
from p4mesh.methods.chassis.udp_ports import UDP_PORTS, with_udp_ports
from p4mesh.methods.criterion import Criterion, judged
from p4mesh.methods.longer_trials import Asked, Taken, measure_each
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, decimal, with_defaults
from p4mesh.methods.results.latency import (
    LATENCY_DEFINITION,
    check_definition,
    definition_of,
    definition_text,
    shift_ns,
    summarise,
)
from p4mesh.methods.results.latency_cells import Circumstances, LatencyCells, latency_cells
from p4mesh.methods.results.latency_tables import latency_note
from p4mesh.methods.results.loss_interval import longer_text
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.queues import queue_findings
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.methods.results.searched import Searched
from p4mesh.methods.rfc3918.aggregated import group_trial, search_aggregated
from p4mesh.methods.rfc3918.n_to_n import n_to_n_trial
from p4mesh.methods.rfc3918.rows import MulticastTrial, copies_latency, trial_row, untrusted
from p4mesh.methods.rfc3918.searching import searched_sizes
from p4mesh.methods.rfc3918.setup import (
    LATENCY_DURATION_S,
    MULTICAST,
    Setup,
    setup_parameters,
    trial_parameters,
    verify_parameter,
)
from p4mesh.quantities import number_text
from p4mesh.traffic.line_rate import NS_PER_MS, NS_PER_S, max_rate_fps, rate_at_pct
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

_HIGHEST = decimal(
    "load_pct", "99.955", "% of line rate", "RFC 3918 4.3", "highest load of each output", ("0.0001", "100")
)
_STAGGER = decimal(
    "stagger_us",
    "0",
    "us",
    "RFC 2889 5.1.3",
    "start of each port after the one before it, less whole distances of the frames of a port",
    ("0", "1000000"),
)
_OWN = ("source_port", "groups", "start_stagger_us", "ppm_below")
"""Parameters of one source, and those that this test has in another form."""
_LEAST_FRAMES = 2
"""Least frames of a group in a trial: jitter is the difference of two latencies of the same flow."""


@dataclass(frozen=True, kw_only=True)
class LoadTrial(Record):
    """The trial of one load, whose latency is shown."""

    trial: MulticastTrial
    latency: LatencyCells = field(metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class GroupsUnit(Record):
    """The trials of one frame size."""

    frame_size_bytes: int
    members: int
    """Ports that receive."""
    trials: tuple[LoadTrial, ...]
    """Lower loads first, at last the highest one; none where no load passed."""
    search: Searched[MulticastTrial] | None = field(default=None, metadata=OMITTED)


class _AtLoads(MethodOf[GroupsUnit]):
    """Trials of the lower loads and of the highest one, and their tables."""

    part = "loads"
    frame_sizes_bytes = FRAME_SIZES_BYTES

    @abstractmethod
    def spec(self, setup: Setup, size: int, load: Fraction, duration_ns: int) -> TrialSpec:
        """The trial of a load."""

    @abstractmethod
    def note(self, parameters: ParameterSet) -> str:
        """Words of the table about the highest load."""

    @abstractmethod
    def _roles(self, bed: Bed, parameters: ParameterSet) -> str:
        """Senders and receivers in words, for the summary."""

    def goal(self, parameters: ParameterSet) -> str:
        """The criterion of the loads, and what the user's thresholds state."""
        return ", ".join(filter(None, (own.GOAL, super().goal(parameters))))

    def _unit(
        self,
        setup: Setup,
        size: int,
        highest: Fraction | None,
        session: Session,
        search: Searched[MulticastTrial] | None = None,
    ) -> GroupsUnit:
        """Measure the lower loads that the highest one reaches, and that."""
        parameters, sustained = setup.parameters, setup.parameters.flag(shared.SUSTAINED)
        judge = Criterion(sustained=sustained)
        duration_ns = shared.duration_ns_of(parameters, size, setup.line_rate_bps)

        def spec_at(load: Fraction, length_ns: int) -> TrialSpec:
            spec = with_udp_ports(self.spec(setup, size, load, length_ns), (MULTICAST,), parameters)
            # Flows of their own are needed only where each has a correction of its own: there may be a million.
            return replace(spec, per_flow=setup.bed.mixed_rates)

        loads = [] if highest is None else [*(load for load in LOWER_LOADS_PCT if load <= highest), highest]
        asked = [Asked(load, partial(spec_at, load), duration_ns, judge) for load in loads]
        taken = measure_each(session, asked, lengthen=sustained)
        members = len(setup.receivers) if search is not None else len(setup.bed.ports)
        trials = tuple(_row(one, setup, size, judge(one.result)) for one in taken)
        return GroupsUnit(frame_size_bytes=size, members=members, trials=trials, search=search)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, GroupsUnit]) -> Outcome:
        """The table at the throughput, that at every load, jitter against load, and the figures."""
        units = list(results.values())
        searched = searched_sizes(units)
        verdicts = [one.search.verdict for one in searched]
        verdicts += [judged(one.trial.verdict) for unit in units for one in unit.trials]
        rows = [row for unit in units for row in _rows(unit, bed)]
        definition = definition_text(bed, parameters)
        durations_ns = [round(one.trial.duration_ms * NS_PER_MS) for unit in units for one in unit.trials]
        sent = [one.trial.tx_frames for unit in units for one in unit.trials]
        note = f"{self.note(parameters)} {longer_text(sent, 1 if searched else len(bed.ports))} {latency_note(bed)}"
        return self.outcome(
            verdicts,
            self._roles(bed, parameters),
            own.tables_of(rows, definition, note),
            searched=searched,
            figures=own.figures_of(rows, definition),
            findings=[text for unit in units for text in _findings(unit)],
            deviations=(shared.duration_text(durations_ns, LATENCY_DURATION_S, "RFC 3918 5.1"),),
        )


class MulticastAtLoads(_AtLoads):
    """One port sends to groups that all others have joined."""

    name = "chassis.multicast"
    title = "Multicast at 10, 50, 90 % and at the throughput"
    section = "RFC 3918 4.3, 5.1"
    parameters = (
        UDP_PORTS,
        *setup_parameters("RFC 3918 5.1"),
        *with_defaults((LATENCY_DEFINITION,), latency_definition="LIFO"),
        shared.DEPARTURE_ERROR,
        verify_parameter(),
        *with_defaults(trial_parameters("RFC 3918 5.1", LATENCY_DURATION_S), ppm_below=Fraction(PPM_BELOW)),
        *shared.search_parameters("RFC 3918 4.3"),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds with too few ports, unknown ports and groups, contradicting bounds."""
        Setup(bed, parameters).check(self.name, groups=parameters.integer("groups"))
        shared.search_of(parameters)
        check_definition(self.name, bed, parameters)

    def latency_pairs(self, bed: Bed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        """The pairs from the source to every egress port."""
        setup = Setup(bed, parameters)
        return tuple((setup.source, port) for port in setup.receivers)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """The typical length of the search, its latency trial, and the lower loads."""
        return shared.search_of(parameters).trials_expected + 1 + len(LOWER_LOADS_PCT)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> GroupsUnit:
        """Find the throughput, then measure latency at it and at the lower loads that it reaches."""
        setup, size = Setup(bed, parameters), unit.frame_size_bytes
        search = search_aggregated(setup, size, session, 1 + len(LOWER_LOADS_PCT))
        return self._unit(setup, size, search.result_load_pct, session, search)

    def spec(self, setup: Setup, size: int, load: Fraction, duration_ns: int) -> TrialSpec:
        frames = _LEAST_FRAMES * setup.parameters.integer("groups")
        least_ns = ceil(frames * NS_PER_S / rate_at_pct(load, size, setup.line_rate_bps))
        return group_trial(setup, size, load, max(duration_ns, least_ns), watch_queues=True, prints_latency=True)

    def note(self, parameters: ParameterSet) -> str:
        return f"From port {parameters.integer('source_port')} to all egress ports."

    def _roles(self, bed: Bed, parameters: ParameterSet) -> str:
        receivers = len(Setup(bed, parameters).receivers)
        return f"port {parameters.integer('source_port')} to {receivers} ports, {parameters.integer('groups')} groups"


class NToNAtLoads(_AtLoads):
    """Each port sends to a group of its own that all others have joined."""

    name = "chassis.n_to_n"
    title = "N-to-N multicast at 10, 50, 90 % and at the highest load"
    section = "RFC 3918 4.3, every port a source"
    parameters = (
        UDP_PORTS,
        *(item for item in setup_parameters("RFC 3918 4.3") if item.name not in _OWN),
        _HIGHEST,
        _STAGGER,
        *with_defaults((LATENCY_DEFINITION,), latency_definition="LIFO"),
        shared.DEPARTURE_ERROR,
        verify_parameter(),
        *(item for item in trial_parameters("RFC 3918 5.1", LATENCY_DURATION_S) if item.name not in _OWN),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than three ports, unknown ports and groups."""
        bed.require_ports(self.name, 3)
        Setup(bed, parameters).check_hosts(len(bed.ports))
        check_definition(self.name, bed, parameters)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return 1 + len(LOWER_LOADS_PCT)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> GroupsUnit:
        """Measure latency at the lower loads and at the highest one."""
        setup = Setup(bed, parameters)
        return self._unit(setup, unit.frame_size_bytes, parameters.number(_HIGHEST.name), session)

    def spec(self, setup: Setup, size: int, load: Fraction, duration_ns: int) -> TrialSpec:
        """The trial of a load of each output."""
        stagger_us = setup.parameters.number(_STAGGER.name)
        return n_to_n_trial(setup, size, load, stagger_us, duration_ns, at_once=True, prints_latency=True)

    def note(self, parameters: ParameterSet) -> str:
        stagger_us = float(parameters.number(_STAGGER.name))
        started = f"ports start {number_text(stagger_us)} us apart" if stagger_us else "all ports start together"
        return f"Each output gets up to {number_text(parameters.number(_HIGHEST.name))} %; {started}."

    def _roles(self, bed: Bed, parameters: ParameterSet) -> str:
        return f"{len(bed.ports)} ports, each to a group of its own with {parameters.text('protocol')}"


def _findings(unit: GroupsUnit) -> Iterator[str]:
    trials = [one.trial for one in unit.trials]
    yield from untrusted(unit.frame_size_bytes, trials)
    yield from queue_findings(f"{unit.frame_size_bytes} B", trials)


def _row(one: Taken, setup: Setup, size: int, verdict: Verdict) -> LoadTrial:
    trial = trial_row(one.spec, one.result, setup.line_rate_bps, one.load_pct, verdict)
    return LoadTrial(trial=trial, latency=_latency(setup, size, one.result))


def _latency(setup: Setup, size: int, result: TrialResult) -> LatencyCells:
    if setup.bed.mixed_rates:
        return copies_latency(setup, size, result)
    bed, kind = setup.bed, definition_of(setup.parameters)
    any_port = bed.port_numbers[0]
    summary = summarise(result.latency, shift_ns(bed, kind, size, any_port, any_port, result.latency))
    return latency_cells(
        summary,
        definition_text(bed, setup.parameters),
        Circumstances.of([result], bed.stamps.resolution_ns, of_all=True),
    )


def _rows(unit: GroupsUnit, bed: Bed) -> list[own.AtLoad]:
    size, whole = unit.frame_size_bytes, unit.members * max_rate_fps(unit.frame_size_bytes, bed.slowest_rate_bps)
    rows = []
    for one in unit.trials:
        load, fps = None if one is unit.trials[-1] else one.trial.load_pct, one.trial.forwarding_fps
        error_fps, share_pct = one.trial.forwarding_error_fps, 100 * fps / float(whole)
        rows.append(own.at_load(size, one.trial.verdict, fps, error_fps, share_pct, one.latency, load))
    return own.rows_of(size, rows)
