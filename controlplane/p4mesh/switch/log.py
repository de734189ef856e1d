"""The log of ``p4mesh switch``: what happens to each packet, on stdout or in a file that is renamed when it is full."""

from __future__ import annotations

import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, TextIO

from p4mesh.causes import file_hint
from p4mesh.errors import StorageError, UsageError
from p4mesh.switch.options import LogOptions

if TYPE_CHECKING:
    from p4mesh._engine import LiveSwitch

_LINES = 100


class PacketLog:
    """Takes lines from a switch and writes them."""

    def __init__(self, options: LogOptions, switch: LiveSwitch) -> None:
        """Let the switch tell what the level asks for; raises UsageError for a file that cannot be written."""
        self._switch = switch
        self._handler: logging.Handler | None = _handler(options)
        if options.frames:
            switch.trace(options.dump_bytes, options.traces)

    def write(self) -> None:
        """Write what the switch has told since the last call; raises StorageError, and writes nothing from then on."""
        lines, lost = self._switch.take_trace()
        if lost:
            lines.append(f"{lost} more lines are lost: packets come faster than they can be written")
        handler, self._handler = self._handler, None
        if handler is None:
            return
        try:
            # In parts, so that a file does not become much longer than it may.
            for start in range(0, len(lines), _LINES):
                handler.emit(logging.makeLogRecord({"msg": "\n".join(lines[start : start + _LINES])}))
            handler.flush()
        except BrokenPipeError:
            # Nobody reads the log any more; the switch goes on.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            hint = f"{file_hint(error.errno, 'look at its disk')}, or start the switch without a log"
            raise StorageError(f"the log cannot be written: {error.strerror}", hint=hint) from None
        else:
            self._handler = handler

    def close(self) -> None:
        """Write what is left."""
        self.write()
        if self._handler is not None:
            self._handler.close()


class _Console(logging.StreamHandler[TextIO]):
    # Called while an error is handled: by default it is printed to stderr, and the switch would not know of it.
    def handleError(self, record: logging.LogRecord) -> None:
        raise


class _File(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:
        raise


def _handler(options: LogOptions) -> logging.Handler:
    if options.file is None:
        return _Console(sys.stdout)
    try:
        if options.file.exists() and not options.file.is_file():
            raise UsageError(f"--log-file {options.file}: not a regular file", hint="name a file, or use --log-console")
        return _File(options.file, maxBytes=options.max_file_bytes, backupCount=options.max_files, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--log-file {options.file}: {error.strerror}", hint=file_hint(error.errno)) from None
