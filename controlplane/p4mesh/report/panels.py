"""The part of many lines or panels that a reader can tell apart or look through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

MOST_PANELS = 24
"""Panels of a figure: two columns of them fill some pages."""

Item = TypeVar("Item")


def evenly(items: Sequence[Item], most: int) -> Sequence[Item]:
    """At most so many of the items, two or more: the first, the last and those evenly between them."""
    if len(items) <= most:
        return items
    return [items[index * (len(items) - 1) // (most - 1)] for index in range(most)]


def note_on(drawn: int, found: int, what: str) -> str:
    """The sentence that says how many of the lines or panels are drawn; empty where all are."""
    return f"{drawn:,} of {found:,} {what} are drawn." if drawn < found else ""
