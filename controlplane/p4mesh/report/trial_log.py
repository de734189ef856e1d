"""The trials behind the numbers: those that cannot be trusted with the reason, and all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from p4mesh.quantities import four_digits, grouped
from p4mesh.report.document import Chapter, Grid, GridRow, Head, Paragraph
from p4mesh.report.shown_latency import measured_definition
from p4mesh.store.csv_files import trial_row
from p4mesh.store.run_files import StoredTrial
from p4mesh.store.stored_run import StoredRun
from p4mesh.verdict import Verdict

_COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("load_pct", "Iload", "% of line"),
    ("oload_pct", "Oload", "% of line"),
    ("duration_ms", "Duration", "ms"),
    ("tx_frames", "Tx", "frames"),
    ("rx_frames", "Rx", "frames"),
    ("lost_frames", "Lost", "frames"),
    ("flooded_frames", "Flooded", "frames"),
    ("misdirected_frames", "Misdirected", "frames"),
    ("duplicate_frames", "Duplicate", "frames"),
    ("reordered_frames", "Reordered", "frames"),
    ("latency_ns_min", "Latency min", "ns"),
    ("latency_ns_avg", "Latency avg", "ns"),
    ("latency_ns_max", "Latency max", "ns"),
    ("elapsed_s", "Wall time", "s"),
)
_NS_PER_MS = 1_000_000


def untrusted_chapter(run: StoredRun) -> Chapter:
    """Trials that are INVALID or ABORT, each with its reason."""
    found = [trial for trial in run.trials if not trial.status.trusted]
    if not found:
        text = (
            f"None: all {len(run.trials):,} trials can be trusted. Offered and received frames add up in each of them."
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
        GridRow((trial.unit, str(trial.index), f"{trial.load_pct:g}", trial.status.value, trial.result["reason"]))
        for trial in found
    )
    text = f"{len(found):,} of {len(run.trials):,} trials; they are neither PASS nor FAIL and enter no average."
    return Chapter("Trials that cannot be trusted", "untrusted", (Paragraph(text), Grid("", heads, rows)))


def log_chapter(run: StoredRun) -> Chapter:
    """Every trial with its counts."""
    times = {(timing.unit, timing.index): timing for timing in run.timings}
    heads = (
        Head("Part", key=True),
        Head("Trial", number=True, key=True),
        Head("Verdict"),
        Head("Why"),
        *(Head(title, unit, number=True) for _, title, unit in _COLUMNS),
        Head("Started", "UTC"),
    )
    rows = []
    for trial in run.trials:
        timing = times.get((trial.unit, trial.index))
        cells = _cells(trial) | ({"elapsed_s": timing.elapsed_s} if timing else {})
        started = timing.started_utc[11:19] if timing else "-"
        numbers = (_text(cells.get(key)) for key, _, _ in _COLUMNS)
        rows.append(GridRow((trial.unit, str(trial.index), trial.verdict.value, _why(cells), *numbers, started)))
    note = (
        f"Latency: {measured_definition(run.config)}. Loads are those that were asked for (Iload) and sent (Oload). "
        "A frame that was received has a signature that fits its check and, unless a deviation says otherwise, the "
        "payload that was sent. Of the headers in front of them, the destination address alone is compared."
    )
    return Chapter(
        "Trial log", "trials", (Grid(f"{len(rows):,} trials", heads, tuple(rows), note, folded=True),), annex=True
    )


def _why(cells: Mapping[str, Any]) -> str:
    """Reason of a verdict that the counts beside it do not show: a load without a loss that a buffer carries."""
    if cells.get("reason"):
        return str(cells["reason"])
    if cells["verdict"] == Verdict.FAIL.value and not cells["lost_frames"] and cells.get("excess_ppm"):
        return f"a queue fills by {four_digits(cells['excess_ppm'])} ppm"
    return ""


def _cells(trial: StoredTrial) -> dict[str, Any]:
    return trial_row(trial) | {"duration_ms": trial.spec["duration_ns"] / _NS_PER_MS}


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else grouped(str(value))
