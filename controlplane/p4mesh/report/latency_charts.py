"""Latency against load, from the trials of any test that measured latency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from p4mesh.methods.results.latency import NAME_WITHOUT_DEFINITION
from p4mesh.methods.results.outcome import Figure, Series
from p4mesh.report.document import Chart
from p4mesh.report.line_charts import line_chart
from p4mesh.store.run_files import StoredTrial
from p4mesh.traffic.stamps import StampKind

_NS_PER_US = 1000
_LOAD = "intended load (% of line rate)"


def measured_definition(config: dict[str, Any]) -> str:
    """Definition of the latencies of trials (RFC 1242 3.8), as the time stamps of the target give it."""
    return NAME_WITHOUT_DEFINITION[StampKind(config["time_stamps"]["kind"])]


def latency_charts(config: dict[str, Any], trials: Sequence[StoredTrial]) -> tuple[Chart, ...]:
    """Mean and largest latency over load, a line per frame size, where trials have several loads."""
    definition = measured_definition(config)
    found = []
    for name, word, value in (("mean", "Mean", _mean_us), ("max", "Largest", _max_us)):
        lines: dict[str, dict[float, float]] = {}
        for trial in trials:
            latency = trial.result.get("latency")
            if trial.status.trusted and latency and latency["count"]:
                lines.setdefault(size_of(trial), {})[trial.load_pct] = value(latency)
        series = tuple(Series(size, tuple(sorted(points.items()))) for size, points in lines.items())
        if any(len(item.points) > 1 for item in series):
            title = f"{word} {definition} latency against load"
            chart = line_chart(Figure(f"latency_{name}", title, _LOAD, "us", series, 100.0))
            found += [chart] if chart else []
    return tuple(found)


def _mean_us(latency: dict[str, Any]) -> float:
    return float(latency["sum_ns"] / latency["count"] / _NS_PER_US)


def _max_us(latency: dict[str, Any]) -> float:
    return float(latency["max_ns"] / _NS_PER_US)


def size_of(trial: StoredTrial) -> str:
    """Frame size of a trial, as a line is named."""
    return trial.unit.partition("/")[0].replace("B", " B")
