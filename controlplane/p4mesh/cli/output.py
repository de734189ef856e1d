"""Text for people: results on stdout, progress and errors on stderr. A closed pipe is not an error.

A pipe that its reader has closed ends the printing, not the command. Where output cannot be written for another reason,
such as a full disk, results end the command; progress does not.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO

from p4mesh.causes import file_hint
from p4mesh.errors import EnvironmentFault


def say(text: str) -> None:
    """Print results; raises EnvironmentFault when they cannot be written."""
    try:
        _write(sys.stdout, text)
    except OSError as error:
        hint = f"{file_hint(error.errno, 'look at where it goes')}; p4mesh show DIR prints the results of a run again"
        raise EnvironmentFault(f"standard output: {error.strerror}", hint=hint) from None


def tell(text: str, stream: TextIO | None = None) -> None:
    """Print progress, or an error."""
    try:
        _write(stream or sys.stderr, text)
    except OSError:
        return


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None or stream.closed:
        return
    try:
        stream.write(text + "\n")
        stream.flush()
    except BrokenPipeError:
        _mute(stream)
    except OSError:
        _mute(stream)
        raise


def _mute(stream: TextIO) -> None:
    """Discard all further output, also the rest that the interpreter flushes at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
