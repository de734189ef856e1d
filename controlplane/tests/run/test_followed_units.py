"""A sweep takes over the trials of the search that it follows: what is measured, and what the journal says of it."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from support.networks import TOPOLOGIES
from support.runs import files
from support.sweep_actors import LOG, REFUSED

from p4mesh import RunOptions, run

SWEEP = ["10", "20", "30", "40", "50", "60", "70", "80", "90", "100"]


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "measured.log"
    monkeypatch.setenv(LOG, str(path))
    monkeypatch.setenv(REFUSED, "")
    return path


def measured(log: Path, unit: str) -> list[str]:
    """The loads that the trials of a unit were measured at, in the order of loads."""
    words = (line.split(" ") for line in log.read_text(encoding="utf-8").splitlines())
    return sorted((load for name, load in words if name == unit), key=float)


def fully_meshed(out: Path, *settings: str, jobs: int = 1) -> Path:
    topology = TOPOLOGIES / "wrs-18x1g.yaml"
    opener = "support.sweep_actors:open_halving"
    options = RunOptions("rfc2889.fully_meshed", topology, "64,512", settings, out, jobs, opener=opener)
    return run(options).directory


def journal(directory: Path, unit: str) -> list[dict[str, Any]]:
    lines = (directory / "trials.jsonl").read_text(encoding="utf-8").splitlines()
    return [trial for trial in map(json.loads, lines) if trial["unit"] == unit]


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_maximum_load_is_tried_once_per_size(tmp_path: Path, log: Path, jobs: int) -> None:
    directory = fully_meshed(tmp_path / "run", jobs=jobs)
    for size in ("64B", "512B"):
        assert measured(log, f"{size}/forwarding") == SWEEP[:-1]
        searched, swept = (journal(directory, f"{size}/{part}") for part in ("throughput", "forwarding"))
        (tried,) = (trial for trial in searched if trial["load_pct"] == 100)
        assert [trial["load_pct"] for trial in swept] == [float(load) for load in SWEEP]
        origins = [trial.get("taken_from") for trial in swept]
        assert origins == [None] * 9 + [f"trial {tried['trial']} of {size}/throughput"]
        assert swept[-1]["result"].pop("label").startswith("forwarding ")
        tried["result"].pop("label")
        assert swept[-1]["result"] == tried["result"]
        assert (tried["verdict"], swept[-1]["verdict"]) == ("FAIL", "MEASURED"), "each part judges the trial itself"


def test_results_are_those_of_one_process(tmp_path: Path, finished: tuple[Path, list[str]]) -> None:
    assert files(finished[0]) == files(fully_meshed(tmp_path / "three", jobs=3))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A run in one process, which no test may change, and its log."""
    made = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LOG, str(made / "measured.log"))
        patch.setenv(REFUSED, "")
        directory = fully_meshed(made / "run")
    return directory, (made / "measured.log").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("left", [1, 20, 40])
def test_a_resumed_run_measures_the_rest_alone(
    tmp_path: Path, log: Path, left: int, finished: tuple[Path, list[str]]
) -> None:
    whole, before = files(finished[0]), finished[1]
    directory = Path(copytree(finished[0], tmp_path / "run"))
    stored = (directory / "trials.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:left]
    times = (directory / "timing.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:left]
    (directory / "trials.jsonl").write_text("".join(stored), encoding="utf-8")
    (directory / "timing.jsonl").write_text("".join(times), encoding="utf-8")
    for name in ("results.json", "sums.json"):
        (directory / name).unlink()
    assert files(fully_meshed(directory)) == whole
    taken_over = sum("taken_from" in json.loads(line) for line in stored)
    assert log.read_text(encoding="utf-8").splitlines() == before[left - taken_over :]


def test_iterations_are_independent(tmp_path: Path, log: Path) -> None:
    directory = fully_meshed(tmp_path / "run", "iterations=2")
    assert measured(log, "64B/throughput").count("100") == 2
    assert measured(log, "64B/forwarding") == sorted(SWEEP[:-1] * 2, key=float)
    (taken,) = (trial for trial in journal(directory, "64B/forwarding/2") if "taken_from" in trial)
    assert taken["taken_from"] == "trial 1 of 64B/throughput/2"


@pytest.mark.parametrize("settings", [("parts=forwarding",), ("parts=throughput",)])
def test_one_part_alone_measures_all(tmp_path: Path, log: Path, settings: tuple[str, ...]) -> None:
    fully_meshed(tmp_path / "run", *settings)
    assert measured(log, "64B/forwarding") == (SWEEP if settings == ("parts=forwarding",) else [])


@pytest.mark.parametrize(
    "settings",
    [("latency_percentiles=true",), ("learning_frames=0",)],
    ids=["other question", "trials depend on each other"],
)
def test_what_is_not_equal_is_measured(tmp_path: Path, log: Path, settings: tuple[str, ...]) -> None:
    fully_meshed(tmp_path / "run", *settings)
    assert measured(log, "64B/forwarding") == SWEEP


def test_an_invalid_trial_is_tried_again(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REFUSED, "throughput 64 B 100.0000 %")
    fully_meshed(tmp_path / "run")
    assert measured(log, "64B/forwarding") == SWEEP
    assert measured(log, "512B/forwarding") == SWEEP[:-1]
