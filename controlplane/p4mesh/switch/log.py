"""The log of ``p4mesh switch``: what happens to each packet, on stdout or in a file that is renamed when it is full."""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING

from p4mesh.errors import UsageError
from p4mesh.switch.options import LogOptions

if TYPE_CHECKING:
    from p4mesh._engine import LiveSwitch

_LINES = 100


class PacketLog:
    """Takes lines from a switch and writes them."""

    def __init__(self, options: LogOptions, switch: LiveSwitch) -> None:
        """Let the switch tell what the level asks for; raises UsageError for a file that cannot be written."""
        self._switch = switch
        self._handler = _handler(options)
        if options.frames:
            switch.trace(options.dump_bytes, options.traces)

    def write(self) -> None:
        """Write what the switch has told since the last call."""
        lines, lost = self._switch.take_trace()
        if lost:
            lines.append(f"{lost} more lines are lost: packets come faster than they can be written")
        # In parts, so that a file does not become much longer than it may.
        for start in range(0, len(lines), _LINES):
            self._handler.emit(logging.makeLogRecord({"msg": "\n".join(lines[start : start + _LINES])}))
        self._handler.flush()

    def close(self) -> None:
        """Write what is left."""
        self.write()
        self._handler.close()


def _handler(options: LogOptions) -> logging.Handler:
    if options.file is None:
        return logging.StreamHandler(sys.stdout)
    if options.file.exists() and not options.file.is_file():
        raise UsageError(f"--log-file {options.file}: not a regular file", hint="name a file, or use --log-console")
    try:
        return RotatingFileHandler(
            options.file, maxBytes=options.max_file_bytes, backupCount=options.max_files, encoding="utf-8"
        )
    except OSError as error:
        raise UsageError(
            f"--log-file {options.file}: {error.strerror}", hint="name a file that can be written"
        ) from None
