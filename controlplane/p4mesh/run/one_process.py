"""Runs all units one after the other in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from p4mesh.measurement.samples import Sample
from p4mesh.methods.base import Unit
from p4mesh.methods.results.record import Record
from p4mesh.run.delivery import DeliveryLimits
from p4mesh.run.events import (
    FaultsCaptured,
    Observer,
    SampleTaken,
    TesterOpened,
    TrafficSeen,
    TrialFinished,
    UnitFinished,
)
from p4mesh.run.job import DescribedMeasurer, Job, Measurer
from p4mesh.run.session import Measured, UnitSession, opened, timed, watched_trial
from p4mesh.store.run_directory import RunDirectory
from p4mesh.trial.onlooker import Look
from p4mesh.trial.spec import TrialSpec

WantsEnd = Callable[[], bool]


def run_in_process(
    job: Job,
    units: tuple[Unit, ...],
    directory: RunDirectory,
    observer: Observer,
    wants_end: WantsEnd | None,
    limits: DeliveryLimits,
) -> Mapping[Unit, Record]:
    """The results of all units, or of those before ``wants_end`` and of the one that it has ended."""

    def publish(event: TrialFinished | SampleTaken | FaultsCaptured | TrafficSeen) -> None:
        if isinstance(event, TrafficSeen):
            directory.show_look(event.trial, event.look)
        elif isinstance(event, SampleTaken):
            directory.append_sample(event.unit, event.trial, event.sample)
        elif isinstance(event, FaultsCaptured):
            directory.append_faults(event.unit, event.trial, event.faults)
        elif event.timing is not None:
            directory.append(event.trial, event.timing)
        observer(event)

    results: dict[Unit, Record] = {}
    for unit in units:
        if job.simulated:
            # Each unit has a tester of its own, and may as well be measured beside the others.
            limits = DeliveryLimits()
        bench = _LocalBench(job, unit, publish, observer, wants_end)
        try:
            session = UnitSession(job, unit, directory, publish, bench, limits)
            results[unit] = job.method.run_unit(unit, job.bed, job.parameters, session)
        finally:
            bench.leave_device()
        observer(UnitFinished(unit.key))
        if wants_end is not None and wants_end():
            break
    return results


class _LocalBench:
    """Measures in this process; announced trials when they are asked for, none ahead."""

    def __init__(
        self,
        job: Job,
        unit: Unit,
        publish: Callable[[SampleTaken | TrafficSeen], None],
        observer: Observer,
        wants_end: WantsEnd | None,
    ) -> None:
        self._job = job
        self._unit = unit
        self._publish = publish
        self._observer = observer
        self._wants_end = wants_end or (lambda: False)
        self._device: tuple[ExitStack, Measurer] | None = None

    def measure(self, spec: TrialSpec, before: Sequence[TrialSpec]) -> Measured:
        if self._device is None:
            stack = ExitStack()
            self._device = stack, stack.enter_context(opened(self._job, self._unit.iteration))
            self._describe(self._device[1])
            for earlier in before:
                self._device[1].measure(earlier)
        return self._timed(self._device[1], spec)

    def _describe(self, measurer: Measurer) -> None:
        facts = measurer.facts() if isinstance(measurer, DescribedMeasurer) else ()
        if facts:
            self._observer(TesterOpened(facts))

    def _timed(self, measurer: Measurer, spec: TrialSpec) -> Measured:
        def take(sample: Sample) -> None:
            self._publish(SampleTaken(self._unit.key, spec.number, sample))

        def look(found: Look) -> None:
            self._publish(TrafficSeen(watched_trial(self._unit, spec), found))

        return timed(self._job, measurer, spec, look, take, self._wants_end)

    def leave_device(self) -> None:
        if self._device is not None:
            stack, self._device = self._device[0], None
            stack.close()

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        """Forget them: none is measured before it is asked for."""

    def measure_announced(self, spec: TrialSpec) -> Measured:
        with opened(self._job, self._unit.iteration) as measurer:
            return self._timed(measurer, spec)
