"""The benchmark processes every frame that goes in, without an error."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from p4mesh.tester.contract import load_contract

_DIRECTORY = Path(__file__).parents[1]


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


def test_the_mesh_is_sent_at_the_rate_of_its_ports(paths: ModuleType) -> None:
    assert paths.transmit(36_000)["frames"] == pytest.approx(36_000, rel=0.02)
