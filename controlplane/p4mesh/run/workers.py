"""Measures trials in worker processes, never more of them than asked for.

Methods run here, in a thread per unit; a worker process measures one trial after the other. A thread that
computes or measures on its unit's own device holds one of the workers. One that waits for an announced trial
gives its worker back; who measured that trial hands it over again. A worker that nobody holds begins the next
unit, and where there is none measures announced trials ahead, those first that their units need first. As long as
units have not begun, announced trials wait: searches, which are one trial after the other, must not be what is left
at the end, and announced trials fit in anywhere. What a unit never asks for leaves no trace. The results are those
of a run in one process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import cast

from p4mesh.errors import InternalError, P4MeshError, TargetError
from p4mesh.methods.base import Unit
from p4mesh.methods.results.record import Record
from p4mesh.run.execution import Job, Measurer, Observer, TrialReport
from p4mesh.run.session import Measured, UnitSession, opened, timed
from p4mesh.store.codec import encode
from p4mesh.store.run_directory import KeptTrial, RunDirectory
from p4mesh.trial.spec import TrialSpec

_STOPPED_S = 5.0
_AHEAD_PER_WORKER = 4


def run_parallel(
    job: Job, units: tuple[Unit, ...], directory: RunDirectory, observer: Observer, workers: int
) -> Mapping[Unit, Record]:
    """Run all units on up to ``workers`` processes; raises what a unit raised."""
    run = _Run(job, units, directory, observer, workers)
    try:
        return run.results()
    finally:
        run.close()


@dataclass(frozen=True)
class _Task:
    """One trial for a worker process."""

    spec: TrialSpec
    iteration: int
    device: str = ""
    """Name of the device that stays open for further trials; empty: a new one for this trial alone."""
    before: tuple[TrialSpec, ...] = ()
    """What the device measures first when it is new."""


@dataclass
class _Ahead:
    """An announced trial."""

    spec: TrialSpec
    started: bool = False
    answer: Measured | Exception | None = None
    awaited: bool = False
    """The unit has given up its worker to wait for the answer."""


class _Run:
    """The state that the threads of a run share; ``changed`` guards it."""

    def __init__(
        self, job: Job, units: tuple[Unit, ...], directory: RunDirectory, observer: Observer, workers: int
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self.job = job
        self.directory = directory
        self.changed = threading.Condition()
        self.closed = False
        self.farthest = _AHEAD_PER_WORKER * workers
        """How many trials ahead of its unit none is measured any more."""
        self._units = units
        self._observer = observer
        self._workers = [_Worker(job, context) for _ in range(workers)]
        self._idle = list(reversed(self._workers))
        self._pending = list(units)
        self._active: list[_UnitBench] = []
        self._results: dict[Unit, Record] = {}
        self._failure: BaseException | None = None
        self._threads: list[threading.Thread] = []

    @property
    def units_wait(self) -> bool:
        """Whether some unit has not begun; the lock is held."""
        return bool(self._pending)

    def results(self) -> Mapping[Unit, Record]:
        """Run everything; raise what the first unit that failed has raised."""
        with self.changed:
            self.assign()
            while len(self._results) < len(self._units):
                if self._failure is not None:
                    raise self._failure
                self.changed.wait()
        return {unit: self._results[unit] for unit in self._units}

    def close(self) -> None:
        """End all processes and threads; nothing is written afterwards."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        for worker in self._workers:
            worker.stop()
        for thread in self._threads:
            thread.join(_STOPPED_S)

    def publish(self, report: TrialReport) -> None:
        """Put a trial into the journal and show it."""
        with self.changed:
            self.check_open()
            if report.timing is not None:
                self.directory.append(report.trial, report.timing)
            self._observer.trial(report)

    def release(self, worker: _Worker) -> None:
        """Take a worker back and give it to whoever needs one; the lock is held."""
        self._idle.append(worker)
        self.assign()

    def assign(self) -> None:
        """Give idle workers to units, then to announced trials; the lock is held."""
        while self._idle and not self.closed:
            if self._pending:
                bench = _UnitBench(self, self._pending.pop(0), self._idle.pop())
                self._active.append(bench)
                self._start(self._run_unit, bench)
                continue
            waiting = [(distance, bench) for bench in self._active if (distance := bench.distance()) is not None]
            if not waiting:
                return
            _, bench = min(waiting, key=lambda item: item[0])
            self._start(bench.measure_ahead, bench.take_next(), self._idle.pop())

    def fail(self, error: BaseException) -> None:
        """End the run with what a thread has raised."""
        with self.changed:
            self._failure = self._failure or error
            self.changed.notify_all()

    def check_open(self) -> None:
        """Raise when the run is over; the lock is held."""
        if self.closed:
            raise _ClosedError

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run_unit(self, bench: _UnitBench) -> None:
        job, unit = self.job, bench.unit
        try:
            with self.changed:
                stored, kept = self.directory.stored(unit.key), self.directory.kept(unit.key)
            session = UnitSession(job, unit, stored, kept, self.publish, bench)
            result = job.method.run_unit(unit, job.bed, job.parameters, session)
        except _ClosedError:
            return
        except BaseException as error:
            self.fail(error)
            return
        with self.changed:
            self._active.remove(bench)
            if self.closed:
                return
            self._results[unit] = result
            self._observer.unit_finished(unit.key)
            self.release(bench.worker)
            self.changed.notify_all()


