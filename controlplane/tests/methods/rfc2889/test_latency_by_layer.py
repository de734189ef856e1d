"""Latency of meshes by the layers and roles of the topology, with the increment from layer to layer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.networks import network, node, parsed

from p4mesh.methods.results.latency import Definition, Group, summary_of
from p4mesh.methods.results.layers import has_layers, layer_cells
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import bed_of
from p4mesh.run.single import run
from p4mesh.trial.result import LatencyStats

MODEL = "forwarding: cut_through, look_ahead_bytes: 100, latency_ns: 700"
PLACES = {1: "layer: top, role: west", 2: "layer: top", 3: "layer: bottom, role: east", 4: "layer: bottom"}


def chain(places: dict[int, str]) -> str:
    return network(
        node("first", MODEL, ports=3),
        node("second", MODEL, ports=3),
        links=(("tester:1-2", "first:1-2"), ("tester:3-4", "second:1-2"), ("first:3", "second:3", "latency_ns: 20")),
        tester="clock_tick_ps: 1000",
        tester_port=places,
    )


def test_layers_are_compared_in_the_order_of_their_ports_and_roles_without_order() -> None:
    bed = bed_of(parsed(chain(PLACES)), "sim")
    groups = [
        Group(1, port, LatencyStats(count=frames, min_ns=low, max_ns=high, sum_ns=frames * mean))
        for port, frames, low, mean, high in (
            (2, 10, 900, 1000, 1500),
            (3, 30, 2000, 2500, 2600),
            (4, 10, 1900, 2100, 9000),
        )
    ]
    found = layer_cells(bed, groups, lambda some: summary_of(some, bed, 64, Definition.LILO))
    assert [(row.kind, row.name, row.receivers) for row in found] == [
        ("layer", "top", 1),
        ("layer", "bottom", 2),
        ("role", "east", 1),
    ]
    top, bottom, east = found
    assert (bottom.min_us, bottom.avg_us, bottom.max_us) == (1.9, 2.4, 9.0)
    assert (bottom.low_us, bottom.high_us) == (2.1, 2.5)
    assert (top.increment_us, east.increment_us) == (None, None)
    assert bottom.increment_us == pytest.approx(1.4)
    assert not has_layers(bed_of(parsed(chain({})), "sim"))


def test_a_mesh_shows_its_latency_by_layer_at_the_throughput_and_at_every_load(tmp_path: Path) -> None:
    settings = (
        *("search_initial_pct=5", "search_min_pct=1", "search_max_pct=5", "search_resolution_pct=5"),
        *("sweep_start_pct=1", "sweep_end_pct=2", "sweep_step_pct=1", "duration_ms=1"),
        *("learning_wait_ms=1", "settle_ms=1", "restabilise_ms=0"),
    )
    finished = run(RunOptions("rfc2889.fully_meshed", parsed(chain(PLACES)), "128", settings, tmp_path / "out", jobs=1))
    # Cells are numbers, texts or nothing; those compared here are numbers.
    tables: dict[str, Any] = {table.name: table.rows for table in finished.outcome.tables}
    for name in ("latency_throughput", "latency_sweep"):
        layers = [row for row in tables[f"{name}_layers"] if row["kind"] == "layer"]
        for whole in tables[name]:
            top, bottom = (row for row in layers if row["load_pct"] == whole["load_pct"])
            assert (top["name"], bottom["name"], top["receivers"], bottom["receivers"]) == ("top", "bottom", 2, 2)
            assert min(top["min_us"], bottom["min_us"]) == whole["min_us"]
            assert max(top["max_us"], bottom["max_us"]) == whole["max_us"]
            assert (top["avg_us"] + bottom["avg_us"]) / 2 == pytest.approx(whole["avg_us"])
            assert bottom["increment_us"] == pytest.approx(bottom["avg_us"] - top["avg_us"])
