"""Whole runs on sim: the same inputs give the same bytes, and the report says how the tester sent."""

from __future__ import annotations

from pathlib import Path

from p4mesh.cli import run_command

TOPOLOGY = str(Path(__file__).parents[2] / "topologies" / "wrs-18x1g.yaml")
SETTINGS = ("scaled_frames=200", "sweep_step_pct=45", "search_resolution_pct=10")


def run(out: Path, workers: int) -> dict[str, bytes]:
    options = run_command.RunOptions("rfc2889.fully_meshed", TOPOLOGY, "64,1518", SETTINGS, str(out), workers=workers)
    run_command.run(options)
    return {path.name: path.read_bytes() for path in out.iterdir()}


def test_two_runs_are_byte_identical_apart_from_wall_clock_files(tmp_path: Path) -> None:
    first, second = run(tmp_path / "a", 1), run(tmp_path / "b", 2)
    wall_clock = {"timing.jsonl", "report.html"}
    assert first.keys() == second.keys()
    assert len(first["trials.jsonl"].splitlines()) > 8
    for name in first.keys() - wall_clock:
        assert first[name] == second[name], name
    report = first["report.html"].decode()
    assert "Tester: how exactly it sent" in report
    assert "Departure error" in report
