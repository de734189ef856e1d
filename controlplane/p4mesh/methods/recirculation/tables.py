"""Tables of the recirculation test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.recirculation.cases import wire_of
from p4mesh.methods.recirculation.results import CaseUnit, Repetition
from p4mesh.methods.recirculation.significance import Delta, delta_of
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.latency import stamps_text
from p4mesh.methods.results.loss_interval import forgiven_text
from p4mesh.methods.results.outcome import Table
from p4mesh.methods.results.record import Row
from p4mesh.methods.results.repetition import spread_of
from p4mesh.traffic.line_rate import NS_PER_US

YES, NO, UNKNOWN = "yes", "not significant", "unknown"
_WHERE = CaseUnit.columns()
_KEYS = (fields.FRAME_SIZE_BYTES, fields.RATE, fields.FAILURES)
_PACKETS = retitled(fields.TX_FRAMES, "Packets", "per trial")
_KINDS = ("min", "avg", "max")
_DELTA_COLUMNS = (
    *_WHERE,
    _PACKETS,
    *Repetition.columns()[2:6],
    retitled(fields.STDDEV_US, "Std dev of avg", digits=6),
    *chain.from_iterable(zip(fields.DELTA_US, fields.DELTA_US_LOW, fields.DELTA_US_HIGH, strict=True)),
    fields.SIGNIFICANT,
    *fields.TESTER_US,
    fields.TESTER_JITTER_US,
)
_SWITCHOVER_COLUMNS = (
    *_WHERE,
    _PACKETS,
    fields.LOST_FRAMES_MIN,
    fields.LOST_FRAMES_AVG,
    fields.LOST_FRAMES_MAX,
    retitled(fields.LOSS_MS_MIN, "Recovery min"),
    retitled(fields.LOSS_MS_AVG, "Recovery avg"),
    retitled(fields.LOSS_MS_MAX, "Recovery max"),
    fields.STAMPS_MS_AVG,
    fields.RESOLUTION_MS,
    fields.REORDERED_FRAMES,
    fields.RECOVERED,
)
_DELTA_NOTE = (
    "The failures are there before the traffic. Every frame is measured; min, avg and max are means over the "
    "repetitions. A delta is the difference to the same traffic without a failure, with its interval of 95 % "
    "confidence (Welch's t over repetitions); time stamps add twice their resolution. The delta of "
    "the mean is significant when its interval excludes 0 and it exceeds the jitter of the tester itself (RFC 4689, "
    "over a wire)."
)
_SWITCHOVER_NOTE = (
    "The failures begin in the middle of the traffic. Recovery is lost frames / rate, without those that are lost by "
    "chance, within one resolution, in the trials that recovered: the distance of two frames, and what such losses "
    "leave unsure. By time stamps it is the distance of the departures around the gap, up to two resolutions too long."
)


def delta_table(units: Sequence[CaseUnit], bed: Bed) -> Table:
    """Latency per frame size, rate and number of failures, and what failures add to it."""
    rows: list[Row] = []
    for unit in units:
        if not unit.during and unit.failures >= 0:
            wire = _valid(_of(units, unit, -1))
            rows.append((unit, _measured(unit), _deltas(unit, _of(units, unit, 0), wire, bed), _tester(wire)))
    return CaseUnit.table(
        "delta",
        "Latency added by failures before the traffic",
        rows,
        f"{_DELTA_NOTE} {stamps_text(bed)} {forgiven_text(one.tx_frames for unit in units for one in unit.each)}",
        columns=_DELTA_COLUMNS,
        keys=_KEYS,
        headline=(fields.AVG_US, fields.DELTA_US[1], fields.SIGNIFICANT),
    )


def switchover_table(units: Sequence[CaseUnit]) -> Table:
    """Loss and recovery time per frame size, rate and number of failures."""
    found: dict[tuple[int, str, int], list[CaseUnit]] = {}
    for unit in units:
        if unit.during:
            found.setdefault((unit.frame_size_bytes, unit.rate, unit.failures), []).append(unit)
    return CaseUnit.table(
        "switchover",
        "Failures during the traffic",
        [(group[0], _switchover(group)) for group in found.values()],
        _SWITCHOVER_NOTE,
        columns=_SWITCHOVER_COLUMNS,
        keys=_KEYS,
        headline=(fields.LOST_FRAMES_AVG, fields.LOSS_MS_AVG, fields.RECOVERED),
    )


def repetition_table(units: Sequence[CaseUnit], bed: Bed) -> Table:
    """Each trial; repetitions of a case are counted over its units."""
    rows: list[Row] = []
    count: Counter[tuple[int, str, int, bool]] = Counter()
    for unit in units:
        case = (unit.frame_size_bytes, unit.rate, unit.failures, unit.during)
        for repetition in unit.each:
            count[case] += 1
            cells: dict[str, Any] = {"moment": "during" if unit.during else "before", "repetition": count[case]}
            alone = {"moment": "tester alone", "failures": None} if unit.failures < 0 else {}
            # A loss until the end of the trial is no time of recovery.
            ended = {} if repetition.recovered else {"loss_ms": None, "stamps_ms": None}
            # Averages over two ways depend on how long each was taken.
            mixed = {"avg_us": None, "jitter_avg_us": None} if unit.during else {}
            rows.append((unit, repetition, cells | alone | ended | mixed))
    where = (*_WHERE, fields.MOMENT, fields.REPETITION)
    keys = (*_KEYS, fields.MOMENT, fields.REPETITION)
    columns = (*where, *Repetition.columns())
    note = f"{stamps_text(bed)} Trials with failures during the traffic have no averages: frames took different ways."
    return Repetition.table("repetitions", "Each trial", rows, note, columns=columns, keys=keys, detail=True)


def findings_of(units: Sequence[CaseUnit], bed: Bed, parameters: ParameterSet) -> tuple[str, ...]:
    """Facts that the reader must see."""
    found = [
        f"{_named(unit)}: {repetition.state.value}: {repetition.reason}"
        for unit in units
        for repetition in unit.each
        if not repetition.state.trusted
    ]
    if wire_of(bed, parameters) is None:
        found.append(
            "The latency and jitter of the tester itself are not known: link two more of its ports to each other."
        )
    for unit in units:
        lost = sum(repetition.lost_frames for repetition in _valid(unit))
        if lost and not unit.during:
            found.append(f"{_named(unit)}: {lost:,} frames were lost, and are in no latency.")
        if any(not repetition.recovered for repetition in unit.each):
            found.append(f"{_named(unit)}: frames were lost until the end of the trial.")
    # Units of one case have one name: a fact of each repetition is said once.
    return tuple(dict.fromkeys(found))


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
    """The trials of a unit that can be trusted and received something."""
    each = () if unit is None else unit.each
    return tuple(item for item in each if item.state.trusted and item.avg_us is not None)


def _values(repetitions: Iterable[Repetition], name: str) -> list[float]:
    return [found for item in repetitions if (found := getattr(item, name)) is not None]


def _mean(repetitions: Iterable[Repetition], name: str) -> float | None:
    values = _values(repetitions, name)
    return sum(values) / len(values) if values else None


def _measured(unit: CaseUnit) -> dict[str, Any]:
    trials = _valid(unit)
    return {
        "tx_frames": trials[0].tx_frames if trials else None,
        "lost_frames": sum(item.lost_frames for item in trials),
        "corrupted_frames": sum(item.corrupted_frames or 0 for item in trials),
        "stddev_us": _stddev(_values(trials, "avg_us")),
        **{f"{kind}_us": _mean(trials, f"{kind}_us") for kind in _KINDS},
    }


def _stddev(values: Sequence[float]) -> float | None:
    return spread_of([round(value * 1_000_000) for value in values]).stddev / 1_000_000 if values else None


def _deltas(unit: CaseUnit, without: CaseUnit | None, wire: Sequence[Repetition], bed: Bed) -> dict[str, Any]:
    ours, theirs = _valid(unit), _valid(without)
    if unit.failures == 0 or not ours or not theirs:
        return {}
    row: dict[str, Any] = {}
    resolution_us = float(bed.stamps.resolution_ns / NS_PER_US)
    for kind in _KINDS:
        delta = delta_of(_values(ours, f"{kind}_us"), _values(theirs, f"{kind}_us"), resolution_us)
        key = f"delta_{kind}_us"
        row |= {key: delta.value, f"{key}_low": delta.low, f"{key}_high": delta.high}
        if kind == "avg":
            row["significant"] = _significant(delta, wire)
    return row


def _significant(delta: Delta, wire: Sequence[Repetition]) -> str:
    jitter_us = _mean(wire, "jitter_avg_us")
    if delta.differs is False or (jitter_us is not None and abs(delta.value) <= jitter_us):
        return NO
    return UNKNOWN if delta.differs is None or jitter_us is None else YES


def _tester(wire: Sequence[Repetition]) -> dict[str, Any]:
    times = {f"tester_{kind}_us": _mean(wire, f"{kind}_us") for kind in _KINDS}
    return times | {"tester_jitter_us": _mean(wire, "jitter_avg_us")}


def _switchover(units: Sequence[CaseUnit]) -> dict[str, Any]:
    trials = [item for unit in units for item in unit.each if item.state.trusted]
    errors_ms = (item.resolution_ms or 0.0 for item in trials if item.recovered)
    row: dict[str, Any] = {"resolution_ms": max(errors_ms, default=1000 / units[0].offered_fps)}
    if not trials:
        return row
    lost = [item.lost_frames for item in trials]
    recovered = [item for item in trials if item.recovered]
    recovery = _values(recovered, "loss_ms")
    return row | {
        "tx_frames": trials[0].tx_frames,
        "lost_frames_min": min(lost),
        "lost_frames_avg": sum(lost) / len(lost),
        "lost_frames_max": max(lost),
        "corrupted_frames_avg": sum(item.corrupted_frames or 0 for item in trials) / len(trials),
        "loss_ms_min": min(recovery, default=None),
        "loss_ms_avg": _mean(recovered, "loss_ms"),
        "loss_ms_max": max(recovery, default=None),
        "stamps_ms_avg": _mean(recovered, "stamps_ms"),
        "reordered_frames": sum(item.reordered_frames for item in trials),
        "recovered": len(recovered) == len(trials),
    }
