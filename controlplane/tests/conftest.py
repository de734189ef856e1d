"""Fixtures that several test modules share: a simulated switch and its controller."""

from support.p4runtime_support import client, switch

__all__ = ["client", "switch"]
