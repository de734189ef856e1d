"""Parameters as the schema of run files publishes them: settings are checked with it before a test is loaded.

``run_file_schema`` writes them there. They have neither defaults of real time nor the mark of commands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from p4mesh.errors import ParameterError
from p4mesh.methods.names import NAMES
from p4mesh.methods.options.parameters import Kind, Parameter, resolve
from p4mesh.run_file.published import published_path

UNIT = "x-unit"
"""Key of a rule with the unit of the values, where they have one."""


def check_settings(name: str, settings: Iterable[str]) -> None:
    """Raise ParameterError where a test, or the tests of a suite, cannot take ``key=value`` settings."""
    if name not in NAMES:
        resolve(name, published_parameters(name), settings)
        return
    tests = {test: published_parameters(test) for test in (f"{name}.{test}" for test in NAMES[name])}
    require_known_keys(name, tests, settings)
    for test, parameters in tests.items():
        resolve(test, parameters, settings_of(parameters, settings))


def require_known_keys(suite: str, tests: Mapping[str, Iterable[Parameter]], settings: Iterable[str]) -> None:
    """Raise ParameterError for a setting of a parameter that none of the tests of a suite has."""
    known = {parameter.name for parameters in tests.values() for parameter in parameters}
    for key in (setting.partition("=")[0] for setting in settings):
        if key not in known:
            raise ParameterError(
                f"--set {key}: no test of {suite} has this parameter", hint="p4mesh tests lists the parameters"
            )


def settings_of(parameters: Iterable[Parameter], settings: Iterable[str]) -> tuple[str, ...]:
    """The settings of a suite that are for a test with these parameters."""
    known = {parameter.name for parameter in parameters}
    return tuple(setting for setting in settings if setting.partition("=")[0] in known)


def published_parameters(test: str) -> tuple[Parameter, ...]:
    """The parameters of a test in their order."""
    definitions = _definitions()
    for rule in definitions["RequestedTest"]["allOf"]:
        if rule["if"]["properties"]["test"]["const"] == test:
            references = rule["then"]["properties"]["parameters"]["properties"]
            return tuple(
                _parameter(name, definitions[reference["$ref"].rpartition("/")[2]])
                for name, reference in references.items()
            )
    raise AssertionError(f"{test} is not published")


@cache
def _definitions() -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(published_path().read_text(encoding="utf-8"), parse_float=Fraction)
    definitions: dict[str, Any] = whole["$defs"]
    return definitions


def _parameter(name: str, rule: Mapping[str, Any]) -> Parameter:
    unit = rule.get(UNIT, "")
    summary = rule["title"].removesuffix(f" in {unit}") if unit else rule["title"]
    default, section = rule["default"], rule["description"].rpartition("; ")[2]
    if rule.get("type") == "boolean":
        return Parameter(name, Kind.BOOLEAN, default, unit, section, summary)
    if isinstance(rule.get("type"), list):
        return Parameter(name, Kind.TEXT, str(default), unit, section, summary)
    if "enum" in rule:
        words = tuple(map(str, rule["enum"]))
        return Parameter(name, Kind.CHOICE, str(default), unit, section, summary, choices=words)
    number, words = (rule["anyOf"][0], tuple(rule["anyOf"][1]["enum"])) if "anyOf" in rule else (rule, ())
    kind = Kind.INTEGER if number["type"] == "integer" else Kind.DECIMAL
    if kind is Kind.DECIMAL and not isinstance(default, str):
        default = Fraction(default)
    low, high = (Fraction(number[key]) if key in number else None for key in ("minimum", "maximum"))
    return Parameter(name, kind, default, unit, section, summary, low, high, words)
