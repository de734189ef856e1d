"""``p4mesh export DIR``: writes results of a run or of a suite in a form for other programs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK, UsageError
from p4mesh.methods.results.outcome import Outcome
from p4mesh.report.export.json_document import results_data
from p4mesh.report.publish import outcome_of
from p4mesh.store.stored_run import StoredRun, read_run
from p4mesh.store.suite_directory import is_suite, read_suite
from p4mesh.store.writing import storing, write_atomically


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Write what was asked for and say where it is."""
    written = _WRITERS[arguments.format](Path(arguments.directory), arguments.out)
    if arguments.json:
        say(json.dumps({"format": arguments.format, "files": [str(path) for path in written]}, indent=1))
    else:
        say("\n".join(map(str, written)))
    return EXIT_OK


def _json(directory: Path, out: str | None) -> list[Path]:
    path = Path(out or directory / "export.json")
    write_atomically(path, json.dumps(results_data(directory), indent=1, allow_nan=False) + "\n")
    return [path]


def _junit(directory: Path, out: str | None) -> list[Path]:
    from p4mesh.report.export.junit import junit_xml

    rows = read_suite(directory).rows if is_suite(directory) else ()
    ran = _runs(directory)
    names = {run.label for run, _ in ran}
    not_run = {row["test"]: row["summary"] for row in rows if row["test"] not in names}
    path = Path(out or directory / "junit.xml")
    write_atomically(path, junit_xml(ran, not_run))
    return [path]


def _parquet(directory: Path, out: str | None) -> list[Path]:
    from p4mesh.report.export.parquet import write_parquet

    whole = Path(out) if out else None
    paths = []
    for run, outcome in _runs(directory):
        folder = run.path if whole is None else whole / run.path.name if is_suite(directory) else whole
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        paths += write_parquet(run, outcome, folder)
    return paths


def _xena(directory: Path, out: str | None) -> list[Path]:
    from p4mesh.report.export.xena_tables import xena_csv

    paths = []
    for run, outcome in _runs(directory):
        folder = Path(out) / run.path.name if out and is_suite(directory) else Path(out or run.path)
        for name, text in xena_csv(outcome).items():
            with storing(folder):
                folder.mkdir(parents=True, exist_ok=True)
            paths.append(folder / f"xena_{name}.csv")
            write_atomically(paths[-1], text)
    if not paths:
        raise UsageError(
            f"{directory}: no test of RFC 2889, whose columns Xena reports have", hint="use another format"
        )
    return paths


def _prometheus(directory: Path, out: str | None) -> list[Path]:
    from p4mesh.report.export.prometheus import prometheus_text

    path = Path(out or directory / "results.prom")
    write_atomically(path, prometheus_text(_runs(directory)))
    return [path]


def _hdr(directory: Path, out: str | None) -> list[Path]:
    from p4mesh.report.export.hdr_histograms import LOG, hdr_log

    if is_suite(directory):
        raise UsageError(f"{directory}: a suite has no log of its own", hint="name the directory of one of its runs")
    path = Path(out or directory / LOG)
    write_atomically(path, hdr_log(read_run(directory)))
    return [path]


def _runs(directory: Path) -> list[tuple[StoredRun, Outcome]]:
    paths = read_suite(directory).runs if is_suite(directory) else (directory,)
    return [(run, outcome_of(run)) for run in map(read_run, paths)]


_WRITERS = {
    "hdr": _hdr,
    "json": _json,
    "junit": _junit,
    "parquet": _parquet,
    "prometheus": _prometheus,
    "xena": _xena,
}
