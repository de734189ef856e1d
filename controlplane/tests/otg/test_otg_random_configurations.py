"""Random configurations: each is taken, or refused with a message; none ends in an error of ours.

Method: a configuration of all kinds of elements, of which some fields get other values, elements come in addition or
are taken away. P4MESH_OTG_CONFIGURATIONS=5000 tries as many.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from snappi import otg_pb2 as pb2

from p4mesh.errors import P4MeshError
from p4mesh.otg.elements import OtgErrors
from p4mesh.otg.locations import Topologies
from p4mesh.otg.pace import TimeMode
from p4mesh.otg.session import Session
from p4mesh.shipped import shipped
from p4mesh.target.table import TARGETS
from p4mesh.topology import load_topology

COUNT = int(os.environ.get("P4MESH_OTG_CONFIGURATIONS", "60"))
TEXTS = (
    "",
    "p1",
    "p2",
    "f",
    "d1",
    "e1",
    "v4",
    "v6",
    "10.0.0.2",
    "2001:db8::2",
    "02:00:00:00:00:07",
    "0",
    "65535",
    "é",
    "x" * 3000,
)
NUMBERS = (0, 1, 2, 3, 63, 64, 65, 255, 1500, 9999, 65535, 65536, (1 << 31) - 1, (1 << 32) - 1, (1 << 63) - 1)
REALS = (0.0, 0.1, -1.0, 1e-30, 1e30, 50.0, 100.0, float("inf"), float("nan"))


def usual() -> pb2.Config:
    """Return a configuration that has all kinds of elements which there are."""
    config = pb2.Config()
    for number in (1, 2):
        config.ports.add(name=f"p{number}", location=str(number))
        device = config.devices.add(name=f"d{number}")
        ethernet = device.ethernets.add(name=f"e{number}", mac=f"02:00:00:00:00:0{number}")
        ethernet.connection.port_name = f"p{number}"
        ethernet.vlans.add(name=f"vlan{number}", id=7)
        ethernet.ipv4_addresses.add(name=f"v4{number}", address=f"10.0.0.{number}", gateway=f"10.0.0.{3 - number}")
        ethernet.ipv6_addresses.add(
            name=f"v6{number}", address=f"2001:db8::{number}", gateway=f"2001:db8::{3 - number}"
        )
        device.ipv4_loopbacks.add(name=f"lo{number}", eth_name=f"e{number}", address=f"192.0.2.{number}")
        device.bgp.router_id = f"10.0.0.{number}"
        peer = device.bgp.ipv4_interfaces.add(ipv4_name=f"v4{number}").peers.add(
            name=f"peer{number}", peer_address=f"10.0.0.{3 - number}", as_number=65000 + number
        )
        peer.as_type = pb2.BgpV4Peer.AsType.ebgp
        routes = peer.v4_routes.add(name=f"routes{number}")
        routes.addresses.add(address=f"10.{number}.0.0", count=3)
        routes.advanced.multi_exit_discriminator = 50
        routes.as_path.as_set_mode = pb2.BgpAsPath.AsSetMode.include_as_set
        routes.as_path.segments.add(as_numbers=[65010, 65011])
        routes.communities.add(type=pb2.BgpCommunity.Type.manual_as_number, as_number=1, as_custom=2)
        routes.extended_communities.add().custom.value = "0102"
    config.captures.add(name="c", port_names=["p2"])
    config.layer1.add(name="l", port_names=["p1"], mtu=1500)
    for number in range(3):
        flow = config.flows.add(name=f"f{number}")
        if number:
            flow.tx_rx.choice = pb2.FlowTxRx.Choice.device
            flow.tx_rx.device.tx_names.append("d1")
            flow.tx_rx.device.rx_names.append("d2")
        else:
            flow.tx_rx.port.tx_name = "p1"
            flow.tx_rx.port.rx_names.append("p2")
        for kind in ("ethernet", "vlan", "ipv4" if number < 2 else "ipv6", "udp"):
            header = flow.packet.add()
            header.choice = pb2.FlowHeader.Choice.Enum.Value(kind)
            getattr(header, kind).SetInParent()
        flow.packet[3].udp.src_port.choice = pb2.PatternFlowUdpSrcPort.Choice.increment
        flow.packet[3].udp.src_port.increment.count = 5
        flow.packet[3].udp.src_port.metric_tags.add(name="t")
        flow.size.fixed, flow.rate.pps, flow.duration.fixed_packets.packets = 200, 100, 10
        flow.size.choice, flow.rate.choice = pb2.FlowSize.Choice.fixed, pb2.FlowRate.Choice.pps
        flow.duration.choice = pb2.FlowDuration.Choice.fixed_packets
        flow.metrics.enable = flow.metrics.latency.enable = True
        flow.payload.choice = pb2.FlowPayload.Choice.fixed
        flow.payload.fixed.pattern = "cafe"
    return config


def parts(message: Any) -> Iterator[Any]:
    """Yield a message and all messages in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in value if field.is_repeated else [value]:
                yield from parts(part)


