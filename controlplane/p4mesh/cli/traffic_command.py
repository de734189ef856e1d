"""``p4mesh traffic``: sends the classes of a traffic file and shows their results."""

from __future__ import annotations

import argparse
from pathlib import Path

from p4mesh.cli.notice import Notice
from p4mesh.cli.progress import Progress
from p4mesh.cli.single_command import show_finished
from p4mesh.run.options import RunOptions
from p4mesh.run.traffic import run_traffic
from p4mesh.target.names import WALL_CLOCK_TARGETS


def execute(options: RunOptions, arguments: argparse.Namespace, notice: Notice) -> int:
    """Run the traffic file of the command line and return the exit code."""
    if options.out is not None:
        notice.place(Path(options.out))
    notice.may_end = options.target_name in WALL_CLOCK_TARGETS
    progress = Progress(notice, watch=arguments.watch)
    return show_finished(run_traffic(options, progress, lambda: notice.wants_end), arguments.json)
