"""Frames of RoCEv2 end with the CRC that Scapy computes, whatever changes in them and whatever a router rewrites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from scapy.contrib.mpls import MPLS
from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN
from support.networks import parsed, shipped, switch, wire
from support.summing import SummingSim

from p4mesh.errors import ParameterError
from p4mesh.layers import Frame, Modifiable
from p4mesh.layers.notation import frame_of_text
from p4mesh.tester.invariant_crc import taken_back
from p4mesh.tester.opening import open_tester
from p4mesh.topology import Topology
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import FieldModifier, Progression, PseudoRandom, Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

FRAMES = 4
BOUND = (MPLS, VXLAN)
"""Scapy finds what is behind those that are imported."""
OUTER = "ipv4(source=10.0.0.1, destination=10.0.0.2)/udp/vxlan/ethernet"
STACKS = {
    "ipv4": "ipv4(identification=7)/udp(source=49152)/bth(queue_pair=0xabcdef)",
    "ipv6": "ipv6(flow_label=5, ecn=1)/udp/bth(forward_congestion=1)",
    "a word behind it": "vlan(vid=7)/ipv4(dscp=26)/udp/bth(opcode=17)/bytes(content=1f000001)",
    "a datagram": "ipv6/udp/bth/bytes(content=8001000000000005)",
    "28 bytes behind it": f"ipv4/udp/bth(opcode=19)/bytes(content={bytes(range(28)).hex()})",
    "in a tunnel": f"{OUTER}/ipv6/udp/bth/bytes(content={bytes(range(16)).hex()})",
    "labels": "mpls/mpls/ipv4/udp/bth",
}


def spec_of(frame: Frame, frames: int = FRAMES, size: int = 259, **changes: object) -> TrialSpec:
    stream = Stream("s", size, Fraction(10_000), frames, Pairs(), (1,), (2,), frame, **changes)  # type: ignore[arg-type]
    duration_ns = int(frames * 10**9 / stream.rate_fps)
    return TrialSpec("s", (stream,), duration_ns, Learning(enabled=False), 10**6, 0, received_headers="ipv4")


def counted(spec: TrialSpec) -> TrialSpec:
    """Compare no headers: the frames are not what they were."""
    return replace(spec, received_headers="")


def measured(topology: Topology, spec: TrialSpec, summing: bool = False) -> TrialResult:
    if not summing:
        with open_measurer(topology) as measurer:
            result = measurer.measure(spec)
    else:
        with open_tester(SummingSim, topology) as tester:
            result = TrialEngine(tester).measure(spec)
    assert result.status is Verdict.MEASURED, result.reason
    return result


def crcs(frames: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    """The CRC at the end of each frame, and that of Scapy."""
    layers = [Ether(data)[BTH] for data in frames]
    return [(data[-4:], layer.compute_icrc(b"")) for data, layer in zip(frames, layers, strict=True)]


def assert_right(frames: Sequence[bytes]) -> None:
    assert len(set(frames)) == len(frames) == FRAMES
    for is_there, of_scapy in crcs(frames):
        assert is_there == of_scapy


@pytest.mark.parametrize("summing", [False, True], ids=["plain", "summing"])
@pytest.mark.parametrize("name", STACKS)
def test_each_frame_ends_with_its_crc_and_is_counted(came: list[bytes], name: str, summing: bool) -> None:
    for size in (202, 259, 1518):
        came.clear()
        result = measured(parsed(wire()), spec_of(frame_of_text(STACKS[name]), size=size), summing)
        assert (result.rx_frames, result.corrupted_frames, result.foreign_frames) == (FRAMES, 0, 0)
        assert_right(came)
        assert {len(data) for data in came} == {size - 4}


def test_the_crc_is_right_behind_a_device_that_rewrites_what_it_does_not_cover(came: list[bytes]) -> None:
    """Goal: MAC address, a tag, time to live, class and checksum change."""
    measured(shipped("p4-rewriter-2ports"), spec_of(frame_of_text(STACKS["ipv4"])))
    assert_right(came)
    read, _ = Frame.read(came[0])
    assert read.network is not None and (read.network.ttl, bool(read.vids)) == (63, True)


@pytest.mark.parametrize(
    "field",
    ["bth.sequence", "bth.queue_pair", "bth.opcode", "udp.source", "ipv4.identification", "ipv4.ttl"],
)
def test_the_crc_follows_fields_that_change(came: list[bytes], field: str) -> None:
    modifier = FieldModifier(Modifiable.of_name(field), Progression(FRAMES, 1))
    measured(parsed(wire()), spec_of(frame_of_text(STACKS["ipv4"]), modifiers=(modifier,)))
    assert_right(came)
    assert len({data[14:54] for data in came}) == FRAMES


def test_the_crc_follows_the_third_and_fourth_field(came: list[bytes]) -> None:
    names = ("udp.source", "bth.sequence", "ipv4.identification", "ethernet.source")
    modifiers = tuple(FieldModifier(Modifiable.of_name(name), PseudoRandom(3, 0xFF, FRAMES)) for name in names)
    measured(parsed(wire()), spec_of(frame_of_text(STACKS["ipv4"]), modifiers=modifiers))
    assert_right(came)


@pytest.mark.parametrize("summing", [False, True], ids=["plain", "summing"])
@pytest.mark.parametrize("payload", [bytes(range(256)), b"\xff\x01\x80"], ids=["counting", "own"])
def test_a_wrong_crc_is_wrong_in_every_frame_and_nothing_else(came: list[bytes], payload: bytes, summing: bool) -> None:
    frame = frame_of_text("ipv4/udp/bth(icrc=bad)")
    result = measured(parsed(wire()), spec_of(frame, payload=payload), summing)
    assert (result.rx_frames, result.corrupted_frames, len(came)) == (FRAMES, 0, FRAMES)
    assert all(is_there != of_scapy for is_there, of_scapy in crcs(came))


@pytest.mark.parametrize("summing", [False, True], ids=["plain", "summing"])
def test_a_flipped_bit_in_the_payload_is_found(summing: bool) -> None:
    topology = parsed(switch("impairments: {corrupt_ppb: 100000000}", ports=2, seed=4))
    result = measured(topology, counted(spec_of(frame_of_text("ipv4/udp/bth"), 2000)), summing)
    assert result.corrupted_frames > 100
    assert result.lost_frames == result.corrupted_frames + result.damaged_frames + result.foreign_frames


def test_a_crc_is_taken_back_over_what_it_covers() -> None:
    """The CRC-32 of `123456789` is 0xCBF43926 (ITU-T V.42)."""
    assert taken_back(0xCBF43926 ^ 0xFFFFFFFF, b"123456789") == 0xFFFFFFFF


@pytest.mark.parametrize(
    ("stack", "message"),
    [
        ("ipv4/udp(checksum=bad)/bth", "bth has a bad checksum in front"),
        ("ipv6/hop_by_hop/udp/bth", "bth has options or extension headers in front"),
        ("ipv4(options=01010101)/udp/bth", "bth has options or extension headers in front"),
        (f"ipv4/udp/bth/bytes(content={bytes(32).hex()})", "bth has more bytes behind it than its CRC takes in"),
    ],
)
def test_what_the_crc_does_not_cover_is_refused(stack: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        measured(parsed(wire()), spec_of(frame_of_text(stack)))


def test_the_shortest_frame_has_room_for_the_crc(came: list[bytes]) -> None:
    frame = frame_of_text("ipv4/udp/bth")
    measured(parsed(wire()), spec_of(frame, size=88))
    assert_right(came)
    with pytest.raises(ParameterError, match=r"frame size 87: .* need 88 bytes"):
        measured(parsed(wire()), spec_of(frame, size=87))
