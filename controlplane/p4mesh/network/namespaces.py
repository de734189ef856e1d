"""Network namespaces with names that say whose they are, so that those of dead processes can be removed.

A network has one namespace for the tester and one for each of its nodes; their names begin alike.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from p4mesh.causes import network_hint
from p4mesh.errors import TargetError

NAMES = Path("/run/netns")
STATE = Path("/run/p4mesh")
"""Files of the processes of networks, a directory each."""
STANDING = "p4mesh-net-"
"""Begin of the names of networks that stay up between commands."""
_OF_A_RUN = re.compile(r"p4mesh-(\d+)-(\d+)-[0-9a-f]{8}(-[a-z0-9_-]+)?")
"""Process, its start in clock ticks since the machine's (numbers of processes come again), a number by chance, node."""
_STATE, _STARTED = 0, 19
"""Fields of /proc/PID/stat behind the name of the program."""
_CLONE_NEWNET = 0x40000000


def new_name() -> str:
    """A name for the network of a run of this process."""
    return f"p4mesh-{os.getpid()}-{started(os.getpid())}-{uuid.uuid4().hex[:8]}"


def existing() -> tuple[str, ...]:
    """The names of all namespaces of this machine."""
    return tuple(sorted(path.name for path in NAMES.iterdir())) if NAMES.is_dir() else ()


def is_here(name: str) -> bool:
    """Whether a name is that of a namespace that can be entered.

    One that was made in another mount namespace, such as a host of Mininet has, is a plain file here.
    """
    try:
        return (NAMES / name).stat().st_dev != NAMES.stat().st_dev
    except OSError:
        return False


def create(name: str) -> None:
    """Make a namespace; raises TargetError where that is not allowed."""
    from pyroute2 import netns

    try:
        netns.create(name)
    except OSError as error:
        raise TargetError(
            f"cannot make network namespace {name}: {error.strerror}", hint=network_hint(error.errno)
        ) from None


def attach(name: str, process: int) -> None:
    """Give the namespace of a process a name, until :func:`detach`."""
    from pyroute2 import netns

    try:
        netns.attach(name, process)
    except OSError as error:
        raise TargetError(
            f"cannot name the network namespace {name}: {error.strerror}", hint=network_hint(error.errno)
        ) from None


def detach(name: str) -> None:
    """Take the name of a namespace away; the namespace stays while it has processes."""
    from pyroute2 import netns

    if is_here(name):
        netns.remove(name)


def remove(name: str) -> None:
    """Remove a namespace with everything in it, the processes too; one that is gone is no error."""
    from pyroute2 import netns

    for process in processes(name):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    try:
        while is_here(name):
            try:
                netns.remove(name)
            except OSError as error:
                # Mounted twice: what a keeper mounts in the mounts of the machine can come here from there.
                if error.errno != errno.EBUSY:
                    raise
        (NAMES / name).unlink(missing_ok=True)
    except OSError as error:
        raise TargetError(
            f"cannot remove network namespace {name}: {error.strerror}", hint=network_hint(error.errno)
        ) from None


def processes(name: str) -> tuple[int, ...]:
    """The numbers of the processes in a namespace, those of this process's own threads not among them."""
    try:
        wanted = (NAMES / name).stat().st_ino
    except OSError:
        return ()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if (entry / "ns" / "net").stat().st_ino == wanted:
                    found.append(int(entry.name))
    return tuple(found)


def abandoned() -> tuple[str, ...]:
    """The namespaces of runs whose process is gone."""
    found = ((name, _OF_A_RUN.fullmatch(name)) for name in existing())
    return tuple(name for name, parts in found if parts and started(int(parts[1])) != int(parts[2]))


def started(process: int) -> int | None:
    """When a process has started; None when it does not run."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[_STATE] in "ZX" else int(fields[_STARTED])


@contextmanager
def entered(name: str) -> Iterator[None]:
    """Let the calling thread be in a namespace, so that sockets made meanwhile belong to it.

    ``name`` may be a path such as ``/proc/PID/ns/net``, too.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open() as home, (NAMES / name).open() as away:
        _set_namespace(libc, away.fileno(), name)
        try:
            yield
        finally:
            _set_namespace(libc, home.fileno(), "of this process")


def refused(name: str, number: int | None, reason: str | None) -> TargetError:
    """The error for what the kernel has refused in a namespace."""
    return TargetError(f"network namespace {name}: {reason}", hint=network_hint(number))


def _set_namespace(libc: ctypes.CDLL, descriptor: int, name: str) -> None:
    if libc.setns(descriptor, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise TargetError(f"cannot enter network namespace {name}: {os.strerror(number)}", hint=network_hint(number))
