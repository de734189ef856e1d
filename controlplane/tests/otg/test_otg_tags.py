"""Metric tags and fields that change in many ways: a flow is as many streams as that needs, whose frames leave in turn.

Method: a wire; frames are read from captures, and tagged metrics are those of the frames that have each value.
"""

from __future__ import annotations

import io
from collections import Counter
from math import gcd
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.utils import rdpcap
from support.otg import OtgServer, add_flow, by_tags, ended, two_ports

from p4mesh.errors import OtgError
from p4mesh.otg.elements import Element
from p4mesh.otg.patterns import FieldValues, Patterns, read_tag
from p4mesh.traffic.stream import Progression, ValueList


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


# Patterns by hand


def walked(given: FieldValues, frames: int) -> list[int]:
    """Values of a field of 8 bits in the first frames."""
    added = given.added
    if isinstance(added, Progression):
        return [(given.first + added.step * (k % added.count)) % 256 for k in range(frames)]
    values = added.values if isinstance(added, ValueList) else (0,)
    return [(given.first + values[k % len(values)]) % 256 for k in range(frames)]


@pytest.mark.parametrize(
    "values",
    [
        FieldValues(250, Progression(12, 3)),
        FieldValues(5, Progression(7, -1)),
        FieldValues(9, ValueList((0, 4, 1, 200, 4, 7))),
        FieldValues(3),
    ],
)
def test_values_of_every_nth_frame_are_those_of_all_frames(values: FieldValues) -> None:
    """Goal: streams that take turns send what one sends; their values come again as soon as they do, and fit 8 bits."""
    whole = walked(values, 400)
    for step in range(1, 9):
        for place in range(step):
            found = values.every(step, place, 8)
            shown = walked(found, 40)
            assert shown == whole[place::step][:40]
            assert (found.added is None) == (len(set(shown)) == 1)
            assert found.period == (values.period // gcd(values.period, step) if found.added else 1)
            listed = found.added.values if isinstance(found.added, ValueList) else ()
            assert all(0 <= value < 256 for value in (found.first, *listed))
            if isinstance(values.added, Progression) and values.period % step == 0:
                assert not listed, "as many values as a counter has, in any number"


def read(pattern: dict[str, Any], width_bits: int = 16, patterns: Patterns | None = None) -> FieldValues | None:
    return (patterns or Patterns()).values(Element(pattern, "x"), width_bits, auto=True)


BIG = 1 << 30


@pytest.mark.parametrize(
    ("pattern", "width_bits", "expected"),
    [
        ({}, 16, None),
        ({"choice": "auto", "auto": "5"}, 16, None),
        ({"value": "17"}, 16, FieldValues(17)),
        ({"value": "00:00:00:00:01:02"}, 48, FieldValues(258)),
        ({"value": "10.0.0.1"}, 32, FieldValues(0x0A000001)),
        ({"value": "1:2:3:4::5"}, 128, FieldValues(0x0001_0002_0003_0004_0000_0000_0000_0005)),
        ({"values": ["5", "3", "5"]}, 16, FieldValues(5, ValueList((0, 65_534, 0)))),
        ({"values": ["7", "7"]}, 16, FieldValues(7)),
        ({"values": ["7"]}, 16, FieldValues(7)),
        ({"increment": {"start": "10", "step": "3", "count": 4}}, 16, FieldValues(10, Progression(4, 3))),
        ({"decrement": {"start": "10", "step": "3", "count": 4}}, 16, FieldValues(10, Progression(4, -3))),
        ({"increment": {"count": 2}}, 16, FieldValues(0, Progression(2, 1))),
        ({"increment": {"start": "10"}}, 16, FieldValues(10)),
        ({"increment": {"start": "10", "step": "0", "count": 4}}, 16, FieldValues(10)),
        # The tester adds a number of 32 bits with a sign: 2^31 is too much.
        ({"increment": {"step": str(BIG), "count": 2}}, 32, FieldValues(0, ValueList((0, BIG)))),
        ({"increment": {"step": str(BIG - 1), "count": 2}}, 32, FieldValues(0, Progression(2, BIG - 1))),
        (
            {"decrement": {"start": "5", "step": str(BIG), "count": 3}},
            32,
            FieldValues(5, ValueList((0, 3 * BIG, 2 * BIG))),
        ),
        ({"random": {"min": "4", "max": "4", "count": 9}}, 16, FieldValues(4)),
    ],
)
def test_patterns_are_read_by_hand(pattern: dict[str, Any], width_bits: int, expected: FieldValues | None) -> None:
    assert read(pattern, width_bits) == expected


def test_random_values_are_those_of_their_seed_and_range() -> None:
    found, other, widest = (
        read({"random": given})
        for given in (
            {"min": "3", "max": "6", "count": 100},
            {"min": "3", "max": "6", "count": 100, "seed": 2},
            {"count": 16_384},
        )
    )
    assert found and widest and found == read({"random": {"min": "3", "max": "6", "count": 100, "seed": 1}}) != other
    assert isinstance(found.added, ValueList) and isinstance(widest.added, ValueList)
    assert {(found.first + value) % 65_536 for value in found.added.values} == {3, 4, 5, 6}
    assert len(widest.added.values) == 16_384 and max(widest.added.values) > 65_000
    bits = [read({"random": {"seed": seed}}, 1) for seed in range(40)]
    assert {(bit.first, bit.added) for bit in bits if bit} == {(0, None), (1, None)}, "one value each"


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ({"random": {"min": "6", "max": "5"}}, r"x\.random\.min is larger than max"),
        ({"random": {"count": 0}}, r"x\.random\.count is 0"),
        ({"random": {"count": 16_385}}, r"x\.random\.count is 16385"),
        ({"values": []}, r"x\.values has 0 values"),
        ({"values": ["1"] * 16_385}, r"x\.values has 16385 values"),
        ({"increment": {"step": str(BIG), "count": 16_385}}, r"count is 16385 with steps of 1073741824"),
        ({"increment": {"count": 20_000}}, r"x has 20000 values, for 3 streams"),
    ],
)
def test_patterns_that_no_tester_holds_are_refused(pattern: dict[str, Any], message: str) -> None:
    with pytest.raises(OtgError, match=message):
        read(pattern, 32, Patterns(3))


