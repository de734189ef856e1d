"""Records of the tester's cells: the histogram bins within their extremes, and fields that a target may not measure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from p4mesh.tester.histogram import bin_of

READ_TICKS = "read_ticks"
"""Field that the controller adds to every record: when the reading frame entered the loop for the pass that copied
the cell, in ticks of the target's clock. The registers are read within one round after it."""
ALL_ONES = 0xFFFFFFFF
STOPPING_COUNTS = ("duplicates", "reordered", "latency_overflows")
"""Counts that have 64 bits in software; on a chip they have 32 and stop at 2^32 - 1."""
IPDV_ZERO = 1 << 31


def chip_fields(fields: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Names and widths in bytes of the fields of records as a chip has them."""
    return [(name, 4 if name in STOPPING_COUNTS else width) for name, width in fields]


def latency_bins(records: np.ndarray[Any, Any], finer_bits: int) -> range:
    """Bins between the smallest and the largest latency of all records."""
    if not records["frames"].any():
        return range(0)
    shortest = ALL_ONES - int(records["latency_min_inverted"].max())
    return range(bin_of(shortest, finer_bits), bin_of(int(records["latency_max"].max()), finer_bits) + 1)


def ipdv_bins(records: np.ndarray[Any, Any], finer_bits: int) -> range:
    """Bins up to the largest size of an IPDV of all records."""
    varied = with_ipdv(records)
    if not len(varied):
        return range(0)
    lowest = ALL_ONES - int(varied["ipdv_min_inverted"].max()) - IPDV_ZERO
    highest = int(varied["ipdv_max"].max()) - IPDV_ZERO
    return range(bin_of(max(abs(lowest), abs(highest)), finer_bits) + 1)


def interarrival_bins(records: np.ndarray[Any, Any], finer_bits: int) -> range:
    """Bins up to the longest time that may lie between two frames of a flow, as they arrived or as they left."""
    longest = max(
        (
            int(record["last_arrival"]) - int(record["first_arrival"]) + int(record["latency_max"])
            for record in records[records["frames"] > 1]
        ),
        default=-1,
    )
    return range(bin_of(min(longest, ALL_ONES), finer_bits) + 1) if longest >= 0 else range(0)


def with_ipdv(records: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Records with IPDV; none on a target that does not measure it."""
    return records[records["ipdv_count"] > 0] if "ipdv_count" in (records.dtype.names or ()) else records[:0]


def chosen_records(records: np.ndarray[Any, Any], places: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Picks records by their places, or by a truth value for each."""
    # Bytes as they are: NumPy copies a record field by field, which takes longer.
    octets = records.view(np.dtype((np.void, records.dtype.itemsize)))
    found: np.ndarray[Any, Any] = octets[places].view(records.dtype)
    return found


def with_read_ticks(records: np.ndarray[Any, Any], ticks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Adds the field READ_TICKS to records."""
    timed = np.empty(len(records), dtype=_timed(records.dtype))
    # Bytes as they are: field by field takes four times as long.
    timed.view(np.uint8).reshape(len(timed), -1)[:, : records.dtype.itemsize] = records.view(np.uint8).reshape(
        len(records), -1
    )
    timed[READ_TICKS] = ticks
    return timed


@cache
def _timed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype([*dtype.descr, (READ_TICKS, np.uint64)])
