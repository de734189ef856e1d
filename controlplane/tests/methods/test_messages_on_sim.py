"""Tests of messages on sim: times of messages as the definitions say, to the picosecond, and losses that add up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.beds import make_bed
from support.fakes import FakeMeasurer
from support.latency_bench import wires
from support.networks import parsed, switch
from support.random_runs import SmallDevice
from support.random_runs import measured as random_run
from support.runs import run_on_sim, run_unit

from p4mesh.errors import ParameterError
from p4mesh.layers import IPv4, Vlan
from p4mesh.measurement.counts import (
    FlowCounts,
    LatencyStats,
    MessageCounts,
    MessageTime,
    PortCounts,
    QueueTrend,
    Transient,
    Trend,
)
from p4mesh.methods.base import TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.messages.fairness import LoadRow, LoadRows, jain_index, load_row, max_over_min, ratio
from p4mesh.methods.messages.latency import MessageLatency
from p4mesh.methods.messages.parameters import position_classes, require_room
from p4mesh.methods.messages.results import Measured, damaged, message_row
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.run.options import RunOptions
from p4mesh.run.single import FinishedRun, run
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.patterns import Message, Rotate
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.results import not_measured
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

GIGABIT, SLOW = 10**9, 10**8
LATENCY_NS = 2000
BACKGROUND = "messages.background"
PHASES = ("learning_wait_ms=1", "settle_ms=1", "restabilise_ms=0")


def measure(tmp_path: Path, test: str, topology: str, size: int, *settings: str) -> FinishedRun:
    options = RunOptions(test, parsed(topology), str(size), (*PHASES, *settings), tmp_path / "run", jobs=1)
    return run(options)


def rows(finished: FinishedRun, name: str) -> list[dict[str, Any]]:
    return [dict(row) for table in finished.outcome.tables if table.name == name for row in table.rows]


@pytest.mark.parametrize(
    ("rate_in", "rate_out", "frames", "size"),
    [
        (GIGABIT, GIGABIT, 192, 64),
        (GIGABIT, SLOW, 20, 125),
        (SLOW, GIGABIT, 20, 125),
        (10 * GIGABIT, 10 * GIGABIT, 2004, 64),
        (GIGABIT, GIGABIT, 1, 1518),
    ],
)
def test_times_of_messages_are_those_of_the_definitions(
    rate_in: int, rate_out: int, frames: int, size: int, tmp_path: Path
) -> None:
    """A switch stores a frame, looks it up for 2 us, and sends frames in turn with preamble and gap."""
    topology = switch(
        f"forwarding: store_and_forward, latency_ns: {LATENCY_NS}",
        ports=2,
        rates_bps=(rate_in, rate_out),
        port="queue_frames: 4096",
        tester="clock_tick_ps: 1",
    )
    found = measure(
        tmp_path, "messages.latency", topology, size, f"message_frames={frames}", "messages=10", "messages_per_s=1000"
    )
    assert found.outcome.state is Verdict.MEASURED
    (row,) = rows(found, "messages")
    s_in, s_out = (Fraction(8 * size * 10**9, rate) for rate in (rate_in, rate_out))
    slot_in, slot_out = (Fraction(8 * (size + 20) * 10**9, rate) for rate in (rate_in, rate_out))
    first = s_in + LATENCY_NS
    last = first + (frames - 1) * max(Fraction(0), slot_out - slot_in)
    behind = (frames - 1) * slot_in
    fit = behind + s_in
    filo = last + behind + s_out
    lilo = last - s_in + s_out
    expected = {"fifo": first, "lilo": lilo, "filo": filo, "mimo": min(lilo, filo - fit * rate_in / rate_out)}
    for name, value in expected.items():
        for which in ("min", "avg", "max"):
            assert row[f"{name}_us_{which}"] * 1000 == pytest.approx(float(value), abs=0.0005), (name, which)
    case = "lilo" if rate_in <= rate_out else "filo"
    assert (expected["mimo"] == lilo) is (case == "lilo" or frames == 1)
    positions = {row["position"]: row for row in rows(found, "positions")}
    assert positions["1"]["min_us"] == positions["1"]["max_us"] == pytest.approx(float(first / 1000), abs=5e-7)
    assert positions[str(frames)]["avg_us"] == pytest.approx(float(last / 1000), abs=5e-7)
    for name, row in positions.items():
        low, _, high = name.partition("..")
        covered = range(int(low), int(high or low) + 1)
        behind_first = Fraction(sum(covered), len(covered)) - 1
        mean = first + behind_first * max(Fraction(0), slot_out - slot_in)
        assert row["avg_us"] == pytest.approx(float(mean / 1000), abs=5e-7), name
        assert (row["tx_frames"], row["rx_frames"]) == (10 * len(covered), 10 * len(covered)), name


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        (1, ["1"]),
        (2, ["1", "2"]),
        (3, ["1", "2", "3"]),
        (4, ["1", "2", "2..3", "3", "4"]),
        (7, ["1", "2", "2..6", "3", "3..5", "4", "5", "6", "7"]),
        (192, ["1", "2", "2..191", "3..96", "3..190", "97", "98..190", "191", "192"]),
    ],
)
def test_positions_are_shown_as_in_the_table_of_the_report(frames: int, expected: list[str]) -> None:
    """Table 2.1 has cells 1, 2, 2 to 191, 3 to 96, 97, 3 to 190, 98 to 190, 191 and 192."""
    flows = tuple(flow(part.name, 1000.0 + part.first) for part in position_classes(frames))
    measured = Measured(64, frames, 1, 2, GIGABIT, GIGABIT, Fraction(672), flows)
    result = TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13)
    shown = message_row(measured, result, "measured", Fraction(1), None, Fraction(1)).positions
    assert [row.position for row in shown] == expected
    joined = {row.position: row for row in shown}
    if frames == 192:
        # Each class has 10 frames here, whatever its width.
        assert (joined["2..191"].rx_frames, joined["3..190"].rx_frames) == (50, 30)
        assert joined["3..190"].avg_us == pytest.approx((1003 + 1097 + 1098) / 3000)
        assert (joined["3..190"].min_us, joined["3..190"].max_us) == (1.003, 1.098)


def test_position_classes_are_those_of_the_report() -> None:
    assert [part.name for part in position_classes(192)] == ["1", "2", "3..96", "97", "98..190", "191", "192"]
    for frames in (1, 2, 3, 4, 5, 7, 2004):
        covered = [place for part in position_classes(frames) for place in range(part.first, part.last + 1)]
        assert covered == list(range(1, frames + 1))


def test_a_message_that_does_not_fit_is_refused_and_nothing_stays(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"takes 134.4 us of the line of port 1, and 10,000 a second leave 100 us"):
        measure(tmp_path, "messages.latency", switch(ports=2), 64, "messages_per_s=10000", "message_frames=200")
    assert not (tmp_path / "run").exists()


def test_messages_may_follow_each_other_without_a_gap() -> None:
    """200 frames of 64 bytes take 200 times 672 ns of 1 Gbit/s."""
    most = Fraction(10**9, 200 * 672)
    require_room("t", make_bed(), 1, (64,), 200, most)
    with pytest.raises(ParameterError, match=r"a message of 200 frames of 64 B takes 134\.4 us") as caught:
        require_room("t", make_bed(), 1, (64,), 200, most + Fraction(1, 1000))
    assert caught.value.hint == "at most 7440.47 messages a second, or shorter ones"


def flow(part: str, latency_ns: float, sent: int = 10, received: int = 10) -> FlowCounts:
    stats = LatencyStats(received, latency_ns, latency_ns, latency_ns * received)
    return FlowCounts("measured", 1, 2, sent, received, latency=stats, part=part)


def test_what_a_wire_takes_is_subtracted_in_a_row_of_its_own() -> None:
    measured = Measured(64, 2, 1, 2, GIGABIT, GIGABIT, Fraction(672), (flow("1", 1500.0), flow("2", 1600.0)))
    result = TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13)
    raw, calibrated = message_row(measured, result, "measured", Fraction(1), Fraction(500), Fraction(1)).times
    assert (raw.fifo_us_avg, raw.mimo_us_avg, raw.filo_us_avg) == (1.5, 1.6, (1600 + 672 + 512) / 1000)
    assert (calibrated.fifo_us_avg, calibrated.mimo_us_avg, calibrated.dif_pct) == (1.0, 1.1, pytest.approx(10))
    assert (calibrated.avg_error_us, calibrated.dif_error_pct) == (0.001, pytest.approx(0.21)), "stamps of 1 ns"


@pytest.mark.parametrize(("frames", "error_us"), [(1, None), (2, 0.001)])
def test_the_average_of_one_frame_has_no_error_that_is_known(frames: int, error_us: float | None) -> None:
    flows = tuple(flow(part, 1500.0, frames, frames) for part in ("1", "2"))
    measured = Measured(64, 2, 1, 2, GIGABIT, GIGABIT, Fraction(672), flows)
    result = TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13)
    row = message_row(measured, result, "measured", Fraction(1), None, Fraction(1))
    assert [place.avg_error_us for place in row.positions] == [error_us] * 2 == 2 * [row.times[0].avg_error_us]


@pytest.mark.parametrize(
    ("rate_out", "added_bytes", "lilo", "filo", "mimo"),
    [
        # Serializations take 512 and 5,120 ns, four bytes more 320 ns: NFOT is ten times 3 x 672 + 512 ns.
        (SLOW, 4, 7000 + 5440 - 512, 9000 + 5440, 9000 + 5440 - 25_280),
        (GIGABIT, 4, 7000 + 32, 9000 + 544, 7000 + 32),
        (GIGABIT, None, 7000, 9000 + 512, 7000),
    ],
)
def test_times_of_counted_messages_by_hand(
    rate_out: int, added_bytes: int | None, lilo: int, filo: int, mimo: int
) -> None:
    """Messages of four frames whose first, last and both frames took 1, 7 and 9 us; other streams are left out."""
    stats = None if added_bytes is None else LatencyStats(3, 1.0, 1.0, 3.0, added_bytes=added_bytes)
    flows = tuple(
        FlowCounts(stream, 1, 2, 3, 4, 1, latency=stats, part=str(part))
        for stream in ("other", "measured")
        for part in range(1, 5)
    )
    times = [MessageTime(2, ns - 1.0, ns + 1.0, 2.0 * ns) for ns in (1000, 7000, 9000)]
    counted = (MessageCounts("other", 1, 2, 4, 9, 8, 1), MessageCounts("measured", 1, 2, 4, 3, 2, 1, *times))
    result = replace(TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13), flows=flows, messages=counted)
    measured = Measured.of(result, "measured", make_bed(rates_bps=(GIGABIT, rate_out)), (1, 2), 64, 4)
    found = measured.times()
    assert found is not None
    spreads = (found.fifo, found.lilo, found.filo, found.mimo)
    assert [(one.min_ns, one.avg_ns, one.max_ns) for one in spreads] == [
        (ns - 1, ns, ns + 1) for ns in (1000, lilo, filo, mimo)
    ]
    row = message_row(measured, result, "measured", Fraction(1), None, Fraction(1))
    assert (row.messages, row.complete_messages, row.damaged_messages_min, row.damaged_messages_max) == (3, 2, 1, 1)
    assert row.positions[0].rx_frames == 3, "copies are left out"
    nothing = message_row(replace(measured, flows=(), counted=None), result, "x", Fraction(1), None, Fraction(1))
    assert (nothing.messages, nothing.damaged_messages_min, nothing.times[0].fifo_us_avg) == (0, 0, None)


def test_the_losses_of_positions_bound_the_damaged_messages() -> None:
    alone = [flow("1", 1.0, received=9), flow("2", 1.0, received=6), flow("3", 1.0)]
    assert damaged(alone, 3, 10) == (5, 4, 5)
    joined = [flow("1", 1.0), flow("2..4", 1.0, sent=30, received=16)]
    assert damaged(joined, 4, 10) == (14, 5, 10)
    # An aborted trial ends within a message.
    assert damaged(joined, 4, 3) == (14, 3, 3)


def test_fairness_is_1_for_equal_losses_and_1_over_n_for_one_loser() -> None:
    third = Fraction(1, 3)
    assert (jain_index([third] * 4), max_over_min([third] * 4)) == (1, 1)
    assert (jain_index([third, *[Fraction(0)] * 3]), max_over_min([third, Fraction(0)])) == (Fraction(1, 4), None)
    assert jain_index([Fraction(0)] * 4) is None


def test_an_input_that_sent_nothing_has_no_loss_ratio() -> None:
    assert (ratio(0, 0), ratio(0, 4), ratio(1, 4)) == (None, 0.0, 0.25)


def load(
    load_pct: int,
    lost: tuple[int, int, int],
    *,
    last_ns: int,
    offsets: tuple[int, ...] = (),
    messages: int = 30,
    **found: Any,
) -> Any:
    """A trial of two inputs with messages of two frames each, in slots of 1 us at the output.

    The first input may lose the second frame of a message, the second input both. First frames of the first input come
    twice.
    """
    pattern = Message(Rotate(), 2)
    rate_fps = Fraction(load_pct, 200) * 10**6
    stream = Stream("inputs", 64, rate_fps, 2 * messages, pattern, (1, 2), (3,), start_offset_ns=offsets)
    spec = TrialSpec("n to one", (stream,), 10**6)
    latency = (LatencyStats(1, 2500.0, 2500.0, 2500.0), LatencyStats(1, 4000.0, 4000.0, 4000.0), None, None)
    places = ((1, "1", 0, messages), (1, "2", lost[0], 0), (2, "1", lost[1], 0), (2, "2", lost[2], 0))
    flows = tuple(
        FlowCounts(
            "inputs",
            port,
            3,
            messages,
            messages - some + twice,
            twice,
            part=part,
            latency=times,
            first_rx_ns=500,
            last_rx_ns=500 + last_ns,
        )
        for (port, part, some, twice), times in zip(places, latency, strict=True)
    )
    result = not_measured(spec, Verdict.MEASURED, "")
    return spec, replace(result, tx_frames=4 * messages, lost_frames=sum(lost), flows=flows, **found)


OVER = load(
    150,
    (6, 9, 9),
    last_ns=99_000,
    ports=(PortCounts(3, rx_frames=96, late_frames=10, corrupted_frames=1), PortCounts(4, late_frames=7)),
    transient=Transient(1000, over=True, frames=5, hidden_frames=2),
    misdirected_frames=4,
    corrupted_frames=1,
)
"""96 frames in 100 slots: 54 of one input and 42 of the other one, that share ten late and five early frames so."""


@pytest.mark.parametrize("trials", [1, 2])
def test_losses_of_inputs_by_hand(trials: int) -> None:
    """Lost, late and early: 6 + 6 + 3 of 60, and 18 + 4 + 2. The same trial twice has the same shares and errors.

    Late ones may have been on the way, 3 in the least latency, and 2 more may be of the transient: of 39 frames, 34 to
    41 are lost for good. An input may have none of the late and early frames or all.
    """
    row = load_row([OVER] * trials, 64, Fraction(150), Fraction(1000))
    assert (row.tx_frames, row.lost_frames, row.late_frames, row.early_frames) == (
        120 * trials,
        24 * trials,
        10 * trials,
        5 * trials,
    )
    assert (row.input_count, row.corrupted_frames, row.misinserted_frames) == (2, trials, 4 * trials)
    first, second = row.inputs
    assert (first.port, first.late_frames, first.early_frames) == (1, 6 * trials, 3 * trials)
    assert (second.port, second.late_frames, second.early_frames) == (2, 4 * trials, 2 * trials)
    assert (first.frame_loss_ratio, second.frame_loss_ratio) == (0.25, 0.4)
    assert (first.frame_loss_error, second.frame_loss_error) == pytest.approx((14 / 60, 11 / 60))
    assert (first.messages, first.damaged_messages_min, first.damaged_messages_max) == (
        30 * trials,
        6 * trials,
        6 * trials,
    )
    assert (second.damaged_messages_min, second.damaged_messages_max) == (9 * trials, 18 * trials)
    # The offered load less the lost part of it is 1.5 * (1 - 39 / 120), above the line; with 41 it is 0.9875 of it.
    assert (row.throughput_pct, row.throughput_error_pct, row.conserved) == (100, pytest.approx(1.25), True)
    assert row.frame_loss_ratio == 39 / 120
    assert row.frame_loss_error == pytest.approx(1 - 0.9875 / 1.5 - 39 / 120)
    assert row.conserved_loss_ratio == pytest.approx(1 / 3)
    # Each late or early frame may be of one more message.
    assert (row.message_loss_ratio_min, row.message_loss_ratio_max) == (15 / 60, 39 / 60)
    assert (row.message_loss_error, row.queues) == (0, "filling")
    assert row.frame_max_over_min == pytest.approx(0.4 / 0.25)
    assert row.frame_jain == pytest.approx(0.65**2 / (2 * (0.25**2 + 0.4**2)))
    assert row.message_max_over_min == pytest.approx(9 / 6)
    assert row.message_jain == pytest.approx(15**2 / (2 * (6**2 + 9**2)))
    errors = (
        row.frame_max_over_min_error,
        row.frame_jain_error,
        row.message_max_over_min_error,
        row.message_jain_error,
    )
    if trials == 1:
        assert errors == (None,) * 4
    else:
        # Without late and early frames, 6 and 18 are lost; with all of them, 15 and 24 messages are damaged.
        lost_only = (18 / 6 - 1.6, row.frame_jain - 24**2 / (2 * (6**2 + 18**2)))
        damaged_most = (24 / 15 - 1.5, row.message_jain - 39**2 / (2 * (15**2 + 24**2)))
        assert errors == pytest.approx((*lost_only, *damaged_most))


def test_without_loss_a_queue_may_have_kept_frames_and_the_ends_of_inputs_say_nothing() -> None:
    """5 % beyond what leaves are 1/21 of what comes, 6 of 120 frames; first messages are not in the time of all inputs.

    Six of 58 frames in each of two trials, or of 29 messages of each input.
    """
    steady: dict[str, Any] = {
        "queues": QueueTrend(Trend.STEADY, 40_000.0, 10_000.0),
        "ports": (PortCounts(3, rx_frames=120),),
    }
    trial = load(80, (0, 0, 0), last_ns=120_000, offsets=(0, 700), **steady)
    row = load_row([trial] * 2, 64, Fraction(80), Fraction(1000))
    # All of them came while the inputs sent, as messages leave room behind them.
    kept = 6 / 116
    assert (row.throughput_pct, row.throughput_error_pct) == (80, pytest.approx(80 * kept))
    assert (row.frame_loss_ratio, row.frame_loss_error, row.conserved_loss_ratio) == (0, pytest.approx(kept), 0)
    assert (row.queues, row.finding) == ("steady", "")
    assert [one.frame_loss_error for one in row.inputs] == pytest.approx([12 / 116] * 2)
    assert (row.message_loss_ratio_max, row.message_loss_error) == (0, pytest.approx(12 / 116))
    assert (row.frame_max_over_min, row.frame_jain, row.frame_jain_error) == (None, None, None)
    # A single trial whose inputs do not begin together, and one that ended in a transient, have no error.
    alone = load_row([trial], 64, Fraction(80), Fraction(1000))
    changing = load(80, (0, 0, 0), last_ns=120_000, **steady, transient=Transient(0, over=False, frames=0))
    for unknown in (alone, load_row([changing] * 2, 64, Fraction(80), Fraction(1000))):
        assert (unknown.throughput_error_pct, unknown.frame_loss_error, unknown.message_loss_error) == (None,) * 3
    # Without readings a queue may have kept every frame, and above the line what the line does not carry.
    unseen = load(80, (0, 0, 0), last_ns=120_000, ports=(PortCounts(3, rx_frames=120),))
    assert load_row([unseen], 64, Fraction(80), Fraction(1000)).message_loss_error == 1
    held = load(125, (0, 0, 0), last_ns=95_000, **steady)
    row = load_row([held], 64, Fraction(125), Fraction(1000))
    assert row.inputs[0].frame_loss_error == pytest.approx(24 / 60)
    assert (row.throughput_pct, row.throughput_error_pct, row.conserved) == (125, 0, False), "120 frames in 96 slots"
    # Ends of inputs alone, of which nothing was lost, are no error.
    settled = load(80, (0, 0, 0), last_ns=120_000, offsets=(0, 700), queues=QueueTrend(Trend.STEADY))
    assert load_row([settled] * 2, 64, Fraction(80), Fraction(1000)).inputs[0].frame_loss_error == 0


def test_trials_that_differ_add_the_error_of_a_sample() -> None:
    """Of 60 frames 1 and 2 are lost: t(0.975, 1) = 12.706 times half of the difference. No share is beyond 0 and 1."""
    for some, error in ((2, 12.7062 / 120), (20, 1 - 21 / 120)):
        trials = [load(150, (lost, 9, 9), last_ns=99_000) for lost in (1, some)]
        row = load_row(trials, 64, Fraction(150), Fraction(1000))
        assert row.inputs[0].frame_loss_error == pytest.approx(error, abs=1e-5)


def test_the_bounds_of_a_loss_are_those_of_its_queue_of_its_begin_and_of_its_ends() -> None:
    queued = load(150, (6, 9, 9), last_ns=99_000, ports=(PortCounts(3, late_frames=24),))
    row = load_row([queued], 64, Fraction(150), Fraction(1000))
    assert row.inputs[0].frame_loss_error == pytest.approx(17 / 60), "3 on the way, and 14 late ones of either input"
    # Late frames came, 96 in 100 slots; less the lost part, 1.5 * (1 - 48 / 120), the load would be 90 %.
    assert (row.throughput_pct, row.throughput_error_pct) == (96, 0)
    spec, result = queued
    unknown = (spec, replace(result, flows=tuple(replace(flow, latency=None) for flow in result.flows)))
    assert load_row([unknown], 64, Fraction(150), Fraction(1000)).inputs[0].frame_loss_error == pytest.approx(14 / 60)
    begun = load(150, (6, 9, 9), last_ns=99_000, transient=Transient(1000, over=True, frames=5, hidden_frames=2))
    first, second = load_row([begun], 64, Fraction(150), Fraction(1000)).inputs
    assert (first.frame_loss_error, second.frame_loss_error) == pytest.approx((5 / 60, 5 / 60)), (
        "2 + 3, of either input"
    )
    # Of two trials the 8 frames of first messages may be among the 48 that were lost.
    apart = load(80, (6, 9, 9), last_ns=120_000, offsets=(0, 700))
    row = load_row([apart] * 2, 64, Fraction(80), Fraction(1000))
    assert row.inputs[0].frame_loss_error == pytest.approx(12 / 120 - 8 / 116)
    assert (row.frame_loss_ratio, row.frame_loss_error) == (0.2, pytest.approx(0.2 - 40 / 232))
    # 1 and 18 are lost, 7 and 22 with late ones: the error of a ratio, which is no share, may be larger than it.
    uneven = load(150, (1, 9, 9), last_ns=99_000, ports=(PortCounts(3, late_frames=10),))
    row = load_row([uneven] * 2, 64, Fraction(150), Fraction(1000))
    assert (row.frame_max_over_min, row.frame_max_over_min_error) == pytest.approx((22 / 7, 18 - 22 / 7))
    # In another trial 12 and 22: what each trial says alone is an error of sampling.
    other = load(150, (6, 9, 9), last_ns=99_000, ports=(PortCounts(3, late_frames=10),))
    row = load_row([uneven, other], 64, Fraction(150), Fraction(1000))
    sampled = 12.7062 * abs(22 / 7 - 22 / 12) / 2 + abs((22 / 7 + 22 / 12) / 2 - 44 / 19)
    assert row.frame_max_over_min_error == pytest.approx(sampled + abs(44 / 19 - 36 / 7), abs=1e-4)
    # An input that sends nothing loses nothing.
    spec, result = other
    flows = (*result.flows[:2], *(replace(flow, tx_frames=0, rx_frames=0) for flow in result.flows[2:]))
    row = load_row([(spec, replace(result, flows=flows))], 64, Fraction(150), Fraction(1000))
    assert (row.inputs[1].frame_loss_ratio, row.frame_jain, row.message_jain) == (None, 0.5, 0.5)
    # One that sends a frame and loses it has lost all of its frames and messages, whatever the other one loses.
    only = (*flows[:2], replace(flows[2], tx_frames=1), flows[3])
    one = (spec, replace(result, flows=only))
    assert load_row([one], 64, Fraction(150), Fraction(1000)).inputs[1].frame_loss_error == 1
    assert load_row([one], 64, Fraction(150), Fraction(1000)).frame_max_over_min == 60 / 16
    row = load_row([one] * 2, 64, Fraction(150), Fraction(1000))
    assert (row.frame_max_over_min, row.frame_max_over_min_error) == pytest.approx((60 / 16, 10 - 60 / 16))
    both = (*only[:3], replace(flows[3], tx_frames=1))
    row = load_row([(spec, replace(result, flows=both))] * 2, 64, Fraction(150), Fraction(1000))
    assert (row.message_max_over_min, row.message_max_over_min_error) == pytest.approx((5, 5 - 30 / 16))
    # Where none comes, none is late.
    none = tuple(replace(flow, rx_frames=0, duplicate_frames=0) for flow in flows)
    row = load_row([(spec, replace(result, flows=none))], 64, Fraction(150), Fraction(1000))
    assert [one.late_frames for one in row.inputs] == [0, 0]
    # Inputs with one message each have no time in which all of them send.
    short = load(80, (0, 0, 0), last_ns=5000, offsets=(0, 700), messages=1)
    assert load_row([short] * 2, 64, Fraction(80), Fraction(1000)).inputs[0].frame_loss_error == 1
    losing = load(80, (0, 1, 1), last_ns=5000, offsets=(0, 700), messages=1)
    assert load_row([losing] * 2, 64, Fraction(80), Fraction(1000)).inputs[1].frame_loss_error == 1


@pytest.mark.parametrize(("sent", "kind"), [((1, 0), "frame"), ((1, 1), "message")])
def test_what_one_input_sent_only_once_and_lost_is_all_of_its(sent: tuple[int, int], kind: str) -> None:
    """One frame, or one message of two, in one of two trials; the other input lost one of 1,000 frames in each."""
    spec, result = load(150, (1, 0, 0), last_ns=1_990_000, messages=500)
    trials = []
    for second in (sent, (0, 0)):
        flows = (
            replace(flow, tx_frames=count, rx_frames=0) for flow, count in zip(result.flows[2:], second, strict=True)
        )
        trials.append((spec, replace(result, flows=(*result.flows[:2], *flows))))
    row = load_row(trials, 64, Fraction(150), Fraction(1000))
    share = 1 / 1000 if kind == "frame" else 1 / 500
    both = (1 + share) ** 2 / (2 * (1 + share**2))
    assert getattr(row, f"{kind}_jain") == pytest.approx(both)
    sampled = 12.7062 * (both - 0.5) / 2 + (both - 0.5) / 2
    assert getattr(row, f"{kind}_jain_error") == pytest.approx(sampled, rel=1e-4), "no frame was late"


@pytest.mark.parametrize(("last_ns", "conserved"), [(94_000, True), (93_999, False)])
def test_an_output_carries_one_frame_more_than_its_line_at_most(last_ns: int, conserved: bool) -> None:
    """96 frames came; in 94 slots from the first to the last one the line carries 95."""
    row = load_row([load(150, (6, 9, 9), last_ns=last_ns)], 64, Fraction(150), Fraction(1000))
    assert row.conserved is conserved


def test_at_the_rate_of_the_line_a_queue_is_as_its_readings_say() -> None:
    """Without readings it may have kept all frames; inputs that begin together have no ends that say nothing."""
    full = load(100, (0, 0, 0), last_ns=119_000, offsets=(5, 5), ports=(PortCounts(3, late_frames=5),))
    row = load_row([full], 64, Fraction(100), Fraction(1000))
    assert (row.queues, row.late_frames, row.message_loss_error) == (None, 0, 1)
    assert (row.throughput_pct, row.throughput_error_pct) == (100, 100)


def test_more_frames_than_the_line_carries_are_told() -> None:
    """In 94 slots the line carries 95 frames, and one more at the rounding of time stamps."""
    for last_ns, conserved in ((94_000, True), (93_999, False)):
        row = load_row([load(150, (6, 9, 9), last_ns=last_ns)], 64, Fraction(150), Fraction(1000))
        assert row.conserved is conserved


def test_a_summary_has_the_highest_load_without_loss_the_peak_and_the_full_load() -> None:
    """80 % are carried; 110 % are in a queue; of 150 % all that the line carries come out, and 90 % of it of 200 %."""
    trials = {
        80: load(80, (0, 0, 0), last_ns=120_000, queues=QueueTrend(Trend.STEADY)),
        110: load(110, (0, 0, 0), last_ns=119_000),
        150: OVER,
        200: load(200, (30, 30, 15), last_ns=60_000),
    }
    rows = [load_row([trial], 64, Fraction(pct), Fraction(1000)) for pct, trial in trials.items()]
    test = find_test("messages.n_to_one")
    parameters = resolve(test.name, test.parameters, ())
    (unit,) = test.units(parameters, (64,))

    def summary(some: Sequence[LoadRow]) -> str:
        return test.assemble(make_bed(4), parameters, {unit: LoadRows(rows=tuple(some))}).summary

    full = f"at 200 % {rows[-1].throughput_pct:.4f} %"
    assert f"lossless up to 80 % of the loads tried, peak throughput 100.0000 %, {full}" in summary(rows)
    assert "loss or a queue that fills from 110 %, peak throughput 100.0000 %" in summary(rows[1:])
    # A trial too short to tell, and one of other frames that lost some at a lower load.
    unclear = replace(rows[0], queues=Trend.UNCLEAR.value)
    some = "no loss seen up to 80 %, in trials too short to tell whether a queue fills, peak"
    assert some in summary([unclear]) and "lossless" not in summary([unclear])
    assert f"lossless up to 70 % of the loads tried, {some}" in summary([replace(rows[0], load_pct=70.0), unclear])
    assert "lossless up to 70 % of the loads tried, peak" in summary(
        [replace(rows[0], load_pct=70.0), rows[0], replace(rows[2], load_pct=75.0)]
    )
    # 10,000 frames of each input in each trial, of which 1,000 may have been forgiven.
    sent = 10_000 * rows[0].input_count * parameters.integer("repeats")
    several = tuple(replace(row, tx_frames=sent) for row in rows)
    loads, inputs = test.assemble(make_bed(4), parameters, {unit: LoadRows(rows=several)}).tables
    assert "loses up to 10 % more" in loads.note and (rows[0].input_count, parameters.integer("repeats")) == (2, 4)
    assert ([column.key for column in inputs.columns][:3], inputs.detail) == (
        ["frame_size_bytes", "load_pct", "port"],
        True,
    )
    in_step = resolve(test.name, test.parameters, ("phases=in_step",))
    loads, _ = test.assemble(make_bed(4), in_step, {unit: LoadRows(rows=several)}).tables
    assert "loses up to 2.5 % more" in loads.note, "one trial of each load"
    broken = replace(rows[0], status=Verdict.ABORT)
    assert summary([broken]).endswith("output: ABORT")


@pytest.mark.parametrize(
    ("trends", "shown", "finding"),
    [
        ((Trend.STEADY, Trend.FILLING), "filling", "it keeps frames, which are lost as soon as it is full"),
        ((Trend.STEADY, Trend.UNCLEAR), "too short to tell", "too short to tell whether a queue fills"),
        ((Trend.STEADY, None), "steady", ""),
        ((None, None), None, "too short to tell whether a queue fills"),
    ],
)
def test_a_load_without_loss_says_how_long_it_is_carried(
    trends: tuple[Trend | None, ...], shown: str | None, finding: str
) -> None:
    trials = [
        load(80, (0, 0, 0), last_ns=120_000, queues=None if trend is None else QueueTrend(trend)) for trend in trends
    ]
    row = load_row(trials, 64, Fraction(80), Fraction(1000))
    assert (row.queues, row.finding.endswith(finding), bool(row.finding)) == (shown, True, bool(finding))
    over = load_row([load(150, (0, 0, 0), last_ns=119_000)], 64, Fraction(150), Fraction(1000))
    kept = "64 B at 150 %: no frame was lost, but a queue fills: it keeps 33.33 % of the frames, which are lost as soon"
    assert over.finding == f"{kept} as it is full"
    broken = replace(row, status=Verdict.ABORT, reason="no link")
    assert broken.finding == "64 B at 80 %: ABORT: no link"


class Announced(Exception):
    """Ends a test when it has told its trials."""


class Announcing(FakeMeasurer):
    """Takes note of the trials that a test announces, and of no more."""

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        self.specs = list(specs)
        raise Announced


def trials_of(bed: Bed, *settings: str, name: str = "messages.n_to_one") -> list[TrialSpec]:
    test, measurer = find_test(name), Announcing()
    with pytest.raises(Announced):
        run_unit(test, bed, measurer, 64, *settings)
    return measurer.specs


def test_inputs_share_the_load_of_the_output_by_hand() -> None:
    """A frame of 64 bytes takes 672 ns of 1 Gbit/s: of 120 % three inputs send two frames of five slots each."""
    settings = ("message_frames=4", "messages=7", "receiver=2", "loads_pct=120, full", "repeats=3")
    specs = trials_of(make_bed(4), *settings)
    assert [spec.label for spec in specs] == [
        f"messages.n_to_one 64 B {load} %" for load in ("120", "300") for _ in range(3)
    ]
    (stream,) = specs[0].streams
    assert (stream.tx_ports, stream.rx_ports) == ((1, 3, 4), (2,))
    assert stream.rate_fps == Fraction(2, 5) * NS_PER_S / 672
    assert (stream.frame_count, stream.burst, stream.pattern) == (28, Burst(4), Message(Rotate(), 4))
    assert specs[3].streams[0].rate_fps == Fraction(NS_PER_S, 672)
    starts = {spec.streams[0].start_offset_ns for spec in specs[:3]}
    assert len(starts) == 3 and all(0 <= start < 4 * 1680 for each in starts for start in each)
    assert all(spec.watch_queues and spec.per_flow for spec in specs)
    assert specs[0].duration_ns == 28 * 1680
    for frames, burst in ((1, None), (2, Burst(2))):
        least = trials_of(make_bed(4), f"message_frames={frames}", "messages=1", "receiver=2")[0].streams[0]
        assert (least.frame_count, least.burst) == (frames, burst)
    some = trials_of(make_bed(5), *settings, "inputs=2", "phases=in_step")
    assert [spec.streams[0].tx_ports for spec in some] == [(1, 3)] * 2, "in step, one trial of a load is like another"
    assert some[1].streams[0].rate_fps == Fraction(NS_PER_S, 672) and not some[0].streams[0].start_offset_ns
    slowest = trials_of(make_bed(4), *settings[:3], "inputs=3", "loads_pct=0.5", "phases=in_step")
    assert [spec.streams[0].rate_fps for spec in slowest] == [Fraction(NS_PER_S, 600 * 672)], "of 0.5 % a third each"
    # Where an input's gap is longer, its slot is that of the load: 8 x (64 + 8 + 32) bits.
    ports = [replace(port, ifg_bits=256 if port.number == 4 else 96) for port in make_bed(4).ports]
    assert trials_of(replace(make_bed(4), ports=tuple(ports)), *settings)[3].streams[0].rate_fps == Fraction(10**9, 832)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("loads_pct=301",), "'301' is not valid"),
        (("loads_pct=0",), "'0' is not valid"),
        (("loads_pct=80,all",), "'all' is not valid"),
        (("inputs=4",), "inputs=4: there are 3 ports beside the receiver"),
        (("inputs=2", "loads_pct=200.1"), r"'200\.1' is not valid"),
    ],
)
def test_loads_and_inputs_that_there_cannot_be_are_refused(settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        trials_of(make_bed(4), *settings)


@pytest.mark.parametrize(
    ("receivers", "last", "burst"), [("other_outputs", 1, 2), ("all_outputs", 2, 2), ("other_outputs", 1, 1)]
)
def test_background_goes_from_every_port_but_the_sender_by_hand(receivers: str, last: int, burst: int) -> None:
    """Seven messages of four frames, 1,000 a second, begin after 2 ms; 9 ms of half of the line are 6,696 frames."""

    def trials(ports: int = 4, **changes: object) -> list[TrialSpec]:
        settings = {
            "message_frames": 4,
            "messages": 7,
            "messages_per_s": 1000,
            "background_frames": burst,
            "repeats": 1,
            "load_start_pct": 50,
            "load_step_pct": 25,
            "stabilise_ms": 2,
            "background_priority": 5,
            "phases": "in_step",
            "background_receivers": receivers,
            "vlan_id": 7,
            **changes,
        }
        return trials_of(make_bed(ports), *(f"{key}={value}" for key, value in settings.items()), name=BACKGROUND)

    specs = trials()
    assert [spec.label for spec in specs] == [f"{BACKGROUND} 64 B {load} %" for load in (50, 75, 100)]
    measured, background = specs[0].streams
    assert (measured.tx_ports, measured.rx_ports, measured.start_offset_ns) == ((1,), (2,), (2_000_000,))
    assert (measured.rate_fps, measured.frame_count, measured.burst) == (4000, 28, Burst(4))
    assert (background.tx_ports, background.rx_ports) == ((2, 3, 4), (3, 4, last))
    assert (background.rate_fps, background.frame_count) == (Fraction(NS_PER_S, 2 * 672), 6696)
    assert background.burst == (Burst(2) if burst == 2 else None)
    tag, ip = (layer for layer in background.frame.layers if isinstance(layer, (IPv4, Vlan)))
    assert (getattr(tag, "vid", 0), getattr(tag, "priority", 0), getattr(ip, "dscp", 0)) == (7, 5, 40)
    assert specs[2].streams[1].rate_fps == Fraction(NS_PER_S, 672)
    assert all(spec.duration_ns == 7_000_000 and spec.watch_queues for spec in specs)
    assert not trials(stabilise_ms=0)[0].streams[0].start_offset_ns
    least = trials(stabilise_ms=0, messages=1, messages_per_s=4000, load_start_pct="0.1")[0]
    assert least.streams[1].frame_count == 1, "of 0.37"
    # Each sender has a moment of its own, the same in every run.
    offsets = trials(phases="independent", load_start_pct=100)[0].streams[1].start_offset_ns
    assert len(set(offsets)) == 3 and offsets == trials(phases="independent")[2].streams[1].start_offset_ns


class OneMessage(FakeMeasurer):
    """Counts frames of which the measured ones take 2 us, and floods two frames in each trial."""

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        found = super().measure(spec, note)
        count = spec.streams[0].frame_count // 4
        flows = (flow(part, 2000.0, count, count) for part in ("1", "2", "3", "4"))
        return replace(found, flows=tuple(flows), flooded_frames=2)


def test_loads_and_flooded_frames_of_messages_by_hand() -> None:
    """Four frames of 672 ns a thousand times a second are 0.2688 % of the line; times are lines of the figure."""
    settings = ("message_frames=4", "messages=7", "messages_per_s=1000")
    test, measurer = find_test("messages.latency"), OneMessage()
    alone, outcome = run_unit(test, make_bed(2), measurer, 64, *settings)
    (row,) = alone.rows
    assert test.trials_expected(Unit(64, ""), resolve(test.name, test.parameters, ())) == 1
    assert measurer.notes == [TrialNote(Fraction("0.2688"), 0)] and measurer.specs[0].watch_queues
    assert (row.load_pct, row.messages, alone.flooded_frames) == (0.2688, 7, 2)
    assert (row.times[0].fifo_us_avg, row.times[0].mimo_us_avg) == (2, 2)
    test, loads = find_test(BACKGROUND), ("load_start_pct=50", "load_step_pct=25", "repeats=1")
    measurer = OneMessage()
    bed = make_bed(4, calibration=wires(500, 500, size=64))
    beside, outcome = run_unit(test, bed, measurer, 64, *settings, *loads)
    assert measurer.notes == [TrialNote(Fraction(load), left) for load, left in ((50, 2), (75, 1), (100, 0))]
    assert [row.times[1].mimo_us_avg for row in beside.rows] == [1.5] * 3
    assert ([row.load_pct for row in beside.rows], beside.flooded_frames) == ([50, 75, 100], 6)
    assert [line.name for line in outcome.figures[0].series] == ["64 B, repeat 1, FIFO", "64 B, repeat 1, MIMO"]
    assert (outcome.figures[0].series[1].points, outcome.figures[0].x_max) == (((50, 2), (75, 2), (100, 2)), 100)
    assert [table.detail for table in outcome.tables] == [False, True], "a row for each load and position"
    with pytest.raises(ParameterError, match="load_start_pct=60 is above load_end_pct=50"):
        run_unit(test, make_bed(4), OneMessage(), 64, *settings, "load_start_pct=60", "load_end_pct=50")


FORWARDING = f"forwarding: store_and_forward, latency_ns: {LATENCY_NS}"


def test_a_queue_that_empties_after_the_last_message_is_no_throughput_above_the_line(tmp_path: Path) -> None:
    """Three inputs send 300 frames in the time of 100 at the output, whose queue holds all of them."""
    found = measure(
        tmp_path,
        "messages.n_to_one",
        switch(FORWARDING, port="queue_frames: 1024"),
        64,
        *("message_frames=20", "messages=5", "loads_pct=full", "phases=in_step"),
    )
    (row,) = rows(found, "loads")
    assert (row["tx_frames"], row["lost_frames"], row["throughput_pct"]) == (300, 0, pytest.approx(100, abs=0.2))


def test_background_leaves_the_first_frame_alone_at_low_load_and_costs_frames_at_full_load(tmp_path: Path) -> None:
    found = measure(
        tmp_path,
        "messages.background",
        switch(FORWARDING, port="queue_frames: 64"),
        64,
        *("message_frames=50", "messages=10", "messages_per_s=1000", "background_frames=50", "repeats=1"),
        *("load_start_pct=0.1", "load_end_pct=100", "load_step_pct=99.9", "stabilise_ms=0.5"),
        *("background_receivers=all_outputs", "phases=in_step"),
    )
    low, full = rows(found, "messages")
    assert (low["load_pct"], low["lost_frames"]) == (0.1, 0)
    assert low["fifo_us_min"] == pytest.approx(2.512)
    assert full["load_pct"] == 100 and full["lost_frames"] > 0
    assert 1 <= full["damaged_messages_min"] <= full["damaged_messages_max"] <= 10
    assert full["lilo_us_avg"] is None or full["lilo_us_avg"] > low["lilo_us_avg"]
    assert {table.name: table.detail for table in found.outcome.tables}["positions"], "a row for each load and position"
    (figure,) = found.outcome.figures
    assert [series.points[0] for series in figure.series] == [(0.1, low["fifo_us_avg"]), (0.1, low["mimo_us_avg"])]


def test_background_that_shares_a_fabric_delays_the_last_frame_and_leaves_the_first_alone(tmp_path: Path) -> None:
    """Four lines through a fabric of three and a half: frame j falls behind by j - 1 times a seventh of its slot."""
    slot_ns = 672
    found = measure(
        tmp_path,
        "messages.background",
        switch(
            FORWARDING,
            f"fabric: {{capacity_fps: {round(3.5e9 / slot_ns)}, queue_frames: 1000}}",
            port="queue_frames: 9",
        ),
        64,
        *("message_frames=50", "messages=4", "messages_per_s=2000", "background_frames=1", "repeats=1"),
        *("load_start_pct=40", "load_end_pct=100", "load_step_pct=60", "stabilise_ms=0.2"),
    )
    low, full = rows(found, "messages")
    assert (low["complete_messages"], full["complete_messages"]) == (4, 4)
    for row in (low, full):
        # A frame of another stream may be in service.
        assert 2.512 <= row["fifo_us_min"] <= row["fifo_us_avg"] < 2.512 + 2 * slot_ns / 1000
    assert low["mimo_us_avg"] < 2.512 + 2 * slot_ns / 1000
    # In 2,000 slots of background its own queues are longer than the message; its share is a quarter of the fabric.
    assert full["mimo_us_avg"] - full["fifo_us_avg"] == pytest.approx(49 * slot_ns / 7 / 1000, rel=0.15)


@pytest.mark.parametrize("phases", ["independent", "in_step"])
def test_n_inputs_lose_what_the_output_cannot_carry(phases: str, tmp_path: Path) -> None:
    """Three inputs of 1 Gbit/s to one: of a load of 150 % a third is lost, but for the time in which they start."""
    found = measure(
        tmp_path,
        "messages.n_to_one",
        switch(FORWARDING, port="queue_frames: 16"),
        64,
        *("message_frames=20", "messages=30", "loads_pct=60,150,full", f"phases={phases}"),
    )
    below, over, full = rows(found, "loads")
    assert (full["load_pct"], full["input_count"]) == (300, 3)
    # The table has loads of the output, the log of trials those of each sender.
    trial_loads = [
        json.loads(line)["load_pct"] for line in (tmp_path / "run" / "trials.jsonl").read_text().splitlines()
    ]
    assert sorted(set(trial_loads)) == [20, 50, 100]
    assert all(row["conserved"] == "yes" for row in (below, over, full))
    trials = 4 if phases == "independent" else 1
    sent = 3 * 20 * 30 * trials
    for row, share in ((over, 1 / 3), (full, 2 / 3)):
        assert row["tx_frames"] == sent
        alone = 20 if phases == "independent" else 0  # before the last input starts
        assert row["frame_loss_ratio"] >= share - (alone + 2) * trials / sent
        assert row["message_loss_ratio_max"] >= row["frame_loss_ratio"] - 1e-9
        assert 1 / 3 <= row["frame_jain"] <= 1
    assert full["throughput_pct"] == pytest.approx(100, abs=3)
    inputs = [row for row in rows(found, "inputs") if row["load_pct"] == 150]
    assert sum(row["lost_frames"] for row in inputs) == over["lost_frames"]
    for row in inputs:
        assert row["complete_messages"] + row["damaged_messages_min"] == row["messages"] == 30 * trials
    assert f"Senders: {phases}." in next(table.note for table in found.outcome.tables if table.name == "loads")


def test_inputs_whose_phases_change_from_trial_to_trial_lose_alike(tmp_path: Path) -> None:
    """In one trial a full queue meets the same inputs in each round; over many trials it meets each as often."""
    found = measure(
        tmp_path,
        "messages.n_to_one",
        switch(FORWARDING, port="queue_frames: 16"),
        64,
        *("message_frames=20", "messages=15", "loads_pct=120", "repeats=24"),
    )
    (row,) = rows(found, "loads")
    # A queue that is shorter than a message may be empty before the next ones come.
    assert 1 / 6 - 0.005 <= row["frame_loss_ratio"] <= 0.2
    assert row["message_jain"] > 0.9


def test_a_load_above_the_line_of_the_output_is_not_lossless_though_its_queue_holds_the_rest(tmp_path: Path) -> None:
    """Of 105 % one in 21 frames stays in the queue, 28 of 600, and 28 fit in it; no receiver takes more than 100 %."""
    found = measure(
        tmp_path,
        "messages.n_to_one",
        switch(FORWARDING, port="queue_frames: 1000"),
        64,
        *("message_frames=20", "messages=10", "loads_pct=90,105"),
    )
    below, over = rows(found, "loads")
    assert (below["lost_frames"], over["lost_frames"]) == (0, 0)
    assert below["queues"] != "filling" == over["queues"]
    assert over["conserved_loss_ratio"] == pytest.approx(1 - 1 / 1.05)
    assert over["frame_loss_error"] + over["frame_loss_ratio"] >= 1 - 1 / 1.05 - 1e-9
    # Each of the 28 frames may be of one more message of 30 in each trial.
    assert over["message_loss_error"] > 0.5
    assert "no loss seen up to 90 %, in trials too short to tell" in found.outcome.summary
    assert any("105 %" in text and "keeps 4.762 % of the frames" in text for text in found.outcome.findings)


@pytest.mark.parametrize("messages", [3, 20])
def test_first_and_last_messages_of_inputs_are_not_in_the_throughput(messages: int, tmp_path: Path) -> None:
    """Inputs that begin at moments of their own do not all send at the begin and the end of a trial."""
    found = measure(
        tmp_path,
        "messages.n_to_one",
        switch(FORWARDING, port="queue_frames: 4096"),
        64,
        *("message_frames=20", f"messages={messages}", "loads_pct=99.76,full"),
    )
    below, full = rows(found, "loads")
    assert (below["lost_frames"], below["throughput_pct"]) == (0, pytest.approx(99.76, abs=1e-9))
    # The latencies of so short a trial do not exclude that a queue fills.
    assert 0 < below["throughput_error_pct"] < 40
    assert full["throughput_pct"] == pytest.approx(100, abs=full["throughput_error_pct"] + 1e-9)
    assert full["throughput_error_pct"] < 1
    assert full["frame_loss_ratio"] == pytest.approx(2 / 3, abs=full["frame_loss_error"] + 1e-9)


@pytest.mark.parametrize("load_pct", [90, 300])
def test_frames_of_a_burst_before_a_collapse_are_in_no_loss(load_pct: int, tmp_path: Path) -> None:
    """A look-up of 1 Mfps that passes one frame in 20 once 1,000 more have come: 41.7 % of line were shown."""
    lookup = "lookup: {capacity_fps: 1000000, overload_pass_ppm: 50000, burst_frames: 1000}"
    topology = switch(f"{FORWARDING}, {lookup}", port="queue_frames: 64")
    settings = ("message_frames=10", "messages=300", f"loads_pct={load_pct}")
    found = measure(tmp_path, "messages.n_to_one", topology, 64, *settings)
    (row,) = rows(found, "loads")
    assert row["throughput_pct"] == pytest.approx(0.05 * load_pct, abs=row["throughput_error_pct"])
    assert row["throughput_error_pct"] < 0.15
    assert row["frame_loss_ratio"] == pytest.approx(0.95, abs=row["frame_loss_error"])
    assert row["message_loss_ratio_min"] <= 0.95 <= row["message_loss_ratio_max"]
    inputs = rows(found, "inputs")
    assert sum(one["early_frames"] for one in inputs) == row["early_frames"] > 1000
    for one in inputs:
        assert one["frame_loss_ratio"] == pytest.approx(0.95, abs=one["frame_loss_error"])


@pytest.mark.parametrize("load", ["95", "120"])
def test_errors_of_four_short_trials_cover_what_many_trials_measure(load: str) -> None:
    """Goal: the stated error holds for 5 of 6 groups of four trials at least, each with other phases."""
    device = SmallDevice((10**8,) * 4, None, 8)
    asked = {"messages": "20", "message_frames": "20", "repeats": "24", "loads_pct": load}
    trials = random_run("messages.n_to_one", device, 64, asked).trials
    slot = Fraction(8 * 84 * 10**9, 10**8)
    whole = load_row(trials, 64, Fraction(load), slot)
    groups = [load_row(trials[first : first + 4], 64, Fraction(load), slot) for first in range(0, 24, 4)]
    for number, error in (
        ("throughput_pct", "throughput_error_pct"),
        ("frame_loss_ratio", "frame_loss_error"),
        ("message_loss_ratio_min", "message_loss_error"),
        ("frame_jain", "frame_jain_error"),
    ):
        truth = getattr(whole, number)
        covered = [abs(getattr(group, number) - truth) <= getattr(group, error) for group in groups]
        assert sum(covered) >= 5, number
        assert getattr(whole, error) < sum(getattr(group, error) for group in groups) / len(groups) / 2, number


def test_the_error_of_a_single_trial_with_phases_of_its_own_is_not_known(tmp_path: Path) -> None:
    topology = switch(FORWARDING, port="queue_frames: 4")
    settings = ("message_frames=20", "messages=20", "loads_pct=120", "repeats=1")
    (alone,) = rows(measure(tmp_path / "alone", "messages.n_to_one", topology, 64, *settings), "loads")
    (in_step,) = rows(
        measure(tmp_path / "step", "messages.n_to_one", topology, 64, *settings, "phases=in_step"), "loads"
    )
    assert alone["throughput_error_pct"] is alone["frame_loss_error"] is None
    # Each round is like the first; a frame may be on the way at the end.
    assert in_step["throughput_error_pct"] < 2


def test_long_background_bursts_with_phases_of_their_own_are_sent_to_their_end(tmp_path: Path) -> None:
    """A burst of 1,000 frames at 60 % comes every 1.12 ms, so that the last one of some ports ends after the 4 ms."""
    found = measure(
        tmp_path,
        "messages.background",
        switch(FORWARDING, port="queue_frames: 64"),
        64,
        *("message_frames=20", "messages=4", "messages_per_s=2000", "background_frames=1000", "repeats=3"),
        *("load_start_pct=60", "load_end_pct=60", "stabilise_ms=2"),
    )
    assert found.outcome.state is Verdict.MEASURED
    assert [row["messages"] for row in rows(found, "messages")] == [4, 4, 4]


@pytest.mark.parametrize(("slower_ps", "most_ps"), [(8_000, 400_000), (8_000, 100_000), (0, 400_000)])
def test_frames_of_a_message_fall_behind_where_inputs_are_read_slower_than_the_line(
    slower_ps: int, most_ps: int, tmp_path: Path
) -> None:
    """Frames of 64 bytes come every 672 ns; the first one after a pause finds nothing before it."""
    pacing = f"input_pacing: {{distance_ns: {672 + slower_ps / 1000}, most_ns: {most_ps / 1000}}}"
    topology = switch(f"latency_ns: {LATENCY_NS}, {pacing}", ports=2, tester="clock_tick_ps: 1")
    settings = ("message_frames=100", "messages=10", "messages_per_s=5000", "departure_error_ns=1")
    found = {
        row["position"]: row
        for row in rows(measure(tmp_path, "messages.latency", topology, 64, *settings), "positions")
    }
    late_us = [min(frame * slower_ps, most_ps) / 1e6 for frame in range(100)]
    for position, expected in (
        ("1", late_us[0]),
        ("2", late_us[1]),
        ("2..99", sum(late_us[1:99]) / 98),
        ("100", late_us[99]),
    ):
        assert found[position]["avg_us"] == pytest.approx(2.512 + expected, abs=0.003), position


@pytest.mark.parametrize(
    ("rate", "queue_frames", "count"), [(5000, 4096, 20), (9000, 9999, 20), (9000, 9999, 100), (9000, 64, 100)]
)
def test_times_that_grow_with_the_length_of_a_trial_have_no_error(rate: int, queue_frames: int, count: int) -> None:
    """20 frames of 64 B take 134.4 us of a line of 100 Mbit/s, and come every 200 or 111.1 us from one of 1 Gbit/s."""

    def row(messages: int) -> dict[str, Any]:
        topology = parsed(switch(ports=2, rates_bps=(10**9, 10**8), port=f"queue_frames: {queue_frames}"))
        asked = ("message_frames=20", f"messages_per_s={rate}", f"messages={messages}", "settle_ms=1")
        tables = run_on_sim(MessageLatency(), topology, (64,), *asked)[1].tables
        assert {position["avg_error_us"] is None for position in tables[-1].rows} == {
            tables[0].rows[0]["avg_error_us"] is None
        }
        return dict(tables[0].rows[0])

    found, waits_us = row(count), max(0.0, 20 * 6.72 - 10**6 / rate)
    if queue_frames == 64:
        # Full behind some five messages, which is marked where the end of a trial does not show it.
        assert "queues" in found or abs(row(500)["fifo_us_avg"] - found["fifo_us_avg"]) <= found["avg_error_us"]
        return
    assert found["fifo_us_avg"] == pytest.approx(0.512 + (count - 1) / 2 * waits_us, abs=0.01)
    assert found["avg_error_us"] == (None if waits_us else pytest.approx(0.001))
    assert found.get("queues") == ("too short to tell" if waits_us else None)


@pytest.mark.parametrize(("load_pct", "fills"), [(100, True), (50, False)])
def test_times_of_messages_beside_more_than_the_line_of_their_receiver_have_no_error(
    load_pct: int, fills: bool
) -> None:
    """Each message adds its 336 us to the queue of a port that the background keeps busy."""
    topology = parsed(switch(ports=3, rates_bps=10**8, port="queue_frames: 4096"))
    asked = ("message_frames=50", "messages_per_s=100", "messages=20", "background_frames=1", "phases=in_step")
    loads = (f"load_start_pct={load_pct}", f"load_end_pct={load_pct}", "repeats=1", "background_receivers=all_outputs")
    outcome = run_on_sim(find_test(BACKGROUND), topology, (64,), *asked, *loads, "settle_ms=1")[1]
    row = dict(outcome.tables[0].rows[0])
    assert (row["avg_error_us"] is None, str(row.get("queues")).partition(",")[0]) == (
        fills,
        "filling" if fills else "None",
    )
    if fills:
        assert row["fifo_us_avg"] == pytest.approx(19 / 2 * 336, abs=20)
