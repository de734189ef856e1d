"""RFC 2889 5.10: broadcast frame forwarding and latency, from one port to all the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from p4mesh.errors import ParameterError
from p4mesh.methods import shared_parameters as shared
from p4mesh.methods.base import Session, TestMethod, TrialNote, Unit, UnitResult
from p4mesh.methods.bed import TestBed
from p4mesh.methods.metrics import judge_loss, rate_metrics
from p4mesh.methods.outcome import Column, Figure, Outcome, Series, State, Table
from p4mesh.methods.parameters import Parameter, ParameterSet, choice, integer
from p4mesh.methods.throughput import JudgedTrial, search_throughput
from p4mesh.traffic.line_rate import l1_rate_bps, max_rate_fps, rate_at_pct, tx_frames
from p4mesh.traffic.stream import PatternKind, Stream
from p4mesh.trial.result import Status, TrialResult
from p4mesh.trial.spec import TrialSpec

MIN_PORTS = 2
BOTH, THROUGHPUT = "both", "throughput"
_NS_PER_US = 1000

THROUGHPUT_COLUMNS = (
    Column("frame_size_bytes", "Frame size", "B"),
    Column("state", "Result"),
    Column("tx_pct", "Tx", "% of line", 4),
    Column("tx_fps", "Tx", "frames/s", 0),
    Column("tx_l1_mbps", "Tx (L1)", "Mbit/s", 2),
    Column("rx_fps", "Rx, all ports", "frames/s", 0),
    Column("lost_frames", "Lost", "copies"),
    Column("loss_pct", "Loss", "%", 4),
    Column("upper_pct", "Fails at", "% of line", 4),
    Column("trials", "Trials"),
)

LATENCY_COLUMNS = (
    Column("frame_size_bytes", "Frame size", "B"),
    Column("mode", "Mode"),
    Column("port", "Rx port"),
    Column("frames", "Samples", "frames"),
    Column("min_us", "Min", "us", 3),
    Column("avg_us", "Avg", "us", 3),
    Column("max_us", "Max", "us", 3),
    Column("jitter_avg_us", "Jitter avg", "us", 3),
    Column("jitter_max_us", "Jitter max", "us", 3),
)


SUMMARY_COLUMNS = (
    Column("frame_size_bytes", "Frame size", "B"),
    Column("mode", "Mode"),
    Column("ports", "Ports"),
    Column("min_us_low", "Min, low", "us", 3),
    Column("min_us_high", "Min, high", "us", 3),
    Column("avg_us_low", "Avg, low", "us", 3),
    Column("avg_us_high", "Avg, high", "us", 3),
    Column("max_us_low", "Max, low", "us", 3),
    Column("max_us_high", "Max, high", "us", 3),
    Column("jitter_avg_us_high", "Jitter avg, high", "us", 3),
    Column("jitter_max_us_high", "Jitter max, high", "us", 3),
)


class Broadcast(TestMethod):
    """Throughput of broadcast frames, and their latency to every receiving port."""

    name: ClassVar[str] = "rfc2889.broadcast"
    title: ClassVar[str] = "Broadcast frame forwarding and latency"
    section: ClassVar[str] = "RFC 2889 5.10"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        choice("parts", BOTH, "RFC 2889 5.10.3", "which sub-tests run", (BOTH, THROUGHPUT)),
        integer("source_port", 1, "port number", "RFC 2889 5.10.2", "the port that transmits", (1, 512)),
        *shared.trial_parameters("RFC 2889 5.10.2"),
        *shared.search_parameters("RFC 2889 5.10.3"),
    )

    def check(self, bed: TestBed, parameters: ParameterSet) -> None:
        """Refuse beds with fewer than two ports or mixed rates, an unknown port, contradicting bounds."""
        bed.require_ports(self.name, MIN_PORTS)
        bed.common_rate_bps(self.name)
        shared.search_of(parameters)
        source = parameters.integer("source_port")
        if source not in bed.port_numbers:
            raise ParameterError(
                f"source_port={source}: topology '{bed.topology}' has no such port",
                hint=f"ports are {bed.port_numbers[0]} to {bed.port_numbers[-1]}",
            )

    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return one unit per frame size: latency is measured at the throughput of the same size."""
        return tuple(Unit(size, "broadcast") for size in sizes)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the typical length of the search and the two latency trials."""
        return shared.search_of(parameters).trials_expected + (2 if parameters.text("parts") == BOTH else 0)

    def run_unit(self, unit: Unit, bed: TestBed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Search the throughput, then measure latency of a single frame and of a stream."""
        size, rate = unit.frame_size_bytes, bed.common_rate_bps(self.name)
        extra = 2 if parameters.text("parts") == BOTH else 0
        acceptable = parameters.number("acceptable_loss_pct")

        def trial(load: Fraction, remaining: int) -> JudgedTrial:
            spec = _spec(THROUGHPUT, size, load, bed, rate, parameters)
            result = session.measure(spec, TrialNote(load, remaining + extra))
            return JudgedTrial(judge_loss(result, acceptable), result, _row(spec, result, rate, load))

        duration_ns = shared.duration_ns_of(parameters, size, rate)
        found = search_throughput(shared.search_of(parameters), duration_ns, trial)
        latency: list[UnitResult] = []
        if extra and found["result_pct"] is not None:
            load = Fraction(found["result_pct"])
            for mode, left in (("single frame", 1), ("stream", 0)):
                spec = _spec(mode, size, load, bed, rate, parameters, single=mode == "single frame")
                latency += _latency_rows(size, mode, session.measure(spec, TrialNote(load, left)))
        theory = float(max_rate_fps(size, rate))
        return {"frame_size_bytes": size, "theoretical_fps": theory, "latency": latency, **found}

    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return the tables of methodology 3.10; PASS iff a lossless load was found at every size."""
        units = list(results.values())
        states = {unit["state"] for unit in units}
        state = next((State(name) for name in ("ABORT", "INVALID", "FAIL") if name in states), State.PASS)
        tables = [Table("broadcast", "Broadcast throughput", THROUGHPUT_COLUMNS, tuple(map(_table_row, units)))]
        latency = tuple(row for unit in units for row in unit["latency"])
        if latency:
            note = "First bit in to first bit out (FIFO), test leads included; the stream runs at the throughput."
            summary = _latency_summary(latency)
            tables.append(
                Table("broadcast_latency", "Broadcast latency over the ports", SUMMARY_COLUMNS, summary, note)
            )
            detail = Table("broadcast_latency_ports", "Broadcast latency per port", LATENCY_COLUMNS, latency, "", True)
            tables.append(detail)
        sizes = [unit.frame_size_bytes for unit in results]
        duration = shared.duration_deviation(parameters, sizes, bed.common_rate_bps(self.name))
        return Outcome(
            state,
            f"{self.title}: port {parameters.integer('source_port')} to {len(bed.ports) - 1} ports, {state.value}",
            tuple(tables),
            (_figure(units),),
            tuple(
                f"{row['status']} trial, {unit['frame_size_bytes']} B at {row['load_pct']:g} %: {row['reason']}"
                for unit in units
                for row in unit["rows"]
                if row["status"] != Status.VALID.value
            ),
            (duration,) if duration else (),
        )


def _spec(
    part: str,
    size: int,
    load_pct: Fraction,
    bed: TestBed,
    rate_bps: int,
    parameters: ParameterSet,
    *,
    single: bool = False,
) -> TrialSpec:
    source = parameters.integer("source_port")
    duration_ns = shared.duration_ns_of(parameters, size, rate_bps)
    fps = rate_at_pct(load_pct, size, rate_bps)
    stream = Stream(
        "broadcast",
        size,
        fps,
        1 if single else max(1, tx_frames(duration_ns, fps)),
        PatternKind.BROADCAST,
        (source,),
        tuple(port for port in bed.port_numbers if port != source),
        shared.template_of(parameters),
    )
    return TrialSpec(
        f"broadcast {part} {size} B {float(load_pct):.4f} %",
        (stream,),
        duration_ns,
        shared.learning_of(parameters),
        shared.nanoseconds(parameters, "settle_ms"),
        shared.nanoseconds(parameters, "restabilise_ms"),
        per_flow=part != THROUGHPUT,
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
        "state": unit["state"] + (" (at least)" if unit["at_least"] else ""),
        "tx_pct": shown["load_pct"],
        "tx_fps": shown["offered_fps"],
        "tx_l1_mbps": shown["offered_l1_mbps"],
        "rx_fps": shown["forwarding_fps"],
        "lost_frames": shown["lost_frames"],
        "loss_pct": shown["loss_pct"],
        "upper_pct": unit["upper_pct"],
        "trials": unit["trials"],
    }


def _latency_rows(size: int, mode: str, result: TrialResult) -> list[UnitResult]:
    rows = []
    for flow in result.flows:
        latency = flow.latency
        if result.status is not Status.VALID or latency is None or not latency.count:
            continue
        jitter = latency.jitter_count > 0
        rows.append(
            {
                "frame_size_bytes": size,
                "mode": mode,
                "port": flow.rx_port,
                "frames": latency.count,
                "min_us": latency.min_ns / _NS_PER_US,
                "avg_us": latency.sum_ns / latency.count / _NS_PER_US,
                "max_us": latency.max_ns / _NS_PER_US,
                "jitter_avg_us": latency.jitter_sum_ns / latency.jitter_count / _NS_PER_US if jitter else None,
                "jitter_max_us": latency.jitter_max_ns / _NS_PER_US if jitter else None,
            }
        )
    return rows


def _latency_summary(rows: Sequence[UnitResult]) -> tuple[UnitResult, ...]:
    groups: dict[tuple[int, str], list[UnitResult]] = {}
    for row in rows:
        groups.setdefault((row["frame_size_bytes"], row["mode"]), []).append(row)
    summary = []
    for (size, mode), ports in groups.items():
        shown: UnitResult = {"frame_size_bytes": size, "mode": mode, "ports": len(ports)}
        for key in ("min_us", "avg_us", "max_us", "jitter_avg_us", "jitter_max_us"):
            values = [port[key] for port in ports if port[key] is not None]
            shown[f"{key}_low"] = min(values, default=None)
            shown[f"{key}_high"] = max(values, default=None)
        summary.append(shown)
    return tuple(summary)


def _figure(units: Sequence[UnitResult]) -> Figure:
    theory = tuple((float(unit["frame_size_bytes"]), unit["theoretical_fps"]) for unit in units)
    found = tuple(
        (float(unit["frame_size_bytes"]), unit["shown"]["offered_fps"])
        for unit in units
        if unit["result_pct"] is not None
    )
    series = (Series("theoretical maximum", theory, theoretical=True), Series("broadcast throughput", found))
    return Figure("broadcast", "Broadcast throughput against frame size", "frame size (B)", "frames/s", series)
