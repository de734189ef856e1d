"""Reads files that a user names: whole, within a limit, never from a pipe or a device."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST_PROGRAM_BYTES = 64 << 20
"""Size of a compiled P4 program, and of its P4Info, at most."""


class UnusualFileError(OSError):
    """A file that is not a regular one, or is longer than its reader allows."""


def read_text(path: Path, limit_bytes: int) -> str:
    """The text of a regular file; raises OSError, and UnicodeDecodeError when it is not text in UTF-8."""
    return read_bytes(path, limit_bytes).decode("utf-8")


def read_bytes(path: Path, limit_bytes: int) -> bytes:
    """The content of a regular file; raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(found.st_mode):
            raise UnusualFileError(errno.EINVAL, "not a regular file", str(path))
        if found.st_size > limit_bytes:
            raise UnusualFileError(
                errno.EFBIG, f"{found.st_size} bytes; at most {limit_bytes} bytes are read", str(path)
            )
        # Python sets room aside for as much as is asked for; a file that grows meanwhile is as long as it was.
        return file.read(found.st_size)
