"""Metric tags and fields that change in many ways: a flow is as many streams as that needs, whose frames leave in turn.

Method: a wire; frames are read from captures, and tagged metrics are those of the frames that have each value.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.utils import rdpcap
from support.otg import OtgServer, add_flow, by_tags, ended, serving_otg, two_ports


@pytest.fixture(scope="module")
def server() -> Iterator[OtgServer]:
    with serving_otg("back-to-back") as served:
        yield served


def test_frames_are_counted_by_the_values_of_tagged_fields(server: OtgServer) -> None:
    """The destination is one of two addresses, and the last bits of the port one of three: six parts of 20 frames."""
    api = server.api()
    config = two_ports(api)
    flow = add_flow(config, "f", size=200)
    flow.packet[1].dst.values = ["10.0.0.2", "10.0.0.7"]
    flow.packet[1].dst.metric_tags.add(name="last octet", offset=24, length=8)
    flow.packet[2].src_port.increment.set(start=0x1001, step=1, count=3)
    flow.packet[2].src_port.metric_tags.add(name="port")
    flow.duration.fixed_packets.packets = 120
    api.set_config(config)
    metric = ended(api)
    parts = by_tags(metric)
    assert set(parts) == {(octet, port) for octet in ("0x2", "0x7") for port in ("0x1001", "0x1002", "0x1003")}
    for part in parts.values():
        assert (part.frames_tx, part.frames_rx, part.bytes_rx, part.loss) == (20, 20, 4000, 0)
        assert part.latency.average_ns == 10
        assert part.timestamps.last_timestamp_ns > part.timestamps.first_timestamp_ns
    assert (metric.frames_tx, metric.frames_rx, metric.bytes_rx) == (120, 120, 24_000)


def test_a_request_chooses_among_tagged_metrics(server: OtgServer) -> None:
    api = server.api("grpc")
    config = two_ports(api)
    flow = add_flow(config, "f")
    flow.packet[1].priority.dscp.phb.values = [0, 46, 8]
    flow.packet[1].priority.dscp.phb.metric_tags.add(name="dscp")
    flow.duration.fixed_packets.packets = 4
    api.set_config(config)
    request = api.metrics_request()
    request.flow.tagged_metrics.metric_names = ["frames_rx"]
    assert len(api.get_metrics(request).flow_metrics[0].tagged_metrics) == 0
    request.flow.tagged_metrics.include_empty_metrics = True
    assert set(by_tags(api.get_metrics(request).flow_metrics[0])) == {("0x0",), ("0x2e",), ("0x8",)}
    ended(api)
    request.flow.tagged_metrics.filters.add(name="dscp", values=["0x0", "0x2E"])
    parts = by_tags(api.get_metrics(request).flow_metrics[0])
    assert {tags: (part.frames_rx, part.frames_tx) for tags, part in parts.items()} == {
        ("0x0",): (2, None),
        ("0x2e",): (1, None),
    }
    request.flow.tagged_metrics.include = False
    (metric,) = api.get_metrics(request).flow_metrics
    assert len(metric.tagged_metrics) == 0


def test_receivers_are_a_tag(server: OtgServer) -> None:
    api = server.api()
    config = two_ports(api)
    flow = add_flow(config, "f")
    flow.metrics.predefined_metric_tags.rx_name = True
    flow.duration.fixed_packets.packets = 5
    api.set_config(config)
    assert {tags: part.frames_rx for tags, part in by_tags(ended(api)).items()} == {("p2",): 5}


def captured(api: Any) -> list[Any]:
    request = api.capture_request()
    request.port_name = "p2"
    return list(rdpcap(io.BytesIO(api.get_capture(request).read())))


def test_many_fields_change_where_their_values_come_again_together(server: OtgServer) -> None:
    """Frame k has the k-th value of each field: five fields of 2, 3 and 6 values, and sizes of two."""
    api = server.api()
    config = two_ports(api)
    flow = config.flows.add(name="f")
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "p1", ["p2"]
    ethernet, vlan, ipv4, udp = flow.packet.ethernet().vlan().ipv4().udp()
    ethernet.src.values = ["02:00:00:00:00:01", "02:00:00:00:01:01"]
    vlan.id.increment.set(start=100, step=1, count=3)
    ipv4.src.values, ipv4.dst.value = ["10.0.0.1", "10.1.0.1"], "10.0.0.2"
    ipv4.priority.dscp.phb.values = [0, 46, 8]
    udp.src_port.increment.set(start=5000, step=2, count=6)
    udp.dst_port.decrement.set(start=9000, step=1, count=12)
    flow.size.increment.set(start=200, end=300, step=100)
    flow.rate.pps, flow.duration.fixed_packets.packets, flow.metrics.enable = 1000, 24, True
    config.captures.add(name="c", port_names=["p2"])
    api.set_config(config)
    control = api.control_state()
    control.port.capture.state = "start"
    api.set_control_state(control)
    assert ended(api).frames_rx == 24
    frames = captured(api)
    found = [
        (
            frame[Ether].src,
            frame[Dot1Q].vlan,
            frame[IP].src,
            frame[IP].tos >> 2,
            frame[UDP].sport,
            frame[UDP].dport,
            len(frame),
        )
        for frame in frames
    ]
    assert found == [
        (
            ("02:00:00:00:00:01", "02:00:00:00:01:01")[k % 2],
            100 + k % 3,
            ("10.0.0.1", "10.1.0.1")[k % 2],
            (0, 46, 8)[k % 3],
            5000 + 2 * (k % 6),
            9000 - k % 12,
            (200, 300)[k % 2],
        )
        for k in range(24)
    ]
    assert set(Counter(found).values()) == {2}


def test_frames_that_are_too_far_apart_for_their_turn_are_warned_of(server: OtgServer) -> None:
    api = server.api()
    config = two_ports(api)
    flow = add_flow(config, "f", pps=1)
    flow.packet[1].priority.dscp.phb.values = list(range(64))
    (told,) = api.set_config(config).warnings
    assert told == "flows[0] has frames that leave up to 32 s from their time, in another order"
