"""The README's commands exist, and its figure has the numbers of a run of today."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from p4mesh.cli.arguments import parser
from p4mesh.run import RunOptions, run
from p4mesh.topology import load_topology

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_command_behind_make_run_is_the_one_that_the_readme_shows() -> None:
    assert ".venv/bin/p4mesh run rfc2889.fully_meshed --topology topologies/wrs-18x1g.yaml" in README
    assert "TEST ?= rfc2889.fully_meshed" in MAKEFILE
    assert "TOPOLOGY ?= topologies/wrs-18x1g.yaml" in MAKEFILE
    assert len(load_topology(ROOT / "topologies" / "wrs-18x1g.yaml").tester_ports) == 18


def test_the_table_of_commands_has_all_of_them_and_no_options() -> None:
    named = re.findall(r"^\| `p4mesh ([^`]*)` \|", README, re.MULTILINE)
    (branches,) = (action.choices for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    assert sorted(named) == sorted(branches)


def test_the_figure_has_the_numbers_of_a_run(tmp_path: Path) -> None:
    topology = str(ROOT / "topologies" / "wrs-18x1g.yaml")
    outcome = run(
        RunOptions("rfc2889.fully_meshed", topology, "64", ("parts=throughput",), tmp_path / "run", jobs=1)
    ).outcome
    (rate,) = (figure for figure in outcome.figures if figure.name == "rate")
    drawn = (ROOT / "docs" / "figures" / "fully-meshed-rate.svg").read_text(encoding="utf-8")
    for series in rate.series:
        if series.name != "maximum forwarding rate":  # the whole run has found more of it in its sweep
            ((_, fps),) = series.points
            assert f"64; frames/s: {fps / 1e6:.6g}M; series: {series.name}" in drawn


def test_continuous_integration_runs_make_check() -> None:
    assert "exec make check" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
