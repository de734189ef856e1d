"""Processes of a node: started in its namespace, watched until they are ready, ended with the network."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from p4mesh.errors import TargetError
from p4mesh.quantities import number_text

_READY_S = 20.0
_POLL_S = 0.02
_END_S = 5.0
_TAIL_BYTES = 500
_BY_HAND = "these are its own last words; run it by hand to see more"


class Processes:
    """Programs of one node with their logs; their numbers are in a file, so that another command can end them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._numbers = directory / "processes"

    def start(self, name: str, command: Sequence[str], environment: dict[str, str] | None = None) -> None:
        """Start a program that runs until :meth:`stop`."""
        with self.log(name).open("w") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        with self._numbers.open("a", encoding="ascii") as file:
            file.write(f"{process.pid}\n")

    def log(self, name: str) -> Path:
        """The file with the output of a program."""
        return self._directory / f"{name}.log"

    def wait_for(self, name: str, ready: Callable[[], bool]) -> None:
        """Wait until a program is ready; raises TargetError with its last output when it ends, or is not in time."""
        end = time.monotonic() + _READY_S
        while not ready():
            self.require_running(name)
            if time.monotonic() > end:
                raise TargetError(
                    f"{name} is not ready after {number_text(_READY_S)} s: {self._tail(name)}", hint=_BY_HAND
                )
            time.sleep(_POLL_S)

    def require_running(self, name: str) -> None:
        """Raise TargetError with the last output of a program when one has ended by itself."""
        if not all(_runs(number) for number in self._started()):
            raise TargetError(f"{name} has ended: {self._tail(name)}", hint=_BY_HAND)

    def stop(self) -> None:
        """End all programs, those that go on first asked, then killed."""
        numbers = self._started()
        for number in reversed(numbers):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGTERM)
        end = time.monotonic() + _END_S
        for number in numbers:
            while _runs(number):
                if time.monotonic() > end:
                    with suppress(ProcessLookupError):
                        os.kill(number, signal.SIGKILL)
                time.sleep(_POLL_S)
        self._numbers.unlink(missing_ok=True)

    def _started(self) -> list[int]:
        return [int(word) for word in self._numbers.read_text().split()] if self._numbers.exists() else []

    def _tail(self, name: str) -> str:
        tail = self.log(name).read_text(encoding="utf-8", errors="replace")[-_TAIL_BYTES:]
        return tail.strip() or "it says nothing"


def _runs(number: int) -> bool:
    """Whether a process runs; a child that has ended is taken away."""
    with suppress(ChildProcessError):
        if os.waitpid(number, os.WNOHANG)[0] == number:
            return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True
