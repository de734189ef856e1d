"""Defines workers and their executor: a worker measures one trial after the other, on this machine or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from p4mesh.run.session import Measured, TakeLook
from p4mesh.trial.spec import TrialSpec


@dataclass(frozen=True)
class Task:
    """One trial for a worker."""

    spec: TrialSpec
    iteration: int
    device: str = ""
    """Name of the device that stays open for further trials; empty: a new one for this trial alone."""
    before: tuple[TrialSpec, ...] = ()
    """Trials that a new device measures first."""


class Worker(Protocol):
    """Measures one trial at a time; has one device at most."""

    @property
    def name(self) -> str:
        """Name in messages."""
        ...

    def measure(self, task: Task, take_look: TakeLook) -> Measured:
        """The answer; raises the error of the trial, WorkerLostError, and ClosedError after the end.

        ``take_look`` gets looks at the trial while it runs, from workers that can show them.
        """
        ...


class Executor(Protocol):
    """The workers of one run, from its beginning to its end."""

    patience_s: float
    """Time that a run without any worker waits for one to join."""

    @property
    def workers(self) -> Sequence[Worker]:
        """The workers that are there at the beginning."""
        ...

    def watch(self, joined: Callable[[Worker], None], failed: Callable[[BaseException], None]) -> None:
        """Call ``joined`` for each worker that comes later, ``failed`` when there is no way to go on."""
        ...

    def close(self) -> None:
        """End the work, whatever the workers are doing; threads that wait for an answer get ClosedError."""
        ...


class WorkerLostError(Exception):
    """A worker is gone with its device, and another one may do its task again."""


class ClosedError(Exception):
    """The run is over: its threads end."""
