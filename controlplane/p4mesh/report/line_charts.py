"""Line charts as Vega-Lite: lines stay visible where they coincide, can be switched off, and are read by pointing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import log
from typing import Any

from p4mesh.methods.results.outcome import Figure, Series
from p4mesh.quantities import number_text, typed_text
from p4mesh.report.document import Chart, Grid, GridRow, Head, LegendEntry
from p4mesh.report.numbers import NOT_APPLICABLE
from p4mesh.report.palette import legend_of
from p4mesh.report.panels import evenly, note_on

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
HIDDEN = "hidden"
"""The parameter that holds the names of the lines that a reader has switched off."""
HEIGHT = 320
_THIN, _WIDER_BY = 1.6, 0.5
"""Widths of lines: a line below others is wider, so that it stays visible where they coincide."""
_MARK, _LARGER_BY = 36, 26
_GRID_ROWS = 400
_MOST_LINES = 12
"""More lines than the palette has colours cannot be told apart."""
_NARROW = 0.05
"""Loads up to such a share of the axis would all lie at its beginning: then both axes end at their highest values."""
_COINCIDE = 0.005
"""Lines whose points are nowhere farther apart than this share of the axis are drawn as one."""
_UNITS_OF_TIME = ("ns", "us", "ms", "ns)", "us)", "ms)", "(s)")
_FLAT = 8
"""Times whose largest is so many times the smallest have a logarithmic axis: else most lie on the axis below."""
_FRAME_SIZES = "frame size"


def series_with_points(figure: Figure) -> list[Series]:
    """The series of a figure in which something was measured."""
    return [item for item in figure.series if item.points]


def line_chart(figure: Figure) -> Chart | None:
    """Lines; None where nothing was measured."""
    series = series_with_points(figure)
    if not series:
        return None
    if figure.x_max and max(x for item in series for x, _ in item.points) <= _NARROW * figure.x_max:
        figure = replace(figure, x_max=None, y_max=None)
    found = _lines_of(figure, series)
    lines = _evenly_chosen(found)
    legend = legend_of([(name, members[0].theoretical) for name, members in lines.items()])
    note = note_on(len(lines), len(found), "lines")
    return Chart(figure.name, figure.title, _spec(figure, lines, legend), legend, numbers_of(figure, series), note)


def _evenly_chosen(lines: Mapping[str, list[Series]]) -> Mapping[str, list[Series]]:
    """Only as many lines as a reader can tell apart, and theory always."""
    theory = [name for name, members in lines.items() if members[0].theoretical]
    measured = [name for name in lines if name not in theory]
    chosen = {*theory, *evenly(measured, max(_MOST_LINES - len(theory), 2))}
    return {name: members for name, members in lines.items() if name in chosen}


def _lines_of(figure: Figure, series: list[Series]) -> dict[str, list[Series]]:
    """The lines to draw, by name: series that nobody could tell apart are one, with the names of all."""
    values = [y for item in series for _, y in item.points]
    top = max(values) if figure.y_max is None else figure.y_max
    logarithmic = is_logarithmic(figure.y_title, values)
    scale: Callable[[float], float] = log if logarithmic else float
    room = _COINCIDE * (scale(top) - (scale(min(values)) if logarithmic else 0))
    groups: list[list[Series]] = []
    for item in series:
        twins = next((group for group in groups if _coincide(group[0], item, scale, room)), None)
        if twins is None:
            groups.append([item])
        else:
            twins.append(item)
    return {_name_of(group): group for group in groups}


def _coincide(one: Series, other: Series, scale: Callable[[float], float], room: float) -> bool:
    if one.theoretical or other.theoretical or [x for x, _ in one.points] != [x for x, _ in other.points]:
        return False
    pairs = zip(one.points, other.points, strict=True)
    return all(abs(scale(y) - scale(y_other)) <= room for (_, y), (_, y_other) in pairs)


def _name_of(group: list[Series]) -> str:
    """Names of all series of a line; a unit that all of them end with stands once."""
    names = [item.name for item in group]
    if any("," in name for name in names):
        return "; ".join(names)
    unit = names[0].rpartition(" ")[2]
    if all(name.endswith(f" {unit}") for name in names):
        return f"{', '.join(name.removesuffix(f' {unit}') for name in names)} {unit}"
    return ", ".join(names)


def chart_of_series(description: str, values: list[dict[str, Any]], height: int = HEIGHT) -> dict[str, Any]:
    """The parts of a Vega-Lite specification that every chart has whose legend hides series."""
    return {
        "$schema": SCHEMA,
        "description": description,
        "width": "container",
        "height": height,
        "data": {"values": values},
        "params": [{"name": HIDDEN, "value": []}],
        "transform": [{"filter": f"indexof({HIDDEN}, datum.series) < 0"}],
    }


def _spec(figure: Figure, lines: Mapping[str, list[Series]], legend: tuple[LegendEntry, ...]) -> dict[str, Any]:
    named = [(name, item, item is members[0]) for name, members in lines.items() for item in members]
    series = [item for _, item, _ in named]
    values = [
        {"x": x, "y": y, "series": name, "at": index, "drawn": drawn}
        for index, (name, item, drawn) in enumerate(named)
        for x, y in item.points
    ]
    return {
        **chart_of_series(f"{figure.title}: {figure.y_title} over {figure.x_title}", values),
        "encoding": {
            "x": axis_of("x", figure.x_title, [x for item in series for x, _ in item.points], figure.x_max),
        },
        "layer": [_lines(figure, series, legend), _marks(legend), _pointer(series, figure)],
    }


def is_over_sizes(figure: Figure) -> bool:
    """Whether the figure is over frame sizes."""
    return figure.x_title.startswith(_FRAME_SIZES)


def is_logarithmic(title: str, values: list[float]) -> bool:
    """Whether an axis has times so far apart that most of them would lie on the axis below."""
    return title.endswith(_UNITS_OF_TIME) and bool(values) and 0 < min(values) * _FLAT < max(values)


def axis_of(field: str, title: str, values: list[float], end: float | None) -> dict[str, Any]:
    """An axis that begins at 0 or at the lowest value and shows all values; logarithmic where times are far apart.

    ``end`` is where it ends at least: a chart as wide as its place has no width left when points lie beyond its axis.
    """
    if field == "y" and is_logarithmic(title, values):
        scale: dict[str, Any] = {"type": "log", "domain": [min(values) / 1.2, max(values) * 1.2]}
        axis: dict[str, Any] = {"format": "~s" if max(values) >= 10_000 else ",.5~r"}
        return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis}
    last = max([*values, end or 0.0])
    scale = {"domain": [min([*values, 0.0]), last or 1.0], "nice": last != end}
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": scale,
        "axis": {"format": "~s" if last >= 10_000 else ",.5~r", "tickCount": 8},
    }


def by_series(legend: tuple[LegendEntry, ...], values: list[Any], *, shown: bool = False) -> dict[str, Any]:
    """A channel by the names of the series, whose values stand in the order of the legend."""
    match values:
        case [float() | int() as only]:
            # A scale of one size has none in Vega: it draws neither mark nor width.
            return {"value": only}
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
    widths = [_THIN + _WIDER_BY * (len(legend) - 1 - index) for index in range(len(legend))]
    return {
        "transform": [{"filter": "datum.drawn"}],
        "mark": {"type": "line", "strokeCap": "butt"},
        "encoding": {
            "y": axis_of("y", figure.y_title, values, figure.y_max),
            "color": by_series(legend, [entry.colour for entry in legend], shown=True),
            "strokeDash": by_series(legend, [list(entry.dash) for entry in legend], shown=True),
            "strokeWidth": by_series(legend, widths),
            "order": {"field": "x", "type": "quantitative"},
        },
    }


def _marks(legend: tuple[LegendEntry, ...]) -> dict[str, Any]:
    sizes = [_MARK + _LARGER_BY * (len(legend) - 1 - index) for index in range(len(legend))]
    return {
        "transform": [{"filter": "datum.drawn"}],
        "mark": {"type": "point", "filled": False, "strokeWidth": 1.4, "opacity": 1},
        "encoding": {
            "y": {"field": "y", "type": "quantitative"},
            "color": by_series(legend, [entry.colour for entry in legend], shown=True),
            "shape": by_series(legend, [entry.shape for entry in legend], shown=True),
            "size": by_series(legend, sizes),
        },
    }


def _pointer(series: list[Series], figure: Figure) -> dict[str, Any]:
    """Rule that follows the pointer and tells the values of all lines where it stands."""
    told = [{"field": "x", "type": "quantitative", "title": figure.x_title, "format": ",.6~r"}]
    told += [
        {"field": str(index), "type": "quantitative", "title": item.name, "format": ",.6~r"}
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


def numbers_of(figure: Figure, series: list[Series]) -> Grid | None:
    """The points as a table; None where there are too many to read."""
    at: dict[float, dict[str, float]] = {}
    for item in series:
        for x, y in item.points:
            at.setdefault(x, {})[item.name] = y
    if len(at) > _GRID_ROWS:
        return None
    heads = (Head(figure.x_title, number=True, key=True), *(Head(item.name, number=True) for item in series))
    x_text = typed_text if is_over_sizes(figure) else number_text
    texts = {x: x_text(x) for x in sorted(at)} | {place.x: place.name for place in figure.x_names}
    rows = tuple(GridRow((text, *(_text(at[x].get(item.name)) for item in series))) for x, text in texts.items())
    return Grid(f"{figure.title}: {figure.y_title}", heads, rows, folded=True)


def _text(value: float | None) -> str:
    return NOT_APPLICABLE if value is None else number_text(value)
