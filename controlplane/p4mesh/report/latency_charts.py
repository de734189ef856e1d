"""Latency against load, and percentile curves, from the trials of any test that measured latency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from p4mesh.methods.results.latency import NAME_WITHOUT_DEFINITION
from p4mesh.methods.results.outcome import Figure, Series
from p4mesh.report.document import Chart, Grid, GridRow, Head
from p4mesh.report.line_charts import SCHEMA, line_chart
from p4mesh.report.palette import legend_of
from p4mesh.store.run_files import StoredTrial
from p4mesh.traffic.stamps import StampKind

_NS_PER_US = 1000
_LOAD = "intended load (% of line rate)"
_MOST_CURVES = 12


def measured_definition(config: dict[str, Any]) -> str:
    """Return the definition of the latencies of trials, as the time stamps of the target give it."""
    return NAME_WITHOUT_DEFINITION[StampKind(config["time_stamps"]["kind"])]


def latency_charts(config: dict[str, Any], trials: Sequence[StoredTrial]) -> tuple[Chart, ...]:
    """Return mean and largest latency over load, a line per frame size, where trials have several loads."""
    definition = measured_definition(config)
    found = []
    for name, word, value in (("mean", "Mean", _mean_us), ("max", "Largest", _max_us)):
        lines: dict[str, dict[float, float]] = {}
        for trial in trials:
            latency = trial.result.get("latency")
            if trial.result["status"] == "VALID" and latency and latency["count"]:
                lines.setdefault(_size(trial), {})[trial.load_pct] = value(latency)
        series = tuple(Series(size, tuple(sorted(points.items()))) for size, points in lines.items())
        if any(len(item.points) > 1 for item in series):
            title = f"{word} {definition} latency against load"
            chart = line_chart(Figure(f"latency_{name}", title, _LOAD, "us", series, 100.0))
            found += [chart] if chart else []
    return tuple(found)


def percentile_chart(config: dict[str, Any], trials: Sequence[StoredTrial]) -> Chart | None:
    """Return latency over percentile of the last trial of each part that has histograms; None without any."""
    curves: dict[str, list[tuple[str, float]]] = {}
    for trial in trials:
        if trial.result["status"] != "VALID":
            continue
        for name, latency in _histograms(trial):
            curves[f"{_size(trial)}, {name}"] = _curve(latency)
    if not curves:
        return None
    worst = sorted(curves, key=lambda name: -curves[name][-1][1])[:_MOST_CURVES]
    kept = {name: points for name, points in curves.items() if name in worst}
    order = list(dict.fromkeys(label for points in kept.values() for label, _ in points))
    order.sort(key=_percent)
    note = "Percentiles come from histograms with a relative error of at most 0.79 %. Trial: the last one of each size."
    if len(kept) < len(curves):
        note += f" Shown are the {_MOST_CURVES} of {len(curves)} with the largest latency."
    legend = legend_of([(name, False) for name in kept])
    values = [{"x": label, "y": value, "series": name} for name, points in kept.items() for label, value in points]
    by_series = {"field": "series", "type": "nominal"}
    names = [entry.name for entry in legend]
    bottom = {"title": None, "orient": "bottom", "columns": 2}

    def scaled(kind: list[Any]) -> dict[str, Any]:
        return {**by_series, "scale": {"domain": names, "range": kind}, "legend": bottom}

    spec = {
        "$schema": SCHEMA,
        "description": "Latency over percentile",
        "width": "container",
        "height": 300,
        "data": {"values": values},
        "params": [{"name": "hidden", "value": []}],
        "transform": [{"filter": "indexof(hidden, datum.series) < 0"}],
        "encoding": {
            "x": {"field": "x", "type": "ordinal", "title": "percentile", "sort": order, "axis": {"labelAngle": 0}},
            "y": {"field": "y", "type": "quantitative", "title": "latency (us)", "scale": {"zero": True}},
            "color": scaled([entry.colour for entry in legend]),
        },
        "layer": [
            {"mark": {"type": "line"}, "encoding": {"strokeDash": scaled([list(entry.dash) for entry in legend])}},
            {
                "mark": {"type": "point", "filled": False, "size": 60},
                "encoding": {
                    "shape": scaled([entry.shape for entry in legend]),
                    "tooltip": [
                        {"field": "series", "title": "of"},
                        {"field": "x", "title": "percentile"},
                        {"field": "y", "type": "quantitative", "title": "latency (us)", "format": ".6~g"},
                    ],
                },
            },
        ],
    }
    heads = (Head("Of", key=True), *(Head(label, "us", number=True) for label in order))
    rows = tuple(
        GridRow((name, *(f"{value:.6g}" if (value := dict(points).get(label)) is not None else "-" for label in order)))
        for name, points in kept.items()
    )
    title = f"{measured_definition(config)} latency over percentile"
    return Chart("percentiles", title, spec, legend, Grid(title, heads, rows, folded=True), note)


def _histograms(trial: StoredTrial) -> list[tuple[str, dict[str, Any]]]:
    latency = trial.result.get("latency")
    found = [("all frames", latency)] if latency and latency["percentiles_ns"] else []
    for one in trial.result.get("histograms", ()):
        if one["latency"]["percentiles_ns"]:
            ports = [f"{word} {one[key]}" for word, key in (("from", "tx_port"), ("to", "rx_port")) if one[key]]
            found.append((" ".join([one["stream"], *ports]), one["latency"]))
    return found


def _curve(latency: dict[str, Any]) -> list[tuple[str, float]]:
    middle = [(f"p{percent:g}", value / _NS_PER_US) for percent, value in latency["percentiles_ns"]]
    return [("min", latency["min_ns"] / _NS_PER_US), *middle, ("max", latency["max_ns"] / _NS_PER_US)]


def _percent(label: str) -> float:
    return {"min": 0.0, "max": 100.0}.get(label) if label in ("min", "max") else float(label[1:])  # type: ignore[return-value]


def _mean_us(latency: dict[str, Any]) -> float:
    return float(latency["sum_ns"] / latency["count"] / _NS_PER_US)


def _max_us(latency: dict[str, Any]) -> float:
    return float(latency["max_ns"] / _NS_PER_US)


def _size(trial: StoredTrial) -> str:
    return trial.unit.partition("/")[0].replace("B", " B")
