"""``p4mesh run SUITE``: all tests of one RFC on one topology, then a summary."""

from __future__ import annotations

import json

from p4mesh.cli.progress import Progress
from p4mesh.cli.run_command import exit_code, results_data
from p4mesh.errors import EXIT_OK
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Column, Table
from p4mesh.report.publish import REPORT
from p4mesh.report.text import outcome_text, table_text
from p4mesh.run.events import Event, RunFinished
from p4mesh.run.options import RunOptions
from p4mesh.run.suite import run_suite

SUMMARY_COLUMNS = (
    Column("test", "Test"),
    Column("section", "Section"),
    Column("state", "Result"),
    Column("summary", "Summary"),
)


def run_tests(options: RunOptions, as_json: bool = False) -> int:
    """Run every test of the suite that the topology can carry; the others are named with the reason."""
    progress = Progress()

    def observer(event: Event) -> None:
        progress(event)
        if isinstance(event, RunFinished) and not as_json:
            method = find_test(event.test)
            print(f"{method.title} ({method.section})\n\n{outcome_text(event.outcome)}\n", flush=True)

    finished = run_suite(options, observer)
    rows = tuple(entry.row for entry in finished.entries)
    runs = [entry.run for entry in finished.entries if entry.run]
    if as_json:
        data = [results_data(run.directory) for run in runs]
        print(json.dumps({"suite": options.test, "tests": list(rows), "runs": data}, indent=1, allow_nan=False))
    else:
        print(table_text(Table("suite", f"Suite {options.test}", SUMMARY_COLUMNS, rows)))
        print(f"run directory: {finished.directory}\nreport:        {finished.directory / REPORT}", flush=True)
    return max((exit_code(run.outcome) for run in runs), default=EXIT_OK)
