"""Stacks as text are read as they are written, and refused with what is valid."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from support.stacks import STACKS

from p4mesh.errors import ParameterError
from p4mesh.layers import Ethernet, Frame, IPv4, Mpls, Udp, Vlan
from p4mesh.layers.notation import frame_of_text, text_of_frame
from p4mesh.store.codec import decode, encode
from p4mesh.tester.sendable import require_sendable

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_is_read_as_it_is_written(name: str) -> None:
    frame = Frame(STACKS[name])
    assert frame_of_text(text_of_frame(frame)) == frame


def test_ethernet_in_front_may_be_left_out() -> None:
    frame = Frame((Ethernet(), Vlan(vid=7), Mpls(100), IPv4(dscp=46), Udp()))
    assert frame_of_text("vlan(vid=7)/mpls( label = 0x64 ) / ipv4(dscp=46)/udp") == frame
    assert text_of_frame(frame) == "ethernet/vlan(vid=7)/mpls(label=100)/ipv4(dscp=46)/udp"


@pytest.mark.parametrize(("kind", "right", "bad"), [("ipv4", 0x7ABE, 0x7ABF), ("icmp", 0xF7FF, 0xF800)])
def test_a_bad_checksum_is_the_right_one_and_one_more_in_every_frame(kind: str, right: int, bad: int) -> None:
    stack = {"ipv4": "ipv4(checksum=bad)/udp", "icmp": "ipv4/icmp(checksum=bad)"}[kind]
    frame = frame_of_text(stack)
    assert text_of_frame(frame) == f"ethernet/{stack}"
    assert decode(Frame, encode(frame)) == frame
    found = {
        text: next(layer for layer in frame_of_text(text).completed(bytes(20)).layers if layer.kind == kind)
        for text in (stack, stack.replace("(checksum=bad)", ""))
    }
    assert [vars(layer)["checksum"] for layer in found.values()] == [bad, right]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "'' is no layer", "layers with / between them, such as vlan(vid=7)/ipv4(dscp=46)/udp"),
        ("ipv4/udp(", "'udp(' is no layer", "layers with /"),
        ("ipv4/udpp", "no layer 'udpp'", "layers are "),
        ("vlan(vlan=7)/ipv4/udp", "vlan has no field 'vlan'", "fields are priority, drop_eligible, vid, ether_type"),
        ("ipv4/udp(length=9)", "udp has no field 'length'", "fields are source, destination, checksum"),
        ("ipv4/udp(checksum=good)", "udp.checksum=good: not valid", "a value such as checksum=bad"),
        ("vlan(7)/ipv4/udp", "vlan has no field '7'", "fields are priority"),
        ("vlan(vid=seven)", "vlan.vid=seven: not valid", "a value such as vid=0"),
        ("vlan(vid=4096)", "vlan.vid: 4096 does not fit into 12 bits", "use 0 to 4095"),
        ("ethernet(source=02:00)/ipv4", "ethernet.source=02:00: not valid", "source=00:00:00:00:00:01"),
        ("ipv6(source=10.0.0.1)/udp", "ipv6.source=10.0.0.1: not valid", "a value such as source=::1"),
        ("segment_routing(segments=::1 x)/ipv4", "segment_routing.segments=::1 x: not valid", "a value such as"),
    ],
)
def test_what_is_no_stack_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(ParameterError) as caught:
        frame_of_text(text)
    assert caught.value.message == message
    assert hint in (caught.value.hint or "")


def test_the_page_has_a_row_for_every_layer_and_its_examples_can_be_sent() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        describe = importlib.import_module("describe_headers")
    finally:
        sys.path.pop(0)
    page = describe.DOCUMENT.read_text()
    assert page == describe.document(), "run scripts/describe_headers.py"
    examples = page.split("```\n")[1].splitlines()
    assert len(examples) == 5
    for text in examples:
        require_sendable("example", frame_of_text(text))
