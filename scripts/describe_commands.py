"""Describes the command line as Markdown, from its parser: for the documentation site and the manual page."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from p4mesh.cli.arguments import parser
from p4mesh.switch.options import parser as switch_parser

_COLUMNS = "100"
"""Width of the lines that argparse writes."""
_ELSEWHERE = "switch"
"""The command whose arguments are not in the parser of the others."""


def described() -> str:
    """A chapter per command: what it does, how it is called, its arguments."""
    os.environ["COLUMNS"] = _COLUMNS
    return "\n".join([*_chapters(parser(), "", 0), *_chapters(switch_parser(), "", 1)])


def _chapters(of: argparse.ArgumentParser, help_text: str, depth: int) -> Iterator[str]:
    branches = [action for action in of._actions if isinstance(action, argparse._SubParsersAction)]
    if depth:
        yield f"{'#' * (depth + 1)} {of.prog}\n"
        yield f"{_sentence(of.description or help_text)}\n"
    if not branches or not depth:
        yield f"```\n{of.format_usage().removeprefix('usage: ').strip()}\n```\n"
    yield from _arguments(of)
    for branch in branches:
        helps = {choice.dest: choice.help or "" for choice in branch._choices_actions}
        for name, inner in branch.choices.items():
            if name != _ELSEWHERE:
                yield from _chapters(inner, helps.get(name, ""), depth + 1)


def _arguments(of: argparse.ArgumentParser) -> Iterator[str]:
    """Yield a definition per argument; of the help of argparse, `%` is written twice and defaults have names."""
    formatter = of._get_formatter()
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        if not action.option_strings:
            words = action.metavar if isinstance(action.metavar, str) else action.dest
        elif action.nargs == 0:
            words = ", ".join(action.option_strings)
        else:
            value = formatter._format_args(action, formatter._get_default_metavar_for_optional(action))
            words = ", ".join(f"{option} {value}" for option in action.option_strings)
        text = formatter._expand_help(action) if action.help else "the directory or file that is meant"
        yield f"`{words}`\n: {_escaped(text)}\n"


def _sentence(text: str) -> str:
    words = _escaped(text.strip())
    return words if not words or words.endswith(".") else f"{words[0].upper()}{words[1:]}."


def _escaped(text: str) -> str:
    """Text without what Markdown would take for markup."""
    return "".join(f"\\{sign}" if sign in "*_`<[" else sign for sign in text)


if __name__ == "__main__":
    print(described())