def test_counters_of_any_length_are_sent_in_turn_where_they_can_be_divided() -> None:
    assert read({"increment": {"count": 20_001}}, 32, Patterns(3, 1)) == FieldValues(1, Progression(6667, 3))
    for pattern in ({"count": 16_384}, {"count": 16_384, "step": str(BIG)}):
        most = read({"increment": pattern}, 32, Patterns(3))
        assert most and most.period == 16_384


def test_tags_are_bits_of_a_value_and_need_a_stream_each() -> None:
    """Of 20 bits the first four are left out; a tag without a length has the rest."""
    for tag, expected in (
        ({"offset": 4, "length": 8}, "0xbc"),
        ({"offset": 4, "length": 1}, "0x1"),
        ({"offset": 4}, "0xbcde"),
        ({}, "0xbbcde"),
    ):
        assert read_tag(Element({"name": "t", **tag}, "x"), 0xBBCDE, 20) == ("t", expected)
    for length in (0, 17):
        with pytest.raises(OtgError, match=rf"x has {length} bits from bit 4 on, of a field of 20 bits"):
            read_tag(Element({"name": "t", "offset": 4, "length": length}, "x"), 0, 20)
    patterns = Patterns()
    read({"values": ["5", "6"], "metric_tags": [{"name": "t"}]}, 16, patterns)
    read({"value": "9", "metric_tags": [{"name": "u"}]}, 16, patterns)
    assert (patterns.apart, patterns.tags) == ({"x": 2}, [("t", "0x5"), ("u", "0x9")])
    for pattern, width_bits in (({"value": "1"}, 64), ({}, 16)):
        with pytest.raises(OtgError, match="is on a field without values of its own"):
            read({**pattern, "metric_tags": [{"name": "t"}]}, width_bits)


def test_fields_that_cannot_change_in_a_stream_are_read_by_hand() -> None:
    patterns = Patterns()
    element = Element({"high": {"value": "1"}, "low": {"values": ["1", "0"]}}, "x")
    assert patterns.bits(element, ("high", "left_out", "low")) == 0b101
    assert patterns.apart == {"x.low": 2}
    assert (patterns.constant(element, "none"), patterns.optional_constant(element, "none")) == (0, None)
    assert patterns.optional_constant(Element({"sum": {"choice": "auto", "auto": "5"}}, "x"), "sum") is None
    random = (Element({"bit": {"random": {"seed": seed}}}, "x") for seed in range(40))
    assert {patterns.bits(one, ("bit",)) for one in random} == {0, 1}
