"""Properties of every test on random small devices: no number of a result contradicts another one, or the device.

``P4MESH_RANDOM_RUNS`` says how many runs each property gets (``make fuzz``); the usual ones are the same every time.
"""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from support.random_runs import WHY_REFUSED, SmallDevice, SomeRefused, drawn, measured
from support.stated_errors import without_error

from p4mesh.errors import UnsupportedError, UsageError
from p4mesh.measurement.counts import Trend
from p4mesh.methods.registry import TESTS, find_test
from p4mesh.report.text import outcome_text
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

ASKED = os.environ.get("P4MESH_RANDOM_RUNS")
RANDOM_RUNS = settings(
    max_examples=int(ASKED or 3),
    derandomize=ASKED is None,
    database=None,
    deadline=None,
    phases=(Phase.generate,),  # devices are small as they are, and a run takes a second
    suppress_health_check=list(HealthCheck),
)
MEGABIT = 10**6
OTHER_DEVICES = (
    "convergence.",
    "recirculation.",
    "capsulation",
    ".reset",
    "hop_by_hop",
    "multiple_devices",
    "gsi.mixed",
    "rfc5695.",
    "srv6.",
)
"""Tests that need routers, labels, segments, tunnels, failures, resets, several devices or a role for each port."""
ON_A_SWITCH = [test.name for test in TESTS if not any(word in test.name for word in OTHER_DEVICES)]
ELSEWHERE = {"routed", "advertised_networks", "advertised_prefix", "modifier"}
"""Parameters for routers."""
SEARCHED = ("rfc2544.throughput", "rfc2889.fully_meshed", "rfc2889.unidirectional", "chassis.full_mesh")
SWEPT = ("rfc2544.frame_loss", "rfc2889.fully_meshed", "rfc2889.unidirectional", "rfc2889.maximum_forwarding_rate")


@st.composite
def devices(draw: st.DrawFn, ports: tuple[int, ...] = (2, 3, 4, 5, 6), mixed: bool = True) -> SmallDevice:
    count = draw(st.sampled_from(ports))
    one_rate = not mixed or draw(st.integers(0, 3))
    rate = st.sampled_from([10 * MEGABIT, 100 * MEGABIT, 1000 * MEGABIT])
    rates = [100 * MEGABIT] * count if one_rate else [draw(rate) for _ in range(count)]
    capacity_fps = draw(st.one_of(st.none(), st.integers(50, 200_000)))
    return SmallDevice(
        tuple(rates), capacity_fps, draw(st.sampled_from([1, 2, 16, 64])), draw(st.sampled_from([96, 97, 120, 480]))
    )


@st.composite
def parameters(draw: st.DrawFn, test: str) -> dict[str, str]:
    """Values of up to four parameters of a test."""
    declared = [item for item in find_test(test).parameters if item.name not in ELSEWHERE]
    chosen = draw(st.lists(st.sampled_from(declared), max_size=4, unique_by=lambda item: item.name))
    values = {
        item.name: drawn(
            item, lambda low, high: draw(st.integers(low, high)), lambda low, high: draw(st.floats(low, high))
        )
        for item in chosen
    }
    return {name: value for name, value in values.items() if value is not None}


def conserves(spec: TrialSpec, result: TrialResult) -> bool:
    """Whether each frame that was sent has come back once, or is lost, and the ports sum up to the whole."""
    sent = sum(port.tx_frames for port in result.ports)
    received = sum(port.rx_frames for port in result.ports)
    lost = result.lost_frames - result.doubtful_frames
    ends = result.expected_rx_frames == result.rx_frames - result.duplicate_frames + lost
    return ends and sent == result.tx_frames == result.intended_frames and received == result.rx_frames


@RANDOM_RUNS
@given(data=st.data(), test=st.sampled_from(ON_A_SWITCH), size=st.sampled_from([86, 87, 128, 512, 1518]))
def test_any_parameters_end_in_a_result_that_adds_up_or_in_one_message(
    data: st.DataObject, test: str, size: int
) -> None:
    """Goal: loads below a frame per trial, odd numbers of frames, ports that do not fit a pattern are no accidents."""
    device, given_settings = data.draw(devices()), data.draw(parameters(test))
    try:
        run = measured(test, device, size, given_settings)
    except (UsageError, UnsupportedError) as error:
        assert error.message and error.hint
        return
    for spec, result in run.trials:
        assert result.status.trusted, f"{spec.label}: {result.reason}"
        assert conserves(spec, result), spec.label
        assert result.lost_frames >= 0 <= result.flooded_frames
    assert outcome_text(run.outcome)
    assert [found for table in run.outcome.tables for found in without_error(table)] == []


@pytest.mark.parametrize("test", ON_A_SWITCH)
def test_every_table_has_the_errors_of_its_numbers(test: str) -> None:
    try:
        run = measured(test, SmallDevice((100 * MEGABIT,) * 4), 128, {})
    except UnsupportedError:
        return
    assert [found for table in run.outcome.tables for found in without_error(table)] == []


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("test", ON_A_SWITCH)
def test_trials_that_could_not_be_prepared_end_in_a_result(test: str, every: int) -> None:
    """Goal: a trial without flows, ports and latency is no accident: its row has empty cells, and the test says why."""
    device = SmallDevice((100 * MEGABIT,) * 4)
    try:
        run = measured(test, device, 128, {}, lambda engine: SomeRefused(engine, every))
    except UnsupportedError:
        return
    text = outcome_text(run.outcome)
    if any(result.status is Verdict.INVALID for _, result in run.trials):
        assert run.outcome.state is Verdict.INVALID
        assert WHY_REFUSED in text


