"""Gives frames that come to the controller to the protocols of the tester's ports, and sends their frames.

Nothing is polled: while time passes here, a punted frame or the next timer ends the waiting. On a target with virtual
time a reply leaves at the very time at which the frame came.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count

from p4mesh.errors import InternalError
from p4mesh.target.base import Target
from p4mesh.tester.dataplane import DataPlane
from p4mesh.tester.responders import Outgoing, Responder
from p4mesh.traffic.line_rate import PS_PER_NS


class PacketService:
    """Packet I/O of a tester. Without responders and frames to send it only lets time pass."""

    def __init__(self, dataplane: DataPlane, target: Target) -> None:
        self._dataplane = dataplane
        self._target = target
        self._ports = tuple(sorted(target.rate_bps_of))
        self._responders: list[Responder] = []
        self._scheduled: list[tuple[int, int, Outgoing]] = []
        self._order = count()

    @property
    def now_ns(self) -> int:
        """The target's time, as responders see it."""
        return self._target.now_ps // PS_PER_NS

    def attach(self, *responders: Responder) -> None:
        """Let responders speak from now on; the program hands over the frames that they want now."""
        self._responders.extend(responders)
        self._punt()

    def detach(self, *responders: Responder) -> None:
        """Let responders be silent; those that are not attached are ignored."""
        self._responders = [known for known in self._responders if all(known is not one for one in responders)]
        self._punt()

    def detach_all(self) -> None:
        """Let all responders be silent, those of a trial that was interrupted, too."""
        if self._responders:
            self.detach(*self._responders)

    def send(self, frames: Iterable[Outgoing]) -> None:
        """Send frames now."""
        for outgoing in frames:
            self._dataplane.send(outgoing.port, outgoing.frame, stamped=outgoing.stamped)

    def send_later(self, after_ns: int, outgoing: Outgoing) -> None:
        """Send a frame once this much time has passed."""
        heappush(self._scheduled, (self._target.now_ps + after_ns * PS_PER_NS, next(self._order), outgoing))

    def cancel(self) -> None:
        """Forget the frames that are to be sent later."""
        self._scheduled.clear()

    def wait(self, duration_ns: int | Fraction) -> None:
        """Let the target's time pass, and serve the responders meanwhile."""
        if not self._responders and not self._scheduled:
            self._target.wait(duration_ns, self._dataplane.packet_outs_sent)
            return
        end_ps = self._target.now_ps + int(duration_ns * PS_PER_NS)
        self._dispatch(self._dataplane.take_handed())
        while True:
            self._be_on_time()
            now_ps = self._target.now_ps
            if now_ps >= end_ps:
                return
            until_ps = min(end_ps, self._next_ps() or end_ps)
            self._target.wait_for_packet_in(max(0, until_ps - now_ps), self._dataplane)
            self._dispatch(self._dataplane.take_handed())

    def serve(self) -> None:
        """Let responders have everything that has been punted so far, also while :meth:`wait` was not running."""
        if self._responders:
            self._dispatch(self._dataplane.take_punted(self._ports))

    def _dispatch(self, frames: Iterable[tuple[int, bytes]]) -> None:
        for port, frame in frames:
            for responder in self._responders:
                self.send(responder.on_frame(port, frame, self.now_ns))

    def _be_on_time(self) -> None:
        """Send the frames that are due."""
        while self._scheduled and self._scheduled[0][0] <= self._target.now_ps:
            self.send([heappop(self._scheduled)[2]])
        for responder in self._responders:
            due_ns = responder.next_event()
            while due_ns is not None and due_ns <= self.now_ns:
                self.send(responder.on_time(self.now_ns))
                later_ns = responder.next_event()
                if later_ns is not None and later_ns <= due_ns:
                    raise InternalError(f"{type(responder).__name__}: the timer of {due_ns} ns does not go on")
                due_ns = later_ns

    def _next_ps(self) -> int | None:
        """Time at which something is to be sent next; None when nothing is."""
        times = [due_ns * PS_PER_NS for one in self._responders if (due_ns := one.next_event()) is not None]
        return min([*times, *(at_ps for at_ps, _, _ in self._scheduled[:1])], default=None)

    def _punt(self) -> None:
        self._dataplane.punt({rule for responder in self._responders for rule in responder.wants()})
