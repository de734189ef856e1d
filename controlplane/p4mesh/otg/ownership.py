"""The right to change a session: one client has it while something runs, the others are told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from p4mesh.errors import OtgBusyError

LEASE_S = 10.0
"""Time after the last request of an owner, whose flows run, from which others may take over: it may have vanished."""
PROTOCOLS_LEASE_S = 3.0
"""The same where its protocols run alone: tests of one process leave them, each with a client of its own."""
_MARGIN_S = 0.5
_ENDING_S = 0.5
"""Time in which the server has seen the end of a connection that its client has closed before the request came."""


class Ownership:
    """The owner of one session. Clients are named by their connections."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._lock = threading.Lock()
        self._owner = ""
        self._seen_s = 0.0

    def seen(self, client: str) -> None:
        """Take note that a client has asked for something."""
        with self._lock:
            if client == self._owner:
                self._seen_s = self._now_s()

    def take(self, client: str, *, lease_s: float, preempts: bool = False) -> None:
        """Let a client change the session from now on; raises OtgBusyError where another one has it in use.

        ``lease_s`` is how long the session is its owner's without a request: 0 where nothing runs.
        """
        with self._lock:
            left_s = self._seen_s + lease_s - self._now_s()
            if self._owner not in ("", client) and left_s > 0 and not preempts:
                error = OtgBusyError(
                    f"the session is that of {self._owner}, whose flows or protocols run",
                    hint=f"let it stop them, or set options.port_options.location_preemption; without a request of it"
                    f" the session is free in {left_s:.0f} s",
                )
                error.free_in_s = left_s
                raise error
            self._owner, self._seen_s = client, self._now_s()

    def gone(self, client: str) -> None:
        """Free the session of a client whose connection has ended."""
        with self._lock:
            if client == self._owner:
                self._owner = ""


class Patience:
    """Waits for a session whose owner may have closed its connection just now, or whose protocols alone keep it."""

    def __init__(self) -> None:
        self._ends_s = time.monotonic() + PROTOCOLS_LEASE_S + _MARGIN_S
        self._may_be_ending = True

    def pause_s(self, error: OtgBusyError) -> float:
        """Time after which to ask again; raises the error where that is too long."""
        if time.monotonic() + error.free_in_s <= self._ends_s:
            return error.free_in_s
        if not self._may_be_ending:
            raise error
        self._may_be_ending = False
        return _ENDING_S