@st.composite
def limited(draw: st.DrawFn) -> tuple[SmallDevice, int, Fraction]:
    """A device whose outputs keep longer gaps than the tester, a frame size, and the load that they carry."""
    ifg_bits, size = draw(st.sampled_from([97, 100, 128, 240, 480, 960])), draw(st.sampled_from([64, 128, 512, 1518]))
    device = SmallDevice(
        (100 * MEGABIT,) * draw(st.sampled_from([2, 4])), None, draw(st.sampled_from([4, 16, 64])), ifg_bits
    )
    return device, size, 100 * Fraction(8 * (size + 20), 8 * (size + 8) + ifg_bits)


def results_of(stored: Any) -> list[dict[str, Any]]:
    """Every result of a search in the data of a unit."""
    if isinstance(stored, dict):
        below = [found for value in stored.values() for found in results_of(value)]
        return [stored, *below] if "throughput_pct" in stored else below
    return [found for value in stored for found in results_of(value)] if isinstance(stored, list) else []


@RANDOM_RUNS
@given(
    test=st.sampled_from(SEARCHED),
    device=limited(),
    frames=st.sampled_from([300, 1000]),
    method=st.sampled_from(["bisect", "guided", "bisect_verified", "linear_down", "linear_up", "combo", "mlr"]),
)
def test_the_bracket_of_a_search_contains_the_truth(
    test: str, device: tuple[SmallDevice, int, Fraction], frames: int, method: str
) -> None:
    """A result may be above it by its stated error, where its trial was too short to tell."""
    switch, size, truth = device
    asked = {
        "scaled_frames": str(frames), "search_method": method, "search_resolution_pct": "0.1",
        **({"search_step_pct": "5"} if "linear" in method else {}),
        **({"parts": "throughput"} if test.startswith("rfc2889") else {}),
    }  # fmt: skip
    run = measured(test, switch, size, asked)
    found = [result for unit in run.units for result in results_of(unit.data())]
    assert found
    for result in found:
        shown = result["shown"]
        # Latencies are whole ticks.
        error = Fraction(1001, 1000) * Fraction(max(50, shown.get("excess_error_ppm") or 0)) / 10**6
        told = shown.get("queues") != Trend.UNCLEAR.value
        assert result["throughput_pct"] <= truth * (1 + error), result
        assert result["upper_pct"] is None or result["upper_pct"] > float(truth) * (1 - 1e-9)
        assert result["upper_pct"] is not None or not told or result["throughput_pct"] <= truth


@RANDOM_RUNS
@given(test=st.sampled_from(SWEPT), device=limited(), frames=st.sampled_from([50, 51, 333]))
def test_a_higher_load_forwards_no_less_and_loses_no_smaller_share(
    test: str, device: tuple[SmallDevice, int, Fraction], frames: int
) -> None:
    """But for the frames that the queues hold at the end of a trial, and two on the wire of each port."""
    switch, size, _ = device
    asked = {"scaled_frames": str(frames), "sustained": "false", "parts": "forwarding", "sweep_start_pct": "1"}
    if test != "rfc2889.fully_meshed" and test != "rfc2889.unidirectional":
        del asked["parts"]
    known = {parameter.name for parameter in find_test(test).parameters}
    run = measured(test, switch, size, {key: value for key, value in asked.items() if key in known})
    rising = sorted(run.trials, key=lambda trial: trial[0].streams[0].rate_fps)
    held = len(switch.rates_bps) * (switch.queue_frames + 2)
    for (low, before), (high, after) in pairwise(rising):
        if low.duration_ns != high.duration_ns or len(low.streams) != len(high.streams):
            continue
        assert after.rx_frames >= before.rx_frames - held, (low.label, high.label)
        assert after.lost_frames >= before.lost_frames - held, (low.label, high.label)
    whole = max_rate_fps(size, 100 * MEGABIT) * len(switch.rates_bps)
    for spec, result in rising:
        carried = whole * spec.duration_ns / 10**9
        assert result.rx_frames <= carried + held


@RANDOM_RUNS
@given(
    data=st.data(),
    test=st.sampled_from(["rfc2544.throughput", "rfc2544.frame_loss", "rfc2889.fully_meshed", "rfc2889.broadcast"]),
    device=devices(ports=(3, 4, 5), mixed=False),
)
def test_results_do_not_depend_on_the_order_of_the_ports_of_the_device(
    data: st.DataObject, test: str, device: SmallDevice
) -> None:
    """Goal: a device whose ports are alike has the same tables, whichever of them a tester port is linked to."""
    order = data.draw(st.permutations(range(1, len(device.rates_bps) + 1)))
    assume(tuple(order) != tuple(sorted(order)))
    other = SmallDevice(device.rates_bps, device.capacity_fps, device.queue_frames, device.ifg_bits, order=tuple(order))
    asked = {"pattern": "pairs"} if test.startswith("rfc2544") else {}
    one, two = (measured(test, each, 128, asked) for each in (device, other))
    assert outcome_text(one.outcome) == outcome_text(two.outcome)
