"""Line charts as Vega-Lite: lines stay visible where they coincide, can be switched off, and are read by pointing."""

from __future__ import annotations

from typing import Any

from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Figure, Series
from p4mesh.report.document import Chart, Grid, GridRow, Head, LegendEntry
from p4mesh.report.numbers import cell_text
from p4mesh.report.palette import legend_of

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
HIDDEN = "hidden"
"""The parameter that holds the names of the lines that a reader has switched off."""
_HEIGHT = 320
_THIN, _WIDER_BY = 1.6, 0.8
"""Widths of lines: a line below others is wider, so that it stays visible where they coincide."""
_MARK, _LARGER_BY = 36, 26
_BAR = 700
"""Size of a mark that stands alone, without a line."""
_GRID_ROWS = 400
_UNITS_OF_TIME = ("ns", "us", "ms", "ns)", "us)", "ms)", "(s)")
_FLAT = 20
"""Times whose largest is so many times the smallest have a logarithmic axis: else most lie on the axis below."""
_FRAME_SIZES = "frame size"


def line_chart(figure: Figure) -> Chart | None:
    """The figure of a test; None where nothing was measured."""
    series = [item for item in figure.series if item.points]
    if not series:
        return None
    legend = legend_of([(item.name, item.theoretical) for item in series])
    return Chart(figure.name, figure.title, _spec(figure, series, legend), legend, _numbers(figure, series))


def _spec(figure: Figure, series: list[Series], legend: tuple[LegendEntry, ...]) -> dict[str, Any]:
    values = [
        {"x": x, "y": y, "series": item.name, "at": index, "line": not _is_curve(figure, item)}
        for index, item in enumerate(series)
        for x, y in item.points
    ]
    return {
        "$schema": SCHEMA,
        "description": f"{figure.title}: {figure.y_title} over {figure.x_title}",
        "width": "container",
        "height": _HEIGHT,
        "data": {"values": values},
        "params": [{"name": HIDDEN, "value": []}],
        "transform": [{"filter": f"indexof({HIDDEN}, datum.series) < 0"}],
        "encoding": {
            "x": _axis("x", figure.x_title, [x for item in series for x, _ in item.points], figure.x_max),
        },
        "layer": [_lines(figure, series, legend), _marks(figure, series, legend), _pointer(series, figure)],
    }


def _is_curve(figure: Figure, series: Series) -> bool:
    """Whether the points of a theory lie on a curve, which straight lines between a few frame sizes would miss."""
    return series.theoretical and figure.x_title.startswith(_FRAME_SIZES)


def _axis(field: str, title: str, values: list[float], end: float | None) -> dict[str, Any]:
    if field == "y" and title.endswith(_UNITS_OF_TIME) and values and 0 < min(values) * _FLAT < max(values):
        scale: dict[str, Any] = {"type": "log", "domain": [min(values) / 1.2, max(values) * 1.2]}
        axis: dict[str, Any] = {"format": "~s" if max(values) >= 10_000 else ".5~g"}
        return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis}
    last = end if end is not None else max([*values, 0.0])
    scale = {"domain": [min([*values, 0.0]), last or 1.0], "nice": end is None}
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": scale,
        "axis": {"format": "~s" if last >= 10_000 else ".5~g", "tickCount": 8},
    }


def _by_series(legend: tuple[LegendEntry, ...], values: list[Any], *, shown: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": [entry.name for entry in legend], "range": values},
    }
    columns = 4 if max(len(entry.name) for entry in legend) < 24 else 2
    found["legend"] = {"title": None, "orient": "bottom", "columns": columns} if shown else None
    return found


def _lines(figure: Figure, series: list[Series], legend: tuple[LegendEntry, ...]) -> dict[str, Any]:
    values = [y for item in series for _, y in item.points]
    widths = [round(_THIN + _WIDER_BY * (len(legend) - 1 - index), 2) for index in range(len(legend))]
    return {
        "transform": [{"filter": "datum.line"}],
        "mark": {"type": "line", "strokeCap": "butt"},
        "encoding": {
            "y": _axis("y", figure.y_title, values, figure.y_max),
            "color": _by_series(legend, [entry.colour for entry in legend], shown=True),
            "strokeDash": _by_series(legend, [list(entry.dash) for entry in legend], shown=True),
            "strokeWidth": _by_series(legend, widths),
            "order": {"field": "x", "type": "quantitative"},
        },
    }


def _marks(figure: Figure, series: list[Series], legend: tuple[LegendEntry, ...]) -> dict[str, Any]:
    bars = {item.name for item in series if _is_curve(figure, item)}
    sizes = [
        _BAR if entry.name in bars else _MARK + _LARGER_BY * (len(legend) - 1 - index)
        for index, entry in enumerate(legend)
    ]
    return {
        "mark": {"type": "point", "filled": False, "strokeWidth": 1.4},
        "encoding": {
            "y": {"field": "y", "type": "quantitative"},
            "color": _by_series(legend, [entry.colour for entry in legend], shown=True),
            "shape": _by_series(legend, [entry.shape for entry in legend], shown=True),
            "size": _by_series(legend, sizes),
        },
    }


def _pointer(series: list[Series], figure: Figure) -> dict[str, Any]:
    """Rule that follows the pointer and tells the values of all lines where it stands."""
    told = [{"field": "x", "type": "quantitative", "title": figure.x_title, "format": ".6~g"}]
    told += [
        {"field": str(index), "type": "quantitative", "title": item.name, "format": ".6~g"}
        for index, item in enumerate(series)
    ]
    return {
        "transform": [{"pivot": "at", "value": "y", "groupby": ["x"]}],
        "mark": {"type": "rule", "strokeWidth": 1.2, "color": "#8a8f98"},
        "encoding": {
            "opacity": {"condition": {"param": "pointed", "empty": False, "value": 0.9}, "value": 0},
            "tooltip": told,
        },
        "params": [
            {
                "name": "pointed",
                "select": {
                    "type": "point",
                    "fields": ["x"],
                    "nearest": True,
                    "on": "pointerover",
                    "clear": "pointerout",
                },
            }
        ],
    }


def _numbers(figure: Figure, series: list[Series]) -> Grid | None:
    """The points as a table; None where there are too many to read."""
    at: dict[float, dict[str, float]] = {}
    for item in series:
        for x, y in item.points:
            at.setdefault(x, {})[item.name] = y
    if len(at) > _GRID_ROWS:
        return None
    heads = (Head(figure.x_title, number=True, key=True), *(Head(item.name, number=True) for item in series))
    plain = Column("value", "")
    rows = tuple(
        GridRow((f"{x:g}", *(cell_text(plain, _short(at[x].get(item.name))) for item in series))) for x in sorted(at)
    )
    return Grid(f"{figure.title}: {figure.y_title}", heads, rows, folded=True)


def _short(value: float | None) -> float | str | None:
    return None if value is None else f"{value:.7g}"
