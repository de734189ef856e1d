"""Workers of this machine: processes that are started for their first trial, and again after they have died.

They are forks of a server process, which loads the code once for all workers and all runs of this process. The server
starts with the first worker, does nothing else, and ends with this process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from types import TracebackType
from typing import cast

from p4mesh.causes import file_hint
from p4mesh.errors import TargetError
from p4mesh.run.executor import ClosedError, Executor, Task, Worker
from p4mesh.run.job import Job
from p4mesh.run.session import Measured, TakeLook
from p4mesh.run.worker_device import WorkerDevice
from p4mesh.trial.onlooker import Look

_STOPPED_S = 5.0
_AGAIN = "the same command with --out resumes the run; --jobs 1 runs it in one process"
_TO_ALL = {signal.SIGINT, signal.SIGHUP}
"""Signals that reach every process of a terminal at once."""
_LOADED_ONCE = ["p4mesh.run.worker_processes", "p4mesh.trial.opening"]
"""Modules that every worker needs. Loading them starts no thread but that of NumPy, which ends it before a fork."""


def processors_of(workers: int) -> list[int | None]:
    """The processor that each of so many workers keeps to; None where the system chooses.

    The threads of a worker, those of its controller and of its switch, wait for each other most of the time. On one
    processor they take about a tenth less time than on two. That is left to the system where workers cannot be spread
    evenly over the processors of this process: another run may be on the same ones.
    """
    own = sorted(os.sched_getaffinity(0))
    even = workers % len(own) == 0
    return [own[number % len(own)] if even else None for number in range(workers)]


class WorkerProcesses(Executor):
    """A number of processes. One that dies ends the run: on this machine, the trial is the likely cause."""

    patience_s = 0.0

    def __init__(self, job: Job, count: int) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_LOADED_ONCE)
        self._processes = [
            _WorkerProcess(job, context, f"process {number}", processor)
            for number, processor in enumerate(processors_of(count), start=1)
        ]

    def __enter__(self) -> WorkerProcesses:
        """Start nothing: processes start when they are needed first."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End all processes."""
        self.close()

    @property
    def workers(self) -> Sequence[Worker]:
        """All of them."""
        return self._processes

    def watch(self, joined: Callable[[Worker], None], failed: Callable[[BaseException], None]) -> None:
        """Do nothing: no process joins later."""

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.stop()


class _WorkerProcess:
    """One worker process."""

    def __init__(self, job: Job, context: ForkServerContext, name: str, processor: int | None) -> None:
        self.name = name
        self._processor = processor
        self._job = job
        self._context = context
        self._lock = threading.Lock()
        self._stopped = False
        self._process: ForkServerProcess | None = None
        self._connection: Connection | None = None

    def measure(self, task: Task, take_look: TakeLook) -> Measured:
        """The answer of the process; raises its exception, and TargetError when it has died."""
        connection = self._connected()
        try:
            connection.send(task)
            while isinstance(answer := connection.recv(), Look):
                take_look(answer)
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
                raise ClosedError
            if self._connection is None:
                connection, child = self._context.Pipe()
                arguments = (child, self._job, dict(os.environ), self._processor)
                process = self._context.Process(target=_work, args=arguments, daemon=True)
                # An interrupt from the keyboard, and the end of a terminal, go to every process; the worker and the
                # server, which starts here when there is none, must not be the first to hear of it.
                # To start the resource tracker would end the block, so that one starts before.
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
                try:
                    resource_tracker.ensure_running()
                    signal.pthread_sigmask(signal.SIG_BLOCK, _TO_ALL)
                    process.start()
                except (EOFError, OSError) as error:
                    cause = file_hint(error.errno, "") if isinstance(error, OSError) else ""
                    raise TargetError(
                        f"the process that starts workers ended, or starts none: {error or type(error).__name__}",
                        hint=f"{cause}; {_AGAIN}" if cause else _AGAIN,
                    ) from None
                finally:
                    signal.pthread_sigmask(signal.SIG_UNBLOCK, _TO_ALL)
                # Not before: a process that could not start cannot be ended either.
                self._process, self._connection = process, connection
                child.close()
            return self._connection

    def _died(self) -> Exception:
        with self._lock:
            if self._stopped or self._process is None:
                return ClosedError()
            process, self._process, self._connection = self._process, None, None
        process.join(_STOPPED_S)
        return TargetError(
            f"a worker process ended with exit code {process.exitcode}",
            hint=_AGAIN,
        )


def _work(connection: Connection, job: Job, environment: Mapping[str, str], processor: int | None) -> None:
    """Measure the trials that come, in a process of its own, until the parent closes the connection or ends.

    ``environment`` is that of the parent; the server may have an older one. The process keeps to ``processor``.
    """
    if processor is not None:
        # Before other threads are there, which keep to it too.
        os.sched_setaffinity(0, {processor})
    for number in _TO_ALL:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _TO_ALL)
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    device = WorkerDevice(job)
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(device.answer(task, connection.send))


def _end_with_parent() -> None:
    """End this process when the parent has died, in the middle of a trial too."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
