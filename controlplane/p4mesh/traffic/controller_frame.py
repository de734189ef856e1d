"""A single frame among the test frames of a port."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ControllerFrame:
    """One frame without signature, sent by the controller among the test frames of a port."""

    port: int
    at_ns: int
    """After the first departure of the streams; negative = before it."""
    payload: bytes
    """From the destination address on, without FCS."""
    to_device: bool = False
    """The destination address becomes that of the router, where the trial has asked for it."""
