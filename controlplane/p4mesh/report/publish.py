"""Writes what a finished run shows: CSV per table, the trial log as CSV, the HTML report."""

from __future__ import annotations

from pathlib import Path

from p4mesh.methods.results.outcome import Outcome
from p4mesh.report.html import report_html
from p4mesh.store.codec import decode
from p4mesh.store.csv_files import ports_csv, table_csv, trials_csv
from p4mesh.store.run_directory import RunDirectory, read_run

REPORT = "report.html"


def stored_outcome(path: Path) -> Outcome:
    """Return the outcome of the finished run in ``path``."""
    return decode(Outcome, read_run(path).results["outcome"])


def publish(directory: RunDirectory) -> Path:
    """Write all derived files into a finished run directory and return the path of the report."""
    run = read_run(directory.path)
    outcome = decode(Outcome, run.results["outcome"])
    for table in outcome.tables:
        directory.write_text(f"{table.name}.csv", table_csv([column.key for column in table.columns], table.rows))
    directory.write_text("trials.csv", trials_csv(run.trials))
    directory.write_text("trial_ports.csv", ports_csv(run.trials))
    return directory.write_text(REPORT, report_html(run, outcome))
