"""Latency against load, from the trials of any test that measured latency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from p4mesh.methods.results.outcome import Figure, Series
from p4mesh.report.document import Chart
from p4mesh.report.line_charts import line_chart
from p4mesh.report.shown_latency import ShownLatency, moved
from p4mesh.store.run_files import StoredTrial

_NS_PER_US = 1000
_LOAD = "intended load (% of line rate)"
_SPREAD_PCT = 1.0
"""Loads closer together than this, in % of line rate, are one point of the figure: it would show an empty axis."""


def latency_charts(config: dict[str, Any], trials: Sequence[StoredTrial]) -> tuple[Chart, ...]:
    """Mean and largest latency over load, a line per frame size, where trials have several loads.

    Trials in which a queue fills are left out: their latency is that of their length.
    """
    measured = [trial for trial in trials if trial.status.trusted and _counted(trial) and not _fills(trial)]
    shown = ShownLatency(config, measured)
    found = []
    for name, word, value in (("mean", "Mean", _mean_us), ("max", "Largest", _max_us)):
        lines: dict[str, dict[float, float]] = {}
        for trial in measured:
            latency = trial.result["latency"]
            lines.setdefault(size_of(trial), {})[trial.load_pct] = value(moved(latency, shown.shift_ns(trial, latency)))
        series = tuple(Series(size, tuple(sorted(points.items()))) for size, points in lines.items())
        if any(item.points[-1][0] - item.points[0][0] >= _SPREAD_PCT for item in series):
            title = f"{word} {shown.name} latency against load"
            chart = line_chart(Figure(f"latency_{name}", title, _LOAD, "us", series, 100.0))
            found += [chart] if chart else []
    return tuple(found)


def _counted(trial: StoredTrial) -> bool:
    latency = trial.result.get("latency")
    return bool(latency and latency["count"])


def _fills(trial: StoredTrial) -> bool:
    return bool(trial.result.get("queues", {}).get("trend") == "filling")


def _mean_us(latency: dict[str, Any]) -> float:
    return float(latency["sum_ns"] / latency["count"] / _NS_PER_US)


def _max_us(latency: dict[str, Any]) -> float:
    return float(latency["max_ns"] / _NS_PER_US)


def size_of(trial: StoredTrial) -> str:
    """Frame size of a trial, as a line is named."""
    return trial.unit.partition("/")[0].replace("B", " B")
