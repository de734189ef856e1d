"""``p4mesh init``: a run file that runs as it is, that an editor accepts, and that never overwrites another file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from p4mesh.cli.main import main
from p4mesh.methods.registry import TESTS
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import Prepared
from p4mesh.run.run_file_schema import published
from p4mesh.run.run_files import plan_file, run_file
from p4mesh.run_file.reader import load_run_file

SWITCH = "name: lab\ntester: {ports: [{numbers: 1-2, rate_bps: 1000000000}]}\nlinks: [{from: tester:1, to: tester:2}]\n"


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(published())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_init_writes_runs_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "run it with: p4mesh run p4mesh.yaml"
    assert sorted(path.name for path in folder.iterdir()) == ["p4mesh-topology.yaml", "p4mesh.yaml"]
    settings = ("scaled_frames=200", "search_resolution_pct=20")
    options = RunOptions("p4mesh.yaml", sizes="512", settings=settings, out="out", jobs=1)
    finished = run_file(options)
    assert [entry.run.outcome.state.value for entry in finished.entries] == ["MEASURED", "MEASURED"]  # type: ignore[union-attr]


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_every_value_that_is_commented_out_is_the_one_that_holds_without_it(
    test: object, validator: Draft202012Validator
) -> None:
    assert main(["init", "--test", test.name]) == 0  # type: ignore[attr-defined]
    text = Path("p4mesh.yaml").read_text()
    uncommented = re.sub("^    # ", "    ", text, flags=re.MULTILINE)
    data = yaml.safe_load(uncommented)
    assert not list(validator.iter_errors(data))
    (entry,) = data["tests"]
    defaults = {parameter.name: parameter for parameter in test.parameters}  # type: ignore[attr-defined]
    assert 0 < len(entry["parameters"]) <= 12
    for name, value in entry["parameters"].items():
        word = str(value).lower() if isinstance(value, bool) else str(value)
        assert defaults[name].parse(word) == defaults[name].default


def test_a_topology_that_comes_with_p4mesh_is_named_wherever_the_file_is(folder: Path) -> None:
    (folder / "lab").mkdir()
    for name in ("run.yaml", "lab/run.yaml"):
        assert main(["init", name, "--topology", "wrs-18x1g"]) == 0
        text = load_run_file(name)
        assert text.file.topology == "wrs-18x1g"
        for item in plan_file(text, RunOptions(name)):
            assert isinstance(item.prepared, Prepared) and item.prepared.job.topology.name == "wrs-18x1g"


def test_a_topology_and_tests_of_the_users_own_are_named(folder: Path) -> None:
    (folder / "lab").mkdir()
    Path("cable.yaml").write_text(SWITCH)
    words = ("--topology", "cable.yaml", "--test", "rfc2544.latency", "--test", "rfc2544.frame_loss")
    assert main(["init", "lab/My Run 1.yaml", *words]) == 0
    text = load_run_file("lab/My Run 1.yaml")
    assert (text.file.name, text.file.topology) == ("my-run-1", "../cable.yaml")
    planned = plan_file(text, RunOptions("lab/My Run 1.yaml"))
    assert [item.label for item in planned] == ["rfc2544.latency", "rfc2544.frame_loss"]
    assert list((folder / "lab").iterdir()) == [folder / "lab" / "My Run 1.yaml"]


@pytest.mark.parametrize("taken", ["p4mesh.yaml", "p4mesh-topology.yaml"])
def test_no_file_is_overwritten(taken: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path(taken).write_text("mine\n")
    assert main(["init"]) == 2
    assert capsys.readouterr().err == (
        f"error: {taken}: exists, and is left as it is\n hint: name another file: p4mesh init FILE\n"
    )
    assert [path.name for path in folder.iterdir()] == [taken]
    assert Path(taken).read_text() == "mine\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run.txt",), "error: run.txt: not the name of a YAML file"),
        (("absent/run.yaml",), "error: absent/run-topology.yaml: No such file or directory"),
        (("--test", "rfc2889.fuly_meshed"), "error: unknown test 'rfc2889.fuly_meshed'"),
        (("--topology", "absent.yaml"), "error: absent.yaml: no such topology file"),
    ],
)
def test_what_cannot_be_written_is_refused(
    words: tuple[str, ...], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", *words]) == 2
    assert capsys.readouterr().err.startswith(message)
    assert list(folder.iterdir()) == []


def test_json_names_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "lab.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"files": ["lab-topology.yaml", "lab.yaml"]}
