"""Rates as users write them: frames or bits per second at a stated layer, or percent of a line or of a cap.

A bit rate without its layer has no meaning: a frame of L bytes with FCS takes 8 (L + 20) bits of a line (L1), 8 L bits
of Ethernet (L2), or 8 (L - 4) bits without its FCS (RFC 2544 appendix B).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from p4mesh.traffic.line_rate import STANDARD_OVERHEAD_BYTES, Rational

FCS_BYTES = 4
_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_NUMBER = r"^(?P<number>[0-9]{1,15}(\.[0-9]{1,15})?) ?"
_RATE = re.compile(_NUMBER + r"((?P<percent>%( of cap)?)|(?P<prefix>[kMGT]?)(?P<unit>frames/s|bit/s (L1|L2|no FCS)))$")
_BIT_RATE = re.compile(_NUMBER + r"(?P<prefix>[kMGT]?)bit/s$")
RATE_PATTERN, BIT_RATE_PATTERN = (re.sub(r"\?P<\w+>", "", found.pattern) for found in (_RATE, _BIT_RATE))
"""Expressions for a JSON Schema, whose groups have no names."""
VALID_RATES = (
    "a rate with its unit, such as 10 %, 10 % of cap, 1000 frames/s, 20 Mbit/s L1, 20 Mbit/s L2, 20 Mbit/s no FCS"
)
VALID_BIT_RATES = "a bit rate such as 900 Mbit/s"


class RateUnit(str, Enum):
    """Unit of a rate."""

    FRAMES = "frames/s"
    L1 = "bit/s L1"
    L2 = "bit/s L2"
    NO_FCS = "bit/s no FCS"
    LINE = "%"
    CAP = "% of cap"


_OVERHEAD_BYTES = {RateUnit.L1: STANDARD_OVERHEAD_BYTES, RateUnit.L2: 0, RateUnit.NO_FCS: -FCS_BYTES}


@dataclass(frozen=True)
class Rate:
    """A rate of one sender."""

    value: Fraction
    unit: RateUnit

    @classmethod
    def parse(cls, text: str) -> Rate:
        """Rate that a text names, such as ``20 Mbit/s L1``; raises ValueError, with the valid forms, for other text."""
        found = _RATE.match(text)
        if found is None or not Fraction(found["number"]):
            raise ValueError(VALID_RATES)
        value = Fraction(found["number"])
        if found["percent"]:
            return cls(value, RateUnit(found["percent"]))
        return cls(value * _PREFIXES[found["prefix"]], RateUnit(found["unit"]))

    def fps(self, frame_size_bytes: Rational, line_rate_bps: int, cap_bps: Rational | None = None) -> Fraction:
        """Frames per second on a line with a cap; ``frame_size_bytes`` is their mean size.

        Percent count the standard gap: 100 % is the frame rate of a line, or of a line as fast as the cap. Raises
        ValueError for percent of a cap where there is none.
        """
        if self.unit is RateUnit.FRAMES:
            return self.value
        size = Fraction(frame_size_bytes)
        if self.unit in _OVERHEAD_BYTES:
            return self.value / (8 * (size + _OVERHEAD_BYTES[self.unit]))
        if self.unit is RateUnit.CAP and cap_bps is None:
            raise ValueError("the port has no rate cap")
        full_bps = line_rate_bps if self.unit is RateUnit.LINE or cap_bps is None else cap_bps
        return self.value / 100 * full_bps / (8 * (size + STANDARD_OVERHEAD_BYTES))


def parse_bit_rate(text: str) -> Fraction:
    """Bit rate in bit/s of a text such as ``900 Mbit/s``; raises ValueError for any other text."""
    found = _BIT_RATE.match(text)
    if found is None or not Fraction(found["number"]):
        raise ValueError(VALID_BIT_RATES)
    return Fraction(found["number"]) * _PREFIXES[found["prefix"]]


def line_share(rate_fps: Rational, frame_size_bytes: Rational, line_rate_bps: Rational) -> Fraction:
    """Part of a line that frames take, 0 to 1; ``frame_size_bytes`` is their mean size."""
    return Fraction(rate_fps) * 8 * (Fraction(frame_size_bytes) + STANDARD_OVERHEAD_BYTES) / Fraction(line_rate_bps)
