"""The published JSON Schema of run files: what the reader checks, and the parameters of every test for editors."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from p4mesh.methods.names import NAMES
from p4mesh.methods.options.parameters import Kind, Parameter, show
from p4mesh.methods.registry import TESTS
from p4mesh.run.published_parameters import UNIT
from p4mesh.run_file.schema import schema

_ENTRY = "RequestedTest"
_LONGEST_LINE = 5000


def published() -> dict[str, Any]:
    """The schema; its text is ``p4mesh/run_file/schema.json``."""
    made: dict[str, Any] = json.loads(json.dumps(schema()))
    definitions = made["$defs"]
    names = [*(test.name for test in TESTS), *NAMES]
    entry = definitions[_ENTRY]
    entry["properties"]["test"] |= {"enum": names}
    definitions["RunFile"]["properties"]["tests"]["items"]["anyOf"][0] |= {"enum": names}
    rules = _Rules()
    entry["allOf"] = [
        {
            "if": {"properties": {"test": {"const": test.name}}},
            "then": {
                "properties": {
                    "parameters": {
                        "properties": {parameter.name: rules.reference(parameter) for parameter in test.parameters},
                        "additionalProperties": False,
                    }
                }
            },
        }
        for test in TESTS
    ]
    known = sorted({parameter.name for test in TESTS for parameter in test.parameters})
    definitions["RunFile"]["properties"]["parameters"] |= {"propertyNames": {"enum": known}}
    definitions |= rules.definitions
    return made


def published_text() -> str:
    """The schema as it is published."""
    return _laid_out(published(), "") + "\n"


def _laid_out(value: Any, indent: str) -> str:
    """One line for a value of usual length: a program reads it, and a change of one rule changes one line."""
    short = json.dumps(value)
    if not isinstance(value, dict | list) or len(short) <= _LONGEST_LINE:
        return short
    deeper = indent + " "
    pairs = value.items() if isinstance(value, dict) else (("", item) for item in value)
    heads = [(f"{json.dumps(key)}: " if isinstance(value, dict) else "", item) for key, item in pairs]
    lines = [f"{deeper}{head}{_laid_out(item, deeper)}" for head, item in heads]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(lines) + f"\n{indent}{closing}"


class _Rules:
    """Rules of parameters, each once: most tests share theirs."""

    def __init__(self) -> None:
        self.definitions: dict[str, dict[str, Any]] = {}

    def reference(self, parameter: Parameter) -> dict[str, str]:
        """A reference to the rule of a parameter."""
        rule, number = _rule(parameter), 1
        while self.definitions.setdefault(f"{parameter.name}-{number}", rule) != rule:
            number += 1
        return {"$ref": f"#/$defs/{parameter.name}-{number}"}


def _rule(parameter: Parameter) -> dict[str, Any]:
    """Rule for the values of a parameter; in YAML, numbers and the words true and false are not texts."""
    unit = f" in {parameter.unit}" if parameter.unit else ""
    described = {"title": f"{parameter.summary}{unit}", "description": f"{parameter.valid}; {parameter.section}"}
    if parameter.unit:
        described[UNIT] = parameter.unit
    default = show(parameter.default)
    if parameter.kind is Kind.BOOLEAN:
        return {**described, "type": "boolean", "default": parameter.default}
    if parameter.kind is Kind.TEXT:
        # A list of numbers is a text, and a list of one looks like a number in YAML.
        return {**described, "type": ["string", "number"], "default": int(default) if default.isdecimal() else default}
    if parameter.kind is Kind.CHOICE:
        words = [int(word) if word.isdecimal() else word for word in parameter.choices]
        chosen = int(default) if default.isdecimal() else default
        return {**described, "enum": words, "default": chosen}
    kind = "integer" if parameter.kind is Kind.INTEGER else "number"
    number: dict[str, Any] = {"type": kind}
    for key, bound in (("minimum", parameter.minimum), ("maximum", parameter.maximum)):
        if bound is not None:
            number[key] = _plain(bound)
    value = default if isinstance(parameter.default, str) else _plain(Fraction(parameter.default))
    if not parameter.choices:
        return {**described, **number, "default": value}
    return {**described, "anyOf": [number, {"enum": list(parameter.choices)}], "default": value}


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)
