"""CSV of result tables and of the trial log: one header line, units in the names, full precision."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from p4mesh.store.run_files import StoredTrial

TRIAL_COLUMNS = (
    "unit",
    "trial",
    "load_pct",
    "oload_pct",
    "verdict",
    "status",
    "reason",
    "intended_frames",
    "tx_frames",
    "expected_rx_frames",
    "rx_frames",
    "lost_frames",
    "flooded_frames",
    "misdirected_frames",
    "duplicate_frames",
    "reordered_frames",
    "foreign_frames",
    "stale_frames",
    "damaged_frames",
    "latency_ns_min",
    "latency_ns_avg",
    "latency_ns_max",
    "queues",
    "excess_ppm",
    "excess_fps",
)

PORT_COLUMNS = (
    "unit",
    "trial",
    "port",
    "tx_frames",
    "rx_frames",
    "late_frames",
    "flooded_frames",
    "misdirected_frames",
    "foreign_frames",
    "stale_frames",
    "damaged_frames",
    "bad_fcs_frames",
    "runt_frames",
    "pause_frames",
    "link_losses",
    "min_spacing_ns",
)


def table_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A table as CSV text; a cell that does not apply is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(["" if row.get(column) is None else row[column] for column in columns])
    return text.getvalue()


def trial_row(trial: StoredTrial) -> dict[str, Any]:
    """One line of the trial log."""
    latency = trial.result.get("latency")
    row = {"unit": trial.unit, "trial": trial.index, "load_pct": trial.load_pct, **trial.result}
    row["verdict"] = trial.verdict.value
    if trial.status.trusted:
        row["oload_pct"] = trial.load_pct
    elif trial.result["tx_frames"]:
        # Not sent as asked: the error of the transmitter that is farthest off, by its time stamps.
        row["oload_pct"] = trial.load_pct * (1 + trial.result["oload_error_ppm"] / 1_000_000)
    if latency and latency["count"]:
        row["latency_ns_min"] = latency["min_ns"]
        row["latency_ns_avg"] = latency["sum_ns"] / latency["count"]
        row["latency_ns_max"] = latency["max_ns"]
    queues = trial.result.get("queues")
    row["queues"] = queues["trend"] if queues else None
    if queues and queues["excess_fps"]:
        row |= {"excess_ppm": queues["excess_ppm"], "excess_fps": queues["excess_fps"]}
    return {column: row.get(column) for column in TRIAL_COLUMNS}


def ports_csv(trials: Iterable[StoredTrial]) -> str:
    """Counts of each port in each trial, as CSV text."""
    return table_csv(PORT_COLUMNS, port_rows(trials))


def port_rows(trials: Iterable[StoredTrial]) -> Iterator[dict[str, Any]]:
    """Yield the counts of each port in each trial."""
    for trial in trials:
        for port in trial.result["ports"]:
            yield {"unit": trial.unit, "trial": trial.index, "late_frames": 0, **port}


def trials_csv(trials: Iterable[StoredTrial]) -> str:
    """The trial log as CSV text."""
    return table_csv(TRIAL_COLUMNS, (trial_row(trial) for trial in trials))
