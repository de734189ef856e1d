"""Runs one test: measures what its run directory does not hold yet, judges it, and writes results and report."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from typing import Any

from p4mesh.methods.base import Unit
from p4mesh.methods.options.parameters import show
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import Record
from p4mesh.report.publish import publish
from p4mesh.run.captures import capture_finding, capture_tables, write_capture
from p4mesh.run.chosen_interfaces import chosen_topology
from p4mesh.run.delivery import DeliveryLimits
from p4mesh.run.events import Event, Observer, RunFinished, RunStarted, TesterOpened, unobserved
from p4mesh.run.executor import Executor
from p4mesh.run.kinds_of_loss import kinds_of_loss_tables, payload_note
from p4mesh.run.one_process import run_in_process
from p4mesh.run.options import RunOptions
from p4mesh.run.outlook import Outlook
from p4mesh.run.preparation import Prepared, prepare
from p4mesh.run.refused_routes import refused_routes_findings, refused_routes_tables
from p4mesh.run.trial_findings import port_queue_finding, stamp_finding, stray_findings, way_hint
from p4mesh.run.worker_processes import WorkerProcesses
from p4mesh.run.workers import run_parallel
from p4mesh.store.codec import encode
from p4mesh.store.run_directory import RunDirectory
from p4mesh.store.stored_run import setting_of
from p4mesh.store.writing import storing
from p4mesh.traffic.imix import size_name
from p4mesh.verdict import Verdict
from p4mesh.version import __version__


@dataclass(frozen=True)
class FinishedRun:
    """A run that is over: its outcome and its directory."""

    directory: Path
    outcome: Outcome
    setting: str
    """Kind of devices and of time, and which model they are, for people."""


def run(options: RunOptions, observer: Observer = unobserved) -> FinishedRun:
    """Run a test, or finish the run that ``options.out`` holds; a finished one is returned as it is.

    Raises a P4MeshError: UsageError for options that cannot be used, EnvironmentFault where the machine, the target or
    the cluster fails. Trials that are on disk by then are not measured again when the same options come again.
    """
    method = find_test(str(options.test))
    topology = chosen_topology(options)
    prepared = prepare(method, topology, options)
    return execute(prepared, directory_path(options.out, method.name), observer, DeliveryLimits())


def directory_path(out: str | Path | None, name: str) -> Path:
    """The directory of a run: the one that the user named, else a new and empty one below runs/.

    It exists when this returns, so that no other run can get the same one.
    """
    if out is not None:
        return Path(out)
    stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    first = Path("runs") / f"{name}-{stamp}"
    with storing(first):
        first.parent.mkdir(exist_ok=True)
        for number in count(1):
            path = first if number == 1 else first.with_name(f"{first.name}-{number}")
            try:
                path.mkdir()
                return path
            except FileExistsError:
                continue
    raise AssertionError("there is always another number")


def execute(prepared: Prepared, path: Path, observer: Observer, limits: DeliveryLimits) -> FinishedRun:
    """Measure what the run directory does not hold yet, publish, and return the outcome.

    ``limits`` are those of the tester that earlier tests have found; they learn from this one, measured now or before.
    """
    config = _config(prepared)
    with RunDirectory.open(path, config) as directory:
        if directory.is_finished:
            for unit in prepared.method.units(prepared.job.parameters, prepared.sizes):
                limits.recall(directory.stored(unit.key))
        else:
            with directory.discarded_when_nothing_was_measured():
                _measure(prepared, directory, observer, limits)
        finished = FinishedRun(directory.path, publish(directory), setting_of(config))
    observer(RunFinished(prepared.method.name, finished.directory, finished.outcome))
    return finished


def _measure(prepared: Prepared, directory: RunDirectory, observer: Observer, limits: DeliveryLimits) -> None:
    method, job = prepared.method, prepared.job
    units = method.units(job.parameters, prepared.sizes)
    facts: list[str] = []
    outlook = Outlook()

    def watched(event: Event) -> None:
        if isinstance(event, TesterOpened):
            facts.extend(fact for fact in event.facts if fact not in facts)
        if outlook.note(event):
            directory.show_progress(outlook.progress)
        observer(event)

    try:
        results = _results(prepared, units, directory, watched, limits)
    finally:
        # Also of a run that is broken off.
        write_capture(directory, [unit.key for unit in units])
    outcome = method.assemble(job.bed, job.parameters, results)
    stored = {unit.key: directory.stored(unit.key) for unit in units}
    all_trials = [trial for trials in stored.values() for trial in trials]
    first = (*refused_routes_findings(all_trials), *way_hint(job, all_trials))
    found = (*stray_findings(stored), *stamp_finding(all_trials), *port_queue_finding(all_trials))
    found += job.chosen
    if missing := len(units) - len(results):
        found += (f"ended by the user: {missing} of {len(units)} runs were not measured",)
    found += tuple(f"measured with {fact}" for fact in facts)
    outcome = replace(
        outcome,
        tables=(*outcome.tables, *kinds_of_loss_tables(stored), *refused_routes_tables(stored)),
        findings=(*first, *outcome.findings, *found),
        deviations=(*outcome.deviations, *payload_note(job.bed)),
        goal=method.goal(job.parameters),
    )
    assert outcome.goal or outcome.state is not Verdict.PASS, "a test that passes states its goal"
    if job.capture_frames:
        captured = directory.captured([unit.key for unit in units])
        findings = (*outcome.findings, capture_finding(captured))
        outcome = replace(outcome, findings=findings, tables=(*outcome.tables, *capture_tables(captured)))
    directory.finish(
        [unit.key for unit in units],
        {"outcome": encode(outcome), "units": {unit.key: result.data() for unit, result in results.items()}},
    )


def _results(
    prepared: Prepared,
    units: tuple[Unit, ...],
    directory: RunDirectory,
    observer: Observer,
    limits: DeliveryLimits,
) -> Mapping[Unit, Record]:
    if not prepared.cluster and prepared.jobs == 1:
        observer(_started(prepared, units, directory, 1))
        return run_in_process(prepared.job, units, directory, observer, prepared.wants_end, limits)
    with _executor(prepared) as executor:
        observer(_started(prepared, units, directory, len(executor.workers)))
        return run_parallel(prepared.job, units, directory, observer, executor)


def _executor(prepared: Prepared) -> AbstractContextManager[Executor]:
    if prepared.cluster:
        from p4mesh.run.dask_cluster import DaskCluster  # asyncio takes long to load

        return DaskCluster(prepared.cluster, prepared.job)
    return WorkerProcesses(prepared.job, prepared.jobs)


def _started(prepared: Prepared, units: tuple[Unit, ...], directory: RunDirectory, workers: int) -> RunStarted:
    method, job = prepared.method, prepared.job
    return RunStarted(
        method.name,
        job.topology.name,
        directory.path,
        {unit.key: method.trials_expected(unit, job.parameters) for unit in units},
        sum(len(directory.stored(unit.key)) for unit in units) if directory.resumed else None,
        workers,
        prepared.cluster,
        prepared.sampling,
        job.memory,
        prepared.time_needed() if prepared.time_needed else "",
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
        "setting": job.setting,
        "topology": {"name": topology.name, "description": topology.description, "text": topology.text},
        "ports": [encode(port) for port in job.bed.ports],
        "time_stamps": encode(job.bed.stamps),
        "calibration": encode(job.bed.calibration),
        "frame_sizes_bytes": [size_name(size) for size in prepared.sizes],
        "parameters": [
            {
                "name": item.name,
                "value": values[item.name],
                "default": show(item.default_in(real_time=not job.simulated, ports=job.bed.port_numbers)),
                "unit": item.unit,
                "section": item.section,
                "summary": item.summary,
            }
            for item in method.parameters
        ],
        **({"chosen": dict(topology.chosen)} if topology.chosen else {}),
        **prepared.echo,
    }
