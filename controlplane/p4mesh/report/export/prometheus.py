"""Numbers of runs in the text format of Prometheus (version 0.0.4); metrics have the names of the vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from p4mesh.methods.results.fields import MEANINGS
from p4mesh.methods.results.outcome import Outcome, is_number
from p4mesh.store.stored_run import StoredRun

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "p4mesh_"
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_]")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Metrics:
    """Samples by metric: lines of one metric stand together, and no series comes twice."""

    def __init__(self) -> None:
        self._samples: dict[str, dict[str, float]] = {}

    def add(self, key: str, labels: Mapping[str, object], value: float) -> None:
        """Add a sample of a quantity of the vocabulary; one with the same labels stays as it was."""
        shown = ",".join(
            f'{_NOT_IN_NAMES.sub("_", name)}="{str(text).translate(_ESCAPES)}"' for name, text in labels.items()
        )
        self._samples.setdefault(PREFIX + _NOT_IN_NAMES.sub("_", key), {}).setdefault(shown, value)

    def text(self) -> str:
        """All samples, each metric behind its meaning."""
        return "".join(f"{line}\n" for name, samples in self._samples.items() for line in _lines(name, samples))


def _lines(name: str, samples: Mapping[str, float]) -> Iterator[str]:
    if meaning := MEANINGS.get(name.removeprefix(PREFIX)):
        yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} gauge"
    for labels, value in samples.items():
        yield f"{name}{{{labels}}} {value!r}"


def prometheus_text(runs: Sequence[tuple[StoredRun, Outcome]]) -> str:
    """The numbers of every result table of finished runs; the cells that say what a row is about are labels."""
    metrics = Metrics()
    for run, outcome in runs:
        about = {
            "run_id": run.identifier,
            "test": run.config["test"],
            "label": run.label,
            "topology": run.config["topology"]["name"],
            "target": run.config["target"],
        }
        metrics.add("state", {**about, "state": outcome.state.value}, 1)
        for table in outcome.tables:
            for number, row in enumerate(table.rows):
                # Two columns of a table may have labels of one name: those of the run come last.
                where: dict[str, Any] = {key: row[key] for key in table.keys if row.get(key) is not None}
                labels = {**(where or {"row": number}), "table": table.name, **about}
                for column in table.columns:
                    value = row.get(column.key)
                    if column.key not in table.keys and is_number(value):
                        metrics.add(column.key, labels, value)
    return metrics.text()
