"""Runs of format 5 are read: a test without a goal was PASS or DONE there, and is measured."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from junitparser import JUnitXml
from support.golden import GOLDEN

from p4mesh.cli.main import main
from p4mesh.store.stored_run import read_run
from p4mesh.verdict import Verdict

FIXTURES = GOLDEN.parent / "fixtures"
RUNS = [FIXTURES / "run_of_format_5", FIXTURES / "reset_of_format_5"]
OLD_WORDS = ("DONE", "VALID", "executed")


@pytest.fixture(params=RUNS, ids=lambda path: path.name)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(request.param, tmp_path / "run"))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_it_is_shown_as_measured_and_exits_with_0(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "show", str(run))
    assert "MEASURED: the trials can be trusted; no goal was set" in text
    assert not any(word in text for word in (*OLD_WORDS, ", PASS\n", "  PASS "))


def test_its_results_in_json_have_the_words_of_today(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(printed(capsys, "show", str(run), "--json"))
    assert data["state"] == "MEASURED" and data["summary"].endswith("MEASURED")
    assert not any(f'"{word}"' in json.dumps(data) for word in OLD_WORDS)


def test_its_trials_have_verdicts_of_today(run: Path) -> None:
    trials = read_run(run).trials
    assert trials and all(trial.status is Verdict.MEASURED for trial in trials)
    assert {trial.result["status"] for trial in trials} == {"MEASURED"}


def test_its_report_and_exports_are_written(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "export", str(run), "--format", "junit", "--out", str(tmp_path / "found.xml"))
    found = JUnitXml.fromfile(str(tmp_path / "found.xml"))
    assert (found.failures, found.errors) == (0, 0)
    printed(capsys, "report", str(run))
    assert "measured" in (run / "report.html").read_text()


def test_it_is_compared_with_itself(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = shutil.copytree(run, tmp_path / "other")
    data = json.loads(printed(capsys, "compare", str(run), str(other), "--json"))
    assert [item["state"] for item in data["runs"]] == ["MEASURED", "MEASURED"]


def test_a_suite_of_such_runs_has_their_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, directories = [], {}
    for number, path in enumerate(RUNS):
        shutil.copytree(path, tmp_path / "suite" / str(number))
        test = json.loads((path / "run.json").read_text())["test"]
        directories[test] = str(number)
        rows.append({"test": test, "section": "x", "state": ("PASS", "DONE")[number], "summary": "x"})
    rows.append({"test": "rfc2544.latency", "section": "x", "state": "not run", "summary": "no ports"})
    index = {"format": 3, "suite": "rfc2544", "tests": rows, "directories": directories}
    (tmp_path / "suite" / "suite.json").write_text(json.dumps(index))
    data = json.loads(printed(capsys, "show", str(tmp_path / "suite"), "--json"))
    assert [row["state"] for row in data["tests"]] == ["MEASURED", "MEASURED", "not run"]
    found = json.loads(printed(capsys, "runs", str(tmp_path), "--json"))
    assert "2 MEASURED, 1 not run" in json.dumps(found)
