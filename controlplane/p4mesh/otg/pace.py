"""How the tester's time passes between and during requests.

In real time it passes by itself. Virtual time follows the wall clock, or a client that asks (``fast``): it passes when
a request comes, as long as the client has waited since the answer before, and at least a second between two requests
for the same metrics or states of what runs. So a script that polls once a second sees a second pass between polls,
however long that takes to compute, and one that polls without waiting is answered as fast as it can be computed.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from enum import Enum

from p4mesh.tester.instrument import Tester
from p4mesh.traffic.line_rate import NS_PER_S

LONGEST_ANSWER_S = 5.0
"""Time that a request may take to let virtual time pass; clients give up after ten seconds by default."""
_POLL_NS = NS_PER_S
_FINEST_NS = 100_000_000
"""Waiting times of clients are rounded down to this, so that the delays of a machine do not show."""
_FIRST_STEP_NS = 1_000_000
_LONGEST_STEP_NS = NS_PER_S
_STEP_S = 0.1
"""Time that a step of virtual time is to take on the machine."""
_IDLE_NS = 10_000_000


class TimeMode(str, Enum):
    """The ways in which virtual time passes."""

    WALL = "wall"
    FAST = "fast"


class Pace(ABC):
    """Lets time pass for one tester."""

    idle_s: float | None = None
    """Time without requests after which :meth:`idle` is called; None: never."""

    def __init__(self, tester: Tester) -> None:
        self._tester = tester

    @abstractmethod
    def before(self, poll: str) -> None:
        """Let the time pass that has passed for the client; ``poll`` names what it asks for again and again, or is
        empty.
        """

    def after(self) -> None:  # noqa: B027 - most paces do not care
        """Take note that a request is answered."""

    def idle(self) -> None:  # noqa: B027 - most paces do not care
        """Let time pass without a request."""

    def pass_time(self, duration_ns: int, most_s: float) -> int:
        """Let virtual time pass in steps, for ``most_s`` of the machine's time; return what has passed in ns."""
        left_ns, ends_s = duration_ns, time.monotonic() + most_s
        # Flows may have been started since the last time: nobody knows how long a step takes before the first ones.
        longest_ns = _FIRST_STEP_NS
        while left_ns > 0:
            began_s = time.monotonic()
            if began_s >= ends_s:
                break
            step_ns = min(left_ns, longest_ns)
            self._tester.wait(step_ns)
            left_ns -= step_ns
            # A step doubles while it is short, and halves when it was long: how much is to do changes with the flows.
            took_s = time.monotonic() - began_s
            if took_s > _STEP_S:
                longest_ns = max(_FIRST_STEP_NS, step_ns // 2)
            elif step_ns == longest_ns:
                longest_ns = min(_LONGEST_STEP_NS, 2 * step_ns)
        return duration_ns - left_ns


class RealTime(Pace):
    """A target whose time passes by itself: protocols on its ports are served meanwhile."""

    idle_s = 0.0

    def before(self, poll: str) -> None:
        """Serve what has come."""
        self._tester.packets.serve()

    def idle(self) -> None:
        """Serve the ports for a moment."""
        self._tester.wait(_IDLE_NS)


class WallClock(Pace):
    """Virtual time that follows the wall clock, or falls behind where it takes longer to compute."""

    idle_s = 0.05

    def __init__(self, tester: Tester) -> None:
        super().__init__(tester)
        self._seen_ns = time.monotonic_ns()

    def before(self, poll: str) -> None:
        """Catch up with the clock."""
        self._follow(LONGEST_ANSWER_S)

    def idle(self) -> None:
        """Catch up a little, so that a request need not wait."""
        self._follow(_STEP_S)

    def _follow(self, most_s: float) -> None:
        self._seen_ns += self.pass_time(time.monotonic_ns() - self._seen_ns, most_s)


class OnDemand(Pace):
    """Virtual time that passes when clients ask."""

    def __init__(self, tester: Tester) -> None:
        super().__init__(tester)
        self._answered_ns = time.monotonic_ns()
        self._polled: set[str] = set()
        """Polls since time has passed."""

    def before(self, poll: str) -> None:
        """Let the waiting time of the client pass, and at least a second between two polls."""
        waited_ns = time.monotonic_ns() - self._answered_ns
        due_ns = waited_ns // _FINEST_NS * _FINEST_NS
        if poll in self._polled:
            due_ns = max(due_ns, _POLL_NS)
        if due_ns >= _POLL_NS or not poll:
            self._polled.clear()
        if poll:
            self._polled.add(poll)
        self.pass_time(due_ns, LONGEST_ANSWER_S)

    def after(self) -> None:
        """The client begins to wait."""
        self._answered_ns = time.monotonic_ns()


def pace_of(tester: Tester, mode: TimeMode) -> Pace:
    """The pace of a tester; ``mode`` is for virtual time alone."""
    if tester.target.capabilities.real_time:
        return RealTime(tester)
    return WallClock(tester) if mode is TimeMode.WALL else OnDemand(tester)
