"""The samples that a trial asks for: part of its specification, without the code that takes them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sampling:
    """Times and subjects of the samples of a trial."""

    every_ns: int
    """Time from the start of one reading to the next; where reading takes longer, they follow each other."""
    flows: bool = False
    """Whether there is a line for every flow, too."""
