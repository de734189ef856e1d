"""Tables of the recirculation test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.recirculation.cases import wire_of
from p4mesh.methods.recirculation.results import CaseUnit, Repetition
from p4mesh.methods.recirculation.significance import Delta, delta_of
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, retitled
from p4mesh.methods.results.latency import stamps_text
from p4mesh.methods.results.outcome import Cell, Table, with_reasons
from p4mesh.methods.results.repetition import spread_of

FCS_BYTES = 4
YES, NO, UNKNOWN = "yes", "not significant", "unknown"
_WHERE = (
    fields.FRAME_SIZE_BYTES,
    fields.PACKET_SIZE_BYTES,
    fields.RATE,
    fields.FAILURES,
)
_KEYS = ("frame_size_bytes", "rate", "failures")
_KINDS = ("min", "avg", "max")
_DELTA_COLUMNS = (
    *_WHERE,
    fields.PACKETS,
    fields.LOST_FRAMES,
    *(Column(f"{kind}_us", kind.capitalize(), "us", 6) for kind in _KINDS),
    fields.AVG_US_STDDEV,
    *(
        Column(f"delta_{kind}_us{end}", f"Delta {kind}{title}", "us", 6)
        for kind in _KINDS
        for end, title in (("", ""), ("_low", " from"), ("_high", " to"))
    ),
    fields.SIGNIFICANT,
    *(Column(f"tester_{kind}_us", f"Tester {kind}", "us", 6) for kind in _KINDS),
    fields.TESTER_JITTER_US,
)
_SWITCHOVER_COLUMNS = (
    *_WHERE,
    fields.PACKETS,
    fields.LOST_FRAMES_MIN,
    fields.LOST_FRAMES_AVG,
    fields.LOST_FRAMES_MAX,
    fields.LOSS_MS_MIN,
    retitled(fields.LOSS_MS_AVG, "Recovery avg"),
    fields.LOSS_MS_MAX,
    fields.STAMPS_MS_AVG,
    fields.RESOLUTION_MS,
    fields.REORDERED_FRAMES,
    fields.RECOVERED,
)
_REPETITION_COLUMNS = (
    *_WHERE,
    fields.MOMENT,
    fields.REPETITION,
    fields.STATUS,
    retitled(fields.PACKETS, "Packets", ""),
    fields.LOST_FRAMES,
    *(Column(f"{kind}_us", kind.capitalize(), "us", 6) for kind in _KINDS),
    retitled(fields.LOSS_MS, "Recovery"),
    fields.STAMPS_MS,
)
_DELTA_NOTE = (
    "The failures are there before the traffic. Every frame is measured; min, avg and max are means over the "
    "repetitions. A delta is the difference to the same traffic without a failure, with its interval of 95 % "
    "confidence (Welch's t over repetitions); repetitions that do not vary give an interval of no width. The delta of "
    "the mean is significant when its interval excludes 0 and it exceeds the jitter of the tester itself (RFC 4689, "
    "over a wire)."
)
_SWITCHOVER_NOTE = (
    "The failures begin in the middle of the traffic. Recovery is lost frames / rate, within one resolution; by time "
    "stamps it is the distance of the departures around the gap, up to two resolutions too long."
)


def delta_table(units: Sequence[CaseUnit], bed: Bed) -> Table:
    """Return latency per frame size, rate and number of failures, and what failures add to it."""
    rows = []
    for unit in units:
        if unit.during or unit.failures < 0:
            continue
        without = _of(units, unit, 0)
        wire = _valid(_of(units, unit, -1))
        rows.append(_row(unit) | _deltas(unit, without, wire) | _tester(wire))
    shown = tuple({column.key: row.get(column.key) for column in _DELTA_COLUMNS} for row in rows)
    headline = ("avg_us", "delta_avg_us", "significant")
    return Table(
        "delta",
        "Latency added by failures before the traffic",
        _DELTA_COLUMNS,
        shown,
        f"{_DELTA_NOTE} {stamps_text(bed)}",
        keys=_KEYS,
        headline=headline,
    )


def switchover_table(units: Sequence[CaseUnit]) -> Table:
    """Return loss and recovery time per frame size, rate and number of failures."""
    found: dict[tuple[int, str, int], list[CaseUnit]] = {}
    for unit in units:
        if unit.during:
            found.setdefault((unit.frame_size_bytes, unit.rate, unit.failures), []).append(unit)
    rows = [_switchover(group) for group in found.values()]
    shown = tuple({column.key: row.get(column.key) for column in _SWITCHOVER_COLUMNS} for row in rows)
    return Table(
        "switchover",
        "Failures during the traffic",
        _SWITCHOVER_COLUMNS,
        shown,
        _SWITCHOVER_NOTE,
        keys=_KEYS,
        headline=("lost_frames_avg", "loss_ms_avg", "recovered"),
    )


def repetition_table(units: Sequence[CaseUnit]) -> Table:
    """Return each trial."""
    rows: list[dict[str, Cell]] = []
    count: dict[tuple[int, str, int, bool], int] = {}
    for unit in units:
        case = (unit.frame_size_bytes, unit.rate, unit.failures, unit.during)
        for repetition in unit.each:
            count[case] = count.get(case, 0) + 1
            rows.append(
                {
                    **repetition.data(),
                    **_where(unit),
                    "failures": None if unit.failures < 0 else unit.failures,
                    "moment": "tester alone" if unit.failures < 0 else "during" if unit.during else "before",
                    "repetition": count[case],
                    "packets": repetition.tx_frames,
                }
            )
    columns = with_reasons(_REPETITION_COLUMNS, rows)
    shown = tuple({column.key: row.get(column.key) for column in columns} for row in rows)
    keys = (*_KEYS, "moment", "repetition")
    return Table("repetitions", "Each trial", columns, shown, "", detail=True, keys=keys)


def findings_of(units: Sequence[CaseUnit], bed: Bed, parameters: ParameterSet) -> tuple[str, ...]:
    """Return the notes that the reader must see."""
    found = [
        f"{_named(unit)}: {repetition.status.value}: {repetition.reason}"
        for unit in units
        for repetition in unit.each
        if not repetition.status.trusted
    ]
    if wire_of(bed, parameters) is None:
        found.append(
            "The latency and jitter of the tester itself are not known: link two more of its ports to each other."
        )
    for unit in units:
        lost = sum(repetition.lost_frames for repetition in _valid(unit))
        if lost and not unit.during:
            found.append(f"{_named(unit)}: {lost} frames were lost, and are in no latency.")
        if any(not repetition.recovered for repetition in unit.each):
            found.append(f"{_named(unit)}: frames were lost until the end of the trial.")
    return tuple(found)


def _named(unit: CaseUnit) -> str:
    case = "tester alone" if unit.failures < 0 else f"{unit.failures} failures{' during traffic' * unit.during}"
    return f"{unit.frame_size_bytes} B, {unit.rate}, {case}"


def _of(units: Iterable[CaseUnit], like: CaseUnit, failures: int) -> CaseUnit | None:
    for unit in units:
        same = (unit.frame_size_bytes, unit.rate) == (like.frame_size_bytes, like.rate)
        if same and unit.failures == failures and not unit.during:
            return unit
    return None


def _valid(unit: CaseUnit | None) -> tuple[Repetition, ...]:
    """Return the trials of a unit that can be trusted and received something."""
    each = () if unit is None else unit.each
    return tuple(item for item in each if item.status.trusted and item.avg_us is not None)


def _values(repetitions: Iterable[Repetition], value: Callable[[Repetition], float | None]) -> list[float]:
    return [found for item in repetitions if (found := value(item)) is not None]


def _kinds(repetitions: Sequence[Repetition]) -> dict[str, list[float]]:
    return {
        "min": _values(repetitions, lambda item: item.min_us),
        "avg": _values(repetitions, _average),
        "max": _values(repetitions, lambda item: item.max_us),
    }


def _average(repetition: Repetition) -> float | None:
    return repetition.avg_us


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _where(unit: CaseUnit) -> dict[str, Cell]:
    return {
        "frame_size_bytes": unit.frame_size_bytes,
        "packet_size_bytes": unit.frame_size_bytes - FCS_BYTES,
        "rate": unit.rate,
        "failures": unit.failures,
    }


def _row(unit: CaseUnit) -> dict[str, Cell]:
    trials = _valid(unit)
    kinds = _kinds(trials)
    row: dict[str, Cell] = {
        **_where(unit),
        "packets": trials[0].tx_frames if trials else None,
        "lost_frames": sum(item.lost_frames for item in trials),
        "avg_us_stddev": _stddev(_values(trials, _average)),
    }
    return row | {f"{kind}_us": _mean(values) for kind, values in kinds.items()}


def _stddev(values: Sequence[float]) -> float | None:
    return spread_of([round(value * 1_000_000) for value in values]).stddev / 1_000_000 if values else None


def _deltas(unit: CaseUnit, without: CaseUnit | None, wire: Sequence[Repetition]) -> dict[str, Cell]:
    row: dict[str, Cell] = {}
    if unit.failures == 0 or without is None:
        return row
    ours, theirs = _kinds(_valid(unit)), _kinds(_valid(without))
    for kind in _KINDS:
        if not ours[kind] or not theirs[kind]:
            continue
        delta = delta_of(ours[kind], theirs[kind])
        row |= {
            f"delta_{kind}_us": delta.value,
            f"delta_{kind}_us_low": delta.low,
            f"delta_{kind}_us_high": delta.high,
        }
        if kind == "avg":
            row |= {"significant": _significant(delta, wire)}
    return row


def _significant(delta: Delta, wire: Sequence[Repetition]) -> str:
    jitter_us = _jitter_us(wire)
    if delta.differs is False or (jitter_us is not None and abs(delta.value) <= jitter_us):
        return NO
    return UNKNOWN if delta.differs is None or jitter_us is None else YES


def _jitter_us(wire: Sequence[Repetition]) -> float | None:
    return _mean(_values(wire, lambda item: item.jitter_avg_us))


def _tester(wire: Sequence[Repetition]) -> dict[str, Cell]:
    row: dict[str, Cell] = {f"tester_{kind}_us": _mean(values) for kind, values in _kinds(wire).items()}
    return row | {"tester_jitter_us": _jitter_us(wire)}


def _switchover(units: Sequence[CaseUnit]) -> dict[str, Cell]:
    trials = [item for unit in units for item in unit.each if item.status.trusted]
    row = _where(units[0]) | {"resolution_ms": 1000 / units[0].offered_fps}
    if not trials:
        return row
    lost = [item.lost_frames for item in trials]
    recovery = _values(trials, lambda item: item.loss_ms)
    return row | {
        "packets": trials[0].tx_frames,
        "lost_frames_min": min(lost),
        "lost_frames_avg": sum(lost) / len(lost),
        "lost_frames_max": max(lost),
        "loss_ms_min": min(recovery, default=None),
        "loss_ms_avg": _mean(recovery),
        "loss_ms_max": max(recovery, default=None),
        "stamps_ms_avg": _mean(_values(trials, lambda item: item.stamps_ms)),
        "reordered_frames": sum(item.reordered_frames for item in trials),
        "recovered": all(item.recovered for item in trials),
    }
