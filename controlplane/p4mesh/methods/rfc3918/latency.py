"""RFC 3918 5.1, 5.2 and 8.1: multicast latency of every egress port and group, its spread, and latency under burden."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

from p4mesh.measurement.counts import FlowCounts
from p4mesh.methods.base import MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.longer_trials import Asked, measure_each
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import Parameter, ParameterSet, decimal
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.latency import LATENCY_DEFINITION, Group, check_definition
from p4mesh.methods.results.latency_cells import LatencyCells
from p4mesh.methods.results.latency_tables import LATENCY_COLUMNS, OF_HISTOGRAMS, latency_note
from p4mesh.methods.results.layers import PortLatency, layer_rows, layer_tables
from p4mesh.methods.results.metrics import rate_metrics
from p4mesh.methods.results.outcome import Outcome, Table
from p4mesh.methods.results.record import INLINE, OMITTED, Record, Row
from p4mesh.methods.results.searched import Searched
from p4mesh.methods.rfc3918.aggregated import group_trial, search_aggregated
from p4mesh.methods.rfc3918.rows import CopyRates, MulticastTrial, copies_latency, copy_rates, flooded
from p4mesh.methods.rfc3918.searching import searched_sizes
from p4mesh.methods.rfc3918.setup import (
    BURDEN,
    LATENCY_DURATION_S,
    MULTICAST,
    Setup,
    burden_parameters,
    setup_parameters,
    trial_parameters,
    verify_parameter,
)
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

BASELINE, BURDENED = "baseline", "burdened"
_THROUGHPUT = "throughput"
_MOST_PAIRS = 4096
"""Pairs of group and egress port that have a row each in a trial; more are a table that nobody reads."""
_LONGEST = 60
"""Rows of a table on a terminal."""
_ALL_GROUPS = "all"
_SUMMED_UP = (
    f" A trial with more than {_MOST_PAIRS} pairs of group and egress port has a row for each egress port with all "
    "groups, and one for each group with all egress ports; trials.jsonl has the pairs."
)
_EVERY_FRAME = "Every frame is a tagged frame; RFC 3918 5.1 tags one after half the trial."
_WHERE = (
    fields.FRAME_SIZE_BYTES,
    fields.LOAD_PCT,
    retitled(fields.PART, "Trial"),
    fields.GROUP,
    retitled(fields.PORT, "Egress port"),
)
_WITHOUT_HISTOGRAMS = OF_HISTOGRAMS | {"calibrated"}
_LATENCY = tuple(column for column in LATENCY_COLUMNS if column.key not in _WITHOUT_HISTOGRAMS)
_KEYS = (fields.FRAME_SIZE_BYTES, fields.PART, fields.GROUP, fields.PORT)


@dataclass(frozen=True, kw_only=True)
class GroupLatency(Record):
    """Latency of the frames of a group on an egress port; of all groups, or on all ports, where there are too many."""

    part: str
    group: str
    port: int | None
    """None: all egress ports."""
    latency: LatencyCells = field(metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class LatencyTrial(Record):
    """Findings on a trial whose latency is shown."""

    part: str
    status: Verdict
    reason: str
    rates: CopyRates = field(metadata=INLINE)
    latency: LatencyCells = field(metadata=INLINE)
    """All groups and egress ports together."""
    set_size: Annotated[int, fields.SET_SIZE]
    """Pairs of group and egress port in M, of which RFC 3918 5.2 asks max(M) - min(M)."""
    low_us: Annotated[float | None, retitled(fields.LOW_US, "Smallest", "us")]
    high_us: Annotated[float | None, retitled(fields.HIGH_US, "Largest", "us")]
    spread_us: Annotated[float | None, fields.SPREAD_US]


@dataclass(frozen=True, kw_only=True)
class LatencyUnit(Record):
    """The latencies of one frame size."""

    frame_size_bytes: int
    load_pct: float | None
    trials: tuple[LatencyTrial, ...]
    rows: tuple[GroupLatency, ...]
    search: Searched[MulticastTrial] | None = field(default=None, metadata=OMITTED)


class MulticastLatency(MethodOf[LatencyUnit]):
    """Multicast latency."""

    name = "rfc3918.latency"
    title = "Multicast latency"
    section = "RFC 3918 5.1"
    part = "latency"
    parts: tuple[str, ...] = (BASELINE,)
    parameters: tuple[Parameter, ...] = (
        *setup_parameters("RFC 3918 5.1"),
        decimal(
            "load_pct",
            _THROUGHPUT,
            "% of line rate",
            "RFC 3918 5.1",
            "load of the source; throughput = search it first",
            ("0.0001", "100"),
            (_THROUGHPUT,),
        ),
        LATENCY_DEFINITION,
        shared.DEPARTURE_ERROR,
        verify_parameter(),
        *trial_parameters("RFC 3918 5.1", LATENCY_DURATION_S),
        *shared.search_parameters("RFC 3918 4.3"),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds with too few ports, unknown ports and groups, contradicting bounds."""
        Setup(bed, parameters, BURDENED in self.parts).check(self.name, groups=parameters.integer("groups"))
        shared.search_of(parameters)
        check_definition(self.name, bed, parameters)

    def latency_pairs(self, bed: Bed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        """The pairs from the source to every egress port."""
        setup = Setup(bed, parameters, BURDENED in self.parts)
        return tuple((setup.source, port) for port in setup.receivers)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """The typical length of the search, and the latency trials."""
        search = shared.search_of(parameters).trials_expected if parameters.is_word("load_pct") else 0
        return search + len(self.parts)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> LatencyUnit:
        """Measure latency at the throughput, or at the load that is asked for; then again under burden."""
        setup = Setup(bed, parameters, BURDENED in self.parts)
        size, search = unit.frame_size_bytes, None
        if parameters.is_word("load_pct"):
            search = search_aggregated(setup, size, session, len(self.parts))
            load = search.result_load_pct
        else:
            load = parameters.number("load_pct")
        trials: list[LatencyTrial] = []
        rows: list[GroupLatency] = []
        duration_ns = shared.duration_ns_of(parameters, size, setup.line_rate_bps)
        latent = partial(group_trial, setup, size, watch_queues=True, prints_latency=True)
        asked = [
            Asked(load, partial(latent, load, burdened=part == BURDENED), duration_ns)
            for part in self.parts
            if load is not None
        ]
        taken = measure_each(session, asked, lengthen=parameters.flag(shared.SUSTAINED))
        for part, one in zip(self.parts, taken, strict=False):
            trials.append(_judged(part, one.spec, one.result, setup, size))
            rows += _rows(part, one.result, setup, size)
        return LatencyUnit(
            frame_size_bytes=size,
            load_pct=None if load is None else float(load),
            trials=tuple(trials),
            rows=tuple(rows),
            search=search,
        )

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, LatencyUnit]) -> Outcome:
        """Latencies and their spread; INVALID where a frame is missing on any egress port."""
        units = list(results.values())
        searched = searched_sizes(units)
        verdicts = [one.search.verdict for one in searched]
        verdicts += [trial.status for unit in units for trial in unit.trials]
        sizes = [unit.frame_size_bytes for unit in results]
        duration = shared.duration_deviation(
            parameters, sizes, bed.slowest_rate_bps, LATENCY_DURATION_S, "RFC 3918 5.1"
        )
        return self.outcome(
            verdicts,
            f"port {parameters.integer('source_port')} to {len(self.latency_pairs(bed, parameters))} ports",
            self.tables(bed, parameters, units),
            searched=searched,
            findings=[text for unit in units for text in _findings(unit)],
            deviations=(duration, _EVERY_FRAME),
        )

    def tables(self, bed: Bed, parameters: ParameterSet, units: Sequence[LatencyUnit]) -> tuple[Table, ...]:
        """The latencies by group and egress port."""
        return (_rates(bed, parameters, units), _latencies(bed, units), *_layers(bed, units), _spreads(units))


