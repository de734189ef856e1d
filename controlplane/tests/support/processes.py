"""Processes that a command has started, as the kernel sees them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from p4mesh.network.namespaces import started


def members(group: int) -> list[str]:
    """The running processes of a process group."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdecimal() else []
        except OSError:
            continue
        if fields and int(fields[2]) == group and fields[0] != "Z":
            found.append(entry.name)
    return found


def wait_until_gone(process: int, patience_s: float = 20.0) -> None:
    """Wait until a process has ended, whoever its parent is."""
    end = time.monotonic() + patience_s
    while started(process) is not None:
        assert time.monotonic() < end, f"process {process} goes on"
        time.sleep(0.01)


def within(command: Sequence[str], **limits: int) -> list[str]:
    """Words that start the command, as the same process, within limits of ``prlimit`` (``as`` in bytes, ``nofile``).

    A function between fork and exec (``preexec_fn``) would run Python under the limit in a copy of this process,
    whose collector may then write on the standard error of the command.
    """
    return ["prlimit", *(f"--{kind.removesuffix('_')}={limit}" for kind, limit in limits.items()), "--", *command]
