"""Runs a command of the user, such as one that resets a device which P4Mesh cannot reset itself."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess

from p4mesh.errors import HookError
from p4mesh.trial.spec import Hook

NS_PER_S = 10**9


def run_hook(hook: Hook, label: str) -> None:
    """Run the command to its end, without a shell; ``label`` of the trial is in its environment.

    Raises HookError when it cannot be started, takes longer than its time-out, or fails.
    """
    environment = {**os.environ, "P4MESH_TRIAL": label}
    try:
        # In a session of its own, so that a time-out ends what the command has started, too.
        process = subprocess.Popen(
            shlex.split(hook.command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise HookError(f"hook '{hook.command}' cannot be started: {reason}", hint=_HOW) from None
    try:
        _, said = process.communicate(timeout=hook.timeout_ns / NS_PER_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise HookError(
            f"hook '{hook.command}' did not end within {hook.timeout_ns / NS_PER_S:g} s",
            hint="raise hook_timeout_s, or let the command return before the device is back",
        ) from None
    if process.returncode:
        last = said.strip().splitlines()[-1:]
        words = f": {last[0]}" if last else ""
        raise HookError(f"hook '{hook.command}' ended with exit code {process.returncode}{words}", hint=_HOW)


_HOW = "a hook is a program with its arguments; for shell syntax write: sh -c '...'"
