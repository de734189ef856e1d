"""The trials behind the numbers: those that cannot be trusted with the reason, and all of them."""

from __future__ import annotations

from typing import Any

from p4mesh.methods.results.outcome import Outcome, Table
from p4mesh.quantities import grouped, number_text
from p4mesh.report.document import Chapter, Grid, GridRow, Head, Paragraph
from p4mesh.report.shown_latency import measured_definition
from p4mesh.report.verdict import reason_of
from p4mesh.store.csv_files import trial_row
from p4mesh.store.run_files import StoredTrial
from p4mesh.store.stored_run import StoredRun
from p4mesh.traffic.line_rate import NS_PER_MS

_COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("load_pct", "Iload", "% of line"),
    ("oload_pct", "Oload", "% of line"),
    ("duration_ms", "Duration", "ms"),
    ("tx_frames", "Tx", "frames"),
    ("rx_frames", "Rx", "frames"),
    ("late_frames", "of it late", "frames"),
    ("early_frames", "of it early", "frames"),
    ("lost_frames", "Lost", "frames"),
    ("corrupted_frames", "of it corrupted", "frames"),
    ("flooded_frames", "Flooded", "frames"),
    ("misdirected_frames", "Misdirected", "frames"),
    ("duplicate_frames", "Duplicate", "frames"),
    ("reordered_frames", "Reordered", "frames"),
    ("latency_ns_min", "Latency min", "ns"),
    ("latency_ns_avg", "Latency avg", "ns"),
    ("latency_ns_max", "Latency max", "ns"),
    ("queues", "Queues", ""),
    ("excess_ppm", "Excess", "ppm"),
    ("excess_error_ppm", "Error", "+- ppm"),
    ("elapsed_s", "Wall time", "s"),
)
_OPTIONAL = {"late_frames", "early_frames", "corrupted_frames", "queues", "excess_ppm", "excess_error_ppm"}
"""Shown where some trial has one."""
_FOLLOWING = ("frame_size_bytes", "loss_pct", "excess_fps", "overflow_s")
"""Columns of result tables that follow from it: sizes are in the names of parts, the others from counts and excess."""
_HERE = {"trial", "verdict", "reason", *(key for key, _, _ in _COLUMNS), *_FOLLOWING}


def untrusted_chapter(run: StoredRun, outcome: Outcome) -> Chapter:
    """Trials that are INVALID or ABORT, each with its reason.

    A test can distrust a trial whose counts add up, such as one in which a group arrives before it was joined.
    """
    found = [trial for trial in run.trials if not trial.status.trusted]
    if not found:
        add_up = f"Offered and received frames add up in each trial ({len(run.trials):,})."
        text = (
            f"None. {add_up}" if outcome.state.trusted else f"{add_up} Findings say why the test does not trust them."
        )
        return Chapter("Trials that cannot be trusted", "untrusted", (Paragraph(text),))
    heads = (
        Head("Part", key=True),
        Head("Trial", number=True, key=True),
        Head("Load", "% of line", number=True),
        Head("Status"),
        Head("Reason"),
    )
    rows = tuple(
        GridRow((trial.unit, str(trial.index), number_text(trial.load_pct), trial.status.value, trial.result["reason"]))
        for trial in found
    )
    text = f"{len(found):,} of {len(run.trials):,} trials; they are neither PASS nor FAIL and enter no average."
    return Chapter("Trials that cannot be trusted", "untrusted", (Paragraph(text), Grid("", heads, rows)))


def log_chapter(run: StoredRun) -> Chapter:
    """Every trial with its counts."""
    times = {(timing.unit, timing.index): timing for timing in run.timings}
    known = [_cells(trial) for trial in run.trials]
    columns = [found for found in _COLUMNS if found[0] not in _OPTIONAL or any(cells[found[0]] for cells in known)]
    heads = (
        Head("Part", key=True),
        Head("Trial", number=True, key=True),
        Head("Verdict"),
        Head("Why"),
        *(Head(title, unit, number=key != "queues") for key, title, unit in columns),
        Head("Started", "UTC"),
    )
    rows = []
    for trial, cells in zip(run.trials, known, strict=True):
        timing = times.get((trial.unit, trial.index))
        cells |= {"elapsed_s": timing.elapsed_s} if timing else {}
        started = timing.started_utc[11:19] if timing else "-"
        numbers = (_text(cells.get(key)) for key, _, _ in columns)
        why = reason_of(trial.verdict, cells["reason"] or "", cells["lost_frames"], cells.get("excess_ppm"))
        rows.append(GridRow((trial.unit, str(trial.index), trial.verdict.value, why, *numbers, started)))
    note = (
        f"Latency: {measured_definition(run.config)}. Loads are those that were asked for (Iload) and sent (Oload). "
        "A frame that was received has a signature that fits its check and, unless a deviation says otherwise, the "
        "payload that was sent. Of the headers in front of them, the destination address alone is compared. Late "
        "frames came after the transmission; searches count those that a queue held back as lost."
    )
    return Chapter("Trial log", "trials", (Grid("Trials", heads, tuple(rows), note, folded=True),), annex=True)


def is_in_log(table: Table) -> bool:
    """Whether a result table is a log, and nothing but columns of the log of all trials: it would be there twice."""
    return not table.keys and {column.key for column in table.columns} <= _HERE


def _cells(trial: StoredTrial) -> dict[str, Any]:
    result = trial.result
    queues = result.get("queues")
    return trial_row(trial) | {
        "duration_ms": trial.spec["duration_ns"] / NS_PER_MS,
        "late_frames": sum(port.get("late_frames", 0) for port in result["ports"]),
        "early_frames": (result.get("transient") or {}).get("frames", 0),
        "corrupted_frames": result.get("corrupted_frames", 0),
        "excess_error_ppm": queues["error_ppm"] if queues and queues["excess_fps"] else None,
    }


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return number_text(round(value, 4), 15) if isinstance(value, float) else grouped(str(value))
