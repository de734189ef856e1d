"""Corrupted frames of some flows of a trial. They are counted at receivers, which know no flow of a corrupted frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from p4mesh.measurement.counts import FlowCounts
from p4mesh.methods.results.record import OMITTED, Record
from p4mesh.trial.result import TrialResult


@dataclass(frozen=True, kw_only=True)
class Corrupted(Record):
    """Corrupted frames among the lost ones of a row; both None where there are none."""

    corrupted_frames: int | None = field(default=None, metadata=OMITTED)
    shared_corrupted_frames: int | None = field(default=None, metadata=OMITTED)
    """Those at receivers that get other frames, too: how many of them belong to the row is not known."""

    def __add__(self, other: Corrupted) -> Corrupted:
        return Corrupted(
            corrupted_frames=((self.corrupted_frames or 0) + (other.corrupted_frames or 0)) or None,
            shared_corrupted_frames=((self.shared_corrupted_frames or 0) + (other.shared_corrupted_frames or 0))
            or None,
        )


class CorruptedAtPorts:
    """The corrupted frames of a trial by receiver; its flows tell who else sends there."""

    def __init__(self, result: TrialResult) -> None:
        self._frames = {port.port: port.corrupted_frames for port in result.ports if port.corrupted_frames}
        self._flows = Counter(flow.rx_port for flow in result.flows if flow.rx_port in self._frames)

    def of(self, flows: Iterable[FlowCounts]) -> Corrupted:
        """Those at the receivers of some flows of the trial."""
        own = Counter(flow.rx_port for flow in flows if flow.rx_port in self._frames)
        frames = sum(self._frames[port] for port in own) or None
        if any(self._flows[port] > number for port, number in own.items()):
            return Corrupted(shared_corrupted_frames=frames)
        return Corrupted(corrupted_frames=frames)
