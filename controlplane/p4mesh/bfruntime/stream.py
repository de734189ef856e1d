"""The StreamChannel of a controller: the subscription, and what becomes of ports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Empty, Queue, SimpleQueue
from typing import Any

import grpc

from p4mesh.bfruntime.errors import BfConnectError, BfRefusedError
from p4mesh.bfruntime.messages import StreamMessageRequest
from p4mesh.bfruntime.service import Service
from p4mesh.quantities import number_text

PortEvent = Callable[[int, bool], None]
"""Takes a device port and whether it is up; called by the thread of the stream."""

_CLOSE_S = 1.0
"""How long a server may take to end its half of a stream."""


class Subscription:
    """One open StreamChannel; it is the heartbeat of the client, who is forgotten when it ends."""

    def __init__(self, service: Service, client_id: int, device_id: int, timeout_s: float, on_port: PortEvent) -> None:
        self.has_ended = False
        self._service = service
        self._requests: SimpleQueue[Any] = SimpleQueue()
        # Not SimpleQueue, as in p4mesh.p4runtime.stream.
        self._answers: Queue[Any] = Queue()
        self._on_port = on_port
        self._failure: grpc.RpcError | None = None
        self._call = service.stream_channel(iter(self._outgoing()))
        self._reader = threading.Thread(target=self._read, name="bfruntime-stream", daemon=True)
        self._reader.start()
        request = StreamMessageRequest(client_id=client_id)
        request.subscribe.device_id = device_id
        request.subscribe.notifications.enable_port_status_change_notifications = True
        self._requests.put(request)
        try:
            answer = self._answers.get(timeout=timeout_s)
        except Empty:
            self.close()
            raise BfConnectError(
                f"the BF Runtime server did not answer the subscription in {number_text(timeout_s)} s"
            ) from None
        if answer is None:
            assert self._failure is not None, "a stream that ends without an answer has failed"
            failed = service.raised(self._failure, f"subscribe as client {client_id}")
            failed.hint = failed.hint or "end the controller that has this client id, or give another client_id"
            raise failed
        if answer.status.code:
            self.close()
            raise BfRefusedError(f"cannot subscribe as client {client_id}: {answer.status.message}")

    def close(self) -> None:
        """End the stream and its threads; a server that does not let go of the client is left after a second."""
        self._requests.put(None)
        self._reader.join(_CLOSE_S)
        self._call.cancel()
        self._reader.join()

    def _outgoing(self) -> Iterator[Any]:
        while (request := self._requests.get()) is not None:
            yield request

    def _read(self) -> None:
        try:
            for message in self._call:
                kind = message.WhichOneof("update")
                if kind == "subscribe":
                    self._answers.put(message.subscribe)
                elif kind == "port_status_change_notification":
                    changed = message.port_status_change_notification
                    port = int.from_bytes(changed.table_entry.key.fields[0].exact.value, "big")
                    self._on_port(port, changed.port_up)
        except grpc.RpcError as error:
            self._failure = error
        finally:
            self.has_ended = True
            self._answers.put(None)
