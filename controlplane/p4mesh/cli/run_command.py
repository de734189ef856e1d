"""``p4mesh run TEST``: measures what is not on disk yet, stores it, and shows the results."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from p4mesh import __version__
from p4mesh.cli.progress import Progress
from p4mesh.errors import EXIT_OK, EXIT_TEST_FAILED
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Outcome, State
from p4mesh.report.publish import REPORT, publish, stored_outcome
from p4mesh.report.text import outcome_text
from p4mesh.run.one_process import run_in_process
from p4mesh.run.preparation import SIMULATED, Prepared, RunOptions, prepare
from p4mesh.run.workers import run_parallel
from p4mesh.store.codec import encode
from p4mesh.store.run_directory import RunDirectory, StoredTrial, read_run
from p4mesh.target.table import TARGETS
from p4mesh.topology import load_topology


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
    parser.add_argument("--json", action="store_true", help="print the results as JSON on stdout")


def options_of(arguments: argparse.Namespace) -> RunOptions:
    """Return what the user asked for."""
    return RunOptions(
        test=arguments.test,
        topology=arguments.topology,
        sizes=arguments.sizes,
        settings=tuple(arguments.settings),
        out=arguments.out,
        as_json=arguments.json,
        workers=arguments.jobs,
        target=arguments.target,
        calibration=arguments.calibration,
    )


def run(options: RunOptions) -> int:
    """Run a test, show its results and return the exit code."""
    method = find_test(options.test)
    prepared = prepare(method, load_topology(options.topology), options)
    directory, outcome = execute(prepared, directory_path(options.out, method.name))
    if options.as_json:
        print(json.dumps(results_data(directory.path), indent=1, allow_nan=False), flush=True)
    else:
        print(outcome_text(outcome))
        print(f"run directory: {directory.path}")
        print(f"report:        {directory.path / REPORT}", flush=True)
    return exit_code(outcome)


def execute(prepared: Prepared, path: Path) -> tuple[RunDirectory, Outcome]:
    """Measure what the run directory does not hold yet, publish, and return the outcome."""
    directory = RunDirectory.open(path, _config(prepared))
    if not directory.is_finished:
        with directory.discarded_when_nothing_was_measured():
            _measure(prepared, directory)
    publish(directory)
    return directory, stored_outcome(directory.path)


def exit_code(outcome: Outcome) -> int:
    """Return 0 for a test that passed or was executed, 1 for one that failed or cannot be trusted."""
    return EXIT_OK if outcome.state in (State.PASS, State.DONE) else EXIT_TEST_FAILED


def results_data(path: Path) -> dict[str, Any]:
    """Return the results of a finished run for JSON output."""
    stored = read_run(path)
    outcome = stored.results["outcome"]
    return {"run": str(path), "test": stored.config["test"], **outcome, "units": stored.results["units"]}


def directory_path(out: str | None, name: str) -> Path:
    """Return where a run goes: what the user named, else a new directory below runs/."""
    if out is not None:
        return Path(out)
    stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{name}-{stamp}"


def _measure(prepared: Prepared, directory: RunDirectory) -> None:
    method, job, workers = prepared.method, prepared.job, prepared.workers
    units = method.units(job.parameters, prepared.sizes)
    progress = Progress({unit.key: method.trials_expected(unit, job.parameters) for unit in units})
    stored = sum(len(directory.stored(unit.key)) for unit in units)
    resumed = f", resuming after {stored} stored trials" if directory.resumed else ""
    processes = "1 process" if workers == 1 else f"{workers} processes"
    progress.line(f"{method.name} on {job.topology.name}: {len(units)} parts, {processes}{resumed}")
    if workers > 1 and job.memory:
        progress.line(f"trials of one part run one after the other: {job.memory}")
    if workers == 1:
        results = run_in_process(job, units, directory, progress)
    else:
        results = run_parallel(job, units, directory, progress, workers)
    outcome = method.assemble(job.bed, job.parameters, results)
    found = tuple(text for unit in units for text in misdirection(unit.key, directory.stored(unit.key)))
    outcome = replace(outcome, findings=(*outcome.findings, *found))
    directory.finish(
        [unit.key for unit in units],
        {"outcome": encode(outcome), "units": {unit.key: result for unit, result in results.items()}},
    )


def misdirection(unit: str, trials: Sequence[StoredTrial]) -> tuple[str, ...]:
    """Return the finding on frames that came to the address of a port with the payload of another one, if there are."""
    counts = [trial.result.get("misdirected_frames", 0) for trial in trials]
    if not any(counts):
        return ()
    return (
        f"misdirected payload: {sum(counts)} frames in {sum(map(bool, counts))} trials of {unit} had the address of "
        "the port that they came to, and were made for another one; they count as lost",
    )


def _config(prepared: Prepared) -> dict[str, Any]:
    method, job = prepared.method, prepared.job
    topology, values = job.topology, job.parameters.shown()
    return {
        "test": method.name,
        "title": method.title,
        "section": method.section,
        "version": __version__,
        "target": prepared.target,
        "topology": {"name": topology.name, "description": topology.description, "text": topology.text},
        "ports": [encode(port) for port in job.bed.ports],
        "time_stamps": encode(job.bed.stamps),
        "calibration": encode(job.bed.calibration),
        "frame_sizes_bytes": list(prepared.sizes),
        "parameters": [
            {
                "name": item.name,
                "value": values[item.name],
                "unit": item.unit,
                "section": item.section,
                "summary": item.summary,
            }
            for item in method.parameters
        ],
    }
