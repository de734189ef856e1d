"""The trials behind the numbers: those that cannot be trusted with the reason, and all of them."""

from __future__ import annotations

from typing import Any

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, retitled
from p4mesh.methods.results.outcome import Outcome, Table
from p4mesh.quantities import grouped, number_text
from p4mesh.report.document import Chapter, Grid, GridRow, Head, Paragraph
from p4mesh.report.shown_latency import measured_definition
from p4mesh.report.verdict import reason_of
from p4mesh.store.csv_files import trial_row
from p4mesh.store.run_files import StoredTrial
from p4mesh.store.stored_run import StoredRun
from p4mesh.traffic.line_rate import NS_PER_MS

_COLUMNS = (
    retitled(fields.LOAD_PCT, "Iload"),
    Column("oload_pct", "Oload", fields.LOAD_PCT.unit),
    fields.DURATION_MS,
    fields.TX_FRAMES,
    fields.RX_FRAMES,
    retitled(fields.LATE_FRAMES, "of it late"),
    retitled(fields.EARLY_FRAMES, "of it early"),
    fields.LOST_FRAMES,
    retitled(fields.CORRUPTED_FRAMES, "of it corrupted"),
    fields.FLOODED_FRAMES,
    fields.MISDIRECTED_FRAMES,
    fields.DUPLICATE_FRAMES,
    fields.REORDERED_FRAMES,
    Column("latency_ns_min", "Latency min", "ns"),
    Column("latency_ns_avg", "Latency avg", "ns"),
    Column("latency_ns_max", "Latency max", "ns"),
    fields.QUEUES,
    fields.EXCESS_PPM,
    fields.EXCESS_ERROR_PPM,
    Column("elapsed_s", "Wall time", "s"),
)
_OPTIONAL = {"late_frames", "early_frames", "corrupted_frames", "queues", "excess_ppm", "excess_error_ppm"}
"""Shown where some trial has one."""
_FOLLOWING = ("frame_size_bytes", "loss_pct", "excess_fps", "overflow_s")
"""Columns of result tables that follow from it: sizes are in the names of parts, the others from counts and excess."""
_HERE = {"trial", "verdict", "reason", *(column.key for column in _COLUMNS), *_FOLLOWING}


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
    columns = [one for one in _COLUMNS if one.key not in _OPTIONAL or any(cells[one.key] for cells in known)]
    heads = (
        Head("Part", key=True),
        Head("Trial", number=True, key=True),
        Head("Verdict"),
        Head("Why"),
        *(Head(column.title, column.unit, number=column is not fields.QUEUES) for column in columns),
        Head("Started", "UTC"),
    )
    rows = []
    for trial, cells in zip(run.trials, known, strict=True):
        timing = times.get((trial.unit, trial.index))
        cells |= {"elapsed_s": timing.elapsed_s} if timing else {}
        started = timing.started_utc[11:19] if timing else "-"
        numbers = (_text(cells.get(column.key)) for column in columns)
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
