"""Validation against a JSON Schema with one message: file, line, key, fault, valid values."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from p4mesh.config_files.yaml_source import YamlSource
from p4mesh.errors import UsageError

if TYPE_CHECKING:
    import jsonschema_rs
    from jsonschema.exceptions import ValidationError

Schema = Callable[[], dict[str, Any]]
"""A function that makes a JSON Schema, always the same."""

_TYPE_NAMES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
}


def require_valid(source: YamlSource, schema: Schema) -> None:
    """Raise the error of the file's kind for the first fault in file order."""
    try:
        if _quick_validator(schema).is_valid(source.data):
            return
    except ValueError:
        pass  # It takes no keys but strings.
    from jsonschema import Draft202012Validator  # Takes long to load, and explains what is not valid.

    validator = Draft202012Validator(schema())
    errors = sorted(validator.iter_errors(source.data), key=lambda error: _order(source, error))
    if errors:
        raise _explain(source, errors[0])


@cache
def _quick_validator(schema: Schema) -> jsonschema_rs.Draft202012Validator:
    """A validator that says whether a value is valid, not why not."""
    import jsonschema_rs  # takes long to load, and a file that is missing needs no validator

    return jsonschema_rs.Draft202012Validator(schema())


def _order(source: YamlSource, error: ValidationError) -> tuple[bool, int, str]:
    """An unknown key comes first: it explains the missing one of which it is a misspelling."""
    return error.validator != "additionalProperties", source.line(tuple(error.absolute_path)), error.message


def _explain(source: YamlSource, error: ValidationError) -> UsageError:
    error = _meant(error)
    path = tuple(error.absolute_path)
    where = source.where(path)
    rule = cast("dict[str, Any]", error.schema)
    if error.validator == "additionalProperties":
        known = list(rule["properties"])
        unknown = next(key for key in cast("dict[str, Any]", error.instance) if key not in known)
        close = difflib.get_close_matches(unknown, known, n=1)
        guess = f"did you mean {close[0]}? " if close else ""
        return source.kind.error(
            f"{source.where((*path, unknown))}: unknown key", hint=f"{guess}valid keys: {', '.join(known)}"
        )
    if error.validator == "required":
        missing = next(key for key in rule["required"] if key not in cast("dict[str, Any]", error.instance))
        return source.kind.error(
            f"{where}: '{missing}' is missing", hint=f"required keys: {', '.join(rule['required'])}"
        )
    return source.kind.error(f"{where}: {_shown(error.instance)} is not valid", hint=f"valid: {valid_values(rule)}")


def _meant(error: ValidationError) -> ValidationError:
    """The fault within the form that has the type of the value, where several forms have no description."""
    if error.validator != "anyOf" or "description" in cast("dict[str, Any]", error.schema):
        return error
    others = [inner for inner in error.context or () if inner.validator != "type" or inner.path]
    forms = {inner.schema_path[0] for inner in others}
    if len(forms) != 1:
        return error
    return min(others, key=lambda inner: inner.validator != "additionalProperties")


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def valid_values(rule: dict[str, Any]) -> str:
    """Say in words what a rule of the schema allows."""
    if "description" in rule:
        return str(rule["description"])
    if "enum" in rule:
        return ", ".join(str(item) for item in rule["enum"])
    if rule.get("maxProperties") == 1:
        return f"a mapping with one of {', '.join(rule['properties'])}"
    text = _TYPE_NAMES.get(str(rule.get("type")), "see the schema")
    low, high = rule.get("minimum"), rule.get("maximum")
    if "exclusiveMinimum" in rule:
        return f"{text} above {rule['exclusiveMinimum']}, up to {high}"
    if low is not None and high is not None:
        return f"{text} in {low}..{high}"
    if low is not None:
        return f"{text} from {low}"
    if least := rule.get("minItems") or rule.get("minProperties"):
        return f"{text} with at least {least} entry"
    if "pattern" in rule:
        return f"{text} that matches {rule['pattern']}"
    return text
