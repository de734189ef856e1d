"""Network namespaces of runs: their names say which process made them, so that those of dead ones can be removed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import uuid
from contextlib import suppress
from pathlib import Path

from p4mesh.errors import TargetError

_NAMES = Path("/run/netns")
_OURS = re.compile(r"p4mesh-(\d+)-(\d+)-[0-9a-f]{8}")
"""Process, its start in clock ticks since that of the machine (process numbers are used again), and a random number."""
_STATE, _STARTED = 0, 19
"""Fields of /proc/PID/stat behind the name of the program."""


def new_name() -> str:
    """Return a name for a namespace of this process."""
    return f"p4mesh-{os.getpid()}-{_started(os.getpid())}-{uuid.uuid4().hex[:8]}"


def remove_abandoned() -> tuple[str, ...]:
    """Remove the namespaces whose process is gone, with the processes in them; return their names.

    Raises TargetError where that is not allowed.
    """
    names = sorted(path.name for path in _NAMES.iterdir()) if _NAMES.is_dir() else []
    abandoned = tuple(name for name in names if _is_abandoned(name))
    for name in abandoned:
        for process in run_command("ip", "netns", "pids", name).split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        run_command("ip", "netns", "delete", name)
    return abandoned


def _is_abandoned(name: str) -> bool:
    found = _OURS.fullmatch(name)
    return found is not None and _started(int(found[1])) != int(found[2])


def _started(process: int) -> int | None:
    """Return when a process has started; None when it does not run."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[_STATE] in "ZX" else int(fields[_STARTED])


def run_command(*command: str) -> str:
    """Run a command of Linux networking and return its output; raises TargetError when it fails."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        raise TargetError(f"{command[0]} is not installed", hint="install iproute2 and procps") from None
    except subprocess.CalledProcessError as error:
        raise TargetError(
            f"'{' '.join(command)}' failed: {error.stderr.strip()}", hint="network namespaces need root"
        ) from None
