"""Tables and figures of chassis tests: rate, latency and jitter of every frame, against size and load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from p4mesh.methods.chassis.loads import LOWER_LOADS_PCT
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, retitled
from p4mesh.methods.results.forwarding import MeshTrial
from p4mesh.methods.results.latency_cells import LatencyCells
from p4mesh.methods.results.outcome import Cell, Figure, Series, Table
from p4mesh.methods.results.queues import TOO_SHORT
from p4mesh.methods.results.record import Record, table_of
from p4mesh.quantities import number_text
from p4mesh.verdict import Verdict

AT_THROUGHPUT = "throughput"
NOT_APPLICABLE = "NA"
GOAL = "no frame is lost at the loads of the table, nor will be once the queues are full"
_NO_JITTER = "No jitter where no flow has two frames: more scaled_frames, or a longer duration_ms, give it some."
_BITS_PER_TBIT = 10**12
_TIMES = (
    "min_us",
    "avg_us",
    "avg_error_us",
    "max_us",
    "samples",
    "jitter_avg_us",
    "jitter_avg_error_us",
    "jitter_max_us",
)


@dataclass(frozen=True, kw_only=True)
class RateAndLatency(Record):
    """Frames that all receivers got, and their latency and jitter."""

    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    forwarding_fps: Annotated[float | None, retitled(fields.FORWARDING_FPS, "Rx, all ports", digits=2)] = None
    forwarding_error_fps: Annotated[float | None, retitled(fields.FORWARDING_ERROR_FPS, "Error of Rx", digits=2)] = None
    forwarding_l2_tbps: Annotated[float | None, fields.FORWARDING_L2_TBPS] = None
    line_pct: Annotated[float | None, fields.LINE_PCT]
    min_us: Annotated[float | None, retitled(fields.MIN_US, "Latency min")] = None
    avg_us: Annotated[float | None, retitled(fields.AVG_US, "avg")] = None
    avg_error_us: Annotated[float | None, fields.AVG_ERROR_US] = None
    max_us: Annotated[float | None, retitled(fields.MAX_US, "max")] = None
    samples: Annotated[int | None, fields.SAMPLES] = None
    jitter_avg_us: Annotated[float | None, fields.JITTER_AVG_US] = None
    jitter_avg_error_us: Annotated[float | None, fields.JITTER_AVG_ERROR_US] = None
    jitter_max_us: Annotated[float | None, retitled(fields.JITTER_MAX_US, "max")] = None


@dataclass(frozen=True, kw_only=True)
class AtLoad(RateAndLatency):
    """The trial of one load."""

    at: Annotated[str, fields.AT] = AT_THROUGHPUT
    state: Annotated[Verdict | None, fields.STATE] = None
    reason: str = ""


def at_load(
    size: int,
    state: Verdict,
    forwarding_fps: float,
    forwarding_error_fps: float,
    line_pct: float,
    latency: LatencyCells | None,
    load: float | None,
) -> AtLoad:
    """The row of a trial at a load in percent of line rate; None: at the throughput."""
    return AtLoad(
        frame_size_bytes=size,
        at=AT_THROUGHPUT if load is None else f"{number_text(load)} %",
        state=state,
        reason=TOO_SHORT if state is Verdict.UNCLEAR else "",
        forwarding_fps=forwarding_fps,
        forwarding_error_fps=forwarding_error_fps,
        forwarding_l2_tbps=forwarding_fps * 8 * size / _BITS_PER_TBIT,
        line_pct=line_pct,
        **(latency.data(_TIMES) if latency else {}),
    )


def at_load_of(row: MeshTrial, size: int, load: float | None = None) -> AtLoad:
    """The row of a trial of a mesh; rates are those of the receivers."""
    latency = row.latency[0].latency if row.latency else None
    return at_load(size, row.verdict, row.forwarding_fps, row.forwarding_error_fps, row.forwarding_pct, latency, load)


def rows_of(size: int, measured: Iterable[AtLoad]) -> list[AtLoad]:
    """A row per load: the lower loads, NA where they are above the throughput, then that."""
    found = {row.at: row for row in measured}
    for load in LOWER_LOADS_PCT:
        beyond = AtLoad(frame_size_bytes=size, at=f"{load} %", line_pct=float(load), reason=NOT_APPLICABLE)
        found.setdefault(beyond.at, beyond)
    places = (*(f"{load} %" for load in LOWER_LOADS_PCT), AT_THROUGHPUT)
    return [found[place] for place in places if place in found]


def tables_of(rows: Sequence[AtLoad], definition: str, note: str) -> list[Table]:
    """The table at the throughput, that of every load, and jitter against load."""
    without_jitter = any(row.samples and row.jitter_avg_us is None for row in rows)
    no_jitter = _NO_JITTER if without_jitter else ""
    note = " ".join(filter(None, (f"Latency {definition} of every frame. {note}", no_jitter)))
    columns = RateAndLatency.columns()
    return [
        RateAndLatency.table(
            "rate_and_latency",
            "Throughput, latency and jitter",
            [row for row in rows if row.at == AT_THROUGHPUT],
            f"Rates are sums over all receivers; Tbit/s without preamble and gap. {note}",
            headline=(fields.FORWARDING_FPS, fields.LINE_PCT, fields.AVG_US),
        ),
        AtLoad.table(
            "every_load",
            "Latency and jitter at every load",
            rows,
            f"{NOT_APPLICABLE}: load above the throughput. {note}",
            columns=(columns[0], fields.AT, fields.STATE, *columns[1:]),
            keys=(fields.FRAME_SIZE_BYTES, fields.AT),
        ),
        _against_load(
            rows,
            "jitter_avg_us",
            "jitter_avg",
            "Average jitter against load",
            no_jitter,
            error=fields.JITTER_AVG_ERROR_US,
        ),
        _against_load(
            rows,
            "jitter_max_us",
            "jitter_max",
            "Maximum jitter against load",
            f"Of the samples of every load. {no_jitter}".strip(),
        ),
    ]


def figures_of(rows: Sequence[AtLoad], definition: str) -> tuple[Figure, ...]:
    """Average and maximum latency against load, a line per frame size."""
    return tuple(
        Figure(
            f"{name}_delay",
            f"{title} delay against load",
            "load (% of line rate)",
            f"{definition} latency (us)",
            tuple(Series(f"{size} B", _points(of_size, key)) for size, of_size in _by_size(rows).items()),
            100.0,
        )
        for name, title, key in (("average", "Average", "avg_us"), ("maximum", "Maximum", "max_us"))
    )


def _points(rows: Sequence[AtLoad], key: str) -> tuple[tuple[float, float], ...]:
    points = ((row.line_pct, getattr(row, key)) for row in rows)
    return tuple((load, value) for load, value in points if load is not None and value is not None)


def _against_load(
    rows: Sequence[AtLoad], key: str, name: str, title: str, note: str = "", error: Column | None = None
) -> Table:
    """A column per load, and one of its errors where ``error`` has them."""
    columns = [fields.FRAME_SIZE_BYTES]
    for at in dict.fromkeys(row.at for row in rows):
        columns.append(Column(_key(at), at, "us", 3, _key(at, "error") if error else ""))
        if error:
            columns.append(Column(_key(at, "error"), f"Error at {at}", error.unit, error.digits))
    shown: list[dict[str, Cell]] = []
    for size, of_size in _by_size(rows).items():
        cells: dict[str, Cell] = {"frame_size_bytes": size}
        for row in of_size:
            cells[_key(row.at)] = getattr(row, key)
            if error:
                cells[_key(row.at, "error")] = getattr(row, error.key)
        shown.append(cells)
    return table_of(name, title, columns, shown, note)


def _key(at: str, what: str = "") -> str:
    place = at if at == AT_THROUGHPUT else f"load_{at.removesuffix(' %')}"
    return "_".join(filter(None, (place, what, "us")))


def _by_size(rows: Sequence[AtLoad]) -> dict[int, list[AtLoad]]:
    found: dict[int, list[AtLoad]] = {}
    for row in rows:
        found.setdefault(row.frame_size_bytes, []).append(row)
    return found
