"""The parser of every command line: wrong words are one UsageError, like every other wrong input."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from p4mesh.errors import UsageError

_LONGEST_MESSAGE = 300
_WITHOUT_VALUE = re.compile(r"(--[a-z][a-z-]*)=(--)?")


class Parser(argparse.ArgumentParser):
    """Reports wrong arguments as UsageError."""

    def parse_known_args(  # type: ignore[override]  # the types of the base class tell overloads apart
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[Any]]:
        """Refuse ``--option=--``, of which Python makes an option with an empty list as value, and empty words.

        An empty word is a variable of a shell that has no value; as a path it would be the current directory.
        """
        before, hint = "", f"see: {self.prog} --help"
        for word in args or ():
            if word == "--":
                break
            if not word:
                raise UsageError(f"argument{before}: '' is no value", hint=hint)
            if found := _WITHOUT_VALUE.fullmatch(word):
                raise UsageError(
                    f"argument {found[1]}: '{found[2] or ''}' is no value", hint=f"see: {self.prog} --help"
                )
            before = f" {word}" if word.startswith("--") and "=" not in word else ""
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise UsageError; a message repeats what the user wrote, which can be long."""
        if len(message) > _LONGEST_MESSAGE:
            message = message[:_LONGEST_MESSAGE] + "..."
        raise UsageError(message, hint=f"see: {self.prog} --help")
