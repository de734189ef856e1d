"""Latency by the layers, and by the roles, that the topology gives to the receiving ports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import hypot
from typing import Annotated

from p4mesh.methods.bed import Bed, Port
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.latency import Definition, Group, summary_of
from p4mesh.methods.results.latency_cells import CALIBRATED, RAW, Circumstances, LatencyCells
from p4mesh.methods.results.outcome import Cell, Table
from p4mesh.methods.results.record import INLINE, Record, Row, table_of
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import NS_PER_US

_NOTE = (
    "Frames that the ports of a layer, or of a role, received; layers and roles in the order of their ports. Low and "
    "high: means of its ports. Increment: mean less that of the layer before. Nothing is subtracted for wires unless "
    "calibrated."
)


@dataclass(frozen=True)
class PortLatency:
    """Latency of frames that one port received."""

    rx_port: int
    samples: int
    min_us: Fraction
    avg_us: Fraction
    max_us: Fraction
    avg_error_us: Fraction | None
    calibrated: str = RAW

    @classmethod
    def of_cells(cls, rx_port: int, cells: LatencyCells) -> Iterator[PortLatency]:
        """Yield the latency of stored cells; nothing without samples."""
        times = cells.times
        if cells.samples:
            found = (times.min_us, times.avg_us, times.max_us)
            low, mean, high = (Fraction(value) for value in found if value is not None)
            error_us = None if times.avg_error_us is None else Fraction(times.avg_error_us)
            yield cls(rx_port, cells.samples, low, mean, high, error_us, cells.calibrated)

    @classmethod
    def of_groups(
        cls,
        groups: Sequence[Group],
        bed: Bed,
        frame_size_bytes: FrameSize,
        definition: Definition,
        circumstances: Circumstances,
    ) -> Iterator[PortLatency]:
        """Yield the latency of each group that has samples, and again less that of its wire where that is known."""
        for calibrated in (RAW, CALIBRATED) if bed.calibration is not None else (RAW,):
            for group in groups:
                summary = summary_of([group], bed, frame_size_bytes, definition, calibrated=calibrated == CALIBRATED)
                if summary is not None:
                    found = summary.latency
                    low, mean, high = (time_ns / NS_PER_US for time_ns in (found.min_ns, found.avg_ns, found.max_ns))
                    error_ns = circumstances.error_ns(summary)
                    error_us = None if error_ns is None else error_ns / NS_PER_US
                    yield cls(group.rx_port, found.count, low, mean, high, error_us, calibrated)


@dataclass(frozen=True, kw_only=True)
class Increment(Record):
    """Mean less that of the layer before; empty for the first one, and for roles, which have no order."""

    increment_us: Annotated[float | None, fields.INCREMENT_US] = None
    increment_error_us: Annotated[float | None, fields.INCREMENT_ERROR_US] = None


@dataclass(frozen=True, kw_only=True)
class LayerCells(Record):
    """Latency at the ports of one layer or role."""

    kind: Annotated[str, fields.KIND]
    """``layer`` or ``role``."""
    name: Annotated[str, fields.NAME]
    receivers: Annotated[int, fields.RECEIVERS]
    min_us: Annotated[float, fields.MIN_US]
    avg_us: Annotated[float, fields.AVG_US]
    avg_error_us: Annotated[float | None, fields.AVG_ERROR_US]
    max_us: Annotated[float, fields.MAX_US]
    samples: Annotated[int, fields.SAMPLES]
    low_us: Annotated[float, fields.LOW_US]
    """Lowest mean of its ports."""
    high_us: Annotated[float, fields.HIGH_US]
    port_error_us: Annotated[float | None, fields.PORT_ERROR_US]
    increment: Increment = field(metadata=INLINE)
    calibrated: Annotated[str, fields.CALIBRATED] = RAW


def ports_by_layer(bed: Bed) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Yield ``layer`` or ``role``, its name and its ports; nothing where the topology tells no ports apart by it."""
    of_port: dict[str, Callable[[Port], str]] = {"layer": lambda port: port.layer, "role": lambda port: port.role}
    for kind, name_of in of_port.items():
        if len({name_of(port) for port in bed.ports}) > 1:
            for name in dict.fromkeys(filter(None, map(name_of, bed.ports))):
                yield kind, name, tuple(port.number for port in bed.ports if name_of(port) == name)


