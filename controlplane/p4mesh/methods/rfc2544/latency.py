"""RFC 2544 26.2: latency of all frames at the throughput rate, and at lower loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from p4mesh.methods import rate_tables as tables
from p4mesh.methods import shared_parameters as shared
from p4mesh.methods.base import Session, TestMethod, TrialNote, Unit, UnitResult
from p4mesh.methods.bed import TestBed
from p4mesh.methods.latency import Definition, LatencySummary, summarise
from p4mesh.methods.mesh import Mesh, trial_spec
from p4mesh.methods.outcome import Column, Figure, Outcome, Series, State, Table
from p4mesh.methods.parameters import Parameter, ParameterSet, choice, integer
from p4mesh.methods.repetition import spread_of
from p4mesh.methods.rfc2544.ports import mesh_of
from p4mesh.methods.rfc2544.throughput import SEARCHED, confirmed_throughput, deviations
from p4mesh.traffic.line_rate import rate_at_pct
from p4mesh.trial.result import Status, TrialResult

SECTION = "RFC 2544 26.2"
LATENCY = "latency"
RFC_RUNS = 20
THROUGHPUT_ONLY, ALL_LOADS = "throughput", "all"
_LOWER_LOADS_PCT = (Fraction(10), Fraction(50), Fraction(90))
_NS_PER_US = 1000
_PERCENTILES = {50.0: "p50_us", 99.0: "p99_us", 99.9: "p99_9_us"}
_DEFINITIONS = tuple(definition.value for definition in Definition)

COLUMNS = (
    Column("frame_size_bytes", "Frame size", "B"),
    Column("load_pct", "Load", "% of line", 4),
    Column("rate_fps", "Rate per port", "frames/s", 0),
    Column("definition", "Definition"),
    Column("min_us", "Min", "us", 3),
    Column("avg_us", "Avg", "us", 3),
    Column("max_us", "Max", "us", 3),
    Column("p50_us", "p50", "us", 3),
    Column("p99_us", "p99", "us", 3),
    Column("p99_9_us", "p99.9", "us", 3),
    Column("jitter_avg_us", "Jitter avg", "us", 4),
    Column("jitter_max_us", "Jitter max", "us", 3),
    Column("samples", "Samples", "frames"),
    Column("runs", "Runs"),
    Column("stddev_us", "Std dev of avg", "us", 4),
    Column("rsd_pct", "RSD of avg", "%", 2),
)


class Latency(TestMethod):
    """Every frame of a stream at the throughput rate is a sample."""

    name: ClassVar[str] = "rfc2544.latency"
    title: ClassVar[str] = "Latency"
    section: ClassVar[str] = SECTION
    parameters: ClassVar[tuple[Parameter, ...]] = (
        choice("definition", Definition.FIFO.value, SECTION, "which bits delimit latency", _DEFINITIONS),
        choice("loads", THROUGHPUT_ONLY, SECTION, "also at 10, 50, 90 % of line rate", (THROUGHPUT_ONLY, ALL_LOADS)),
        integer("runs", 1, "runs", SECTION, "runs per load, averaged; RFC 20", (1, 1000)),
        *SEARCHED,
    )

    def check(self, bed: TestBed, parameters: ParameterSet) -> None:
        """Refuse beds without port pairs of one rate, and contradicting search bounds."""
        mesh_of(self.name, bed, parameters)
        shared.search_of(parameters)

    def units(self, parameters: ParameterSet, sizes: Sequence[int]) -> tuple[Unit, ...]:
        """Return one unit per frame size: latency needs the throughput of the same size."""
        return tuple(Unit(size, LATENCY) for size in sizes)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        """Return the typical length of the search, its confirmation, and the latency trials."""
        loads = 1 + (len(_LOWER_LOADS_PCT) if parameters.text("loads") == ALL_LOADS else 0)
        return shared.search_of(parameters).trials_expected + 1 + loads * parameters.integer("runs")

    def run_unit(self, unit: Unit, bed: TestBed, parameters: ParameterSet, session: Session) -> UnitResult:
        """Find the throughput, then measure latency at it and at the lower loads below it."""
        mesh, size = mesh_of(self.name, bed, parameters), unit.frame_size_bytes
        found = confirmed_throughput(mesh, size, parameters, session)
        limit = None if found["result_pct"] is None else Fraction(found["result_pct"])
        wanted = _LOWER_LOADS_PCT if parameters.text("loads") == ALL_LOADS else ()
        possible = [load for load in wanted if limit is not None and load < limit] + ([limit] if limit else [])
        definition, runs = Definition(parameters.text("definition")), parameters.integer("runs")
        rows = []
        for index, load in enumerate(possible):
            results = []
            for run in range(runs):
                left = (len(possible) - index) * runs - run - 1
                spec = replace(trial_spec(mesh, LATENCY, size, load, parameters), histograms=True)
                results.append(session.measure(spec, TrialNote(load, left)))
            rows.append(_row(size, load, mesh, results, definition))
        rows += [_empty_row(size, load, "NA") for load in wanted if load not in possible]
        return {"frame_size_bytes": size, "throughput": found, "latency": rows}

    def assemble(self, bed: TestBed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
        """Return the latency table beside the throughput that it was measured at."""
        found = [unit["throughput"] for unit in results.values()]
        rows = tuple(row for unit in results.values() for row in unit["latency"])
        states = {row["state"] for row in rows}
        state = next((State(name) for name in ("ABORT", "INVALID") if name in states), tables.overall_state(found, ()))
        note = (
            "All frames are samples; test leads are included, nothing is subtracted. Percentiles are those of the "
            "slowest run, within 0.79 %. NA: load above the throughput."
        )
        shown = tuple({column.key: row[column.key] for column in COLUMNS} for row in rows)
        sizes = [unit.frame_size_bytes for unit in results]
        noted = deviations(parameters, sizes, bed.common_rate_bps(self.name))
        runs = parameters.integer("runs")
        return Outcome(
            state,
            f"{self.title}: {len(bed.ports)} ports, {state.value}",
            (Table("latency", "Latency", COLUMNS, shown, note), tables.throughput_table(found)),
            (_figure(rows, parameters.text("definition")),),
            tables.findings({"throughput": found}),
            (*noted, f"{runs} runs per load instead of {RFC_RUNS}.") if runs < RFC_RUNS else noted,
        )


def _empty_row(size: int, load: Fraction, definition: str) -> UnitResult:
    row: UnitResult = {column.key: None for column in COLUMNS}
    return {**row, "frame_size_bytes": size, "load_pct": float(load), "definition": definition, "state": "PASS"}


def _row(size: int, load: Fraction, mesh: Mesh, results: Sequence[TrialResult], definition: Definition) -> UnitResult:
    row = _empty_row(size, load, definition.value)
    untrusted = [result.status.value for result in results if result.status is not Status.VALID]
    row["state"] = untrusted[0] if untrusted else State.PASS.value
    measured = [result.latency for result in results if result.status is Status.VALID and result.latency is not None]
    summaries = [
        summary for stats in measured if (summary := summarise(stats, definition, size, mesh.line_rate_bps)) is not None
    ]
    if not summaries:
        return row
    average = spread_of([summary.avg_ns for summary in summaries])
    jitters = [summary.jitter_avg_ns for summary in summaries if summary.jitter_avg_ns is not None]
    peaks = [summary.jitter_max_ns for summary in summaries if summary.jitter_max_ns is not None]
    repeated = len(summaries) > 1
    return row | {
        "rate_fps": float(rate_at_pct(load, size, mesh.line_rate_bps)),
        "min_us": _us(min(summary.min_ns for summary in summaries)),
        "avg_us": _us(average.mean),
        "max_us": _us(max(summary.max_ns for summary in summaries)),
        **_percentiles(summaries),
        "jitter_avg_us": _us(spread_of(jitters).mean) if jitters else None,
        "jitter_max_us": _us(max(peaks)) if peaks else None,
        "samples": sum(summary.samples for summary in summaries),
        "runs": len(summaries),
        "stddev_us": average.stddev / _NS_PER_US if repeated else None,
        "rsd_pct": average.rsd_pct if repeated else None,
    }


def _percentiles(summaries: Sequence[LatencySummary]) -> UnitResult:
    """Return the largest percentile of all runs, for each that the histogram gave."""
    found: UnitResult = {}
    for percent, key in _PERCENTILES.items():
        values = [dict(summary.percentiles_ns).get(percent) for summary in summaries]
        present = [value for value in values if value is not None]
        found[key] = _us(max(present)) if present else None
    return found


def _us(nanoseconds: Fraction) -> float:
    return float(nanoseconds / _NS_PER_US)


def _figure(rows: Sequence[UnitResult], definition: str) -> Figure:
    highest: dict[int, UnitResult] = {}
    for row in rows:
        size = row["frame_size_bytes"]
        if row["avg_us"] is not None and (size not in highest or row["load_pct"] > highest[size]["load_pct"]):
            highest[size] = row
    series = tuple(
        Series(name, tuple((float(size), highest[size][key]) for size in sorted(highest)))
        for name, key in (("minimum", "min_us"), ("average", "avg_us"), ("maximum", "max_us"))
    )
    return Figure("latency", f"{definition} latency at the throughput rate", "frame size (B)", "us", series)
