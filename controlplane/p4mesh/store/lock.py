"""Keeps a directory to one process: two runs in it would write over each other."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from p4mesh.errors import RunDirectoryError
from p4mesh.store.writing import storing

_LOCKS = Path("/proc/locks")


class DirectoryLock:
    """An exclusive lock on a directory, held until it is closed or its process ends, however it ends."""

    def __init__(self, path: Path, option: str) -> None:
        """Take the lock; raises RunDirectoryError, naming the process that has it."""
        with storing(path):
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = holder(os.fstat(self._descriptor))
            self.close()
            by = f" by process {owner}" if owner else ""
            raise RunDirectoryError(
                f"{option}{path}: in use{by}", hint="wait for that run to end, or name another directory"
            ) from None
        except OSError:
            # A file system without locks, as some network ones are: the user must run one process alone.
            pass

    def close(self) -> None:
        """Release the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def holder(held: os.stat_result) -> int | None:
    """Process that has the lock on a directory, as the kernel tells; None without one, or where it does not tell.

    0 is a process that this one cannot see, as outside of a container.
    """
    place = f"{os.major(held.st_dev):02x}:{os.minor(held.st_dev):02x}:{held.st_ino}"
    try:
        lines = _LOCKS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    # Words of a line: number, kind, mode, access, process (-1: none), device and inode.
    owners = (line.split() for line in lines)
    return next((int(words[4]) for words in owners if len(words) > 5 and words[5] == place and words[4] != "-1"), None)
