"""Faults of device models and cables: the tester finds each of them, in its flow, and no more of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support import networks
from support.device_bench import GIGABIT, UNKNOWN, bench, pairs, switch

from p4mesh.layers import PLAIN, UDP_OVER_IPV4
from p4mesh.tester.frames import learning_frame
from p4mesh.tester.stations import station
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import Broadcast, FullMesh, Pattern, Rotate
from p4mesh.traffic.stream import Stream


def test_random_faults_are_those_that_the_tester_finds() -> None:
    faults = "duplicate_ppb: 10000000, reorder_ppb: 5000000, reorder_delay_ns: 50000, corrupt_ppb: 20000000"
    with switch("loss_ppb: 30000000", f"impairments: {{{faults}}}") as it:
        while it.node()["counters"]["learned"] == 0:
            it.send(2, learning_frame(station(2).mac))
        before, lost_before = it.node()["counters"], it.drops("random_loss")
        result = it.measure(pairs(50, 128, 5000, (1, 2)), learning=UNKNOWN)
        after, lost = it.node()["counters"], it.drops("random_loss") - lost_before
    counters = {name: after[name] - before[name] for name in after}
    assert lost == pytest.approx(150, abs=50)
    assert counters["duplicated"] == pytest.approx(50, abs=30)
    # A corrupted frame is damaged when its signature is hit, foreign when that is no signature any more.
    corrupted = result.corrupted_frames + result.damaged_frames + result.foreign_frames
    assert 0 < result.damaged_frames < result.corrupted_frames
    assert corrupted <= counters["corrupted"] + counters["duplicated"]
    # Frames that are held back by 20 others are late, and no copies: the window of a flow knows 64.
    assert lost <= result.lost_frames <= lost + corrupted
    assert result.doubtful_frames == 0 < result.reordered_frames
    # Faults may coincide: of a duplicated frame that is held back, the second copy is the first to arrive.
    assert result.duplicate_frames == pytest.approx(counters["duplicated"], abs=3)
    assert result.reordered_frames == pytest.approx(counters["reordered"], abs=3)
    assert counters["reordered"] == pytest.approx(25, abs=20)


@pytest.mark.parametrize("tag", [False, True])
@pytest.mark.parametrize("format_bytes", [14, 42])
def test_every_payload_that_a_device_changes_is_found(format_bytes: int, tag: bool) -> None:
    """One bit of 10 % of the frames is changed behind the first 14 bytes; the FCS fits.

    Of plain frames each such bit is in signature or payload, but for two bytes of a tag that the device adds. IPv4
    frames have 28 bytes in front of these, most of which nobody compares.
    """
    frame = {14: PLAIN, 42: UDP_OVER_IPV4}[format_bytes]
    members = "{port: 1, mode: {access: 7}}, {port: 2, mode: {trunk: {vids: [7]}}}"
    vlans = f"vlans: {{ports: [{members}]}}" if tag else "latency_ns: 0"
    with bench(networks.switch("impairments: {corrupt_ppb: 100000000}", vlans, ports=2, seed=4)) as it:
        result = it.measure(pairs(50, 260, 5000, (1, 2), frame=frame))
        corrupted = it.node()["counters"]["corrupted"]
    assert corrupted == pytest.approx(500, abs=70)
    found = result.corrupted_frames + result.damaged_frames + result.foreign_frames
    assert result.lost_frames == found and result.duplicate_frames == result.reordered_frames == 0
    if frame is PLAIN and not tag:
        assert found == corrupted
    payload = 260 - 4 - format_bytes - 18
    assert result.corrupted_frames == pytest.approx(corrupted * payload / (260 - 4 - 14 + 4 * tag), abs=30)
    assert found - result.corrupted_frames == pytest.approx(corrupted * 20 / 242, abs=20)
    assert sum(port.corrupted_frames for port in result.ports) == result.corrupted_frames


@pytest.mark.parametrize("pattern", [Rotate(), FullMesh(), Broadcast()])
@pytest.mark.parametrize("fault", ["loss", "duplicate", "reorder"])
def test_each_fault_is_found_in_its_flow_under_every_pattern(pattern: Pattern, fault: str) -> None:
    """Goal: loss, duplicates and reordering are told apart per flow, with several sources at one port."""
    chance = "loss_ppb: 20000000" if fault == "loss" else f"impairments: {{{fault}_ppb: 20000000}}"
    if fault == "reorder":
        chance = chance.replace("}", ", reorder_delay_ns: 100000}")
    tx = (1, 2, 3) if pattern == Rotate() else (1, 2, 3, 4)
    rx = (4,) if pattern == Rotate() else tx
    stream = Stream("s", 128, max_rate_fps(128, GIGABIT) / 5, 2000, pattern, tx, rx, PLAIN)
    with switch(chance, queue=1000) as it:
        for port in (1, 2, 3, 4):
            while it.node()["counters"]["learned"] < port:
                it.send(port, learning_frame(station(port).mac))
        before, lost_before = it.node()["counters"], it.drops("random_loss")
        result = it.measure(stream, learning=UNKNOWN)
        after, lost = it.node()["counters"], it.drops("random_loss") - lost_before
    duplicated, reordered = (after.get(name, 0) - before.get(name, 0) for name in ("duplicated", "reordered"))
    copies = 3 if pattern == Broadcast() else 1
    sent = len(tx) * 2000 * copies
    assert (result.expected_rx_frames, result.flooded_frames) == (sent, 0)
    assert max(lost, duplicated, reordered) > 50
    assert result.lost_frames - result.doubtful_frames == lost * copies
    assert bool(result.doubtful_frames) <= bool(reordered)
    assert result.duplicate_frames == duplicated * copies
    # Copies are held back one by one. The last frames of a flow may be, with none behind them.
    assert result.reordered_frames == pytest.approx(reordered, abs=12 * bool(reordered))
    assert sum(flow.lost_frames for flow in result.flows) == result.lost_frames
    assert all(flow.lost_frames >= 0 for flow in result.flows)
    touched = [flow.lost_frames + flow.duplicate_frames + flow.reordered_frames for flow in result.flows]
    assert min(touched) > 0, "every flow has its share"


def test_bit_errors_of_a_cable_are_lost_frames_at_the_device_and_bad_fcs_at_the_tester() -> None:
    cable = {2: "bit_errors_per_1e15: 10000000000"}
    with bench(networks.switch(link=cable, port="queue_frames: 64", seed=3)) as it:
        outward = it.measure(pairs(50, 1518, 2000, (2, 1)))
        assert it.drops("bad_fcs") == outward.lost_frames
        inward = it.measure(pairs(50, 1518, 2000, (1, 2)))
    # 1e-5 per bit: about 11 % of the frames.
    for result in (outward, inward):
        assert result.lost_frames == pytest.approx(2000 * (1 - (1 - 1e-5) ** (8 * 1518)), rel=0.2)
    assert sum(port.bad_fcs_frames or 0 for port in inward.ports) == inward.lost_frames


def test_of_frames_that_arrive_at_one_moment_some_are_lost() -> None:
    with switch("simultaneous_arrivals: {window_ns: 50, drop_ppb: 100000000}") as it:
        alone = it.measure(pairs(1, 64, 500, (1, 2)))
        together = it.measure(pairs(1, 64, 500, (1, 2), (3, 2), (4, 2)))
        assert it.drops("simultaneous_arrival") == together.lost_frames
    assert alone.lost_frames == 0
    # Two of three frames come behind another; a tenth of these is lost.
    assert together.lost_frames == pytest.approx(100, abs=35)


@pytest.mark.parametrize(("size", "passes"), [(63, False), (64, True), (1518, True), (1519, False)])
def test_frames_outside_the_lengths_are_filtered(size: int, passes: bool) -> None:
    with switch("min_frame_bytes: 64", "max_frame_bytes: 1518") as it:
        assert it.measure(pairs(10, size, 20, (1, 2))).lost_frames == (0 if passes else 20)


def test_simultaneous_arrivals_can_be_limited_to_classes_sizes_and_numbers_of_ports() -> None:
    certain = "drop_ppb: 1000000000"
    three = pairs(1, 134, 50, (1, 2), (3, 2), (4, 2))
    with switch(f"simultaneous_arrivals: {{frames: group, {certain}}}") as it:
        assert it.measure(three).lost_frames == 0
    with switch(f"simultaneous_arrivals: {{other_ports: 2, {certain}}}") as it:
        assert it.measure(three).lost_frames == 50, "the third of each three"
    by_size = "window_by_size: [{frame_bytes: 90, time_ns: 40000}, {frame_bytes: 134, time_ns: 0}]"
    # Frames of the other port come 30 us later: short ones are within the window, long ones are not.
    for size, lost in ((90, 50), (134, 0)):
        late = replace(pairs(1, size, 50, (1, 2), (3, 2)), start_offset_ns=(0, 30_000))
        with switch(f"simultaneous_arrivals: {{{by_size}, {certain}}}") as it:
            assert it.measure(late).lost_frames == lost
