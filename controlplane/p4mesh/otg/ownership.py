"""The right to change a session: one client has it while something runs, the others are told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from p4mesh.errors import OtgBusyError

LEASE_S = 10.0
"""Time after the last request of an owner from which others may take over: it may have vanished."""


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

    def take(self, client: str, *, busy: bool, preempts: bool = False) -> None:
        """Let a client change the session from now on; raises OtgBusyError where another one has it in use."""
        with self._lock:
            left_s = self._seen_s + LEASE_S - self._now_s()
            if self._owner not in ("", client) and busy and left_s > 0 and not preempts:
                raise OtgBusyError(
                    f"the session is that of {self._owner}, whose flows or protocols run",
                    hint=f"let it stop them, or set options.port_options.location_preemption; without a request of it"
                    f" the session is free in {left_s:.0f} s",
                )
            self._owner, self._seen_s = client, self._now_s()

    def gone(self, client: str) -> None:
        """Free the session of a client whose connection has ended."""
        with self._lock:
            if client == self._owner:
                self._owner = ""
