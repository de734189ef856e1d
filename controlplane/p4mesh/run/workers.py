"""Shares the units and trials of a run among its workers.

Methods run here, in a thread per unit; a worker measures one trial after the other. A thread that computes or measures
on its unit's own device holds one of the workers. One that waits for an announced trial gives its worker back, and gets
another one when that trial is measured. A free worker begins the next unit, unless that follows one that is not
finished; where there is none, it measures announced trials ahead, those first that their units need first. As long as
units can begin, announced trials wait: searches, which are one trial after the other, must not be left for the end, and
announced trials fit in anywhere. Trials that a unit never asks for leave no trace. The results are those of a run in
one process.

A worker that is lost takes its device with it. Another one measures the trial again, after those that it builds on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from p4mesh.errors import TargetError
from p4mesh.methods.base import Unit
from p4mesh.methods.results.record import Record
from p4mesh.run.delivery import DeliveryLimits
from p4mesh.run.events import (
    FaultsCaptured,
    Observer,
    SampleTaken,
    TrafficSeen,
    TrialFinished,
    UnitFinished,
    WorkerLost,
)
from p4mesh.run.executor import ClosedError, Executor, Task, Worker, WorkerLostError
from p4mesh.run.job import Job
from p4mesh.run.session import Measured, TakeLook, UnitSession, watched_trial
from p4mesh.store.codec import encode
from p4mesh.store.run_directory import RunDirectory
from p4mesh.store.run_files import KeptTrial
from p4mesh.trial.onlooker import Look
from p4mesh.trial.spec import TrialSpec

_STOPPED_S = 5.0
_AHEAD_PER_WORKER = 4
_WORKERS_PER_TRIAL = 3
"""A trial with which so many workers were lost is given up: it may be the cause."""


def run_parallel(
    job: Job, units: tuple[Unit, ...], directory: RunDirectory, observer: Observer, executor: Executor
) -> Mapping[Unit, Record]:
    """Run all units on the workers of ``executor``; raises the exception of a unit."""
    run = _Run(job, units, directory, observer, executor)
    try:
        return run.results()
    finally:
        run.close()


@dataclass
class _Ahead:
    """An announced trial."""

    spec: TrialSpec
    started: bool = False
    answer: Measured | Exception | None = None
    awaited: bool = False
    """The unit has given up its worker to wait for the answer."""
    lost: int = 0
    """Workers that were lost with it."""


class _Run:
    """The state that the threads of a run share; ``changed`` guards it."""

    def __init__(
        self, job: Job, units: tuple[Unit, ...], directory: RunDirectory, observer: Observer, executor: Executor
    ) -> None:
        self.job = job
        self.directory = directory
        self.changed = threading.Condition()
        self.closed = False
        self.farthest = _AHEAD_PER_WORKER * len(executor.workers)
        """Largest number of trials that are measured ahead of their unit."""
        self._units = units
        self._observer = observer
        self._executor = executor
        self._workers = list(executor.workers)
        self._idle = list(reversed(self._workers))
        self._bereft: list[_UnitBench] = []
        """Units whose worker was lost; they come first when one is free."""
        self._pending = list(units)
        self._active: list[_UnitBench] = []
        self._results: dict[Unit, Record] = {}
        self._failure: BaseException | None = None
        self._threads: list[threading.Thread] = []

    @property
    def units_wait(self) -> bool:
        """Whether some unit can begin; the lock is held."""
        return self._next_unit() is not None

    def results(self) -> Mapping[Unit, Record]:
        """Run everything; raise the exception of the first unit that failed."""
        self._executor.watch(self._join, self.fail)
        with self.changed:
            self.assign()
            while len(self._results) < len(self._units):
                if self._failure is not None:
                    raise self._failure
                if self._workers:
                    self.changed.wait()
                elif not self.changed.wait_for(self._goes_on, self._executor.patience_s):
                    raise TargetError(
                        f"no worker is left, and no new one has joined for {self._executor.patience_s:.0f} s",
                        hint="the same command with --out resumes the run",
                    )
        return {unit: self._results[unit] for unit in self._units}

    def close(self) -> None:
        """End all processes and threads; nothing is written afterwards."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self._executor.close()
        for thread in self._threads:
            thread.join(_STOPPED_S)

    def publish(self, event: TrialFinished | SampleTaken | FaultsCaptured) -> None:
        """Put a trial into the journal, or a sample on disk, and show it."""
        with self.changed:
            self.check_open()
            if isinstance(event, SampleTaken):
                self.directory.append_sample(event.unit, event.trial, event.sample)
            elif isinstance(event, FaultsCaptured):
                self.directory.append_faults(event.unit, event.trial, event.faults)
            elif event.timing is not None:
                self.directory.append(event.trial, event.timing)
            self._observer(event)

    def show(self, event: TrafficSeen) -> None:
        """Let those who watch the run see a look at a trial."""
        with self.changed:
            self.check_open()
            self.directory.show_look(event.trial, event.look)
            self._observer(event)

    def release(self, worker: Worker) -> None:
        """Take a worker back and give it to the next unit or trial; the lock is held."""
        self._idle.append(worker)
        self.assign()

    def assign(self) -> None:
        """Give idle workers to units, then to announced trials; the lock is held."""
        while self._idle and not self.closed:
            if self._bereft:
                self._bereft.pop(0).worker = self._idle.pop()
                self.changed.notify_all()
                continue
            unit = self._next_unit()
            if unit is not None:
                self._pending.remove(unit)
                bench = _UnitBench(self, unit, self._idle.pop())
                self._active.append(bench)
                self._start(self._run_unit, bench)
                continue
            waiting = [(distance, bench) for bench in self._active if (distance := bench.distance()) is not None]
            if not waiting:
                return
            _, bench = min(waiting, key=lambda item: item[0])
            self._start(bench.measure_ahead, bench.take_next(), self._idle.pop())

    def _next_unit(self) -> Unit | None:
        """The first unit that has not begun and follows none, or one that is finished; the lock is held."""
        unfinished = {*self._pending, *(bench.unit for bench in self._active)}
        follows = self.job.method.follows
        return next((unit for unit in self._pending if follows(unit) not in unfinished), None)

    def lose(self, worker: Worker) -> None:
        """Forget a worker that is gone; the lock is held."""
        self.check_open()
        self._workers.remove(worker)
        self._observer(WorkerLost(worker.name, len(self._workers)))
        self.changed.notify_all()

    def replace(self, bench: _UnitBench) -> None:
        """Wait until a unit whose worker was lost has another one; the lock is held."""
        self._bereft.append(bench)
        self.assign()
        while bench in self._bereft and not self.closed:
            self.changed.wait()
        self.check_open()

    def fail(self, error: BaseException) -> None:
        """End the run with the exception of a thread."""
        with self.changed:
            self._failure = self._failure or error
            self.changed.notify_all()

    def check_open(self) -> None:
        """Raise when the run is over; the lock is held."""
        if self.closed:
            raise ClosedError

    def _join(self, worker: Worker) -> None:
        with self.changed:
            if not self.closed:
                self._workers.append(worker)
                self._idle.append(worker)
                self.assign()
                self.changed.notify_all()

    def _goes_on(self) -> bool:
        return bool(self._workers) or self._failure is not None

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=self._guarded, args=(work, *arguments), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _guarded(self, work: Callable[..., None], *arguments: object) -> None:
        """Do the work of a thread; its exception ends the run."""
        try:
            work(*arguments)
        except ClosedError:
            return
        except BaseException as error:
            self.fail(error)

    def _run_unit(self, bench: _UnitBench) -> None:
        job, unit = self.job, bench.unit
        with self.changed:
            session = UnitSession(job, unit, self.directory, self.publish, bench, DeliveryLimits())
        result = job.method.run_unit(unit, job.bed, job.parameters, session)
        with self.changed:
            self.check_open()
            self._active.remove(bench)
            self._results[unit] = result
            self._observer(UnitFinished(unit.key))
            self.release(bench.worker)
            self.changed.notify_all()


