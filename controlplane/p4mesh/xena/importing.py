"""From a Xena file to the texts of a topology and of a run file, and the list of what is in neither."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from p4mesh.config_files.words import word_of
from p4mesh.config_files.yaml_source import as_written
from p4mesh.errors import P4MeshError, XenaFileError
from p4mesh.methods.registry import find_test
from p4mesh.quantities import ports_text
from p4mesh.run.options import RunOptions
from p4mesh.run.run_files import plan_file
from p4mesh.run_file.reader import parse_run_file
from p4mesh.topology import Topology
from p4mesh.topology.loader import parse_topology
from p4mesh.xena.document import Accounts, LeftOut, Node
from p4mesh.xena.entries import Entry, Parameters
from p4mesh.xena.options import Shared, shared_of
from p4mesh.xena.ports import leave_out_addresses, ports_of, routed, topology_text
from p4mesh.xena.reading import VALID, Standard, read_configuration
from p4mesh.xena.rfc2544 import rfc2544_entries
from p4mesh.xena.rfc2889 import rfc2889_entries

_USUAL_GAP_DELTA_BYTES = 1
_LEAST_PORTS = {
    "rfc2889.partially_meshed": 3,
    "rfc2889.congestion_control": 4,
    "rfc2889.address_caching": 3,
    "rfc2889.address_learning": 3,
}


@dataclass(frozen=True)
class ImportedTest:
    """Outcome of the import of a test."""

    test: str
    name: str
    problem: str = ""
    """Reason why it is commented out; empty for a test that runs."""


@dataclass(frozen=True)
class Imported:
    """A file in the form of P4Mesh."""

    topology: str
    run: str
    tests: tuple[ImportedTest, ...]
    left_out: tuple[LeftOut, ...]
    mapped: int
    """Values of the file that were used."""
    total: int
    trial_time_ms: bool
    """Whether trials have the length that the file gives them, also on ``sim``."""


def import_file(path: Path, topology_name: str, run_name: str) -> Imported:
    """A Xena file as a topology and a run file with these names; raises XenaFileError."""
    data, standard = read_configuration(path)
    root = Node(accounts := Accounts(data, str(path)), data)
    rfc2544 = standard is Standard.RFC2544
    ports = ports_of(root.node("PortHandler"), grouped=rfc2544)
    if not ports:
        raise XenaFileError(f"{path}: no ports in PortHandler.EntityList", hint=VALID)
    options = root.node("TestOptions")
    types = options.node("TestTypeOptionMap")
    delta = types.node("ForwardPressure").number("InterFrameGapDelta", _USUAL_GAP_DELTA_BYTES)
    listed = sorted(ports.values(), key=lambda port: port.number)
    entries = rfc2544_entries(options, ports) if rfc2544 else rfc2889_entries(types, ports)
    shared = shared_of(root, listed)
    router = routed(listed, str(shared.parameters.get("frame_format", "")))
    leave_out_addresses(root.node("PortHandler"), routed=router)
    notes = _notes(root)
    _leave_out_the_rest(root)
    name = word_of(path.stem, "imported")
    topology = topology_text(name, path.name, listed, round(delta), router=router)
    for entry in entries:
        _note_what_does_not_hold(entry, shared)
    parsed = cache(lambda: parse_topology("topology.yaml", topology))
    problems = {id(entry): _problem(entry, shared, parsed, name) for entry in entries}
    run = _run_text(path.name, name, topology_name, shared, entries, problems, notes)
    tests = tuple(ImportedTest(entry.test, entry.name or entry.test, problems[id(entry)]) for entry in entries)
    long = any("duration_ms" in entry.parameters for entry in entries if not problems[id(entry)])
    return Imported(topology, run, tests, accounts.left_out(), accounts.mapped, accounts.total, long)


def _notes(root: Node) -> dict[str, str]:
    report = root.node("ReportConfig")
    found = {"customer": report.text("CustomerName"), "comments": report.text("Comments")}
    return {key: _lines(text)[:500] for key, text in found.items() if text.strip()}


def _lines(text: str) -> str:
    """A text with its line breaks and single blanks."""
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def _leave_out_the_rest(root: Node) -> None:
    """Name what no test is made of."""
    root.leave_out("p4mesh report and p4mesh export write reports", "ReportConfig")
    root.leave_out("the tester is the one of the target", "ChassisManager")
    root.leave_out(
        "bookkeeping of the Xena program",
        *("CreationDate", "TidAllocationScope", "FormatVersion", "ApplicationVersion"),
    )
    root.leave_out("streams follow from the topology of the tests", "StreamHandler")
    options = root.node("TestOptions").node("RateDefinition")
    options.leave_out("bookkeeping of the Xena program", "ItemID", "ParentID", "Label")


def _note_what_does_not_hold(entry: Entry, shared: Shared) -> None:
    """Say in the run file which parameters of the whole file this test has no use for."""
    known = {parameter.name for parameter in find_test(entry.test).parameters}
    missing = [key for key in shared.parameters if key not in known]
    if missing:
        entry.comments.append(f"without effect on this test: {', '.join(missing)}")


def _held(shared: Shared, entries: list[Entry]) -> Parameters:
    """The shared parameters that at least one of the tests has."""
    known = {parameter.name for entry in entries for parameter in find_test(entry.test).parameters}
    return {key: value for key, value in shared.parameters.items() if key in known}


def _problem(entry: Entry, shared: Shared, topology: Callable[[], Topology], name: str) -> str:
    """Why a test cannot run; empty where it can."""
    if entry.problem:
        return entry.problem
    if len(set(entry.ports)) != len(entry.ports):
        return "a port has two roles"
    least = _LEAST_PORTS.get(entry.test, 2)
    if len(entry.ports) < least:
        return f"it needs {least} ports with a role, the file gives it {len(entry.ports)}"
    text = _run_text("", name, "topology.yaml", shared, [entry], {id(entry): ""}, {}, enabled=True)
    options = RunOptions("run.yaml", topology=topology())
    try:
        plan_file(parse_run_file("run.yaml", text), options)
    except P4MeshError as error:
        return f"{error.message.partition('tests[0]')[2].lstrip(': ') or error.message}"
    return "" if entry.enabled else "not enabled in the file"


def _run_text(
    source: str,
    name: str,
    topology: str,
    shared: Shared,
    entries: list[Entry],
    problems: dict[int, str],
    notes: dict[str, str],
    *,
    enabled: bool = False,
) -> str:
    lines = [
        f"# {source}, imported. p4mesh import-xena lists what has no place here.",
        f"name: {name}",
        f"topology: {json.dumps(topology)}",
    ]
    if shared.sizes:
        lines.append(f"sizes: [{', '.join(map(str, shared.sizes))}]")
    # Where no test runs, the parameters are those of the tests that a user takes out of their comments.
    running = [entry for entry in entries if enabled or not problems[id(entry)]] or entries
    held = _held(shared, running)
    lines += ["parameters:", *(f"  {key}: {_yaml(value)}" for key, value in held.items())] if held else []
    lines.append("tests:")
    for entry in entries:
        problem = problems[id(entry)]
        lines += [f"  # {text}" for text in entry.comments]
        if problem:
            lines.append(f"  # Not run: {problem}")
        mark = "  # " if problem and not enabled else "  "
        lines += [mark + line for line in _entry(entry)]
    if all(problems.values()):
        lines.append("  []")
    if notes:
        lines += ["notes:", *(f"  {key}: {json.dumps(text, ensure_ascii=False)}" for key, text in notes.items())]
    return "\n".join(lines) + "\n"


def _entry(entry: Entry) -> list[str]:
    lines = [f"- test: {entry.test}"]
    if entry.name:
        lines.append(f"  name: {entry.name}")
    lines += [f'  ports: "{ports_text(entry.ports)}"', "  parameters:"]
    return [*lines, *(f"    {key}: {_yaml(value)}" for key, value in entry.parameters.items())]


def _yaml(value: str | int | float | bool) -> str:
    return json.dumps(value) if isinstance(value, str) else as_written(value)
