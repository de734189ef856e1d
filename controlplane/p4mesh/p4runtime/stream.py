"""The StreamChannel of a controller: arbitration, packet I/O, digests and notifications.

One thread sorts the messages of the switch into queues; a thread of the gRPC library sends. Nothing here interprets a
packet.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from queue import Empty, Queue, SimpleQueue
from time import monotonic

import grpc

from p4mesh.p4runtime.errors import ConnectError, NotPrimaryError, PacketOutError, WaitError, code_name
from p4mesh.p4runtime.packet_ins import PacketRun, split_batch
from p4mesh.p4runtime.packet_io import BATCH_KEY, pack_batch, single
from p4mesh.p4runtime.service import Service
from p4mesh.p4runtime.status import raised
from p4mesh.p4runtime.stubs import p4r

_MAX_BATCH = 1024
"""Packet-outs in one message."""

_CLOSE_S = 1.0
"""Time that a server has to end its half of a stream."""


class Stream:
    """One open StreamChannel that has asked to be primary."""

    def __init__(
        self, stub: Service, address: str, device_id: int, election_id: int, role: str, timeout_s: float
    ) -> None:
        self._address = address
        self._requests: SimpleQueue[p4r.StreamMessageRequest | bytes | None] = SimpleQueue()
        self._batches = False
        # Not SimpleQueue: up to Python 3.12 it can wait for ever where the given time has passed when it begins to.
        self._arbitrations: Queue[p4r.MasterArbitrationUpdate | None] = Queue()
        self._errors: deque[p4r.StreamError] = deque()
        self._failure: grpc.RpcError | None = None
        self._packet_ins: Queue[list[PacketRun | p4r.PacketIn] | None] = Queue()
        self._untaken: deque[PacketRun | p4r.PacketIn] = deque()
        self.digests: Queue[p4r.DigestList | None] = Queue()
        self.idle_notifications: Queue[p4r.IdleTimeoutNotification | None] = Queue()
        self.is_primary = False
        self.has_ended = False
        self._call = stub.StreamChannel(self._outgoing(), metadata=((BATCH_KEY, "1"),))
        self._reader = threading.Thread(target=self._read, name="p4runtime-stream", daemon=True)
        self._reader.start()
        self.arbitrate(device_id, election_id, role, timeout_s)

    def send(self, message: p4r.StreamMessageRequest | bytes) -> None:
        """Send a message, or an encoded packet-out, after all earlier ones."""
        self.check()
        self._requests.put(message)

    def check(self) -> None:
        """Raise the error that the switch has reported about earlier messages, or that the stream is broken."""
        if self._errors:
            error = self._errors.popleft()
            raise PacketOutError(f"the switch refused a message: {error.message} ({code_name(error.canonical_code)})")
        if self._failure is not None:
            raise raised(self._failure, "use the stream", self._address)

    def take_packet_ins(self, most: int, timeout_s: float) -> list[PacketRun | p4r.PacketIn]:
        """Packet-ins that are here, up to ``most``; waits for the first; none when none comes in time.

        Raises ConnectError when the stream has ended and all its packet-ins are taken.
        """
        end = monotonic() + timeout_s
        while not self._untaken:
            try:
                arrived = self._packet_ins.get(timeout=max(0.0, end - monotonic()))
            except Empty:
                return []
            if arrived is None:
                # The end stays in the queue, for the next call.
                self._packet_ins.put(None)
                self.check()
                raise ConnectError(f"the P4Runtime server at {self._address} closed the stream")
            self._untaken += arrived
        taken: list[PacketRun | p4r.PacketIn] = []
        while most and self._untaken:
            item = self._untaken.popleft()
            size = packets_of(item)
            if isinstance(item, PacketRun) and size > most:
                self._untaken.appendleft(item.part(slice(most, None)))
                item, size = item.part(slice(most)), most
            taken.append(item)
            most -= size
        return taken

    def close(self) -> None:
        """End the stream and its threads, after all that was sent.

        A server ends its half of the stream when it has let go of the controller: the next one, with the same election
        id too, is not refused. A server that does not answer is left after a second.
        """
        self._requests.put(None)
        self._reader.join(_CLOSE_S)
        self._call.cancel()
        self._reader.join()

    def _outgoing(self) -> Iterator[p4r.StreamMessageRequest]:
        requests = self._requests
        taken: list[p4r.StreamMessageRequest | None] = []
        while True:
            item = taken.pop() if taken else requests.get()
            if item is None:
                return
            if not isinstance(item, bytes):
                yield item
                continue
            packets = [item]
            # Packet-outs that wait already go in one message; none is waited for.
            limit = _MAX_BATCH if self._batches else 1
            while len(packets) < limit and not taken and not requests.empty():
                following = requests.get()
                if isinstance(following, bytes):
                    packets.append(following)
                else:
                    taken.append(following)
            yield pack_batch(packets) if len(packets) > 1 else single(item)

    def arbitrate(self, device_id: int, election_id: int, role: str, timeout_s: float) -> None:
        message = p4r.StreamMessageRequest()
        arbitration = message.arbitration
        arbitration.device_id = device_id
        arbitration.election_id.high = election_id >> 64
        arbitration.election_id.low = election_id & 0xFFFFFFFFFFFFFFFF
        if role:
            arbitration.role.name = role
        self._requests.put(message)
        try:
            answer = self._arbitrations.get(timeout=timeout_s)
        except Empty:
            raise WaitError(
                f"the P4Runtime server at {self._address} did not answer the arbitration in {timeout_s} s"
            ) from None
        if answer is None:
            self.check()
            raise WaitError(f"the P4Runtime server at {self._address} closed the stream")
        # The answer has come, so the headers have.
        self._batches = any(entry[0] == BATCH_KEY for entry in self._call.initial_metadata() or ())
        if answer.status.code:
            highest = answer.election_id.high << 64 | answer.election_id.low
            raise NotPrimaryError(
                f"not primary for device {device_id} with election id {election_id}: {answer.status.message}",
                hint=f"use an election id above {highest}, or stop the other controller",
            )

    def _read(self) -> None:
        packet_ins = self._packet_ins
        try:
            for message in self._call:
                kind = message.WhichOneof("update")
                if kind == "packet":
                    packet_ins.put([message.packet])
                elif kind == "other":
                    # Together: each element of a queue wakes the thread that waits for it.
                    packet_ins.put(list(split_batch(message.other)))
                elif kind == "arbitration":
                    self.is_primary = not message.arbitration.status.code
                    self._arbitrations.put(message.arbitration)
                elif kind == "digest":
                    self.digests.put(message.digest)
                elif kind == "idle_timeout_notification":
                    self.idle_notifications.put(message.idle_timeout_notification)
                elif kind == "error":
                    self._errors.append(message.error)
        except grpc.RpcError as error:
            self._failure = error
        finally:
            self.is_primary = False
            self.has_ended = True
            for queue in (packet_ins, self.digests, self.idle_notifications, self._arbitrations):
                queue.put(None)


def packets_of(item: PacketRun | p4r.PacketIn) -> int:
    """Number of packet-ins in an element of the stream."""
    return len(item) if isinstance(item, PacketRun) else 1


def take(queue: Queue, timeout_s: float, what: str) -> object:  # type: ignore[type-arg]
    """Next element of a queue; raises WaitError when none comes in time or the stream ends."""
    end = monotonic() + timeout_s
    try:
        item = queue.get(timeout=max(0.0, end - monotonic()))
    except Empty:
        raise WaitError(f"no {what} came in {timeout_s} s") from None
    if item is None:
        queue.put(None)
        raise WaitError(f"the stream ended before a {what} came")
    return item
