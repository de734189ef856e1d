"""Runs the units of a test and puts every finished trial on disk before the next one starts."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Protocol, cast

from p4mesh.errors import EngineMissingError, RunDirectoryError
from p4mesh.methods.base import TestMethod, TrialNote, Unit, UnitResult
from p4mesh.methods.bed import TestBed
from p4mesh.methods.outcome import State
from p4mesh.methods.parameters import ParameterSet
from p4mesh.methods.registry import find_test
from p4mesh.store.codec import decode, encode
from p4mesh.store.run_directory import RunDirectory, StoredTrial, Timing
from p4mesh.topology import Topology
from p4mesh.trial.result import Status, TrialResult
from p4mesh.trial.spec import TrialSpec

_STEP_BITS = 20
"""More than a unit has trials."""
DEFAULT_OPENER = "p4mesh.trial:open_measurer"
"""Where measurers come from, as module:function, so that worker processes can find it."""


class Measurer(Protocol):
    """The trial engine, seen from here."""

    def measure(self, spec: TrialSpec) -> TrialResult:
        """Run one trial."""
        ...


Opener = Callable[[Topology], AbstractContextManager[Measurer]]


@dataclass(frozen=True)
class Job:
    """What to run; the same in every process."""

    test: str
    topology: Topology
    bed: TestBed
    parameters: ParameterSet
    opener: str = DEFAULT_OPENER
    in_steps: bool = False
    """Units are cut into their steps, each with a device of its own: where devices are simulated."""

    @property
    def method(self) -> TestMethod:
        """Return the test."""
        return find_test(self.test)


@dataclass(frozen=True)
class TrialReport:
    """A trial that has just finished, for the journal and for progress."""

    trial: StoredTrial
    timing: Timing | None
    """None when the trial was read from disk."""
    remaining: int


Publish = Callable[[TrialReport], None]
"""Returns when the trial is on disk."""


class Observer(Protocol):
    """Who wants to know how a run proceeds."""

    def trial(self, report: TrialReport) -> None:
        """A trial is finished and on disk."""
        ...

    def unit_finished(self, unit: str) -> None:
        """A unit has its result."""
        ...


def resolve_opener(name: str) -> Opener:
    """Return the function ``module:function``."""
    module, _, function = name.partition(":")
    return cast(Opener, getattr(importlib.import_module(module), function))


def steps_of(job: Job, unit: Unit) -> tuple[Unit, ...]:
    """Return what runs on measurers of its own: the steps of a unit, or the unit."""
    steps = job.method.steps(unit, job.parameters) if job.in_steps else 1
    return tuple(replace(unit, step=step) for step in range(1, steps + 1)) if steps > 1 else (unit,)


def run_unit(job: Job, unit: Unit, stored: tuple[StoredTrial, ...], publish: Publish) -> UnitResult:
    """Run one unit on a measurer of its own; trials in ``stored`` are not repeated."""
    with ExitStack() as stack:
        session = _UnitSession(job, unit, stored, publish, stack)
        return job.method.run_unit(unit, job.bed, job.parameters, session)


def run_in_process(
    job: Job, units: tuple[Unit, ...], directory: RunDirectory, observer: Observer
) -> Mapping[Unit, UnitResult]:
    """Run all units one after the other in this process."""

    def publish(report: TrialReport) -> None:
        if report.timing is not None:
            directory.append(report.trial, report.timing)
        observer.trial(report)

    results: dict[Unit, UnitResult] = {}
    for unit in units:
        results[unit] = run_unit(job, unit, directory.stored(unit.key), publish)
        observer.unit_finished(unit.key)
    return results


class _UnitSession:
    """The session of one unit: answers from disk first, then from a measurer opened on demand."""

    def __init__(
        self, job: Job, unit: Unit, stored: tuple[StoredTrial, ...], publish: Publish, stack: ExitStack
    ) -> None:
        self._job = job
        self._unit = unit
        self._stored = stored
        self._publish = publish
        self._stack = stack
        self._measurer: Measurer | None = None
        self._index = 0
        self._asked: list[TrialSpec] = []

    def measure(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        index, self._index = self._index, self._index + 1
        spec = replace(spec, number=index + (self._unit.step << _STEP_BITS))
        self._asked.append(spec)
        question = encode(spec)
        if index < len(self._stored):
            known = self._stored[index]
            if known.spec != question:
                raise RunDirectoryError(
                    f"trial {index} of {self._unit.key} on disk is not the trial that this version asks for",
                    hint="start a new run in another directory",
                )
            self._publish(TrialReport(known, None, note.remaining))
            return decode(TrialResult, known.result)
        if self._measurer is None:
            self._measurer = self._open()
            self._catch_up(self._measurer)
        started, begin = datetime.now(timezone.utc), time.monotonic()
        result = _from_first_departure(self._measurer.measure(spec))
        elapsed_s = round(time.monotonic() - begin, 6)
        verdict = _verdict(result, note)
        trial = StoredTrial(self._unit.key, index, float(note.load_pct), verdict, question, encode(result))
        timing = Timing(self._unit.key, index, started.isoformat(timespec="milliseconds"), elapsed_s)
        self._publish(TrialReport(trial, timing, note.remaining))
        return result

    def _catch_up(self, measurer: Measurer) -> None:
        """Bring a new device to where the trials on disk have left theirs, if any trial builds on another one."""
        if any(spec.continues for spec in self._asked):
            for spec in self._asked[:-1]:
                measurer.measure(spec)

    def _open(self) -> Measurer:
        topology = self._job.topology
        # Every iteration meets other random numbers of the simulated devices, the same in every run.
        topology = replace(topology, seed=topology.seed + self._unit.iteration - 1)
        try:
            return self._stack.enter_context(resolve_opener(self._job.opener)(topology))
        except ImportError as error:
            raise EngineMissingError(
                f"the trial engine does not load: {error}", hint="build it with: make setup"
            ) from None


def _verdict(result: TrialResult, note: TrialNote) -> str:
    """Return the verdict on one trial for the log: DONE for one that has no criterion of its own."""
    if result.status is not Status.VALID:
        return str(result.status.value)
    return note.judge(result).value if note.judge else State.DONE.value


def _from_first_departure(result: TrialResult) -> TrialResult:
    """Return the result with times counted from its first departure.

    What the target's clock shows depends on the trials before this one, which a resumed run has not made.
    """
    origin_ns = result.first_tx_ns
    flows = tuple(
        replace(
            flow,
            first_rx_ns=flow.first_rx_ns - origin_ns,
            last_rx_ns=flow.last_rx_ns - origin_ns,
            first_tx_ns=flow.first_tx_ns - origin_ns,
            last_gap_tx_ns=None if flow.last_gap_tx_ns is None else flow.last_gap_tx_ns - origin_ns,
        )
        for flow in result.flows
    )
    return replace(result, first_tx_ns=0, last_tx_ns=result.last_tx_ns - origin_ns, flows=flows)
