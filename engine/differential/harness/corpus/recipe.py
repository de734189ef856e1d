"""Describes one program of the corpus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.generate import Generator


@dataclass(frozen=True)
class Recipe:
    """Recipe for the scenarios of one program."""

    build: Callable[[Generator], None]
    scenarios: int = 3
    digest_counter: str | None = None
    counters: list[str] | None = None
    ordered: bool = True
    beyond_arrays: bool = False
    """Indices are out of range on purpose: an optimised simple_switch_grpc writes outside its arrays."""


def frames_only(layout: str, count: int = 110, cut: int = 12) -> Recipe:
    """The recipe of a program without tables."""
    return Recipe(lambda generator: generator.frames(count, layout, cut=cut))
