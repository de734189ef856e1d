"""Ctrl-C, SIGTERM and SIGHUP: one line at once, then an orderly end, and an end in any case.

Python hands a signal to the main thread between two of its instructions. That can be late: a trial in the engine is one
instruction. So a thread of its own reads the signal, prints the line, and suppresses all later output: parts that are
torn down may complain. The main thread gets a KeyboardInterrupt, gives up targets and workers, and ends the process.
Where that takes too long, or at a second signal, the thread ends it; so it does where the exception is dropped, because
it came in a destructor, or in an import that compiled code asked for. Who drops it must not show it.

A command that can end with the results so far is asked to do so at the first signal, and is given up at the second.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType

from p4mesh.cli.notice import Notice
from p4mesh.cli.output import tell

PATIENCE_S = 10.0
_ENDS = b"interrupted; the run ends with what it has, a second interrupt gives it up\n"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """A context in which signals end the command; ``line`` returns the text for the user.

    Entering it raises KeyboardInterrupt, too, where a signal has waited.
    """

    def __init__(self, line: Callable[[], str], keep_errors: bool = False, notice: Notice | None = None) -> None:
        self.exit_code = 0
        """128 and the number of the signal that came; 0 without one."""
        self._notice = notice or Notice()
        self._asked = False
        self._line = line
        self._keep_errors = keep_errors
        self._old: dict[int, object] = {}
        self._told = threading.Event()

    def __enter__(self) -> Interruption:
        """Take over the signals, where this is the main thread and they are not ignored."""
        if threading.current_thread() is not threading.main_thread():
            return self
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        # A signal waits until everything is in place that it needs.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        self._old_wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._old[number] = signal.signal(number, self._on_signal)
        self._old_hooks = sys.unraisablehook, sys.excepthook
        sys.unraisablehook, sys.excepthook = self._on_dropped, self._on_shown
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give the signals back; after an interrupt they stay taken, so that the end of the process is silent."""
        if not self._old or self.exit_code:
            return
        for number, handler in self._old.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        sys.unraisablehook, sys.excepthook = self._old_hooks
        signal.set_wakeup_fd(self._old_wakeup)
        os.close(self._write)
        self._watcher.join()
        os.close(self._read)

    def told(self) -> None:
        """Wait until the line is printed; print it where no signal has come."""
        if not self.exit_code:
            tell(self._line())
            return
        self._told.wait(PATIENCE_S)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self._notice.may_end and not self._asked:
            self._asked = True
        elif not self.exit_code:
            self.exit_code = 128 + number
            raise KeyboardInterrupt

    def _on_dropped(self, dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is not KeyboardInterrupt:
            self._old_hooks[0](dropped)

    def _on_shown(self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if kind is not KeyboardInterrupt:
            self._old_hooks[1](kind, error, traceback)

    def _watch(self) -> None:
        number = self._next_signal(None)
        if number is not None and self._notice.may_end:
            self._notice.wants_end = True
            with suppress(OSError):
                os.write(2, _ENDS)
            number = self._next_signal(None)
        if number is None:
            return
        with suppress(OSError):
            errors = os.dup(2)
            # First, so that no other thread writes behind the line.
            if not self._keep_errors:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.write(errors, f"{self._line()}\n".encode())
        self._told.set()
        self._next_signal(PATIENCE_S)
        os._exit(128 + number)

    def _next_signal(self, patience_s: float | None) -> int | None:
        """The number of the next signal; None at the end of the context or of patience."""
        while select.select([self._read], [], [], patience_s)[0]:
            data = os.read(self._read, 1)
            if not data:
                return None
            if data[0] in _SIGNALS:
                return data[0]
        return None
