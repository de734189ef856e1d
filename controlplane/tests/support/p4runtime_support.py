"""A switch that runs ``everything.p4`` in virtual time, with its primary controller.

Ports 0 to 3 are cabled to the ports of a host, where tests put frames in and take them out.
``conftest.py`` makes the fixtures known.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.hosted_network import HostedNetwork

from p4mesh.p4runtime import Client, CounterData, MeterConfig, PacketIn
from p4mesh.p4runtime.stubs import Entity, p4r

PROGRAMS = Path(__file__).parents[3] / "engine/p4runtime/tests/programs"
P4INFO = PROGRAMS / "everything.p4info.txtpb"
JSON = PROGRAMS / "everything.json"

CPU_PORT = 510
DEVICE_ID = 3
_MICROSECOND_PS = 1_000_000


class Switch(HostedNetwork):
    """The switch and its clock."""

    def __init__(self) -> None:
        loop = {"port": 508, "rate_bps": 10**11}
        tester = {"loop": loop, "cpu_port": CPU_PORT, "clock_tick_ps": _MICROSECOND_PS}
        super().__init__(range(4), 10**10, tester=tester)
        self.address = self.serve(DEVICE_ID)

    def run(self, duration_us: int = 100, packet_outs: int = 0) -> None:
        """Let time pass, after packet-outs have been handled."""
        self.network.advance(duration_us * _MICROSECOND_PS, packet_outs)


@pytest.fixture
def switch() -> Iterator[Switch]:
    switch = Switch()
    yield switch
    switch.network.stop()


@pytest.fixture
def client(switch: Switch) -> Iterator[Client]:
    """The primary controller of a switch that runs everything.p4."""
    with Client(switch.address, DEVICE_ID) as client:
        client.set_pipeline(P4INFO, JSON)
        yield client


def ethernet(destination: int, ether_type: int = 0x1234, source: int = 0x0A0B0C0D0E0F, payload: bytes = b"") -> bytes:
    """A frame of at least 60 bytes."""
    frame = destination.to_bytes(6, "big") + source.to_bytes(6, "big") + ether_type.to_bytes(2, "big") + payload
    return frame.ljust(60, b"\0")


def ipv4(destination: str, ttl: int = 64, protocol: int = 17, identification: int = 0, mac: int = 1) -> bytes:
    """An IPv4 frame; the checksum is left 0."""
    address = bytes(int(part) for part in destination.split("."))
    header = bytes([0x45, 0, 0, 46, *identification.to_bytes(2, "big"), 0, 0, ttl, protocol, 0, 0, 10, 0, 0, 1])
    return ethernet(mac, 0x0800, payload=header + address)


def one_packet_in(switch: Switch, client: Client) -> PacketIn:
    """The only packet-in that comes."""
    switch.run()
    packets = client.take_packet_ins(1, timeout_s=5)
    assert len(packets) == 1
    assert client.take_packet_ins(1, timeout_s=0) == []
    return packets[0]


def write_everything(client: Client) -> list[Entity]:
    """Write state of every kind, and return the result of reading all of it."""
    s = client.schema
    client.insert(
        [
            s.member("ports", 1, "forward_to", {"port": 1}),
            s.table_entry("by_port", {"port": 3}, member=1),
            s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, action_set=[("forward_to", {"port": 3}, 2)]),
            s.table_entry("forward", {"destination": 1}, "drop", metadata=b"m", idle_timeout_ns=5),
            s.table_entry(
                "acl",
                {"port": 1, "ipv4_valid": 0},
                "deny",
                priority=3,
                counter=CounterData(1, 2),
                meter=MeterConfig(1, 2, 3, 4),
            ),
            s.multicast_group(3, [(1, 1), (2, 2)]),
            s.clone_session(4, [(1, 0)], class_of_service=2),
            s.digest("learn_t", max_list_size=3),
        ]
    )
    client.modify(
        [
            s.default_entry("forward", "forward_to", {"port": 2}),
            s.counter("port_counter", 3, CounterData(7, 8)),
            s.meter("rate", 3, MeterConfig(1, 2, 3, 4)),
            s.register("last_seen", 5, 6),
            s.register("balance", 1, -5),
            s.value_set("special_types", [{"": 0x9999}]),
        ]
    )
    return state(client)


def state(client: Client) -> list[Entity]:
    """All state that can be read."""
    s = client.schema
    tables = s.table("acl", counters=True, meters=True)
    tables.table_entry.table_id = 0
    return list(
        client.read(
            tables,
            s.table("forward", default=True),
            Entity(action_profile_member=p4r.ActionProfileMember()),
            Entity(action_profile_group=p4r.ActionProfileGroup()),
            Entity(counter_entry=p4r.CounterEntry()),
            Entity(meter_entry=p4r.MeterEntry()),
            Entity(register_entry=p4r.RegisterEntry()),
            Entity(value_set_entry=p4r.ValueSetEntry()),
            Entity(digest_entry=p4r.DigestEntry()),
            s.multicast_group(0),
            s.clone_session(0),
        )
    )
