"""``p4mesh runs``: past runs with their verdicts."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Cell, Table
from p4mesh.report.past_runs import PastRun, past_runs
from p4mesh.report.text import table_text

_COLUMNS = (
    Column("directory", "Directory"),
    Column("test", "Test"),
    Column("topology", "Topology"),
    Column("target", "Target"),
    Column("started_utc", "Started (UTC)"),
    fields.STATE,
    Column("summary", "Summary"),
)
_TO_THE_SECOND = 19


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Print one line per run; damaged ones are among them, with what is wrong."""
    folder = Path(arguments.folder)
    runs = past_runs(folder)
    if arguments.json:
        say(json.dumps({"folder": str(folder), "runs": [_row(run) for run in runs]}, indent=1))
    elif runs:
        rows = tuple({**_row(run), "started_utc": run.started_utc[:_TO_THE_SECOND].replace("T", " ")} for run in runs)
        say(table_text(Table("runs", "", _COLUMNS, rows)))
    else:
        say(f"no runs in {folder}")
    return EXIT_OK


def _row(run: PastRun) -> dict[str, Cell]:
    return {
        "directory": str(run.directory),
        "test": run.test,
        "topology": run.topology,
        "target": run.target,
        "started_utc": run.started_utc,
        "state": run.state,
        "summary": run.summary,
    }
