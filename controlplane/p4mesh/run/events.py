"""Defines the events of a run: one frozen dataclass per kind, handed to an observer after the event.

An observer is called from the threads of a run, never from two at a time. It must return soon: the next trial waits for
it. An exception of the observer ends the run, which can be resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from p4mesh.measurement.faults import Faults
    from p4mesh.measurement.samples import Sample
    from p4mesh.methods.results.outcome import Outcome
    from p4mesh.store.live_file import WatchedTrial
    from p4mesh.store.run_files import StoredTrial, Timing
    from p4mesh.trial.onlooker import Look


@dataclass(frozen=True)
class RunStarted:
    """The input is checked, the run directory is open, and something is left to measure."""

    test: str
    topology: str
    directory: Path
    trials_expected: Mapping[str, int]
    """Typical number of trials of each unit, in the order of the units."""
    trials_stored: int | None
    """Trials that a resumed run finds on disk; None for a new run."""
    workers: int
    """Number of processes that measure at the same time; 1: this one alone."""
    cluster: str = ""
    """Address of the cluster that the workers belong to; empty for this machine."""
    sampling: str = ""
    """Number and cost of samples, where the run takes them."""
    one_device: str = ""
    """Reason why the trials of a unit share one device and run one after the other; empty where they need not."""
    time_needed: str = ""
    """Frames of the run and how long they take; empty where that is short, or not known."""


@dataclass(frozen=True)
class TesterOpened:
    """A tester in real time is ready to measure."""

    facts: tuple[str, ...]
    """Facts of the machine that the reader of its results must know: kernel, drivers, source of time stamps."""


@dataclass(frozen=True)
class TrialFinished:
    """A trial is on disk."""

    trial: StoredTrial
    timing: Timing | None
    """None when the trial was read from disk."""
    remaining: int
    """Trials of the same unit that are expected after this one."""


@dataclass(frozen=True)
class SampleTaken:
    """A trial has been looked at while its streams run; the sample is on disk.

    Where workers measure, the samples of a trial come together, when it is over.
    """

    unit: str
    trial: int
    sample: Sample


@dataclass(frozen=True)
class FaultsCaptured:
    """The faults of a trial are on disk; its :class:`TrialFinished` follows."""

    unit: str
    trial: int
    faults: Faults


@dataclass(frozen=True)
class TrafficSeen:
    """Somebody has looked at a trial while its streams run: about twice a second, where the trial waits as often.

    Looks at trials of a cluster's workers do not come.
    """

    trial: WatchedTrial
    look: Look


@dataclass(frozen=True)
class UnitFinished:
    """All trials of a unit are on disk, and it has its result."""

    unit: str


@dataclass(frozen=True)
class WorkerLost:
    """A worker of a cluster went away; another one measures its trial again."""

    worker: str
    workers_left: int


@dataclass(frozen=True)
class RunFinished:
    """The outcome of a test and every file of its run directory are on disk."""

    test: str
    directory: Path
    outcome: Outcome


@dataclass(frozen=True)
class SuiteStarted:
    """The tests of a suite are checked, and its directory is open."""

    suite: str
    directory: Path


@dataclass(frozen=True)
class NotRun:
    """The topology or the target cannot carry a test of a suite."""

    test: str
    reason: str


@dataclass(frozen=True)
class WiresMeasured:
    """The wires of a topology are measured with one frame size, or its ports without wires."""

    frame_size_bytes: int
    directions: int
    ports: int = 0


Event = (
    RunStarted
    | TesterOpened
    | SampleTaken
    | FaultsCaptured
    | TrafficSeen
    | TrialFinished
    | UnitFinished
    | WorkerLost
    | RunFinished
    | SuiteStarted
    | NotRun
    | WiresMeasured
)
Observer = Callable[[Event], None]


def unobserved(_: Event) -> None:
    """Observe nothing."""
