"""A Xena file as data whose every value is accounted for: it was used, or there is a reason why not."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]
_GUID = "guid_"
_MOST_VALUES_SHOWN = 3
_LONGEST_VALUE = 40
UNKNOWN = "unknown key"


@dataclass(frozen=True)
class LeftOut:
    """A key that has no place in what was written; the same key of several ports or tests is one entry."""

    key: str
    values: tuple[str, ...]
    """Different values, at most three."""
    count: int
    reason: str


class Accounts:
    """Every value of a file, and what became of it."""

    def __init__(self, data: Any) -> None:
        self._values: dict[Path, Any] = dict(_leaves(data, ()))
        self._used: set[Path] = set()
        self._reasons: dict[Path, str] = {}
        self._below: dict[Path, list[Path]] = {}
        """The values at and below each path."""
        for leaf in self._values:
            for depth in range(len(leaf) + 1):
                self._below.setdefault(leaf[:depth], []).append(leaf)

    @property
    def mapped(self) -> int:
        """Number of values that were used."""
        return len(self._used)

    @property
    def total(self) -> int:
        """Number of values of the file."""
        return len(self._values)

    def use(self, path: Path) -> None:
        """Note that the values at and below a path were used."""
        self._used.update(self._below.get(path, ()))

    def leave_out(self, path: Path, reason: str) -> None:
        """Note why the values at and below a path are not used, unless something is known about them already."""
        for leaf in self._below.get(path, ()):
            if leaf not in self._used:
                self._reasons.setdefault(leaf, reason)

    def forget(self, path: Path) -> None:
        """Take back that the values at and below a path were used."""
        self._used.difference_update(self._below.get(path, ()))

    def left_out(self) -> tuple[LeftOut, ...]:
        """Everything that was not used, in the order of the file."""
        groups: dict[tuple[str, str], list[str]] = {}
        for path, value in self._values.items():
            if path not in self._used:
                groups.setdefault((_pattern(path), self._reasons.get(path, UNKNOWN)), []).append(_shown(path, value))
        return tuple(
            LeftOut(key, tuple(dict.fromkeys(values))[:_MOST_VALUES_SHOWN], len(values), reason)
            for (key, reason), values in groups.items()
        )


class Node:
    """A place in the file. What is read from it is used; missing keys have the values of the Xena program."""

    def __init__(self, accounts: Accounts, data: Any, path: Path = ()) -> None:
        self.accounts = accounts
        self.path = path
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}

    def node(self, key: str) -> Node:
        """The mapping at a key; an empty one where there is none."""
        return Node(self.accounts, self.data.get(key), (*self.path, key))

    def nodes(self, key: str) -> list[Node]:
        """The mappings of a list."""
        found = self.data.get(key)
        items = found if isinstance(found, list) else []
        return [Node(self.accounts, item, (*self.path, key, number)) for number, item in enumerate(items)]

    def items(self) -> list[tuple[str, Node]]:
        """The mappings below this one by their keys."""
        return [(key, self.node(key)) for key in self.data]

    def has(self, key: str) -> bool:
        """Whether there is a value."""
        return self.data.get(key) is not None

    def text(self, key: str, default: str = "") -> str:
        """A word; numbers as they are written."""
        value = self._taken(key)
        return default if value is None or isinstance(value, dict | list) else str(value)

    def number(self, key: str, default: float) -> float:
        """A number, also one that is written as a text."""
        value = self._taken(key)
        if isinstance(value, bool) or value is None:
            return default
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            self.accounts.forget((*self.path, key))
            self.accounts.leave_out((*self.path, key), "not a number")
            return default
        return number

    def flag(self, key: str, default: bool) -> bool:
        """A switch."""
        value = self._taken(key)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        return value if isinstance(value, bool) else default

    def leave_out(self, reason: str, *keys: str) -> None:
        """Say why keys are not used; without keys everything below that has not been used."""
        for key in keys:
            self.accounts.leave_out((*self.path, key), reason)
        if not keys:
            self.accounts.leave_out(self.path, reason)

    def _taken(self, key: str) -> Any:
        self.accounts.use((*self.path, key))
        return self.data.get(key)


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*path, number))
    else:
        yield path, value


def _pattern(path: Path) -> str:
    words = ("[]" if isinstance(part, int) else "{port}" if part.startswith(_GUID) else part for part in path)
    return ".".join(words).replace(".[]", "[]")


def _shown(path: Path, value: Any) -> str:
    """A value as people read it; a password is not for them."""
    if path and "password" in str(path[-1]).lower():
        return "***"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "..."
