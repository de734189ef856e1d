"""Frames to many devices of the Open Traffic Generator API: each goes to those alone that it is about."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from ipaddress import ip_address
from typing import Any

import pytest
from support.otg import OtgServer, two_ports

from p4mesh.layers import Ethernet, Frame, IPv4, IPv6
from p4mesh.otg.dispatcher import Dispatcher, Member
from p4mesh.otg.tags import Tag, Tagged
from p4mesh.tester.responders import Outgoing, PuntRule

ADDRESSES = 1000
HEAD = bytes(6) + bytes(6)
VLAN_7 = bytes.fromhex("8100 6007")


class Recorder:
    """A responder that keeps what it gets."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def wants(self) -> Collection[PuntRule]:
        return ()

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        self.frames.append(frame)
        return [Outgoing(port, frame)]

    def next_event(self) -> int | None:
        return None

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        return ()


def arp(sender: str, target: str) -> bytes:
    addresses = ip_address(sender).packed, ip_address(target).packed
    return bytes.fromhex("0806 0001 0800 06 04 0001") + bytes(6) + addresses[0] + bytes(6) + addresses[1]


def packet(kind: Any, destination: str, data: bytes = b"") -> bytes:
    frame = Frame((Ethernet(), kind(destination=ip_address(destination))))
    return bytes(frame.write(data))[12:]


@pytest.mark.parametrize(
    ("packet", "concerned"),
    [
        (arp("10.0.0.9", "10.0.0.1"), "own"),
        (arp("10.0.0.254", "10.0.0.9"), "gateway"),
        (arp("10.0.0.9", "10.0.0.8"), ""),
        (packet(IPv4, "10.0.0.1"), "own"),
        (packet(IPv4, "10.0.0.2"), "other"),
        (packet(IPv4, "10.0.0.3"), ""),
        (packet(IPv6, "2001:db8::1"), "ipv6"),
        (packet(IPv6, "ff02::1:ff00:1", bytes(8) + ip_address("2001:db8::1").packed), "ipv6"),
        (packet(IPv6, "ff02::1:ff00:2", bytes(8) + ip_address("2001:db8::2").packed), ""),
        (b"\x88\xcc", ""),
        (b"\x08\x06", ""),
    ],
)
@pytest.mark.parametrize("tags", [b"", VLAN_7])
@pytest.mark.parametrize("port", [1, 2])
def test_a_frame_goes_to_the_members_of_its_port_and_vlan_that_it_is_about(
    packet: bytes, concerned: str, tags: bytes, port: int
) -> None:
    told = {"own": "10.0.0.1", "other": "10.0.0.2", "gateway": "10.0.0.254", "ipv6": "2001:db8::1"}
    places = [(name, at, vlan) for name in told for at in (1, 2) for vlan in (b"", VLAN_7)]
    recorders = {place: Recorder() for place in places}
    members = [
        Member(Tagged(it, [Tag(0x8100, 7)] if vlan else []), at, [ip_address(told[name])])
        for (name, at, vlan), it in recorders.items()
    ]
    frame = HEAD + tags + packet
    answers = list(Dispatcher(members).on_frame(port, frame, 0))
    found = [place for place, it in recorders.items() if it.frames]
    assert found == ([(concerned, port, tags)] if concerned else [])
    assert len(answers) == len(found)


def test_a_thousand_addresses_of_a_port_find_their_gateway(server: OtgServer) -> None:
    """Of IPv6, in a time that is linear in their number; test_otg_devices has as many as there can be of IPv4."""
    api = server.api()
    config = two_ports(api)
    places = [("p1", str(ip_address("2001:db8::2") + number), "2001:db8::1") for number in range(ADDRESSES)]
    for number, (port, address, of) in enumerate([*places, ("p2", "2001:db8::1", "2001:db8::2")]):
        ethernet = config.devices.add(name=f"d{number}").ethernets.add(name=f"e{number}")
        ethernet.mac, ethernet.connection.port_name = f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}", port
        ethernet.ipv6_addresses.add(name=f"a{number}", address=address, gateway=of, prefix=64)
    api.set_config(config)
    request = api.states_request()
    request.choice = "ipv6_neighbors"
    for _ in range(3):
        found = api.get_states(request).ipv6_neighbors
    assert [it.ethernet_name for it in found] == [f"e{number}" for number in range(ADDRESSES + 1)]
    assert {it.link_layer_address for it in found} == {"02:00:00:00:03:e8", "02:00:00:00:00:00"}
