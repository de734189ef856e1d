"""Opens files below one directory and nowhere else: no symbolic link is followed, whatever a name looks like."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A named pipe must not hold up the opening until somebody writes to it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Mark:
    """Tells one state of a file from another one without reading it."""

    inode: int
    size: int
    changed_ns: int


class Folder:
    """A directory that is open: its files can be read, its sub-directories listed."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def names(self) -> tuple[list[str], list[str]]:
        """Names of its files and of its sub-directories, in order; links and devices are neither."""
        files, folders = [], []
        with os.scandir(self._descriptor) as entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                    elif entry.is_file(follow_symlinks=False):
                        files.append(entry.name)
                except OSError:
                    continue
        return sorted(files), sorted(folders)

    def mark(self, name: str) -> Mark | None:
        """State of a file; None where there is no regular file with this name."""
        try:
            found = os.stat(_plain(name), dir_fd=self._descriptor, follow_symlinks=False)
        except OSError:
            return None
        return Mark(found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None

    @contextmanager
    def opened(self, name: str) -> Iterator[int]:
        """Open a regular file; raises OSError for anything else."""
        descriptor = self.open(name)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def open(self, name: str) -> int:
        """Descriptor of a regular file, which the caller closes; raises OSError for anything else."""
        descriptor = os.open(_plain(name), _FILE, dir_fd=self._descriptor)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", name)

    def read(self, name: str, limit_bytes: int, start: int = 0) -> bytes:
        """Bytes of a file from ``start`` on, at most ``limit_bytes``; raises OSError."""
        with self.opened(name) as descriptor:
            parts, wanted = [], limit_bytes
            while wanted > 0 and (part := os.pread(descriptor, min(wanted, 1 << 20), start)):
                parts.append(part)
                start, wanted = start + len(part), wanted - len(part)
        return b"".join(parts)

    def owner(self) -> os.stat_result:
        """Device and inode of the directory, by which the kernel's list of locks names it."""
        return os.fstat(self._descriptor)


@contextmanager
def folder(root: Path, parts: Sequence[str] = ()) -> Iterator[Folder]:
    """Open the directory ``parts`` below ``root``; raises OSError where one of them is a link or no directory."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            inner = os.open(_plain(part), _DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield Folder(descriptor)
    finally:
        os.close(descriptor)


def _plain(name: str) -> str:
    """A name that is no path; raises OSError for a path."""
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise OSError(errno.EINVAL, "not the name of a file", name)
    return name
