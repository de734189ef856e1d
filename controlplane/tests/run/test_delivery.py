"""A tester that cannot send all loads: its limit is found once, and results say so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.networks import TOPOLOGIES

from p4mesh import RunOptions, run
from p4mesh.methods.registry import find_test
from p4mesh.run.chosen_interfaces import topology_of
from p4mesh.run.delivery import DeliveryLimits
from p4mesh.run.events import unobserved
from p4mesh.run.preparation import prepare
from p4mesh.run.single import execute
from p4mesh.verdict import Verdict

BRIDGE = TOPOLOGIES / "bridge-4x10m.yaml"


def options(out: Path, target: str, sizes: str, *settings: str) -> RunOptions:
    opener = "support.fakes:open_slow_tester"
    settings = ("search_method=bisect", *settings)
    return RunOptions("rfc2889.fully_meshed", BRIDGE, sizes, settings, out, 1, target=target, opener=opener)


@pytest.mark.parametrize("target", ["live", "bmv2"])
def test_the_result_is_at_least_what_the_tester_delivers(tmp_path: Path, target: str) -> None:
    found = run(options(tmp_path / "run", target, "64,512", "parts=throughput"))
    assert found.outcome.state is Verdict.MEASURED
    rows = found.outcome.tables[0].rows
    assert [(row["state"], row["reason"]) for row in rows] == [("MEASURED", "at least")] * 2
    for row, size in zip(rows, (64, 512), strict=True):
        assert isinstance(row["load_pct"], float) and 49.9 <= row["load_pct"] <= 50
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
    for kept in (1, len(lines) - 1):
        (whole / "trials.jsonl").write_bytes(b"".join(lines[:kept]))
        (whole / "results.json").unlink()
        run(asked)
        assert {name: (whole / name).read_bytes() for name in files} == files


def test_the_limit_is_found_once_for_all_tests_of_a_suite(tmp_path: Path) -> None:
    """Loads that a full mesh could not send are not tried by the pairs of the same ports, nor after an interruption."""
    measured: dict[str, list[int]] = {}
    for name in ("whole", "resumed"):
        limits = DeliveryLimits()
        for test in ("rfc2889.fully_meshed", "rfc2544.throughput"):
            given = options(tmp_path / name / test, "live", "64")
            settings = ("search_method=bisect", "parts=throughput" if "mesh" in test else "confirm_factor=1")
            method = find_test(test)
            topology = topology_of(given.topology)
            prepared = prepare(method, topology, replace(given, test=test, settings=settings))
            execute(prepared, Path(str(given.out)), unobserved, limits)
            if name == "resumed":
                # The next test begins in another process, which finds this one finished.
                limits = DeliveryLimits()
                execute(prepared, Path(str(given.out)), unobserved, limits)
            lines = (Path(str(given.out)) / "trials.jsonl").read_text().splitlines()
            measured.setdefault(name, []).append(sum('"verdict":"INVALID"' in line for line in lines))
    assert measured["whole"] == measured["resumed"]
    assert measured["whole"][0] > 2 and measured["whole"][1] <= 1


def test_where_devices_are_simulated_each_part_has_a_tester_of_its_own(tmp_path: Path) -> None:
    found = run(options(tmp_path / "run", "sim", "64", "parts=both"))
    lines = (found.directory / "trials.jsonl").read_text().splitlines()
    assert sum('"label":"forwarding 64 B' in line for line in lines) == 10
