"""``p4mesh doctor``: what works, what does not, how to mend it, and the exit code that follows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.tofino_beds import p4runtime_text

from p4mesh.cli.main import main
from p4mesh.doctor import namespaces, software, table
from p4mesh.doctor.finding import Asked, Finding, Health
from p4mesh.errors import TargetError
from p4mesh.target.names import TARGET_NAMES
from p4mesh.topology.loader import parse_topology


def broken(_: Asked) -> Iterator[Finding]:
    yield Finding("first", Health.OK, "there")
    raise TargetError("the cable is cut", hint="join it")


def test_every_target_has_checks() -> None:
    assert set(table.CHECKS) == {table.ITSELF, *TARGET_NAMES}
    assert all(table.CHECKS.values())


def test_a_machine_that_runs_the_simulation_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--target", "sim"]) == 0
    shown = capsys.readouterr().out
    assert "100 of 100 frames over a simulated cable, trial MEASURED" in shown
    assert shown.endswith("target sim: ready\n")
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_lacks_something_is_exit_code_3_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(namespaces, "find_program", lambda _: None)
    monkeypatch.setattr(table, "CHECKS", {table.ITSELF: (), "bmv2": (namespaces.linux, namespaces.simple_switch)})
    assert main(["doctor", "--target", "bmv2"]) == 3
    shown = capsys.readouterr().out
    assert "  - bmv2, Linux: apt-get install iproute2\n" in shown
    assert "  - bmv2, simple_switch_grpc: install p4lang's packages" in shown
    assert shown.endswith("target bmv2: not ready\n")


def test_an_error_of_a_check_is_a_finding_and_the_next_check_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(table, "CHECKS", {table.ITSELF: (broken, software.python), "sim": ()})
    assert main(["doctor", "--target", "sim", "--json"]) == 3
    first, cut, python = json.loads(capsys.readouterr().out)["findings"]
    assert (first["health"], python["health"]) == ("ok", "ok")
    assert cut == {
        "part": "p4mesh",
        "about": "broken",
        "health": "missing",
        "found": "the cable is cut",
        "mend": "join it",
    }


def test_a_package_that_only_one_command_needs_keeps_no_target_from_running(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(software, "_OPTIONAL", {"no-such-package": ("p4mesh fly", "pip install it")})
    monkeypatch.setattr(table, "CHECKS", {table.ITSELF: (software.optional_packages,), "sim": ()})
    assert main(["doctor", "--target", "sim"]) == 0
    shown = capsys.readouterr().out
    assert "limited" in shown
    assert "pip install it" in shown


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(software, "_LEAST_FREE_BYTES", 1 << 62)
    (found,) = software.run_directories(Asked())
    assert found.health is Health.LIMITED
    assert "--out" in found.mend


def test_a_switch_is_looked_at_where_the_topology_says() -> None:
    asked = Asked(parse_topology("wedge.yaml", p4runtime_text("127.0.0.1:1")))
    found = list(table.examine("tofino", asked))
    assert [item.health for item in found] == [Health.MISSING, Health.MISSING, Health.LIMITED]
    assert any("p4mesh.bin" in item.found for item in found)
    assert any("127.0.0.1:1" in item.found for item in found)
    assert all(item.mend for item in found)


def test_a_topology_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--topology", "absent.yaml"]) == 2
    assert "absent.yaml: no such topology file" in capsys.readouterr().err
