"""Tells browsers what has changed, by server-sent events: a new reader gets everything, then what is new.

A browser that connects again, after a restart of the server as well, is a new reader. Nothing is queued for slow
readers: each of them gets what is true when it is ready for it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from starlette.concurrency import run_in_threadpool

from p4mesh.server.catalogue import Catalogue
from p4mesh.server.run_view import RunView

_LOOK_EVERY_S = 0.5
_BEAT_S = 15.0
"""A reader that has gone away is noticed at the next thing that is sent to it."""
MOST_READERS = 100
_RETRY_MS = 1000


class Feed:
    """The catalogue as streams of events; directories are looked at while there are readers."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.readers = 0
        self._changed = asyncio.Condition()
        self._changes = 0
        self._looking = asyncio.Lock()
        self._wanted = Counter[str]()
        self._is_open = True
        self._looked_s = 0.0
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to look at the directories."""
        self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """End all streams."""
        self._is_open = False
        if self._task is not None:
            self._task.cancel()
        await self._tell()

    async def look(self) -> None:
        """Look at the directories now."""
        async with self._looking:
            changed = await run_in_threadpool(self.catalogue.refresh)
            self._looked_s = time.monotonic()
        if changed:
            await self._tell()

    async def runs(self) -> AsyncIterator[bytes]:
        """Yield the list of runs, then those that change or go away."""
        sent: dict[str, int] = {}
        complete = True
        async for is_beat in self._turns():
            runs = self.catalogue.runs
            new = [run for key, run in runs.items() if sent.get(key) != run.version]
            gone = [key for key in sent if key not in runs]
            if new or gone or complete:
                yield _event("runs", {"complete": complete, "runs": [run.summary() for run in new], "gone": gone})
                sent = {key: run.version for key, run in runs.items()}
                complete = False
            elif is_beat:
                yield b": still here\n\n"

    async def run(self, key: str) -> AsyncIterator[bytes]:
        """Yield a run as it is known, then whenever something of it is new; its trials are asked for apart."""
        self._wanted[key] += 1
        version = -1
        try:
            self._mark_wanted()
            await self.look()
            async for is_beat in self._turns():
                run = self.catalogue.runs.get(key)
                if run is None:
                    yield _event("gone", {})
                    return
                if run.version != version:
                    version = run.version
                    yield _event("run", run.detail())
                elif is_beat:
                    yield b": still here\n\n"
        finally:
            self._wanted[key] -= 1
            self._mark_wanted()

    async def trials(self, run: RunView, first: int, most: int) -> dict[str, Any]:
        """Trials of a run from place ``first`` on; no look at the directories changes their order meanwhile."""
        async with self._looking:
            return await run_in_threadpool(self._rows, run, first, most)

    def _rows(self, run: RunView, first: int, most: int) -> dict[str, Any]:
        with self.catalogue.opened(run) as opened:
            return run.rows(opened, first, most)

    async def _turns(self) -> AsyncIterator[bool]:
        """Yield at once, after every change, and from time to time without one (True)."""
        self.readers += 1
        try:
            if time.monotonic() - self._looked_s > _LOOK_EVERY_S:
                await self.look()
            seen, is_beat = self._changes, False
            while self._is_open:
                yield is_beat
                is_beat = not await self._changed_since(seen)
                seen = self._changes
        finally:
            self.readers -= 1

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            if self.readers:
                self._mark_wanted()
                await self.look()

    async def _changed_since(self, seen: int) -> bool:
        """Wait for a change; return whether one has come within the time of a beat."""
        async with self._changed:
            with suppress(TimeoutError, asyncio.TimeoutError):
                await asyncio.wait_for(self._changed.wait_for(lambda: self._changes != seen), _BEAT_S)
            return self._changes != seen

    async def _tell(self) -> None:
        async with self._changed:
            self._changes += 1
            self._changed.notify_all()

    def _mark_wanted(self) -> None:
        for key, run in self.catalogue.runs.items():
            run.is_wanted = self._wanted[key] > 0


def _event(name: str, data: dict[str, Any]) -> bytes:
    """One event; JSON has no line breaks, and no character of a name can end the event."""
    return f"retry: {_RETRY_MS}\nevent: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()
