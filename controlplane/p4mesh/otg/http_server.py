"""The API over HTTP: JSON in and out, as the package snappi speaks it."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Awaitable, Callable
from itertools import islice
from math import inf

import h11
from google.protobuf import json_format
from snappi import otg_pb2 as pb2
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from p4mesh.access_token import is_token
from p4mesh.errors import OtgBusyError, OtgError
from p4mesh.otg.elements import MOST_ERRORS, OtgErrors
from p4mesh.otg.operations import (
    MOST_REQUEST_BYTES,
    OPERATIONS,
    PATIENCE_S,
    TOO_LONG,
    WITHOUT_TOKEN,
    Failure,
    Operation,
)
from p4mesh.otg.ownership import Patience
from p4mesh.otg.validation import violations
from p4mesh.otg.worker import Worker

_JSON = "application/json"
_LONGEST_REASON = 1000
_SPARED_S = 0.5
"""Age of a connection from which it is idle: its request may be on its way before."""
_WATCH_S = 1.0
_DEEPEST = 64
"""Levels of objects in JSON."""


def application(worker: Worker, token: str | None) -> Starlette:
    """The application; with a ``token`` every request must show it."""
    routes = [Route(it.path, _handler(it, worker), methods=[it.method]) for it in OPERATIONS]
    return Starlette(routes=routes, middleware=[Middleware(_Guard, token=token)])


class _Guard:
    """Refuses requests without the token, and those of pages in a browser, which any site can make it send."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        app = self._app
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if "origin" in headers or "sec-fetch-site" in headers:
                app = _response(Failure(403, "validation", ("requests of pages in a browser are refused",)))
            elif self._token is not None and not is_token(_shown_token(headers), self._token):
                app = _response(Failure(401, "validation", (WITHOUT_TOKEN,)))
        await app(scope, receive, send)


def _shown_token(headers: Headers) -> str:
    """The token of a request: as such, or as the password that clients take from https://USER:TOKEN@HOST."""
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        try:
            value = base64.b64decode(value, validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return value


def connections(worker: Worker) -> type[H11Protocol]:
    """Protocol of connections that frees the session of a client whose connection ends.

    Nobody is kept out by those that ask nothing: a request that does not come to its end closes its connection, and a
    new connection closes the one that is idle for longest where there are as many as the server serves.
    """

    class Connection(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.waits_since_s = self.loop.time()
            self._watch()
            # uvicorn refuses requests while there are as many connections as its limit.
            beyond = len(self.connections) - (self.limit_concurrency or sys.maxsize) + 1
            if beyond > 0:
                before_s = self.loop.time() - _SPARED_S
                known = [it for it in self.connections if isinstance(it, Connection) and it.idle_since_s() <= before_s]
                for longest in sorted(known, key=Connection.idle_since_s)[:beyond]:
                    self.connections.discard(longest)
                    longest.transport.abort()

        def idle_since_s(self) -> float:
            """Time since when nothing is asked; never where a request is there."""
            return self.waits_since_s if self.conn.their_state is h11.IDLE else inf

        def data_received(self, data: bytes) -> None:
            if self.timeout_keep_alive_task is not None:
                self.waits_since_s = self.loop.time()
            super().data_received(data)

        def _watch(self) -> None:
            # Between requests uvicorn has a timer of its own; in front of the first one it has none.
            waits = self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and self.timeout_keep_alive_task is None
            if waits and self.loop.time() - self.waits_since_s >= PATIENCE_S:
                self.transport.abort()
            else:
                self.watch = self.loop.call_later(_WATCH_S, self._watch)

        def on_response_complete(self) -> None:
            self.waits_since_s = self.loop.time()
            super().on_response_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self.watch.cancel()
            if self.client:
                worker.ownership.gone(_name(*self.client))
            super().connection_lost(exc)

    return Connection


def _name(host: str, port: int) -> str:
    return f"{host}:{port}"


def _response(failure: Failure) -> Response:
    return Response(failure.text, failure.code, media_type=_JSON)


def _handler(operation: Operation, worker: Worker) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        client = _name(*request.client) if request.client else ""
        try:
            message, text = None, None
            if operation.request is not None:
                message = operation.request()
                text = await _body(request)
                if text is None:
                    return _response(TOO_LONG)
                if not text.lstrip().startswith("{"):
                    return _response(Failure(400, "validation", ("the request is no object of JSON, such as {}",)))
                json_format.Parse(text, message, max_recursion_depth=_DEEPEST)
            patience = Patience()
            while True:
                try:
                    answer = await asyncio.wrap_future(operation.ask(worker, client, message))
                    break
                except OtgBusyError as error:
                    await asyncio.sleep(patience.pause_s(error))
        except (json_format.ParseError, UnicodeDecodeError, RecursionError) as error:
            what = f"not the JSON of the API: {' '.join(str(error).split())[:_LONGEST_REASON]}"
            wrong = _wrong_elements(operation, text or "")
            return _response(Failure.of(OtgErrors(wrong)) if wrong else Failure(400, "validation", (what,)))
        except ClientDisconnect:
            return Response()  # to nobody
        except Exception as error:
            return _response(Failure.of(error))
        if isinstance(answer, bytes):
            return Response(answer, media_type="application/octet-stream")
        # Scripts count the warnings of an answer: an empty list is there, too.
        empty = isinstance(answer, pb2.Warning)
        told = json_format.MessageToJson(
            answer, preserving_proto_field_name=True, indent=None, always_print_fields_with_no_presence=empty
        )
        return Response(told, media_type=_JSON)

    return handle


def _wrong_elements(operation: Operation, text: str) -> list[OtgError]:
    """Errors of a request that protobuf does not read, with the paths that its own lack; none where it is no JSON."""
    assert operation.request is not None
    try:
        return list(islice(violations(operation.request.DESCRIPTOR, json.loads(text)), MOST_ERRORS))
    except (ValueError, RecursionError):
        return []


async def _body(request: Request) -> str | None:
    """The text of a request; None where it is too long."""
    parts, length = [], 0
    async for part in request.stream():
        length += len(part)
        if length > MOST_REQUEST_BYTES:
            return None
        parts.append(part)
    return b"".join(parts).decode()
