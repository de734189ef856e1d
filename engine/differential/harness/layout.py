"""Frames from a line of text that lists their fields.

A layout is a list of fields in wire order::

    8{0-5,9}      8 bits, one of the values listed
    32@addresses  32 bits, one of the values of the pool of that name
    16            16 bits, any value, with the awkward ones (0, 1, largest, sign bit) more often
    *0-40         0 to 40 bytes of payload

Fields need not end on a byte; the whole frame is filled up with zero bits.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

_FIELD = re.compile(r"(?P<width>\d+)(?:\{(?P<values>[^}]*)\}|@(?P<pool>\w+))?$|\*(?P<low>\d+)-(?P<high>\d+)$")

Pools = Mapping[str, Sequence[int]]


def edge_value(rng: random.Random, width: int) -> int:
    """A value of ``width`` bits, often one at which implementations differ."""
    top = (1 << width) - 1
    choice = rng.randrange(8)
    if choice < 3:
        return rng.choice([0, 1, top, top - 1, top >> 1, (top >> 1) + 1, top // 3]) & top
    if choice == 3:
        return rng.randrange(min(top, 15) + 1)
    if choice == 4:
        return 1 << rng.randrange(width)
    return rng.getrandbits(width)


def build_frame(rng: random.Random, layout: str, pools: Pools) -> bytes:
    """A frame of the layout."""
    value, width, payload = 0, 0, b""
    for token in layout.split():
        parts = _FIELD.match(token)
        if parts is None:
            raise ValueError(f"layout field {token!r}: valid are WIDTH, WIDTH{{VALUES}}, WIDTH@POOL and *LOW-HIGH")
        if parts["low"] is not None:
            payload += rng.randbytes(rng.randint(int(parts["low"]), int(parts["high"])))
            continue
        bits = int(parts["width"])
        if parts["values"] is not None:
            number = rng.choice(_values(parts["values"]))
        elif parts["pool"] is not None:
            number = rng.choice(pools[parts["pool"]])
        else:
            number = edge_value(rng, bits)
        if number >> bits:
            raise ValueError(f"layout field {token!r}: {number:#x} does not fit")
        value, width = value << bits | number, width + bits
    padding = -width % 8
    return (value << padding).to_bytes((width + padding) // 8, "big") + payload


def _values(text: str) -> list[int]:
    values: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        values += range(int(first, 0), int(last or first, 0) + 1)
    return values
