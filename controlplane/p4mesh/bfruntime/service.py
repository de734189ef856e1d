"""The calls of the service bfrt_proto.BfRuntime on a channel, and what the server has refused."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import grpc

from p4mesh.bfruntime import messages
from p4mesh.bfruntime.errors import BfConnectError, BfRefusedError, BfRuntimeError, BfTimeoutError
from p4mesh.no_answer import why_no_answer
from p4mesh.p4runtime.channel import answers, channel_options
from p4mesh.p4runtime.errors import code_name
from p4mesh.p4runtime.stubs import rpc_status
from p4mesh.quantities import number_text

_DETAILS_KEY = "grpc-status-details-bin"
_METADATA_BYTES = 16 << 20
_GONE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


class Service:
    """A connection and its methods; raises BfConnectError when no server answers."""

    def __init__(self, address: str, connect_timeout_s: float, request_timeout_s: float) -> None:
        self._address = address
        self._request_timeout_s = request_timeout_s
        self._channel = grpc.insecure_channel(address, options=channel_options(_METADATA_BYTES))
        if not answers(self._channel, connect_timeout_s):
            self._channel.close()
            raise BfConnectError(
                f"no BF Runtime server answers at {address} within {number_text(connect_timeout_s)} s",
                hint=f"{why_no_answer(address)} bf_switchd has port 50052, and may listen on localhost alone",
            )
        self.stream_channel = self._channel.stream_stream(
            f"{messages.SERVICE}StreamChannel",
            request_serializer=messages.StreamMessageRequest.SerializeToString,
            response_deserializer=messages.StreamMessageResponse.FromString,
        )
        self._read = self._channel.unary_stream(
            f"{messages.SERVICE}Read",
            request_serializer=messages.ReadRequest.SerializeToString,
            response_deserializer=messages.ReadResponse.FromString,
        )

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def call(self, method: str, request: Any, response: Any, doing: str, names: Sequence[str] = ()) -> Any:
        """The answer to a request; ``names`` are those of the tables of its elements, for errors."""
        run = self._channel.unary_unary(
            f"{messages.SERVICE}{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=response.FromString,
        )
        try:
            return run(request, timeout=self._request_timeout_s, metadata=self._patience())
        except grpc.RpcError as error:
            raise self.raised(error, doing, names) from None

    def read(self, request: Any, names: Sequence[str]) -> list[Any]:
        """The entities of a read."""
        try:
            return [
                entity for answer in self._read(request, timeout=self._request_timeout_s) for entity in answer.entities
            ]
        except grpc.RpcError as error:
            raise self.raised(error, "read", names) from None

    def _patience(self) -> tuple[tuple[str, str], ...]:
        """How long the server is to wait for the operations of a request: longer than we do.

        Without this it waits 5 s for each, and then answers as if the operation had ended. It compares seconds and
        nanoseconds on their own; with the largest number of these only the seconds count.
        """
        return ("deadline_sec", str(ceil(self._request_timeout_s) + 1)), ("deadline_nsec", "999999999")

    def raised(self, error: grpc.RpcError, doing: str, names: Sequence[str] = ()) -> BfRuntimeError:
        """The exception for a failed call."""
        if refused := [(at, one) for at, one in enumerate(_outcomes(error)) if one.canonical_code]:
            at, first = refused[0]
            place = f" {names[at]}" if at < len(names) else ""
            more = f"; {len(refused)} of {len(names)} failed" if len(refused) > 1 else ""
            reason = first.message or "no reason given"
            return BfRefusedError(f"cannot {doing}{place}: {reason} ({code_name(first.canonical_code)}){more}")
        code, text = error.code(), error.details() or "no reason given"
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            place = f" {names[0]}" if names else ""
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            return BfTimeoutError(
                f"cannot {doing}{place}{more}: the BF Runtime server at {self._address} has not answered within "
                f"{number_text(self._request_timeout_s)} s",
                hint="set a longer tester.tofino.request_timeout_s if the switch is slow, as a model of one is; "
                "else look at bf_switchd",
            )
        if code in _GONE:
            return BfConnectError(
                f"cannot {doing}: the BF Runtime server at {self._address} does not answer ({code.name}: {text})",
                hint="is bf_switchd still running?",
            )
        return BfRefusedError(f"cannot {doing}: {text} ({code.name})")


def _outcomes(error: grpc.RpcError) -> list[Any]:
    """The outcome of each element up to the last that failed; none where the server gives none."""
    for entry in error.trailing_metadata() or ():
        if entry.key == _DETAILS_KEY:
            details = rpc_status.Status.FromString(entry.value).details
            return [messages.Error.FromString(detail.value) for detail in details]
    return []
