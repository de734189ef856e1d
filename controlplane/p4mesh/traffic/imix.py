"""Mixes of frame sizes by name, and as a genome of RFC 6985: letters for sizes, numbers behind them for shares."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from p4mesh.quantities import number_text


@dataclass(frozen=True)
class MixPart:
    """One frame size of a mix and its share in frames."""

    frame_size_bytes: int
    weight: int


def sizes_by_weight(parts: Sequence[MixPart]) -> list[int]:
    """Sizes of a mix in turn, as many as the weights sum to: each is spread as evenly as its weight allows."""
    total = sum(part.weight for part in parts)
    credit, sizes = [0] * len(parts), []
    for _ in range(total):
        credit = [left + part.weight for left, part in zip(credit, parts, strict=True)]
        place = credit.index(max(credit))
        credit[place] -= total
        sizes.append(parts[place].frame_size_bytes)
    return sizes


SIMPLE_IMIX = (MixPart(64, 7), MixPart(570, 4), MixPart(1518, 1))
"""The mix of 7 : 4 : 1 frames that is commonly called IMIX (RFC 6985 section 3)."""
GENOME_BYTES = dict(zip("abcdefghij", (64, 128, 256, 512, 1024, 1280, 1518, 2112, 9000, 16000), strict=True))
"""Size of each letter (RFC 6985 section 4); z, the MTU of a device, is no size that a tester can know."""


def _hundredths(shares: Mapping[int, str]) -> tuple[MixPart, ...]:
    """A mix whose shares are given in percent."""
    return tuple(MixPart(size, int(100 * Fraction(share))) for size, share in shares.items())


NAMED_MIXES: dict[str, tuple[MixPart, ...]] = {
    "imix": SIMPLE_IMIX,
    "ipsec_imix": _hundredths({90: "58.67", 92: "2", 594: "23.66", 1418: "15.67"}),
    "ipv6_imix": _hundredths({60: "58.67", 496: "2", 594: "23.66", 1518: "15.67"}),
    "standard_imix": _hundredths({58: "58.67", 62: "2", 594: "23.66", 1518: "15.67"}),
    "tcp_imix": _hundredths({90: "58.67", 92: "2", 594: "23.66", 1518: "15.67"}),
}
"""Mixes by the names of the Open Traffic Generator API; sizes with FCS."""
MIX_PATTERN = rf"{'|'.join(NAMED_MIXES)}|([a-j]([1-9][0-9]{{0,3}})?)+"
"""Text of every mix, as a regular expression; an optional number behind a letter repeats it."""


def mix_of(text: str) -> tuple[MixPart, ...]:
    """Read a name or a genome such as ``aaafg`` or ``a7d4g1``; a size named more than once has the sum of its shares.

    ``text`` fits MIX_PATTERN.
    """
    if text in NAMED_MIXES:
        return NAMED_MIXES[text]
    shares: Counter[int] = Counter()
    for letter, count in re.findall("([a-j])([0-9]*)", text):
        shares[GENOME_BYTES[letter]] += int(count or 1)
    return tuple(MixPart(size, weight) for size, weight in sorted(shares.items()))


class MixedSize(Fraction):
    """A mix in the place of a frame size: a number, the mean of its sizes, so that rates and times follow from it."""

    __slots__ = ("name", "parts")
    name: str
    parts: tuple[MixPart, ...]

    def __new__(cls, name: str) -> MixedSize:
        """Read a name or a genome that fits MIX_PATTERN."""
        parts = mix_of(name)
        frames = sum(part.weight for part in parts)
        size = super().__new__(cls, sum(part.weight * part.frame_size_bytes for part in parts), frames)
        size.name, size.parts = name, parts
        return size

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the frames in bytes."""
        return tuple(part.frame_size_bytes for part in self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name,)

    def __str__(self) -> str:
        return f"{self.name} of {number_text(self)}"

    def __format__(self, _: str) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        """A mix is no frame size, also where its mean is one."""
        return isinstance(other, MixedSize) and self.name == other.name

    def __hash__(self) -> int:  # type: ignore[override]  # as that of Fraction
        return hash(self.name)


FrameSize = int | MixedSize
"""A frame size of a test: bytes with FCS, or a mix of sizes."""


def sizes_in(frame_size_bytes: FrameSize) -> tuple[int, ...]:
    """The sizes of a mix, or the size itself."""
    return frame_size_bytes.sizes if isinstance(frame_size_bytes, MixedSize) else (frame_size_bytes,)


def size_name(frame_size_bytes: FrameSize) -> int | str:
    """The name of a mix, or the size itself: what stands in tables and files."""
    return frame_size_bytes.name if isinstance(frame_size_bytes, MixedSize) else frame_size_bytes