def change(message: Any, random: Random) -> None:
    """Give a field of a message another value, an element more, or take it away."""
    fields = message.DESCRIPTOR.fields
    if not fields:
        return
    field = random.choice(fields)
    if random.random() < 0.15:
        message.ClearField(field.name)
    elif field.message_type is not None:
        part = getattr(message, field.name)
        if field.is_repeated:
            if part and random.random() < 0.5:
                part.add().CopyFrom(random.choice(part))
                return
            part = part.add()
        else:
            part.SetInParent()
        choose(part, random)
    elif field.is_repeated:
        getattr(message, field.name).extend(value_of(field, random) for _ in range(random.randint(1, 3)))
    else:
        setattr(message, field.name, value_of(field, random))
        choose(message, random, field.name)


def choose(message: Any, random: Random, wanted: str = "") -> None:
    """Let the choice of a message, where it has one, name an element that is then there."""
    choices = message.DESCRIPTOR.fields_by_name.get("choice")
    if choices is not None and choices.enum_type is not None:
        names = [value.name for value in choices.enum_type.values if value.number]
        name = wanted if wanted in names else random.choice(names)
        message.choice = choices.enum_type.values_by_name[name].number
        field = message.DESCRIPTOR.fields_by_name.get(name)
        if field is not None and field.message_type is not None and not field.is_repeated:
            getattr(message, name).SetInParent()
            choose(getattr(message, name), random)


def value_of(field: Any, random: Random) -> Any:
    if field.enum_type is not None:
        return random.choice(field.enum_type.values).number
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return random.choice(TEXTS)
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return random.random() < 0.5
    if field.cpp_type in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
        return random.choice(REALS)
    bits = 31 if field.cpp_type == FieldDescriptor.CPPTYPE_INT32 else 32
    fitting = [number for number in NUMBERS if "64" in str(field.type) or number < 1 << bits]
    return random.choice(fitting)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    topologies = Topologies(load_topology("back-to-back"), shipped("topologies"))
    opened = Session(TARGETS["sim"], topologies, TimeMode.FAST)
    opened.open()
    yield opened
    opened.close()


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_random_configuration_is_taken_or_refused(session: Session, seed: int) -> None:
    random, config = Random(seed), usual()
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        change(random.choice(list(parts(config))), random)
    try:
        session.set_config(config)
        session.set_control_state(start())
    except OtgErrors as errors:
        assert all(error.message for error in errors.errors)
    except P4MeshError as error:
        assert error.message


def start() -> pb2.ControlState:
    control = pb2.ControlState()
    control.choice = pb2.ControlState.Choice.traffic
    control.traffic.choice = pb2.StateTraffic.Choice.flow_transmit
    control.traffic.flow_transmit.state = pb2.StateTrafficFlowTransmit.State.start
    return control
