"""Addresses and their owners by closed forms: stations of ports, hosts behind them, and what each port receives."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from ipaddress import IPv4Address, ip_interface
from typing import Any

import pytest
from support.frames import FORMATS

from p4mesh.errors import ParameterError
from p4mesh.layers import Ethernet, Modifiable, ethernet
from p4mesh.layers.notation import frame_of_text
from p4mesh.tester.stations import (
    FULL_MASK,
    Receiver,
    _beside,
    addresses_of,
    changes_of_destination,
    counting_receivers_of,
    destinations_of,
    own_station,
    receiver_tag,
    receivers_of,
    station,
)
from p4mesh.traffic.addresses import OwnAddresses, host_in_network, ipv6_host_behind, station_ipv4
from p4mesh.traffic.patterns import FullMesh, GroupRange, Multicast, Pairs
from p4mesh.traffic.stream import FieldModifier, Progression, PseudoRandom, Stream, ValueList

PAIR = Stream("pair", 128, Fraction(1000), 10, Pairs(), (1, 2), (2, 1))
MANY = Stream("many", 128, Fraction(1000), 10, Multicast((GroupRange("225.0.0.1", 3, (2, 3)),)), (1,), (2, 3))
GROUPS = (0x01005E000001).to_bytes(6, "big"), (0x01005E000002).to_bytes(6, "big")
NOBODY = bytes(6)


@pytest.mark.parametrize(
    ("port", "address"),
    [(1, "198.18.1.2"), (255, "198.18.255.2"), (256, "198.19.4.2"), (300, "198.19.4.178"), (512, "198.19.8.2")],
)
def test_ports_beyond_the_plan_of_the_rfc_have_networks_of_four_addresses(port: int, address: str) -> None:
    assert station(port).ipv4 == IPv4Address(address)


def test_addresses_of_a_port_follow_its_own_and_wrap() -> None:
    stream = replace(PAIR, addresses_per_port=3)
    first = int.from_bytes(station(2).mac, "big")
    assert addresses_of(stream, 2) == [(first + place).to_bytes(6, "big") for place in range(3)]
    own = OwnAddresses(2, IPv4Address("10.0.0.2"), station(2).ipv6, b"\xff" * 6)
    stream = replace(stream, own_addresses=(replace(own, port=1, mac=b""), own))
    assert addresses_of(stream, 2) == [b"\xff" * 6, NOBODY, bytes(5) + b"\1"]
    assert own_station(stream, 1) == replace(station(1), ipv4=own.ipv4, ipv6=own.ipv6)
    assert own_station(stream, 3) == station(3)


@pytest.mark.parametrize(
    ("interfaces", "ipv4", "router"),
    [
        (("10.0.0.1/24", "10.0.1.1/24"), "10.0.0.2", "10.0.0.1"),
        (("10.0.0.2/24",), "10.0.0.1", "10.0.0.2"),
        (("10.0.0.1/24", "198.18.5.1/24"), "198.18.5.2", "198.18.5.1"),
        (("10.0.0.1/32",), "198.18.5.2", "198.18.5.1"),
        (("2001:db8::1/64",), "198.18.5.2", "198.18.5.1"),
    ],
)
def test_a_station_is_the_first_other_host_of_the_first_network_of_its_router(
    interfaces: tuple[str, ...], ipv4: str, router: str
) -> None:
    found = _beside(station(5), [ip_interface(text) for text in interfaces])
    assert (str(found.ipv4), str(found.router_ipv4)) == (ipv4, router)
    other = "2001:db8::1/64" in interfaces
    assert (str(found.ipv6), str(found.router_ipv6)) == (
        ("2001:db8::2", "2001:db8::1") if other else (str(station(5).ipv6), str(station(5).router_ipv6))
    )


@pytest.mark.parametrize("version", [4, 6])
def test_hosts_behind_stations_are_in_the_networks_that_are_announced(version: int) -> None:
    """Of three sources each sends to network d of the port that is d before it; ``network`` shifts them."""
    ports = (1, 2, 3)
    mesh = Stream("mesh", 128, Fraction(1000), 10, FullMesh(), ports, ports, FORMATS[version], routed=True)
    many = replace(mesh, advertised_networks=3, router_macs=(b"\2" * 6,) * 3)
    numbers = {0: {1: 0, 2: 2, 3: 1}, 1: {1: 1, 2: 0, 3: 2}, 2: {1: 2, 2: 1, 3: 0}}
    for source, expected in numbers.items():
        for shift in (0, 1):
            stations = destinations_of(replace(many, network=shift), source)
            found = {it.port: it.ipv4 if version == 4 else it.ipv6 for it in stations}
            assert found == {port: host_in_network(port, version, (n + shift) % 3) for port, n in expected.items()}
    assert {it.mac for it in destinations_of(many)} == {b"\2" * 6}
    apart = replace(many, advertised_networks=0, router_macs=(b"\2" * 6, b"\4" * 6, b"\6" * 6))
    assert [(it.port, it.mac) for it in destinations_of(apart, 1)] == [(3, b"\4" * 6), (1, b"\4" * 6)]
    for it in destinations_of(replace(mesh, advertised_prefix_bits=48)):
        assert it.ipv4 == (station_ipv4(it.port, output_half=True) if version == 4 else station(it.port).ipv4)
        assert it.ipv6 == (ipv6_host_behind(it.port, 48) if version == 6 else station(it.port).ipv6)
    assert {it.mac for it in destinations_of(replace(PAIR, destination_mac=b"\2" * 6))} == {b"\2" * 6}


@pytest.mark.parametrize(
    ("values", "bits"),
    [
        ((Progression(1),), 0),
        ((Progression(4),), 2),
        ((Progression(4, -1),), 5),
        ((ValueList((0, 0x100)),), 9),
        ((PseudoRandom(1, 0x0F),), 4),
        ((PseudoRandom(1, 0),), 0),
        ((Progression(2), ValueList((0x40,))), 7),
        ((ValueList((FULL_MASK - 0xF,)),), 5),
    ],
)
def test_a_port_owns_what_modifiers_make_of_its_address(values: tuple[Any, ...], bits: int) -> None:
    """Address 02:00:00:00:00:10, and the bits that change; the last value takes 16 away."""
    modifiers = tuple(FieldModifier(ethernet.DESTINATION, value) for value in values)
    stream = replace(
        PAIR, destination_mac=bytes.fromhex("020000000010"), modifiers=modifiers, rx_ports=(2,), tx_ports=(1,)
    )
    mask = FULL_MASK & ~((1 << bits) - 1)
    (found,) = receivers_of((stream,), (), 1)
    mac = (0x020000000010 & mask).to_bytes(6, "big")
    assert found == Receiver(2, mac, 0, mask, receiver_tag(2))


def test_only_the_outermost_destination_address_is_the_ports() -> None:
    inner = Modifiable("ethernet.destination", Ethernet, "destination")
    tunnel = frame_of_text("ipv4(source=10.0.0.1,destination=10.0.0.2)/udp/vxlan/ethernet/ipv4/udp")
    modifiers = [FieldModifier(field, Progression(2)) for field in (ethernet.SOURCE, inner, ethernet.DESTINATION)]
    assert changes_of_destination(replace(PAIR, modifiers=tuple(modifiers))) == modifiers[1:]
    assert changes_of_destination(replace(PAIR, modifiers=tuple(modifiers), frame=tunnel)) == modifiers[2:]


def test_each_port_owns_its_unicast_addresses_and_all_groups() -> None:
    """Groups 225.0.0.1 to 3 are blocks of one and of two addresses; ports 2 and 3 are the second and third of three."""
    mask = FULL_MASK & ~1
    found = receivers_of((PAIR, MANY), (1, 2, 3), 7)
    assert found[:2] == tuple(Receiver(port, station(port).mac, 0, FULL_MASK, receiver_tag(port)) for port in (1, 2))
    blocks = ((GROUPS[0], FULL_MASK), (GROUPS[1], mask))
    shared = {Receiver(port, mac, 7 * place, own) for mac, own in blocks for place, port in enumerate((1, 2, 3))}
    assert len(found) == 8 and set(found[2:]) == shared
    ranges = [({0x01005E000001}, 0, 7), ({0x01005E000002, 0x01005E000003}, 100, 20)]
    counted = counting_receivers_of((PAIR, MANY), (1, 2, 3), ranges)
    assert counted[:2] == found[:2]
    assert set(counted[2:]) == {
        *(Receiver(port, GROUPS[0], 7 * place, FULL_MASK) for place, port in enumerate((1, 2, 3))),
        *(Receiver(port, GROUPS[1], 100 + 20 * place, mask) for place, port in enumerate((1, 2, 3))),
    }


def test_ports_that_take_any_address_and_ends_of_tunnels() -> None:
    anyone = Receiver(2, NOBODY, 0, 0, receiver_tag(2))
    assert receivers_of((replace(PAIR, tx_ports=(1,), rx_ports=(2,), received_at_any_address=True),), (), 1) == (
        anyone,
    )
    taken = receivers_of((replace(MANY, received_at_any_address=True),), (2, 3), 7)
    assert taken == (Receiver(2, NOBODY, 0, 0), Receiver(3, NOBODY, 7, 0))
    tunnel = replace(MANY, received_in_tunnel=True)
    ends = receivers_of((tunnel,), (1, 2, 3), 7)
    assert ends == (Receiver(2, station(2).mac, 7), Receiver(3, station(3).mac, 14))
    with pytest.raises(ParameterError, match="port 2 is to receive unicast frames and frames in tunnels"):
        receivers_of((tunnel, replace(PAIR, tx_ports=(2, 3), rx_ports=(3, 2))), (1, 2, 3), 7)


def test_tags_of_receivers_are_1_to_255_and_0_is_of_many() -> None:
    assert [receiver_tag(port) for port in (1, 254, 255, 256, 510)] == [2, 255, 1, 2, 1]
    assert (station(254).receiver_tag, replace(station(1), port=0).receiver_tag) == (255, 0)
