"""Run files: read, refused with file and line, run as several tests, and the published schema.

Each refusal has a golden text in ``golden/run_file.txt``, written anew with ``P4MESH_UPDATE_GOLDEN=1``.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from support.golden import GoldenTable

from p4mesh.cli import suite_command
from p4mesh.cli.main import main
from p4mesh.methods.registry import TESTS
from p4mesh.run.options import RunOptions
from p4mesh.run.run_file_schema import published
from p4mesh.run.run_files import plan_file, run_file
from p4mesh.run.single import FinishedRun
from p4mesh.run.suite import FinishedSuite
from p4mesh.run_file.published import published_path
from p4mesh.run_file.reader import load_run_file

ROOT = Path(__file__).parents[3]
GOLDEN = GoldenTable("run_file")
FAKE = "support.fakes:open_fake_switch"
SWITCH = """\
name: switched
tester:
  ports:
    - {numbers: 1-4, rate_bps: 1000000000}
nodes:
  - {name: dut, device: ethernet_switch, ports: [{numbers: 1-4, rate_bps: 1000000000}]}
links: [{from: tester:1-4, to: dut:1-4}]
"""
LAB = """\
name: lab
topology: switch.yaml
sizes: [64]
parameters: {parts: forwarding, scaled_frames: 300}
tests:
  - rfc2889.fully_meshed
  - test: rfc2889.partially_meshed
    name: west
    ports: 2-4
    sizes: [128, 512]
    parameters: {direction: to_one, one_port: 2, scaled_frames: 200}
