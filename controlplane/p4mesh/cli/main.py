"""Entry point of ``p4mesh``: arguments in, exit code out, every error as one message."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence

from p4mesh.causes import file_hint
from p4mesh.cli.address_space import require_address_space
from p4mesh.cli.interruption import Interruption
from p4mesh.cli.notice import Notice
from p4mesh.cli.output import tell
from p4mesh.engine_module import engine_hint
from p4mesh.errors import (
    EXIT_BUG,
    EXIT_OK,
    EngineMissingError,
    EnvironmentFault,
    InternalError,
    P4MeshError,
    RightsError,
    UsageError,
)

EXIT_INTERRUPTED = 130
COMMANDS = (
    *("init", "run", "traffic", "show", "report", "compare", "export", "runs", "tests", "doctor", "serve"),
    *("otg", "topology", "net", "switch", "calibrate", "import-xena", "clab", "completion"),
)
COMPLETION = "_ARGCOMPLETE"
"""Set in the environment by a shell that wants to complete words."""
_BUG = "this is a bug of P4Mesh; --debug shows where"
SWITCH_COMMAND = "p4mesh.switch.command"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; the console script calls this."""
    if COMPLETION in os.environ:
        return _complete()
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    if words[:1] == ["switch"]:
        return _reported(lambda: _switch(words[1:]), debug)
    notice = Notice()
    if words[:1] in (["serve"], ["otg"]):
        return _reported(lambda: _dispatch(words, notice), debug)
    interruption = Interruption(notice.line, keep_errors=debug, notice=notice)
    try:
        with interruption:
            return _reported(lambda: _interruptible(words, notice, interruption), debug)
    except KeyboardInterrupt:
        interruption.told()
        if debug:
            traceback.print_exc()
        return interruption.exit_code or EXIT_INTERRUPTED


def _interruptible(words: list[str], notice: Notice, interruption: Interruption) -> int:
    """Run a command; how an interrupted one ends, or fails while it is torn down, is not its result."""
    try:
        code = _dispatch(words, notice)
    except Exception:
        if interruption.exit_code:
            raise KeyboardInterrupt from None
        raise
    if interruption.exit_code:
        raise KeyboardInterrupt
    return code


def _complete() -> int:
    """Answer a shell that asks how the words on its command line can go on."""
    from p4mesh.cli.completion import complete

    complete()
    return EXIT_OK


def _reported(command: Callable[[], int], debug: bool) -> int:
    """The exit code of a command; an error is one message."""
    try:
        return command()
    except P4MeshError as error:
        if debug:
            traceback.print_exc()
        tell(error.render())
        return error.exit_code
    except OSError as error:
        if debug:
            traceback.print_exc()
        tell(_machine(error).render())
        return EnvironmentFault.exit_code
    except Exception as error:
        if debug:
            raise
        tell(InternalError(f"internal error: {type(error).__name__}: {error}", hint=_BUG).render())
        return EXIT_BUG


def _machine(error: OSError) -> EnvironmentFault:
    where = f"{error.filename}: " if error.filename else ""
    return EnvironmentFault(f"{where}{error.strerror or error}", hint=file_hint(error.errno))


def _dispatch(words: list[str], notice: Notice) -> int:
    require_address_space(words)
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        raise UsageError(f"unknown command '{words[0][:40]}'", hint=f"valid commands: {', '.join(COMMANDS)}")
    from p4mesh.cli.arguments import parser

    parsed = parser().parse_args(words)
    try:
        code: int = parsed.handler(parsed, notice)
    except RightsError:
        # Raised before anything is written: an ordinary user's networks are in namespaces of the process.
        from p4mesh.network.own_namespaces import run_again

        run_again()
    return code


def _switch(words: list[str]) -> int:
    require_address_space(("switch",))
    try:
        module = importlib.import_module(SWITCH_COMMAND)
    except ImportError as error:
        raise EngineMissingError(f"the switch does not load: {error}", hint=engine_hint()) from None
    code: int = module.main(words)
    return code
