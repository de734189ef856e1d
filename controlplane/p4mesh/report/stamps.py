"""Tabulates where the time stamps of ports of Linux come from, and their error: the worst values of all trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Table
from p4mesh.store.codec import decode
from p4mesh.store.run_files import StoredTrial
from p4mesh.traffic.stamps import KERNEL, PortStamps

_COLUMNS = (
    fields.PORT,
    Column("arrivals", "Arrivals stamped by"),
    Column("departures", "Departures stamped by"),
    Column("samples", "Departures with both stamps"),
    Column("delay_avg_us", "Way through the kernel", "us, largest avg", 3),
    Column("error_median_us", "Error, median", "+- us", 3),
    Column("error_p99_us", "Error, 99 %", "+- us", 3),
    Column("rest_p99_us", "Left in single values, 99 %", "us", 3),
    Column("cable_us", "Cables", "us at most", 3),
)
_NOTE = (
    "A signature has the time at which the program let its frame go. Where the kernel stamps departures too, average "
    "latencies are less by the average way through the kernel in their trial; how far a single frame may be from it is "
    "the error. Smallest and largest latencies, and percentiles, are less by the smallest way, which every frame has "
    "had: what is left of it in them is no more than the last column but one. Latencies of other ports contain that "
    "way. All contain the virtual cables to the device and back, too."
)


def stamps_table(trials: Sequence[StoredTrial]) -> Table | None:
    """Worst errors of time stamps in all trials, a row per port of Linux; None when no trial has such stamps."""
    worst: dict[int, dict[str, Any]] = {}
    for trial in trials:
        for stamps in trial.result.get("stamps", ()):
            _take(worst.setdefault(stamps["port"], dict.fromkeys(column.key for column in _COLUMNS)), stamps)
    if not worst:
        return None
    return Table("stamps", "Tester: time stamps", _COLUMNS, tuple(worst[port] for port in sorted(worst)), _NOTE)


def _take(row: dict[str, Any], stamps: dict[str, Any]) -> None:
    """Add the stamps of a trial to those of others; a port that sent nothing has none of departures."""
    row["port"], row["arrivals"] = stamps["port"], stamps["arrivals"]
    if row["departures"] != KERNEL:
        row["departures"] = stamps["departures"]
    row["samples"] = (row["samples"] or 0) + stamps["samples"]
    row["cable_us"] = max(row["cable_us"] or 0.0, stamps.get("cable_ns", 0.0) / 1000) or None
    if stamps["samples"]:
        rest_ns = decode(PortStamps, stamps).single_error_ns
        values_ns = {key: stamps[f"{key}_ns"] for key in ("delay_avg", "error_median", "error_p99")}
        for key, value_ns in {**values_ns, "rest_p99": rest_ns}.items():
            row[f"{key}_us"] = max(row[f"{key}_us"] or 0.0, value_ns / 1000)
