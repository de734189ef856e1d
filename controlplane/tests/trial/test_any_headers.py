"""Every way of up to four layers behind Ethernet is sent, received and counted exactly, many streams at a time.

``P4MESH_ALL_HEADERS=1`` (``make fuzz``) sends all of them, over a wire and through a device that rewrites them; without
it, a sample of those with many layers.
"""

from __future__ import annotations

import os
import random
import re
from fractions import Fraction

import pytest
from scapy.layers.l2 import Ether
from support.networks import shipped
from support.stacks import STACKS, stacks_of_depth

from p4mesh.errors import ParameterError
from p4mesh.layers import Frame, Modifiable
from p4mesh.layers.notation import frame_of_text, text_of_frame
from p4mesh.tester.sendable import require_sendable
from p4mesh.topology import Topology
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import FieldModifier, Stream, ValueList
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

NOT_COMPUTED = (
    "GTP-U Header",
    "PPP over Ethernet",
    "IPv6 Option Header Routing",
    "IPv6 Option Header Segment Routing",
    "IPv6 Extension Header - Hop-by-Hop Options Header",
)
STREAMS, FRAMES = 32, 3
"""Streams of a trial: half of those of the program, so that their seeds fit into the loop."""


def has_room(frame: Frame) -> bool:
    """Whether the program takes so many headers; no other reason refuses these ways."""
    try:
        require_sendable("any", frame)
    except ParameterError as error:
        assert re.search("bytes of (headers between|extension headers)", error.message)
        return False
    return True


def assert_counted(frames: list[Frame], topology: Topology) -> None:
    """Assert that each frame of each stream is received in its flow, and nothing else."""
    with open_measurer(topology) as measurer:
        for number in range(0, len(frames), STREAMS):
            streams = tuple(
                Stream(f"s{place}", 340, Fraction(10_000), FRAMES, Pairs(), (1,), (2,), frame)
                for place, frame in enumerate(frames[number : number + STREAMS])
            )
            result = measurer.measure(TrialSpec("any", streams, 300_000, Learning(enabled=False), per_flow=True))
            assert (result.status, result.reason) == (Verdict.MEASURED, "")
            received = {flow.stream: flow.rx_frames for flow in result.flows}
            kinds = {stream.name: [layer.kind for layer in stream.frame.layers] for stream in streams}
            assert {name: kinds[name] for name, count in received.items() if count != FRAMES} == {}
            assert (result.tx_frames, result.rx_frames) == (FRAMES * len(streams), FRAMES * len(streams))
            strays = (result.flooded_frames, result.misdirected_frames, result.foreign_frames, result.corrupted_frames)
            assert strays == (0, 0, 0, 0)


@pytest.mark.parametrize(("depth", "ways", "fit"), [(1, 6, 6), (2, 37, 35), (3, 211, 141), (4, 1194, 470)])
def test_every_way_of_layers_that_the_program_has_room_for_is_counted_exactly(depth: int, ways: int, fit: int) -> None:
    frames = list(stacks_of_depth(depth))
    sent = [frame for frame in frames if has_room(frame)]
    assert (len(frames), len(sent)) == (ways, fit)
    assert_counted(chosen(sent, depth) if depth > 3 else sent, shipped("back-to-back"))


SAMPLE = 2 * STREAMS
REWRITER = "p4-rewriter-2ports"


def chosen(frames: list[Frame], depth: int) -> list[Frame]:
    """All frames, or a sample that is the same every time."""
    if os.environ.get("P4MESH_ALL_HEADERS") or len(frames) <= SAMPLE:
        return frames
    return random.Random(depth).sample(frames, SAMPLE)


@pytest.mark.parametrize(("depth", "fit"), [(1, 6), (2, 34), (3, 127), (4, 382)])
def test_ways_of_layers_are_counted_exactly_behind_a_device_that_rewrites_them(depth: int, fit: int) -> None:
    """Goal: MAC address, a tag more, time to live, class and checksum of every frame change; the signature is found."""
    frames = [frame for frame in stacks_of_depth(depth) if has_room(frame) and has_room(frame.tagged(99))]
    assert len(frames) == fit
    assert_counted(chosen(frames, depth), shipped(REWRITER))


def test_a_rewritten_frame_is_counted_with_its_wrong_checksum() -> None:
    frame = frame_of_text("ipv4(checksum=bad)/udp")
    assert_counted([frame, frame_of_text("ipv4/udp(checksum=bad)")], shipped(REWRITER))


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_lengths_and_checksums_of_ways_of_layers_are_those_of_scapy(depth: int) -> None:
    for frame in chosen([frame for frame in stacks_of_depth(depth) if has_room(frame)], depth):
        written = frame.write(bytes(60))
        packet = Ether(written)
        for layer in packet.iterpayloads():
            for name in ("chksum", "cksum", "len", "plen"):
                # A checksum of UDP of 0 is none; Scapy does not compute these lengths.
                if layer.fields.get(name) and layer.name not in NOT_COMPUTED:
                    delattr(layer, name)
        assert bytes(packet) == written, text_of_frame(frame)


@pytest.mark.parametrize("name", ["ethernet_dst", "ethernet.destination", "ethernet[0].destination"])
def test_frames_to_addresses_that_change_are_those_of_their_port(name: str) -> None:
    """Goal: the port owns what a modifier makes of its address, by whichever name of the field."""
    modifier = FieldModifier(Modifiable.of_name(name), ValueList((3, 5)))
    stream = Stream(
        "s", 128, Fraction(10_000), 4, Pairs(), (1,), (2,), frame_of_text("mpls/ipv4/udp"), modifiers=(modifier,)
    )
    with open_measurer(shipped("back-to-back")) as measurer:
        result = measurer.measure(TrialSpec("s", (stream,), 400_000, Learning(enabled=False)))
    assert (result.rx_frames, result.flooded_frames, result.foreign_frames) == (4, 0, 0)


def test_chosen_stacks_are_counted_exactly() -> None:
    assert_counted([Frame(layers) for layers in STACKS.values()], shipped("back-to-back"))
