"""The one thread that uses the tester: requests of all servers one after the other, and time in between."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, Full, Queue
from typing import Any, TypeVar

from p4mesh.errors import OtgError
from p4mesh.otg.ownership import Ownership
from p4mesh.otg.session import Session

_MOST_WAITING = 64
"""Requests that wait for the tester; more are refused."""
Result = TypeVar("Result")


class Worker:
    """Runs the session of a server between :meth:`start` and :meth:`stop`."""

    def __init__(self, session: Session) -> None:
        self.ownership = Ownership()
        self._session = session
        self._waiting: Queue[tuple[Callable[[Session], Any], str, Future[Any]] | None] = Queue(_MOST_WAITING)
        self._opened: Future[None] = Future()
        self._failure: Exception | None = None
        """Error that nobody has been told."""
        self._thread = threading.Thread(target=self._run, name="otg", daemon=True)

    def start(self) -> None:
        """Open the session; raises what opening it raises."""
        self._thread.start()
        self._opened.result()

    def stop(self) -> None:
        """End the thread, and the session with it."""
        self._waiting.put(None)
        self._thread.join()

    def ask(self, action: Callable[[Session], Result], *, poll: str = "") -> Future[Result]:
        """Let the session do something; ``poll`` names what clients ask for until it has changed."""
        future: Future[Result] = Future()
        try:
            self._waiting.put_nowait((action, poll, future))
        except Full:
            future.set_exception(OtgError("too many requests wait for the tester", hint="ask again later"))
        return future

    def _run(self) -> None:
        session = self._session
        try:
            session.open()
        except BaseException as error:
            self._opened.set_exception(error)
            return
        self._opened.set_result(None)
        try:
            while True:
                try:
                    item = self._waiting.get(timeout=session.pace.idle_s)
                except Empty:
                    self._idle()
                    continue
                if item is None:
                    return
                self._answer(*item)
        finally:
            session.close()

    def _idle(self) -> None:
        """Let time pass; where the target fails meanwhile, the next request is told."""
        if self._failure is None:
            try:
                self._session.pace.idle()
            except Exception as error:
                self._failure = error

    def _answer(self, action: Callable[[Session], Any], poll: str, future: Future[Any]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        pace = self._session.pace
        failure, self._failure = self._failure, None
        try:
            if failure is not None:
                raise failure
            pace.before(poll if self._session.is_running else "")
            future.set_result(action(self._session))
        except Exception as error:
            future.set_exception(error)
        pace.after()
