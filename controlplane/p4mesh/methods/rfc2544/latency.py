"""RFC 2544 26.2: latency at the throughput rate and at lower loads, of tagged frames or of all frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.longer_trials import measure_each
from p4mesh.methods.mesh import LATENCY, Mesh
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import Kind, Parameter, ParameterSet, choice, decimal, integer
from p4mesh.methods.port_patterns import DURATION_CLAUSE, RFC_DURATION_S, mesh_notes, ports_used
from p4mesh.methods.results import fields
from p4mesh.methods.results import latency_tables as latency
from p4mesh.methods.results import rate_tables as tables
from p4mesh.methods.results.fields import Column, retitled
from p4mesh.methods.results.forwarding import MeshThroughput
from p4mesh.methods.results.latency import (
    LATENCY_DEFINITION,
    check_definition,
    definition_text,
)
from p4mesh.methods.results.latency_cells import RAW, calibration_cells
from p4mesh.methods.results.layers import PortLatency, layer_rows, layer_tables
from p4mesh.methods.results.outcome import Figure, Outcome, PlaceName, Series, Table, place_of
from p4mesh.methods.results.record import Record, Row, table_of
from p4mesh.methods.results.throughput_tables import throughput_table
from p4mesh.methods.rfc2544.latency_rows import (
    NOT_APPLICABLE,
    AllDefinitions,
    LatencyRow,
    LinkLatency,
    NotReached,
    Place,
    RunSpread,
    latency_rows,
)
from p4mesh.methods.rfc2544.latency_trial import ALL_FRAMES, NEW, RFC, SAME, latency_mesh, latency_trial
from p4mesh.methods.rfc2544.throughput import SEARCHED, confirmed_throughput, deviations
from p4mesh.methods.shapes import SearchTest
from p4mesh.quantities import number_text
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import NS_PER_S

SECTION = "RFC 2544 26.2"
NETWORKS = "networks"
"""Modifier of RFC 2544 12 that gives every frame a random network."""
RFC_RUNS = 20
RFC_TRIAL_S, RFC_WARM_UP_S = 120, 60
AUTO, BOTH = "auto", "both"
THROUGHPUT_ONLY, ALL_LOADS = "throughput", "all"
_LOWER_LOADS_PCT = (Fraction(10), Fraction(50), Fraction(90))

WHERE = (fields.FRAME_SIZE_BYTES, fields.AT, fields.LOAD_PCT)
_RATE = retitled(fields.RATE_FPS, "Rate per port")
_NETWORK = retitled(fields.NETWORK, "Tagged frames to")
_HEADLINE = (fields.LOAD_PCT, fields.DEFINITION, fields.MIN_US, fields.AVG_US, fields.MAX_US, fields.P99_US)
_KEYS = (fields.FRAME_SIZE_BYTES, fields.AT)


@dataclass(frozen=True, kw_only=True)
class LatencyUnit(Record):
    """Throughput of one frame size, and latency at it and at lower loads."""

    frame_size_bytes: FrameSize
    throughput: MeshThroughput
    latency: tuple[LatencyRow, ...]


class Latency(SearchTest[LatencyUnit]):
    """The throughput of each size first, then the latency of frames sent at that rate and below it."""

    name = "rfc2544.latency"
    title = "Latency"
    terms = "delay, store and forward, cut-through, bit forwarding, percentiles, jitter"
    section = SECTION
    part = LATENCY
    duration_s, duration_clause = RFC_DURATION_S, DURATION_CLAUSE
    parameters = (
        LATENCY_DEFINITION,
        shared.DEPARTURE_ERROR,
        choice(
            "mode", ALL_FRAMES, SECTION, "samples: all frames, or one tagged frame per port and run", (ALL_FRAMES, RFC)
        ),
        decimal(
            "warm_up_pct", "50", "% of the trial", SECTION, "before the first sample; RFC 60 s of 120 s", ("0", "99")
        ),
        integer("latency_factor", 2, "", SECTION, "length of a latency trial in search trials; RFC 120 s", (1, 1000)),
        choice("loads", THROUGHPUT_ONLY, SECTION, "also at 10, 50, 90 % of line rate", (THROUGHPUT_ONLY, ALL_LOADS)),
        Parameter(
            "runs",
            Kind.INTEGER,
            AUTO,
            "runs",
            SECTION,
            f"runs per load, averaged; auto = {RFC_RUNS} of tagged frames (RFC), 1 of all frames",
            Fraction(1),
            Fraction(1000),
            (AUTO,),
        ),
        choice("tagged_network", SAME, SECTION, "destination network of tagged frames", (SAME, NEW, BOTH)),
        *SEARCHED,
    )

    def refuses_mix(self, parameters: ParameterSet) -> str:
        mode = parameters.text("mode")
        return "" if mode == ALL_FRAMES else f"mode={mode} measures one frame, which has one size"

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds without port pairs, and contradicting parameters."""
        super().check(bed, parameters)
        check_definition(self.name, bed, parameters)
        if parameters.text("tagged_network") != SAME:
            if parameters.text("mode") != RFC:
                raise ParameterError(
                    f"tagged_network={parameters.text('tagged_network')}: mode={ALL_FRAMES} has no tagged frames",
                    hint=f"add --set mode={RFC}",
                )
            if parameters.values.get("modifier") == NETWORKS:
                raise ParameterError(
                    f"tagged_network={parameters.text('tagged_network')}: modifier={NETWORKS} chooses the networks",
                    hint="leave one of them out",
                )
            if shared.frame_of(parameters).network is None:
                raise ParameterError(
                    f"tagged_network={parameters.text('tagged_network')}: frames without IP have no network",
                    hint="use frame_format=ipv4 or ipv6",
                )

    def latency_pairs(self, bed: Bed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        """The pairs in the directions of the traffic."""
        return self.mesh(bed, parameters).pairs

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        return latency_mesh(self.name, bed, parameters)

    def trials_after(self, parameters: ParameterSet) -> int:
        """The confirmation, and the latency trials."""
        loads = 1 + (len(_LOWER_LOADS_PCT) if parameters.text("loads") == ALL_LOADS else 0)
        return 1 + loads * _runs(parameters) * len(_networks(parameters))

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> LatencyUnit:
        """Find the throughput, then measure latency at it and at the lower loads below it."""
        mesh, size = self.mesh(bed, parameters), unit.frame_size
        found = confirmed_throughput(mesh, size, parameters, session)
        limit = None if found.search.throughput_pct is None else Fraction(found.search.throughput_pct)
        loads = {f"{load} %": load for load in _LOWER_LOADS_PCT if parameters.text("loads") == ALL_LOADS}
        possible = {at: load for at, load in loads.items() if limit is not None and load <= limit}
        not_reached = [
            NotReached(frame_size_bytes=size, at=at, load_pct=float(load))
            for at, load in loads.items()
            if at not in possible
        ]
        if limit is not None:
            possible[THROUGHPUT_ONLY] = limit
        networks, runs = _networks(parameters), _runs(parameters)
        rows: list[LatencyRow] = []
        trials = {
            (at, network): latency_trial(mesh, size, load, parameters, network, bed.histograms)
            for at, load in possible.items()
            for network in networks
        }
        taken = iter(
            measure_each(
                session,
                [trial.asked for trial in trials.values() for _ in range(runs)],
                lengthen=parameters.flag(shared.SUSTAINED),
            )
        )
        for at, load in possible.items():
            if at == THROUGHPUT_ONLY:
                rows += not_reached
            for network in networks:
                results = [next(taken).result for _ in range(runs)]
                place = Place(
                    frame_size_bytes=size,
                    at=at,
                    load_pct=float(load),
                    rate_fps=float(mesh.offered_fps(load, size) / len(mesh.tx_ports)),
                    network=f"{network} network",
                    lost_frames=sum(result.lost_frames for result in results if result.status.trusted),
                    untrusted=next(
                        (f"{one.status.value}: {one.reason}" for one in results if not one.status.trusted), ""
                    ),
                )
                rows += latency_rows(place, bed, results, trials[at, network].samples, parameters)
        if limit is None:
            rows += not_reached
        return LatencyUnit(frame_size_bytes=size, throughput=found, latency=tuple(rows))

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, LatencyUnit]) -> Outcome:
        """The latency tables beside the throughput that they were measured at."""
        found = [unit.throughput for unit in results.values()]
        rows = [row for unit in results.values() for row in unit.latency]
        mesh, sizes = self.mesh(bed, parameters), [unit.frame_size for unit in results]
        return self.outcome(
            (*(one.search.verdict for one in found), *(row.state for row in rows if row.state)),
            f"{ports_used(bed, parameters)} ports",
            (*_tables(bed, parameters, rows), throughput_table(found)),
            searched=found,
            figures=[_figure(rows, definition_text(bed, parameters))],
            findings=(
                *tables.findings({"throughput": found}),
                *_untrusted(rows),
                *_losses(rows),
                *latency.overflows((_size(row), row.latency) for row in rows),
                *_lost_tags(mesh, parameters, rows),
            ),
            deviations=(
                *deviations(parameters, sizes, mesh.line_rate_bps),
                *_deviations(bed, parameters, sizes),
                *mesh_notes(self.name, bed, parameters),
            ),
        )


