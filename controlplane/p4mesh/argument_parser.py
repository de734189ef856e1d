"""The parser of every command line: wrong words are one UsageError, like every other wrong input."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from p4mesh.errors import UsageError

_LONGEST_MESSAGE = 300
_WITHOUT_VALUE = re.compile(r"(--[a-z][a-z-]*)=(--)?")


class Parser(argparse.ArgumentParser):
    """Reports wrong arguments as UsageError."""

    def parse_known_args(  # type: ignore[override]  # the types of the base class tell overloads apart
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[Any]]:
        """Refuse unknown options where their command is known, ``--option=--``, and empty words.

        Python makes an option with an empty list as value of ``--option=--``. An empty word is a variable of a shell
        that has no value; as a path it would be the current directory.
        """
        before, hint = "", self._hint
        for word in args or ():
            if word == "--":
                break
            if not word:
                raise UsageError(f"argument{before}: '' is no value", hint=hint)
            if found := _WITHOUT_VALUE.fullmatch(word):
                raise UsageError(f"argument {found[1]}: '{found[2] or ''}' is no value", hint=hint)
            before = f" {word}" if word.startswith("--") and "=" not in word else ""
        known, unknown = super().parse_known_args(args, namespace)
        if options := [word.partition("=")[0] for word in unknown if word.startswith("-")]:
            close = get_close_matches(options[0], self._option_string_actions, n=1, cutoff=0.7)
            guess = f"did you mean {close[0]}? " if close else ""
            raise UsageError(_cut(f"unrecognized arguments: {' '.join(unknown)}"), hint=guess + hint)
        return known, unknown

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(_cut(message), hint=self._hint)

    @property
    def _hint(self) -> str:
        return f"see: {self.prog} --help"


def _cut(message: str) -> str:
    """A message repeats what the user wrote, which can be long."""
    return message if len(message) <= _LONGEST_MESSAGE else message[:_LONGEST_MESSAGE] + "..."
