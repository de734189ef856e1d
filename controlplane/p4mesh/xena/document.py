"""A Xena file as data whose every value is accounted for: it was used, or there is a reason why not."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from p4mesh.errors import XenaFileError
from p4mesh.numerals import decimal

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
    changes_measurement: bool = False
    """Whether a measurement differs from that of the file for it, or may."""


class Accounts:
    """Every value of a file, and what became of it."""

    def __init__(self, data: Any, source: str) -> None:
        self._source = source
        self._values: dict[Path, Any] = dict(_leaves(data, ()))
        self._used: set[Path] = set()
        self._reasons: dict[Path, tuple[str, bool]] = {}
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

    def leave_out(self, path: Path, reason: str, changes: bool = False) -> None:
        """Note why the values at and below a path are not used, unless something is known about them already.

        ``changes`` says that a measurement differs for it.
        """
        for leaf in self._below.get(path, ()):
            if leaf not in self._used:
                self._reasons.setdefault(leaf, (reason, changes))

    def wrong(self, path: Path, value: Any, what: str) -> XenaFileError:
        """The error of a value that the Xena program would not have written; ``what`` says what is valid."""
        return XenaFileError(
            f"{self._source}: {_pattern(path)}: {_shown(path, value)} is not {what}",
            hint="correct it in the Xena program and save the file again",
        )

    def forget(self, path: Path) -> None:
        """Take back that the values at and below a path were used."""
        self._used.difference_update(self._below.get(path, ()))

    def left_out(self) -> tuple[LeftOut, ...]:
        """Everything that was not used, in the order of the file; first what changes a measurement."""
        groups: dict[tuple[str, tuple[str, bool]], list[str]] = {}
        for path, value in self._values.items():
            if path not in self._used:
                why = self._reasons.get(path, (UNKNOWN, False))
                groups.setdefault((_pattern(path), why), []).append(_shown(path, value))
        found = [
            LeftOut(key, tuple(dict.fromkeys(values))[:_MOST_VALUES_SHOWN], len(values), *why)
            for (key, why), values in groups.items()
        ]
        return tuple(sorted(found, key=lambda item: not item.changes_measurement))


class Node:
    """A place in the file. What is read from it is used; missing keys have the values of the Xena program.

    What is below a test that the file does not enable (``Enabled``) changes no measurement.
    """

    def __init__(self, accounts: Accounts, data: Any, path: Path = (), *, enabled: bool = True) -> None:
        self.accounts = accounts
        self.path = path
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}
        self._enabled = enabled and str(self.data.get("Enabled", True)).lower() != "false"

    def node(self, key: str) -> Node:
        """The mapping at a key; an empty one where there is none."""
        return Node(self.accounts, self.data.get(key), (*self.path, key), enabled=self._enabled)

    def nodes(self, key: str) -> list[Node]:
        """The mappings of a list."""
        found = self.data.get(key)
        items = found if isinstance(found, list) else []
        enabled = self._enabled
        return [
            Node(self.accounts, item, (*self.path, key, number), enabled=enabled) for number, item in enumerate(items)
        ]

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
        """A number of 0 or more, also one that is written as a text; raises XenaFileError for anything else."""
        return self.signed(key, default, "a number of 0 or more", least=0)

    def signed(self, key: str, default: float, valid: str = "a number", least: float = -math.inf) -> float:
        """A number that may be below 0; raises XenaFileError for what is none."""
        value = self._taken(key)
        if value is None:
            return default
        try:
            number = math.nan if isinstance(value, bool) else float(decimal(value) if isinstance(value, str) else value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number) or number < least:
            raise self.accounts.wrong((*self.path, key), value, valid)
        return number

    def word(self, key: str, default: str, valid: Collection[str]) -> str:
        """One of some words, in lower case; raises XenaFileError for another one."""
        found = self.text(key, default).lower()
        if found not in valid:
            raise self.accounts.wrong((*self.path, key), self.data.get(key), f"one of {', '.join(valid)}")
        return found

    def flag(self, key: str, default: bool) -> bool:
        """A switch."""
        value = self._taken(key)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        return value if isinstance(value, bool) else default

    def leave_out(self, reason: str, *keys: str, changes: bool = False) -> None:
        """Say why keys are not used; without keys everything below that has not been used."""
        for path in [(*self.path, key) for key in keys] or [self.path]:
            self.accounts.leave_out(path, reason, changes and self._enabled)

    def not_used(self, key: str, reason: str) -> None:
        """Say why a key that was read has no place, and that a measurement differs for it."""
        self.accounts.forget((*self.path, key))
        self.leave_out(reason, key, changes=True)

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
