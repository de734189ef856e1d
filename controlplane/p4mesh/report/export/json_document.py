"""Results of a run or of a suite as one JSON document, the one that ``--json`` prints; its schema is published."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from p4mesh.store.stored_run import read_run
from p4mesh.store.suite_directory import is_suite, read_suite

SCHEMA = "results.schema.json"
SCHEMA_ID = "urn:p4mesh:results:2"
"""Name of the schema; its number grows when a key is renamed, removed or means something else."""
_PARAMETER = ("name", "value", "default", "unit")


def results_data(path: Path) -> dict[str, Any]:
    """Document of the finished run or suite in ``path``; raises RunDirectoryError where there is none."""
    if is_suite(path):
        suite = read_suite(path)
        return suite_data(suite.suite, suite.rows, suite.runs)
    return run_data(path)


def run_data(path: Path) -> dict[str, Any]:
    """Document of a finished run."""
    stored = read_run(path)
    config = stored.config
    return {
        "schema": SCHEMA_ID,
        "run": str(path),
        "run_id": stored.identifier,
        "test": config["test"],
        "label": stored.label,
        "started_utc": stored.started_utc,
        "version": config["version"],
        "target": config["target"],
        "setting": stored.setting,
        "topology": config["topology"],
        "ports": config["ports"],
        "frame_sizes_bytes": config["frame_sizes_bytes"],
        "parameters": [{key: item[key] for key in _PARAMETER if key in item} for item in config["parameters"]],
        "notes": config.get("notes", {}),
        **stored.results["outcome"],
        "units": stored.results["units"],
    }


def suite_data(suite: str, rows: Sequence[Mapping[str, Any]], runs: Sequence[Path]) -> dict[str, Any]:
    """Document of a finished suite: the state of each test, and the results of those that ran."""
    ran = [run_data(path) for path in runs]
    names = {data["label"] for data in ran}
    return {
        "schema": SCHEMA_ID,
        "suite": suite,
        "tests": [dict(row) for row in rows],
        "not_run": {row["test"]: row["summary"] for row in rows if row["test"] not in names},
        "runs": ran,
    }


def results_schema() -> dict[str, Any]:
    """JSON Schema of the document."""
    text = (files(__package__) / SCHEMA).read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