def _runs(parameters: ParameterSet) -> int:
    if parameters.is_word("runs"):
        return RFC_RUNS if parameters.text("mode") == RFC else 1
    return parameters.integer("runs")


def _networks(parameters: ParameterSet) -> tuple[str, ...]:
    wanted = parameters.text("tagged_network")
    return (SAME, NEW) if wanted == BOTH else (wanted,)


def _size(row: LatencyRow) -> FrameSize:
    return row.frame_size_bytes if isinstance(row, NotReached) else row.place.frame_size_bytes


def _wire_rows(bed: Bed, rows: Sequence[LinkLatency]) -> list[Row]:
    """The wire of every pair of ports beside its average latency over the runs."""
    found: list[Row] = []
    for row in rows:
        for pair in row.pairs if row.latency.calibrated == RAW else ():
            average_us = pair.latency.times.avg_us
            assert average_us is not None
            found.append((row, calibration_cells(bed, _size(row), pair.tx_port, pair.rx_port, average_us)))
    return found


def _tables(bed: Bed, parameters: ParameterSet, rows: Sequence[LatencyRow]) -> list[Table]:
    extra = [fields.LINK] if bed.mixed_rates else []
    extra += [_NETWORK] if len(_networks(parameters)) > 1 else []
    where, keys = (*WHERE, *extra), (*_KEYS, *extra)
    measured = _latency_columns(parameters)
    percentiles = "Percentiles are those of the slowest port pair and run; their errors are those of the worst pair. "
    every = "" if parameters.text("mode") == RFC else percentiles
    note = f"{latency.latency_note(bed)} {every}{NOT_APPLICABLE}: load above the throughput."
    links = [row for row in rows if isinstance(row, LinkLatency)]
    found = [
        table_of(
            "latency",
            "Latency",
            (
                *where,
                _RATE,
                fields.STATE,
                *measured,
                fields.AVG_LOW_US,
                fields.AVG_HIGH_US,
                fields.PAIR_ERROR_US,
                *RunSpread.columns(),
            ),
            rows,
            note,
            keys=(*keys, fields.CALIBRATED),
            headline=_HEADLINE,
        ),
        *layer_tables("latency_layers", "Latency", where, keys, _layer_rows(bed, links)),
        table_of(
            "latency_pairs",
            "Latency per pair of ports",
            (*where, fields.TX_PORT, fields.RX_PORT, *measured),
            [(row, pair) for row in links for pair in row.pairs],
            note,
            detail=True,
            keys=(*keys, fields.TX_PORT, fields.RX_PORT, fields.CALIBRATED),
        ),
    ]
    if parameters.text("mode") == ALL_FRAMES:
        varied = [(row, row.variation) for row in links if row.variation]
        found.append(latency.variation_table(bed, "latency_variation", where, keys, varied))
    if bed.defines_latency:
        defined = [(row, row.definitions) for row in links if row.definitions]
        table = latency.definition_table("latency_definitions", where, keys, defined)
        found.append(replace(table, note=" ".join((table.note, _architecture(bed, rows))).rstrip()))
    if bed.calibration is not None:
        found.append(latency.calibration_table("latency_calibration", bed, where, keys, _wire_rows(bed, links)))
    return found


