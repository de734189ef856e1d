"""How latencies, and times between frames, are distributed: curves and histograms, from the bins of stored trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from p4mesh.methods.results.fields import P50_US
from p4mesh.quantities import number_text
from p4mesh.report.document import Chart, Grid, GridRow, Head, LegendEntry
from p4mesh.report.latency_charts import size_of
from p4mesh.report.line_charts import chart_of_series
from p4mesh.report.numbers import NOT_APPLICABLE, text_with_error
from p4mesh.report.palette import legend_of
from p4mesh.report.shown_latency import ShownLatency, moved
from p4mesh.store.run_files import StoredTrial
from p4mesh.traffic.line_rate import NS_PER_US

_MOST_CURVES = 12
_HEIGHT = 300
_NINES = (1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000)
"""Places on the axis of percentiles: one frame in so many is slower."""
# Smaller shares are drawn as this one: a logarithmic axis has no 0.
_SMALLEST_SHARE_PCT = 0.0001
_ERROR = "Bins are at most 1.6 % wide; where there were many, neighbours were joined."

Curve = dict[str, Any]
"""The stored statistics of the frames behind one line."""


def distribution_charts(config: dict[str, Any], trials: Sequence[StoredTrial]) -> tuple[Chart, ...]:
    """Latency over percentile and the histogram, of the last trial of each part; none without bins."""
    curves: dict[str, Curve] = {}
    measured = [trial for trial in trials if trial.status.trusted and _measured(trial)]
    shown = ShownLatency(config, measured)
    for trial in measured:
        for name, latency in _measured(trial):
            curves[f"{size_of(trial)}, {name}"] = moved(latency, shown.shift_ns(trial, latency))
    curves = _equal_as_one(curves)
    kept = _worst(curves)
    if not kept:
        return ()
    note = f"Trial: the last one of each part. {_ERROR} {shown.note}".rstrip()
    if len(kept) < len(curves):
        note += f" Shown are the {_MOST_CURVES} of {len(curves)} with the largest latency, some of each frame size."
    return (
        _percentiles(shown.name, kept, note),
        _histogram("histogram", f"{shown.name} latency histogram", "latency (us)", kept, note),
    )


def interarrival_charts(trials: Sequence[StoredTrial]) -> tuple[Chart, ...]:
    """The histogram of the times between frames, of the last trial of each part; none without bins."""
    curves: dict[str, Curve] = {}
    for trial in trials:
        for one in trial.result.get("interarrival", ()) if trial.status.trusted else ():
            for side, at in (("departures", "sender"), ("arrivals", "receiver")):
                if one[side]:
                    curves[f"{trial.unit.rpartition('/')[2]}, {_frames_of(one)} at the {at}"] = one[side]
    curves = _equal_as_one(curves)
    kept = dict(list(curves.items())[:_MOST_CURVES])
    if not kept:
        return ()
    note = f"Trial: the last one of each part. {_ERROR}"
    if len(kept) < len(curves):
        note += f" Shown are the first {_MOST_CURVES} of {len(curves)}."
    return (_histogram("interarrival", "Histogram of times between frames", "time between frames (us)", kept, note),)


def _equal_as_one(curves: dict[str, Curve]) -> dict[str, Curve]:
    """Curves of a frame size that lie on each other are one, named by the first of them."""
    groups: dict[str, list[str]] = {}
    for name, latency in curves.items():
        groups.setdefault(f"{_size_in(name)}{latency}", []).append(name)
    return {_name_of(names): curves[names[0]] for names in groups.values()}


def _name_of(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"


def _size_in(name: str) -> str:
    return name.rpartition(", ")[0]


def _worst(curves: dict[str, Curve]) -> dict[str, Curve]:
    """Curves with the largest latency: the worst one of each frame size, then the second one, and so on."""
    rank: dict[str, tuple[int, float]] = {}
    seen = Counter[str]()
    for name in sorted(curves, key=lambda name: -curves[name]["max_ns"]):
        size = _size_in(name)
        rank[name] = (seen[size], -curves[name]["max_ns"])
        seen[size] += 1
    kept = sorted(rank, key=lambda name: rank[name])[:_MOST_CURVES]
    return {name: latency for name, latency in curves.items() if name in kept}


def _measured(trial: StoredTrial) -> list[tuple[str, Curve]]:
    latency = trial.result.get("latency")
    found = [("all frames", latency)] if latency and latency.get("bins") else []
    for one in trial.result.get("histograms", ()):
        if one["latency"].get("bins"):
            found.append((_frames_of(one), one["latency"]))
    return found


def _frames_of(histogram: dict[str, Any]) -> str:
    ports = [
        f"{word} port {histogram[key]}" for word, key in (("from", "tx_port"), ("to", "rx_port")) if histogram[key]
    ]
    return " ".join([histogram["stream"], *ports])


def _percentiles(definition: str, curves: dict[str, Curve], note: str) -> Chart:
    legend = legend_of([(name, False) for name in curves])
    values = [
        {"x": one_in, "y": us, "series": name, "percentile": f"{number_text(100 - 100 / one_in, 7)} %"}
        for name, latency in curves.items()
        for one_in, us in _curve(latency)
    ]
    largest = max(one_in for latency in curves.values() for one_in, _ in _curve(latency))
    labels = "datum.value <= 1 ? '0 %' : format(100 - 100 / datum.value, '.7~r') + ' %'"
    axis = {"values": [place for place in _NINES if place <= largest * 2], "labelExpr": labels, "labelOverlap": True}
    spec = _lines(
        "Latency over percentile",
        values,
        legend,
        x={"field": "x", "type": "quantitative", "title": "percentile", "scale": {"type": "log"}, "axis": axis},
        y={"field": "y", "type": "quantitative", "title": "latency (us)", "scale": {"zero": True}},
        interpolate="step-before",
        tooltip=[
            {"field": "series", "title": "frames of"},
            {"field": "percentile"},
            {"field": "y", "type": "quantitative", "title": "latency (us)", "format": ",.6~r"},
        ],
    )
    title = f"{definition} latency over percentile"
    return Chart("percentiles", title, spec, legend, _table(title, curves), note)


def _curve(latency: Curve) -> list[tuple[float, float]]:
    """(one frame in so many is slower, latency in us), from the smallest to the largest latency."""
    bins = latency["bins"]
    total = sum(bins["frames"])
    found = [(1.0, latency["min_ns"] / NS_PER_US)]
    for seen, high_ns in zip(accumulate(bins["frames"]), bins["high_ns"], strict=True):
        slower = total - seen
        largest = min(high_ns, latency["max_ns"])
        found.append((total / slower if slower else float(total), largest / NS_PER_US))
    return found


def _histogram(name: str, title: str, axis: str, curves: dict[str, Curve], note: str) -> Chart:
    legend = legend_of([(name, False) for name in curves])
    values = []
    for name, latency in curves.items():
        bins = latency["bins"]
        total = sum(bins["frames"])
        for low, high, frames in zip(bins["low_ns"], bins["high_ns"], bins["frames"], strict=True):
            share = 100 * frames / total
            told = {"series": name, "frames": frames, "share": share}
            edges = {"x": low / NS_PER_US, "x2": high / NS_PER_US}
            values.append({**edges, "y": max(share, _SMALLEST_SHARE_PCT), **told})
    spec = {
        **chart_of_series("Share of the frames per bin of latency", values, _HEIGHT),
        "mark": {"type": "bar", "fillOpacity": 0.12, "strokeWidth": 1.4},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": axis, "scale": {"zero": False}},
            "x2": {"field": "x2"},
            "y": {
                "field": "y",
                "type": "quantitative",
                "title": "frames per bin (%)",
                "scale": {"type": "log", "domainMin": _SMALLEST_SHARE_PCT},
                "stack": None,
            },
            "y2": {"datum": _SMALLEST_SHARE_PCT},
            "color": _by_series(legend, [entry.colour for entry in legend]),
            "stroke": {**_by_series(legend, [entry.colour for entry in legend]), "legend": None},
            "tooltip": [
                {"field": "series", "title": "frames of"},
                {"field": "x", "type": "quantitative", "title": "from (us)", "format": ",.6~r"},
                {"field": "x2", "type": "quantitative", "title": "to (us)", "format": ",.6~r"},
                {"field": "frames", "type": "quantitative", "format": ","},
                {"field": "share", "type": "quantitative", "title": "share (%)", "format": ",.4~r"},
            ],
        },
    }
    return Chart(name, title, spec, legend, None, note)


def _lines(
    description: str,
    values: list[dict[str, Any]],
    legend: tuple[LegendEntry, ...],
    *,
    x: dict[str, Any],
    y: dict[str, Any],
    interpolate: str,
    tooltip: list[dict[str, Any]],
) -> dict[str, Any]:
    return {
        **chart_of_series(description, values, _HEIGHT),
        "mark": {"type": "line", "interpolate": interpolate, "point": {"size": 14}},
        "encoding": {
            "x": x,
            "y": y,
            "color": _by_series(legend, [entry.colour for entry in legend]),
            "strokeDash": {**_by_series(legend, [list(entry.dash) for entry in legend])},
            "tooltip": tooltip,
        },
    }


def _by_series(legend: tuple[LegendEntry, ...], values: list[Any]) -> dict[str, Any]:
    scale = {"domain": [entry.name for entry in legend], "range": values}
    return {
        "field": "series",
        "type": "nominal",
        "scale": scale,
        "legend": {"title": None, "orient": "bottom", "columns": 2},
    }


def _table(title: str, curves: dict[str, Curve]) -> Grid:
    """Percentiles that tables of results have as well, for readers who cannot see the figures."""
    labels = list(dict.fromkeys(percent for latency in curves.values() for percent, _ in latency["percentiles_ns"]))
    titles = ("min", *(f"p{number_text(percent)}" for percent in labels), "max")
    times = (Head(title, "us", number=True) for title in titles)
    heads = (Head("Frames of", key=True), *times)
    rows = []
    for name, latency in curves.items():
        at, errors = dict(latency["percentiles_ns"]), dict(latency.get("percentile_errors_ns", ()))
        places = (_percentile_text(at.get(percent), errors.get(percent)) for percent in labels)
        bounds = (number_text(latency[key] / NS_PER_US) for key in ("min_ns", "max_ns"))
        rows.append(GridRow((name, next(bounds), *places, next(bounds))))
    return Grid(title, heads, tuple(rows), folded=True)


def _percentile_text(value_ns: float | None, error_ns: float | None) -> str:
    if value_ns is None:
        return NOT_APPLICABLE
    return text_with_error(P50_US, value_ns / NS_PER_US, None if error_ns is None else error_ns / NS_PER_US)
