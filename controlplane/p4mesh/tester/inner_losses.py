"""Losses inside a target: frames by its own counters, and seeds that do not come back when their stream ends.

Neither says anything about the device under test. A seed that is lost leaves its stream slow for good.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from p4mesh.target.base import Target
from p4mesh.tester.dataplane import DataPlane


@dataclass(frozen=True)
class InnerLosses:
    """Losses since streams were loaded."""

    drops: dict[str, int] = field(default_factory=dict)
    """Frames by the name of the counter; those that have not moved are missing."""
    seeds_injected: int = 0
    """Seeds of the streams that have ended."""
    seeds_ended: int = 0
    """Counted at the loops when their streams had ended."""


class LossWatch:
    """Reads the losses of a target."""

    def __init__(self, target: Target, dataplane: DataPlane) -> None:
        self._target = target
        self._dataplane = dataplane
        self._drops_before: dict[str, int] = {}
        self._ended_before = 0
        self._injected = 0

    def begin(self) -> None:
        """Take the counts so far as those of before."""
        self._drops_before = self._target.drop_counts()
        self._ended_before = self._ended()
        self._injected = 0

    def end(self, seeds: int) -> None:
        """Take note that streams have ended, with the number of seeds that they had in the loop."""
        if self._target.capabilities.counts_seeds:
            self._injected += seeds

    def read(self) -> InnerLosses:
        """Losses since :meth:`begin`."""
        moved = {
            name: count - before
            for name, count in self._target.drop_counts().items()
            if count > (before := self._drops_before[name])
        }
        return InnerLosses(moved, self._injected, self._ended() - self._ended_before)

    def _ended(self) -> int:
        return self._dataplane.ended_seeds() if self._target.capabilities.counts_seeds else 0
