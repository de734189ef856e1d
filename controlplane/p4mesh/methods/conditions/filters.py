"""Filters of RFC 2544 11.4 and RFC 5180 6.2: addresses that a device must drop, and the list to configure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from p4mesh.methods.bed import Bed
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.outcome import Table
from p4mesh.methods.results.record import Record
from p4mesh.tester.stations import station

FILTER_1, FILTER_25 = "filter_1", "filter_25"
_FILTER_LINES = 25
_PERMIT_POSITION = 13
_FIRST_DENIED = 126
"""Added to the host number of a station: 198.18.N.128 and following are denied."""


@dataclass(frozen=True, kw_only=True)
class FilterLine(Record):
    """A filter of an input port."""

    port: Annotated[int, retitled(fields.PORT, "Input port")]
    position: Annotated[int, fields.POSITION]
    action: Annotated[str, fields.ACTION]
    protocol: Annotated[str, fields.PROTOCOL]
    source: Annotated[str, fields.SOURCE]
    destination: Annotated[str, fields.DESTINATION] = "any"


def denied(kind: str) -> range:
    """Distance from a station's address to the address of frames that filters drop."""
    return range(_FIRST_DENIED, _FIRST_DENIED + (1 if kind == FILTER_1 else _FILTER_LINES - 1))


def filter_tables(bed: Bed, kind: str, frame_formats: Sequence[str]) -> tuple[Table, ...]:
    """Filters that the device must have, per input port and format of the test frames."""
    if kind not in (FILTER_1, FILTER_25):
        return ()
    rows = [row for port in bed.port_numbers for form in frame_formats for row in _lines(port, kind, form)]
    note = (
        "Sources of the test frames are permitted, all others denied; a single filter denies what it does not permit."
        + (" Behind all of them: deny ipv6 any any (RFC 5180 6.2.2)." if "ipv6" in frame_formats else "")
    )
    keys = (fields.PORT, fields.POSITION, fields.SOURCE)
    return (FilterLine.table("filters", "Filters of the device", rows, note, keys=keys, detail=True),)


def _lines(port: int, kind: str, frame_format: str) -> list[FilterLine]:
    """Filters of one input port for frames of one format."""
    lines = [("deny", number) for number in denied(FILTER_25)] if kind == FILTER_25 else []
    lines.insert(_PERMIT_POSITION - 1, ("permit", 0))
    return [
        FilterLine(
            port=port,
            position=position,
            action=action,
            protocol="any" if frame_format == "ethernet" else "udp",
            source=_source(port, added, frame_format),
        )
        for position, (action, added) in enumerate(lines, start=1)
    ]


def _source(port: int, added: int, frame_format: str) -> str:
    owner = station(port)
    if frame_format == "ethernet":
        mac = (int.from_bytes(owner.mac, "big") + added).to_bytes(6, "big")
        return ":".join(f"{byte:02x}" for byte in mac)
    return str(owner.ipv6 + added if frame_format == "ipv6" else owner.ipv4 + added)
