"""Arguments of commands that set the options of a run, made of what the fields of the options declare."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from p4mesh.run.options import ARGUMENT, RunOptions


def add_option(parser: argparse.ArgumentParser, name: str, **differently: Any) -> None:
    """Let a command have the option ``name``; ``differently`` replaces what argparse is told of it."""
    option = next(item for item in fields(RunOptions) if item.name == name)
    flag, how = option.metadata[ARGUMENT]
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    parser.add_argument(flag, dest=name, **{"default": default, **how, **differently})


def options_of(arguments: argparse.Namespace) -> RunOptions:
    """Options of a run as the user has given them to a command."""
    given: dict[str, Any] = {"test": ""}
    for item in fields(RunOptions):
        if hasattr(arguments, item.name):
            value = getattr(arguments, item.name)
            given[item.name] = tuple(value) if isinstance(value, list) else value
    return RunOptions(**given)
