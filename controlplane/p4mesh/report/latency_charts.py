"""Latency against load, from the trials of any test that measured latency."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from p4mesh.methods.results.outcome import Figure, Series
from p4mesh.report.document import Chart
from p4mesh.report.line_charts import line_chart
from p4mesh.report.shown_latency import ShownLatency, moved
from p4mesh.store.run_files import StoredTrial
from p4mesh.traffic.line_rate import NS_PER_US

_LOAD = "intended load (% of line rate)"
_OF_SIZE = re.compile(r"([^/ ]+)B/")
_ALIKE = 1 / 3
"""Mean latencies of a frame size at a load are alike up to this share of the largest."""
_SPREAD_PCT = 1.0
"""Loads closer together than this, in % of line rate, are one point of the figure: it would show an empty axis."""


def latency_charts(config: dict[str, Any], trials: Sequence[StoredTrial]) -> tuple[Chart, ...]:
    """Mean and largest latency over load, a line per frame size, where trials have several loads.

    Trials in which a queue fills are left out: their latency is that of their length. There is no figure where the
    parts of a test differ by something else than frame size and load, such as failures.
    """
    measured = [trial for trial in trials if trial.status.trusted and _counted(trial) and not _fills(trial)]
    if not _depend_on_the_load(measured):
        return ()
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
            found += [replace(chart, note=f"{chart.note} {shown.note}".strip())] if chart else []
    return tuple(found)


def _counted(trial: StoredTrial) -> bool:
    latency = trial.result.get("latency")
    return bool(latency and latency["count"])


def _fills(trial: StoredTrial) -> bool:
    return bool(trial.result.get("queues", {}).get("trend") == "filling")


def _mean_us(latency: dict[str, Any]) -> float:
    return float(latency["sum_ns"] / latency["count"] / NS_PER_US)


def _max_us(latency: dict[str, Any]) -> float:
    return float(latency["max_ns"] / NS_PER_US)


def _depend_on_the_load(measured: Sequence[StoredTrial]) -> bool:
    """Whether parts with the same frame size and load agree: else something else makes their latencies."""
    means: dict[tuple[str, float], list[float]] = {}
    for trial in measured:
        means.setdefault((size_of(trial), trial.load_pct), []).append(_mean_us(trial.result["latency"]))
    return all(max(found) - min(found) <= _ALIKE * abs(max(found)) for found in means.values())


def size_of(trial: StoredTrial) -> str:
    """Frame size of a trial, as a line is named; the part of the test where parts are not named by sizes."""
    found = _OF_SIZE.match(trial.unit)
    return f"{found[1]} B" if found else trial.unit
