"""Completion in shells: what can follow the words that are typed, asked of the parser of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from argcomplete import autocomplete
from argcomplete.completers import DirectoriesCompleter, FilesCompleter

from p4mesh.cli.arguments import parser
from p4mesh.methods.names import NAMES

_YAML = FilesCompleter(("yaml", "yml"))
_ANY_FILE = FilesCompleter()
_DIRECTORY = DirectoriesCompleter()


def complete() -> None:
    """Answer the shell and end the process."""
    whole = parser()
    _attach(whole)
    autocomplete(whole, always_complete_options="long")


def _attach(whole: argparse.ArgumentParser) -> None:
    """Tell every argument, those of commands too, how its values are completed; choices complete themselves."""
    for action in whole._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _attach(command)
        elif completer := _completer(action):
            action.completer = completer  # type: ignore[attr-defined]


def _completer(action: argparse.Action) -> Callable[..., object] | None:
    if action.dest == "test":
        return _tests_and_files
    if action.dest in ("name", "tests"):
        return _tests
    if action.dest == "settings":
        return _settings
    if action.dest in ("topology", "traffic", "file"):
        return _YAML
    if action.dest in ("directory", "directories"):
        return _DIRECTORY
    return _ANY_FILE if action.metavar in ("FILE", "PATH", "DIR") else None


def _tests(prefix: str, **_: object) -> list[str]:
    names = [*NAMES, *(f"{suite}.{test}" for suite, tests in NAMES.items() for test in tests)]
    return [name for name in names if name.startswith(prefix)]


def _tests_and_files(prefix: str, **more: object) -> list[str]:
    return [*_tests(prefix), *_YAML(prefix, **more)]


def _settings(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """The parameters of the test that is named before, or the values of the one that is."""
    from p4mesh.methods.registry import suites

    test = getattr(parsed_args, "test", None) or ""
    tests = [item for items in suites().values() for item in items if item.name == test or test in NAMES]
    known = {parameter.name: parameter for item in tests for parameter in item.parameters}
    name, equals, _word = prefix.partition("=")
    if not equals:
        return [f"{parameter}=" for parameter in known if parameter.startswith(prefix)]
    words = (*known[name].choices, *(("true", "false") if known[name].valid == "true or false" else ()))
    return [f"{name}={word}" for word in words if f"{name}={word}".startswith(prefix)]
