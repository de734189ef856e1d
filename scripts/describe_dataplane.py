#!/usr/bin/env python3
"""Writes the generated tables of docs/DATAPLANE.md from the compiled tester (make p4 runs it)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from p4mesh.p4runtime import load_p4info
from p4mesh.tester.contract import Contract, load_contract

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "DATAPLANE.md"
BEGIN = "<!-- generated from the compiled program: make p4 -->"
END = "<!-- end of the generated part -->"
_UNITS = (
    (r"newest(_message)?|complete(_messages)?|damaged(_messages)?", "messages"),
    (r"(frames_)?arrived", "frames"),
    (r"arrival_of_message|departure_of_(first|last)", "ticks"),
    (r"(fifo|lilo|filo)(_(min_inverted|max|sum))?|(min|max|sum)_cells", "ticks"),
    ("steps", "departures"),
    ("departure_clock", "ticks; departures left"),
    ("window", "a bit for each of the newest sequence numbers"),
    ("taken", "trial, frames"),
    ("size_turn", "frames of the round, step"),
    ("progression", "steps; value added"),
    ("slot_counter", "slots"),
    ("position|cell", "number"),
    ("bytes", "bytes"),
    (
        "duplicates|reordered|beyond_window|frames|departures|ipdv_count|latency_overflows|(next_|flow_)?sequence",
        "frames",
    ),
    (r"\w+_sum(_high|\.high_cells)", "2^32 ticks"),
    (r"\w+_sum(_low|\.low_cells)", "ticks"),
    (r"jitter_smoothed(_x16)?", "1/16 tick"),
    (r"(latency|jitter|ipdv|spacing)(_\w+)?|(first|last|controller)_(arrival|departure|start|gap(_time)?)", "ticks"),
)
"""Units of registers and of record fields, by the last part of their names."""


def generated(contract: Contract) -> str:
    """The tables as Markdown."""
    info = load_p4info(contract.p4info_path)
    actions = {action.preamble.id: action for action in info.actions}

    def params(action_id: int) -> str:
        action = actions[action_id]
        listed = ", ".join(f"{p.name} {p.bitwidth}" for p in action.params)
        return f"`{action.preamble.name.rsplit('.', 1)[-1]}`({listed})"

    tables = (
        (
            f"`{table.preamble.alias}`",
            ", ".join(f"{f.name} {f.bitwidth} {_match_kind(f)}" for f in table.match_fields) or "none",
            "; ".join(params(ref.id) for ref in table.action_refs if ref.scope != ref.DEFAULT_ONLY),
            table.size,
            _brief(table.preamble),
        )
        for table in info.tables
        if not table.is_const_table
    )
    counters = ((f"`{c.preamble.alias}`", c.size, _brief(c.preamble)) for c in info.counters)
    registers = (
        (
            f"`{(name := r.preamble.name.removesuffix('.cells'))}`",
            r.type_spec.bitstring.bit.bitwidth,
            r.size,
            unit_of(name),
        )
        for r in info.registers
    )
    headers = (
        (f"`{h.preamble.name}`", ", ".join(f"{m.name} {m.bitwidth}" for m in h.metadata))
        for h in info.controller_packet_metadata
    )
    reasons = ((number, name) for number, name in sorted(contract.reasons.items()))
    record = ((f"`{name}`", 8 * width, unit_of(name)) for name, width in contract.record_fields)
    messages = ((f"`{name}`", 8 * width, unit_of(name)) for name, width in contract.message_fields)
    parts = [
        "### Tables", _table(("table", "key, bits, match", "actions, parameters, bits", "size", "purpose"), tables),
        "### Counters", _table(("counter", "cells", "purpose"), counters),
        "### Registers", _table(("register", "bits", "cells", "unit"), registers),
        "### Controller headers", _table(("header", "fields, bits"), headers),
        "### Reasons", _table(("number", "reason"), reasons),
        "### Record", _table(("field", "bits", "unit"), record),
        "### Record of messages", _table(("field", "bits", "unit"), messages),
    ]  # fmt: skip
    return "\n\n".join(parts)


def unit_of(name: str) -> str:
    """The unit of a register or of a record field; raises ValueError for a name without a unit here."""
    last = re.sub(r"^.*?([^.]+(?:\.(?:low|high)_cells)?)$", r"\1", name)
    for pattern, unit in _UNITS:
        if re.fullmatch(pattern, last):
            return unit
    raise ValueError(f"{name}: no unit is known; add it to scripts/describe_dataplane.py")


def document_with(text: str, tables: str) -> str:
    """The document with its generated part replaced."""
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    return pattern.sub(lambda _: f"{BEGIN}\n\n{tables}\n\n{END}", text)


def _match_kind(field: object) -> str:
    return field.MatchType.Name(field.match_type).lower()  # type: ignore[attr-defined]


def _brief(preamble: object) -> str:
    return preamble.doc.brief or "-"  # type: ignore[attr-defined]


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def main() -> int:
    DOCUMENT.write_text(document_with(DOCUMENT.read_text(), generated(load_contract())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
