"""Checks of arguments that need little: wrong ones are answered before the module of a command is loaded."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from p4mesh.cli.output import tell
from p4mesh.cli.run_arguments import options_of
from p4mesh.errors import EnvironmentFault, RunFileError, UsageError
from p4mesh.run.options import RunOptions

if TYPE_CHECKING:
    from p4mesh.topology import Topology

_YAML_SUFFIXES = (".yaml", ".yml")
_LARGEST_PORT = 65_535


def named_test(arguments: argparse.Namespace) -> None:
    """Raise UnknownTestError unless the name is that of a test or of a suite."""
    from p4mesh.methods.names import require_known

    if arguments.name is not None:
        require_known(arguments.name)


def require_output(out: str | Path | None) -> None:
    """Raise RunDirectoryError for a place to write to that is a file, or holds neither a run nor a suite.

    The run looks again when it opens the directory.
    """
    from p4mesh.store.opening import NEW, has_files
    from p4mesh.store.stored_run import read_run_config
    from p4mesh.store.suite_directory import is_suite

    if out is not None and has_files(Path(out)) and not is_suite(Path(out)):
        read_run_config(Path(out), "--out ", NEW, to_resume=True)


def stored_run(arguments: argparse.Namespace) -> None:
    """Raise RunDirectoryError unless a run or a suite is in the directory."""
    _require_stored(Path(arguments.directory))


def stored_runs(arguments: argparse.Namespace) -> None:
    """Raise UsageError for less than two directories, and RunDirectoryError where one holds no run."""
    if len(arguments.directories) < 2:
        raise UsageError("compare needs two runs or more", hint="p4mesh compare DIR DIR [DIR ...]")
    for directory in arguments.directories:
        _require_stored(Path(directory))


def folder_of_runs(arguments: argparse.Namespace) -> None:
    """Raise RunDirectoryError for a folder that is none."""
    from p4mesh.store.finding import require_folder

    require_folder(Path(arguments.folder))


def served_folder(arguments: argparse.Namespace) -> None:
    """Raise UsageError for directories that are none or have no use, and for a number that is no port."""
    if not 0 <= arguments.port <= _LARGEST_PORT:
        raise UsageError(f"--port {arguments.port}: not a port", hint=f"0..{_LARGEST_PORT}; 0 takes a free one")
    if not Path(arguments.directory).is_dir():
        raise UsageError(
            f"{arguments.directory}: not a directory",
            hint="name the directory that holds run directories; p4mesh run writes to runs",
        )
    for option, folder in (("--topologies", arguments.topologies), ("--run-files", arguments.run_files)):
        if folder and not arguments.control:
            raise UsageError(f"{option} has no use without --control", hint=f"add --control, or leave {option} out")
        if folder and not Path(folder).is_dir():
            raise UsageError(f"{option} {folder}: not a directory", hint="name the directory that holds the files")


def otg(arguments: argparse.Namespace) -> None:
    """Raise UsageError for options that do not fit, and EnvironmentFault where the package of the API is missing."""
    from importlib.util import find_spec

    from p4mesh.otg.options import options_of as otg_options_of

    otg_options_of(arguments)
    if find_spec("snappi") is None:
        raise EnvironmentFault(
            "p4mesh otg needs the package snappi, which is not installed", hint="pip install 'p4mesh[otg]'"
        )


def calibrated(arguments: argparse.Namespace) -> RunOptions:
    """The options with their topology; raise TopologyError, and UsageError for options that do not fit."""
    return with_topology(options_of(arguments))


def traffic(arguments: argparse.Namespace) -> RunOptions:
    """The options with their topology, once the traffic file is read with its settings; raise what is wrong."""
    from p4mesh.traffic_file.text import read_traffic_text

    options = options_of(arguments)
    require_output(options.out)
    read_traffic_text(options.test)  # What understands the file takes longer to load.
    from p4mesh.traffic_file.reader import load_traffic

    load_traffic(options.test, options.settings)
    return with_topology(options)


def with_topology(options: RunOptions) -> RunOptions:
    """Load the topology; the run makes the choices of the user again, which must fit it."""
    from p4mesh.run.chosen_interfaces import chosen_topology, topology_of

    if options.topology is None and options.interfaces is not None:
        found = chosen_topology(options)
        _tell_stations(f"{found.description}:", found)
        return replace(options, topology=found, device=None)
    loaded = replace(options, topology=topology_of(options.topology))
    found = chosen_topology(loaded)
    if any(port.interface for port in found.tester_ports):
        _tell_stations(f"{found.name}: stations at interfaces of this machine:", found)
    return loaded


def _tell_stations(title: str, topology: Topology) -> None:
    from p4mesh.cli.topology_command import station_lines

    tell("\n".join([title, *station_lines(topology)]))


def network(arguments: argparse.Namespace) -> None:
    """Load the topology of a network; raise TopologyError."""
    from p4mesh.topology.loader import load_topology

    load_topology(arguments.file)


def new_run_file(arguments: argparse.Namespace) -> None:
    """Raise RunFileError for a file to write that is not named like YAML, and UnknownTestError for a wrong test."""
    from p4mesh.methods.names import require_known

    path = Path(arguments.file)
    if path.suffix not in _YAML_SUFFIXES:
        raise RunFileError(f"{path}: not the name of a YAML file", hint=f"end it with {' or '.join(_YAML_SUFFIXES)}")
    for name in arguments.tests or ():
        require_known(name)


def xena_file(arguments: argparse.Namespace) -> None:
    """Read a file of Xena; raise XenaFileError."""
    from p4mesh.xena.reading import read_configuration

    read_configuration(Path(arguments.file))


def lab_file(arguments: argparse.Namespace) -> None:
    """Read a containerlab file; raise LabFileError."""
    from p4mesh.containerlab.lab_text import read_lab_text

    read_lab_text(arguments.file)


def _require_stored(path: Path) -> None:
    from p4mesh.store.stored_run import read_run_config
    from p4mesh.store.suite_directory import is_suite

    if not is_suite(path):
        read_run_config(path)
