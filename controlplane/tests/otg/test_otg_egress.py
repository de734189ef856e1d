"""Metric tags on the headers that frames come with (``egress_packet``).

Method: on a wire frames come as they were sent; a router puts other MAC addresses on them.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.otg import TRANSPORTS, OtgServer, add_flow, by_tags, ended, flow_metrics, serving_otg, transmit, two_ports


def frames(metric: Any) -> dict[tuple[str, ...], int]:
    return {tags: part.frames_rx for tags, part in by_tags(metric).items()}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_frames_are_counted_by_the_bits_that_they_come_with(server: OtgServer, transport: str) -> None:
    """The last 5 bits of the source are 1 to 3, the first 5 of the destination 10 and 24: six parts of 20 frames."""
    api = server.api(transport)
    config = two_ports(api)
    flow = add_flow(config, "f", size=200)
    flow.packet[1].src.values = ["10.0.0.1", "10.0.0.34", "10.0.0.67"]
    flow.packet[1].dst.values = ["80.0.0.2", "192.0.0.2"]
    _, ipv4 = flow.egress_packet.ethernet().ipv4()
    ipv4.src.metric_tags.add(name="src", offset=27, length=5)
    ipv4.dst.metric_tags.add(name="dst", offset=0, length=5)
    flow.duration.fixed_packets.packets = 120
    api.set_config(config)
    metric = ended(api)
    assert frames(metric) == {(src, dst): 20 for src in ("0x1", "0x2", "0x3") for dst in ("0xa", "0x18")}
    for part in by_tags(metric).values():
        assert (part.frames_tx, part.bytes_rx, part.loss) == (None, 4000, None)
        assert part.latency.average_ns == 10
        assert part.timestamps.last_timestamp_ns > part.timestamps.first_timestamp_ns
    assert (metric.frames_tx, metric.frames_rx, metric.bytes_rx, metric.loss) == (120, 120, 24_000, 0)


def tagged(flow: Any, kind: str, **bits: tuple[int, int]) -> None:
    """Tag bits, as offset and length, of fields of a header behind Ethernet."""
    header = getattr(flow.egress_packet.ethernet(), kind)()[-1]
    for key, (offset, length) in bits.items():
        getattr(header, key).metric_tags.add(name=key, offset=offset, length=length)


def ethernet_addresses(flow: Any) -> None:
    flow.packet[0].dst.values = ["02:00:00:00:00:02", "02:00:00:00:0a:bc"]
    flow.egress_packet.ethernet()[0].dst.metric_tags.add(name="mac", offset=36, length=12)


def vlans(flow: Any) -> None:
    vlan = flow.packet.vlan()[-1]
    vlan.id.values, vlan.priority.value = [100, 4000], 5
    tagged(flow, "vlan", id=(0, 12))


def labels(flow: Any) -> None:
    mpls = flow.packet.mpls()[-1]
    mpls.label.values, mpls.traffic_class.value = [0x12345, 0x12346], 6
    flow.packet.ipv4().udp()
    tagged(flow, "mpls", label=(17, 3), traffic_class=(0, 3))


def octets(flow: Any) -> None:
    flow.packet.ipv4()[-1].priority.raw.values = [0xB9, 0x02]
    raw = flow.egress_packet.ethernet().ipv4()[-1].priority.raw
    raw.metric_tags.add(name="dscp", offset=0, length=6)
    raw.metric_tags.add(name="ecn", offset=6, length=2)


def outer_addresses(flow: Any) -> None:
    for dst in (["10.0.0.2", "10.0.0.7"], ["172.16.0.5"]):
        flow.packet.ipv4()[-1].dst.values = dst
    tagged(flow, "ipv4", dst=(24, 8))


def ipv6_fields(flow: Any) -> None:
    ipv6 = flow.packet.ipv6()[-1]
    ipv6.dst.values, ipv6.traffic_class.value = ["2001:db8::2", "2001:db8:f::2"], 0xB8
    tagged(flow, "ipv6", dst=(44, 4), traffic_class=(0, 8))


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (ethernet_addresses, [("0x2",), ("0xabc",)]),
        (vlans, [("0x64",), ("0xfa0",)]),
        (labels, [("0x5", "0x6"), ("0x6", "0x6")]),
        (octets, [("0x2e", "0x1"), ("0x0", "0x2")]),
        (outer_addresses, [("0x2",), ("0x7",)]),
        (ipv6_fields, [("0xb8", "0x0"), ("0xb8", "0xf")]),
    ],
)
def test_bits_of_each_header_tell_frames_apart(server: OtgServer, shape: Any, expected: list[tuple[str, ...]]) -> None:
    """Two values take turns in ten frames; tags are in the order of the fields of the API."""
    api = server.api()
    config = two_ports(api)
    flow = config.flows.add(name="f")
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "p1", ["p2"]
    flow.packet.ethernet()
    shape(flow)
    flow.size.fixed, flow.rate.pps, flow.duration.fixed_packets.packets = 200, 1000, 10
    flow.metrics.enable = True
    api.set_config(config)
    metric = ended(api)
    assert {tuple(sorted(tags)): count for tags, count in frames(metric).items()} == {
        tuple(sorted(tags)): 5 for tags in expected
    }
    assert metric.frames_rx == 10


def test_frames_without_the_header_are_in_the_flow_alone(server: OtgServer) -> None:
    api = server.api()
    config = two_ports(api)
    flow = add_flow(config, "f")
    tagged(flow, "vlan", id=(0, 12))
    flow.duration.fixed_packets.packets = 10
    other = add_flow(config, "g")
    other.duration.fixed_packets.packets = 10
    api.set_config(config)
    metric = ended(api)
    assert (metric.frames_rx, len(metric.tagged_metrics)) == (10, 0)
    assert flow_metrics(api)["g"].frames_rx == 10


def test_counts_begin_anew_with_each_start(server: OtgServer) -> None:
    """Another flow has run, so that counts of the first one are those since its start."""
    api = server.api()
    config = two_ports(api)
    flow = add_flow(config, "f")
    flow.packet[1].dst.values = ["10.0.0.2", "10.0.0.7"]
    tagged(flow, "ipv4", dst=(24, 8))
    flow.duration.fixed_packets.packets = 10
    add_flow(config, "g").duration.fixed_packets.packets = 10
    api.set_config(config)
    ended(api)
    transmit(api, "start", "f")
    for _ in range(3):
        metric = flow_metrics(api)["f"]
    assert frames(metric) == {("0x2",): 5, ("0x7",): 5}
    assert (metric.frames_tx, metric.frames_rx) == (10, 10)


def test_a_router_puts_the_address_of_the_receiver_on_frames() -> None:
    """Method: frames go to the router's address; each receiver has a MAC address of its own, and counts what comes."""
    with serving_otg("router-4x1g") as server:
        api = server.api()
        config = api.config()
        for number in (1, 2, 3):
            config.ports.port(name=f"p{number}", location=str(number))
            device = config.devices.add(name=f"d{number}")
            ethernet = device.ethernets.add(name=f"e{number}", mac=f"02:00:00:00:0{number}:a{number}")
            ethernet.connection.port_name = f"p{number}"
            ethernet.ipv4_addresses.add(name=f"i{number}", address=f"198.18.{number}.2", gateway=f"198.18.{number}.1")
        flow = config.flows.add(name="f")
        flow.tx_rx.device.set(tx_names=["i1"], rx_names=["i2", "i3"])
        flow.packet.ethernet().ipv4().udp()
        flow.egress_packet.ethernet()[-1].dst.metric_tags.add(name="mac", offset=36, length=12)
        flow.metrics.predefined_metric_tags.rx_name = True
        flow.rate.pps, flow.duration.fixed_packets.packets, flow.metrics.enable = 1000, 20, True
        api.set_config(config)
        transmit(api, "start")
        for _ in range(3):
            metric = flow_metrics(api)["f"]
        found = {
            tuple(getattr(tag.value, tag.value.choice) for tag in part.tags): part.frames_rx
            for part in metric.tagged_metrics
        }
        assert found == {("0x2a2", "p2"): 10, ("0x3a3", "p3"): 10}
