"""``p4mesh show DIR``: prints the result tables of a finished run, or of a whole suite, again."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from p4mesh.cli.output import say
from p4mesh.cli.suite_command import headed, summary_text
from p4mesh.errors import EXIT_OK
from p4mesh.report.export.json_document import results_data
from p4mesh.report.publish import outcome_of, stored_outcome
from p4mesh.report.text import outcome_text
from p4mesh.store.stored_run import read_run
from p4mesh.store.suite_directory import is_suite, read_suite


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Print the tables."""
    path = Path(arguments.directory)
    if arguments.json:
        say(json.dumps(results_data(path), indent=1, allow_nan=False))
        return EXIT_OK
    if not is_suite(path):
        run = read_run(path)
        say(outcome_text(outcome_of(run), run.setting))
        return EXIT_OK
    suite = read_suite(path)
    for directory in suite.runs:
        say(headed(read_run(directory).config["test"], stored_outcome(directory)))
    say(summary_text(suite.suite, suite.rows))
    return EXIT_OK
