"""``p4mesh run TEST``: measures what is not on disk yet, stores it, and shows the results."""

from __future__ import annotations

import json

from p4mesh.cli.notice import Notice
from p4mesh.cli.output import say
from p4mesh.cli.progress import Progress
from p4mesh.cli.results import exit_code
from p4mesh.report.export.json_document import run_data
from p4mesh.report.publish import REPORT
from p4mesh.report.text import outcome_text
from p4mesh.run.options import RunOptions
from p4mesh.run.single import FinishedRun, run


def run_test(options: RunOptions, as_json: bool = False, notice: Notice | None = None) -> int:
    """Run a test, show its results and return the exit code."""
    return show_finished(run(options, Progress(notice)), as_json)


def show_finished(finished: FinishedRun, as_json: bool) -> int:
    """Show the results of a run and return the exit code."""
    if as_json:
        say(json.dumps(run_data(finished.directory), indent=1, allow_nan=False))
    else:
        say(outcome_text(finished.outcome, finished.setting))
        long = sum(table.detail for table in finished.outcome.tables)
        more = f", {long} longer tables as CSV" if long else ""
        say(f"run directory: {finished.directory} ({REPORT}{more})")
    return exit_code(finished.outcome)