def _layer_rows(bed: Bed, rows: Sequence[LinkLatency]) -> list[Row]:
    return [
        cells
        for row in rows
        for cells in layer_rows(
            bed, row, (received for pair in row.pairs for received in PortLatency.of_cells(pair.rx_port, pair.latency))
        )
    ]


def _latency_columns(parameters: ParameterSet) -> tuple[Column, ...]:
    """The columns of latency; a tagged frame of a flow has no percentiles and no jitter."""
    if parameters.text("mode") != RFC:
        return latency.LATENCY_COLUMNS
    return tuple(column for column in latency.LATENCY_COLUMNS if column.key not in latency.OF_MANY_FRAMES)


def _untrusted(rows: Sequence[LatencyRow]) -> Iterator[str]:
    """Yield why latency trials cannot be trusted, once per load and network."""
    for place in dict.fromkeys(row.place for row in rows if not isinstance(row, NotReached)):
        if place.untrusted:
            yield f"latency trial, {place.frame_size_bytes} B at {place.at}, {place.network}: {place.untrusted}"


def _losses(rows: Sequence[LatencyRow]) -> tuple[str, ...]:
    """Findings on frames lost while latency was measured: the device does not carry the load for long."""
    places = [row.place for row in rows if not isinstance(row, NotReached) and row.latency.calibrated == RAW]
    lost = {(place.frame_size_bytes, place.at, place.network): place.lost_frames for place in places}
    return tuple(
        f"{size} B at {at}, {network}: {count:,} frames were lost while latency was measured"
        for (size, at, network), count in lost.items()
        if count
    )


