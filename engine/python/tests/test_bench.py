"""The benchmark processes every frame that goes in, without an error, and says which of its targets are missed."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from p4mesh.tester.contract import load_contract

_DIRECTORY = Path(__file__).parents[1]


def _results(**groups: dict[str, Any]) -> dict[str, Any]:
    return {"machine": {}, "engine": {}, "simple_switch": {}, "swx": {}, "control": {}, "live": {}} | groups


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(_DIRECTORY))
    return importlib.import_module("bench.report")


@pytest.fixture
def paths(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(_DIRECTORY))
    return importlib.import_module("bench.engine_paths")


def test_the_compiled_router_is_that_of_its_source() -> None:
    load_contract("l3_forward", _DIRECTORY / "bench" / "p4")


def test_every_received_frame_is_measured(paths: ModuleType) -> None:
    assert paths.receive(2_000)["frames"] == 2_000


def test_every_frame_is_routed(paths: ModuleType) -> None:
    assert paths.forward(2_000)["frames"] == 2_000


def test_every_frame_of_the_complete_simulation_comes_back(paths: ModuleType) -> None:
    assert paths.simulation(18_000)["frames"] == 18_000


def test_the_mesh_is_sent_at_the_rate_of_its_ports(paths: ModuleType) -> None:
    assert paths.transmit(36_000)["frames"] == pytest.approx(36_000, rel=0.02)


@pytest.mark.parametrize(("peer", "missed"), [(50_000, False), (50_001, True)])
def test_a_rate_is_judged_beside_that_of_the_same_run(report: ModuleType, peer: int, missed: bool) -> None:
    engine = {"forward": {"frames_per_s": 1_000_000}}
    (row,) = report.rows(_results(engine=engine, simple_switch={"forward": {"frames_per_s": peer}}))
    assert row.missed == missed
    assert report.text(_results(engine=engine), colour=True).endswith("0 of 0 targets missed")


def test_the_forwarding_program_is_judged_beside_compiled_dpdk_too(report: ModuleType) -> None:
    forward = [{"forward": {"frames_per_s": rate}} for rate in (1_000_000, 500_001)]
    alone, row = report.rows(_results(engine=forward[0], swx=forward[1]))
    assert not alone.judged and row.missed and row.beside == "SWX pipeline of DPDK, compiled: 500,001 frames/s"


def test_the_peer_of_dpdk_forwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(_DIRECTORY))
    swx = importlib.import_module("bench.swx")
    if not swx.available():
        pytest.skip("DPDK or DPDK_SOURCE is missing")
    assert swx.forward(0.01)["frames"] > 0


def test_a_measurement_that_failed_is_missed(report: ModuleType) -> None:
    results = _results(control={"counters": {"failed": "control.counters ended with exit code 1"}})
    (row,) = report.rows(results)
    assert row.missed
    shown = report.text(results, colour=True)
    assert "\x1b[31m" in shown
    assert "counters ended with exit code 1" in shown
    assert "\x1b[31m" not in report.text(results, colour=False)


def test_wrong_counts_are_missed_at_any_speed(report: ModuleType) -> None:
    mesh = {"frames": 10, "flows": 2, "exact": False, "seconds": 0.1, "cpu_seconds": 0.1, "peak_memory_mib": 1}
    simulation = {"frames": 10, "frames_per_s": 1, "trial_seconds": 9.0, "peak_memory_mib": 1}
    row = report.rows(_results(engine={"simulation": simulation}, control={"full_mesh": mesh}))[-1]
    assert row.ratio == pytest.approx(90)
    assert row.missed
    assert "wrong counts" in report.text(_results(control={"full_mesh": mesh}), colour=False)


def test_the_fastest_sender_without_loss_stands_beside_the_fastest_other_one(report: ModuleType) -> None:
    errors = {"rate_error_ppm": 1.0, "jitter_avg_us": 0.5, "departure_error_ns": 1000}
    live = {"fastest": {"fps": 700_000, **errors}, "trafgen": {"fps": 500_000}, "testpmd": {"fps": 800_000}}
    found = report.rows(_results(live=live))[0]
    assert "testpmd" in found.beside
    assert found.ratio == pytest.approx(0.875)
    assert found.missed


def test_a_program_that_is_not_installed_misses_no_target(report: ModuleType) -> None:
    (row,) = report.rows(_results(live={"bmv2": {"missing": "simple_switch_grpc is not installed"}}))
    assert (row.measured, row.missed) == ("simple_switch_grpc is not installed", False)
