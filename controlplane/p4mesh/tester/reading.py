"""Holds a reading of the streams that a tester has loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from p4mesh.target.base import MacCounts
from p4mesh.tester.histogram import Bins, InterarrivalBins
from p4mesh.tester.inner_losses import InnerLosses
from p4mesh.traffic.stamps import PortStamps

ReasonCounts = Mapping[tuple[int, str], int]
"""Frames per (port, reason name), receive and transmit reasons together."""


@dataclass(frozen=True)
class CopyWindow:
    """Window within which the data plane tells a copy of a frame from a late frame."""

    frames: int = 0
    """A copy is recognised while fewer later frames of its flow than this lie between."""
    lateness_ticks: int | None = None
    """Largest delay of a departure; None where the machine may keep departures waiting for any time."""


@dataclass(frozen=True)
class Reading:
    """Counts and registers since the streams were loaded, at rest or while traffic runs (:meth:`Tester.read`)."""

    records: np.ndarray[Any, Any]
    """One per cell, with the time of its reading (:mod:`p4mesh.tester.records`)."""
    frames: ReasonCounts
    bins: Mapping[int, Bins] = field(default_factory=dict)
    """Frames per bin of each histogram of the plan."""
    interarrival: Mapping[int, InterarrivalBins] = field(default_factory=dict)
    """Frames per bin of the time since the frame before, of each histogram of such times."""
    groups: np.ndarray[Any, Any] | None = None
    """Frames per (place of the port, flow number) of groups beyond the cells; None where the plan has none."""
    messages: np.ndarray[Any, Any] | None = None
    """One per source of messages; None where the plan has none, or the program does not count messages."""
    message_time_bits: int = 48
    """Width of the times of messages, in ticks."""
    macs: Mapping[int, MacCounts] = field(default_factory=dict)
    """Counts of the MAC of each port; empty where the target does not tell them."""
    losses: InnerLosses = field(default_factory=InnerLosses)
    """Losses inside the target."""
    stamps: Mapping[int, PortStamps] = field(default_factory=dict)
    """Stamps of each port; empty where those of departures need no correction."""
    strays: np.ndarray[Any, Any] | None = None
    """Flooded and misdirected frames per flow number, two rows; None where they are not counted per flow."""
    window: CopyWindow = CopyWindow()
    """Window of every flow within which copies are told from late frames."""
    check_covers_payload: bool = False
    """Damaged frames have another payload, or another signature, than was sent: nothing tells which."""

    @cached_property
    def of_ports(self) -> dict[int, Counter[str]]:
        """Frames of each port by reason."""
        found: dict[int, Counter[str]] = {}
        for (port, reason), frames in self.frames.items():
            found.setdefault(port, Counter())[reason] = frames
        return found

    @cached_property
    def of_all_ports(self) -> Counter[str]:
        """Frames of all ports together by reason."""
        found = Counter[str]()
        for (_, reason), frames in self.frames.items():
            found[reason] += frames
        return found

    def received(self, reason: str) -> int:
        """Frames of one reason on all ports."""
        return self.of_all_ports[reason]