def _lost_tags(mesh: Mesh, parameters: ParameterSet, rows: Sequence[LatencyRow]) -> tuple[str, ...]:
    """Findings on tagged frames that did not arrive: the average is that of the others."""
    if parameters.text("mode") != RFC:
        return ()
    wanted = len(mesh.tx_ports) * _runs(parameters)
    counts: dict[tuple[FrameSize, str, str], int] = {}
    for row in rows:
        if not isinstance(row, NotReached) and row.latency.calibrated == RAW:
            key = (row.place.frame_size_bytes, row.place.at, row.place.network)
            counts[key] = counts.get(key, 0) + (row.latency.samples or 0)
    return tuple(
        f"{size} B at {at}, {network}: {wanted - count:,} of {wanted:,} tagged frames did not arrive"
        for (size, at, network), count in counts.items()
        if count < wanted
    )


def _architecture(bed: Bed, rows: Sequence[LatencyRow]) -> str:
    """The type of the device by the lowest load of every size, where all ports have one rate."""
    smallest: dict[int, Fraction] = {}
    for row in rows:
        size, defined = _size(row), row.definitions if isinstance(row, LinkLatency) else None
        if isinstance(size, int) and isinstance(defined, AllDefinitions) and defined.fifo_min_us is not None:
            smallest.setdefault(size, Fraction(defined.fifo_min_us) * 1000)
    return "" if bed.mixed_rates else latency.architecture(smallest, bed.slowest_rate_bps)


def _deviations(bed: Bed, parameters: ParameterSet, sizes: Sequence[FrameSize]) -> tuple[str, ...]:
    runs, mode = _runs(parameters), parameters.text("mode")
    factor, warm_up = parameters.integer("latency_factor"), parameters.number("warm_up_pct")
    rate_bps = bed.slowest_rate_bps
    shortest = min(factor * shared.duration_ns_of(parameters, size, rate_bps) for size in sizes)
    texts = []
    if shortest < RFC_TRIAL_S * NS_PER_S or shortest * warm_up < 100 * RFC_WARM_UP_S * NS_PER_S:
        lengths = (
            f"Latency trials are {factor} search trials long; samples begin after {number_text(warm_up)} % of them"
        )
        texts.append(f"{lengths} (RFC: {RFC_WARM_UP_S} s of {RFC_TRIAL_S} s).")
    if mode == ALL_FRAMES:
        texts.append("All frames after the warm-up are samples, not one tagged frame.")
    if runs < RFC_RUNS:
        texts.append(f"{runs} run{'s' if runs > 1 else ''} per load instead of {RFC_RUNS}.")
    return tuple(texts)


def _figure(rows: Sequence[LatencyRow], definition: str) -> Figure:
    links = [row for row in rows if isinstance(row, LinkLatency) and row.latency.calibrated == RAW]
    shown = [row for row in links if row.place.at == THROUGHPUT_ONLY]
    several_links = len({row.link for row in shown}) > 1
    several_networks = len({row.place.network for row in shown}) > 1
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in shown:
        suffix = (f", {row.link}" if several_links else "") + (f", {row.place.network}" if several_networks else "")
        times = row.latency.times
        for name, value in (("minimum", times.min_us), ("average", times.avg_us), ("maximum", times.max_us)):
            if value is not None:
                lines.setdefault(name + suffix, []).append((place_of(row.place.frame_size_bytes), value))
    series = tuple(Series(name, tuple(sorted(points))) for name, points in lines.items())
    names = PlaceName.of_mixes(row.place.frame_size_bytes for row in shown)
    title = f"{definition} latency at the throughput rate"
    return Figure("latency", title, "frame size (B)", "us", series, x_names=names)
