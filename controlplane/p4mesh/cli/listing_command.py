"""``p4mesh tests``: every test with its parameters, units, defaults and ranges."""

from __future__ import annotations

import argparse
import json
from typing import Any

from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK
from p4mesh.methods.base import Method
from p4mesh.methods.options.parameters import Parameter, show
from p4mesh.methods.registry import TESTS
from p4mesh.target.names import WALL_CLOCK_TARGETS


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Print the list."""
    if arguments.json:
        say(json.dumps([_data_of(test) for test in TESTS], indent=1))
    else:
        say("\n\n".join(_text_of(test) for test in TESTS))
    return EXIT_OK


def _text_of(test: Method) -> str:
    lines = [f"{test.name}  {test.title} ({test.section})"]
    lines.append(f"  frame sizes: {', '.join(str(size) for size in test.frame_sizes_bytes)} B")
    width = max(len(parameter.name) for parameter in test.parameters)
    default_width = max(len(show(parameter.default)) for parameter in test.parameters)
    valid_width = max(len(parameter.valid) for parameter in test.parameters)
    for parameter in test.parameters:
        lines.append(
            f"  {parameter.name:<{width}}  {show(parameter.default):>{default_width}}"
            f"  {parameter.valid:<{valid_width}}  {parameter.section}: {parameter.summary}{_real_time(parameter)}"
        )
    return "\n".join(lines)


def _real_time(parameter: Parameter) -> str:
    if parameter.real_time is None:
        return ""
    targets = ", ".join(WALL_CLOCK_TARGETS)
    return f"; default on {targets}: {show(parameter.real_time)}"


def _data_of(test: Method) -> dict[str, Any]:
    return {
        "name": test.name,
        "title": test.title,
        "section": test.section,
        "frame_sizes_bytes": list(test.frame_sizes_bytes),
        "parameters": [
            {
                "name": parameter.name,
                "type": parameter.kind.value,
                "unit": parameter.unit,
                "default": show(parameter.default),
                "real_time_default": show(parameter.default_in(real_time=True)),
                "valid": parameter.valid,
                "section": parameter.section,
                "summary": parameter.summary,
            }
            for parameter in test.parameters
        ],
    }
