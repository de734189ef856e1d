"""RFC 2889 5.10: broadcast frame forwarding and latency, from one port to all the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Method, Session, TrialNote, Unit, UnitResult
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, choice, integer
from p4mesh.methods.results import latency_tables as latency
from p4mesh.methods.results.latency import (
    LATENCY_DEFINITION,
    Definition,
    check_definition,
    definition_text,
    groups_of,
    summary_of,
)
from p4mesh.methods.results.metrics import judge_loss, rate_metrics
from p4mesh.methods.results.outcome import Column, Figure, Outcome, Series, State, Table
from p4mesh.methods.results.rate_tables import state_text
from p4mesh.methods.results.search_tables import search_tables
from p4mesh.methods.search.throughput import JudgedTrial, result_load_pct, search_throughput, verdict_of
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic import patterns
from p4mesh.traffic.line_rate import l1_rate_bps, max_rate_fps, rate_at_pct, tx_frames
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import Status, TrialResult
from p4mesh.trial.spec import TrialSpec

MIN_PORTS = 2
BOTH, THROUGHPUT = "both", "throughput"
SINGLE_FRAME, STREAM = "single frame", "stream"
ALL_DEVICES = "all"

THROUGHPUT_COLUMNS = (
    Column("frame_size_bytes", "Frame size", "B"),
    Column("tx_pct", "Tx", "% of line", 3),
    Column("tx_fps", "Tx", "frames/s", 0),
    Column("tx_l1_mbps", "Tx (L1)", "Mbit/s", 2),
    Column("rx_fps", "Rx, all ports", "frames/s", 0),
    Column("loss_pct", "Loss", "%", 4),
    Column("lost_frames", "Lost", "copies"),
    Column("state", "Result"),
    Column("upper_pct", "Fails at", "% of line", 3),
    Column("trials", "Trials"),
)

_WHERE = (Column("frame_size_bytes", "Frame size", "B"), Column("mode", "Mode"))
_KEYS = ("frame_size_bytes", "mode")
_RATE = (Column("load_pct", "Load", "% of line", 4), Column("rate_fps", "Rate", "frames/s", 0))
_LOW_HIGH = ("min_us", "avg_us", "max_us", "p99_us", "p99_9_us", "jitter_avg_us", "jitter_max_us")
_NAMES = {column.key: column for column in latency.LATENCY_COLUMNS}

SUMMARY_COLUMNS = (
    *_WHERE,
    *_RATE,
    _NAMES["definition"],
    _NAMES["calibrated"],
    Column("device", "Behind"),
    Column("ports", "Ports"),
    *(
        Column(f"{key}_{end}", f"{_NAMES[key].title}, {end}", "us", 3)
        for key in _LOW_HIGH
        for end in ("low", "high")
        if end == "high" or key in ("min_us", "avg_us", "max_us")
    ),
    Column("avg_us_mean", "Avg, all frames", "us", 3),
)


class Broadcast(Method):
    """Throughput of broadcast frames, and their latency to every receiving port."""

    name = "rfc2889.broadcast"
    title = "Broadcast frame forwarding and latency"
    section = "RFC 2889 5.10"
    parameters = (
        choice("parts", BOTH, "RFC 2889 5.10.3", "which sub-tests run", (BOTH, THROUGHPUT)),
        LATENCY_DEFINITION,
        integer("source_port", 1, "port number", "RFC 2889 5.10.2", "the port that transmits", (1, 512)),
        *shared.trial_parameters("RFC 2889 5.10.2"),
        *shared.search_parameters("RFC 2889 5.10.3"),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than two ports, an unknown port, contradicting bounds."""
        bed.require_ports(self.name, MIN_PORTS)
        shared.search_of(parameters)
        check_definition(self.name, bed, parameters)
        source = parameters.integer("source_port")
        if source not in bed.port_numbers:
            raise ParameterError(
                f"source_port={source}: topology '{bed.topology}' has no such port",
                hint=f"ports are {bed.port_numbers[0]} to {bed.port_numbers[-1]}",
            )

    def latency_pairs(self, bed: Bed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        """Return the pairs from the source to every other port."""
        source = parameters.integer("source_port")
        return tuple((source, port) for port in bed.port_numbers if port != source)

    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return one unit per frame size: latency is measured at the throughput of the same size."""
        return tuple(Unit(size, "broadcast") for size in sizes)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the typical length of the search and the two latency trials."""
        return shared.search_of(parameters).trials_expected + (2 if parameters.text("parts") == BOTH else 0)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Search the throughput, then measure latency of a single frame and of a stream."""
        size, rate = unit.frame_size_bytes, bed.slowest_rate_bps
        extra = 2 if parameters.text("parts") == BOTH else 0
        acceptable = parameters.number("acceptable_loss_pct")

        def trial(load: Fraction, remaining: int, length_ns: int) -> JudgedTrial:
            spec = _spec(THROUGHPUT, size, load, bed, rate, parameters, length_ns)
            note = TrialNote(load, remaining + extra, lambda found: judge_loss(found, acceptable))
            result = session.measure(spec, note)
            return JudgedTrial(judge_loss(result, acceptable), result, _row(spec, result, rate, load))

        duration_ns = shared.duration_ns_of(parameters, size, rate)
        found = search_throughput(shared.search_of(parameters), duration_ns, trial)
        rows: list[UnitResult] = []
        trials: list[UnitResult] = []
        if extra and found["result_pct"] is not None:
            load = result_load_pct(found)
            for mode, left in ((SINGLE_FRAME, 1), (STREAM, 0)):
                spec = _spec(mode, size, load, bed, rate, parameters, duration_ns)
                place = {
                    "frame_size_bytes": size,
                    "mode": mode,
                    "load_pct": float(load) if mode == STREAM else None,
                    "rate_fps": float(rate_at_pct(load, size, rate)) if mode == STREAM else None,
                }
                result = session.measure(spec, TrialNote(load, left))
                rows += _latency_rows(place, result, bed, parameters)
                trials.append(_latency_trial(mode, result))
        theory = float(max_rate_fps(size, rate))
        return {"frame_size_bytes": size, "theoretical_fps": theory, "latency": rows, "latency_trials": trials, **found}

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return the tables of methodology 3.10; PASS iff a lossless load was found at every size."""
        units = list(results.values())
        states = {verdict_of(unit) for unit in units}
        states |= {trial["status"] for unit in units for trial in unit["latency_trials"]}
        state = next((State(name) for name in ("ABORT", "INVALID", "FAIL") if name in states), State.PASS)
        tables = [Table("broadcast", "Broadcast throughput", THROUGHPUT_COLUMNS, tuple(map(_table_row, units)))]
        rows = [row for unit in units for row in unit["latency"]]
        if rows:
            tables += _latency_tables(bed, rows)
        sizes = [unit.frame_size_bytes for unit in results]
        duration = shared.duration_deviation(parameters, sizes, bed.slowest_rate_bps)
        return Outcome(
            state,
            f"{self.title}: port {parameters.integer('source_port')} to {len(bed.ports) - 1} ports, {state.value}",
            (*tables, *search_tables(units)),
            (_figure(units),),
            (*_came_back(units), *_untrusted(units), *_incomplete(units), *latency.overflows(rows)),
            tuple(text for text in (duration, _mixed(bed)) if text),
        )


def _came_back(units: Sequence[UnitResult]) -> Iterator[str]:
    """Yield copies that the source port received: all other ports are meant to get every frame."""
    for unit in units:
        copies = unit["flooded_frames"] + sum(trial["flooded_frames"] for trial in unit["latency_trials"])
        if copies:
            yield f"flooding detected: {copies} frames came back to the source port ({unit['frame_size_bytes']} B)"


def _incomplete(units: Sequence[UnitResult]) -> Iterator[str]:
    """Yield latency trials that cannot be trusted, and copies that have no latency because they were lost."""
    for unit in units:
        for trial in unit["latency_trials"]:
            where = f"{unit['frame_size_bytes']} B, latency of a {trial['mode']}"
            if trial["status"] != Status.VALID.value:
                yield f"{trial['status']} trial, {where}: {trial['reason']}"
            elif trial["lost_frames"]:
                ports = ", ".join(map(str, trial["lossy_ports"]))
                yield f"{where}: {trial['lost_frames']} copies were lost, on ports {ports}"


def _latency_trial(mode: str, result: TrialResult) -> UnitResult:
    return {
        "mode": mode,
        "status": result.status.value,
        "reason": result.reason,
        "lost_frames": result.lost_frames,
        "lossy_ports": sorted(flow.rx_port for flow in result.flows if flow.lost_frames),
        "flooded_frames": result.flooded_frames,
    }


def _untrusted(units: Sequence[UnitResult]) -> Iterator[str]:
    for unit in units:
        for row in unit["rows"]:
            if row["status"] != Status.VALID.value:
                where = f"{unit['frame_size_bytes']} B at {row['load_pct']:g} %"
                yield f"{row['status']} trial, {where}: {row['reason']}"


def _mixed(bed: Bed) -> str:
    rate = bed.slowest_rate_bps / 1e9
    return f"Loads are percent of the slowest port's line rate, {rate:g} Gbit/s." if bed.mixed_rates else ""


def _spec(
    part: str,
    size: int,
    load_pct: Fraction,
    bed: Bed,
    rate_bps: int,
    parameters: ParameterSet,
    duration_ns: int,
) -> TrialSpec:
    source = parameters.integer("source_port")
    fps = rate_at_pct(load_pct, size, rate_bps)
    stream = Stream(
        "broadcast",
        size,
        fps,
        1 if part == SINGLE_FRAME else max(1, tx_frames(duration_ns, fps)),
        patterns.Broadcast(),
        (source,),
        tuple(port for port in bed.port_numbers if port != source),
        shared.template_of(parameters),
    )
    return shared.trial_of(
        parameters,
        f"broadcast {part} {size} B {float(load_pct):.4f} %",
        (stream,),
        duration_ns,
        per_flow=part != THROUGHPUT,
        histograms=HistogramPer.FLOW if part == STREAM and len(stream.rx_ports) <= bed.histograms else None,
    )


def _row(spec: TrialSpec, result: TrialResult, rate_bps: int, load: Fraction) -> UnitResult:
    rates = rate_metrics(spec, result, rate_bps)
    size = spec.streams[0].frame_size_bytes
    return {
        "load_pct": float(load),
        "offered_fps": float(rates.offered_fps),
        "offered_l1_mbps": float(l1_rate_bps(rates.offered_fps, size) / 1_000_000),
        "forwarding_fps": float(rates.forwarding_fps),
        "lost_frames": result.lost_frames,
        "loss_pct": float(rates.loss_pct),
        "flooded_frames": result.flooded_frames,
        "status": result.status.value,
        "reason": result.reason,
    }


def _table_row(unit: UnitResult) -> UnitResult:
    shown = unit["shown"]
    return {
        "frame_size_bytes": unit["frame_size_bytes"],
        "state": state_text(unit),
        "tx_pct": shown["load_pct"],
        "tx_fps": shown["offered_fps"],
        "tx_l1_mbps": shown["offered_l1_mbps"],
        "rx_fps": shown["forwarding_fps"],
        "lost_frames": shown["lost_frames"],
        "loss_pct": shown["loss_pct"],
        "upper_pct": unit["upper_pct"],
        "trials": unit["trials"],
    }


def _latency_rows(where: UnitResult, result: TrialResult, bed: Bed, parameters: ParameterSet) -> list[UnitResult]:
    """Return one row per receiving port, and one more where its wire is subtracted."""
    if result.status is not Status.VALID:
        return []
    kind, name = Definition(parameters.text(LATENCY_DEFINITION.name)), definition_text(bed, parameters)
    size, rows = where["frame_size_bytes"], []
    for group in groups_of(result, ("broadcast",)):
        whole = summary_of([group], bed, size, kind)
        if whole is None:
            continue
        place = {**where, "port": group.rx_port}
        definitions = latency.definition_cells({other: summary_of([group], bed, size, other) for other in Definition})
        row = {**place, **latency.latency_cells(whole, name), "variation": latency.variation_cells(whole)}
        rows.append({**row, "definitions": definitions})
        if bed.calibration is not None:
            calibrated = summary_of([group], bed, size, kind, calibrated=True)
            cells = latency.latency_cells(calibrated, name, latency.CALIBRATED)
            wire = latency.calibration_cells(bed, size, group.tx_port, group.rx_port, row["avg_us"])
            rows.append({**place, **cells, "wire": wire})
    return rows


def _latency_tables(bed: Bed, rows: Sequence[UnitResult]) -> list[Table]:
    """Return low and high over the ports, every port, variation, definitions, and the wires."""
    note = f"{latency.latency_note(bed)} The stream runs at the throughput."
    where, keys = (*_WHERE, Column("port", "Rx port")), (*_KEYS, "port")
    columns = (*where, *_RATE, *latency.LATENCY_COLUMNS)
    every = tuple({column.key: row.get(column.key) for column in columns} for row in rows)
    raw = [row for row in rows if row["calibrated"] == latency.RAW]
    varied = [{**row, **row["variation"]} for row in raw if row["mode"] == STREAM]
    found = [
        Table(
            "broadcast_latency",
            "Broadcast latency over the ports",
            SUMMARY_COLUMNS,
            _latency_summary(bed, rows),
            note,
            keys=(*_KEYS, "calibrated", "device"),
        ),
        Table(
            "broadcast_latency_ports",
            "Broadcast latency per port",
            columns,
            every,
            note,
            detail=True,
            keys=(*keys, "calibrated"),
        ),
        replace(latency.variation_table(bed, "broadcast_latency_variation", where, keys, varied), detail=True),
    ]
    if bed.stamps.first_bit:
        defined = [{**row, **row["definitions"]} for row in raw]
        found.append(
            replace(latency.definition_table("broadcast_latency_definitions", where, keys, defined), detail=True)
        )
    if bed.calibration is not None:
        wires = [{**row, **row["wire"]} for row in rows if row["calibrated"] == latency.CALIBRATED]
        found.append(latency.calibration_table("broadcast_latency_wires", bed, _WHERE, _KEYS, wires))
    return found


def _latency_summary(bed: Bed, rows: Sequence[UnitResult]) -> tuple[UnitResult, ...]:
    """Return low and high over all ports, and over the ports of each device of a chain (layer)."""
    devices = {port.number: port.attached_to for port in bed.ports}
    layers = tuple(dict.fromkeys(devices.values()))
    groups: dict[tuple[int, str, str], list[UnitResult]] = {}
    for row in rows:
        groups.setdefault((row["frame_size_bytes"], row["mode"], row["calibrated"]), []).append(row)
    summary = []
    for ports in groups.values():
        summary.append(_low_high(ALL_DEVICES, ports))
        for layer in layers if len(layers) > 1 else ():
            behind = [port for port in ports if devices[port["port"]] == layer]
            summary += [_low_high(layer, behind)] if behind else []
    return tuple(summary)


def _low_high(device: str, ports: Sequence[UnitResult]) -> UnitResult:
    shown: UnitResult = {**ports[0], "device": device, "ports": len(ports)}
    for key in _LOW_HIGH:
        values = [port[key] for port in ports if port[key] is not None]
        shown |= {f"{key}_low": min(values, default=None), f"{key}_high": max(values, default=None)}
    frames = sum(port["samples"] for port in ports)
    shown["avg_us_mean"] = sum(port["avg_us"] * port["samples"] for port in ports) / frames
    return {column.key: shown[column.key] for column in SUMMARY_COLUMNS}


def _figure(units: Sequence[UnitResult]) -> Figure:
    theory = tuple((float(unit["frame_size_bytes"]), unit["theoretical_fps"]) for unit in units)
    found = tuple(
        (float(unit["frame_size_bytes"]), unit["shown"]["offered_fps"])
        for unit in units
        if unit["result_pct"] is not None
    )
    series = (Series("theoretical maximum", theory, theoretical=True), Series("broadcast throughput", found))
    return Figure("broadcast", "Broadcast throughput against frame size", "frame size (B)", "frames/s", series)
