"""``p4mesh run``: checks the name of the test or the run file and the topology, then loads what runs them."""

from __future__ import annotations

import argparse
from pathlib import Path

from p4mesh.cli.early_checks import require_output, with_topology
from p4mesh.cli.notice import Notice
from p4mesh.cli.run_arguments import options_of
from p4mesh.errors import UsageError
from p4mesh.methods.names import NAMES, require_known
from p4mesh.run.options import RunOptions


def execute(arguments: argparse.Namespace, notice: Notice) -> int:
    """Run the test, the suite or the file of the command line."""
    options = options_of(arguments)
    if options.names_file:
        return _run_file(options, arguments.json, notice)
    require_known(arguments.test)
    if arguments.topology is None and arguments.interfaces is None:
        raise UsageError(
            "the following arguments are required: --topology",
            hint="name a test set-up, for example topologies/*.yaml, or a run file that names one",
        )
    require_output(options.out)
    if options.out is not None:
        notice.place(Path(options.out))
    if options.settings:
        from p4mesh.run.published_parameters import check_settings

        # The run checks them again, together with those of the topology; what it needs for that takes longer to load.
        check_settings(arguments.test, options.settings)
    options = _with_topology(options)
    if arguments.test in NAMES:
        from p4mesh.cli.suite_command import run_tests

        return run_tests(options, arguments.json, notice)
    from p4mesh.cli.single_command import run_test

    return run_test(options, arguments.json, notice)


def _with_topology(options: RunOptions) -> RunOptions:
    """The options with the topology itself, which the choices of the user must fit; the run makes them again."""
    if options.calibration is not None:
        from p4mesh.store.calibration_file import read_calibration

        read_calibration(Path(options.calibration), "--calibration")
    from p4mesh.run.tester_ports import chosen_ports, ports_of

    options = with_topology(options)
    assert not isinstance(options.topology, str | Path | None)
    chosen_ports(ports_of(options.topology), options.ports)
    return options


def _run_file(options: RunOptions, as_json: bool, notice: Notice) -> int:
    require_output(options.out)
    if options.out is not None:
        notice.place(Path(options.out))
    from p4mesh.run_file.text import read_run_text

    read_run_text(options.test)  # What understands the file takes longer to load.
    from p4mesh.run_file.reader import load_run_file

    load_run_file(options.test)  # The run reads it again, with what it needs to check the tests in it.
    from p4mesh.cli.suite_command import run_tests_of_file

    return run_tests_of_file(options, as_json, notice)
