"""``p4mesh run``: checks the name of the test and the topology, then loads what runs it."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from p4mesh.cli.notice import Notice
from p4mesh.methods.names import NAMES, require_known
from p4mesh.run.checks import check_options
from p4mesh.run.options import RunOptions


def execute(arguments: argparse.Namespace, notice: Notice) -> int:
    """Run the test or the suite of the command line."""
    require_known(arguments.test)
    options = options_of(arguments)
    check_options(options)
    if options.out is not None:
        notice.place(Path(options.out))
    from p4mesh.topology.loader import load_topology

    options = replace(options, topology=load_topology(arguments.topology))
    if options.test in NAMES:
        from p4mesh.cli.suite_command import run_tests

        return run_tests(options, arguments.json, notice)
    from p4mesh.methods.options.parameters import resolve
    from p4mesh.methods.registry import find_test

    # The run checks them again, together with those of the topology; what it needs for that takes longer to load.
    resolve(options.test, find_test(options.test).parameters, options.settings)
    from p4mesh.cli.single_command import run_test

    return run_test(options, arguments.json, notice)


def options_of(arguments: argparse.Namespace) -> RunOptions:
    """Return what the user asked for."""
    return RunOptions(
        test=arguments.test,
        topology=arguments.topology,
        sizes=arguments.sizes,
        settings=tuple(arguments.settings),
        out=arguments.out,
        jobs=arguments.jobs,
        workers=arguments.workers,
        target=arguments.target,
        calibration=arguments.calibration,
        notes=tuple(arguments.notes),
        require_all=arguments.require_all,
    )
