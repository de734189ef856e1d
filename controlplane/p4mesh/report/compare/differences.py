"""Two or more runs of the same question: the difference of every number, and whether it is more than chance.

Numbers are compared, never frames. A number of the first run is the reference. Repetitions of a test (``iterations``)
give Welch's confidence interval of the difference of the means; values that do not vary are compared exactly. A
difference below the error of the numbers is none; one measurement of each run tells no difference above it from chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import isclose
from typing import Any

from p4mesh.errors import UsageError
from p4mesh.methods.results.fields import Column, Sense, quantity_of
from p4mesh.methods.results.iterations import ITERATION
from p4mesh.methods.results.outcome import Cell, Outcome, Table, is_number
from p4mesh.quantities import grouped, ports_text
from p4mesh.report.errors_of_numbers import NumberErrors, found_by_search
from p4mesh.store.stored_run import StoredRun

CONFIDENCE = 0.95
_SAME = 1e-12
"""Relative difference of two numbers that only differ in how they were rounded."""
_MOST_KEYS = 24
"""Differences of two topologies that are listed one by one."""
_NAMED_ELSEWHERE = frozenset({"topology", "topology.name", "topology.description"})


class Sign(str, Enum):
    """Sign of a difference: more, the same, less, or unknown after one measurement each."""

    MORE = "+"
    SAME = "="
    LESS = "-"
    UNKNOWN = "?"


@dataclass(frozen=True)
class Measured:
    """One run of a comparison."""

    name: str
    run: StoredRun
    outcome: Outcome


@dataclass(frozen=True)
class Difference:
    """One number of one run beside that of the first run."""

    table: Table
    where: tuple[tuple[Column, Cell], ...]
    """Key columns of the row with their values."""
    column: Column
    other: str
    """Name of the run that is compared with the first one."""
    reference: float
    """Number of the first run, or the mean of its repetitions."""
    value: float
    low: float | None
    """Bounds of the difference at 95 % confidence; None where it is exact, or not known."""
    high: float | None
    p_value: float | None
    error: float
    """Error of the numbers, the larger one of the two; 0 where none is known."""
    sign: Sign

    @property
    def difference(self) -> float:
        """The number of the other run less that of the first one."""
        return self.value - self.reference

    @property
    def relative_pct(self) -> float | None:
        """The difference in percent of the first run's number; None where that is 0."""
        return 100 * self.difference / abs(self.reference) if self.reference else None

    @property
    def judgement(self) -> str:
        """``better`` or ``worse``, by the sense of the quantity; empty where neither holds or is known."""
        sense = quantity_of(self.column.key).sense
        if self.sign not in (Sign.MORE, Sign.LESS) or sense is Sense.NEITHER:
            return ""
        return "worse" if (self.sign is Sign.MORE) == (sense is Sense.LOWER) else "better"


def require_comparable(runs: Sequence[Measured]) -> None:
    """Raise UsageError for runs of different tests, goals or units."""
    first = runs[0]
    for other in runs[1:]:
        for what, one, two in (
            ("test", first.run.config["test"], other.run.config["test"]),
            ("goal", first.outcome.goal or "none", other.outcome.goal or "none"),
        ):
            if one != two:
                raise UsageError(
                    f"{other.name}: its {what} is {two}, that of {first.name} is {one}",
                    hint="compare runs of one test with the same goal",
                )
        units = {(table.name, column.key): column.unit for table in first.outcome.tables for column in table.columns}
        for table in other.outcome.tables:
            for column in table.columns:
                known = units.get((table.name, column.key), column.unit)
                if known != column.unit:
                    raise UsageError(
                        f"{other.name}: {table.name}.{column.key} is in {column.unit}, in {first.name} in {known}",
                        hint="compare runs of the same version",
                    )


def configuration_differences(runs: Sequence[Measured]) -> list[tuple[str, tuple[str, ...]]]:
    """Differences in configuration: a name, and its value in every run."""
    return _different([_flat(item.run.config) for item in runs]) + _topology_differences(runs)


def _different(flat: Sequence[Mapping[str, str]]) -> list[tuple[str, tuple[str, ...]]]:
    names = dict.fromkeys(name for values in flat for name in values)
    found = [(name, tuple(values.get(name, "-") for values in flat)) for name in names]
    return [(name, values) for name, values in found if len(set(values)) > 1]


def _topology_differences(runs: Sequence[Measured]) -> list[tuple[str, tuple[str, ...]]]:
    """Keys of the topology files that differ; none where the files have little in common."""
    texts = [item.run.config["topology"]["text"] for item in runs]
    if len(set(texts)) == 1:
        return []
    import yaml

    found = _different([dict(_leaves(yaml.safe_load(text))) for text in texts])
    found = [(name, values) for name, values in found if name not in _NAMED_ELSEWHERE]
    return found if len(found) <= _MOST_KEYS else []


