"""Forward pressure and maximum forwarding rate of the White Rabbit report, tables 1.5 and 1.6.

Goal: P4Mesh prints the published values. Method: the tests run on ``wrs-18x1g`` with shorter trials; received frames
are T R / (8 (L + 24)) and what the queue of 64 frames holds when the sender stops.
"""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import pytest
from support.networks import changed, shipped
from support.published import SIZES, WHITE_RABBIT
from support.runs import run_on_sim

from p4mesh.methods.rfc2889.forward_pressure import ForwardPressure
from p4mesh.methods.rfc2889.maximum_forwarding_rate import MaximumForwardingRate
from p4mesh.traffic.line_rate import max_rate_fps, tx_frames

GIGABIT = 10**9
OVERHEAD_BYTES = 24
QUEUE_FRAMES = 64
REPORT_NS = 30 * 10**9


def forwarded(size: int, duration_ns: int) -> int:
    """Frames that leave within a duration at an overhead of 24 bytes; a clock off by 1 ppm adds 43 in 30 s at most."""
    return tx_frames(duration_ns, max_rate_fps(size, GIGABIT, OVERHEAD_BYTES))


def scaled_to_the_report(size: int, received: int, duration_ns: int) -> int:
    """The result of 30 s: the same queue, more frames at the rate of the egress."""
    return received - forwarded(size, duration_ns) + forwarded(size, REPORT_NS)


@pytest.mark.parametrize("row", WHITE_RABBIT["forward_pressure"], ids=lambda row: row["frame_size_B"])
def test_forward_pressure(row: dict[str, float]) -> None:
    size = int(row["frame_size_B"])
    _, outcome, trials = run_on_sim(ForwardPressure(), shipped("wrs-18x1g"), (size,), "clock_calibration=false")
    (result,) = outcome.tables[0].rows
    ((spec, _),) = trials
    offered_fps = max_rate_fps(size, GIGABIT, OVERHEAD_BYTES - 5)
    assert tx_frames(REPORT_NS, offered_fps) == row["tx_frames"]
    assert result["tx_frames"] == tx_frames(spec.duration_ns, offered_fps)
    assert result["offered_pct"] == pytest.approx(row["tx_util_pct"], abs=0.001)
    received = scaled_to_the_report(size, cast(int, result["rx_frames"]), spec.duration_ns)
    assert abs(received - row["rx_frames"]) <= QUEUE_FRAMES
    assert result["forwarding_pct"] == pytest.approx(row["rx_util_pct"], abs=0.001)
    assert result["min_rx_gap_ns"] == pytest.approx(
        8 * (OVERHEAD_BYTES - 8), abs=cast(float, result["min_rx_gap_error_ns"])
    )
    assert cast(float, result["min_rx_gap_error_ns"]) < 3
    assert (result["finding"], result["short_gap"]) == ("not detected", "no")
    assert outcome.state.value == "PASS"


def test_a_switch_that_sends_gaps_of_88_bits_is_detected_by_rate_and_by_gap() -> None:
    _, outcome, _ = run_on_sim(ForwardPressure(), changed("wrs-18x1g", ("ifg_bits: 128", "ifg_bits: 88")), (64,))
    (result,) = outcome.tables[0].rows
    assert (result["finding"], result["short_gap"]) == ("Forward Pressure detected", "yes")
    assert result["min_rx_gap_ns"] == pytest.approx(88, abs=cast(float, result["min_rx_gap_error_ns"]))
    assert cast(float, result["min_rx_gap_error_ns"]) < 1.1
    assert outcome.state.value == "FAIL"


