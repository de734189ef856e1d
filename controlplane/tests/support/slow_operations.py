"""Operations on tables of a fake bf_switchd: they go on beside the server, which waits for their ends.

As the public server does it: the wait for each ends after ``deadline_sec`` of the request, or 5 s, and is then answered
as success. An end that nobody waits for any more is kept for the next operation of a client with this number on the
table, if there is one. Seconds and nanoseconds of a deadline are compared each on its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import contains

from support.bfruntime_values import EXISTS, Refused

_SECOND_NS = 1_000_000_000


def is_too_late(asked: Mapping[str, str], started_ns: int) -> bool:
    """Whether a request with this metadata has no time left."""
    if "deadline_sec" not in asked and "deadline_nsec" not in asked:
        return False
    seconds, nanoseconds = divmod(time.time_ns(), _SECOND_NS)
    last_seconds = started_ns // _SECOND_NS + int(asked.get("deadline_sec", 0))
    last_nanoseconds = started_ns % _SECOND_NS + int(asked.get("deadline_nsec", 0))
    return seconds > last_seconds or nanoseconds > last_nanoseconds


class SlowOperations:
    """``may_end`` holds all operations back while it is not set."""

    def __init__(self) -> None:
        self.duration_s = 0.0
        self.wait_s = 5.0
        self.may_end = threading.Event()
        self.may_end.set()
        self._running: set[int] = set()
        self._ended: dict[int, set[int]] = {}
        """Tables by the numbers of the connected clients."""
        self._changed = threading.Condition()

    def start(self, client: int, table: int, run: Callable[[], None]) -> None:
        """Begin an operation of a client; one on a table at a time."""
        with self._changed:
            if table in self._running:
                raise Refused(EXISTS, "Operation execute failed")
            self._running.add(table)
        threading.Thread(target=self._end, args=(client, table, run), daemon=True).start()

    def _end(self, client: int, table: int, run: Callable[[], None]) -> None:
        time.sleep(self.duration_s)
        self.may_end.wait()
        with self._changed:
            run()
            self._running.remove(table)
            self._ended.get(client, set()).add(table)
            self._changed.notify_all()

    def wait(self, client: int, tables: Sequence[int], asked: Mapping[str, str]) -> None:
        """Wait for the end of a client's operation on each table."""
        wait_s = float(asked.get("deadline_sec", self.wait_s))
        for table in tables:
            with self._changed:
                ended = self._ended.get(client, set())
                self._changed.wait_for(partial(contains, ended, table), wait_s)
                ended.discard(table)

    def connected(self, client: int) -> None:
        """Begin a client's connection, for which nothing has ended yet."""
        with self._changed:
            self._ended[client] = set()

    def disconnected(self, client: int) -> None:
        """Forget a client."""
        with self._changed:
            del self._ended[client]

    def all_have_ended(self, most_s: float) -> bool:
        """Wait until no operation is under way; return False when some still are after a time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, most_s)
