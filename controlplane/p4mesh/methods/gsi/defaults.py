"""Common parts of the tests of the timing network: frame sizes of 1 to 16 messages, and defaults of the report."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from p4mesh.methods.options.parameters import Value

MESSAGE_SIZES_BYTES = (90, 134, 222, 398, 574, 750)
"""Frames of 1, 2, 4, 8, 12 and 16 timing messages."""


SEARCH: Mapping[str, Value] = {
    "search_initial_pct": Fraction("0.1"),
    "search_min_pct": Fraction("0.01"),
    "search_resolution_pct": Fraction(1),
    "search_method": "bisect",
    "search_try_max_first": False,
}
