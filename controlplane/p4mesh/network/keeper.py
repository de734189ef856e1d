"""Gives interfaces of this machine back when the process that uses them has ended, however it ended.

A process of its own: no signal to the run, to its terminal or to its process group reaches it. It holds the namespace
with the interfaces, which would die with the last process in it where the run has mounts of its own (as in ``ip netns
exec``), and virtual interfaces with it. There it also gives the namespace its name in the mounts of the processes that
have started the run, so that ``p4mesh net clean`` finds it when the keeper is killed, too.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from p4mesh.errors import P4MeshError, TargetError
from p4mesh.network import namespaces, removal

_READY = b"ready\n"
_STAYS = b"stays\n"
_ENDED_S = 20.0
_START = "import sys; sys.path[:] = sys.argv[2:]; from p4mesh.network.keeper import keep; keep(sys.argv[1])"
_CLONE_NEWNS = 0x00020000
_MS_BIND = 4096
_PARENT = 1
"""Field of /proc/PID/stat behind the name of the program."""


class Keeper:
    """The process that keeps one network; it acts as soon as this object or its process is gone."""

    def __init__(self, network: str) -> None:
        """Start it; the namespace of the tester exists. Raises TargetError where it does not start."""
        command = [sys.executable, "-I", "-c", _START, network, *sys.path]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, cwd="/"
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != _READY:
            self.end()
            raise TargetError(
                "the process that gives interfaces back did not start", hint="--debug shows where; nothing was changed"
            )

    def dismiss(self) -> None:
        """Let the network stay up when this process ends."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(_STAYS)
        self.end()

    def end(self, lost: tuple[str, ...] = ()) -> None:
        """Let it give back what is left, if anything is, and wait for it; its last words say what is ``lost``."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write("\n".join(lost).encode())
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDED_S)


def keep(network: str) -> None:
    """Wait until the other process has ended, and remove what it has left of its network."""
    held = os.open(namespaces.NAMES / network, os.O_RDONLY)
    _name_in_machine(network, held)
    os.write(1, _READY)
    told = sys.stdin.buffer.read()
    if told == _STAYS:
        return
    lost: list[str] = told.decode().splitlines()
    try:
        lost += removal.remove_network(network)
    except (P4MeshError, OSError) as error:
        lost.append(f"{error}; p4mesh net clean tries again")
    finally:
        os.close(held)
    for text in lost:
        print(f"error: not given back: {text}", file=sys.stderr)


def _name_in_machine(network: str, held: int) -> None:
    """Give the namespace its name where other commands look for it, if the mounts of this process are others."""
    outside = _mounts_outside()
    if outside is None:
        return
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    # A process of its own: from here on, files are those of the machine.
    libc = ctypes.CDLL(None, use_errno=True)
    place = namespaces.NAMES / network
    if libc.setns(outside, _CLONE_NEWNS) == 0 and not namespaces.is_here(network):
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
            libc.mount(f"/proc/self/fd/{held}".encode(), os.fsencode(place), None, _MS_BIND, None)
    os._exit(0)


def _mounts_outside() -> int | None:
    """Descriptor of the mounts of the first process that led to this one; None where they are those here."""
    own, found, process = Path("/proc/self/ns/mnt").stat().st_ino, None, os.getppid()
    while process > 0:
        with suppress(OSError):
            mounts = os.open(f"/proc/{process}/ns/mnt", os.O_RDONLY)
            if found is not None:
                os.close(found)
            found = mounts
        process = _parent_of(process)
    return found if found is not None and os.fstat(found).st_ino != own else None


def _parent_of(process: int) -> int:
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[_PARENT])
