"""Runs several tests, such as all of one RFC, on one topology, each in a run directory of its own."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from p4mesh.errors import (
    P4MeshError,
    TopologyError,
    UnknownTestError,
    UnsupportedError,
)
from p4mesh.methods.base import Method
from p4mesh.methods.registry import suites
from p4mesh.methods.results.latency import LATENCY_DEFINITION
from p4mesh.methods.results.outcome import Cell
from p4mesh.report.publish import REPORT, suite_page
from p4mesh.run.chosen_interfaces import chosen_topology
from p4mesh.run.delivery import DeliveryLimits
from p4mesh.run.events import NotRun, Observer, SuiteStarted, unobserved
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import Prepared, prepare
from p4mesh.run.published_parameters import require_known_keys, settings_of
from p4mesh.run.single import FinishedRun, directory_path, execute
from p4mesh.store.suite_directory import NOT_RUN, SuiteDirectory
from p4mesh.store.writing import write_atomically


@dataclass(frozen=True)
class Planned:
    """One test of several, prepared or refused."""

    label: str
    """Name in results; no two of them are alike."""
    directory: str
    method: Method
    prepared: Prepared | P4MeshError


@dataclass(frozen=True)
class Entry:
    """One test of a suite: its finished run, or the reason why the topology or the target cannot carry it."""

    label: str
    method: Method
    run: FinishedRun | None
    reason: str = ""
    broke_off: bool = False
    """Whether it ended with an internal error: no fault of the topology, but a bug."""

    @property
    def row(self) -> dict[str, Cell]:
        """The test as a row of the summary."""
        return {
            "test": self.label,
            "section": self.method.section,
            "state": self.run.outcome.state.value if self.run else NOT_RUN,
            "summary": self.run.outcome.summary if self.run else self.reason,
        }


@dataclass(frozen=True)
class FinishedSuite:
    """Tests that are over: one entry per test, in the order of the RFC or of the run file."""

    suite: str
    directory: Path
    entries: tuple[Entry, ...]

    @property
    def not_run(self) -> tuple[Entry, ...]:
        """Tests that the topology or the target cannot carry."""
        return tuple(entry for entry in self.entries if entry.run is None)


def run_suite(options: RunOptions, observer: Observer = unobserved) -> FinishedSuite:
    """Run every test of a suite that the topology can carry, or finish the run that ``options.out`` holds.

    Raises a P4MeshError as :func:`p4mesh.run.run` does, and where no test can run.
    """
    return run_planned(str(options.test), plan_suite(options), options.out, observer)


def run_planned(
    name: str, planned: Sequence[Planned], out: str | Path | None, observer: Observer = unobserved
) -> FinishedSuite:
    """Run tests one after the other below one directory, and write its index and its page."""
    with SuiteDirectory.open(directory_path(out, name), name) as suite:
        observer(SuiteStarted(name, suite.path))
        entries = []
        limits = DeliveryLimits()
        for plan in planned:
            entry = _entry(plan, suite.path, observer, limits)
            if entry.run is None:
                observer(NotRun(entry.label, entry.reason))
            entries.append(entry)
        rows = [entry.row for entry in entries]
        runs = {entry.label: entry.run.directory for entry in entries if entry.run}
        write_atomically(suite.path / REPORT, suite_page(name, rows, list(runs.values())))
        suite.finish(rows, {label: path.name for label, path in runs.items()})
        return FinishedSuite(name, suite.path, tuple(entries))


def _entry(plan: Planned, directory: Path, observer: Observer, limits: DeliveryLimits) -> Entry:
    """Run one test; an internal error ends this test alone, and leaves its traceback beside it."""
    if not isinstance(plan.prepared, Prepared):
        return Entry(plan.label, plan.method, None, plan.prepared.message)
    try:
        return Entry(plan.label, plan.method, execute(plan.prepared, directory / plan.directory, observer, limits))
    except (P4MeshError, OSError):
        raise  # of the machine or the target: the next test would meet it, too
    except Exception as error:
        where = directory / f"{plan.directory}.traceback.txt"
        write_atomically(where, "".join(traceback.format_exception(error)))
        reason = f"internal error: {type(error).__name__}: {error} (a bug of P4Mesh; see {where.name})"
        return Entry(plan.label, plan.method, None, reason, broke_off=True)


def plan_suite(options: RunOptions) -> tuple[Planned, ...]:
    """Each test, prepared or refused; raises the first refusal when all are refused."""
    name = str(options.test)
    if name not in suites():
        raise UnknownTestError(f"unknown suite '{name}'", hint=f"valid suites: {', '.join(suites())}")
    topology = chosen_topology(options)
    tests = suites()[name]
    require_known_keys(name, {test.name: test.parameters for test in tests}, options.settings)
    planned = []
    for test in tests:
        own = settings_of(test.parameters, options.settings)
        prepared: Prepared | P4MeshError
        try:
            prepared = prepare(test, topology, for_test(options, test, own))
        except (TopologyError, UnsupportedError) as refusal:
            prepared = refusal
        planned.append(Planned(test.name, test.name.partition(".")[2], test, prepared))
    refusals = [plan.prepared for plan in planned if isinstance(plan.prepared, P4MeshError)]
    if len(refusals) == len(tests):
        raise refusals[0]
    return tuple(planned)


def for_test(options: RunOptions, test: Method, settings: tuple[str, ...]) -> RunOptions:
    """The options of one test with its own settings: a calibration is for those that print latencies."""
    prints_latency = any(parameter.name == LATENCY_DEFINITION.name for parameter in test.parameters)
    return replace(options, settings=settings, calibration=options.calibration if prints_latency else None)
