"""``p4mesh import-xena FILE``: makes a topology and a run file of a configuration of RFC 2544 or RFC 2889 tests."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from p4mesh.cli.new_files import write_new
from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK, XenaFileError
from p4mesh.xena.document import LeftOut
from p4mesh.xena.importing import Imported, import_file

_MOST_LINES = 5


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Write both files and list what is in neither; no file that exists is touched."""
    source = Path(arguments.file)
    run = Path(arguments.run_out or f"{source.stem}.yaml")
    topology = Path(arguments.topology_out or f"{source.stem}-topology.yaml")
    for path in (topology, run):
        if path.exists():
            raise XenaFileError(
                f"{path}: exists, and is left as it is", hint="name other files with --topology-out and --run-out"
            )
    imported = import_file(source, os.path.relpath(topology, run.parent), run.name)
    for path, text in ((topology, imported.topology), (run, imported.run)):
        write_new(path, text, XenaFileError)
    if arguments.json:
        say(json.dumps({"topology": str(topology), "run": str(run), **_data(imported)}, indent=1))
    else:
        say(_text(imported, topology, run, everything=arguments.all))
    return EXIT_OK


def _data(imported: Imported) -> dict[str, object]:
    return {
        "tests": [asdict(test) for test in imported.tests],
        "values_mapped": imported.mapped,
        "values_total": imported.total,
        "not_mapped": [asdict(item) for item in imported.left_out],
    }


def _text(imported: Imported, topology: Path, run: Path, *, everything: bool) -> str:
    lines = [f"wrote {topology}", f"wrote {run}", "", "Tests"]
    for test in imported.tests:
        name = f" ({test.test})" if test.name != test.test else ""
        lines.append(f"  {test.name}{name}" + (f": not run: {test.problem}" if test.problem else ""))
    changing = _changing([item for item in imported.left_out if item.changes_measurement])
    others = _grouped([item for item in imported.left_out if not item.changes_measurement])
    if changing:
        shown = changing if everything or len(changing) <= _MOST_LINES else changing[: _MOST_LINES - 1]
        more = [f"  {len(changing) - len(shown)} more with --all"] if len(shown) < len(changing) else []
        lines += ["", "Not mapped, and the measurement differs for it", *shown, *more]
    counts = f"{imported.total - imported.mapped:,} of {imported.total:,} values"
    lines += ["", f"Not mapped: {counts}" + ("" if everything else "; --all lists them with the reasons")]
    lines += others if everything else []
    if all(test.problem for test in imported.tests):
        return "\n".join([*lines, "", f"no test runs: in {run}, remove the line [] and the comment marks of a test"])
    lines += ["", f"run it with: p4mesh run {run}"]
    if imported.trial_time_ms:
        lines.append("short trials on sim: add --set duration_ms=scaled")
    return "\n".join(lines)


def _changing(items: Sequence[LeftOut]) -> list[str]:
    """A line for a key that is left out for one reason, in whatever place."""
    groups: dict[tuple[str, str], list[LeftOut]] = {}
    for item in items:
        groups.setdefault((item.key.rpartition(".")[2], item.reason), []).append(item)
    lines = []
    for (key, reason), same in groups.items():
        count = sum(item.count for item in same)
        values = "|".join(dict.fromkeys(value for item in same for value in item.values))
        lines.append(f"  {key}={values}{f' ({count} times)' if count > 1 else ''}: {reason}")
    return lines


def _grouped(items: Sequence[LeftOut]) -> list[str]:
    """A line for the keys of one place that are left out for one reason."""
    groups: dict[tuple[str, int, str], list[str]] = {}
    for item in items:
        place, _, key = item.key.rpartition(".")
        groups.setdefault((place, item.count, item.reason), []).append(f"{key}={'|'.join(item.values)}")
    lines = []
    for (place, count, reason), keys in groups.items():
        times = f" ({count} times)" if count > 1 else ""
        lines.append(f"  {place or 'file'}{times}: {reason}: {', '.join(keys)}")
    return lines
