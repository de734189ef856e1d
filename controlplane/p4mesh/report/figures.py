"""The figures of a test: bars over frame sizes, lines over anything else, and none that would be empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from p4mesh.methods.results.outcome import Figure, Table
from p4mesh.report.bar_charts import bar_chart
from p4mesh.report.document import Block, Chart, Paragraph
from p4mesh.report.line_charts import is_over_sizes, line_chart, series_with_points


def chart_of(figure: Figure) -> Chart | None:
    """The figure of a test; None where nothing was measured, or 0 everywhere."""
    series = series_with_points(figure)
    if not any(y for item in series if not item.theoretical for _, y in item.points):
        return None
    return bar_chart(figure) if is_over_sizes(figure) else line_chart(figure)


def figures_of(figures: Sequence[Figure], tables: Sequence[Table]) -> tuple[Block, ...]:
    """The figures, and a sentence on those that would be empty; numbers that tables have stand there alone."""
    drawn = [(figure, chart_of(figure)) for figure in figures]
    empty = [_why_not(figure) for figure, chart in drawn if chart is None]
    said = (Paragraph(f"Not drawn: {'; '.join(empty)}."),) if empty else ()
    charts = [
        replace(chart, numbers=None, note=f"{chart.note} The numbers are in the tables below.".strip())
        if _told(figure, tables)
        else chart
        for figure, chart in drawn
        if chart
    ]
    return (*charts, *said)


def _told(figure: Figure, tables: Sequence[Table]) -> bool:
    """Whether each point of a figure stands in a row of a table."""
    rows = [set(row.values()) for table in tables for row in table.rows]
    names = {place.x: place.name for place in figure.x_names}
    return all(any({names.get(x, x), y} <= row for row in rows) for item in figure.series for x, y in item.points)


def _why_not(figure: Figure) -> str:
    measured = any(not item.theoretical for item in series_with_points(figure))
    why = "0 everywhere" if measured else "no trusted measurement"
    return f"{figure.title} ({why})"
