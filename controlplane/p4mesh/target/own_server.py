"""The address of a P4Runtime server in this process, for this process alone.

A socket in a directory of its own, which nobody else may enter: it needs no loopback interface, no free port and no way
around a proxy, and no other user of the machine can reach it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from p4mesh.causes import file_hint
from p4mesh.errors import TargetError

_LONGEST_PATH_BYTES = 107
"""Limit of Unix sockets (unix(7))."""
_PREFIX, _NAME = "p4mesh-", "p4runtime"


@contextmanager
def own_address() -> Iterator[str]:
    """Make the directory, and remove it with the socket; raises TargetError where it cannot be made."""
    try:
        made = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=_folder())
    except OSError as error:
        raise TargetError(
            f"no place for the socket of the P4Runtime server: {error.strerror} in {tempfile.gettempdir()}",
            hint=f"{file_hint(error.errno, 'look at its disk')}: TMPDIR names the folder of temporary files",
        ) from None
    with made as directory:
        yield f"unix:{directory}/{_NAME}"


def _folder() -> str | None:
    """A directory whose name is short enough; None for that of all temporary files."""
    room = _LONGEST_PATH_BYTES - len(f"/{_PREFIX}12345678/{_NAME}")
    usual = len(os.fsencode(tempfile.gettempdir())) <= room
    return None if usual else next((path for path in ("/tmp", "/dev/shm", "/run") if os.access(path, os.W_OK)), None)
