"""The live page as a web application: pages, events, reports, files; with control, what starts and stops runs."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from p4mesh.errors import P4MeshError
from p4mesh.numerals import is_digits
from p4mesh.report.compare.document import comparison
from p4mesh.report.document import Document
from p4mesh.report.export.prometheus import CONTENT_TYPE
from p4mesh.report.html import page
from p4mesh.report.publish import REPORT
from p4mesh.run.stored import measured
from p4mesh.server.control import Control, refused
from p4mesh.server.feed import MOST_READERS, Feed
from p4mesh.server.guard import POLICY, REPORT_POLICY, Guard, has_token
from p4mesh.server.metrics import metrics_text
from p4mesh.server.run_view import RunView
from p4mesh.store.confined import Folder

_PAGES = {"/": "index.html", "/run": "run.html"}
_STYLE = "style.css"
_STATIC = {
    _STYLE: "text/css",
    "live.css": "text/css",
    "common.js": "text/javascript",
    "charts.js": "text/javascript",
    "index.js": "text/javascript",
    "run.js": "text/javascript",
}
_MOST_COMPARED = 8
_PART_BYTES = 1 << 18
_MOST_REQUEST_BYTES = 64 << 10


def application(feed: Feed, control: Control | None = None) -> Starlette:
    """The application; without ``control`` it is read-only."""
    server = _Server(feed, control)
    routes = [
        *(Route(path, server.page(name)) for path, name in _PAGES.items()),
        Route("/static/{name}", server.static),
        Route("/events", server.events),
        Route("/compare", server.compare),
        Route("/metrics", server.metrics),
        Route("/runs/{key}/" + REPORT, server.report),
        Route("/runs/{key}/files/{name}", server.file),
        Route("/runs/{key}/trials", server.trials),
        Route("/runs/{key}/{test}/" + REPORT, server.report_of_test),
    ]
    if control is not None:
        routes += [
            Route("/control", server.choices),
            Route("/control/parameters", server.parameters),
            Route("/control/started", server.started),
            Route("/control/start", server.start, methods=["POST"]),
            Route("/control/stop", server.stop, methods=["POST"]),
        ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await feed.start()
        yield
        await feed.stop()

    return Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Guard)],
        exception_handlers={P4MeshError: _refuse, OSError: _unreadable},
    )


class _Server:
    def __init__(self, feed: Feed, control: Control | None) -> None:
        self._feed = feed
        self._catalogue = feed.catalogue
        self._control = control

    def page(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(_: Request) -> Response:
            return Response(_part(name), media_type="text/html")

        return answer

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404)
        return Response(_part(name), media_type=_STATIC[name])

    async def events(self, request: Request) -> Response:
        if self._feed.readers >= MOST_READERS:
            return PlainTextResponse("too many pages are open\n", status_code=503)
        key = request.query_params.get("run")
        if key is None:
            return StreamingResponse(self._feed.runs(), media_type="text/event-stream")
        await self._run(key)
        return StreamingResponse(self._feed.run(key), media_type="text/event-stream")

    async def report(self, request: Request) -> Response:
        key = request.path_params["key"]
        run = self._catalogue.runs.get(key)
        parts = run.parts if run else self._catalogue.suites.get(key)
        if parts is None:
            await self._feed.look()
            run = self._catalogue.runs.get(key)
            parts = run.parts if run else self._catalogue.suites.get(key)
        if parts is None:
            raise HTTPException(404)
        return self._stored_report(parts)

    async def report_of_test(self, request: Request) -> Response:
        run = self._catalogue.child(request.path_params["key"], request.path_params["test"])
        if run is None:
            raise HTTPException(404)
        # At its own address, so that links in it lead to what is beside it.
        return RedirectResponse(f"/runs/{run.key}/{REPORT}")

    async def file(self, request: Request) -> Response:
        run = await self._run(request.path_params["key"])
        name = request.path_params["name"]
        with self._catalogue.opened(run) as opened:
            if name not in opened.names()[0]:
                raise HTTPException(404)
            descriptor = opened.open(name)
        shown = f"attachment; filename*=utf-8''{quote(name, safe='')}"
        return StreamingResponse(
            _parts(descriptor), media_type="application/octet-stream", headers={"content-disposition": shown}
        )

    async def trials(self, request: Request) -> Response:
        run = await self._run(request.path_params["key"])
        first, most = (request.query_params.get(name, "") for name in ("first", "most"))
        if not all(is_digits(number) for number in (first, most)):
            return PlainTextResponse("say which trials: first=0&most=100\n", status_code=400)
        return JSONResponse(await self._feed.trials(run, int(first), int(most)))

    async def compare(self, request: Request) -> Response:
        keys = request.query_params.getlist("run")[: _MOST_COMPARED + 1]
        if not 2 <= len(keys) <= _MOST_COMPARED:
            return PlainTextResponse(f"choose 2 to {_MOST_COMPARED} runs\n", status_code=400)
        runs = [await self._run(key) for key in keys]
        text = await run_in_threadpool(self._compared, runs)
        return Response(text, media_type="text/html", headers={POLICY: REPORT_POLICY})

    async def metrics(self, _: Request) -> Response:
        await self._feed.look()
        return Response(metrics_text(self._catalogue.runs.values()), headers={"content-type": CONTENT_TYPE})

    async def choices(self, request: Request) -> Response:
        control = self._controlled(request)
        return JSONResponse(control.choices())

    async def parameters(self, request: Request) -> Response:
        control = self._controlled(request)
        test = request.query_params.get("test", "")
        return JSONResponse(await run_in_threadpool(control.parameters, test))

    async def started(self, request: Request) -> Response:
        control = self._controlled(request)
        return JSONResponse({"started": control.started()})

    async def start(self, request: Request) -> Response:
        control = self._controlled(request)
        return JSONResponse(await run_in_threadpool(control.start, await _data(request)))

    async def stop(self, request: Request) -> Response:
        control = self._controlled(request)
        data = await _data(request)
        key = data.get("run") if isinstance(data, dict) else None
        run = await self._run(str(key))
        await self._feed.look()
        await run_in_threadpool(control.stop, run)
        return JSONResponse({"stopped": run.name})

    async def _run(self, key: str) -> RunView:
        """A run; raises HTTPException where there is none, after a look at the directories."""
        run = self._catalogue.runs.get(key)
        if run is None:
            await self._feed.look()
            run = self._catalogue.runs.get(key)
        if run is None:
            raise HTTPException(404, "there is no such run")
        return run

    def _controlled(self, request: Request) -> Control:
        assert self._control is not None
        if not has_token(request.headers, self._control.token):
            raise HTTPException(403, "the token is missing or wrong: open the address that p4mesh serve has printed")
        return self._control

    def _stored_report(self, parts: tuple[str, ...]) -> Response:
        with self._catalogue.place(parts) as opened:
            try:
                descriptor = opened.open(REPORT)
            except OSError:
                raise HTTPException(404, "there is no report yet: it is written when the run is finished") from None
        return StreamingResponse(_parts(descriptor), media_type="text/html", headers={POLICY: REPORT_POLICY})

    def _compared(self, runs: list[RunView]) -> str:
        for run in runs:
            with self._catalogue.opened(run) as opened:
                _require_own_files(opened, run.name)
        document: Document = comparison(measured([self._catalogue.path(run.parts) for run in runs]))[0]
        return page(document)


def _require_own_files(opened: Folder, name: str) -> None:
    """Refuse a run in which a file that is read is a link or a device."""
    for file in ("run.json", "results.json", "sums.json", "trials.jsonl", "timing.jsonl"):
        if opened.mark(file) is None:
            raise HTTPException(400, f"{name}: {file} is missing, or no file of this directory")


def _parts(descriptor: int) -> Iterator[bytes]:
    with os.fdopen(descriptor, "rb") as file:
        while part := file.read(_PART_BYTES):
            yield part


async def _data(request: Request) -> object:
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise HTTPException(415, "requests are JSON")
    length = request.headers.get("content-length", "")
    if not is_digits(length) or int(length) > _MOST_REQUEST_BYTES:
        raise HTTPException(413, "the request is too long")
    try:
        data: object = await request.json()
        # Half a surrogate pair is JSON, and no text: neither a command nor an answer could hold it.
        json.dumps(data, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise HTTPException(400, "the request is not JSON of texts") from None
    return data


async def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, P4MeshError)
    return JSONResponse(refused(error), status_code=400)


async def _unreadable(_: Request, error: Exception) -> Response:
    assert isinstance(error, OSError)
    return PlainTextResponse(f"cannot be read: {error.strerror}\n", status_code=404)


@cache
def _part(name: str) -> str:
    """A file of the page; what pages and reports look like is the same."""
    folder = files("p4mesh.report") / "templates" if name == _STYLE else files(__package__) / "static"
    return (folder / name).read_text(encoding="utf-8")
