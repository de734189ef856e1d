"""The thread that uses the tester: one request after the other, also when the target fails in between."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from p4mesh.errors import TargetError
from p4mesh.otg.session import Session
from p4mesh.otg.worker import Worker


class FakePace:
    """Fails once while nobody asks."""

    idle_s = 0.0

    def __init__(self) -> None:
        self.failed = threading.Event()

    def before(self, poll: str) -> None:
        pass

    def after(self) -> None:
        pass

    def idle(self) -> None:
        if not self.failed.is_set():
            self.failed.set()
            raise TargetError("the switch is gone")


class FakeSession:
    is_running = False

    def __init__(self) -> None:
        self.pace = FakePace()

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_failure_between_requests_is_told_to_the_next_one_and_ends_nothing() -> None:
    session = FakeSession()
    worker = Worker(cast(Session, session))
    worker.start()
    assert session.pace.failed.wait(30)

    def answer(_: Any) -> str:
        return "answer"

    with pytest.raises(TargetError, match="the switch is gone"):
        worker.ask(answer).result(30)
    assert worker.ask(answer).result(30) == "answer"
    worker.stop()
