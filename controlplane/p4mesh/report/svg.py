"""Line plots as SVG text: no script, no font and no file from outside."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

from p4mesh.methods.results.outcome import Figure, Series

WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 16, 52
LEGEND_MARK, LEGEND_CHARACTER = 44, 6.4
"""Width of the line of an entry with its margins, and of a character behind it."""
COLOURS = ("#1f5fa8", "#d1622b", "#2e8b57", "#8e4ea6", "#b8860b", "#c2334d", "#3a8fb7", "#6b6b6b", "#7a9a01")
THEORY_COLOUR = "#8a8f98"


def figure_svg(figure: Figure) -> str:
    """Return a figure with axes, grid, lines with markers and a legend below the plot."""
    points = [point for series in figure.series for point in series.points]
    if not points:
        return '<p class="note">No trusted measurement to plot.</p>'
    x_axis = _ticks(0.0, figure.x_max if figure.x_max is not None else max(x for x, _ in points))
    y_axis = _ticks(0.0, figure.y_max if figure.y_max is not None else max(y for _, y in points))
    frame = _Frame(x_axis[-1] or 1.0, y_axis[-1] or 1.0)
    per_row = _legend_per_row(figure.series)
    rows = ceil(len(figure.series) / per_row)
    height = HEIGHT + 22 * rows
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(figure.title)}"'
        ' xmlns="http://www.w3.org/2000/svg">',
        *_grid(frame, x_axis, y_axis),
        f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">'
        f"{escape(figure.x_title)}</text>",
        f'<text class="axis" transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"'
        f' text-anchor="middle">{escape(figure.y_title)}</text>',
    ]
    colour_index = 0
    for index, series in enumerate(figure.series):
        colour = THEORY_COLOUR if series.theoretical else COLOURS[colour_index % len(COLOURS)]
        colour_index += not series.theoretical
        parts += _line(frame, series, colour, index)
        parts += _legend(index, per_row, series, colour)
    parts.append("</svg>")
    return "\n".join(parts)


class _Frame:
    """Data coordinates to pixels."""

    def __init__(self, x_end: float, y_end: float) -> None:
        self._x_end, self._y_end = x_end, y_end

    def x(self, value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * value / self._x_end, 2)

    def y(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self._y_end, 2)


def _grid(frame: _Frame, x_axis: list[float], y_axis: list[float]) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for value in y_axis:
        y = frame.y(value)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{right}" y2="{y}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{_short(value)}</text>')
    for value in x_axis:
        x = frame.x(value)
        parts.append(f'<line class="grid" x1="{x}" y1="{TOP}" x2="{x}" y2="{bottom}"/>')
        parts.append(f'<text class="tick" x="{x}" y="{bottom + 18}" text-anchor="middle">{_short(value)}</text>')
    parts.append(f'<path class="frame" d="M{LEFT} {TOP}V{bottom}H{right}"/>')
    return parts


def _line(frame: _Frame, series: Series, colour: str, index: int) -> list[str]:
    places = [(frame.x(x), frame.y(y)) for x, y in series.points]
    path = " ".join(f"{x},{y}" for x, y in places)
    dash = ' stroke-dasharray="6 4"' if series.theoretical else ""
    parts = [f'<polyline class="line" points="{path}" stroke="{colour}"{dash}/>']
    if not series.theoretical:
        radius = round(2.2 + 0.7 * index, 1)  # rings of different size stay visible where lines coincide
        for (x, y), (data_x, data_y) in zip(places, series.points, strict=True):
            label = escape(f"{series.name}: {data_x:g}, {data_y:.6g}")
            ring = f'<circle class="ring" cx="{x}" cy="{y}" r="{radius}" stroke="{colour}">'
            parts.append(f"{ring}<title>{label}</title></circle>")
    return parts


def _legend_per_row(series: Sequence[Series]) -> int:
    """Return how many entries fit side by side: four short ones, fewer long ones."""
    widest = LEGEND_MARK + LEGEND_CHARACTER * max(len(item.name) for item in series)
    return max(1, min(4, int((WIDTH - LEFT) / widest)))


def _legend(index: int, per_row: int, series: Series, colour: str) -> list[str]:
    x = LEFT + (index % per_row) * (WIDTH - LEFT) // per_row
    y = HEIGHT + 8 + (index // per_row) * 22
    dash = ' stroke-dasharray="6 4"' if series.theoretical else ""
    return [
        f'<line x1="{x}" y1="{y}" x2="{x + 22}" y2="{y}" stroke="{colour}" stroke-width="2"{dash}/>',
        f'<text class="tick" x="{x + 28}" y="{y + 4}">{escape(series.name)}</text>',
    ]


def _ticks(low: float, high: float) -> list[float]:
    """Return 4 to 10 round values from ``low`` up to at least ``high``."""
    span = high - low
    if span <= 0:
        return [low, low + 1]
    power = 10 ** floor(log10(span))
    step = next(power * factor for factor in (0.1, 0.2, 0.25, 0.5, 1.0, 2.0) if span / (power * factor) <= 10)
    return [low + index * step for index in range(ceil(round(span / step, 9)) + 1)]


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * size or (abs(value) >= size and size > 1e3):
            return f"{value / size:.4g}{letter}"
    return f"{value:.6g}"
