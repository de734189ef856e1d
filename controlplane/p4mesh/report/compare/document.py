"""A comparison as a document: differences in configuration, the most important numbers, figures, every number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from p4mesh.methods.results.outcome import Figure, Series
from p4mesh.quantities import number_text, signed_text
from p4mesh.report.compare.differences import (
    Difference,
    Measured,
    Sign,
    configuration_differences,
    differences,
    require_comparable,
)
from p4mesh.report.document import Badge, Block, Bullets, Chapter, Document, Facts, Grid, GridRow, Head, Paragraph, Tone
from p4mesh.report.figures import chart_of
from p4mesh.report.numbers import cell_text

_HOW = (
    "+ more, - less, = no difference above the error of the numbers or beyond chance, ? unknown: one measurement each. "
    "Differences are those of the run less the first one. Where repetitions vary: bounds and significance at 95 % by "
    "Welch's t test. Statistics are compared, never frames, and settings are not."
)
_LEAST_PROBABILITY = 0.0001
"""Smaller ones are not told apart."""


def comparison(runs: Sequence[Measured]) -> tuple[Document, list[Difference]]:
    """The comparison as a document, and the differences in it; raises UsageError for runs that cannot be compared."""
    require_comparable(runs)
    found = list(differences(runs))
    config = runs[0].run.config
    shown = [item for item in found if item.column.key in item.table.headline] or found
    cover: list[Block] = [*_without_result(runs), _configuration(runs), *_grids(shown, folded=False), Paragraph(_HOW)]
    chapters = [Chapter("Figures", "figures", _figures(runs)), Chapter("Every number", "numbers", _grids(found))]
    document = Document(
        f"Comparison: {config['title']}",
        f"{config['section']}: {', '.join(item.name for item in runs)}",
        _badge(shown),
        f"{len(runs)} runs; the first one, {runs[0].name}, is the reference.",
        "; ".join(dict.fromkeys(item.run.setting for item in runs if item.run.setting)),
        Facts(tuple((item.name, f"{item.outcome.summary}, on {item.run.config['topology']['name']}") for item in runs)),
        tuple(cover),
        tuple(chapter for chapter in chapters if chapter.blocks),
    )
    return document, found


def _without_result(runs: Sequence[Measured]) -> tuple[Block, ...]:
    """List of the runs whose numbers are no result."""
    bad = [item for item in runs if not item.outcome.state.trusted]
    lines = tuple(f"{item.name}: {item.outcome.state.value}, its numbers are no result" for item in bad)
    return (Bullets("Runs without a result", lines, Tone.BAD),) if lines else ()


def _badge(found: Sequence[Difference]) -> Badge:
    changed = sum(item.sign in (Sign.MORE, Sign.LESS) for item in found)
    counts = {word: sum(item.judgement == word for item in found) for word in ("better", "worse")}
    counts["unknown"] = sum(item.sign is Sign.UNKNOWN for item in found)
    more = "".join(f", {count} {word}" for word, count in counts.items() if count)
    return Badge(f"{changed} of {len(found)} numbers differ{more}", Tone.NEUTRAL)


def _configuration(runs: Sequence[Measured]) -> Block:
    rows = tuple(GridRow((name, *values)) for name, values in configuration_differences(runs))
    if not rows:
        return Paragraph("The configurations are the same.")
    heads = (Head("Setting", key=True), *(Head(item.name) for item in runs))
    return Grid("Differences in configuration", heads, rows)


def _grids(found: Sequence[Difference], folded: bool = True) -> tuple[Grid, ...]:
    """Table per result table, with a row per number."""
    grids = []
    for name in dict.fromkeys(item.table.name for item in found):
        own = [item for item in found if item.table.name == name]
        keys = [Head(column.title, column.unit, key=True) for column, _ in own[0].where]
        heads = (
            *keys,
            Head("Number", key=True),
            Head("Unit"),
            Head("Run"),
            Head("First run", number=True),
            Head("This run", number=True),
            Head("Difference", number=True),
            Head("Change", "%", number=True),
            Head("Error", "+-", number=True),
            Head("95 % from", number=True),
            Head("to", number=True),
            Head("p", number=True),
            Head("Sign"),
            Head("Means"),
        )
        grids.append(Grid(own[0].table.title, heads, tuple(map(_row, own)), folded=folded and len(own) > 20))
    return tuple(grids)


def _row(item: Difference) -> GridRow:
    precise = replace(item.column, digits=max(item.column.digits or 0, 4))

    def text(value: float | None) -> str:
        return cell_text(precise, value)

    return GridRow(
        (
            *(cell_text(column, value) for column, value in item.where),
            item.column.title,
            item.column.unit,
            item.other,
            text(item.reference),
            text(item.value),
            f"{'+' if item.difference > 0 else ''}{text(item.difference)}",
            "-" if item.relative_pct is None else signed_text(item.relative_pct, 3),
            text(item.error) if item.error else "-",
            text(item.low),
            text(item.high),
            _probability(item.p_value),
            item.sign.value,
            item.judgement or "-",
        )
    )


def _probability(value: float | None) -> str:
    if value is None:
        return "-"
    return f"< {_LEAST_PROBABILITY}" if value < _LEAST_PROBABILITY else number_text(value, 3)


def _figures(runs: Sequence[Measured]) -> tuple[Block, ...]:
    """Figures of the first run with the lines of all runs in them; lines of theory are drawn once."""
    charts = []
    for figure in runs[0].outcome.figures:
        lines = [item for item in figure.series if item.theoretical]
        for run in runs:
            twin = next((item for item in run.outcome.figures if item.name == figure.name), None)
            if twin:
                lines += [_named(item, run) for item in twin.series if not item.theoretical]
        chart = chart_of(_with(figure, tuple(lines)))
        charts += [chart] if chart else []
    return tuple(charts)


def _named(series: Series, run: Measured) -> Series:
    return replace(series, name=f"{series.name}, {run.name}")


def _with(figure: Figure, series: tuple[Series, ...]) -> Figure:
    return replace(figure, series=series)
