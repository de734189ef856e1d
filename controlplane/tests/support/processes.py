"""Processes that a command has started, as the kernel sees them."""

from __future__ import annotations

from pathlib import Path


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