notes: {operator: Ada}
"""
REFUSED = {
    "unknown_key": LAB.replace("sizes: [64]", "size: [64]"),
    "unknown_key_of_a_test": LAB.replace("    name: west", "    nam: west"),
    "missing_topology": LAB.replace("topology: switch.yaml\n", ""),
    "no_tests": LAB[: LAB.index("tests:")] + "tests: []\n",
    "a_list": "- rfc2889.fully_meshed\n",
    "name_of_the_file": LAB.replace("name: lab", "name: My Lab"),
    "size_out_of_range": LAB.replace("[128, 512]", "[12]"),
    "size_twice": LAB.replace("[128, 512]", "[128, 128]"),
    "unknown_test": LAB.replace("rfc2889.fully_meshed", "rfc2889.fuly_meshed"),
    "unknown_test_in_a_mapping": LAB.replace("rfc2889.partially_meshed", "rfc2889.partial"),
    "unknown_parameter": LAB.replace("parts: forwarding", "part: forwarding"),
    "parameter_of_another_test": LAB.replace("direction: to_one", "addresses_max: 5"),
    "parameter_not_valid": LAB.replace("direction: to_one", "direction: up"),
    "shared_parameter_not_valid": LAB.replace("scaled_frames: 300", "scaled_frames: 1"),
    "parameters_contradict": LAB.replace("parts: forwarding", "sweep_start_pct: 50, sweep_end_pct: 20"),
    "parameter_a_list": LAB.replace("parts: forwarding", "parts: [forwarding]"),
    "unknown_port": LAB.replace("ports: 2-4", "ports: 2-9"),
    "unknown_name_of_ports": LAB.replace("ports: 2-4", "ports: access"),
    "port_twice": LAB.replace("ports: 2-4", 'ports: "2-4,3"'),
    "too_few_ports": LAB.replace("ports: 2-4", "ports: 2-3"),
    "unknown_target": LAB.replace("name: lab", "name: lab\ntarget: hardware"),
    "two_runs_of_a_test": LAB.replace("  - test:", "  - rfc2889.fully_meshed\n  - test:"),
    "topology_of_a_test_absent": LAB.replace("    name: west", "    name: west\n    topology: absent.yaml"),
    "topology_absent": LAB.replace("switch.yaml", "absent.yaml"),
    "note_not_a_key": LAB.replace("operator: Ada", "Operator Name: Ada"),
}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "switch.yaml").write_text(SWITCH)
    (tmp_path / "lab.yaml").write_text(LAB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planned(text: str = "", **more: Any) -> dict[str, Any]:
    """The prepared run of each label."""
    if text:
        Path("lab.yaml").write_text(text)
    return {item.label: item.prepared for item in plan_file(load_run_file("lab.yaml"), RunOptions("lab.yaml", **more))}


def describe() -> Any:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return importlib.import_module("describe_run_files")
    finally:
        sys.path.pop(0)


def test_the_published_schema_and_the_table_of_keys_are_those_of_the_reader() -> None:
    script = describe()
    assert published_path().read_text() == script.published_text(), "run scripts/describe_run_files.py"
    assert script.DOCUMENT.read_text() == script.document(), "run scripts/describe_run_files.py"
    Draft202012Validator.check_schema(published())


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator({**published(), "$ref": "#/$defs/RequestedTest"})


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_an_editor_accepts_every_default_and_refuses_what_the_reader_refuses(
    test: Any, validator: Draft202012Validator
) -> None:
    written = {name: yaml.safe_load(value or '""') for name, value in _defaults(test).items()}
    assert not list(validator.iter_errors({"test": test.name, "parameters": written}))
    assert list(validator.iter_errors({"test": test.name, "parameters": {"no_such_parameter": 1}}))
    assert list(validator.iter_errors({"test": test.name, "parameters": {"iterations": 0}}))


def _defaults(test: Any) -> dict[str, str]:
    from p4mesh.methods.options.parameters import show

    return {parameter.name: show(parameter.default) for parameter in test.parameters}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_run_is_refused_with_its_line(
    name: str, lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("lab.yaml").write_text(REFUSED[name])
    code = main(["run", "lab.yaml"])
    _golden(name, f"exit {code}\n{capsys.readouterr().err}")
    assert sorted(path.name for path in lab.iterdir()) == ["lab.yaml", "switch.yaml"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent", ("absent.yaml",)),
        ("option_not_valid", ("lab.yaml", "--set", "scaled_frames=many")),
        ("option_of_no_test", ("lab.yaml", "--set", "addresses_max=5")),
        ("option_ports", ("lab.yaml", "--ports", "9")),
    ],
)
def test_options_that_a_file_cannot_have_are_refused(
    name: str, words: tuple[str, ...], lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["run", *words])
    _golden(name, f"exit {code}\n{capsys.readouterr().err}")


def _golden(name: str, text: str) -> None:
    assert text == GOLDEN.text(name, text)


def test_parameters_of_a_test_come_before_those_of_the_file(lab: Path) -> None:
    found = planned()
    assert list(found) == ["rfc2889.fully_meshed", "west"]
    mesh, west = found.values()
    assert mesh.job.parameters.integer("scaled_frames") == 300
    assert west.job.parameters.integer("scaled_frames") == 200
    assert west.job.parameters.text("direction") == "to_one"
    assert (mesh.sizes, west.sizes) == ((64,), (128, 512))
    assert west.echo == {"label": "west", "notes": {"operator": "Ada"}}


def test_a_test_can_have_a_topology_of_its_own(lab: Path) -> None:
    (lab / "two.yaml").write_text(SWITCH.replace("switched", "two").replace("1-4", "1-2"))
    text = LAB.replace("  - rfc2889.fully_meshed\n", "  - {test: rfc2889.fully_meshed, topology: two.yaml}\n")
    prepared = planned(text)
    assert {label: one.job.bed.topology for label, one in prepared.items()} == {
        "rfc2889.fully_meshed": "two",
        "west": "switched",
    }
    (lab / "four.yaml").write_text(SWITCH.replace("switched", "four"))
    given = planned(topology="four.yaml")
    assert {one.job.bed.topology for one in given.values()} == {"four"}


def test_the_command_line_comes_before_the_file(lab: Path) -> None:
    Path("other.yaml").write_text(SWITCH.replace("switched", "other"))
    found = planned(
        topology="other.yaml", sizes="256", settings=("scaled_frames=40", "one_port=3"), notes=("operator=Bob",)
    )
    mesh, west = found.values()
    assert {item.job.parameters.integer("scaled_frames") for item in (mesh, west)} == {40}
    assert west.job.parameters.integer("one_port") == 3
    assert {item.sizes for item in (mesh, west)} == {(256,)}
    assert mesh.job.topology.name == "other"
    assert mesh.echo == {"notes": {"operator": "Bob"}}
    assert planned(ports="3,1-2")["west"].job.bed.port_numbers == (3, 1, 2)


def test_a_test_sees_the_ports_that_it_is_given_in_their_order(lab: Path) -> None:
    found = planned(LAB.replace("ports: 2-4", 'ports: "4,2-3"'))
    assert found["west"].job.bed.port_numbers == (4, 2, 3)
    assert found["rfc2889.fully_meshed"].job.bed.port_numbers == (1, 2, 3, 4)


def test_values_of_yaml_mean_what_they_mean_after_set(lab: Path) -> None:
    found = planned(
        LAB.replace(
            "parts: forwarding", "parts: forwarding, learning_verify: false, sweep_step_pct: 2.5, duration_ms: 1e2"
        )
    )
    parameters = found["rfc2889.fully_meshed"].job.parameters
    assert parameters.flag("learning_verify") is False
    assert (parameters.number("sweep_step_pct"), parameters.number("duration_ms")) == (2.5, 100)


def test_a_suite_in_a_file_is_all_of_its_tests_with_those_that_cannot_run_named(lab: Path) -> None:
    found = planned("name: all\ntopology: switch.yaml\ntests: [{test: rfc2889, name: lan, ports: 1-2}]\n")
    assert list(found)[:2] == ["lan-fully_meshed", "lan-partially_meshed"]
    assert "lab.yaml:3: tests[0]: rfc2889.partially_meshed needs at least 3 tester ports" in str(
        found["lan-partially_meshed"]
    )


def test_tests_of_two_suites_have_directories_of_their_own(lab: Path) -> None:
    Path("lab.yaml").write_text(
        "name: both\ntopology: switch.yaml\nsizes: [64]\nparameters: {runs: 2, scaled_frames: 20}\n"
        "tests: [rfc2544.latency, {test: rfc2544.latency, name: again}]\n"
    )
    finished = run_file(RunOptions("lab.yaml", out="out", jobs=1, opener="support.fakes:open_wire"))
    assert isinstance(finished, FinishedSuite)
    assert sorted(path.name for path in Path("out").iterdir()) == [
        *("again", "report.html", "rfc2544.latency", "suite.json")
    ]


def test_runs_are_named_as_the_file_says_in_every_form(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = RunOptions("lab.yaml", out="out", jobs=1, opener=FAKE)
    assert suite_command.run_tests_of_file(options, as_json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert [row["test"] for row in data["tests"]] == ["rfc2889.fully_meshed", "west"]
    assert [(run["test"], run["label"]) for run in data["runs"]] == [
        ("rfc2889.fully_meshed", "rfc2889.fully_meshed"),
        ("rfc2889.partially_meshed", "west"),
    ]
    assert data["not_run"] == {}
    assert "west: Partially meshed" in Path("out/report.html").read_text()
    assert main(["show", "out"]) == 0
    assert re.search(r"^west +RFC 2889 5.2", capsys.readouterr().out, re.MULTILINE)
    assert main(["export", "out", "--format", "junit"]) == 0
    assert '<testsuite name="west"' in Path("out/junit.xml").read_text()


def test_a_file_with_one_test_leaves_a_run_directory(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("lab.yaml").write_text(LAB[: LAB.index("  - test:")])
    options = RunOptions("lab.yaml", out="out", jobs=1, opener=FAKE)
    assert isinstance(run_file(options), FinishedRun)
    assert suite_command.run_tests_of_file(options) == 0
    shown = capsys.readouterr().out
    assert shown.count("Forwarding rate: MFR and FRMOL") == 1
    assert (lab / "out" / "run.json").exists()


def test_the_example_of_the_document_is_valid() -> None:
    text = (ROOT / "docs" / "RUN_FILES.md").read_text()
    (example,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert not list(Draft202012Validator(published()).iter_errors(yaml.safe_load(example)))
    path = ROOT / "example-of-the-document.yaml"
    try:
        path.write_text(example)
        found = plan_file(load_run_file(path), RunOptions(path))
    finally:
        path.unlink()
    assert [item.label for item in found][:3] == ["rfc2889.fully_meshed", "west", "rfc2544.throughput"]
