"""Runs whose workers are lost or join later, on workers of this process that a test can lose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.fakes import FakeMeasurer
from support.networks import TOPOLOGIES
from support.runs import files

from p4mesh.errors import TargetError
from p4mesh.run import Event, RunOptions, WorkerLost, run, single
from p4mesh.run.executor import Task, Worker, WorkerLostError
from p4mesh.run.job import Job
from p4mesh.run.session import Measured, TakeLook
from p4mesh.run.worker_device import WorkerDevice
from p4mesh.topology import Topology

WRS = TOPOLOGIES / "wrs-18x1g.yaml"
Dies = Callable[[str, Task], bool]
"""(worker, task) -> whether the worker is lost with it."""


class Hand:
    """A worker of this process."""

    def __init__(self, name: str, job: Job, dies: Dies) -> None:
        self.name = name
        self._device = WorkerDevice(job)
        self._dies = dies
        self._lost = False

    def measure(self, task: Task, take_look: TakeLook) -> Measured:
        assert not self._lost, "nothing is asked of a worker that is gone"
        if self._dies(self.name, task):
            self._lost = True
            raise WorkerLostError
        answer = self._device.answer(task, take_look)
        assert isinstance(answer, Measured)
        return answer


class Hands:
    """An executor with workers of this process; ``later`` join when the run begins to watch."""

    patience_s = 0.2

    def __init__(self, job: Job, count: int, dies: Dies, later: int = 0) -> None:
        self._all = [Hand(f"hand {number}", job, dies) for number in range(count + later)]
        self.workers: Sequence[Worker] = self._all[:count]

    def __enter__(self) -> Hands:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left open."""

    def watch(self, joined: Callable[[Worker], None], failed: Callable[[BaseException], None]) -> None:
        for hand in self._all[len(self.workers) :]:
            joined(hand)

    def close(self) -> None:
        """No hand blocks."""


@contextmanager
def open_switch(_: Topology) -> Iterator[FakeMeasurer]:
    """Open a device that loses half above 75 % of line rate, so that a sweep goes on."""
    yield FakeMeasurer(lambda spec, sent: sent if " 60" in spec.label or " 70" in spec.label else sent // 2)


Go = Callable[..., tuple[Path, list[Event]]]


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Go:
    """The function that runs frame loss of two sizes on hands, or in one process without them."""

    def perform(name: str, dies: Dies | None = None, count: int = 2, later: int = 0) -> tuple[Path, list[Event]]:
        if dies is not None:
            executor: Any = lambda prepared: Hands(prepared.job, count, dies, later)  # noqa: E731
            monkeypatch.setattr(single, "_executor", executor)
        events: list[Event] = []
        options = RunOptions(
            "rfc2544.frame_loss",
            WRS,
            "64,128",
            out=tmp_path / name,
            jobs=1 if dies is None else count,
            opener="test_lost_workers:open_switch",
        )
        run(options, events.append)
        return tmp_path / name, events

    return perform


def lost(events: list[Event]) -> list[WorkerLost]:
    return [event for event in events if isinstance(event, WorkerLost)]


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("count", [2, 3])
def test_one_lost_worker_changes_nothing(number: int, count: int, go: Go) -> None:
    deaths: list[str] = []

    def dies(worker: str, task: Task) -> bool:
        fatal = task.spec.number == number and not deaths
        deaths.extend([worker] * fatal)
        return fatal

    broken, events = go("broken", dies, count)
    assert lost(events) == [WorkerLost(deaths[0], count - 1)]
    assert files(broken) == files(go("whole")[0])


def test_a_worker_that_joins_takes_over(go: Go) -> None:
    broken, events = go("broken", lambda worker, task: worker != "hand 2", 2, later=1)
    assert len(lost(events)) == 2
    assert files(broken) == files(go("whole")[0])


def test_a_trial_that_workers_die_of_is_given_up(go: Go) -> None:
    with pytest.raises(TargetError, match=r"trial 1 of 64B/frame_loss was given up: 3 workers were lost with it"):
        go("broken", lambda worker, task: task.spec.number == 1 and "64 B" in task.spec.label, 5)


def test_a_run_without_any_worker_ends_and_says_so(go: Go) -> None:
    with pytest.raises(TargetError, match="no worker is left, and no new one has joined for 0 s"):
        go("broken", lambda worker, task: True, 2)
