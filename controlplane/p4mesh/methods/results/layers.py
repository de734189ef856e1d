"""Latency of a trial by the layers, or by the roles, that the topology gives to the receiving ports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from p4mesh.methods.bed import Bed, Port
from p4mesh.methods.results.latency import Group, LatencySummary
from p4mesh.methods.results.latency_cells import us
from p4mesh.methods.results.outcome import Cell, Column, Table
from p4mesh.methods.results.record import Record

_COLUMNS = (
    Column("kind", "By"),
    Column("name", "Receivers of"),
    Column("receivers", "Receivers", "ports"),
    Column("min_us", "Min", "us", 3),
    Column("avg_us", "Avg", "us", 3),
    Column("max_us", "Max", "us", 3),
    Column("low_us", "Low", "us mean", 3),
    Column("high_us", "High", "us mean", 3),
    Column("increment_us", "Increment", "us", 3),
)
_NOTE = (
    "Frames that the ports of a layer, or of a role, received; layers and roles in the order of their ports. Low and "
    "high: means of its ports. Increment: mean less that of the layer before. Nothing is subtracted for wires."
)


@dataclass(frozen=True, kw_only=True)
class LayerCells(Record):
    """Latency at the ports of one layer or role."""

    kind: str
    """``layer`` or ``role``."""
    name: str
    receivers: int
    min_us: float
    avg_us: float
    max_us: float
    low_us: float
    """Lowest mean of its ports."""
    high_us: float
    increment_us: float | None
    """Mean less that of the layer before; None for the first one, and for roles, which have no order."""


def _kinds(bed: Bed) -> dict[str, Callable[[Port], str]]:
    of_port: dict[str, Callable[[Port], str]] = {"layer": lambda port: port.layer, "role": lambda port: port.role}
    return {kind: name for kind, name in of_port.items() if len({name(port) for port in bed.ports} - {""}) > 1}


def has_layers(bed: Bed) -> bool:
    """Return whether the topology tells layers or roles of ports apart."""
    return bool(_kinds(bed))


def layer_cells(
    bed: Bed, groups: Sequence[Group], summary_of: Callable[[Sequence[Group]], LatencySummary | None]
) -> tuple[LayerCells, ...]:
    """Return the latency of groups by each layer and role that received frames."""
    found: list[LayerCells] = []
    for kind, name_of in _kinds(bed).items():
        before: float | None = None
        for name in dict.fromkeys(filter(None, map(name_of, bed.ports))):
            ports = [port.number for port in bed.ports if name_of(port) == name]
            of_port = [[group for group in groups if group.rx_port == port] for port in ports]
            whole = summary_of([group for of_one in of_port for group in of_one])
            means = [us(summary.latency.avg_ns) for of_one in of_port if (summary := summary_of(of_one)) is not None]
            if whole is None:
                continue
            mean = us(whole.latency.avg_ns)
            found.append(
                LayerCells(
                    kind=kind,
                    name=name,
                    receivers=len(means),
                    min_us=us(whole.latency.min_ns),
                    avg_us=mean,
                    max_us=us(whole.latency.max_ns),
                    low_us=min(means),
                    high_us=max(means),
                    increment_us=mean - before if before is not None and kind == "layer" else None,
                )
            )
            before = mean
    return tuple(found)


def layer_table(
    name: str, title: str, where: Sequence[Column], keys: tuple[str, ...], rows: Sequence[dict[str, Cell]]
) -> Table:
    """Return the table of latencies by layer and role; ``where`` are the columns that name the trial of a row."""
    columns = (*where, *_COLUMNS)
    shown = tuple({column.key: row.get(column.key) for column in columns} for row in rows)
    return Table(name, title, columns, shown, _NOTE, keys=(*keys, "kind", "name"))
