"""Bars over frame sizes: between two sizes that were measured, nothing is known that a line could show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from p4mesh.methods.results.outcome import Figure, Series
from p4mesh.report.document import Chart, LegendEntry
from p4mesh.report.line_charts import (
    axis_of,
    by_series,
    chart_of_series,
    is_logarithmic,
    numbers_of,
    series_with_points,
)
from p4mesh.report.palette import legend_of

_SQUARE = "M-.45,-.45H.45V.45H-.45Z"
_NO_LINE = (0, 34)
"""Dashes of a line in a legend that is not to be seen."""
_WIDE = 0.9
"""Share of the distance of two frame sizes that bars fill."""


def bar_chart(figure: Figure) -> Chart:
    """The figure with a group of bars for each frame size, or of marks where the axis is logarithmic and has no 0.

    A theory is an outline around the bars.
    """
    series = series_with_points(figure)
    legend = tuple(
        replace(entry, shape=_SQUARE, dash=_NO_LINE)
        for entry in legend_of([(item.name, item.theoretical) for item in series])
    )
    return Chart(figure.name, figure.title, _spec(figure, series, legend), legend, numbers_of(figure, series))


def _spec(figure: Figure, series: list[Series], legend: tuple[LegendEntry, ...]) -> dict[str, Any]:
    names = {place.x: place.name for place in figure.x_names}
    values = [
        {"x": x, "size": names.get(x, x), "y": y, "series": item.name, "theory": item.theoretical}
        for item in series
        for x, y in item.points
    ]
    heights = [y for item in series for _, y in item.points]
    y = axis_of("y", figure.y_title, heights, figure.y_max)
    measured = [item.name for item in series if not item.theoretical]
    marks = is_logarithmic(figure.y_title, heights)
    shared: dict[str, Any] = {
        "x": {
            "field": "x",
            "type": "ordinal",
            "title": figure.x_title,
            "axis": {"labelAngle": 0, "format": "d", "labelExpr": _label(names)},
            "scale": {"paddingInner": round(1 - _WIDE, 3), "paddingOuter": 0.05},
        },
        "y": y,
        "tooltip": [
            {"field": "series", "title": "of"},
            {"field": "size", "title": figure.x_title},
            {"field": "y", "type": "quantitative", "title": figure.y_title, "format": ",.6~r"},
        ],
    }
    colours = by_series(legend, [entry.colour for entry in legend], shown=True)
    outline = {
        "transform": [{"filter": "datum.theory"}],
        "mark": {"type": "bar", "fillOpacity": 0.12, "strokeWidth": 1.5},
        "encoding": {**shared, "color": colours, "stroke": {**colours, "legend": None}},
    }
    bars: dict[str, Any] = {
        "transform": [{"filter": "!datum.theory"}],
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1} if marks else {"type": "bar"},
        "encoding": {**shared, "xOffset": {"field": "series", "scale": {"domain": measured}}, "color": colours},
    }
    return {
        **chart_of_series(f"{figure.title}: {figure.y_title} over {figure.x_title}", values),
        "layer": [*([outline] if len(measured) < len(series) else []), bars],
    }


def _label(names: Mapping[float, str]) -> str:
    """The expression for the label of a place: its name, or its number."""
    place = f"indexof({json.dumps(list(names))}, datum.value)"
    return f"{place} < 0 ? datum.label : {json.dumps(list(names.values()))}[{place}]"
