"""Whole tests repeated (RFC 8239 1.2): every row of every iteration, and below them their variation.

Iterations with different verdicts are *flapping*: they are counted, and their values are never
averaged with each other. INVALID and ABORT iterations are shown and enter no statistic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Cell, Figure, Outcome, Series, Table, is_number
from p4mesh.methods.results.repetition import spread_of
from p4mesh.quantities import number_text
from p4mesh.verdict import Verdict

ITERATION = fields.ITERATION
FLAPPING = "flapping"
_STATE = "state"
_VERDICTS = "verdicts"
_UNTRUSTED = {verdict.value for verdict in Verdict if not verdict.trusted}
_MIN_DIGITS = 2
_STATISTICS = ("min", "avg", "max", "std dev", "RSD %")
"""Decimals of a repeated table: averages of integers need them, and so do small deviations."""

Row = Mapping[str, Cell]


def combined(title: str, outcomes: Sequence[Outcome]) -> Outcome:
    """One outcome of all iterations of a test called ``title``."""
    states = tuple(outcome.state for outcome in outcomes)
    verdicts = _counted([state.value for state in states])
    tables, flapping = [], []
    for name in _names(table.name for outcome in outcomes for table in outcome.tables):
        table, found = _combined_table(_numbered(name, outcomes))
        tables.append(table)
        flapping += found
    findings = [
        f"iteration {number}: {text}" for number, outcome in enumerate(outcomes, start=1) for text in outcome.findings
    ]
    return Outcome(
        Verdict.worst(states),
        f"{title}: {len(outcomes)} iterations, {verdicts}",
        tuple(tables),
        _figures(outcomes),
        (*flapping, *findings),
        tuple(_names(text for outcome in outcomes for text in outcome.deviations)),
        states,
    )


@dataclass(frozen=True)
class _Entry:
    """A row of one iteration, and its verdict: rows with the same one are averaged."""

    row: dict[str, Cell]
    verdict: str
    """Empty for a row without one."""


def _entry(number: int, row: Row, outcome: Verdict) -> _Entry:
    """A row with its own verdict, else with that of its iteration where that cannot be trusted."""
    whole = "" if outcome.trusted else outcome.value
    return _Entry({ITERATION.key: str(number), **row}, str(row.get(_STATE) or whole))


def _numbered(name: str, outcomes: Sequence[Outcome]) -> list[tuple[int, Table, Verdict]]:
    return [
        (number, table, outcome.state)
        for number, outcome in enumerate(outcomes, start=1)
        for table in outcome.tables
        if table.name == name
    ]


def _combined_table(numbered: Sequence[tuple[int, Table, Verdict]]) -> tuple[Table, list[str]]:
    """The table of all iterations, and a finding for every row whose verdict flaps."""
    first = numbered[0][1]
    columns = {column.key: column for _, table, _ in numbered for column in table.columns}
    groups: dict[tuple[Cell, ...], list[_Entry]] = {}
    for number, table, outcome in numbered:
        seen: Counter[tuple[Cell, ...]] = Counter()
        for row in table.rows:
            key = tuple(row.get(name) for name in table.keys)
            seen[key] += 1  # rows that share a key are matched in their order
            groups.setdefault((*key, seen[key]) if table.keys else (), []).append(_entry(number, row, outcome))
    rows: list[dict[str, Cell]] = []
    flapping = []
    for key, group in groups.items():
        rows += [entry.row for entry in group]
        if not first.keys:
            continue
        shared = {name: key[place] for place, name in enumerate(first.keys)}
        measured = [column for name, column in columns.items() if name not in first.keys]
        rows += [{**shared, **row} for row in _statistics(group, measured)]
        where = ", ".join(_key_text(columns[name], value) for name, value in shared.items())
        states = [entry.verdict for entry in group if entry.verdict]
        if len(set(states)) > 1:
            flapping.append(f"{first.title}, {where}: {_counted(states)}")
    note = "min to RSD: over the iterations with the same verdict; INVALID and ABORT iterations enter no statistic."
    place = len(first.keys)
    shown = [replace(column, digits=max(_MIN_DIGITS, column.digits or 0)) for column in columns.values()]
    kept = [column for column in shown if column.key in first.keys] if place else []
    others = [column for column in shown if column.key not in first.keys]
    return replace(
        first,
        columns=(*kept, ITERATION, *others),
        rows=tuple(rows),
        note=" ".join(text for text in (first.note, note if first.keys else "") if text),
        keys=(*first.keys, ITERATION.key) if first.keys else (),
    ), flapping


def _statistics(group: Sequence[_Entry], columns: Sequence[Column]) -> list[dict[str, Cell]]:
    """The rows below one group: differing words with their counts, then statistics per verdict."""
    words: dict[str, Cell] = {}
    for column in columns:
        cells = [entry.row.get(column.key) for entry in group]
        found = [_word(cell) for cell in cells if cell is not None]
        if len(set(found)) > 1:
            words[column.key] = _counted(found)
    rows: list[dict[str, Cell]] = [{ITERATION.key: _VERDICTS, **words}] if words else []
    alike_in: dict[str, list[dict[str, Cell]]] = {}
    for entry in group:
        alike_in.setdefault(entry.verdict, []).append(entry.row)
    for verdict, alike in alike_in.items():
        if verdict in _UNTRUSTED:
            continue
        label = f", {verdict}" if verdict and len(alike_in) > 1 else ""
        statistics: dict[str, dict[str, Cell]] = {name: {} for name in _STATISTICS}
        for column in columns:
            cells = [row.get(column.key) for row in alike]
            numbers = [cell for cell in cells if is_number(cell)]
            if numbers:
                for row, value in zip(statistics.values(), _described(numbers), strict=True):
                    row[column.key] = value
            elif len(set(cells)) == 1:
                for row in statistics.values():
                    row[column.key] = cells[0]
        rows += [{ITERATION.key: f"{name}{label}", **row} for name, row in statistics.items()]
    return rows


def _described(numbers: Sequence[int | float]) -> tuple[Cell, ...]:
    """The statistics of numbers in the order of ``_STATISTICS``."""
    spread = spread_of([Fraction(number) for number in numbers])
    several = spread.count > 1
    deviation, relative_pct = (spread.stddev, spread.rsd_pct) if several else (None, None)
    return min(numbers), float(spread.mean), max(numbers), deviation, relative_pct


def _figures(outcomes: Sequence[Outcome]) -> tuple[Figure, ...]:
    """Every figure once, with the average of the iterations at each point."""
    averaged = []
    for name in _names(figure.name for outcome in outcomes for figure in outcome.figures):
        drawn = [figure for outcome in outcomes for figure in outcome.figures if figure.name == name]
        lines: dict[str, list[Series]] = {}
        for figure in drawn:
            for series in figure.series:
                lines.setdefault(series.name, []).append(series)
        averaged.append(
            replace(
                drawn[0],
                title=f"{drawn[0].title}, average of {len(drawn)} iterations",
                series=tuple(replace(some[0], points=_average(some)) for some in lines.values()),
            )
        )
    return tuple(averaged)


def _average(lines: Sequence[Series]) -> tuple[tuple[float, float], ...]:
    at: dict[float, list[float]] = {}
    for line in lines:
        for x, y in line.points:
            at.setdefault(x, []).append(y)
    return tuple((x, float(spread_of([Fraction(y) for y in at[x]]).mean)) for x in sorted(at))


def _word(cell: Cell) -> str:
    """The text that is compared between iterations: words as they are, one mark for any number."""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, str):
        return cell
    return "" if cell is None else "measured"


def _counted(verdicts: Sequence[str]) -> str:
    """One verdict as it is, several with their counts."""
    counts = Counter(verdicts)
    if len(counts) == 1:
        return verdicts[0]
    return f"{FLAPPING}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())


def _key_text(column: Column, value: Cell) -> str:
    if not isinstance(value, int | float):
        return str(value)
    return f"{number_text(value)} {column.unit}" if column.unit else f"{column.title} {number_text(value)}"


def _names(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))
