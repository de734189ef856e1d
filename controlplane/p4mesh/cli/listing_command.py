"""``p4mesh tests``: a short list, or tests with their parameters, units, defaults and ranges."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK, UsageError
from p4mesh.methods.base import Method
from p4mesh.methods.names import NAMES, require_known
from p4mesh.methods.options.groups import grouped
from p4mesh.methods.options.parameters import Parameter, show
from p4mesh.methods.registry import TESTS, find_test, suites
from p4mesh.quantities import frame_sizes_text
from p4mesh.target.names import WALL_CLOCK_TARGETS

_LONGEST_SHOWN = 40


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Print the short list; of one test, or of what is searched, the parameters, too."""
    tests = _asked(arguments.name)
    words = (arguments.search or "").lower().split()
    if words:
        ranked = sorted(tests, key=lambda test: _rank(test, words))
        chosen = [(test, parameters) for test in ranked if (parameters := _matching(test, words))]
        if not chosen:
            raise UsageError(
                f"--search {arguments.search[:_LONGEST_SHOWN]}: no test and no parameter has these words",
                hint="p4mesh tests lists the tests; words are searched in names, titles, terms, clauses and summaries",
            )
    else:
        chosen = [(test, test.parameters) for test in tests]
    if arguments.json:
        say(json.dumps([_data_of(test, parameters) for test, parameters in chosen], indent=1))
    elif words or (arguments.name and arguments.name not in NAMES):
        say("\n\n".join(_text_of(test, parameters) for test, parameters in chosen))
    else:
        say(_short(tests))
    return EXIT_OK


def _asked(name: str | None) -> tuple[Method, ...]:
    """All tests, those of a suite, or one; raises UnknownTestError."""
    if name is None:
        return TESTS
    require_known(name)
    return suites()[name] if name in NAMES else (find_test(name),)


def _matching(test: Method, words: Sequence[str]) -> tuple[Parameter, ...]:
    """The parameters that have every word; all of them where the test itself has."""
    if _has(words, *_about(test)):
        return test.parameters
    return tuple(item for item in test.parameters if _has(words, item.name, item.summary, item.section, *item.choices))


def _about(test: Method) -> tuple[str, ...]:
    return test.name, test.title, test.section, test.terms


def _rank(test: Method, words: Sequence[str]) -> tuple[int, int]:
    """Place of a test in a search: titles with little else than the words first, parameters with them last."""
    if _has(words, test.title):
        return 0, len(test.title)
    return (1, 0) if _has(words, *_about(test)) else (2, 0)


def _has(words: Sequence[str], *texts: str) -> bool:
    return all(any(word in text.lower() for text in texts) for word in words)


def _short(tests: Sequence[Method]) -> str:
    width = max(len(test.name) for test in tests)
    suite = ""
    lines: list[str] = []
    for test in tests:
        if test.name.partition(".")[0] != suite:
            suite = test.name.partition(".")[0]
            lines += ["", suite] if lines else [suite]
        lines.append(f"  {test.name:<{width}}  {test.title} ({test.section})")
    lines += ["", "p4mesh tests NAME shows the parameters of a test, p4mesh tests --search WORD searches them."]
    return "\n".join(lines)


def _text_of(test: Method, parameters: Sequence[Parameter]) -> str:
    lines = [f"{test.name}  {test.title} ({test.section})"]
    lines.append(f"  frame sizes: {frame_sizes_text(test.frame_sizes_bytes)}")
    width = max(len(parameter.name) for parameter in parameters)
    default_width = max(len(show(parameter.default)) for parameter in parameters)
    for about, members in grouped(test.parameters).items():
        shown = [parameter for parameter in members if parameter in parameters]
        if not shown:
            continue
        lines += ["", f"  {about}"]
        valid_width = max(len(parameter.valid) for parameter in shown)
        lines += [
            f"    {parameter.name:<{width}}  {show(parameter.default):>{default_width}}"
            f"  {parameter.valid:<{valid_width}}  {parameter.section}: {parameter.summary}{_real_time(parameter)}"
            for parameter in shown
        ]
    return "\n".join(lines)


def _real_time(parameter: Parameter) -> str:
    if parameter.real_time is None:
        return ""
    targets = ", ".join(WALL_CLOCK_TARGETS)
    return f"; default on {targets}: {show(parameter.real_time)}"


def _data_of(test: Method, parameters: Sequence[Parameter]) -> dict[str, Any]:
    return {
        "name": test.name,
        "title": test.title,
        "section": test.section,
        "frame_sizes_bytes": list(test.frame_sizes_bytes),
        "parameters": [
            {
                "name": parameter.name,
                "group": about,
                "type": parameter.kind.value,
                "unit": parameter.unit,
                "default": show(parameter.default),
                "real_time_default": show(parameter.default_in(real_time=True)),
                "valid": parameter.valid,
                "section": parameter.section,
                "summary": parameter.summary,
            }
            for about, members in grouped(test.parameters).items()
            for parameter in members
            if parameter in parameters
        ],
    }
