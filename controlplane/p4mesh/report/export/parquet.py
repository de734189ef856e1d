"""Tables as Parquet: a file per table, whose metadata has the run, and of every column the unit and the title."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from p4mesh.errors import EnvironmentFault
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Outcome
from p4mesh.store.csv_files import PORT_COLUMNS, TRIAL_COLUMNS, port_rows, trial_row
from p4mesh.store.stored_run import StoredRun
from p4mesh.store.writing import write_bytes_atomically

SUFFIX = ".parquet"


def write_parquet(run: StoredRun, outcome: Outcome, folder: Path) -> list[Path]:
    """Write every table, the trials and the counts of their ports into ``folder``; return the files.

    Raises EnvironmentFault where pyarrow is not installed, StorageError where nothing can be written.
    """
    found = [(table.name, table.columns, table.rows) for table in outcome.tables]
    trials = [trial_row(trial) for trial in run.trials]
    found.append(("trials", tuple(Column(key, key) for key in TRIAL_COLUMNS), tuple(trials)))
    ports = tuple(port_rows(run.trials))
    found.append(("trial_ports", tuple(Column(key, key) for key in PORT_COLUMNS), ports))
    paths = []
    about = _about(run)
    for name, columns, rows in found:
        path = folder / f"{name}{SUFFIX}"
        write_bytes_atomically(path, _bytes(columns, rows, about))
        paths.append(path)
    return paths


def _about(run: StoredRun) -> dict[str, str]:
    """Metadata of each file: enough to join the rows of many runs."""
    config = run.config
    parameters = {item["name"]: item["value"] for item in config["parameters"]}
    return {
        "test": config["test"],
        "run_id": run.identifier,
        "label": run.label,
        "started_utc": run.started_utc,
        "version": config["version"],
        "target": config["target"],
        "setting": run.setting,
        "topology": config["topology"]["name"],
        "device": ", ".join(run.devices),
        "parameters": json.dumps(parameters),
        "notes": json.dumps(config.get("notes", {})),
    }


def _bytes(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], about_run: Mapping[str, str]) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise EnvironmentFault(
            "Parquet files need pyarrow, which is not installed", hint="pip install 'p4mesh[parquet]'"
        ) from None
    except ImportError as error:
        raise EnvironmentFault(f"pyarrow does not load: {error}", hint="install pyarrow again") from None
    arrays, fields = [], []
    for column in columns:
        values = [row.get(column.key) for row in rows]
        kind = _kind(values)
        arrays.append(pyarrow.array([None if value is None else kind(value) for value in values], _TYPES[kind]()))
        about = {"title": column.title, "unit": column.unit}
        fields.append(pyarrow.field(column.key, _TYPES[kind](), metadata=about))
    table = pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields, metadata=dict(about_run)))
    written = pyarrow.BufferOutputStream()
    parquet.write_table(table, written)
    return bytes(written.getvalue())


def _kind(values: Sequence[Any]) -> type:
    """Narrowest type that holds all values: numbers beside words become words."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and kinds:
        return float if float in kinds else int
    return bool if kinds == {bool} else str


def _arrow(name: str) -> Any:
    import pyarrow

    return getattr(pyarrow, name)()


_TYPES = {
    int: lambda: _arrow("int64"),
    float: lambda: _arrow("float64"),
    bool: lambda: _arrow("bool_"),
    str: lambda: _arrow("string"),
}