class MinMaxLatency(MulticastLatency):
    """Difference of the largest and the smallest multicast latency."""

    name = "rfc3918.min_max_latency"
    title = "Min/max multicast latency"
    section = "RFC 3918 5.2"

    def tables(self, bed: Bed, parameters: ParameterSet, units: Sequence[LatencyUnit]) -> tuple[Table, ...]:
        """The spread, and the latencies that it covers."""
        return (_spreads(units), _rates(bed, parameters, units), _latencies(bed, units), *_layers(bed, units))


class BurdenedLatency(MulticastLatency):
    """Multicast latency while other ports send unicast."""

    name = "rfc3918.burdened_latency"
    title = "Forwarding burdened multicast latency"
    section = "RFC 3918 8.1"
    parts = (BASELINE, BURDENED)
    parameters = (*MulticastLatency.parameters, *burden_parameters("RFC 3918 8.1"))


def _judged(part: str, spec: TrialSpec, result: TrialResult, setup: Setup, size: int) -> LatencyTrial:
    """The finding on a trial: without its tagged frame on every egress port it is INVALID."""
    others = sum(flow.lost_frames for flow in result.flows if flow.stream != MULTICAST)
    lost = result.lost_frames - others
    status, reason = result.status, result.reason
    if status.trusted and lost:
        status, reason = Verdict.INVALID, f"{lost} tagged frames are missing on an egress port"
    (stream,) = (stream for stream in spec.streams if stream.name == MULTICAST)
    burden = sum(flow.rx_frames - flow.duplicate_frames for flow in result.flows if flow.stream == BURDEN)
    received = result.rx_frames - result.duplicate_frames - burden
    frame_fps, ports = stream.rate_fps / stream.frame_count, len(setup.receivers)
    error_fps = float(ports * frame_fps)
    if result.lost_frames:
        # Frames of the burden are lost by the same chance.
        error_fps = max(error_fps, float(rate_metrics(spec, result, setup.line_rate_bps).forwarding_error_fps))
    latency = copies_latency(setup, size, result)
    low, high = (latency.times.min_us, latency.times.max_us) if status.trusted else (None, None)
    heard = sum(flow.stream == MULTICAST and flow.latency is not None for flow in result.flows)
    return LatencyTrial(
        part=part,
        status=status,
        reason=reason,
        rates=copy_rates(float(received * frame_fps), error_fps, size, ports, setup.line_rate_bps),
        latency=latency,
        set_size=heard if status.trusted else 0,
        low_us=low,
        high_us=high,
        spread_us=None if low is None or high is None else high - low,
    )


