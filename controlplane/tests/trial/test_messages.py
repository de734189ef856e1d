"""Messages of n frames, and streams to several groups, on ``sim``: each position and each group by itself."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.networks import parsed, switch

from p4mesh.errors import UnsupportedError
from p4mesh.measurement.counts import FlowCounts
from p4mesh.methods.messages.results import damaged
from p4mesh.store.codec import decode, encode
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.histogram import HistogramPer
from p4mesh.tester.message_sources import with_messages
from p4mesh.tester.plan import Limits, make_plan
from p4mesh.tester.reading import Reading
from p4mesh.traffic.patterns import GroupRange, Message, Multicast, Pairs, PositionClass, Rotate
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.trial.conservation import _of_messages
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

SIZE = 125
FRAME_NS = 8 * SIZE
"""Time of a frame at 1 Gbit/s without gap: 1 us; with preamble and gap 1.16 us, ten times that at 100 Mbit/s."""
SLOT_NS = 8 * (SIZE + 20)
LATENCY_NS = 2000
NO_LEARNING = Learning(enabled=False)


def slow_port_2() -> str:
    """The switch with port 2 at 100 Mbit/s."""
    return store_and_forward(rates_bps=(10**9, 10**8, 10**9, 10**9))


def store_and_forward(*model: str, **options: Any) -> str:
    return switch(
        f"forwarding: store_and_forward, latency_ns: {LATENCY_NS}", *model, tester="clock_tick_ps: 1000", **options
    )


def messages(pattern: Message, rx: tuple[int, ...], count: int, tx: tuple[int, ...] = (1,)) -> Stream:
    """``count`` messages per port, 1,000 a second."""
    frames = pattern.frames
    return Stream("m", SIZE, Fraction(1000 * frames), count * frames, pattern, tx, rx, burst=Burst(frames))


def measure(topology: str, stream: Stream, **more: object) -> TrialResult:
    duration_ns = int(Fraction(stream.frame_count * 10**9) / stream.rate_fps)
    spec = TrialSpec("messages", (stream,), duration_ns, Learning(wait_ns=1_000_000), per_flow=True, **more)  # type: ignore[arg-type]
    with open_measurer(parsed(topology)) as measurer:
        result = measurer.measure(spec)
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    return result


def by_part(result: TrialResult, rx_port: int) -> dict[str, FlowCounts]:
    return {flow.part: flow for flow in result.flows if flow.rx_port == rx_port}


def test_each_position_has_the_latency_of_its_place_in_a_slow_outputs_queue() -> None:
    """The switch takes a frame per 1.16 us and sends one per 11.6 us: position j waits (j - 1) times the difference."""
    result = measure(slow_port_2(), messages(Message(Pairs(), 5), (2,), 40))
    assert (result.tx_frames, result.rx_frames) == (200, 200)
    parts = by_part(result, 2)
    assert list(parts) == ["1", "2", "3", "4", "5"]
    # A frame leaves at most one round of the loop behind its slot, and then waits that much less.
    late_ns = result.pacing[0].round_ns
    for position, flow in enumerate(parts.values()):
        assert (flow.tx_frames, flow.rx_frames) == (40, 40)
        assert flow.latency is not None
        # FIFO: the frame is stored, looked up, and waits for those before it.
        expected = FRAME_NS + LATENCY_NS + position * (10 * SLOT_NS - SLOT_NS)
        assert flow.latency.max_ns == expected
        assert expected - late_ns <= flow.latency.min_ns <= expected


def test_classes_of_positions_are_the_sums_of_their_positions() -> None:
    classes = (PositionClass(1, 1), PositionClass(2, 4), PositionClass(5, 5))
    alone = by_part(measure(slow_port_2(), messages(Message(Pairs(), 5), (2,), 20)), 2)
    joined = by_part(measure(slow_port_2(), messages(Message(Pairs(), 5, classes), (2,), 20)), 2)
    assert list(joined) == ["1", "2..4", "5"]
    assert (joined["1"].latency, joined["5"].latency) == (alone["1"].latency, alone["5"].latency)
    middle, members = joined["2..4"], [alone[part] for part in ("2", "3", "4")]
    assert (middle.tx_frames, middle.rx_frames) == (60, 60)
    assert middle.latency is not None
    latencies = [flow.latency for flow in members if flow.latency]
    assert middle.latency.sum_ns == sum(latency.sum_ns for latency in latencies)
    assert middle.latency.min_ns == min(latency.min_ns for latency in latencies)
    assert middle.latency.max_ns == max(latency.max_ns for latency in latencies)


def test_whole_messages_go_to_the_receivers_in_turn() -> None:
    result = measure(store_and_forward(), messages(Message(Rotate(), 3), (3, 4), 10, tx=(1, 2)))
    counts = {(flow.tx_port, flow.rx_port, flow.part): flow.rx_frames for flow in result.flows}
    assert counts == {(tx, rx, part): 5 for tx in (1, 2) for rx in (3, 4) for part in ("1", "2", "3")}


def test_a_port_that_starts_later_begins_with_a_whole_message() -> None:
    stream = replace(messages(Message(Pairs(), 4), (3, 4), 10, tx=(1, 2)), start_offset_ns=(0, 700_000))
    result = measure(store_and_forward(), stream)
    assert {flow.rx_frames for flow in result.flows} == {10}
    starts = {flow.tx_port: flow.first_tx_ns for flow in result.flows}
    assert starts[2] - starts[1] == pytest.approx(700_000, abs=1_000)


def test_a_histogram_of_a_flow_counts_every_position_of_its_messages() -> None:
    result = measure(store_and_forward(), messages(Message(Pairs(), 6), (2,), 10), histograms=HistogramPer.FLOW)
    (histogram,) = result.histograms
    assert (histogram.tx_port, histogram.rx_port, histogram.latency.count) == (1, 2, 60)


def limits() -> Limits:
    return Limits.of(load_contract(), 1000, LoopModel(10**11, 500_000), "sim")


@pytest.mark.parametrize(
    ("frames", "senders", "receivers", "message"),
    [
        (2004, 1, 9, "needs 18036 destination places, the program has 16384"),
        (16_384, 5, 1, "needs 81920 flows, the program has 65536"),
    ],
)
def test_messages_that_do_not_fit_are_refused_with_what_there_is(
    frames: int, senders: int, receivers: int, message: str
) -> None:
    tx, rx = tuple(range(1, 1 + senders)), tuple(range(11, 11 + receivers))
    with pytest.raises(UnsupportedError, match=message):
        make_plan((messages(Message(Rotate(), frames), rx, 1, tx),), limits(), dict.fromkeys((*tx, *rx), 10**9))


def test_messages_of_2004_frames_are_planned_with_a_flow_per_position() -> None:
    stream = messages(Message(Rotate(), 2004), (9,), 1, tx=tuple(range(1, 9)))
    plan = make_plan((stream,), limits(), dict.fromkeys(range(1, 10), 10**9))
    assert len(plan.flows) == 8 * 2004
    assert len(plan.destinations) == 2004, "the inputs share one list"


# Several groups


def groups(pattern: Multicast, rx: tuple[int, ...], frames: int, tx: tuple[int, ...] = (1,)) -> Stream:
    return Stream("g", SIZE, Fraction(10_000), frames, pattern, tx, rx)


def counted(result: TrialResult) -> dict[tuple[int, int, str], int]:
    return {(flow.tx_port, flow.rx_port, flow.part): flow.rx_frames for flow in result.flows}


def test_each_group_is_counted_at_each_of_its_receivers_and_flooded_elsewhere() -> None:
    """The switch does not snoop: every port gets every group."""
    pattern = Multicast((GroupRange("225.1.1.1", 1, (2, 3)), GroupRange("225.7.7.7", 1, (3,))))
    result = measure(store_and_forward(), groups(pattern, (2, 3), 41))
    assert counted(result) == {(1, 2, "225.1.1.1"): 21, (1, 3, "225.1.1.1"): 21, (1, 3, "225.7.7.7"): 20}
    assert (result.expected_rx_frames, result.rx_frames, result.lost_frames) == (62, 62, 0)
    # Port 2 gets 20 frames of a group that it does not receive, port 4 all 41.
    flooded = {port.port: port.flooded_frames for port in result.ports}
    assert flooded == {1: 0, 2: 20, 3: 0, 4: 41}


def test_every_port_sends_its_own_group_to_all_others() -> None:
    pattern = Multicast((GroupRange("225.1.1.1", 4),), own_groups=True)
    result = measure(store_and_forward(), groups(pattern, (1, 2, 3, 4), 30, tx=(1, 2, 3, 4)))
    assert counted(result) == {(tx, rx, f"225.1.1.{tx}"): 30 for tx in (1, 2, 3, 4) for rx in (1, 2, 3, 4) if tx != rx}
    assert result.flooded_frames == 0


def test_streams_with_different_numbers_of_groups_keep_their_counts_apart() -> None:
    many = groups(Multicast((GroupRange("225.1.1.1", 7, (2, 3)),)), (2, 3), 70)
    few = replace(groups(Multicast((GroupRange("239.0.0.1", 2, (3, 4)),)), (3, 4), 24, tx=(2,)), name="few")
    duration_ns = 7_000_000
    spec = TrialSpec("groups", (many, few), duration_ns, NO_LEARNING, per_flow=True)
    with open_measurer(parsed(store_and_forward())) as measurer:
        result = measurer.measure(spec)
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert {flow.rx_frames for flow in result.flows if flow.stream == "g"} == {10}
    assert {flow.rx_frames for flow in result.flows if flow.stream == "few"} == {12}
    assert len(result.flows) == 2 * 7 + 2 * 2
    assert (result.lost_frames, result.rx_frames) == (0, 140 + 48)


def test_a_range_of_groups_takes_few_entries_on_each_port() -> None:
    """4,095 groups from 225.1.1.1, aligned blocks of MAC addresses on 14 ports."""
    pattern = Multicast((GroupRange("225.1.1.1", 4095, (2, 3)),))
    plan = make_plan((groups(pattern, (2, 3), 4095),), limits(), dict.fromkeys(range(1, 4), 10**9))
    assert len(plan.receivers) == 3 * len({(item.mac, item.mask) for item in plan.receivers})
    assert len(plan.receivers) < 3 * 24
    owned = [(int.from_bytes(item.mac, "big"), item.mask) for item in plan.receivers if item.port == 2]
    macs = {int.from_bytes(bytes.fromhex("01005e010101"), "big") + number for number in range(-1, 4096)}
    inside = {mac for mac in macs if any(mac & mask == value for value, mask in owned)}
    assert macs - inside == {min(macs), max(macs)}


def test_groups_that_do_not_fit_are_refused_with_what_there_is() -> None:
    pattern = Multicast((GroupRange("225.1.1.1", 5000),))
    ports = tuple(range(1, 18))
    with pytest.raises(UnsupportedError, match="needs 85000 flows, the program has 65536"):
        make_plan((groups(pattern, ports, 5000),), limits(), dict.fromkeys(ports, 10**9))


# Messages as a whole


def test_registers_count_the_messages_that_lost_frames() -> None:
    """A switch loses 2 % of the frames at random: a message of 20 is damaged with a probability of 1 - 0.98^20."""
    result = measure(store_and_forward("loss_ppb: 20000000"), messages(Message(Pairs(), 20), (3,), 300))
    (found,) = result.messages
    lost, fewest, most = damaged(result.flows, 20, found.sent)
    assert (found.sent, found.complete + found.damaged) == (300, 300)
    assert fewest < found.damaged < min(lost, most)
    assert found.damaged == pytest.approx(300 * (1 - 0.98**20), abs=3 * (300 * 0.33 * 0.67) ** 0.5)


def test_times_of_messages_are_between_their_first_and_last_frames() -> None:
    result = measure(slow_port_2(), messages(Message(Pairs(), 5), (2,), 40))
    (found,) = result.messages
    parts = by_part(result, 2)
    assert found.fifo and found.lilo and found.filo
    first, last = parts["1"].latency, parts["5"].latency
    assert first and last
    for time, latency in ((found.fifo, first), (found.lilo, last)):
        assert (time.count, time.min_ns, time.max_ns, time.sum_ns) == (
            40,
            latency.min_ns,
            latency.max_ns,
            latency.sum_ns,
        )
    assert found.filo.min_ns == found.filo.max_ns == last.max_ns + 4 * SLOT_NS


def test_receivers_in_turn_are_sources_of_their_own() -> None:
    result = measure(store_and_forward(), messages(Message(Rotate(), 3), (3, 4), 10, tx=(1, 2)))
    counts = {(found.tx_port, found.rx_port): (found.sent, found.complete) for found in result.messages}
    assert counts == {(tx, rx): (5, 5) for tx in (1, 2) for rx in (3, 4)}
    assert decode(TrialResult, encode(result)) == result


def test_more_sources_than_the_program_has_are_refused() -> None:
    bounds = replace(limits(), message_sources=3)
    stream = messages(Message(Rotate(), 4), (11, 12), 2, tx=(1, 2))
    plan = make_plan((stream,), bounds, dict.fromkeys((1, 2, 11, 12), 10**9))
    with pytest.raises(UnsupportedError, match="needs 4 sources of messages, the program has 3"):
        with_messages(plan, bounds)
    assert with_messages(plan, replace(bounds, message_sources=0)).messages == ()
    sources = with_messages(plan, replace(bounds, message_sources=4)).messages
    assert [(source.number, source.tx_port, source.rx_port, source.first_flow) for source in sources] == [
        (0, 1, 11, 0), (1, 1, 12, 4), (2, 2, 12, 8), (3, 2, 11, 12)
    ]  # fmt: skip


def untrusted(counted: tuple[int, ...], bits: int = 48, latency_ticks: int = 0) -> str:
    """Reason to doubt the counts of two messages of 4 frames: newest, arrived of it, complete, damaged.

    The last position has a latency; the flow behind it is none of theirs.
    """
    plan = make_plan((messages(Message(Pairs(), 4), (2,), 2),), limits(), dict.fromkeys((1, 2), 10**9))
    plan = with_messages(plan, limits())
    (source,) = plan.messages
    records = np.zeros(source.last_flow + 2, dtype=[("latency_max", "u4")])
    records["latency_max"][source.last_flow :] = latency_ticks, 2**32 - 1
    table = np.array([counted], dtype=[(name, "u8") for name in ("newest", "arrived", "complete", "damaged")])
    return _of_messages(plan, Reading(records, {}, messages=table, message_time_bits=bits))


@pytest.mark.parametrize(
    ("bits", "latency_ticks", "refused"), [(32, 2**31, True), (32, 2**31 - 1, False), (48, 2**32 - 1, False)]
)
def test_times_that_may_have_wrapped_are_not_shown(bits: int, latency_ticks: int, refused: bool) -> None:
    """Goal: a target with times of 32 bits makes a trial invalid in which one position had half of their range."""
    assert untrusted((1, 4, 2, 0), bits, latency_ticks) == (
        "messages from port 1 to port 2 have a frame with a latency of 2,147,483,648 ticks: the program has their "
        "times up to 2,147,483,647"
        if refused
        else ""
    )


@pytest.mark.parametrize("counted", [(2, 4, 2, 1), (2, 3, 1, 1), (2, 3, 2, 0)])
def test_each_message_before_the_newest_one_is_complete_or_damaged(counted: tuple[int, ...]) -> None:
    """The newest one counts as soon as its four frames have arrived."""
    newest, arrived, complete, damaged = counted
    assert untrusted(counted) == ""
    assert untrusted((newest, arrived, complete, damaged + 1)) == (
        f"messages from port 1 to port 2 do not add up: {complete} complete, {damaged + 1} damaged, 2 before the "
        "newest one"
    )
