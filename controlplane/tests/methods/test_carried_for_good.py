"""Brackets of searches contain what a device carries for any time, and tables say what short trials do not exclude.

Method: outputs whose rates follow from clocks and gaps, and a policer that forgives bursts, all by closed form.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support import networks
from support.queue_devices import GIGABIT, Device, opened
from support.runs import run_on_sim

from p4mesh.methods.base import Method
from p4mesh.methods.results import fields
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.methods.rfc2889.broadcast import Broadcast
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed
from p4mesh.methods.rfc2889.maximum_forwarding_rate import MaximumForwardingRate
from p4mesh.methods.rfc3918.aggregated import Aggregated
from p4mesh.report.errors_of_numbers import NumberErrors
from p4mesh.topology import Topology
from p4mesh.traffic.line_rate import max_rate_fps, rate_at_pct
from p4mesh.traffic.patterns import Pairs

QUICK = ("learning_wait_ms=1", "learning_verify=false", "settle_ms=1", "restabilise_ms=1")
PPM_OF_LINE = 1e-4
TAG_BITS = 32
FEW = "scaled_frames=5000"
"""They tell an excess of 400 ppm."""


def near(limit_pct: float, resolution_pct: float = 0.001) -> tuple[str, ...]:
    """Bounds of a search around a limit, to 10 ppm."""
    around = 4 * resolution_pct
    low, high = round(limit_pct - around, 4), min(100.0, round(limit_pct + around, 4))
    bounds = (f"search_min_pct={low}", f"search_initial_pct={high}", f"search_max_pct={high}")
    return (*bounds, f"search_resolution_pct={resolution_pct}", *QUICK)


def just_above(limit_pct: float, above_pct: float = 0.001) -> tuple[str, ...]:
    """Bounds whose middle is 10 ppm above a limit: it passes, and only its queue leads a search to the limit."""
    low, high = (round(limit_pct + above_pct + bound, 4) for bound in (-0.004, 0.004))
    bounds = (f"search_min_pct={low}", f"search_initial_pct={high}", f"search_max_pct={high}")
    return (*bounds, "search_resolution_pct=0.005", "confirm_factor=1", *QUICK)


def searched(outcome: Outcome) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rows of the throughput and of its search."""
    tables = {table.name: table for table in outcome.tables}
    throughput = tables.get("mesh_throughput") or tables["throughput"]
    return dict(throughput.rows[0]), dict(tables["searches"].rows[0])


def assert_contains(bracket: dict[str, Any], truth_pct: float) -> None:
    """Assert that the truth is not outside of a bracket, by more than the digits that it is printed with."""
    assert bracket["lower_pct"] - PPM_OF_LINE / 2 <= truth_pct <= bracket["upper_pct"] + PPM_OF_LINE / 2


def test_throughput_is_the_rate_of_the_output_to_one_ppm() -> None:
    """It has a tag on each frame."""
    device = Device(ifg_bits=96 + TAG_BITS, pattern=Pairs())
    truth_pct = float(device.sustained_pct)
    _, outcome, _ = run_on_sim(Throughput(), device.topology, (64,), *near(truth_pct))
    row, bracket = searched(outcome)
    assert row["throughput_pct"] == pytest.approx(truth_pct, abs=PPM_OF_LINE)
    assert row["carried_pct"] <= truth_pct + PPM_OF_LINE / 20
    assert_contains(bracket, truth_pct)


