#!/usr/bin/env python3
"""Measures on the shipped topologies what reports have published, and writes both side by side to docs/PUBLISHED.md.

``compare_published.py [TABLE ...]`` measures these tables, by default all, which takes some 10 minutes of a processor;
the cells that it does not measure stay as they are. ``compare_published.py --document`` writes the document alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from published import atm, timing_network, white_rabbit
from published.table import Comparison

_ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = _ROOT / "docs" / "PUBLISHED.md"
MODELLED = _ROOT / "docs" / "published.json"
_HEAD = """# Published measurements and what the models predict

Numbers that reports have printed, beside those that P4Mesh measures on `sim` with the shipped topologies: published,
modelled, and the difference. Made by `scripts/compare_published.py`; a test measures some cells again.
"Parameters from cells" names the cells of a report that a model has parameters from: those agree because they were
fitted. All other cells are predictions.

A chassis of 256 ports after a Cisco Nexus 9508 has its tables in [CHASSIS](CHASSIS.md), with what its model does not
explain: averages under BGP, N-to-N below 9,216 bytes, jitter, and how long error correction takes.
"""
COMPARISONS: Sequence[Comparison] = (*white_rabbit.COMPARISONS, *timing_network.COMPARISONS, *atm.COMPARISONS)
Modelled = dict[str, dict[str, Any]]
"""Per table and cell, the columns that were measured."""


def document(modelled: Mapping[str, Mapping[str, Any]]) -> str:
    """The whole document."""
    parts, report = [_HEAD], ""
    for comparison in COMPARISONS:
        if comparison.report != report:
            report = comparison.report
            parts.append(f"## {report}\n\n{comparison.about}\n")
        parts.append(comparison.markdown(modelled.get(comparison.name, {})))
    return "\n".join(parts)


def measure(comparison: Comparison, cells: Sequence[str] | None = None) -> dict[str, Any]:
    """The columns of some cells of a table, by default of all, measured on ``sim``."""
    found = {}
    for cell in cells or comparison.cells:
        with tempfile.TemporaryDirectory() as folder:
            found[cell] = comparison.measure(cell, Path(folder))
    return found


def main(arguments: Sequence[str], say: Callable[[str], object] = print) -> int:
    modelled: Modelled = json.loads(MODELLED.read_text()) if MODELLED.exists() else {}
    for comparison in COMPARISONS:
        if arguments and comparison.name not in arguments:
            continue
        for cell in comparison.cells:
            modelled.setdefault(comparison.name, {}).update(measure(comparison, [cell]))
            say(f"{comparison.name} {cell}: {modelled[comparison.name][cell]}")
            MODELLED.write_text(json.dumps(modelled, indent=1) + "\n")
    DOCUMENT.write_text(document(modelled))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
