"""Tabulates the pacing errors of the tester: the worst values of all trials, per frame size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Table
from p4mesh.store.run_files import StoredTrial

_COLUMNS = (
    fields.FRAME_SIZE_BYTES,
    Column("seeds", "Seeds", "at most"),
    Column("round_ns", "Round of the loop", "ns", 1),
    Column("loop_share_pct", "Recirculation port", "% busy", 2),
    Column("rate_step_ppm", "Rate grid", "ppm", 9),
    Column("rate_error_ppm", "Rate error", "ppm", 6),
    Column("departure_error_ns", "Departure error", "ns, worst", 1),
    Column("start_skew_ns", "Start skew of ports", "ns", 0),
    Column("start_offset_error_ns", "Start offset error", "ns", 1),
)
_NOTE = (
    "The interval of departures is programmed in steps of 2^-32 clock tick, which gives the grid of rates. "
    "A departure waits for the next pass of a seed: the departure error is the distance of two passes and "
    "what seeds round to whole ticks, and no distance of two departures differs by more from the ideal one."
)


def pacing_table(trials: Sequence[StoredTrial]) -> Table | None:
    """Worst pacing errors of all trials, a row per frame size; None when no trial has any."""
    worst: dict[int, dict[str, Any]] = {}
    for trial in trials:
        sizes = {stream["name"]: stream["frame_size_bytes"] for stream in trial.spec["streams"]}
        for paced in trial.result.get("pacing", ()):
            row = {
                "seeds": paced["seeds"],
                "round_ns": paced["round_ns"],
                "loop_share_pct": paced["loop_share_pct"],
                "rate_step_ppm": paced["rate_step_ppm"],
                "rate_error_ppm": abs(paced["rate_error_ppm"]),
                "departure_error_ns": paced["departure_error_ns"],
                "start_skew_ns": trial.result["start_skew_ns"],
                "start_offset_error_ns": paced["start_offset_error_ns"],
            }
            known = worst.setdefault(sizes[paced["stream"]], row)
            for key, value in row.items():
                known[key] = max(known[key], value)
    if not worst:
        return None
    rows = tuple({"frame_size_bytes": size, **worst[size]} for size in sorted(worst))
    return Table("pacing", "Tester: how exactly it sent", _COLUMNS, rows, _NOTE)
