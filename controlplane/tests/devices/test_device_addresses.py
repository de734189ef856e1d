"""Where device models send a frame: learning, aging, flooding, VLANs and snooping."""

from __future__ import annotations

from fractions import Fraction

import pytest
from scapy.layers.igmp import IGMP
from scapy.layers.inet import IP
from scapy.layers.inet6 import ICMPv6MLReport, IPv6, IPv6ExtHdrHopByHop, RouterAlert
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from support.device_bench import UNKNOWN, pairs, switch
from support.frames import FORMATS

from p4mesh.layers import PLAIN
from p4mesh.tester.frames import learning_frame
from p4mesh.tester.stations import station
from p4mesh.traffic.patterns import Broadcast, GroupRange, Multicast
from p4mesh.traffic.stream import Stream
from p4mesh.trial.spec import Learning

VLANS = """vlans:
      ports:
        - {port: 1, mode: {access: 10}}
        - {port: 2, mode: {access: 10}}
        - {port: 3, mode: {access: 20}}
        - {port: 4, mode: {trunk: {vids: [10, 20]}}}"""


IGMP_JOIN = Ether(src=station(3).mac, dst="01:00:5e:01:01:01") / IP(dst="225.1.1.1", ttl=1) / IGMP(
    type=0x16, gaddr="225.1.1.1"
)  # fmt: skip
MLD_JOIN = (
    Ether(src=station(3).mac, dst="33:33:00:00:00:99")
    / IPv6(src="fe80::3", dst="ff0e::99", hlim=1)
    / IPv6ExtHdrHopByHop(options=[RouterAlert()])
    / ICMPv6MLReport(mladdr="ff0e::99")
)


def test_the_flood_limit_holds_for_broadcasts_and_not_for_known_addresses() -> None:
    fps = Fraction(100_000)
    to_all = Stream("all", 64, fps, 1000, Broadcast(), (1,), (2, 3, 4), PLAIN)
    with switch("flood_limit: {rate_fps: 20000, burst_frames: 10}") as it:
        assert it.measure(pairs(50, 64, 1000, (1, 2))).lost_frames == 0
        result = it.measure(to_all)
    # 10 ms at 20,000 frames/s, and 10 at once, on three ports.
    assert result.rx_frames == pytest.approx(3 * (200 + 10), abs=9)


def test_addresses_are_learned_after_the_learning_delay_at_its_rate() -> None:
    with switch("learning_path: {delay_ns: 50000000, rate_fps: 100}") as it:
        early = it.measure(pairs(1, 64, 100, (1, 2)), learning=Learning(wait_ns=1_000_000, verify=False))
        late = it.measure(pairs(1, 64, 100, (1, 2)), learning=Learning(wait_ns=200_000_000, verify=False))
    assert early.flooded_frames > 0 == early.lost_frames
    assert late.flooded_frames == 0 == late.lost_frames


@pytest.mark.parametrize(("aging", "learns_again"), [("works", True), ("broken", False)])
def test_addresses_age_and_are_learned_again_unless_aging_is_broken(aging: str, learns_again: bool) -> None:
    with switch(f"mac_table: {{entries: 64, aging_s: 0.5, aging: {aging}}}") as it:
        young = it.measure(pairs(1, 64, 10, (1, 2)), learning=Learning(wait_ns=400_000_000, verify=False))
        old = it.measure(pairs(1, 64, 10, (1, 2)), learning=Learning(wait_ns=600_000_000, verify=False))
        again = it.measure(pairs(1, 64, 10, (1, 2)))
    assert (young.flooded_frames, old.flooded_frames) == (0, 20)
    assert (again.flooded_frames == 0) == learns_again, "broken: the old entry is of no use and cannot be renewed"


@pytest.mark.parametrize("moves", [True, False])
def test_a_station_that_moves_is_followed_unless_the_table_does_not(moves: bool) -> None:
    with switch(f"mac_table: {{entries: 64, station_move: {str(moves).lower()}}}") as it:
        it.send(3, learning_frame(station(2).mac))
        it.send(2, learning_frame(station(2).mac))
        result = it.measure(pairs(1, 64, 10, (1, 2)), learning=UNKNOWN)
    assert result.lost_frames == (0 if moves else 10)
    assert result.flooded_frames == (0 if moves else 10), "at port 3"


@pytest.mark.parametrize(("ways", "known"), [(1, 1), (4, 4)])
def test_a_bucket_holds_as_many_addresses_as_it_has_ways(ways: int, known: int) -> None:
    # All addresses end in 00: with the low bits as hash they share a bucket of a table of 64 entries.
    macs = [bytes([2, 0, 0, 0, number, 0]) for number in range(1, 9)]
    with switch(f"mac_table: {{entries: 64, ways: {ways}, hash: low_bits}}") as it:
        for mac in macs:
            it.send(2, learning_frame(mac))
        assert it.node()["counters"]["learned"] == known
        assert it.node()["counters"]["not_learned"] == len(macs) - known


def test_vlans_separate_access_ports_and_trunks_carry_tags() -> None:
    tagged = {vid: PLAIN.tagged(vid) for vid in (10, 20, 30)}
    with switch(VLANS) as it:
        same = it.measure(pairs(1, 128, 20, (1, 2)))
        other = it.measure(pairs(1, 128, 20, (1, 3)))
        to_trunk = it.measure(pairs(1, 128, 20, (3, 4)))
        from_trunk = it.measure(pairs(1, 128, 20, (4, 3), frame=tagged[20]))
        to_other_vlan = it.measure(pairs(1, 128, 20, (4, 1), frame=tagged[20]))
        unknown_vlan = it.measure(pairs(1, 128, 20, (4, 1), frame=tagged[30]))
        assert it.drops("vlan_filter") >= 20
    assert (same.lost_frames, same.flooded_frames) == (0, 0)
    assert (other.lost_frames, to_other_vlan.lost_frames, unknown_vlan.lost_frames) == (20, 20, 20)
    assert (to_trunk.lost_frames, from_trunk.lost_frames) == (0, 0)
    # A tag of 4 bytes more on the way out, 32 ns later when it is stored by nobody, and less on the way back.
    assert unknown_vlan.flooded_frames == 0


@pytest.mark.parametrize(
    ("version", "group", "join"), [(4, "225.1.1.1", IGMP_JOIN), (6, "ff0e::99", MLD_JOIN)], ids=["IGMP", "MLD"]
)
def test_snooping_sends_a_group_to_its_members_only(version: int, group: str, join: Packet) -> None:
    headers = FORMATS[version]
    stream = Stream("group", 128, Fraction(10_000), 50, Multicast((GroupRange(group),)), (1,), (3,), headers)
    with switch("latency_ns: 0") as it:
        flooded = it.measure(stream, learning=UNKNOWN)
    with switch("snooping: {membership_s: 10}") as it:
        before = it.measure(stream, learning=UNKNOWN)
        it.send(3, join)
        joined = it.measure(stream, learning=UNKNOWN)
        assert it.drops("no_members") == 50
    assert (flooded.lost_frames, flooded.flooded_frames) == (0, 100)
    assert (before.lost_frames, before.flooded_frames) == (50, 0)
    assert (joined.lost_frames, joined.flooded_frames) == (0, 0)
