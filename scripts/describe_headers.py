#!/usr/bin/env python3
"""Writes the table of layers in docs/HEADERS.md: names, fields and usual values, from their declarations."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from p4mesh.layers.layer import Layer, Role, all_layers
from p4mesh.layers.notation import value_text

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "HEADERS.md"
_BEGIN, _END = "<!-- table of layers: scripts/describe_headers.py -->\n", "<!-- end of the table -->\n"


def document() -> str:
    """The page with the table of all layers."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    return before + _BEGIN + _table() + _END + rest.partition(_END)[2]


def _table() -> str:
    rows = [
        f"| `{kind.kind}` | {', '.join(_fields(kind))} | {(kind.__doc__ or '').splitlines()[0]} |\n"
        for kind in all_layers()
    ]
    return "| layer | fields, bits and usual value | |\n|---|---|---|\n" + "".join(sorted(rows))


def _fields(kind: type[Layer]) -> list[str]:
    found = []
    for item in fields(kind):
        if "tail" in item.metadata:
            found.append(f"**{item.name}** bytes")
            continue
        wire = item.metadata["wire"]
        if wire.role is Role.COMPUTED:
            continue
        usual = f" {value_text(item, item.default)}" if item.default not in (None, 0) else ""
        found.append(f"**{item.name}** {wire.width_bits}{usual}")
    return found


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
