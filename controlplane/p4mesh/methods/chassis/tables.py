"""Tables and figures of chassis tests: rate, latency and jitter of every frame, against size and load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, retitled
from p4mesh.methods.results.forwarding import MeshTrial
from p4mesh.methods.results.latency_cells import LatencyCells
from p4mesh.methods.results.outcome import Cell, Figure, Series, Table, with_reasons

AT_THROUGHPUT = "throughput"
NOT_APPLICABLE = "NA"
GOAL = "no frame is lost at the loads of the table"
_BITS_PER_TBIT = 10**12

RATE_COLUMNS = (
    fields.FRAMES_PER_S,
    fields.THROUGHPUT_TBPS,
    fields.LINE_RATE_PCT,
)
LATENCY_COLUMNS = (
    retitled(fields.MIN_US, "Latency min"),
    retitled(fields.AVG_US, "avg"),
    retitled(fields.MAX_US, "max"),
    fields.JITTER_AVG_US,
    retitled(fields.JITTER_MAX_US, "max"),
)
Row = dict[str, Cell]


@dataclass(frozen=True)
class Loads:
    """The cells of the trials of one frame size."""

    frame_size_bytes: int
    highest: Row | None
    """At the throughput; None where no load passed."""
    lower: Mapping[float, Row]
    """By load in percent of line rate."""


def rows_of(sizes: Sequence[Loads], lower_loads_pct: Sequence[Fraction]) -> list[Row]:
    """Return a row per frame size and load: the lower loads, NA where they are above the throughput, then that."""
    rows: list[Row] = []
    for one in sizes:
        for load in lower_loads_pct:
            place: Row = {"frame_size_bytes": one.frame_size_bytes, "at": f"{load} %", "line_rate_pct": float(load)}
            rows.append({**place, **one.lower.get(float(load), {fields.REASON.key: NOT_APPLICABLE})})
        if one.highest is not None:
            rows.append({"frame_size_bytes": one.frame_size_bytes, "at": AT_THROUGHPUT, **one.highest})
    return rows


def cells_of(row: MeshTrial, frame_size_bytes: int) -> Row:
    """Return the cells of one trial of a mesh; rates are those of the receivers."""
    state = row.verdict.value if row.verdict else row.status.value
    rates = rate_cells(row.forwarding_fps, row.received_pct, frame_size_bytes)
    return {"state": state, **rates, **(latency_cells_of(row.latency[0].latency) if row.latency else {})}


def rate_cells(frames_per_s: float, line_rate_pct: float, frame_size_bytes: int) -> Row:
    """Return the cells of RATE_COLUMNS."""
    return {
        "frames_per_s": frames_per_s,
        "throughput_tbps": frames_per_s * 8 * frame_size_bytes / _BITS_PER_TBIT,
        "line_rate_pct": line_rate_pct,
    }


def latency_cells_of(latency: LatencyCells) -> Row:
    """Return the cells of LATENCY_COLUMNS."""
    return latency.cells(LATENCY_COLUMNS)


def tables_of(rows: Sequence[Row], definition: str, note: str) -> list[Table]:
    """Return the table at the throughput, that of every load, and jitter against load."""
    columns = (*RATE_COLUMNS, *LATENCY_COLUMNS)
    every = with_reasons((fields.FRAME_SIZE_BYTES, fields.AT, fields.STATE, *columns), rows)
    note = f"Latency {definition} of every frame. {note}"
    found = [
        Table(
            "rate_and_latency",
            "Throughput, latency and jitter",
            (fields.FRAME_SIZE_BYTES, *columns),
            _cut([row for row in rows if row["at"] == AT_THROUGHPUT], (fields.FRAME_SIZE_BYTES, *columns)),
            f"Rates are sums over all receivers; Tbit/s without preamble and gap. {note}",
            headline=("frames_per_s", "line_rate_pct", "avg_us"),
        ),
        Table(
            "every_load",
            "Latency and jitter at every load",
            every,
            _cut(rows, every),
            f"{NOT_APPLICABLE}: load above the throughput. {note}",
            keys=("frame_size_bytes", "at"),
        ),
    ]
    found += [
        _against_load(rows, "jitter_avg_us", "jitter_avg", "Average jitter against load"),
        _against_load(rows, "jitter_max_us", "jitter_max", "Maximum jitter against load"),
    ]
    return found


def figures_of(rows: Sequence[Row], definition: str) -> tuple[Figure, ...]:
    """Return average and maximum latency against load, a line per frame size."""
    return tuple(
        Figure(
            f"{name}_delay",
            f"{title} delay against load",
            "load (% of line rate)",
            f"{definition} latency (us)",
            tuple(Series(f"{size} B", _points(rows, size, key)) for size in _sizes(rows)),
            100.0,
        )
        for name, title, key in (("average", "Average", "avg_us"), ("maximum", "Maximum", "max_us"))
    )


def _points(rows: Sequence[Row], size: Cell, key: str) -> tuple[tuple[float, float], ...]:
    points = []
    for row in rows:
        load, value = row.get("line_rate_pct"), row.get(key)
        if row["frame_size_bytes"] == size and isinstance(load, float) and isinstance(value, float):
            points.append((load, value))
    return tuple(points)


def _against_load(rows: Sequence[Row], key: str, name: str, title: str) -> Table:
    loads = list(dict.fromkeys(str(row["at"]) for row in rows))
    columns = (fields.FRAME_SIZE_BYTES, *(Column(_key(at), at, "us", 3) for at in loads))
    shown = tuple(
        {"frame_size_bytes": size}
        | {_key(str(row["at"])): row.get(key) for row in rows if row["frame_size_bytes"] == size}
        for size in _sizes(rows)
    )
    return Table(name, title, columns, tuple({column.key: row.get(column.key) for column in columns} for row in shown))


def _key(at: str) -> str:
    return f"{at}_us" if at == AT_THROUGHPUT else f"load_{at.removesuffix(' %')}_us"


def _sizes(rows: Sequence[Row]) -> list[Cell]:
    return list(dict.fromkeys(row["frame_size_bytes"] for row in rows))


def _cut(rows: Sequence[Row], columns: Sequence[Column]) -> tuple[Row, ...]:
    return tuple({column.key: row.get(column.key) for column in columns} for row in rows)
