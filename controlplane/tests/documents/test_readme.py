"""The README's commands exist, and its sample has the shape of what a run prints today."""

from __future__ import annotations

import re
from pathlib import Path

from p4mesh.methods.results.rate_tables import THROUGHPUT_COLUMNS
from p4mesh.report.text import table_text
from p4mesh.run import RunOptions, run
from p4mesh.topology import load_topology

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_every_make_target_of_the_readme_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z0-9-]+)", README, re.MULTILINE))
    assert named >= {"run", "test", "setup"}
    assert named <= targets


def test_the_command_behind_make_run_is_the_one_that_the_readme_shows() -> None:
    assert ".venv/bin/p4mesh run rfc2889.fully_meshed --topology topologies/wrs-18x1g.yaml" in README
    assert "TEST ?= rfc2889.fully_meshed" in MAKEFILE
    assert "TOPOLOGY ?= topologies/wrs-18x1g.yaml" in MAKEFILE
    assert len(load_topology(ROOT / "topologies" / "wrs-18x1g.yaml").tester_ports) == 18


def test_the_sample_has_the_columns_of_the_throughput_table() -> None:
    header = next(line for line in README.splitlines() if line.startswith("Frame size  Result"))
    assert header.split() == " ".join(column.title for column in THROUGHPUT_COLUMNS).split()


def test_the_sample_has_the_numbers_of_a_run(tmp_path: Path) -> None:
    topology = str(ROOT / "topologies" / "wrs-18x1g.yaml")
    outcome = run(
        RunOptions("rfc2889.fully_meshed", topology, "64", ("parts=throughput",), tmp_path / "run", jobs=1)
    ).outcome
    printed = table_text(outcome.tables[0]).splitlines()
    row = next(line.split() for line in printed if line.split()[0] == "64")
    assert row in [line.split() for line in README.splitlines()]


def test_continuous_integration_runs_make_check() -> None:
    assert "exec make check" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
