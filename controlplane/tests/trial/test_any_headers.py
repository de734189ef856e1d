"""Ways of layers behind Ethernet are sent, received and counted exactly, many streams at a time.

All of up to three; of four and five, which have up to ten headers, so many that all neighbours are at all places.
``P4MESH_ALL_HEADERS=1`` (``make fuzz``) sends all of those, too.
"""

from __future__ import annotations

import os
import random
import re
from dataclasses import fields
from fractions import Fraction
from functools import cache
from itertools import pairwise

import pytest
from scapy.layers.l2 import Ether
from support.networks import shipped
from support.stacks import STACKS, stacks_of_depth

from p4mesh.errors import ParameterError
from p4mesh.layers import Frame, Modifiable
from p4mesh.layers.notation import frame_of_text, text_of_frame
from p4mesh.tester.frames import bytes_before_signature
from p4mesh.tester.seed_layout import layout_of
from p4mesh.tester.sendable import MAGIC, require_sendable
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
MOST_WORDS = 10
REWRITER = "p4-rewriter-2ports"
SENDS_ALL = bool(os.environ.get("P4MESH_ALL_HEADERS"))


def has_room(frame: Frame) -> bool:
    """Whether the program takes these headers: there may be too many, or UDP of a tunnel inside a tunnelled frame."""
    try:
        require_sendable("any", frame)
    except ParameterError as error:
        assert re.search("bytes of (headers between|extension headers)|udp leads into a tunnel behind", error.message)
        return False
    return True


def assert_counted(frames: list[Frame], topology: Topology, came: list[bytes] | None = None) -> None:
    """Assert that each frame of each stream is received in its flow, and nothing else.

    In frames that ``came``, the signature is behind the headers of a stream with all their values, and each stream has
    such frames.
    """
    with open_measurer(topology) as measurer:
        for number in range(0, len(frames), STREAMS):
            streams = tuple(
                Stream(f"s{place}", 340, Fraction(10_000), FRAMES, Pairs(), (1,), (2,), frame)
                for place, frame in enumerate(frames[number : number + STREAMS])
            )
            compared = "" if came is None else "any"
            result = measurer.measure(
                TrialSpec("any", streams, 300_000, Learning(enabled=False), per_flow=True, received_headers=compared)
            )
            assert (result.status, result.reason) == (Verdict.MEASURED, "")
            received = {flow.stream: flow.rx_frames for flow in result.flows}
            kinds = {stream.name: [layer.kind for layer in stream.frame.layers] for stream in streams}
            assert {name: kinds[name] for name, count in received.items() if count != FRAMES} == {}
            assert (result.tx_frames, result.rx_frames) == (FRAMES * len(streams), FRAMES * len(streams))
            strays = (result.flooded_frames, result.misdirected_frames, result.foreign_frames, result.corrupted_frames)
            assert strays == (0, 0, 0, 0)
            if came is not None:
                read = [Frame.read(data)[0] for data in came]
                begins = [data[bytes_before_signature(frame) :] for frame, data in zip(read, came, strict=True)]
                assert all(begin.startswith(MAGIC) for begin in begins)
                sent_as = {kinds_of(stream.frame): stream.frame for stream in streams}
                assert set(map(kinds_of, read)) == set(sent_as)
                assert [changed for frame in read if (changed := changes(sent_as[kinds_of(frame)], frame))] == []
                came.clear()


def changes(sent: Frame, read: Frame) -> list[str]:
    """Fields with another value than was given to them."""
    return [
        f"{layer.kind}.{field.name} at {place} of {text_of_frame(sent)}"
        for place, (layer, found) in enumerate(zip(sent.layers, read.layers, strict=True))
        for field in fields(layer)
        if getattr(layer, field.name) not in (None, getattr(found, field.name))
    ]


def kinds_of(frame: Frame) -> tuple[str, ...]:
    return tuple(layer.kind for layer in frame.layers)


@cache
def fitting(depth: int) -> list[Frame]:
    """The ways of so many layers that the program has room for."""
    return [frame for frame in stacks_of_depth(depth) if has_room(frame)]


def places_of(frame: Frame) -> set[tuple[int, str, str]]:
    """Each place of a header, with the protocols of that header and of the next one."""
    return {(place, *pair) for place, pair in enumerate(pairwise((*kinds_of(frame), "")))}


@cache
def covering(depth: int) -> list[Frame]:
    """Ways of so many layers that have all neighbours at all places which ways that the program has room for have."""
    seen = set[tuple[int, str, str]]()
    chosen: list[Frame] = []
    ways = list(stacks_of_depth(depth))
    for frame in random.Random(depth).sample(ways, len(ways)):
        more = places_of(frame) - seen
        # Room for headers in tunnels is what these lack: to ask for it first is quicker.
        if more and max(layout_of(frame).words.values()) <= MOST_WORDS and has_room(frame):
            chosen.append(frame)
            seen |= more
    return chosen


def sent(depth: int) -> list[Frame]:
    """Ways of so many layers that are sent."""
    return fitting(depth) if depth < 4 or SENDS_ALL else covering(depth)


@pytest.mark.parametrize(("depth", "ways", "fit"), [(1, 6, 6), (2, 37, 35), (3, 211, 141), (4, 1194, 470)])
def test_the_program_has_room_for_so_many_ways_of_layers(depth: int, ways: int, fit: int) -> None:
    assert (len(list(stacks_of_depth(depth))), len(fitting(depth))) == (ways, fit)


def test_every_two_neighbours_of_a_way_are_at_every_place_of_those_that_are_sent() -> None:
    assert set().union(*map(places_of, covering(4))) == set().union(*map(places_of, fitting(4)))
    assert max(len(frame.layers) for frame in covering(5)) == 10


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_ways_of_layers_are_counted_exactly(depth: int, came: list[bytes]) -> None:
    assert_counted(sent(depth), shipped("back-to-back"), came)


@pytest.mark.parametrize(("depth", "fit"), [(1, 6), (2, 34), (3, 127), (4, 382 if SENDS_ALL else 82)])
def test_ways_of_layers_are_counted_exactly_behind_a_device_that_rewrites_them(depth: int, fit: int) -> None:
    """Goal: MAC address, a tag more, time to live, class and checksum of every frame change; the signature is found."""
    frames = [frame for frame in sent(depth) if has_room(frame.tagged(99))]
    assert len(frames) == fit
    assert_counted(frames, shipped(REWRITER))


def test_a_rewritten_frame_is_counted_with_its_wrong_checksum() -> None:
    frame = frame_of_text("ipv4(checksum=bad)/udp")
    assert_counted([frame, frame_of_text("ipv4/udp(checksum=bad)")], shipped(REWRITER))


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_lengths_and_checksums_of_ways_of_layers_are_those_of_scapy(depth: int) -> None:
    for frame in sent(depth):
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
