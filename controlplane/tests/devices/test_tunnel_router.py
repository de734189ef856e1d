"""``p4src/dut/multicast_tunnels.p4``: each copy of a packet to a group as it is to leave; Scapy is the oracle."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, GRE, Ether
from scapy.packet import Packet
from support.hosted_network import HostedNetwork

from p4mesh.topology import Device, DevicePort, Loop, Topology
from p4mesh.topology.engine_config import SpecialPorts, engine_config

PORTS = (1, 2, 3)
ROUTER_MAC, HOST_MAC = "02:00:5e:00:00:{:02x}", "02:00:00:00:00:{:02x}"
EMPTY = Topology("", "", "", "", 1000, 0, Loop(10**11, 400.0), (), (), ())
NATIVE, IN_TUNNELS = 1, 2


def entry(table: str, action: str, params: list[object], priority: int = 0, **key: object) -> dict[str, object]:
    return {"table": table, "action": action, "params": params, "key": key, "priority": priority}


def group(prefix: str, number: int) -> dict[str, object]:
    return entry("group", "replicate", [number], port=1, group={"value": prefix, "prefix_bits": 24})


def copies(number: int, action: str, *more: str) -> list[dict[str, object]]:
    """Entries by which the copies to ports 2 and 3 leave; ``{}`` is the port."""
    return [
        entry(
            "copy", action, [text.format(port) for text in (ROUTER_MAC, *more)],
            multicast_group=number, instance=instance,
        )
        for instance, port in enumerate((2, 3), start=1)
    ]  # fmt: skip


DEVICE = Device(
    "r",
    "p4",
    tuple(DevicePort(number, 10**9) for number in PORTS),
    {
        "program": "multicast_tunnels",
        "groups": [{"group": NATIVE, "ports": [2, 3]}, {"group": IN_TUNNELS, "ports": [2, 3]}],
        "entries": [
            entry("own_address", "answer", [ROUTER_MAC.format(1)], port=1, address="10.0.1.1"),
            entry(
                "tunnel_end", "decapsulate", [], 1,
                mac=ROUTER_MAC.format(1), destination="10.0.1.1", source={"value": "10.0.1.0", "mask": "255.255.255.0"},
            ),
            group("225.1.1.0", NATIVE),
            group("225.1.2.0", IN_TUNNELS),
            *copies(NATIVE, "as_it_is"),
            *copies(IN_TUNNELS, "encapsulate", HOST_MAC, "10.0.{}.1", "10.0.{}.9"),
        ],
    },
)  # fmt: skip


def exchange(frame: Packet) -> list[tuple[int, Packet]]:
    """Send a frame to port 1 of a new router; return what it sends."""
    (router,) = engine_config(replace(EMPTY, devices=(DEVICE,)), SpecialPorts(509, 510, 511))["nodes"]
    lab = HostedNetwork(PORTS, device=router)
    lab.send(1, bytes(frame).ljust(60, b"\0"))
    lab.network.advance(10**9)
    return [(port, Ether(answer)) for port, answer in lab.received()]


def packet(to: str, ttl: int = 9) -> Packet:
    return IP(src="198.51.100.1", dst=to, ttl=ttl, tos=0xB8, id=7) / UDP(sport=1, dport=2) / bytes(64)


def native(to: str, ttl: int = 9) -> Packet:
    mac = "01:00:5e:" + ":".join(f"{int(part):02x}" for part in to.split(".")[1:])
    return Ether(src=HOST_MAC.format(1), dst=mac) / packet(to, ttl)


def in_tunnel(to: str, source: str = "10.0.1.9", gre: Packet | None = None, checksum: int | None = None) -> Packet:
    ip = IP(src=source, dst="10.0.1.1", chksum=checksum)
    return Ether(src=HOST_MAC.format(1), dst=ROUTER_MAC.format(1)) / ip / (gre or GRE()) / packet(to)


@pytest.mark.parametrize("came", [native, in_tunnel])
def test_copies_leave_as_they_are(came: object) -> None:
    answers = exchange(native("225.1.1.7") if came is native else in_tunnel("225.1.1.7"))
    assert sorted(port for port, _ in answers) == [2, 3]
    for port, frame in answers:
        expected = Ether(src=ROUTER_MAC.format(port), dst="01:00:5e:01:01:07") / packet("225.1.1.7", ttl=8)
        assert bytes(frame) == bytes(expected)


@pytest.mark.parametrize("came", [native, in_tunnel])
def test_copies_leave_in_a_tunnel_of_their_own(came: object) -> None:
    answers = exchange(native("225.1.2.7") if came is native else in_tunnel("225.1.2.7"))
    assert sorted(port for port, _ in answers) == [2, 3]
    for port, frame in answers:
        outer = IP(src=f"10.0.{port}.1", dst=f"10.0.{port}.9", ttl=64, tos=0xB8, id=0, flags="DF")
        ends = Ether(src=ROUTER_MAC.format(port), dst=HOST_MAC.format(port))
        assert bytes(frame) == bytes(ends / outer / GRE() / packet("225.1.2.7", ttl=8))


@pytest.mark.parametrize(
    "frame",
    [
        native("225.1.3.7"),
        native("225.1.1.7", ttl=1),
        in_tunnel("225.1.3.7"),
        in_tunnel("225.1.1.7", source="10.0.2.9"),
        in_tunnel("225.1.1.7", gre=GRE(key_present=1, key=5)),
        in_tunnel("225.1.1.7", checksum=1),
    ],
    ids=["no such group", "last hop", "no such group in a tunnel", "no such tunnel", "a key", "damaged outer header"],
)
def test_what_is_not_for_a_group_or_a_tunnel_ends(frame: Packet) -> None:
    assert exchange(frame) == []


def test_the_router_answers_for_its_own_address() -> None:
    mac = HOST_MAC.format(1)
    question: Packet = Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=mac, psrc="10.0.1.9", pdst="10.0.1.1")
    ((port, reply),) = exchange(question)
    assert (port, reply[ARP].op, reply[ARP].hwsrc, reply[ARP].psrc) == (1, 2, ROUTER_MAC.format(1), "10.0.1.1")
    other: Packet = question.copy()
    other[ARP].pdst = "10.0.1.2"
    assert exchange(other) == []
