"""The rules of the API itself for an object in JSON: known keys, required ones, and values; each error has its path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import snappi
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from p4mesh.errors import OtgError
from p4mesh.otg.elements import refusal

_SHOWN = 40
"""Characters of a value that an error shows."""
_FORMATS = {
    "mac": "a MAC address, such as 02:00:00:00:00:01",
    "ipv4": "an IPv4 address, such as 192.0.2.1",
    "ipv6": "an IPv6 address, such as 2001:db8::1",
    "hex": "hex digits, such as 00ff",
    "oid": "an object identifier, such as 1.3.6.1",
    str: "a text",
    bool: "true or false",
    float: "a number",
    "float": "a number",
    "double": "a number",
}
_BOUNDS = {
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "uint64": (0, (1 << 64) - 1),
}


def violations(kind: Descriptor, data: Any) -> Iterator[OtgError]:
    """Yield errors of an object of the API, and of those in it, as the types of the package snappi tell them.

    snappi's own errors name no path, and it tells one at a time.
    """
    return _violations(kind, getattr(snappi, kind.name), data, "")


def _violations(kind: Descriptor, model: Any, data: Any, path: str) -> Iterator[OtgError]:
    if not isinstance(data, Mapping):
        yield _wrong(path, data, "an object")
        return
    given = set()
    for key, value in data.items():
        at = _at(path, key)
        field = kind.fields_by_name.get(key) or kind.fields_by_camelcase_name.get(key)
        if field is None:
            yield refusal(at, "is no element of the API", kind.fields_by_name)
        elif value is not None:  # which JSON has for what is left out
            given.add(field.name)
            yield from _violations_of_field(field, model, value, at)
    for name in model._REQUIRED:
        if name not in given:
            yield refusal(_at(path, name), "is left out", _valid(kind.fields_by_name[name], model))


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _violations_of_field(field: FieldDescriptor, model: Any, value: Any, path: str) -> Iterator[OtgError]:
    if field.is_repeated and not isinstance(value, list):
        yield _wrong(path, value, "a list")
    elif field.message_type is not None:
        name = model._TYPES[field.name]["type"]
        if field.is_repeated:
            item = getattr(snappi, name.removesuffix("Iter"))
            for place, one in enumerate(value):
                yield from _violations(field.message_type, item, one, f"{path}[{place}]")
        else:
            yield from _violations(field.message_type, getattr(snappi, name), value, path)
    elif not _fits(field, model, value):
        for place, one in enumerate(value if field.is_repeated else [value]):
            if not _fits(field, model, [one] if field.is_repeated else one):
                yield _wrong(f"{path}[{place}]" if field.is_repeated else path, one, _valid(field, model))


def _fits(field: FieldDescriptor, model: Any, value: Any) -> bool:
    """Whether snappi takes a value, or a list of values, for a property."""
    details = model._TYPES[field.name]
    values = value if field.is_repeated else [value]
    kind = details["itemtype"] if field.is_repeated else details["type"]
    if kind is not bool and any(isinstance(one, bool) for one in values):
        return False
    try:
        if details.get("itemformat", details.get("format")) in ("int64", "uint64"):
            values = [int(one) for one in values]  # texts in JSON
        _checker(model)._validate_types(field.name, values if field.is_repeated else values[0])
    except Exception:  # snappi raises whatever its checks run into
        return False
    return True


@cache
def _checker(model: Any) -> Any:
    """An object of a class of snappi that checks values for it; making one takes longer than checking."""
    return model()


def _wrong(path: str, value: Any, valid: str) -> OtgError:
    shown = json.dumps(value)
    what = f"is {shown[:_SHOWN]}{'...' if len(shown) > _SHOWN else ''}"
    return refusal(path, what, valid) if path else refusal("the request", what, valid)


def _valid(field: FieldDescriptor, model: Any) -> str:
    """Text on what snappi takes for a property, or for each item of it."""
    details = model._TYPES[field.name]
    if field.message_type is not None:
        return "a list of objects" if field.is_repeated else "an object"
    if "enum" in details:
        return ", ".join(details["enum"])
    kind = details["itemtype"] if field.is_repeated else details["type"]
    form = details.get("itemformat", details.get("format"))
    if kind is int:
        least, most = _BOUNDS.get(form, _BOUNDS["int64"])
        return f"{details.get('minimum', least):,} to {details.get('maximum', most):,}"
    text = f"a text like {details['pattern']}" if "pattern" in details else _FORMATS[form or kind]
    if "maxLength" in details:
        return f"{text}, {details.get('minLength', 0):,} to {details['maxLength']:,} characters"
    return text
