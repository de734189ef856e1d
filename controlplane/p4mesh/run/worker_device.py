"""The device that is open in a worker: one at most, so that memory is that of one network."""

from __future__ import annotations

import traceback
from contextlib import ExitStack

from p4mesh.errors import InternalError, P4MeshError
from p4mesh.run.executor import Task
from p4mesh.run.job import Job, Measurer
from p4mesh.run.session import Measured, TakeLook, opened, timed


class WorkerDevice:
    """Measures the trials that come to a worker."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._name = ""
        self._stack = ExitStack()
        self._measurer: Measurer | None = None

    def answer(self, task: Task, take_look: TakeLook = lambda look: None) -> Measured | P4MeshError:
        """The result of the trial, or its exception, ready to cross to the process that asked."""
        try:
            return self._measure(task, take_look)
        except P4MeshError as error:
            return error
        except Exception:
            return InternalError(f"worker process: {traceback.format_exc()}")

    def close(self) -> None:
        """Give up the device."""
        self._stack.close()
        self._name, self._measurer = "", None

    def _measure(self, task: Task, take_look: TakeLook) -> Measured:
        if not task.device or task.device != self._name:
            self.close()
        if not task.device:
            with opened(self._job, task.iteration) as measurer:
                return timed(self._job, measurer, task.spec, take_look)
        if self._measurer is None:
            self._measurer = self._stack.enter_context(opened(self._job, task.iteration))
            self._name = task.device
            for earlier in task.before:
                self._measurer.measure(earlier)
        return timed(self._job, self._measurer, task.spec, take_look)
