"""Processes that a command has started, as the kernel sees them."""

from __future__ import annotations

import time
from pathlib import Path

from p4mesh.network.namespaces import started


def members(group: int) -> list[str]:
    """Return the running processes of a process group."""
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
