"""``p4mesh runs``: past runs with their verdicts, whatever state they are in."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from p4mesh.cli.main import main
from p4mesh.run.options import RunOptions
from p4mesh.run.run_files import run_file
from p4mesh.run.single import run
from p4mesh.server.catalogue import Catalogue
from p4mesh.store.lock import DirectoryLock

SWITCH = "name: lab\ntester: {ports: [{numbers: 1-2, rate_bps: 1000000000}]}\nlinks: [{from: tester:1, to: tester:2}]\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("past")
    (folder / "lab.yaml").write_text(SWITCH)
    quick = {"topology": folder / "lab.yaml", "sizes": "64", "jobs": 1, "settings": ("scaled_frames=20",)}
    run(RunOptions("rfc2544.frame_loss", out=folder / "runs" / "loss", opener="support.fakes:open_wire", **quick))  # type: ignore[arg-type]
    run(RunOptions("rfc2544.throughput", out=folder / "runs" / "lossy", opener="support.fakes:open_lossy", **quick))  # type: ignore[arg-type]
    (folder / "all.yaml").write_text(
        "name: all\ntopology: lab.yaml\nsizes: [64]\nparameters: {scaled_frames: 20}\n"
        "tests: [rfc2544.frame_loss, {test: rfc2544.frame_loss, name: again}]\n"
    )
    run_file(RunOptions(folder / "all.yaml", out=folder / "runs" / "all", jobs=1, opener="support.fakes:open_wire"))
    return folder / "runs"


@pytest.fixture
def runs(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(finished, tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, Any]]:
    assert main(["runs", *words, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    return {Path(item["directory"]).name: item for item in data["runs"]}


def test_runs_and_suites_are_listed_with_their_verdicts(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(capsys)
    states = {name: item["state"] for name, item in found.items()}
    assert states == {"loss": "MEASURED", "lossy": "FAIL", "all": "MEASURED"}
    assert found["loss"]["test"] == "rfc2544.frame_loss"
    assert (found["loss"]["topology"], found["loss"]["target"]) == ("lab", "sim")
    assert (found["all"]["test"], found["all"]["summary"]) == ("all", "2 tests: 2 MEASURED")
    started = [item["started_utc"] for item in found.values()]
    assert started == sorted(started, reverse=True)
    assert main(["runs", str(runs)]) == 0
    shown = capsys.readouterr().out
    assert f"{runs / 'lossy'}  rfc2544.throughput  lab" in shown.replace("   ", "  ")


def damage_results(path: Path) -> None:
    (path / "results.json").write_text("{")


def damage_trials(path: Path) -> None:
    text = (path / "trials.jsonl").read_text()
    (path / "trials.jsonl").write_text(text.replace('"rx_frames"', '"xr_frames"', 1))


def damage_config(path: Path) -> None:
    (path / "run.json").write_text("[1]")


def remove_config(path: Path) -> None:
    (path / "run.json").unlink()


def make_a_directory_of_a_file(path: Path) -> None:
    (path / "run.json").unlink()
    (path / "run.json").mkdir()


def fill_with_bytes(path: Path) -> None:
    (path / "results.json").write_bytes(bytes(range(256)))


@pytest.mark.parametrize(
    "damage",
    [damage_results, damage_trials, damage_config, remove_config, make_a_directory_of_a_file, fill_with_bytes],
    ids=lambda damage: damage.__name__,
)
def test_a_damaged_run_is_named_and_the_others_are_listed(
    damage: Any, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(runs / "loss")
    found = listed(capsys)
    assert found["loss"]["state"] == "damaged"
    assert found["loss"]["summary"]
    assert found["lossy"]["state"] == "FAIL"
    assert main(["runs"]) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_a_damaged_suite_is_named(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(runs / "all" / "again")
    assert listed(capsys)["all"]["state"] == "damaged"
    (runs / "all" / "suite.json").write_text("{}")
    assert listed(capsys)["all"]["state"] == "damaged"


def test_an_interrupted_run_is_not_finished(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "loss" / "results.json").unlink()
    (runs / "all" / "suite.json").write_text('{"format": 3, "suite": "all"}')
    found = listed(capsys)
    assert (found["loss"]["state"], found["loss"]["test"]) == ("not finished", "rfc2544.frame_loss")
    assert found["all"]["state"] == "not finished"


def test_other_things_in_the_folder_do_no_harm(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "notes.txt").write_text("mine")
    (runs / "empty").mkdir()
    (runs / "broken").symlink_to("absent")
    found = listed(capsys)
    assert set(found) == {"loss", "lossy", "all"}


def test_a_run_that_goes_on_is_running(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Method: this process holds the directories, as the process of a run does."""
    (runs / "loss" / "results.json").unlink()
    (runs / "all" / "suite.json").write_text('{"format": 3, "suite": "all"}')
    locks = [DirectoryLock(runs / name, "") for name in ("loss", "all")]
    found = listed(capsys)
    for lock in locks:
        lock.close()
    assert (found["loss"]["state"], found["loss"]["summary"]) == ("running", f"process {os.getpid()}")
    assert found["all"]["state"] == "running"
    assert listed(capsys)["loss"]["state"] == "not finished"


def test_a_folder_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", str(tmp_path / "absent")]) == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path / 'absent'}: No such file or directory\n"
        " hint: name a directory with runs in it: p4mesh runs DIR\n"
    )
    (tmp_path / "none").mkdir()
    assert main(["runs", str(tmp_path / "none")]) == 0
    assert capsys.readouterr().out == f"no runs in {tmp_path / 'none'}\n"


def test_runs_are_found_where_the_live_page_finds_them(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "monday" / "morning").mkdir(parents=True)
    (runs / "loss").rename(runs / "monday" / "morning" / "loss")
    (runs / "alias").symlink_to(runs / "lossy")
    assert set(listed(capsys)) == {"loss", "lossy", "all"}
    catalogue = Catalogue(runs)
    catalogue.refresh()
    assert {run.parts[-1] for run in catalogue.runs.values() if run.suite is None} == {"loss", "lossy"}
    assert list(catalogue.suites.values()) == [("all",)]
    assert set(listed(capsys, str(runs / "lossy"))) == {"lossy"}