class _UnitBench:
    """The bench of one unit: a worker that its thread holds, or the answers of others."""

    def __init__(self, run: _Run, unit: Unit, worker: Worker) -> None:
        self.unit = unit
        self.worker = worker
        self._run = run
        self._devices = 0
        self._trials: dict[int, _Ahead] = {}

    def measure(self, spec: TrialSpec, before: Sequence[TrialSpec]) -> Measured:
        """Measure on the unit's own device."""
        device = f"{self.unit.key} {self._devices}"
        return self._measured(Task(spec, self.unit.iteration, device, tuple(before)))

    def leave_device(self) -> None:
        """Let the next trial meet a new device."""
        self._devices += 1

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        """Offer trials to workers that have nothing else to do."""
        with self._run.changed:
            self._trials = {spec.number: _Ahead(spec) for spec in specs}
            self._run.assign()

    def measure_announced(self, spec: TrialSpec) -> Measured:
        """Take the answer that is there, measure the trial, or wait for the worker that measures it."""
        run = self._run
        with run.changed:
            run.check_open()
            trial = self._trials[spec.number]
            here = not (trial.started or run.units_wait)
            if trial.answer is None and not here:
                trial.awaited = True
                run.release(self.worker)
                while trial.answer is None and not run.closed:
                    run.changed.wait()
                run.check_open()
            del self._trials[spec.number]
            run.assign()
        if here:
            return self._measured(Task(trial.spec, self.unit.iteration), trial.lost)
        if isinstance(trial.answer, Exception):
            raise trial.answer
        return cast(Measured, trial.answer)

    def distance(self) -> int | None:
        """How many trials the unit asks for before its next one that no worker has begun.

        None without one, and where it is so far ahead that answers would pile up behind a slow trial.
        """
        places = (place for place, trial in enumerate(self._trials.values()) if not trial.started)
        distance = next(places, self._run.farthest)
        return distance if distance < self._run.farthest else None

    def take_next(self) -> _Ahead:
        """Begin the next trial that no worker has begun; the lock is held."""
        trial = next(trial for trial in self._trials.values() if not trial.started)
        trial.started = True
        return trial

    def measure_ahead(self, trial: _Ahead, worker: Worker) -> None:
        """Measure an announced trial; its error counts when the unit asks for it."""
        answer: Measured | Exception
        try:
            answer = worker.measure(Task(trial.spec, self.unit.iteration), self._shower(trial.spec))
        except WorkerLostError:
            self._lose_with(trial, worker)
            return
        except ClosedError:
            raise
        except Exception as error:
            answer = error
        with self._run.changed:
            trial.answer = answer
            if trial.awaited:
                self.worker = worker
                self._run.changed.notify_all()
                return
            self._keep(trial)
            self._run.release(worker)

    def _measured(self, task: Task, lost: int = 0) -> Measured:
        """The answer of the unit's worker, or of the next one where it is lost, as ``lost`` were before."""
        for _ in range(_WORKERS_PER_TRIAL - lost):
            try:
                return self.worker.measure(task, self._shower(task.spec))
            except WorkerLostError:
                with self._run.changed:
                    self._run.lose(self.worker)
                    self._run.replace(self)
        raise _given_up(self.unit, task.spec)

    def _shower(self, spec: TrialSpec) -> TakeLook:
        watched = watched_trial(self.unit, spec)

        def show(look: Look) -> None:
            self._run.show(TrafficSeen(watched, look))

        return show

    def _lose_with(self, trial: _Ahead, worker: Worker) -> None:
        """Let another worker measure an announced trial, unless it has cost too many of them."""
        run = self._run
        with run.changed:
            run.lose(worker)
            trial.lost += 1
            if trial.lost < _WORKERS_PER_TRIAL:
                trial.started = False
                run.assign()
                return
            if trial.awaited:
                run.replace(self)
            trial.answer = _given_up(self.unit, trial.spec)
            run.changed.notify_all()

    def _keep(self, trial: _Ahead) -> None:
        """Put an answer on disk that the unit may ask for, unless faults came with it; the lock is held."""
        wanted = self._trials.get(trial.spec.number) is trial and not self._run.closed
        wanted = wanted and not self._run.job.capture_frames
        if wanted and isinstance(trial.answer, Measured):
            self._run.directory.keep(_kept(self.unit, trial.spec, trial.answer))


def _given_up(unit: Unit, spec: TrialSpec) -> TargetError:
    return TargetError(
        f"trial {spec.number} of {unit.key} was given up: {_WORKERS_PER_TRIAL} workers were lost with it",
        hint="look at the log of the workers; the same command with --out resumes the run",
    )


def _kept(unit: Unit, spec: TrialSpec, answer: Measured) -> KeptTrial:
    return KeptTrial(unit.key, spec.number, encode(spec), encode(answer.result), answer.started_utc, answer.elapsed_s)
