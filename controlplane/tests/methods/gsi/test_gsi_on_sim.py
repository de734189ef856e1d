"""Tests of the timing network on its simulated topology: rates and losses of the report, roles, VLANs, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.beds import GIGABIT, make_bed
from support.networks import shipped

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.methods.gsi.b2b import B2b
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.run.options import RunOptions
from p4mesh.run.single import FinishedRun, run

PHASES = ("learning_wait_ms=1", "settle_ms=5", "restabilise_ms=0")
MIXED = (
    "dm_rates_mbps=2",
    "dm_sizes=90",
    "b2b_rates_mbps=1",
    "run_s=0.35",
)


def measure(tmp_path: Path, test: str, topology: str, size: int, *settings: str) -> FinishedRun:
    return run(RunOptions(test, shipped(topology), str(size), settings, tmp_path / "run", jobs=1))


def rows(finished: FinishedRun, name: str) -> list[dict[str, Any]]:
    return [dict(row) for table in finished.outcome.tables if table.name == name for row in table.rows]


def test_broadcasts_of_the_data_master_pass_up_to_the_published_share_of_the_cap(tmp_path: Path) -> None:
    """750 bytes: 98.4 % of 900 Mbit/s. The queue of 64 frames is 0.9 % of a trial of 50 ms."""
    found = measure(
        tmp_path,
        "gsi.dm_broadcast",
        "gsi-4-layers",
        750,
        *PHASES,
        "parts=throughput",
        "duration_ms=50",
        "search_initial_pct=95",
    )
    (row,) = rows(found, "broadcast")
    assert row["load_pct"] / 0.9 == pytest.approx(98.4, abs=1.5)
    assert row["lost_frames"] == 0


def test_measurements_of_ports_in_step_fail_at_every_load_and_those_of_two_ports_pass(tmp_path: Path) -> None:
    settings = (*PHASES, "parts=throughput", "duration_ms=3000", "search_max_pct=2")
    found = measure(tmp_path / "all", "gsi.b2b", "gsi-4-layers", 90, *settings)
    (goal,) = rows(found, "searches")
    trials = [row for row in rows(found, "search_trials") if row["load_pct"] > goal["minimum_pct"]]
    other = measure(tmp_path / "two", "gsi.b2b", "gsi-4-layers", 90, *settings, "west_ports=2")
    (two,) = rows(other, "mesh_throughput")
    assert all(row["verdict"] == "FAIL" and 0 < row["loss_pct"] < 5 for row in trials)
    # The report fails at the same load, 125 frames/s of all ports, and does not try its minimum.
    assert trials[-1]["tx_frames"] == pytest.approx(3 * 125, abs=17)
    # Up to 2 % of 1 % of 900 Mbit/s.
    assert two["state"] == "MEASURED" and 0.017 < two["load_pct"] <= 2 * 0.01 * 0.9


def test_mixed_traffic_has_a_verdict_per_class_and_stays_in_its_vlan(tmp_path: Path) -> None:
    found = measure(tmp_path, "gsi.mixed", "gsi-4-layers-vlans", 90, *MIXED)
    classes = {row["traffic_class"]: row for row in rows(found, "classes")}
    assert list(classes) == ["dm", "b2b", "service", "service-downstream"]
    assert classes["dm"]["state"] == "PASS"
    # Seven timing ports get the broadcasts: six bunch-to-bucket ports, and the one that only listens.
    assert classes["dm"]["expected_frames"] == 7 * classes["dm"]["tx_frames"]
    assert classes["service"]["expected_frames"] == 8 * classes["service"]["tx_frames"]
    assert all(row["rx_frames"] == row["expected_frames"] for name, row in classes.items() if name != "b2b")
    sent = {(row["traffic_class"], row["tx_port"]) for row in rows(found, "pairs")}
    assert not [port for _, port in sent if port == 3], "the snooping port sends nothing"
    layers = {(row["traffic_class"], row["kind"], row["name"]) for row in rows(found, "layers")}
    assert {("dm", "layer", "layer1"), ("dm", "layer", "layer4"), ("b2b", "layer", "layer1")} <= layers
    assert {("dm", "role", "b2b"), ("dm", "role", "snooping"), ("b2b", "role", "dm")} <= layers


def test_every_combination_is_a_run() -> None:
    test = find_test("gsi.mixed")
    settings = ("dm_rates_mbps=10, 20", "dm_sizes=134", "b2b_rates_mbps=2", "b2b_sizes=90,222")
    units = test.units(resolve(test.name, test.parameters, settings), test.frame_sizes_bytes)
    assert len(units) == 4
    assert units[0].part == "dm.rate=10 Mbit/s L1, dm.sizes=134, b2b.rate=2 Mbit/s L1, b2b.sizes=90"


@pytest.mark.parametrize(
    ("settings", "senders", "receiver", "most_pct"),
    [
        ((), (2, 3, 4, 5), 1, 25),
        (("west_ports=2",), (4, 5), 1, 50),
        (("receiver=5", "west_ports=1"), (4,), 5, 100),
        (("west_ports=4",), (2, 3, 4, 5), 1, 25),
    ],
)
def test_the_ports_of_the_highest_numbers_send(
    settings: tuple[str, ...], senders: tuple[int, ...], receiver: int, most_pct: int
) -> None:
    """Together they offer at most the line of the receiver."""
    test = B2b()
    mesh = test.mesh(make_bed(5), resolve(test.name, test.parameters, settings))
    (leg,) = mesh.legs
    assert (leg.tx_ports, leg.rx_ports) == (senders, (receiver,))
    assert (mesh.theoretical_pct, mesh.line_rate_bps) == (most_pct, GIGABIT)
    parameters = resolve(test.name, test.parameters, ())
    assert test.mesh(make_bed(2), parameters).pairs == ((2, 1),)
    with pytest.raises(TopologyError, match="b2b needs at least 2 tester ports, topology 'fake' has 1"):
        test.mesh(make_bed(1), parameters)


@pytest.mark.parametrize(
    ("setting", "valid"),
    [
        *(("dm_rates_mbps=0.001", True), ("dm_rates_mbps=0.0009", False)),
        *(("b2b_rates_mbps=400000", True), ("b2b_rates_mbps=400001", False), ("dm_rates_mbps=2.5", True)),
        *(("dm_sizes=64,9216", True), ("dm_sizes=9217", False), ("b2b_sizes=90.5", False)),
    ],
)
def test_rates_and_sizes_have_bounds(setting: str, valid: bool) -> None:
    test = find_test("gsi.mixed")
    parameters = resolve(test.name, test.parameters, (setting,))
    if valid:
        assert test.units(parameters, test.frame_sizes_bytes)
        return
    low, high = ("64", "9216") if "sizes" in setting else ("0.001", "400000")
    with pytest.raises(ParameterError) as caught:
        test.units(parameters, test.frame_sizes_bytes)
    assert caught.value.hint == f"numbers from {low} to {high}, separated by commas"


@pytest.mark.parametrize(
    ("test", "setting", "message"),
    [
        ("gsi.mixed", "dm_rates_mbps=10,fast", r"dm_rates_mbps=10,fast: 'fast' is not valid"),
        ("gsi.mixed", "b2b_sizes=63", r"b2b_sizes=63: '63' is not valid"),
        ("gsi.b2b", "west_ports=18", r"west_ports=18: topology 'gsi-4-layers-vlans' has 17 ports beside the receiver"),
        ("gsi.b2b", "receiver=19", r"receiver=19: topology 'gsi-4-layers-vlans' has no such port"),
    ],
)
def test_values_that_make_no_sense_are_refused(test: str, setting: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=message):
        measure(tmp_path, test, "gsi-4-layers-vlans", 90, setting)
    assert not (tmp_path / "run").exists()
