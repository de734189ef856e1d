"""Puts text on disk so that a crash leaves the old text, the new text, or a line without an end.

A failure of the machine is a StorageError: the run can go on in its directory once there is room and permission.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from p4mesh.errors import StorageError

PARTIAL = ".partial"
"""Ending of the name of a file until it is complete."""


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn a failure of the machine into a StorageError that names ``path``."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{_short(path)}: {error.strerror or error}",
            hint="make room, or name a directory you may write to; the same command with --out resumes a run",
        ) from None


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
    """Write a file, whole or not at all."""
    temporary = path.with_name(path.name + PARTIAL)
    with storing(path):
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise


def _short(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 120 else f"{text[:117]}..."
