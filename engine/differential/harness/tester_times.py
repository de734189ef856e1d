"""Times in the output of the tester program: they differ from run to run and are not compared."""

from __future__ import annotations

from harness.scenario import Observation
from p4mesh.tester.contract import load_contract

_TIME_PREFIXES = (
    "latency_min",
    "latency_max",
    "latency_sum",
    "latency_last",
    "jitter_",
    "first_",
    "last_",
    "spacing_",
    "ipdv_min",
    "ipdv_max",
    "ipdv_sum",
)


def mask_times(seen: Observation) -> None:
    """Set the times in records and in the headers of packet-ins to zero."""
    contract = load_contract()
    seen.packet_ins = [
        (
            _masked(data, contract.record_fields) if metadata["kind"] == contract["KIND_READ"] else data,
            metadata | {"time": 0},
        )
        for data, metadata in seen.packet_ins
    ]


def _masked(record: bytes, fields: tuple[tuple[str, int], ...]) -> bytes:
    parts, position = [], 0
    for name, width in fields:
        part = record[position : position + width]
        parts.append(bytes(len(part)) if name.startswith(_TIME_PREFIXES) else part)
        position += width
    return b"".join(parts) + record[position:]