def _rows(part: str, result: TrialResult, setup: Setup, size: int) -> Iterator[GroupLatency]:
    if not result.status.trusted:
        return
    only = setup.groups()[0].first
    flows = [flow for flow in result.flows if flow.stream == MULTICAST]
    together: dict[tuple[str, int | None], list[FlowCounts]] = {}
    for flow in flows:
        of_group = flow.part or only
        by_pair, by_each = ((of_group, flow.rx_port),), ((_ALL_GROUPS, flow.rx_port), (of_group, None))
        for key in by_each if len(flows) > _MOST_PAIRS else by_pair:
            together.setdefault(key, []).append(flow)
    for (group, port), found in sorted(together.items(), key=lambda item: item[0][1] is None):
        groups = [Group(flow.tx_port, flow.rx_port, flow.latency) for flow in found if flow.latency is not None]
        yield GroupLatency(part=part, group=group, port=port, latency=copies_latency(setup, size, result, groups))


def _rates(bed: Bed, parameters: ParameterSet, units: Sequence[LatencyUnit]) -> Table:
    rows = [
        (unit, trial) for unit in units for trial in unit.trials if any(row.part == trial.part for row in unit.rows)
    ]
    note = f"From port {parameters.integer('source_port')} to all egress ports. {latency_note(bed)}"
    columns = (*_WHERE[:3], *CopyRates.columns(), *_LATENCY)
    return LatencyTrial.table(
        "multicast_rates",
        "Rate and latency of all ports",
        rows,
        note,
        columns=columns,
        keys=_KEYS[:2],
        headline=(fields.LOAD_PCT, fields.MIN_US, fields.AVG_US, fields.MAX_US),
    )


def _latencies(bed: Bed, units: Sequence[LatencyUnit]) -> Table:
    rows = [(unit, row) for unit in units for row in unit.rows]
    note = latency_note(bed) + (_SUMMED_UP if any(row.port is None for _, row in rows) else "")
    columns, detail = (*_WHERE, *_LATENCY), len(rows) > _LONGEST
    return GroupLatency.table(
        "multicast_latency", "Multicast latency", rows, note, columns=columns, keys=_KEYS, detail=detail
    )


def _layers(bed: Bed, units: Sequence[LatencyUnit]) -> list[Table]:
    """Latencies of all groups at the ports of each layer and role."""
    rows: list[Row] = []
    for unit in units:
        for trial in unit.trials:
            where = {"frame_size_bytes": unit.frame_size_bytes, "load_pct": unit.load_pct, "part": trial.part}
            found = [(row.port, row.latency) for row in unit.rows if row.part == trial.part and row.port is not None]
            rows += layer_rows(
                bed, where, (item for port, cells in found for item in PortLatency.of_cells(port, cells))
            )
    return layer_tables("multicast_latency_layers", "Multicast latency", _WHERE[:3], _KEYS[:2], rows)


def _spreads(units: Sequence[LatencyUnit]) -> Table:
    rows = [(unit, trial) for unit in units for trial in unit.trials]
    columns = (*_WHERE[:3], *LatencyTrial.columns()[-4:])
    return LatencyTrial.table(
        "latency_spread",
        "Min/max multicast latency",
        rows,
        columns=columns,
        keys=_KEYS[:2],
        headline=(fields.LOAD_PCT, *columns[-3:]),
    )


def _findings(unit: LatencyUnit) -> Iterator[str]:
    size = unit.frame_size_bytes
    if unit.search is not None:
        yield from flooded(size, unit.search.rows)
    for trial in unit.trials:
        if not trial.status.trusted:
            yield f"{trial.status.value} trial, {size} B, {trial.part}: {trial.reason}"
