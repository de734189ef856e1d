"""``p4mesh show DIR``: prints the result tables of a finished run again."""

from __future__ import annotations

import argparse
from pathlib import Path

from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK
from p4mesh.report.publish import stored_outcome
from p4mesh.report.text import outcome_text


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Print the tables."""
    say(outcome_text(stored_outcome(Path(arguments.directory))))
    return EXIT_OK
