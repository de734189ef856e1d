"""A device of the tests' own between two interfaces, which does to chosen frames what it is told, and counts it.

It needs nothing of the kernel but packet sockets: what netem does, where a kernel has no netem.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from enum import Enum

from p4mesh.network.namespaces import entered

_SIGNATURE_AT, _MAGIC = 42, b"PM"
"""Behind Ethernet, IPv4 and UDP."""
_RUN_BYTES = slice(_SIGNATURE_AT + 2, _SIGNATURE_AT + 3)
_SEQUENCE_PLACE, _PAYLOAD_PLACE = _SIGNATURE_AT + 6, _SIGNATURE_AT + 20
_BUFFER_BYTES = 16 << 20
_FORCED_BUFFERS = (32, 33)
"""SO_SNDBUFFORCE and SO_RCVBUFFORCE of Linux, which Python does not name."""
_IGNORE_OUTGOING = 23
_POLL_S = 0.001
ROUND = 10
"""Of so many test frames of a direction, faults are told which ones they meet."""
LATER = 2 * ROUND
"""Frames between one and its late copy: more than it takes to take the copy for the frame that a loss left out."""


class Fault(Enum):
    """Fate of a frame, each counted by direction."""

    LOSS = "loss"
    COPY = "copy"
    """It leaves twice."""
    LATE_COPY = "late copy"
    """It leaves again behind :data:`LATER` further ones, and is counted then."""
    SWAP = "swap"
    """It leaves behind the next one."""
    PAYLOAD_BIT = "payload bit"
    """One bit behind the signature is another one."""
    SIGNATURE_BIT = "signature bit"


class Forwarder:
    """Forwards frames from either interface to the other, after a delay, and counts what it does to test frames."""

    def __init__(self, ends: tuple[socket.socket, socket.socket], faults: Mapping[int, Fault], delay_s: float) -> None:
        """``faults``: what happens to the n-th of each :data:`ROUND` test frames of a direction."""
        self._ends, self._faults, self._delay_s = ends, faults, delay_s
        self.counts: Counter[tuple[int, Fault]] = Counter()
        self.forwarded: Counter[int] = Counter()
        """Frames by the end that they came from, copies too."""
        self._seen: Counter[tuple[int, bytes]] = Counter()
        self._swapped: dict[int, bytes] = {}
        self._late: dict[tuple[int, bytes], deque[tuple[int, bytes]]] = defaultdict(deque)
        """Frames that leave again, with the number of the test frame behind which they do."""
        self._waiting: deque[tuple[float, int, bytes]] = deque()
        self._ended = threading.Event()

    def run(self) -> None:
        """Forward until :meth:`end`."""
        while not self._ended.is_set():
            for end in select.select(self._ends, [], [], _POLL_S)[0]:
                self._take(self._ends.index(end))
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                _, source, frame = self._waiting.popleft()
                # The tester's end is off before a run and after it.
                with suppress(OSError):
                    self._ends[1 - source].send(frame)

    def end(self) -> None:
        """Let :meth:`run` return."""
        self._ended.set()

    def _take(self, source: int) -> None:
        frame = self._ends[source].recv(16_384)
        for leaving in self._changed(source, frame):
            self.forwarded[source] += 1
            self._waiting.append((time.monotonic() + self._delay_s, source, leaving))

    def _changed(self, source: int, frame: bytes) -> Iterator[bytes]:
        fault = None
        late: deque[tuple[int, bytes]] = deque()
        number = 0
        if frame[_SIGNATURE_AT:].startswith(_MAGIC):
            key = (source, frame[_RUN_BYTES])
            late, number = self._late[key], self._seen[key]
            fault = self._faults.get(number % ROUND)
            self._seen[key] += 1
            if fault is Fault.LATE_COPY:
                late.append((number + LATER, frame))
            elif fault is not None:
                self.counts[source, fault] += 1
        if fault is Fault.SWAP:
            self._swapped[source] = frame
            return
        if fault is Fault.PAYLOAD_BIT:
            yield _flipped(frame, _PAYLOAD_PLACE)
        elif fault is Fault.SIGNATURE_BIT:
            yield _flipped(frame, _SEQUENCE_PLACE)
        elif fault is not Fault.LOSS:
            yield frame
        if fault is Fault.COPY:
            yield frame
        if (held := self._swapped.pop(source, None)) is not None:
            yield held
        while late and late[0][0] <= number:
            self.counts[source, Fault.LATE_COPY] += 1
            yield late.popleft()[1]


def _flipped(frame: bytes, place: int) -> bytes:
    return frame[:place] + bytes([frame[place] ^ 1]) + frame[place + 1 :]


@contextmanager
def forwarding(
    namespace: str, interfaces: tuple[str, str], faults: Mapping[int, Fault], delay_s: float = 0.0
) -> Iterator[Forwarder]:
    """Run a forwarder between two interfaces in a thread."""
    with ExitStack() as stack:
        first, second = (stack.enter_context(_opened(namespace, interface)) for interface in interfaces)
        forwarder = Forwarder((first, second), faults, delay_s)
        thread = threading.Thread(target=forwarder.run)
        thread.start()
        try:
            yield forwarder
        finally:
            forwarder.end()
            thread.join()


@contextmanager
def _opened(namespace: str, interface: str) -> Iterator[socket.socket]:
    with entered(namespace):
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    with opened as raw:
        for option in _FORCED_BUFFERS:
            raw.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
        raw.setsockopt(263, _IGNORE_OUTGOING, 1)
        with entered(namespace):
            raw.bind((interface, 3))
        yield raw
