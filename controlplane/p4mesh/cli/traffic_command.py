"""``p4mesh traffic``: sends the classes of a traffic file and shows their results."""

from __future__ import annotations

import argparse
from pathlib import Path

from p4mesh.cli.notice import Notice
from p4mesh.cli.progress import Progress
from p4mesh.cli.single_command import show_finished
from p4mesh.run.options import TrafficOptions
from p4mesh.run.traffic import run_traffic
from p4mesh.target.names import WALL_CLOCK_TARGETS


def execute(arguments: argparse.Namespace, notice: Notice) -> int:
    """Run the traffic file of the command line and return the exit code."""
    options = TrafficOptions(
        traffic=arguments.traffic,
        topology=arguments.topology,
        settings=tuple(arguments.settings),
        out=arguments.out,
        jobs=arguments.jobs,
        workers=arguments.workers,
        target=arguments.target,
        notes=tuple(arguments.notes),
        capture_frames=arguments.capture,
        access=arguments.access,
        interfaces=arguments.interfaces,
    )
    if options.out is not None:
        notice.place(Path(options.out))
    notice.may_end = options.target in WALL_CLOCK_TARGETS
    progress = Progress(notice, watch=arguments.watch)
    return show_finished(run_traffic(options, progress, lambda: notice.wants_end), arguments.json)