def _leaves(value: object, path: str = "topology") -> Iterator[tuple[str, str]]:
    """Yield every value of a topology file with its path, such as ``topology.links[0].latency_ns``."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{number}]")
    else:
        yield path, grouped(str(value))


def differences(runs: Sequence[Measured]) -> Iterator[Difference]:
    """Yield the difference of every number that the first run and another one have, in the order of the tables."""
    first, *others = runs
    for table in first.outcome.tables:
        if not table.keys:
            continue
        reference = _samples(table, _errors(first))
        for other in others:
            twin = next((item for item in other.outcome.tables if item.name == table.name), None)
            if twin is None:
                continue
            samples = _samples(twin, _errors(other))
            for key, cells in reference.items():
                for column in _numbers(table):
                    here, there = cells.get(column.key), samples.get(key, {}).get(column.key)
                    if here and there:
                        columns = [item for item in table.columns if item.key in _keys(table)]
                        where = tuple(zip(columns, key, strict=True))
                        yield _difference(table, where, column, other.name, here, there)


def _errors(measured: Measured) -> NumberErrors:
    return NumberErrors(measured.run.config, measured.outcome.tables, measured.run.trials)


@dataclass
class _Numbers:
    """The number of one cell in each repetition, and the largest error and change of these."""

    values: list[float]
    error: float = 0.0
    burst: float = 0.0
    """Change by a burst that the device may forgive."""

    @property
    def mean(self) -> float:
        return self.values[0] if len(set(self.values)) == 1 else sum(self.values) / len(self.values)


def _difference(
    table: Table,
    where: tuple[tuple[Column, Cell], ...],
    column: Column,
    other: str,
    here: _Numbers,
    there: _Numbers,
) -> Difference:
    # Trials of equal length have in common what a forgiven burst hides from them.
    mean, value = here.mean, there.mean
    error = max(here.error, there.error) + abs(here.burst - there.burst)
    low = high = p_value = None
    repeated = min(len(here.values), len(there.values)) > 1
    varies = len(set(here.values)) > 1 or len(set(there.values)) > 1
    if repeated and varies:
        low, high, p_value = welch(here.values, there.values)
    if abs(value - mean) <= error or isclose(mean, value, rel_tol=_SAME, abs_tol=0.0):
        sign = Sign.SAME
    elif not repeated:
        sign = Sign.UNKNOWN
    elif low is not None and high is not None and low <= 0 <= high:
        sign = Sign.SAME
    else:
        sign = Sign.MORE if value > mean else Sign.LESS
    return Difference(table, where, column, other, mean, value, low, high, p_value, error, sign)


def welch(here: Sequence[float], there: Sequence[float]) -> tuple[float, float, float]:
    """Bounds of ``mean(there) - mean(here)`` at 95 % confidence, and the p-value of no difference (Welch's t test)."""
    from scipy import stats

    found = stats.ttest_ind(there, here, equal_var=False)
    interval = found.confidence_interval(CONFIDENCE)
    return float(interval.low), float(interval.high), float(found.pvalue)


def _samples(table: Table, errors: NumberErrors) -> dict[tuple[Cell, ...], dict[str, _Numbers]]:
    """Numbers of every row by its keys: one per repetition, without their statistics."""
    keys, numbers = _keys(table), _numbers(table)
    found: dict[tuple[Cell, ...], dict[str, _Numbers]] = {}
    for row in table.rows:
        if not str(row.get(ITERATION.key, "1")).isdecimal():
            continue
        cells = found.setdefault(tuple(row.get(key) for key in keys), {})
        for column in numbers:
            value = row.get(column.key)
            if is_number(value):
                sample = cells.setdefault(column.key, _Numbers([]))
                sample.values.append(float(value))
                bounds = errors.bounds_of(table, row, column)
                sample.error = max(sample.error, bounds.below, bounds.above)
                sample.burst = max(sample.burst, bounds.burst, key=abs)
    return found


def _keys(table: Table) -> list[str]:
    present = [column.key for column in table.columns if column.key in table.keys]
    return [key for key in present if key != ITERATION.key]


def _numbers(table: Table) -> list[Column]:
    """The columns that are results."""
    return [
        column
        for column in table.columns
        if column.key not in table.keys
        and (quantity_of(column.key).sense is not Sense.SETTING or found_by_search(table, column))
    ]


def _flat(config: Mapping[str, Any]) -> dict[str, str]:
    found = {name: str(config[name]) for name in ("version", "target")}
    found["topology"] = config["topology"]["name"]
    found["topology file"] = _digest(config["topology"]["text"])
    found["ports"] = ports_text(port["number"] for port in config["ports"])
    found["port rates (bit/s)"] = ", ".join(dict.fromkeys(f"{port['rate_bps']:,}" for port in config["ports"]))
    found["frame sizes (B)"] = ", ".join(map(str, config["frame_sizes_bytes"]))
    found["calibration"] = "yes" if config["calibration"] else "no"
    found |= {f"note {name}": text for name, text in config.get("notes", {}).items()}
    return found | {item["name"]: _value(item) for item in config["parameters"]}


def _value(parameter: Mapping[str, Any]) -> str:
    """Value of a parameter; words such as ``none`` and ``scaled`` have no unit."""
    value = str(parameter["value"])
    return f"{grouped(value)} {parameter['unit']}".rstrip() if value[-1:].isdecimal() else value


def _digest(text: str) -> str:
    from hashlib import sha256

    return f"sha256 {sha256(text.encode()).hexdigest()[:12]}"
