"""``p4mesh run SUITE``: all tests of one RFC on one topology, each in a run directory of its own."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from p4mesh.cli.run_command import directory_path, execute, exit_code, results_data
from p4mesh.errors import EXIT_OK, P4MeshError, ParameterError, RunDirectoryError, TopologyError, UnsupportedError
from p4mesh.methods.base import Method
from p4mesh.methods.registry import suites
from p4mesh.methods.results.latency import LATENCY_DEFINITION
from p4mesh.methods.results.outcome import Column, Outcome, Table
from p4mesh.report.index import index_html
from p4mesh.report.text import outcome_text, table_text
from p4mesh.run.preparation import Prepared, RunOptions, prepare
from p4mesh.topology import load_topology

INDEX = "suite.json"

SUMMARY_COLUMNS = (
    Column("test", "Test"),
    Column("section", "Section"),
    Column("state", "Result"),
    Column("summary", "Summary"),
)


@dataclass(frozen=True)
class Entry:
    """One test of a suite: prepared, or the reason why it does not run here."""

    method: Method
    prepared: Prepared | None
    reason: str = ""


def run_suite(options: RunOptions) -> int:
    """Run every test of the suite that the topology can carry; the others are named with the reason."""
    entries = _prepare(options)
    directory = _open(directory_path(options.out, options.test), options.test)
    outcomes: dict[str, Outcome] = {}
    code = EXIT_OK
    for entry in entries:
        if entry.prepared is None:
            print(f"{entry.method.name}: not run: {entry.reason}", file=sys.stderr)
            continue
        _, outcome = execute(entry.prepared, directory / _short(entry.method))
        outcomes[entry.method.name] = outcome
        code = max(code, exit_code(outcome))
        if not options.as_json:
            print(f"{entry.method.title} ({entry.method.section})\n\n{outcome_text(outcome)}\n", flush=True)
    rows = tuple(_row(entry, outcomes.get(entry.method.name)) for entry in entries)
    links = {entry.method.name: f"{_short(entry.method)}/report.html" for entry in entries if entry.prepared}
    report = directory / "report.html"
    report.write_text(index_html(options.test, rows, links), encoding="utf-8")
    if options.as_json:
        runs = [results_data(directory / _short(entry.method)) for entry in entries if entry.prepared]
        print(json.dumps({"suite": options.test, "tests": list(rows), "runs": runs}, indent=1, allow_nan=False))
    else:
        print(table_text(Table("suite", f"Suite {options.test}", SUMMARY_COLUMNS, rows)))
        print(f"run directory: {directory}\nreport:        {report}", flush=True)
    return code


def _prepare(options: RunOptions) -> list[Entry]:
    topology = load_topology(options.topology)
    tests = suites()[options.test]
    keys = [setting.partition("=")[0] for setting in options.settings]
    for key in keys:
        if not any(parameter.name == key for test in tests for parameter in test.parameters):
            raise ParameterError(
                f"--set {key}: no test of {options.test} has this parameter", hint="p4mesh tests lists the parameters"
            )
    entries = []
    refusals: list[P4MeshError] = []
    for test in tests:
        known = {parameter.name for parameter in test.parameters}
        own = tuple(setting for setting in options.settings if setting.partition("=")[0] in known)
        try:
            entries.append(Entry(test, prepare(test, topology, _for_test(options, test, own))))
        except (TopologyError, UnsupportedError) as refusal:
            refusals.append(refusal)
            entries.append(Entry(test, None, refusal.message))
    if len(refusals) == len(tests):
        raise refusals[0]
    return entries


def _for_test(options: RunOptions, test: Method, settings: tuple[str, ...]) -> RunOptions:
    """Return the options of one test with its own settings: a calibration is for those that print latencies."""
    prints_latency = any(parameter.name == LATENCY_DEFINITION.name for parameter in test.parameters)
    return replace(options, settings=settings, calibration=options.calibration if prints_latency else None)


def _open(path: Path, suite: str) -> Path:
    """Create the directory of a suite, or continue in it; raises RunDirectoryError for any other one."""
    mark = path / INDEX
    wanted = json.dumps({"format": 1, "suite": suite}) + "\n"
    if path.exists() and not path.is_dir():
        raise RunDirectoryError(f"--out {path}: not a directory", hint="name a new or an empty directory")
    if path.exists() and any(path.iterdir()) and (not mark.exists() or mark.read_text(encoding="utf-8") != wanted):
        raise RunDirectoryError(
            f"--out {path}: holds something other than a run of {suite}", hint="name a new or an empty directory"
        )
    path.mkdir(parents=True, exist_ok=True)
    mark.write_text(wanted, encoding="utf-8")
    return path


def _short(method: Method) -> str:
    return method.name.partition(".")[2]


def _row(entry: Entry, outcome: Outcome | None) -> dict[str, str | int | float | bool | None]:
    return {
        "test": entry.method.name,
        "section": entry.method.section,
        "state": outcome.state.value if outcome else "not run",
        "summary": outcome.summary if outcome else entry.reason,
    }
