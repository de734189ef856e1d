"""``p4mesh run`` of a suite or a run file: the tests one after the other, then a summary."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from p4mesh.cli.notice import Notice
from p4mesh.cli.output import say
from p4mesh.cli.progress import Progress
from p4mesh.cli.results import exit_code
from p4mesh.cli.single_command import show_finished
from p4mesh.errors import EXIT_BUG, EXIT_OK, EXIT_TEST_FAILED
from p4mesh.methods.registry import find_test
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Cell, Outcome, Table
from p4mesh.report.export.json_document import suite_data
from p4mesh.report.publish import REPORT
from p4mesh.report.text import outcome_text, table_text
from p4mesh.run.events import Event, Observer, RunFinished, SuiteStarted
from p4mesh.run.options import RunOptions
from p4mesh.run.run_files import run_file
from p4mesh.run.single import FinishedRun
from p4mesh.run.suite import FinishedSuite, run_suite
from p4mesh.store.suite_directory import NOT_RUN

SUMMARY_COLUMNS = (
    Column("test", "Test"),
    Column("section", "Section"),
    fields.STATE,
    Column("summary", "Summary"),
)


def run_tests(options: RunOptions, as_json: bool = False, notice: Notice | None = None) -> int:
    """Run every test of the suite that the topology can carry; the others are named with the reason."""
    return _show(run_suite(options, _observer(as_json, notice)), as_json, options.require_all)


def run_tests_of_file(options: RunOptions, as_json: bool = False, notice: Notice | None = None) -> int:
    """Run the tests of a run file; a file with one test shows what that test alone would."""
    finished = run_file(options, _observer(as_json, notice))
    if isinstance(finished, FinishedRun):
        return show_finished(finished, as_json)
    return _show(finished, as_json, options.require_all)


def _observer(as_json: bool, notice: Notice | None) -> Observer:
    """An observer that shows the progress, and each test of a suite below its title when it is over."""
    progress = Progress(notice)
    suites: list[SuiteStarted] = []

    def observer(event: Event) -> None:
        progress(event)
        if isinstance(event, SuiteStarted):
            suites.append(event)
        elif isinstance(event, RunFinished) and suites and not as_json:
            say(headed(event.test, event.outcome))

    return observer


def _show(finished: FinishedSuite, as_json: bool, require_all: bool) -> int:
    """Show what became of the tests, and return the exit code."""
    rows = tuple(entry.row for entry in finished.entries)
    runs = [entry.run for entry in finished.entries if entry.run]
    if as_json:
        data = suite_data(finished.suite, rows, [run.directory for run in runs])
        say(json.dumps(data, indent=1, allow_nan=False))
    else:
        say(summary_text(finished.suite, rows))
        settings = {entry.run.setting for entry in finished.entries if entry.run}
        say(f"Measured on: {'; '.join(sorted(settings))}.")
        say(f"run directory: {finished.directory} ({REPORT})")
    if any(entry.broke_off for entry in finished.entries):
        return EXIT_BUG
    incomplete = EXIT_TEST_FAILED if require_all and finished.not_run else EXIT_OK
    return max((incomplete, *(exit_code(run.outcome) for run in runs)))


def headed(test: str, outcome: Outcome) -> str:
    """The results of one test of a suite below its title."""
    method = find_test(test)
    return f"{method.title} ({method.section})\n\n{outcome_text(outcome)}\n"


def summary_text(suite: str, rows: Sequence[Mapping[str, Cell]]) -> str:
    """One line per test, and below them which did not run."""
    missing = ", ".join(str(row["test"]) for row in rows if row["state"] == NOT_RUN)
    note = f"Not run, of {len(rows)} tests: {missing}." if missing else f"Tests run: all {len(rows)}."
    return table_text(Table("suite", f"Suite {suite}", SUMMARY_COLUMNS, tuple(dict(row) for row in rows), note))
