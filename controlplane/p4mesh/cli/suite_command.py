"""``p4mesh run SUITE``: all tests of one RFC on one topology, then a summary."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from p4mesh.cli.notice import Notice
from p4mesh.cli.output import say
from p4mesh.cli.progress import Progress
from p4mesh.cli.results import exit_code
from p4mesh.errors import EXIT_OK, EXIT_TEST_FAILED
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Cell, Column, Outcome, Table
from p4mesh.report.export.json_document import suite_data
from p4mesh.report.publish import REPORT
from p4mesh.report.text import outcome_text, table_text
from p4mesh.run.events import Event, RunFinished
from p4mesh.run.options import RunOptions
from p4mesh.run.suite import NOT_RUN, run_suite

SUMMARY_COLUMNS = (
    Column("test", "Test"),
    Column("section", "Section"),
    Column("state", "Result"),
    Column("summary", "Summary"),
)


def run_tests(options: RunOptions, as_json: bool = False, notice: Notice | None = None) -> int:
    """Run every test of the suite that the topology can carry; the others are named with the reason."""
    progress = Progress(notice)

    def observer(event: Event) -> None:
        progress(event)
        if isinstance(event, RunFinished) and not as_json:
            say(headed(event.test, event.outcome))

    finished = run_suite(options, observer)
    rows = tuple(entry.row for entry in finished.entries)
    runs = [entry.run for entry in finished.entries if entry.run]
    if as_json:
        data = suite_data(options.test, rows, [run.directory for run in runs])
        say(json.dumps(data, indent=1, allow_nan=False))
    else:
        say(summary_text(options.test, rows))
        say(f"run directory: {finished.directory}\nreport:        {finished.directory / REPORT}")
    incomplete = EXIT_TEST_FAILED if options.require_all and finished.not_run else EXIT_OK
    return max((incomplete, *(exit_code(run.outcome) for run in runs)))


def headed(test: str, outcome: Outcome) -> str:
    """Return the results of one test of a suite below its title."""
    method = find_test(test)
    return f"{method.title} ({method.section})\n\n{outcome_text(outcome)}\n"


def summary_text(suite: str, rows: Sequence[Mapping[str, Cell]]) -> str:
    """Return one line per test, and below them which did not run."""
    missing = ", ".join(str(row["test"]) for row in rows if row["state"] == NOT_RUN)
    note = f"Not run, of {len(rows)} tests: {missing}." if missing else f"Tests run: all {len(rows)}."
    return table_text(Table("suite", f"Suite {suite}", SUMMARY_COLUMNS, tuple(dict(row) for row in rows), note))
