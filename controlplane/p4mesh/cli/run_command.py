"""``p4mesh run``: checks everything first, then measures, stores, and shows the results."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from p4mesh import __version__
from p4mesh.cli.execution import DEFAULT_OPENER, Job, run_in_process
from p4mesh.cli.progress import Progress
from p4mesh.cli.workers import run_parallel
from p4mesh.errors import EXIT_OK, EXIT_TEST_FAILED, ParameterError, UsageError
from p4mesh.methods.base import TestMethod, Unit
from p4mesh.methods.bed import TestBed, TestPort
from p4mesh.methods.outcome import Outcome, State
from p4mesh.methods.parameters import ParameterSet, resolve
from p4mesh.methods.registry import find_test
from p4mesh.report.publish import publish, stored_outcome
from p4mesh.report.text import outcome_text
from p4mesh.store.codec import encode
from p4mesh.store.run_directory import RunDirectory, read_run
from p4mesh.topology import TESTER, PortRef, Topology, load_topology

MIN_FRAME_SIZE_BYTES = 64
MAX_FRAME_SIZE_BYTES = 9216
OPENERS = {"sim": DEFAULT_OPENER, "bmv2": "p4mesh.trial:open_on_bmv2"}
"""What measures on each target."""
SIMULATED = "sim"


@dataclass(frozen=True)
class RunOptions:
    """What the user asked for, not yet checked."""

    test: str
    topology: str
    sizes: str | None = None
    settings: tuple[str, ...] = ()
    out: str | None = None
    as_json: bool = False
    workers: int | None = None
    target: str = SIMULATED
    opener: str = ""
    """Instead of the target's own."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``p4mesh run``."""
    parser.add_argument("test", metavar="TEST", help="test to run; 'p4mesh tests' lists them")
    parser.add_argument("--topology", metavar="FILE", required=True, help="test set-up, for example topologies/*.yaml")
    parser.add_argument("--sizes", metavar="B,B", help="frame sizes in bytes with FCS; default: those of the RFC")
    parser.add_argument(
        "--set", dest="settings", metavar="KEY=VALUE", action="append", default=[], help="set a test parameter"
    )
    parser.add_argument("--target", choices=sorted(OPENERS), default=SIMULATED, help="what runs the P4 program")
    parser.add_argument("--out", metavar="DIR", help="run directory; an interrupted run in it is resumed")
    parser.add_argument("--jobs", metavar="N", type=int, help="worker processes; default: one per processor")
    parser.add_argument("--json", action="store_true", help="print the results as JSON on stdout")


def command(arguments: argparse.Namespace) -> int:
    """Run a test as the arguments say and return the exit code."""
    return run(
        RunOptions(
            arguments.test,
            arguments.topology,
            arguments.sizes,
            tuple(arguments.settings),
            arguments.out,
            arguments.json,
            arguments.jobs,
            arguments.target,
        )
    )


def run(options: RunOptions) -> int:
    """Run a test; nothing is written before every input is known to be good."""
    method = find_test(options.test)
    topology = load_topology(options.topology)
    parameters = resolve(method.name, method.parameters, options.settings)
    sizes = parse_sizes(options.sizes, method)
    bed = test_bed(topology)
    method.check(bed, parameters)
    workers = _workers(options.workers, options.target)
    units = method.units(parameters, sizes)
    directory = RunDirectory.open(
        _directory_path(options.out, method), _config(method, topology, bed, parameters, sizes, options.target)
    )
    job = Job(method.name, topology, bed, parameters, options.opener or OPENERS[options.target])
    if not directory.is_finished:
        with directory.discarded_when_nothing_was_measured():
            _measure(job, units, directory, workers)
    report = publish(directory)
    outcome = stored_outcome(directory.path)
    _show(options.as_json, directory, outcome, report)
    return EXIT_OK if outcome.state in (State.PASS, State.DONE) else EXIT_TEST_FAILED


