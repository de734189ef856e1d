"""Frozen dataclasses to JSON data and back, without loss: rationals as "n/d", enums as values, bytes in hex.

Classes with ``of_kind`` (a layer, a pattern) are stored as their ``kind``, with those fields that differ from their
defaults; so are other fields with the metadata ``{"stored": "if set"}``. Classes with ``of_name`` are stored as their
``name``. Fields that take no part in ``__init__`` follow from others: they are stored, and not read.
"""

from __future__ import annotations

import json
import types
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec

T = TypeVar("T")
_PLAIN = frozenset({type(None), bool, int, float, str})


def encode(value: Any) -> Any:
    """Makes JSON data of ``value``; raises TypeError for a type that has no place in a result."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "of_name"):
        return value.name
    if is_dataclass(value) and not isinstance(value, type):
        stored = {}
        for name, if_set, default in _stored_fields(type(value)):
            item = getattr(value, name)
            if not (if_set and item == default):
                stored[name] = encode(item)
        if hasattr(value, "of_kind"):
            kind: str = value.kind  # type: ignore[attr-defined]
            return {"kind": kind, **stored} if stored else kind
        return stored
    if isinstance(value, IPv4Address | IPv6Address):
        return str(value)
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} cannot be stored")


def decode(kind: type[T], data: Any) -> T:
    """Makes the ``kind`` again that :func:`encode` made ``data`` from; raises ValueError on a mismatch."""
    return cast(T, _decode(kind, data))


def canonical(data: Any) -> str:
    """JSON text that is equal for equal data: no spaces, order of insertion kept."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def indented(data: Any, spaces: int) -> str:
    """JSON text with a line per value: that of json.dumps with an indent, which makes it in Python, in less time."""
    return msgspec.json.format(json.dumps(data, allow_nan=False), indent=spaces)


def _decode(kind: Any, data: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        if data is None:
            return None
        return _decode(_member(kind, data), data)
    if origin is tuple:
        return tuple(_decode(get_args(kind)[0], item) for item in data)
    if origin is dict:
        return dict(data)
    if kind in (Fraction, IPv4Address, IPv6Address):
        return kind(data)
    if kind is bytes:
        return bytes.fromhex(data)
    if hasattr(kind, "of_name"):
        return kind.of_name(data)
    if hasattr(kind, "of_kind"):
        name, data = (data["kind"], {**data}) if isinstance(data, dict) else (data, {})
        data.pop("kind", None)
        kind = kind.of_kind(name)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        unknown = set(data) - {item.name for item in fields(kind)}
        if unknown:
            raise ValueError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
        given = [item.name for item in fields(kind) if item.init and item.name in data]
        return kind(**{name: _decode(hints[name], data[name]) for name in given})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    if kind is float and isinstance(data, int):
        return float(data)
    if isinstance(kind, type) and not isinstance(data, kind):
        raise ValueError(f"{data!r} is not {kind.__name__}")
    return data


def _member(union: Any, data: Any) -> Any:
    """Type of a union that ``data`` was made from: the only one, or the one with these fields."""
    members = [item for item in get_args(union) if item is not type(None)]
    if len(members) == 1:
        return members[0]
    for member in members:
        if is_dataclass(member) and isinstance(data, dict) and set(_hints(cast(type, member))) == set(data):
            return member
    raise ValueError(f"{data!r} is none of {', '.join(member.__name__ for member in members)}")


@cache
def _stored_fields(kind: type) -> list[tuple[str, bool, Any]]:
    """(name, whether it is left out at its default, default) of each field of a class."""
    named = hasattr(kind, "of_kind")
    return [(item.name, named or "stored" in item.metadata, item.default) for item in fields(kind)]


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
