"""Entry point of ``p4mesh``: arguments in, exit code out, every error as one message."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from p4mesh import __version__
from p4mesh.cli import calibrate_command, run_command, suite_command
from p4mesh.errors import EXIT_BUG, EXIT_OK, EngineMissingError, P4MeshError, UsageError
from p4mesh.methods.base import Method
from p4mesh.methods.options.parameters import Parameter, show
from p4mesh.methods.registry import TESTS, suites
from p4mesh.report.publish import stored_outcome
from p4mesh.report.text import outcome_text
from p4mesh.run.options import SIMULATED
from p4mesh.run.preparation import check_settings
from p4mesh.target.sim import build_network
from p4mesh.target.table import TARGETS
from p4mesh.topology import load_topology
from p4mesh.topology.drawing import draw

EXIT_INTERRUPTED = 130
COMMANDS = ("run", "calibrate", "tests", "show", "topology", "switch")
SWITCH_COMMAND = "p4mesh.switch.command"


class _Parser(argparse.ArgumentParser):
    """Reports wrong arguments as UsageError, like every other wrong input."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see: {self.prog} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; the console script calls this."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    try:
        return _dispatch([word for word in words if word != "--debug"])
    except P4MeshError as error:
        if debug:
            traceback.print_exc()
        print(error.render(), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; the same command with --out DIR resumes a run", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except Exception as error:
        if debug:
            raise
        print(f"error: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        print(" hint: this is a bug of P4Mesh; --debug shows where", file=sys.stderr)
        return EXIT_BUG


def _dispatch(words: list[str]) -> int:
    if words[:1] == ["switch"]:
        return _switch(words[1:])
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        raise UsageError(f"unknown command '{words[0]}'", hint=f"valid commands: {', '.join(COMMANDS)}")
    parsed = _parser().parse_args(words)
    code: int = parsed.run(parsed)
    return code


def _parser() -> _Parser:
    parser = _Parser(prog="p4mesh", description="A network tester made from a programmable switch.")
    parser.add_argument("--version", action="version", version=f"p4mesh {__version__}")
    parser.add_argument("--debug", action="store_true", help="show a traceback with an error")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)

    run = commands.add_parser("run", help="run a test and write a run directory", description=run_command.__doc__)
    run_command.add_arguments(run)
    run.set_defaults(run=_run)

    wires = commands.add_parser(
        "calibrate", help="measure wires between tester ports", description=calibrate_command.__doc__
    )
    calibrate_command.add_arguments(wires)
    wires.set_defaults(run=calibrate_command.measure_wires)

    tests = commands.add_parser("tests", help="list the tests with their parameters, units, defaults and ranges")
    tests.add_argument("--json", action="store_true", help="print as JSON")
    tests.set_defaults(run=_tests)

    show_run = commands.add_parser("show", help="print the result tables of a finished run")
    show_run.add_argument("directory", metavar="DIR")
    show_run.set_defaults(run=_show)

    topology = commands.add_parser("topology", help="work with topology files")
    actions = topology.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=_Parser)
    check = actions.add_parser("check", help="validate a topology file")
    check.add_argument("file", metavar="FILE")
    check.set_defaults(run=_topology_check)
    drawing = actions.add_parser("draw", help="draw a topology as SVG, to standard output")
    drawing.add_argument("file", metavar="FILE")
    drawing.set_defaults(run=_topology_draw)

    commands.add_parser("switch", help="serve P4Runtime over the embedded engine", add_help=False)
    return parser


def _run(arguments: argparse.Namespace) -> int:
    options = run_command.options_of(arguments)
    if options.test in suites():
        return suite_command.run_tests(options, arguments.json)
    return run_command.run_test(options, arguments.json)


def _tests(arguments: argparse.Namespace) -> int:
    if arguments.json:
        print(json.dumps([_test_data(test) for test in TESTS], indent=1))
        return EXIT_OK
    print("\n\n".join(_test_text(test) for test in TESTS))
    return EXIT_OK


def _test_text(test: Method) -> str:
    lines = [f"{test.name}  {test.title} ({test.section})"]
    lines.append(f"  frame sizes: {', '.join(str(size) for size in test.frame_sizes_bytes)} B")
    width = max(len(parameter.name) for parameter in test.parameters)
    default_width = max(len(show(parameter.default)) for parameter in test.parameters)
    valid_width = max(len(parameter.valid) for parameter in test.parameters)
    for parameter in test.parameters:
        lines.append(
            f"  {parameter.name:<{width}}  {show(parameter.default):>{default_width}}"
            f"  {parameter.valid:<{valid_width}}  {parameter.section}: {parameter.summary}{_real_time(parameter)}"
        )
    return "\n".join(lines)


def _real_time(parameter: Parameter) -> str:
    if parameter.real_time is None:
        return ""
    targets = ", ".join(sorted(set(TARGETS) - {SIMULATED}))
    return f"; default on {targets}: {show(parameter.real_time)}"


def _test_data(test: Method) -> dict[str, Any]:
    return {
        "name": test.name,
        "title": test.title,
        "section": test.section,
        "frame_sizes_bytes": list(test.frame_sizes_bytes),
        "parameters": [
            {
                "name": parameter.name,
                "type": parameter.kind.value,
                "unit": parameter.unit,
                "default": show(parameter.default),
                "real_time_default": show(parameter.default_in(real_time=True)),
                "valid": parameter.valid,
                "section": parameter.section,
                "summary": parameter.summary,
            }
            for parameter in test.parameters
        ],
    }


def _show(arguments: argparse.Namespace) -> int:
    print(outcome_text(stored_outcome(Path(arguments.directory))))
    return EXIT_OK


def _topology_check(arguments: argparse.Namespace) -> int:
    topology = load_topology(arguments.file)
    check_settings(topology)
    build_network(topology)
    devices = ", ".join(f"{device.name} ({device.device}, {len(device.ports)} ports)" for device in topology.devices)
    print(
        f"{arguments.file}: valid: '{topology.name}', {len(topology.tester_ports)} tester ports, "
        f"{len(topology.links)} links, devices: {devices or 'none'}"
    )
    return EXIT_OK


def _topology_draw(arguments: argparse.Namespace) -> int:
    print(draw(load_topology(arguments.file)), end="")
    return EXIT_OK


def _switch(words: list[str]) -> int:
    try:
        module = importlib.import_module(SWITCH_COMMAND)
    except ImportError as error:
        raise EngineMissingError(f"the switch does not load: {error}", hint="build it with: make setup") from None
    code: int = module.main(words)
    return code
