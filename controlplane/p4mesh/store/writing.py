"""Puts text on disk so that a crash leaves the old text, the new text, or a line without an end.

A failure of the machine is a StorageError: the run can go on in its directory once there is room and permission.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from p4mesh.causes import file_hint
from p4mesh.errors import StorageError

PARTIAL = ".partial"
"""Ending of the name of a file until it is complete."""


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn a failure of the machine into a StorageError that names ``path``."""
    try:
        yield
    except OSError as error:
        hint = file_hint(error.errno, "the disk may fail: look at the messages of the kernel")
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            hint += "; the same command with --out resumes a run"
        raise StorageError(f"{_short(path)}: {error.strerror or error}", hint=hint) from None


def append_synced(path: Path, line: str) -> None:
    """Add a line; it survives a crash when this returns."""
    with storing(path), path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    write_bytes_atomically(path, text.encode())


def write_bytes_atomically(path: Path, data: bytes) -> None:
    """Write what a user or a run has named: a file whole or not at all, a device or a pipe by writing to it.

    A link stays, and what it leads to is written; a directory is refused.
    """
    with storing(path):
        found = _status(path)
        if found is not None and stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if found is not None and (not stat.S_ISREG(found.st_mode) or _is_output(found)):
            _write_to(path, data)
        else:
            _replace(Path(os.path.realpath(path)), data, None if found is None else stat.S_IMODE(found.st_mode))


def remove_partial(folder: Path) -> None:
    """Remove what processes that were killed have left of files in a directory that no other process writes to."""
    with storing(folder):
        for left in folder.glob(f".*{PARTIAL}"):
            left.unlink(missing_ok=True)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_output(found: os.stat_result) -> bool:
    """Whether standard output or standard error goes to this file: a new one in its place would lose what comes."""
    for descriptor in (1, 2):
        with suppress(OSError):
            if os.path.samestat(found, os.fstat(descriptor)):
                return True
    return False


def _write_to(path: Path, data: bytes) -> None:
    # Without O_CREAT: where the device has gone meanwhile, no file appears among devices.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY), "wb") as file:
        file.write(data)


def _replace(path: Path, data: bytes, mode: int | None) -> None:
    # Nobody can have put a link in the way: the name cannot be foreseen, and O_EXCL makes a new file or none.
    temporary = path.with_name(f".{secrets.token_hex(8)}{PARTIAL}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        # On disk before it has its name: after a crash the file is the old one or the new one, and whole.
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _short(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 120 else f"{text[:117]}..."
