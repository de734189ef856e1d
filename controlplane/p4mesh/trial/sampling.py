"""When samples are taken of a trial: part of its specification, without what takes them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sampling:
    """When samples are taken of a trial, and of what."""

    every_ns: int
    """From the start of one reading to the next; where reading takes longer, they follow each other."""
    flows: bool = False
    """Of every flow, too."""
