"""Result tables for a terminal."""

from __future__ import annotations

from p4mesh.methods.results.outcome import Outcome, Table
from p4mesh.report.numbers import cell_text, is_numeric


def outcome_text(outcome: Outcome) -> str:
    """Return tables, findings, deviations and the verdict of a test."""
    parts = [_pointer(table) if table.detail else table_text(table) for table in outcome.tables]
    if outcome.findings:
        parts.append("\n".join(["Findings", *(f"  - {text}" for text in outcome.findings)]))
    if outcome.deviations:
        parts.append("\n".join(["Deviations from the RFC", *(f"  - {text}" for text in outcome.deviations)]))
    parts.append(outcome.summary)
    return "\n\n".join(parts)


def table_text(table: Table) -> str:
    """Return one table: title, two header lines (title, unit), rows."""
    cells = [[cell_text(column, row.get(column.key)) for column in table.columns] for row in table.rows]
    heads = [[column.title for column in table.columns], [column.unit for column in table.columns]]
    right = [is_numeric(column, [row.get(column.key) for row in table.rows]) for column in table.columns]
    widths = [max(len(line[index]) for line in (*heads, *cells)) for index in range(len(table.columns))]

    def line(values: list[str]) -> str:
        padded = (
            value.rjust(width) if to_right else value.ljust(width)
            for value, width, to_right in zip(values, widths, right, strict=True)
        )
        return "  ".join(padded).rstrip()

    ruler = "  ".join("-" * width for width in widths)
    units = [line(heads[1])] if any(heads[1]) else []
    lines = [table.title, line(heads[0]), *units, ruler, *(line(row) for row in cells)]
    if table.note:
        lines.append(table.note)
    return "\n".join(lines)


def _pointer(table: Table) -> str:
    return f"{table.title}: {len(table.rows)} rows in {table.name}.csv and in the report"
