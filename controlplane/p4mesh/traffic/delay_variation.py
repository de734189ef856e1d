"""Names of what a target may leave unmeasured of the variation of delay, as tables show them."""

from __future__ import annotations

IPDV = "IPDV"
RFC3550_JITTER = "RFC 3550 jitter"
