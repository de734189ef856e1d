"""``p4mesh run``: checks the name of the test or the run file and the topology, then loads what runs them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from p4mesh.cli.notice import Notice
from p4mesh.errors import UsageError
from p4mesh.methods.names import NAMES, require_known
from p4mesh.run.checks import check_options
from p4mesh.run.options import RunFileOptions, RunOptions
from p4mesh.target.names import SIMULATED

_FILE_SUFFIXES = (".yaml", ".yml")


def execute(arguments: argparse.Namespace, notice: Notice) -> int:
    """Run the test, the suite or the file of the command line."""
    if _is_file(arguments.test):
        return _run_file(arguments, notice)
    require_known(arguments.test)
    if arguments.topology is None:
        raise UsageError(
            "the following arguments are required: --topology",
            hint="name a test set-up, for example topologies/*.yaml, or a run file that names one",
        )
    options = options_of(arguments)
    check_options(options)
    if options.out is not None:
        notice.place(Path(options.out))
    if options.settings and options.test not in NAMES:
        from p4mesh.methods.options.parameters import resolve
        from p4mesh.methods.registry import find_test

        # The run checks them again, together with those of the topology; what it needs for that takes longer to load.
        resolve(options.test, find_test(options.test).parameters, options.settings)
    from p4mesh.topology.loader import load_topology

    options = replace(options, topology=load_topology(arguments.topology))
    if options.test in NAMES:
        from p4mesh.cli.suite_command import run_tests

        return run_tests(options, arguments.json, notice)
    from p4mesh.cli.single_command import run_test

    return run_test(options, arguments.json, notice)


def options_of(arguments: argparse.Namespace) -> RunOptions:
    """Return what the user asked for."""
    return RunOptions(
        test=arguments.test,
        topology=arguments.topology,
        sizes=arguments.sizes,
        ports=arguments.ports,
        settings=tuple(arguments.settings),
        out=arguments.out,
        jobs=arguments.jobs,
        workers=arguments.workers,
        target=arguments.target or SIMULATED,
        calibration=arguments.calibration,
        notes=tuple(arguments.notes),
        require_all=arguments.require_all,
        capture_frames=arguments.capture,
        access=arguments.access,
        interfaces=arguments.interfaces,
    )


def _is_file(text: str) -> bool:
    """Whether the user means a run file, where the name of a test could stand as well."""
    return text.endswith(_FILE_SUFFIXES) or "/" in text


def _run_file(arguments: argparse.Namespace, notice: Notice) -> int:
    options = RunFileOptions(
        file=arguments.test,
        topology=arguments.topology,
        sizes=arguments.sizes,
        ports=arguments.ports,
        settings=tuple(arguments.settings),
        out=arguments.out,
        jobs=arguments.jobs,
        workers=arguments.workers,
        target=arguments.target,
        calibration=arguments.calibration,
        notes=tuple(arguments.notes),
        require_all=arguments.require_all,
        capture_frames=arguments.capture,
        access=arguments.access,
        interfaces=arguments.interfaces,
    )
    if options.out is not None:
        notice.place(Path(options.out))
    from p4mesh.cli.suite_command import run_tests_of_file

    return run_tests_of_file(options, arguments.json, notice)
