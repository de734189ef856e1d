"""docs/LIMITATIONS.md states the bounds of memory that the engine has."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
_ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \| `(\w+)` = (.+?) in `([^`]+)` \|", re.MULTILINE)
_NUMBER = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+)( GiB| MiB)?")
_UNITS = {" GiB": 1 << 30, " MiB": 1 << 20, None: 1, "": 1}
_BYTES_PER_UNIT = {"MAX_ARRAY_WORDS": 8}


def test_every_bound_is_that_of_the_source() -> None:
    """Goal: no number rots. Method: the constant of each row is in its file, and is the number of the row."""
    text = (ROOT / "docs/LIMITATIONS.md").read_text(encoding="utf-8")
    rows = list(_ROW.finditer(text))
    assert len(rows) > 10
    for row in rows:
        what, name, value, file = row.groups()
        source = (ROOT / "engine" / file).read_text(encoding="utf-8")
        assert re.search(rf"\b{name}(: \w+ =|:) {re.escape(value)}[,;]", source), f"{what}: {name} in {file}"
        left, _, shift = value.replace("_", "").partition(" << ")
        number = (int(left) << int(shift or 0)) * _BYTES_PER_UNIT.get(name, 1)
        stated = [int(n.replace(",", "")) * _UNITS[unit] for n, unit in _NUMBER.findall(row.group(0).split("|")[2])]
        assert number in stated, f"{what}: {number}"
