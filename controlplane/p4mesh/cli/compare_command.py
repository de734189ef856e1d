"""``p4mesh compare A B [C ...]``: differences between runs of the same test, and whether they are more than chance."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK
from p4mesh.report.compare.differences import Difference, Measured, configuration_differences
from p4mesh.report.compare.document import comparison
from p4mesh.report.document import Bullets, Document, Grid, Paragraph
from p4mesh.report.text import grid_text
from p4mesh.run.stored import measured
from p4mesh.store.writing import write_atomically, write_bytes_atomically


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Print the comparison, and write what else was asked for."""
    runs = measured([Path(name) for name in arguments.directories])
    document, found = comparison(runs)
    if arguments.html:
        from p4mesh.report.html import page

        write_atomically(Path(arguments.html), page(document))
    if arguments.pdf:
        from p4mesh.report.pdf import pdf

        write_bytes_atomically(Path(arguments.pdf), pdf(document))
    say(json.dumps(_data(runs, found), indent=1, allow_nan=False) if arguments.json else _text(document))
    return EXIT_OK


def _text(document: Document) -> str:
    parts = [f"{document.title}\n{document.statement}"]
    for block in document.cover:
        if isinstance(block, Grid):
            parts.append(grid_text(block))
        elif isinstance(block, Paragraph):
            parts.append(block.text)
        elif isinstance(block, Bullets):
            parts.append("\n".join([block.title, *(f"  - {line}" for line in block.items)]))
    return "\n\n".join([*parts, document.badge.text])


def _data(runs: Sequence[Measured], found: Sequence[Difference]) -> dict[str, Any]:
    return {
        "test": runs[0].run.config["test"],
        "runs": [{"name": item.name, "run": str(item.run.path), "state": item.outcome.state.value} for item in runs],
        "configuration": [{"name": name, "values": list(values)} for name, values in configuration_differences(runs)],
        "differences": [
            {
                "table": item.table.name,
                "row": {column.key: value for column, value in item.where},
                "column": item.column.key,
                "unit": item.column.unit,
                "run": item.other,
                "reference": item.reference,
                "value": item.value,
                "difference": item.difference,
                "relative_pct": item.relative_pct,
                "error": item.error or None,
                "confidence_95_low": item.low,
                "confidence_95_high": item.high,
                "p_value": item.p_value,
                "sign": item.sign.value,
                "judgement": item.judgement or None,
            }
            for item in found
        ],
    }