def parse_sizes(text: str | None, method: TestMethod) -> tuple[int, ...]:
    """Return the frame sizes; raise ParameterError for a word, a repeated or an impossible size."""
    if text is None:
        return method.frame_sizes_bytes
    valid = f"frame sizes are integers in {MIN_FRAME_SIZE_BYTES}..{MAX_FRAME_SIZE_BYTES} B with FCS, such as 64,1518"
    sizes: list[int] = []
    for word in text.split(","):
        if not word.strip().isdecimal() or not MIN_FRAME_SIZE_BYTES <= int(word) <= MAX_FRAME_SIZE_BYTES:
            raise ParameterError(f"--sizes {text}: '{word}' is not valid", hint=valid)
        if int(word) in sizes:
            raise ParameterError(f"--sizes {text}: {int(word)} is given twice", hint=valid)
        sizes.append(int(word))
    return tuple(sizes)


def test_bed(topology: Topology) -> TestBed:
    """Return what methods may know of a topology."""
    far_ends = {near: far for link in topology.links for near, far in (link.ends, link.ends[::-1])}
    ports = (
        TestPort(port.number, port.name, port.rate_bps, port.ifg_bytes, far_ends[PortRef(TESTER, port.number)].node)
        for port in topology.tester_ports
    )
    rates = {(device.name, port.number): port.rate_bps for device in topology.devices for port in device.ports}
    uplinks = [link.ends[0] for link in topology.links if TESTER not in (link.ends[0].node, link.ends[1].node)]
    return TestBed(topology.name, tuple(ports), sum(rates[end.node, end.port] for end in uplinks))


def _measure(job: Job, units: tuple[Unit, ...], directory: RunDirectory, workers: int) -> None:
    method = job.method
    progress = Progress({unit.key: method.trials_expected(unit, job.parameters) for unit in units})
    stored = sum(len(directory.stored(unit.key)) for unit in units)
    resumed = f", resuming after {stored} stored trials" if directory.resumed else ""
    progress.line(f"{method.name} on {job.topology.name}: {len(units)} parts, {workers} processes{resumed}")
    if workers == 1:
        results = run_in_process(job, units, directory, progress)
    else:
        results = run_parallel(job, units, directory, progress, workers)
    outcome = method.assemble(job.bed, job.parameters, results)
    directory.finish(
        [unit.key for unit in units],
        {"outcome": encode(outcome), "units": {unit.key: result for unit, result in results.items()}},
    )


def _show(as_json: bool, directory: RunDirectory, outcome: Outcome, report: Path) -> None:
    if as_json:
        stored = read_run(directory.path)
        shown = {"run": str(directory.path), **stored.results["outcome"], "units": stored.results["units"]}
        print(json.dumps(shown, indent=1, allow_nan=False))
        return
    print(outcome_text(outcome))
    print(f"run directory: {directory.path}")
    print(f"report:        {report}")
    sys.stdout.flush()


def _workers(wanted: int | None, target: str) -> int:
    if target != SIMULATED:
        # Trials on the wall clock would disturb each other.
        return 1
    if wanted is None:
        return os.cpu_count() or 1
    if wanted < 1:
        raise UsageError(f"--jobs {wanted}: not valid", hint="an integer from 1")
    return wanted


def _directory_path(out: str | None, method: TestMethod) -> Path:
    if out is not None:
        return Path(out)
    stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{method.name}-{stamp}"


def _config(
    method: TestMethod,
    topology: Topology,
    bed: TestBed,
    parameters: ParameterSet,
    sizes: tuple[int, ...],
    target: str,
) -> dict[str, Any]:
    shown = parameters.shown()
    return {
        "test": method.name,
        "title": method.title,
        "section": method.section,
        "version": __version__,
        "target": target,
        "topology": {"name": topology.name, "description": topology.description, "text": topology.text},
        "ports": [encode(port) for port in bed.ports],
        "frame_sizes_bytes": list(sizes),
        "parameters": [
            {
                "name": item.name,
                "value": shown[item.name],
                "unit": item.unit,
                "section": item.section,
                "summary": item.summary,
            }
            for item in method.parameters
        ],
    }
