"""``p4mesh doctor``: says what works on this machine, and how to mend the rest."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence

from p4mesh.cli.output import say
from p4mesh.doctor.finding import Asked, Finding, Health
from p4mesh.doctor.table import CHECKS, ITSELF, examine
from p4mesh.errors import EXIT_ENVIRONMENT, EXIT_OK
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Cell, Table
from p4mesh.report.text import table_text
from p4mesh.target.names import SIMULATED
from p4mesh.topology.loader import load_topology

_COLUMNS = (Column("part", "Needed by"), Column("about", "What"), Column("health", "State"), Column("found", "Found"))


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Make the checks of the target, or of all targets, and show what they find.

    Returns 0 where the target can run; without a target where ``sim`` can, which runs everywhere.
    """
    topology = load_topology(arguments.topology) if arguments.topology else None
    parts = (ITSELF, arguments.target) if arguments.target else tuple(CHECKS)
    found = {part: tuple(examine(part, Asked(topology))) for part in parts}
    wanted = arguments.target or SIMULATED
    works = not any(finding.health is Health.MISSING for part in (ITSELF, wanted) for finding in found[part])
    if arguments.json:
        say(json.dumps(_data(found), indent=1))
    else:
        say(_text(found))
        say(f"\ntarget {wanted}: {'ready' if works else 'not ready'}")
    return EXIT_OK if works else EXIT_ENVIRONMENT


def _rows(found: Mapping[str, Sequence[Finding]]) -> list[tuple[str, Finding]]:
    return [(part, finding) for part, findings in found.items() for finding in findings]


def _text(found: Mapping[str, Sequence[Finding]]) -> str:
    rows: tuple[dict[str, Cell], ...] = tuple(
        {"part": part, "about": item.about, "health": item.health.value, "found": item.found}
        for part, item in _rows(found)
    )
    lines = [table_text(Table("doctor", "", _COLUMNS, rows))]
    mends = [f"  - {part}, {item.about}: {item.mend}" for part, item in _rows(found) if item.health is not Health.OK]
    return "\n".join([*lines, *(["", "To mend", *mends] if mends else [])])


def _data(found: Mapping[str, Sequence[Finding]]) -> dict[str, object]:
    return {
        "findings": [
            {"part": part, "about": item.about, "health": item.health.value, "found": item.found, "mend": item.mend}
            for part, item in _rows(found)
        ]
    }
