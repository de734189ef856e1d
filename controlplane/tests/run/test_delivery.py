"""A tester that cannot send all loads: its limit is found once, and results say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.networks import TOPOLOGIES

from p4mesh import RunOptions, run
from p4mesh.methods.results.outcome import State

BRIDGE = TOPOLOGIES / "bridge-4x10m.yaml"


def options(out: Path, target: str, sizes: str, *settings: str) -> RunOptions:
    opener = "support.fakes:open_slow_tester"
    return RunOptions("rfc2889.fully_meshed", BRIDGE, sizes, settings, out, 1, target=target, opener=opener)


@pytest.mark.parametrize("target", ["live", "bmv2"])
def test_the_result_is_at_least_what_the_tester_delivers(tmp_path: Path, target: str) -> None:
    found = run(options(tmp_path / "run", target, "64,512", "parts=throughput"))
    assert found.outcome.state is State.PASS
    rows = found.outcome.tables[0].rows
    assert [row["state"] for row in rows] == ["PASS (at least)"] * 2
    for row, size in zip(rows, (64, 512), strict=True):
        assert isinstance(row["tx_pct"], float) and 49.9 <= row["tx_pct"] <= 50
        text = next(text for text in found.outcome.findings if "delivers no more" in text)
        assert text.startswith("64 B: at least ") and "; the tester delivers no more than 50." in text
        assert any(text.startswith(f"{size} B: at least ") for text in found.outcome.findings)


def test_the_limit_is_found_once_per_size(tmp_path: Path) -> None:
    """Two iterations and a sweep: what was not delivered twice, at a load or below it, is not tried again."""
    found = run(options(tmp_path / "run", "live", "64,512", "iterations=2"))
    lines = (found.directory / "trials.jsonl").read_text().splitlines()
    for size in (64, 512):
        tried = [line for line in lines if f'"label":"throughput {size} B' in line]
        invalid = [line for line in tried if '"verdict":"INVALID"' in line]
        first = run(options(tmp_path / f"once{size}", "live", str(size), "parts=throughput"))
        alone = (first.directory / "trials.jsonl").read_text().splitlines()
        once = sum('"verdict":"INVALID"' in line for line in alone)
        assert 2 < once <= len(invalid) <= once + 1, "the second search needs a second witness at most"
        swept = [line for line in lines if f'"label":"forwarding {size} B' in line]
        assert len(swept) == 2 * 5, "loads of the sweep up to 50 %"


def test_a_run_that_is_resumed_knows_the_limit(tmp_path: Path) -> None:
    asked = options(tmp_path / "run", "live", "64,512", "iterations=2")
    whole = run(asked).directory
    files = {name: (whole / name).read_bytes() for name in ("trials.jsonl", "results.json")}
    lines = files["trials.jsonl"].splitlines(keepends=True)
    for kept in (1, len(lines) // 2, len(lines) - 1):
        (whole / "trials.jsonl").write_bytes(b"".join(lines[:kept]))
        (whole / "results.json").unlink()
        run(asked)
        assert {name: (whole / name).read_bytes() for name in files} == files


def test_where_devices_are_simulated_each_part_has_a_tester_of_its_own(tmp_path: Path) -> None:
    found = run(options(tmp_path / "run", "sim", "64", "parts=both"))
    lines = (found.directory / "trials.jsonl").read_text().splitlines()
    assert sum('"label":"forwarding 64 B' in line for line in lines) == 10
