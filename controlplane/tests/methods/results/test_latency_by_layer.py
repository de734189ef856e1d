"""Latency by the layers and roles of the topology, with the increment from layer to layer, in every test of latency."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.latency_bench import bed, rows, wires
from support.latency_bench import run as run_on_fake
from support.networks import network, node, parsed

from p4mesh.measurement.counts import LatencyStats
from p4mesh.methods.base import Method
from p4mesh.methods.results.latency import Definition, Group, summarise
from p4mesh.methods.results.latency_cells import Circumstances, latency_cells
from p4mesh.methods.results.layers import PortLatency, has_layers, layer_cells
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2889.broadcast import Broadcast
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import bed_of
from p4mesh.run.single import run

MODEL = "forwarding: cut_through, look_ahead_bytes: 100, latency_ns: 700"
PLACES = {1: "layer: top, role: west", 2: "layer: top", 3: "layer: bottom, role: east", 4: "layer: bottom"}
QUICK = ("learning_wait_ms=1", "settle_ms=1", "restabilise_ms=0")
SHORT = (*QUICK, "duration_ms=1")
SEARCH = ("search_initial_pct=5", "search_min_pct=1", "search_max_pct=5", "search_resolution_pct=5")
HOP_US = 1.5
"""Look-ahead of 100 bytes, and the latency of a switch."""
CABLE_US = 0.02


def chain(places: dict[int, str]) -> str:
    return network(
        node("first", MODEL, ports=3),
        node("second", MODEL, ports=3),
        links=(("tester:1-2", "first:1-2"), ("tester:3-4", "second:1-2"), ("first:3", "second:3", "latency_ns: 20")),
        tester="clock_tick_ps: 1000",
        tester_port=places,
    )


def measure(tmp_path: Path, test: str, *settings: str, places: dict[int, str] = PLACES) -> dict[str, Any]:
    finished = run(RunOptions(test, parsed(chain(places)), "256", settings, tmp_path / "out", jobs=1))
    # Cells are numbers, texts or nothing; those compared here are numbers.
    return {table.name: table.rows for table in finished.outcome.tables}


def test_layers_are_compared_in_the_order_of_their_ports_and_roles_without_order() -> None:
    where = bed_of(parsed(chain(PLACES)), "sim")
    groups = [
        Group(1, port, LatencyStats(count=frames, min_ns=low, max_ns=high, sum_ns=frames * mean))
        for port, frames, low, mean, high in (
            (2, 10, 900, 1000, 1500),
            (3, 30, 2000, 2500, 2600),
            (4, 10, 1900, 2100, 9000),
        )
    ]
    found = layer_cells(where, PortLatency.of_groups(groups, where, 64, Definition.LILO, Circumstances()))
    assert [(row.kind, row.name, row.receivers) for row in found] == [
        ("layer", "top", 1),
        ("layer", "bottom", 2),
        ("role", "east", 1),
    ]
    top, bottom, east = found
    # 10 frames with a mean of 1000 ns between 900 and 1500: a variance of 100 * 500 at most.
    assert top.avg_error_us == pytest.approx(1.96 * (100 * 500 / 10) ** 0.5 / 1000, rel=1e-4)
    assert (bottom.min_us, bottom.avg_us, bottom.max_us) == (1.9, 2.4, 9.0)
    assert (bottom.low_us, bottom.high_us) == (2.1, 2.5)
    assert (top.increment.increment_us, east.increment.increment_us) == (None, None)
    assert bottom.increment.increment_us == pytest.approx(1.4)
    for one in ({}, dict.fromkeys(range(1, 5), "layer: a, role: r")):
        assert not has_layers(bed_of(parsed(chain(one)), "sim"))


def test_a_layer_without_frames_is_left_out_and_the_increment_is_to_the_layer_before_it() -> None:
    where = bed_of(parsed(chain({1: "layer: a", 2: "layer: b", 3: "layer: c", 4: "layer: c"})), "sim")
    once = [
        PortLatency(port, 1, Fraction(us), Fraction(us), Fraction(us), Fraction(0)) for port, us in ((1, 2), (4, 7))
    ]
    first, last = layer_cells(where, once)
    assert (last.port_error_us, last.increment.increment_error_us) == (0, 0)
    apart = [replace(one, avg_error_us=Fraction(error)) for one, error in zip(once, (1, 2), strict=True)]
    assert [cells.port_error_us for cells in layer_cells(where, apart)] == [1, 2]
    assert layer_cells(where, apart)[1].increment.increment_error_us == 3
    assert layer_cells(where, [replace(once[0], avg_error_us=None), once[1]])[1].increment.increment_error_us is None
    assert (first.name, first.increment.increment_us, last.name, last.receivers, last.increment.increment_us) == (
        "a",
        None,
        "c",
        1,
        5,
    )


def test_a_layer_has_the_mean_of_its_frames_and_an_error_by_their_numbers() -> None:
    """3 frames of 10 us, give or take 0.4, and one of 20 +- 1.6: hypot(3 * 0.4, 1.6) is 2, of four frames 0.5."""
    where = bed_of(parsed(chain({1: "layer: a", 2: "layer: a", 3: "layer: b", 4: "layer: b"})), "sim")
    one = PortLatency(1, 3, Fraction(9), Fraction(10), Fraction(11), Fraction("0.4"))
    other = PortLatency(2, 1, Fraction(20), Fraction(20), Fraction(20), Fraction("1.6"))
    found, below = layer_cells(where, [one, other, replace(one, rx_port=4)])
    assert (found.samples, found.avg_us, found.low_us, found.high_us) == (4, 12.5, 10, 20)
    assert (found.min_us, found.max_us, found.avg_error_us, found.port_error_us) == (9, 20, pytest.approx(0.5), 1.6)
    assert (below.increment.increment_us, below.increment.increment_error_us) == (-2.5, pytest.approx(0.9))
    (alone,) = layer_cells(where, [one, replace(other, avg_error_us=None)])
    assert (alone.avg_error_us, alone.port_error_us) == (None, None)
    # Calibrated rows are compared with calibrated ones, and stand behind those of the same layer.
    less = [replace(port, calibrated="yes", avg_us=port.avg_us - 1) for port in (one, replace(one, rx_port=3))]
    rows = layer_cells(where, [one, *less, replace(one, rx_port=3, avg_us=Fraction(10.5))])
    shown = [(row.name, row.calibrated, row.avg_us, row.increment.increment_us) for row in rows]
    assert shown == [("a", "no", 10, None), ("a", "yes", 9, None), ("b", "no", 10.5, 0.5), ("b", "yes", 9, 0)]
    apart = layer_cells(where, [one, replace(one, rx_port=3, calibrated="yes")])
    assert [(row.name, row.calibrated) for row in apart] == [("a", "no"), ("b", "yes")]


def test_cells_without_samples_are_no_latency_of_a_port() -> None:
    stats = LatencyStats(count=4, min_ns=1000.0, max_ns=3000.0, sum_ns=8000.0)
    circumstances = Circumstances(average_error_ns=500.0, resolution_ns=Fraction(8))
    cells = latency_cells(summarise(stats), "FIFO", circumstances)
    (found,) = PortLatency.of_cells(7, cells)
    assert (found.rx_port, found.samples, found.min_us, found.avg_us, found.max_us) == (7, 4, 1, 2, 3)
    # Four independent frames between 1 and 3 us: 1.96 us / sqrt(4), and the resolution.
    assert float(found.avg_error_us or 0) == pytest.approx(0.98 + 0.008)
    assert list(PortLatency.of_cells(7, latency_cells(None, "FIFO", circumstances))) == []
    assert (
        next(
            PortLatency.of_cells(7, latency_cells(summarise(replace(stats, count=1)), "FIFO", circumstances))
        ).avg_error_us
        is None
    )


def test_a_mesh_shows_its_latency_by_layer_at_the_throughput_and_at_every_load(tmp_path: Path) -> None:
    sweep = ("sweep_start_pct=1", "sweep_end_pct=2", "sweep_step_pct=1")
    tables = measure(tmp_path, "rfc2889.fully_meshed", *SEARCH, *sweep, *SHORT)
    for name in ("latency_throughput", "latency_sweep"):
        layers = [row for row in tables[f"{name}_layers"] if row["kind"] == "layer"]
        for whole in tables[name]:
            top, bottom = (row for row in layers if row["load_pct"] == whole["load_pct"])
            assert (top["name"], bottom["name"], top["receivers"], bottom["receivers"]) == ("top", "bottom", 2, 2)
            assert min(top["min_us"], bottom["min_us"]) == whole["min_us"]
            assert max(top["max_us"], bottom["max_us"]) == whole["max_us"]
            assert (top["avg_us"] + bottom["avg_us"]) / 2 == pytest.approx(whole["avg_us"])
            assert bottom["increment_us"] == pytest.approx(bottom["avg_us"] - top["avg_us"])


@pytest.mark.parametrize(
    ("test", "table", "settings"),
    [
        ("rfc2889.broadcast", "broadcast_latency_layers", (*SEARCH, *SHORT)),
        ("rfc3918.latency", "multicast_latency_layers", ("load_pct=1", *SHORT)),
        ("rfc3918.min_max_latency", "multicast_latency_layers", ("load_pct=1", *SHORT)),
    ],
)
def test_frames_of_one_sender_take_a_hop_and_a_cable_more_to_the_lower_layer(
    test: str, table: str, settings: tuple[str, ...], tmp_path: Path
) -> None:
    found = measure(tmp_path, test, *settings)[table]
    top, bottom = [row for row in found if row["kind"] == "layer"][:2]
    assert (top["receivers"], bottom["receivers"]) == (1, 2)
    assert top["avg_us"] == pytest.approx(HOP_US, abs=0.002)
    assert bottom["increment_us"] == pytest.approx(HOP_US + CABLE_US, abs=0.002)
    assert {row["name"] for row in found if row["kind"] == "role"} >= {"east"}
    assert all(row["calibrated"] == "no" for row in found)


def test_pairs_of_ports_show_the_layers_of_their_receivers(tmp_path: Path) -> None:
    """Ports 1 and 2 are on the first switch, 3 and 4 on the second: one hop each."""
    tables = measure(tmp_path, "rfc2544.latency", "bidirectional=false", *SEARCH, *SHORT)
    shown = [(row["name"], row["receivers"], row["avg_us"], row["increment_us"]) for row in tables["latency_layers"]]
    hop_us = pytest.approx(HOP_US, abs=0.002)
    assert shown == [("top", 1, hop_us, None), ("bottom", 1, hop_us, pytest.approx(0, abs=0.002))]


def test_n_to_n_multicast_shows_the_layers_of_its_receivers(tmp_path: Path) -> None:
    settings = ("load_pct=3", "stagger_us=0", "duration_ms=2", *QUICK)
    found = measure(tmp_path, "rfc3918.n_to_n", *settings)["n_to_n_layers"]
    top, bottom = (row for row in found if row["kind"] == "layer")
    assert (top["receivers"], bottom["receivers"], top["increment_us"]) == (2, 2, None)
    assert HOP_US <= top["min_us"] < top["avg_us"]


@pytest.mark.parametrize("test", ["messages.latency", "messages.background"])
def test_messages_show_the_layer_and_the_role_of_their_receiver(test: str, tmp_path: Path) -> None:
    settings: tuple[str, ...] = ("receiver=3", "message_frames=10", "messages=5", "messages_per_s=1000", *QUICK)
    if test == "messages.background":
        settings += ("load_start_pct=10", "load_end_pct=20", "load_step_pct=10", "repeats=1", "stabilise_ms=0")
    tables = measure(tmp_path, test, *settings)
    for whole in tables["messages"]:
        shown = [row for row in tables["messages_layers"] if row["load_pct"] == whole["load_pct"]]
        assert [(row["kind"], row["name"], row["receivers"]) for row in shown] == [
            ("layer", "bottom", 1),
            ("role", "east", 1),
        ]
        assert {(row["min_us"], row["avg_us"], row["max_us"]) for row in shown} == {
            (whole["mimo_us_min"], whole["mimo_us_avg"], whole["mimo_us_max"])
        }


@pytest.mark.parametrize("test", ["rfc2544.latency", "rfc2889.broadcast", "rfc2889.fully_meshed", "rfc3918.latency"])
def test_without_layers_in_the_topology_there_is_no_such_table(test: str, tmp_path: Path) -> None:
    load = ("load_pct=1",) if test.startswith("rfc3918") else SEARCH
    parts = ("parts=throughput",) if test.startswith("rfc2889") else ()
    assert not [name for name in measure(tmp_path, test, *load, *parts, *SHORT, places={}) if name.endswith("_layers")]


@pytest.mark.parametrize(
    ("test", "table"),
    [
        (Latency(), "latency_layers"),
        (FullyMeshed(), "latency_throughput_layers"),
        (Broadcast(), "broadcast_latency_layers"),
    ],
)
def test_layers_of_calibrated_latency_stand_beside_raw_ones(test: Method, table: str) -> None:
    """2000 ns to port 1 and 3000 ns to port 2, over wires of 300 ns from 1 to 2 and 100 ns back."""
    where = bed(calibration=wires(300.0, 100.0))
    ports = tuple(replace(port, layer=layer) for port, layer in zip(where.ports, ("top", "bottom"), strict=True))
    _, outcome = run_on_fake(
        test, replace(where, ports=ports), lambda stream, tx, rx, count: [1000.0 + 1000 * rx] * count, 128
    )
    expected = {("no", "bottom"): 3.0, ("yes", "bottom"): 2.7}
    if test.name != "rfc2889.broadcast":
        expected |= {("no", "top"): 2.0, ("yes", "top"): 1.9}
    found = {(row["calibrated"], row["name"]): row for row in rows(outcome, table)}
    assert {key: row["avg_us"] for key, row in found.items()} == expected
    if test.name != "rfc2889.broadcast":
        assert found["no", "bottom"]["increment_us"] == pytest.approx(1.0)
        assert found["yes", "bottom"]["increment_us"] == pytest.approx(0.8)
