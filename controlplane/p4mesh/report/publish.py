"""Writes the derived files of a finished run or suite: CSV per table, the trial log as CSV, the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from p4mesh.errors import RunDirectoryError
from p4mesh.methods.results.outcome import Cell, Outcome
from p4mesh.report.document import Document
from p4mesh.report.html import page
from p4mesh.report.run_document import run_document
from p4mesh.report.suite_document import SuiteTest, suite_document
from p4mesh.store.codec import decode
from p4mesh.store.csv_files import ports_csv, table_csv, trials_csv
from p4mesh.store.run_directory import RunDirectory
from p4mesh.store.stored_run import RESULTS, StoredRun, read_run
from p4mesh.store.suite_directory import is_suite, read_suite

REPORT = "report.html"


def stored_outcome(path: Path) -> Outcome:
    """Outcome of the finished run in ``path``; raises RunDirectoryError for a damaged one."""
    return outcome_of(read_run(path))


def outcome_of(run: StoredRun) -> Outcome:
    """Outcome of a finished run; raises RunDirectoryError for a damaged one."""
    try:
        return decode(Outcome, run.results["outcome"])
    except (KeyError, TypeError, ValueError) as error:
        raise RunDirectoryError(
            f"{run.path / RESULTS}: damaged: {type(error).__name__}: {error}", hint="measure again in a new directory"
        ) from None


def publish(directory: RunDirectory) -> Outcome:
    """Write all derived files into a finished run directory and return its outcome."""
    run = read_run(directory.path)
    outcome = outcome_of(run)
    for table in outcome.tables:
        directory.write_text(f"{table.name}.csv", table_csv([column.key for column in table.columns], table.rows))
    directory.write_text("trials.csv", trials_csv(run.trials))
    directory.write_text("trial_ports.csv", ports_csv(run.trials))
    directory.write_text(REPORT, page(run_document(run, outcome)))
    return outcome


def suite_page(suite: str, rows: Sequence[Mapping[str, Cell]], runs: Sequence[Path]) -> str:
    """HTML page of a suite; ``runs`` are the directories of its tests, beside each other."""
    return page(_suite(suite, rows, runs))


def document_of(path: Path) -> Document:
    """Report of the finished run or suite in ``path``; raises RunDirectoryError where there is none."""
    if is_suite(path):
        suite = read_suite(path)
        return _suite(suite.suite, suite.rows, suite.runs)
    run = read_run(path)
    return run_document(run, outcome_of(run))


def _suite(suite: str, rows: Sequence[Mapping[str, Cell]], runs: Sequence[Path]) -> Document:
    tests = []
    for directory in runs:
        run = read_run(directory)
        tests.append(SuiteTest(run, outcome_of(run), f"{directory.name}/{REPORT}"))
    return suite_document(suite, rows, tests)
