"""``p4mesh run TEST``: measures what is not on disk yet, stores it, and shows the results."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from p4mesh.cli.progress import Progress
from p4mesh.errors import EXIT_OK, EXIT_TEST_FAILED
from p4mesh.methods.results.outcome import Outcome, State
from p4mesh.report.publish import REPORT
from p4mesh.report.text import outcome_text
from p4mesh.run.options import SIMULATED, RunOptions
from p4mesh.run.single import run
from p4mesh.store.run_directory import read_run
from p4mesh.target.table import TARGETS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``p4mesh run``."""
    parser.add_argument("test", metavar="TEST", help="test or whole suite; 'p4mesh tests' lists them")
    parser.add_argument("--topology", metavar="FILE", required=True, help="test set-up, for example topologies/*.yaml")
    parser.add_argument("--sizes", metavar="B,B", help="frame sizes in bytes with FCS; default: those of the RFC")
    parser.add_argument(
        "--set", dest="settings", metavar="KEY=VALUE", action="append", default=[], help="set a test parameter"
    )
    parser.add_argument("--target", choices=sorted(TARGETS), default=SIMULATED, help="what runs the P4 program")
    parser.add_argument(
        "--calibration", metavar="FILE", help="wires measured by p4mesh calibrate, shown beside latencies"
    )
    parser.add_argument("--out", metavar="DIR", help="run directory; an interrupted run in it is resumed")
    parser.add_argument("--jobs", metavar="N", type=int, help="worker processes; default: one per processor")
    parser.add_argument(
        "--workers", metavar="ADDRESS", help="measure on a Dask cluster instead; its scheduler, such as tcp://host:8786"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON on stdout")


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
    )


def run_test(options: RunOptions, as_json: bool = False) -> int:
    """Run a test, show its results and return the exit code."""
    finished = run(options, Progress())
    if as_json:
        print(json.dumps(results_data(finished.directory), indent=1, allow_nan=False), flush=True)
    else:
        print(outcome_text(finished.outcome))
        print(f"run directory: {finished.directory}")
        print(f"report:        {finished.directory / REPORT}", flush=True)
    return exit_code(finished.outcome)


def exit_code(outcome: Outcome) -> int:
    """Return 0 for a test that passed or was executed, 1 for one that failed or cannot be trusted."""
    return EXIT_OK if outcome.state in (State.PASS, State.DONE) else EXIT_TEST_FAILED


def results_data(path: Path) -> dict[str, Any]:
    """Return the results of a finished run for JSON output."""
    stored = read_run(path)
    outcome = stored.results["outcome"]
    return {"run": str(path), "test": stored.config["test"], **outcome, "units": stored.results["units"]}
