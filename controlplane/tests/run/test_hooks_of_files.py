"""A topology or a run file runs no command of the machine unless the user allows it; the user's own commands run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from p4mesh.cli.main import main
from p4mesh.errors import UsageError
from p4mesh.methods.registry import find_test
from p4mesh.run import RunOptions
from p4mesh.run.preparation import prepare
from p4mesh.run.run_files import plan_file
from p4mesh.run.suite import plan_suite
from p4mesh.run_file.reader import load_run_file
from p4mesh.topology.loader import load_topology

WIRE = Path(__file__).parents[3] / "topologies" / "back-to-back.yaml"
TEST = "rfc2544.frame_loss"
LOUD = f"tests:\n  {TEST}: {{reset_between: hook, hook: touch marker}}\n"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "loud.yaml").write_text(WIRE.read_text() + LOUD)
    (tmp_path / "quiet.yaml").write_text(WIRE.read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command_of(options: RunOptions) -> object:
    prepared = prepare(find_test(TEST), load_topology(str(options.topology)), options)
    return prepared.job.parameters.values["hook"]


def test_a_topology_runs_no_command_by_itself(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", TEST, "--topology", "loud.yaml", "--sizes", "64", "--jobs", "1"]) == 2
    said = capsys.readouterr().err
    assert f"loud.yaml: tests.{TEST}: hook: a file does not run a command of this machine" in said
    assert "touch marker" in said and "--allow-hooks" in said
    assert not (place / "marker").exists() and not (place / "runs").exists()


def test_a_suite_does_not_pass_without_the_test() -> None:
    with pytest.raises(UsageError, match="does not run a command"):
        plan_suite(RunOptions("rfc2544", "loud.yaml", "64"))


def test_the_user_allows_commands_or_names_one() -> None:
    assert command_of(RunOptions(TEST, "loud.yaml", allow_hooks=True)) == "touch marker"
    assert command_of(RunOptions(TEST, "loud.yaml", settings=("hook=true",))) == "true"
    assert command_of(RunOptions(TEST, "quiet.yaml", settings=("reset_between=hook", "hook=true"))) == "true"


@pytest.mark.parametrize("whole", [True, False])
def test_a_run_file_runs_no_command_by_itself(whole: bool, place: Path) -> None:
    parameters = "parameters: {reset_between: hook, hook: touch marker}"
    text = "name: x\ntopology: quiet.yaml\n"
    text += f"{parameters}\ntests: [{TEST}]\n" if whole else f"tests:\n  - {{test: {TEST}, {parameters}}}\n"
    (place / "run.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"run\.yaml:\d+: .*hook: a file does not run a command") as refused:
        plan_file(load_run_file("run.yaml"), RunOptions("run.yaml"))
    assert "--allow-hooks" in refused.value.hint
    assert plan_file(load_run_file("run.yaml"), RunOptions("run.yaml", allow_hooks=True))
    assert plan_file(load_run_file("run.yaml"), RunOptions("run.yaml", settings=("hook=true",)))


def test_the_check_of_a_topology_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "check", "loud.yaml"]) == 0
    assert f'--allow-hooks only: tests.{TEST}: hook: "touch marker"' in capsys.readouterr().out
    assert main(["topology", "check", "loud.yaml", "--json"]) == 0
    named = json.loads(capsys.readouterr().out)["commands"]
    assert named == [{"test": TEST, "parameter": "hook", "command": "touch marker"}]
