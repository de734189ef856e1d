"""Runs all units one after the other in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from p4mesh.methods.base import Unit
from p4mesh.methods.results.record import Record
from p4mesh.run.delivery import DeliveryLimits
from p4mesh.run.events import Observer, TrialFinished, UnitFinished
from p4mesh.run.job import Job, Measurer
from p4mesh.run.session import Measured, UnitSession, opened, timed
from p4mesh.store.run_directory import RunDirectory
from p4mesh.trial.spec import TrialSpec


def run_in_process(
    job: Job, units: tuple[Unit, ...], directory: RunDirectory, observer: Observer
) -> Mapping[Unit, Record]:
    """Return the results of all units."""

    def publish(finished: TrialFinished) -> None:
        if finished.timing is not None:
            directory.append(finished.trial, finished.timing)
        observer(finished)

    results: dict[Unit, Record] = {}
    limits = DeliveryLimits()
    for unit in units:
        if job.simulated:
            # Each unit has a tester of its own, and may as well be measured beside the others.
            limits = DeliveryLimits()
        bench = _LocalBench(job, unit.iteration)
        try:
            stored, kept = directory.stored(unit.key), directory.kept(unit.key)
            session = UnitSession(job, unit, stored, kept, publish, bench, limits)
            results[unit] = job.method.run_unit(unit, job.bed, job.parameters, session)
        finally:
            bench.leave_device()
        observer(UnitFinished(unit.key))
    return results


class _LocalBench:
    """Measures in this process; announced trials when they are asked for, none ahead."""

    def __init__(self, job: Job, iteration: int) -> None:
        self._job = job
        self._iteration = iteration
        self._device: tuple[ExitStack, Measurer] | None = None

    def measure(self, spec: TrialSpec, before: Sequence[TrialSpec]) -> Measured:
        if self._device is None:
            stack = ExitStack()
            self._device = stack, stack.enter_context(opened(self._job, self._iteration))
            for earlier in before:
                self._device[1].measure(earlier)
        return timed(self._device[1], spec)

    def leave_device(self) -> None:
        if self._device is not None:
            stack, self._device = self._device[0], None
            stack.close()

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        """Forget them: none is measured before it is asked for."""

    def measure_announced(self, spec: TrialSpec) -> Measured:
        with opened(self._job, self._iteration) as measurer:
            return timed(measurer, spec)
