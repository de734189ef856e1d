"""Holds the results of the address tests of RFC 2889 (5.7, 5.8): iterations, searches, and address bases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.record import OMITTED, Record
from p4mesh.verdict import Verdict

CAPACITY = "capacity"
"""Name of a search for the number of addresses in the results."""


@dataclass(frozen=True, kw_only=True)
class Iteration(Record):
    """A learning trial and the test of all addresses; L learns, T sends to them, M are all other ports."""

    search: str
    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    repetition: Annotated[int, retitled(fields.REPETITION, "Base")]
    addresses: Annotated[int, fields.ADDRESSES]
    learning_rate_fps: Annotated[float, fields.LEARNING_RATE_FPS]
    learning_tx_frames: Annotated[int, fields.LEARNING_TX_FRAMES]
    test_tx_frames: Annotated[int, fields.TEST_TX_FRAMES]
    test_flood_frames: Annotated[int, fields.TEST_FLOOD_FRAMES]
    learning_rx_frames: Annotated[int, fields.LEARNING_RX_FRAMES]
    learning_flood_frames: Annotated[int, fields.LEARNING_FLOOD_FRAMES]
    monitor_flood_frames: Annotated[int, fields.MONITOR_FLOOD_FRAMES]
    held_addresses: int
    lost_frames: int = 0
    """In both directions; a flooded frame comes to L, too, and is not lost."""
    verdict: Annotated[Verdict, fields.VERDICT]
    reason: str

    @property
    def exceeds_table(self) -> bool:
        """Whether more addresses were not held than lost frames explain: each makes one unknown at most."""
        return self.test_tx_frames - self.held_addresses > self.lost_frames


@dataclass(frozen=True, kw_only=True)
class AddressSearch(Record):
    """A search of the number of addresses or of their rate."""

    addresses: int | None = field(default=None, metadata=OMITTED)
    """Number of addresses of a search of the rate; None in a search of that number."""
    number: str | None = field(default=None, metadata=OMITTED)
    """Origin of the number: a step of a sweep, or the capacity."""
    search: str
    state: Verdict
    result: float | None
    upper: float | None
    """Lowest value that failed though no frame had been lost; without a result, the lowest that failed at all."""
    at_least: bool
    rows: tuple[Iteration, ...]


@dataclass(frozen=True, kw_only=True)
class AddressUnit(Record):
    """The searches with one address base."""

    frame_size_bytes: int
    repetition: int
    searches: tuple[AddressSearch, ...]


@dataclass(frozen=True, kw_only=True)
class LearningUnit(AddressUnit):
    """The searches of the learning rate, with the capacity where it was asked for, and the rate that is 100 %."""

    capacity: int | None
    base_fps: float
