"""Changes that receiving stations make to their BGP sessions while streams run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class RoutingChange(str, Enum):
    """The change (RFC 4098 3.9, RFC 7747 4)."""

    ANNOUNCEMENT = "announcement"
    """Networks that were never announced are announced."""
    WITHDRAWAL = "withdrawal"
    FLAP = "flap"
    """Networks are withdrawn, and announced again."""
    LOSS_OF_LINK = "loss_of_link"
    """The links of the receivers go down."""
    SILENCE = "silence"
    """The receivers fall silent, as behind a broken path whose links stay up."""


@dataclass(frozen=True)
class RoutingEvent:
    """A change at one moment of a trial."""

    change: RoutingChange
    after_ns: int
    """Time from the first departure to the change."""
    hold_ns: int = 0
    """Time from the withdrawal to the announcement of a flap."""
