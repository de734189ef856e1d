"""A single frame among the test frames of a port."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ControllerFrame:
    """One frame without signature, sent by the controller among the test frames of a port."""

    port: int
    at_ns: int
    """Departure, from the first departure of the streams on; negative = before it."""
    payload: bytes
    """Bytes from the destination address on, without FCS."""
    to_device: bool = False
    """The destination address becomes that of the router, where the trial has asked for it."""