def has_layers(bed: Bed) -> bool:
    """Whether the topology tells layers or roles of ports apart."""
    return any(ports_by_layer(bed))


class Increments:
    """Means of layers, one after the other."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[float, float | None]] = {}

    def after(self, kind: str, mean_us: float, error_us: float | None, series: str = RAW) -> Increment:
        """The increment to a mean and its error; time stamps may be wrong in both means alike, so errors add up."""
        if kind != "layer":
            return Increment()
        before = self._before.get(series)
        self._before[series] = mean_us, error_us
        if before is None:
            return Increment()
        mean_before_us, error_before_us = before
        both_us = None if error_us is None or error_before_us is None else error_us + error_before_us
        return Increment(increment_us=mean_us - mean_before_us, increment_error_us=both_us)


def layer_cells(bed: Bed, measured: Iterable[PortLatency]) -> tuple[LayerCells, ...]:
    """The latency at the ports of each layer and role that received frames."""
    by_port: dict[tuple[str, int], list[PortLatency]] = {}
    for item in measured:
        by_port.setdefault((item.calibrated, item.rx_port), []).append(item)
    series = tuple(dict.fromkeys(calibrated for calibrated, _ in by_port))
    increments = Increments()
    found: list[LayerCells] = []
    for kind, name, ports in ports_by_layer(bed):
        for calibrated in series:
            of_ports = [by_port[calibrated, port] for port in ports if (calibrated, port) in by_port]
            if not of_ports:
                continue
            means = [_mean_us(of_one) for of_one in of_ports]
            inside = [item for of_one in of_ports for item in of_one]
            mean_us, samples = float(_mean_us(inside)), sum(item.samples for item in inside)
            error_us, port_errors_us = _error_us(inside), [_error_us(of_one) for of_one in of_ports]
            found.append(
                LayerCells(
                    kind=kind,
                    name=name,
                    receivers=len(of_ports),
                    min_us=float(min(item.min_us for item in inside)),
                    avg_us=mean_us,
                    avg_error_us=error_us,
                    max_us=float(max(item.max_us for item in inside)),
                    samples=samples,
                    low_us=float(min(means)),
                    high_us=float(max(means)),
                    port_error_us=largest(port_errors_us),
                    increment=increments.after(kind, mean_us, error_us, calibrated),
                    calibrated=calibrated,
                )
            )
    return tuple(found)


def largest(errors: Iterable[float | None]) -> float | None:
    """The largest of some errors; None where one is not known, or there is none."""
    found = list(errors)
    known = [error for error in found if error is not None]
    return max(known) if known and len(known) == len(found) else None


def _error_us(items: Sequence[PortLatency]) -> float | None:
    """Error of the mean over ports; None where that of one of them is not known."""
    errors_us = [item.samples * item.avg_error_us for item in items if item.avg_error_us is not None]
    return hypot(*errors_us) / sum(item.samples for item in items) if len(errors_us) == len(items) else None


def _mean_us(items: Sequence[PortLatency]) -> Fraction:
    return sum((item.avg_us * item.samples for item in items), Fraction(0)) / sum(item.samples for item in items)


def layer_rows(bed: Bed, where: Record | Mapping[str, Cell], measured: Iterable[PortLatency]) -> list[Row]:
    """The rows of one trial, which ``where`` names."""
    return [(where, cells) for cells in layer_cells(bed, measured)]


def layer_tables(
    name: str, title: str, where: Sequence[Column], keys: Sequence[Column], rows: Sequence[Row], *, detail: bool = False
) -> list[Table]:
    """The table of latencies by layer and role, if any; ``where`` are the columns that name a trial."""
    if not rows:
        return []
    columns, keys = (*where, *LayerCells.columns()), (*keys, fields.KIND, fields.NAME, fields.CALIBRATED)
    return [table_of(name, f"{title}, by layer and role", columns, rows, _NOTE, keys=keys, detail=detail)]
