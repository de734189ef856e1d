"""Writes what a finished run shows: CSV per table, the trial log as CSV, the HTML report."""

from __future__ import annotations

from pathlib import Path

from p4mesh.errors import RunDirectoryError
from p4mesh.methods.results.outcome import Outcome
from p4mesh.report.html import report_html
from p4mesh.store.codec import decode
from p4mesh.store.csv_files import ports_csv, table_csv, trials_csv
from p4mesh.store.run_directory import RESULTS, RunDirectory, StoredRun, read_run

REPORT = "report.html"


def stored_outcome(path: Path) -> Outcome:
    """Return the outcome of the finished run in ``path``; raises RunDirectoryError for a damaged one."""
    return outcome_of(read_run(path))


def outcome_of(run: StoredRun) -> Outcome:
    """Return the outcome of a finished run; raises RunDirectoryError for a damaged one."""
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
    directory.write_text(REPORT, report_html(run, outcome))
    return outcome