@pytest.mark.parametrize(
    ("test", "settings"),
    [
        (Throughput(), ("decision=per_source_port",)),
        (Broadcast(), ("parts=throughput",)),
        (Aggregated(), ("groups=2",)),
        (MaximumForwardingRate(), ()),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_each_table_of_a_throughput_says_what_is_carried_for_good(test: Method, settings: tuple[str, ...]) -> None:
    device = Device(ports=3 if isinstance(test, Broadcast | Aggregated) else 2, clock_ppm=-500, pattern=Pairs())
    truth_pct = float(device.sustained_pct)
    _, outcome, trials = run_on_sim(test, device.topology, (64,), *near(truth_pct, 0.1), FEW, *settings)
    row = outcome.tables[0].rows[0]
    carried, bucket = row["carried_pct"], row["bucket_pct"]
    assert isinstance(carried, float) and isinstance(bucket, float)
    assert truth_pct - 0.03 <= carried <= truth_pct + PPM_OF_LINE / 20
    frames = max(port.tx_frames for _, result in trials for port in result.ports)
    assert carried * (1 - 1000 / 3000) <= bucket <= carried * (1 - 1000 / frames)


def test_bounds_of_mlrsearch_stand_beside_what_is_carried_for_good() -> None:
    """4 ppm above what the device carries, no trial of MLRsearch sees a queue fill."""
    device = Device(clock_ppm=-4, pattern=Pairs())
    truth_pct = float(device.sustained_pct)
    settings = (*near(truth_pct), "search_method=mlr", "mlr_width_pct=0.01")
    _, outcome, _ = run_on_sim(Throughput(), device.topology, (64,), *settings)
    goal = next(table.rows[0] for table in outcome.tables if table.name == "mlr_goals")
    row, _ = searched(outcome)
    for cells in (goal, row):
        assert truth_pct - 0.01 <= cells["carried_pct"] <= truth_pct + PPM_OF_LINE / 10
        assert cells["bucket_pct"] < cells["carried_pct"]


def test_a_queue_of_two_frames_loses_nothing_in_half_a_second_at_the_throughput() -> None:
    device = Device(clock_ppm=-200, queue_frames=2, pattern=Pairs())
    truth_pct = float(device.sustained_pct)
    _, outcome, _ = run_on_sim(Throughput(), device.topology, (64,), *just_above(truth_pct, 0.0005))
    row, bracket = searched(outcome)
    assert row["throughput_pct"] == pytest.approx(truth_pct, abs=PPM_OF_LINE)
    assert row["carried_pct"] <= truth_pct + PPM_OF_LINE / 20
    assert_contains(bracket, truth_pct)
    load = Fraction(str(row["throughput_pct"]))
    frames = round(max_rate_fps(64, GIGABIT) / 2)
    spec = device.spec(load, frames=frames)
    one_way = (replace(spec.streams[0], tx_ports=(1,), rx_ports=(2,)),)
    with opened(device) as engine:
        result = engine.measure(replace(spec, streams=one_way, watch_queues=False))
    assert result.expected_rx_frames > 740_000 and result.lost_frames == 0


def test_the_highest_load_is_no_result_where_a_queue_fills_at_it() -> None:
    device = Device(clock_ppm=-5, pattern=Pairs())
    _, outcome, _ = run_on_sim(Throughput(), device.topology, (64,), *near(99.9995))
    row, bracket = searched(outcome)
    assert row["throughput_pct"] == pytest.approx(99.9995, abs=PPM_OF_LINE)
    assert bracket["at_least"] == "no" and bracket["upper_pct"] == 100


def test_jitter_leaves_the_result_and_lowers_what_is_certain() -> None:
    device = Device(ifg_bits=96 + TAG_BITS, model="    jitter: {uniform: {max_ns: 3000}}", pattern=Pairs())
    truth_pct = float(device.sustained_pct)
    _, outcome, _ = run_on_sim(Throughput(), device.topology, (64,), *just_above(truth_pct))
    row, bracket = searched(outcome)
    assert row["carried_pct"] < row["throughput_pct"] - PPM_OF_LINE / 10
    assert_contains(bracket, truth_pct)


COARSE = ("search_max_pct=60", "search_resolution_pct=1")


def policed(burst_frames: int, capacity_fps: int = 1_488_095) -> Topology:
    """A device of two ports whose lookups are half of what both lines bring, or so many."""
    lookup = f"{{capacity_fps: {capacity_fps}, burst_frames: {burst_frames}}}"
    return networks.parsed(networks.switch(f"    lookup: {lookup}", ports=2))


def test_what_a_bucket_may_hide_stands_beside_the_throughput() -> None:
    _, outcome, _ = run_on_sim(Throughput(), policed(1000), (64,), *QUICK, *COARSE, "scaled_frames=10000")
    row, bracket = searched(outcome)
    truth_pct = float(100 * Fraction(1_488_095) / (2 * rate_at_pct(Fraction(100), 64, GIGABIT)))
    assert row["bucket_pct"] <= truth_pct <= bracket["upper_pct"]
    sent = next(table for table in outcome.tables if table.name == "search_trials").rows[-1]["tx_frames"]
    assert isinstance(sent, int)
    assert row["bucket_pct"] == pytest.approx(row["carried_pct"] * (1 - 1000 / (sent / 2)), rel=1e-3)


@pytest.mark.parametrize("burst_frames", [64, 1000])
@pytest.mark.parametrize(("test", "senders"), [(Throughput(), 2), (MaximumForwardingRate(), 1)])
def test_the_error_of_each_expression_of_a_throughput_contains_what_a_bucket_may_hide(
    test: Method, senders: int, burst_frames: int
) -> None:
    line_fps = senders * float(max_rate_fps(64, GIGABIT))
    device = policed(burst_frames, int(line_fps / 2))
    _, outcome, _ = run_on_sim(test, device, (64,), *QUICK, *COARSE, "scaled_frames=3000")
    table = outcome.tables[0]
    row, errors = table.rows[0], NumberErrors({"parameters": []}, outcome.tables)
    shown = [column for column in table.columns if column.key in ("throughput_fps", "throughput_pct", "mfr_fps")]
    for column in shown:
        unit_fps = line_fps / 100 if column is fields.THROUGHPUT_PCT else 1
        bounds, found = errors.bounds_of(table, row, column), row[column.key]
        assert isinstance(found, float) and bounds.burst < 0 < bounds.below
        low, high = found + min(-bounds.below, bounds.burst), found + bounds.above
        assert low * unit_fps <= line_fps / 2 <= high * unit_fps, column.key
    assert len(shown) == 2


def test_where_loss_alone_decides_nothing_is_said_for_good() -> None:
    device = Device(clock_ppm=-50, queue_frames=2000, pattern=Pairs())
    _, outcome, _ = run_on_sim(Throughput(), device.topology, (64,), *QUICK, "sustained=false")
    row, bracket = searched(outcome)
    assert row["throughput_pct"] == 100 and row["carried_pct"] is None
    assert row["bucket_pct"] < float(device.sustained_pct) and bracket["lower_pct"] == 100


def test_meshes_say_the_same() -> None:
    device = Device(ports=3, clock_ppm=-200)
    truth_pct = float(device.sustained_pct)
    settings = ("parts=throughput", *(one for one in just_above(truth_pct) if not one.startswith("confirm")))
    _, outcome, _ = run_on_sim(FullyMeshed(), device.topology, (64,), *settings)
    row, bracket = searched(outcome)
    assert row["load_pct"] == pytest.approx(truth_pct, abs=PPM_OF_LINE) and row["bucket_pct"] < truth_pct
    assert_contains(bracket, truth_pct)


def test_no_text_promises_more_than_the_columns_say() -> None:
    _, outcome, _ = run_on_sim(Throughput(), Device(pattern=Pairs()).topology, (64,), *QUICK)
    text = " ".join((*outcome.deviations, *(table.note for table in outcome.tables)))
    assert "as long as one likes" not in text and "A bucket of B frames" in text and "'For good'" in text