@pytest.mark.parametrize(
    ("gap_bits", "offset_ppm", "finding"),
    [
        *((96, offset, "not detected") for offset in (-150, 50, 150)),
        *((88, offset, "Forward Pressure detected") for offset in (-150, -50, 50, 150)),
    ],
)
def test_clock_and_gap_are_told_apart_at_every_size(gap_bits: int, offset_ppm: int, finding: str) -> None:
    port = ("ifg_bits: 128, queue_frames: 64, clock_offset_ppm: 1", f"ifg_bits: {gap_bits}, queue_frames: 64, ")
    switch = changed("wrs-18x1g", (port[0], f"{port[1]}clock_offset_ppm: {offset_ppm}"))
    _, outcome, _ = run_on_sim(ForwardPressure(), switch, (64, 512, 1518), "scaled_frames=10000")
    rows = outcome.tables[0].rows
    assert [row["finding"] for row in rows] == [finding] * 3
    # A fast device with the short gap keeps up with the sender, so its clock is not seen.
    seen = gap_bits == 96 or offset_ppm < 0
    assert rows[0]["clock_ppm"] == (pytest.approx(offset_ppm, abs=5) if seen else None)


def test_the_clock_of_the_report_is_measured() -> None:
    """The switch of the report: 24 bytes per frame, and a clock that is about 1 ppm fast."""
    _, outcome, _ = run_on_sim(ForwardPressure(), shipped("wrs-18x1g"), (64, 512, 1518))
    assert outcome.tables[0].rows[0]["clock_ppm"] == pytest.approx(1, abs=1)
    assert "24.000 bytes (RFC: 20)" in outcome.tables[0].note


def test_frames_of_the_report_are_those_of_line_rate_at_every_size() -> None:
    for row in WHITE_RABBIT["maximum_forwarding_rate"]:
        assert tx_frames(REPORT_NS, max_rate_fps(row["frame_size_B"], GIGABIT)) == row["tx_frames"]


@pytest.mark.parametrize("row", WHITE_RABBIT["maximum_forwarding_rate"][::3], ids=lambda row: row["frame_size_B"])
def test_maximum_forwarding_rate(row: dict[str, int]) -> None:
    size = row["frame_size_B"]
    # The search for the throughput is not part of the table: one step below the maximum is enough.
    settings = ("search_initial_pct=50", "search_resolution_pct=50")
    results, _, trials = run_on_sim(MaximumForwardingRate(), shipped("wrs-18x1g"), (size,), *settings)
    (result,) = results.values()
    spec, _ = trials[-1]
    assert result.best is not None and result.best.load_pct == 100
    assert result.best.tx_frames == tx_frames(spec.duration_ns, max_rate_fps(size, GIGABIT))
    received = scaled_to_the_report(size, result.best.rx_frames, spec.duration_ns)
    assert abs(received - row["rx_frames"]) <= QUEUE_FRAMES
    # Without the frames that left after the transmission, which were no part of the rate; a frame more or
    # less of this trial is 0.003 %.
    in_time = result.best.rx_frames - QUEUE_FRAMES
    utilisation_pct = Fraction(100 * in_time * 8 * (size + 20) * 10**9, spec.duration_ns * GIGABIT)
    printed = WHITE_RABBIT["forward_pressure"][SIZES.index(size)]["rx_util_pct"]
    assert float(utilisation_pct) == pytest.approx(printed, abs=0.01)


@pytest.mark.parametrize("clock_ppm", [-200, 0, 90])
@pytest.mark.parametrize("calibrates", ["true", "false"])
def test_the_gap_of_a_device_with_another_clock_is_within_its_error(clock_ppm: int, calibrates: str) -> None:
    """1,518 bytes of a clock that is slow by 200 ppm take 2.4 ns longer, which were taken for gap."""
    topology = changed("wrs-18x1g", ("clock_offset_ppm: 1", f"clock_offset_ppm: {clock_ppm}"))
    settings = (f"clock_calibration={calibrates}", "clock_tolerance_ppm=200")
    (result,) = run_on_sim(ForwardPressure(), topology, (1518,), *settings)[1].tables[0].rows
    error_ns = cast(float, result["min_rx_gap_error_ns"])
    assert result["min_rx_gap_ns"] == pytest.approx(128 / (1 + clock_ppm / 1e6), abs=error_ns)
    assert error_ns < (2 if calibrates == "true" else 4)
