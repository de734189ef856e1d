"""Runs a command of the user, such as one that resets a device which P4Mesh cannot reset itself."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
from typing import IO

from p4mesh.causes import program_hint
from p4mesh.errors import HookError
from p4mesh.quantities import number_text
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.trial.spec import Hook

_KEPT_BYTES = 4096
_LAST_WORDS_S = 1.0
"""How long the output of a command that has ended may still be on its way; what it has started may hold it open."""
_HOW = "a hook is a program with its arguments; for shell syntax write: sh -c '...'"


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
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        hint = program_hint(error.errno, _HOW) if isinstance(error, OSError) else _HOW
        raise HookError(f"hook '{hook.command}' cannot be started: {reason}", hint=hint) from None
    said = _LastWords(process)
    try:
        process.wait(hook.timeout_ns / NS_PER_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise HookError(
            f"hook '{hook.command}' did not end within {number_text(hook.timeout_ns / NS_PER_S)} s",
            hint="raise hook_timeout_s, or let the command return before the device is back",
        ) from None
    if process.returncode:
        last = said.lines()[-1:]
        words = f": {last[0]}" if last else ""
        code = process.returncode
        end = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        raise HookError(
            f"hook '{hook.command}' {end}{words}",
            hint="run it by hand to see why; exit code 0 is success, P4MESH_TRIAL has the label of the trial",
        )


class _LastWords:
    """The end of what a command writes to stderr, which may be without end; read while it runs."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        self._kept = b""
        self._reader = threading.Thread(target=self._read, args=(process.stderr,), daemon=True)
        self._reader.start()

    def lines(self) -> list[str]:
        self._reader.join(_LAST_WORDS_S)
        return self._kept.decode(errors="replace").strip().splitlines()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while part := os.read(stream.fileno(), _KEPT_BYTES):
                self._kept = (self._kept + part)[-_KEPT_BYTES:]