class _UnitBench:
    """Where one unit measures: on a worker that its thread holds, or by the answers of others."""

    def __init__(self, run: _Run, unit: Unit, worker: _Worker) -> None:
        self.unit = unit
        self.worker = worker
        self._run = run
        self._devices = 0
        self._trials: dict[int, _Ahead] = {}

    def measure(self, spec: TrialSpec, before: Sequence[TrialSpec]) -> Measured:
        """Measure on the unit's own device."""
        device = f"{self.unit.key} {self._devices}"
        return self.worker.measure(_Task(spec, self.unit.iteration, device, tuple(before)))

    def leave_device(self) -> None:
        """Let the next trial meet a new device."""
        self._devices += 1

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        """Offer trials to workers that have nothing else to do."""
        with self._run.changed:
            self._trials = {spec.number: _Ahead(spec) for spec in specs}
            self._run.assign()

    def measure_announced(self, spec: TrialSpec) -> Measured:
        """Return the answer that is there, measure the trial, or wait for who measures it."""
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
            return self.worker.measure(_Task(trial.spec, self.unit.iteration))
        if isinstance(trial.answer, Exception):
            raise trial.answer
        return cast(Measured, trial.answer)

    def distance(self) -> int | None:
        """Return how many trials the unit asks for before its next one that nobody has begun.

        None without one, and where it is so far ahead that answers would pile up behind a slow trial.
        """
        places = (place for place, trial in enumerate(self._trials.values()) if not trial.started)
        distance = next(places, self._run.farthest)
        return distance if distance < self._run.farthest else None

    def take_next(self) -> _Ahead:
        """Begin the next trial that nobody has begun; the lock is held."""
        trial = next(trial for trial in self._trials.values() if not trial.started)
        trial.started = True
        return trial

    def measure_ahead(self, trial: _Ahead, worker: _Worker) -> None:
        """Measure an announced trial; what is wrong with it counts when the unit asks for it."""
        answer: Measured | Exception
        try:
            answer = worker.measure(_Task(trial.spec, self.unit.iteration))
        except _ClosedError:
            return
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

    def _keep(self, trial: _Ahead) -> None:
        """Put an answer on disk that the unit may ask for; the lock is held."""
        wanted = self._trials.get(trial.spec.number) is trial and not self._run.closed
        if wanted and isinstance(trial.answer, Measured):
            try:
                self._run.directory.keep(_kept(self.unit, trial.spec, trial.answer))
            except OSError as error:
                self._run.fail(error)


class _Worker:
    """One worker process, started for its first trial and again after it has died."""

    def __init__(self, job: Job, context: multiprocessing.context.SpawnContext) -> None:
        self._job = job
        self._context = context
        self._lock = threading.Lock()
        self._stopped = False
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    def measure(self, task: _Task) -> Measured:
        """Return the answer of the process; raises what it has raised, and TargetError when it has died."""
        connection = self._connected()
        try:
            connection.send(task)
            answer = connection.recv()
        except (EOFError, OSError):
            raise self._died() from None
        if isinstance(answer, Exception):
            raise answer
        return cast(Measured, answer)

    def stop(self) -> None:
        """End the process, whatever it is doing; a thread that waits for it is told."""
        with self._lock:
            self._stopped = True
            process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.join(_STOPPED_S)

    def _connected(self) -> Connection:
        with self._lock:
            if self._stopped:
                raise _ClosedError
            if self._connection is None:
                self._connection, child = self._context.Pipe()
                self._process = self._context.Process(target=_work, args=(child, self._job), daemon=True)
                # An interrupt from the keyboard goes to every process; this one must not be the first to hear of it.
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                try:
                    self._process.start()
                finally:
                    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
                child.close()
            return self._connection

    def _died(self) -> Exception:
        with self._lock:
            if self._stopped or self._process is None:
                return _ClosedError()
            process, self._process, self._connection = self._process, None, None
        process.join(_STOPPED_S)
        return TargetError(
            f"a worker process ended with exit code {process.exitcode}",
            hint="the same command with --out resumes the run; --jobs 1 runs it in one process",
        )


class _ClosedError(Exception):
    """The run is over: its threads end."""


def _kept(unit: Unit, spec: TrialSpec, answer: Measured) -> KeptTrial:
    return KeptTrial(unit.key, spec.number, encode(spec), encode(answer.result), answer.started_utc, answer.elapsed_s)


def _work(connection: Connection, job: Job) -> None:
    """Measure what comes, in a process of its own, until the parent closes the connection or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    device = _WorkerDevice(job)
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        answer: Measured | Exception
        try:
            answer = device.measure(task)
        except P4MeshError as error:
            answer = error
        except Exception:
            answer = InternalError(f"worker process: {traceback.format_exc()}")
        connection.send(answer)


class _WorkerDevice:
    """The device that is open in a worker process: one at most, so that memory is that of one network."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._name = ""
        self._stack = ExitStack()
        self._measurer: Measurer | None = None

    def measure(self, task: _Task) -> Measured:
        if not task.device or task.device != self._name:
            self._stack.close()
            self._name, self._measurer = "", None
        if not task.device:
            with opened(self._job, task.iteration) as measurer:
                return timed(measurer, task.spec)
        if self._measurer is None:
            self._measurer = self._stack.enter_context(opened(self._job, task.iteration))
            self._name = task.device
            for earlier in task.before:
                self._measurer.measure(earlier)
        return timed(self._measurer, task.spec)


def _end_with_parent() -> None:
    """End this process when the parent has died, in the middle of a trial too."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
