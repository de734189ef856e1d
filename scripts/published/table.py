"""A published table and its counterpart: one row per cell, published, modelled and difference side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from p4mesh.run.options import RunOptions
from p4mesh.run.single import run
from p4mesh.topology import load_topology

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "controlplane" / "tests" / "fixtures"
Value = float | int | str | bool | None
Row = Mapping[str, Value]


@dataclass(frozen=True)
class Quantity:
    """A column that both sides have."""

    key: str
    title: str
    digits: int = 2
    ratio: bool = False
    """The difference is modelled / published."""
    error: str = ""
    """Key of the standard error of the modelled value, where trials have shown one."""


@dataclass(frozen=True)
class Comparison:
    """One published table."""

    name: str
    report: str
    about: str
    """Text about the whole report; that of its first table is printed."""
    title: str
    quantities: tuple[Quantity, ...]
    published: Mapping[str, Row]
    """Columns of each cell; several printed rows of one cell are averaged."""
    run_cell: Callable[[str, Path], Row]
    note: str = ""
    """Claims of the model, and what it does not explain."""
    cheap: tuple[str, ...] = ()
    """Cells that a test measures again."""

    @property
    def cells(self) -> tuple[str, ...]:
        """Names of the rows."""
        return tuple(self.published)

    def measure(self, cell: str, folder: Path) -> dict[str, Value]:
        """The columns of a cell, rounded to what the document shows."""
        found = self.run_cell(cell, folder)
        keys = [(key, item.digits) for item in self.quantities for key in (item.key, item.error) if key]
        return {key: _rounded(found.get(key), digits) for key, digits in keys}

    def markdown(self, modelled: Mapping[str, Row]) -> str:
        """The table with its title and note."""
        heads = [f"{item.title} {side}" for item in self.quantities for side in ("published", "modelled", "diff.")]
        lines = [f"### {self.title}", "", *([self.note, ""] if self.note else [])]
        lines += [f"| cell | {' | '.join(heads)} |", "|" + "---|" * (1 + len(heads))]
        for cell, printed in self.published.items():
            found = modelled.get(cell, {})
            values = [text for item in self.quantities for text in _three(item, printed, found)]
            lines.append(f"| {cell} | {' | '.join(values)} |")
        return "\n".join(lines) + "\n"


def _three(item: Quantity, printed: Row, found: Row) -> tuple[str, str, str]:
    published, modelled = printed.get(item.key), found.get(item.key)
    difference = ""
    if published is None or modelled is None:
        pass
    elif isinstance(published, str) or isinstance(modelled, str):
        difference = "same" if published == modelled else "other"
    else:
        if not item.ratio:
            difference = f"{modelled - published:+.{item.digits}f}"
        elif published:
            difference = f"x {modelled / published:.2g}"
    error = found.get(item.error) if item.error else None
    within = f" +- {_text(error, item.digits)}" if error is not None else ""
    return _text(published, item.digits), _text(modelled, item.digits) + within, difference


def _text(value: Value, digits: int) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.{digits}f}"


def _rounded(value: Value, digits: int) -> Value:
    return value if value is None or isinstance(value, str) else round(float(value), digits) + 0.0


def published_tables(file: str) -> dict[str, dict[str, Any]]:
    """The tables of a fixture by their names."""
    tables: dict[str, dict[str, Any]] = json.loads((FIXTURES / file).read_text())
    return tables


def averaged(rows: Sequence[Row], cell_of: Callable[[Row], str]) -> dict[str, Row]:
    """The means of rows with the same cell; what is not a number is left out."""
    members: dict[str, list[Row]] = {}
    for row in rows:
        members.setdefault(cell_of(row), []).append(row)
    return {
        cell: {
            key: sum(values) / len(values)
            for key in of_cell[0]
            if (values := [float(row[key]) for row in of_cell if isinstance(row[key], int | float)])  # type: ignore[arg-type]
        }
        for cell, of_cell in members.items()
    }


def measured(
    test: str, topology: str, sizes: str, settings: Mapping[str, object], folder: Path
) -> dict[str, list[dict[str, Any]]]:
    """The tables of a test on a shipped topology, by their names."""
    text = tuple(f"{key}={value}" for key, value in settings.items())
    network = load_topology(ROOT / "topologies" / f"{topology}.yaml")
    finished = run(RunOptions(test, network, sizes, text, folder / "run", jobs=1))
    return {table.name: [dict(row) for row in table.rows] for table in finished.outcome.tables}


def binomial_error_pct(trial: Mapping[str, Any]) -> float:
    """The standard error of the loss of a trial whose frames are lost independently of each other, in %."""
    lost = trial["loss_pct"] / 100
    return float(100 * (lost * (1 - lost) / trial["tx_frames"]) ** 0.5)


def searched(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> Mapping[str, Any]:
    """Load, loss and result of the search of one cell as the reports print them.

    Their searches end within the resolution above the minimum, which ours try at last: the load before it is compared.
    """
    (row,), (goal,) = tables["mesh_throughput"], tables["searches"]
    trials = tables["search_trials"]
    above = [trial for trial in trials if trial["load_pct"] > goal["minimum_pct"]]
    passed = any(trial["verdict"] == "PASS" for trial in above)
    last = [trial for trial in trials if trial["load_pct"] == row["load_pct"]][-1] if passed else above[-1]
    return {
        "load_pct": last["load_pct"],
        "loss_pct": last["loss_pct"],
        "loss_error_pct": binomial_error_pct(last),
        "state": row["state"] if passed else "FAIL",
    }
