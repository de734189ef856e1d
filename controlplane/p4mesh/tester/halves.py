"""Records of the tester on Tofino, which come as words of two passes (docs/TOFINO.md, "Reading cells")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from p4mesh.errors import ProgramError
from p4mesh.tester.contract import P4SRC, Contract
from p4mesh.tester.records import chip_fields

PASSES_PER_CELL = 3
"""Rounds of a reading frame for one cell: low words, high words, report."""
SHORTEST_PACKET_OUT_BYTES = 60
"""A shorter packet-out gets zeros at its end on the way over PCIe, and the reading frame keeps these zeros."""
_WORD = ">u4"
_EXTREMES = {"_min_inverted": ("_extremes", "high"), "_max": ("_extremes", "low")}
_SUMS = {"_sum_high": ("_sum", "high"), "_sum_low": ("_sum", "low")}


def records_of_halves(payloads: Sequence[bytes], contract: Contract, p4src: Path = P4SRC) -> np.ndarray[Any, Any]:
    """Joins the reports of a Tofino, one per payload, to records of v1model.

    Fields that Tofino does not measure (docs/LIMITATIONS.md) are missing. Zeros behind a report are the padding of the
    packet-out that asked for it. Raises ProgramError for a payload that is no report.
    """
    names = _words(p4src / "tna" / "headers.p4")
    words = np.dtype([(name, _WORD) for name in names])
    reports = np.frombuffer(b"".join(_report(payload, words.itemsize) for payload in payloads), dtype=words)
    kept = [(name, width) for name, width in chip_fields(contract.record_fields) if f"low.{_source(name)[0]}" in names]
    records = np.zeros(len(reports), dtype=[("cell", _WORD), *((name, f">u{width}") for name, width in kept)])
    records["cell"] = reports["cell"]
    for name, width in kept:
        field, half = _source(name)
        if half is None and width == 8:
            records[name] = (reports[f"high.{field}"].astype(np.uint64) << np.uint64(32)) | reports[f"low.{field}"]
        else:
            records[name] = reports[f"{half or 'low'}.{field}"]
    return records


def _report(payload: bytes, size_bytes: int) -> bytes:
    """Cuts the padding off a payload."""
    padding = payload[size_bytes:]
    if len(payload) < size_bytes or len(padding) >= SHORTEST_PACKET_OUT_BYTES or any(padding):
        raise ProgramError(
            f"a packet-in has {len(payload)} bytes, a report of the program has {size_bytes}",
            hint="the program on the switch and p4src/tna/headers.p4 differ: load the program again",
        )
    return payload[:size_bytes]


def _words(headers: Path) -> list[str]:
    """Names of the words of a report in wire order: the cell, the high and the low words."""
    source = headers.read_text()
    fields = {}
    for header in ("transmit_half_t", "receive_half_t"):
        body = re.search(rf"header {header} {{(.*?)}}", source, re.S)
        if body is None:
            raise ProgramError(f"{headers}: there is no header {header}", hint="check out p4src again")
        fields[header] = re.findall(r"bit<32>\s+(\w+);", body[1])
    return ["cell", *(f"{half}.{name}" for half in ("high", "low") for names in fields.values() for name in names)]


def _source(name: str) -> tuple[str, str | None]:
    """Field of a half, and the half when a field of the record is one word of a pair."""
    for ending, (field, half) in (_EXTREMES | _SUMS).items():
        if name.endswith(ending) and not name.startswith("spacing"):
            return name.removesuffix(ending) + field, half
    return name, None
