"""Flows of the Open Traffic Generator API between two ports of one wire, asked for with the package snappi.

Goal: what metrics say is what was asked for. Method: a wire of 1 Gbit/s and 10 ns in virtual time, of which a second
passes from poll to poll; frames, bytes and latency are then known.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from support.otg import TRANSPORTS, OtgServer, add_flow, flow_metrics, port_metrics, transmit, two_ports

from p4mesh.errors import OtgError
from p4mesh.otg.elements import Element
from p4mesh.otg.metrics import RateMeter, Rates, Totals
from p4mesh.otg.rates import Timing, frame_sizes, sizes_in_turn, timing
from p4mesh.traffic.stream import Burst

OVER_BOTH = pytest.mark.parametrize("api", TRANSPORTS, indirect=True)


@pytest.fixture
def api(server: OtgServer, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A client over HTTP, or over what a test has as its parameter: both transports ask the same session."""
    client = server.api(getattr(request, "param", "http"))
    yield client
    transmit(client, "stop")
    client.close()


def polled(api: Any, name: str) -> Any:
    """The metrics of a flow that has ended."""
    for _ in range(20):
        metric = flow_metrics(api)[name]
        if metric.transmit == "stopped":
            return metric
    raise AssertionError(f"flow {name} does not end: {metric}")


@OVER_BOTH
def test_fixed_packets_all_arrive_with_the_latency_of_the_wire(api: Any) -> None:
    config = two_ports(api)
    add_flow(config, "there", size=128).duration.fixed_packets.packets = 2500
    add_flow(config, "back", "p2", "p1", size=64, pps=500).duration.fixed_packets.packets = 700
    api.set_config(config)
    assert {metric.frames_tx for metric in flow_metrics(api).values()} == {0}
    transmit(api, "start")
    there, back = polled(api, "there"), polled(api, "back")
    assert (there.frames_tx, there.frames_rx, there.bytes_tx, there.bytes_rx) == (2500, 2500, 320_000, 320_000)
    assert (back.frames_tx, back.frames_rx, back.bytes_rx) == (700, 700, 44_800)
    assert (there.port_tx, there.port_rx, there.loss) == ("p1", "p2", 0)
    assert {there.latency.minimum_ns, there.latency.average_ns, there.latency.maximum_ns} == {10}
    # 2499 intervals of a millisecond; a departure is late by a round of the loop at most.
    assert there.timestamps.last_timestamp_ns - there.timestamps.first_timestamp_ns == pytest.approx(2.499e9, abs=1000)
    ports = port_metrics(api)
    assert (ports["p1"].frames_tx, ports["p1"].frames_rx) == (2500, 700)
    assert (ports["p2"].bytes_tx, ports["p2"].bytes_rx) == (44_800, 320_000)
    assert {port.link for port in ports.values()} == {"up"}


def test_rates_are_those_since_a_flow_was_started(api: Any) -> None:
    config = two_ports(api)
    add_flow(config, "f", size=128, pps=1000)
    api.set_config(config)
    for _ in range(2):
        transmit(api, "start")
        for _ in range(2):
            time.sleep(0.55)  # of which half a second passes for the tester
            metric, port = flow_metrics(api)["f"], port_metrics(api)["p2"]
            assert [metric.frames_tx_rate, metric.frames_rx_rate] == pytest.approx([1000, 1000], rel=0.01)
            assert metric.rx_rate_bps == pytest.approx(1000 * 128 * 8, rel=0.01)
            assert port.frames_rx_rate == pytest.approx(1000, rel=0.01)
        transmit(api, "stop")


def test_a_second_passes_from_poll_to_poll(api: Any) -> None:
    config = two_ports(api)
    add_flow(config, "endless", size=256, pps=1000)
    api.set_config(config)
    transmit(api, "start")
    frames = [flow_metrics(api)["endless"].frames_tx for _ in range(4)]
    steps = [later - earlier for earlier, later in pairwise(frames)]
    assert steps == pytest.approx([1000] * 3, abs=2)
    metric = flow_metrics(api)["endless"]
    assert metric.transmit == "started"
    assert metric.frames_tx_rate == pytest.approx(1000, rel=0.01)
    assert metric.rx_rate_bps == pytest.approx(1000 * 256 * 8, rel=0.01)
    assert metric.tx_l1_rate_bps == pytest.approx(1000 * 276 * 8, rel=0.01)


def test_flows_start_pause_and_stop_while_others_run(api: Any) -> None:
    config = two_ports(api)
    for name in ("A", "B", "C"):
        add_flow(config, name, pps=1000)
    api.set_config(config)
    transmit(api, "start", "A")
    assert polled_states(api) == {"A": "started", "B": "stopped", "C": "stopped"}
    transmit(api, "start", "B")
    flow_metrics(api)
    transmit(api, "pause", "A")
    assert polled_states(api) == {"A": "paused", "B": "started", "C": "stopped"}
    paused = flow_metrics(api)
    still = flow_metrics(api)
    assert still["A"].frames_tx == paused["A"].frames_tx
    assert still["B"].frames_tx == pytest.approx(paused["B"].frames_tx + 1000, abs=2)
    assert still["C"].frames_tx == 0
    transmit(api, "resume", "A")
    transmit(api, "stop", "B")
    assert polled_states(api) == {"A": "started", "B": "stopped", "C": "stopped"}
    assert flow_metrics(api)["A"].frames_tx > still["A"].frames_tx
    transmit(api, "stop")
    flow_metrics(api)
    assert all(metric.frames_rx == metric.frames_tx for metric in flow_metrics(api).values())


def polled_states(api: Any) -> dict[str, str]:
    return {name: metric.transmit for name, metric in flow_metrics(api).items()}


def test_a_flow_that_has_ended_starts_anew_from_zero(api: Any) -> None:
    config = two_ports(api)
    add_flow(config, "short").duration.fixed_packets.packets = 100
    add_flow(config, "long", pps=100)
    api.set_config(config)
    for _ in range(2):
        transmit(api, "start", "short")
        assert polled(api, "short").frames_rx == 100
    transmit(api, "start", "long")
    flow_metrics(api)
    transmit(api, "start", "short")
    metric = polled(api, "short")
    assert (metric.frames_tx, metric.frames_rx) == (100, 100)


def test_store_and_forward_latency_begins_with_the_last_bit(api: Any) -> None:
    """Frames of 125 bytes take 1000 ns on the line, and the wire 10 ns."""
    config = two_ports(api)
    flow = add_flow(config, "f", size=125)
    flow.metrics.latency.mode = "store_forward"
    flow.duration.fixed_packets.packets = 10
    api.set_config(config)
    transmit(api, "start")
    assert polled(api, "f").latency.average_ns == 10 - 1000


FOR_72_H = 72 * 3600
BURST_NS = 9 * 100_000 + 8 * (125 + 8)
"""From the first bit of a burst of ten frames of 125 bytes to its last one, at 10,000 frames/s and 1 Gbit/s."""


def timed(rate: dict[str, Any], duration: dict[str, Any]) -> Timing:
    return timing(Element({"rate": rate, "duration": duration}, "flow"), (100, 125, 150, 125), 10**9)


def bursts(gap: dict[str, Any], packets: int = 10, number: int = 3) -> Timing:
    burst = {"bursts": number, "packets": packets, "inter_burst_gap": gap}
    return timing(Element({"rate": {"pps": 10_000}, "duration": {"burst": burst}}, "flow"), (100, 125, 100), 10**9)


@pytest.mark.parametrize(
    ("rate", "duration", "expected"),
    [
        ({"pps": 1000}, {"fixed_packets": {"packets": 7, "delay": {"microseconds": 3}}}, (1000, 7, 3000)),
        ({"pps": 1000}, {"fixed_packets": {"packets": 7, "delay": {"nanoseconds": 3}}}, (1000, 7, 3)),
        ({"pps": 1000}, {"fixed_packets": {"packets": 7, "delay": {"bytes": 125}}}, (1000, 7, 1000)),
        ({"pps": 1001}, {"fixed_seconds": {"seconds": 2.5}}, (1001, 2502, 0)),
        ({"pps": 1001}, {}, (1001, 1001 * FOR_72_H, 0)),
        ({"gbps": 1}, {"fixed_packets": {}}, (10**6, 1, 0)),
        ({"pps": 1001}, {"fixed_seconds": {}}, (1001, 1001, 0)),
        ({"pps": 1001}, {"fixed_packets": {"delay": {"choice": "nanoseconds"}}}, (1001, 1, 0)),
        ({"bps": 500}, {"fixed_seconds": {"seconds": 2}}, (Fraction(1, 2), 1, 0)),
    ],
)
def test_a_flow_has_its_rate_its_frames_and_its_delay(
    rate: dict[str, Any], duration: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    """The mean of its frames is 125 bytes: 1,000 bits."""
    assert timed(rate, duration) == Timing(*expected)


def test_a_flow_without_a_frame_is_refused() -> None:
    with pytest.raises(OtgError, match=r"rate\.pps is 0"):
        timed({"pps": 0}, {})
    with pytest.raises(OtgError, match="fixed_seconds has no frame at 1 frames/s"):
        timed({"pps": 1}, {"fixed_seconds": {"seconds": 0.5}})


def test_bursts_have_a_mean_rate_by_their_gap() -> None:
    found = bursts({"microseconds": 5000})
    assert found == Timing(Fraction(10 * 10**9, BURST_NS + 5_000_000), 30, 0, Burst(10, Fraction(10_000)))
    assert bursts({"microseconds": 5000}, number=0).frames == int(found.rate_fps * FOR_72_H)
    # One frame a burst is no burst, and its gap is that to the next frame.
    assert bursts({"nanoseconds": 10**6}, packets=1) == Timing(Fraction(10**9, 8 * 133 + 10**6), 3)
    # A gap as within a burst is none, and one that is shorter is told.
    touching = 10**6 - BURST_NS
    for gap, told in (({"nanoseconds": touching}, 0), ({"nanoseconds": touching - 1}, 1), ({}, 0), ({"bytes": 13}, 1)):
        found = bursts(gap)
        assert (found.rate_fps, len(found.warnings)) == (10_000, told), gap


def test_parts_of_a_flow_leave_in_turn() -> None:
    assert Timing(Fraction(1000), 7, 100).shared(3) == [
        Timing(Fraction(1000, 3), 3, 100),
        Timing(Fraction(1000, 3), 2, 1_000_100),
        Timing(Fraction(1000, 3), 2, 2_000_100),
    ]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ({}, (64,)),
        ({"increment": {"start": 100, "end": 301, "step": 100}}, (100, 200, 300)),
        ({"increment": {"start": 100, "end": 102, "step": 0}}, (100, 101, 102)),
        ({"increment": {"start": 70, "end": 70}}, (70,)),
        ({"increment": {"end": 66}}, (64, 65, 66)),
        ({"increment": {"start": 1517}}, (1517, 1518)),
        ({"random": {"min": 90, "max": 90}}, (90,)),
        ({"random": {"max": 64}}, (64,)),
        ({"random": {"min": 1518}}, (1518,)),
        ({"weight_pairs": {"custom": [{"weight": 1}, {"size": 90}]}}, (64, 90)),
        ({"weight_pairs": {"custom": [{"size": 100, "weight": 2}, {"size": 90, "weight": 4}]}}, (90, 100, 90)),
        ({"weight_pairs": {"custom": [{"size": 100, "weight": 0.5}, {"size": 90, "weight": 1}]}}, (90, 100, 90)),
        ({"weight_pairs": {"custom": [{"size": 100, "weight": 0}, {"size": 90}]}}, (90,)),
    ],
)
def test_sizes_are_read_in_turn(size: dict[str, Any], expected: tuple[int, ...]) -> None:
    assert frame_sizes(Element(size, "size")) == expected


def test_sizes_are_as_many_as_a_tester_holds() -> None:
    assert len(frame_sizes(Element({"increment": {"start": 1, "end": 1024}}, "size"))) == 1024
    drawn = Element({"random": {"min": 64, "max": 9000}}, "size")
    assert (len(frame_sizes(drawn)), len(frame_sizes(drawn, apart=True))) == (256, 16)
    # Of 300 places a size with a small weight has one.
    pairs = [{"size": 100, "weight": 0.001}, {"size": 90, "weight": 1}]
    rare = frame_sizes(Element({"weight_pairs": {"custom": pairs}}, "size"))
    assert (len(rare), rare.count(100)) == (301, 1)
    many = [{"size": 100, "weight": 1}, {"size": 90, "weight": 1023}]
    assert len(frame_sizes(Element({"weight_pairs": {"custom": many}}, "size"))) == 1024
    many[1]["weight"] = 1024
    for size, message in (
        ({"increment": {"start": 1, "end": 1025}}, "increment makes too many sizes"),
        ({"increment": {"start": 2, "end": 1}}, "increment makes no size"),
        ({"random": {"min": 65, "max": 64}}, "random makes no size"),
        ({"weight_pairs": {"custom": many}}, "weight_pairs makes too many sizes"),
        ({"weight_pairs": {"custom": []}}, "weight_pairs makes no size"),
    ):
        with pytest.raises(OtgError, match=message):
            frame_sizes(Element(size, "size"))


def test_every_second_or_third_frame_has_its_part_of_the_sizes() -> None:
    assert sizes_in_turn((1, 2, 3, 4), 2, 1) == (2, 4)
    assert sizes_in_turn((1, 2, 3, 4), 3, 2) == (3, 2, 1, 4)
    assert sizes_in_turn((1, 2, 1, 3), 2, 0) == (1,)


def test_rates_are_those_of_the_time_between_two_readings() -> None:
    meter = RateMeter(0)
    half_s, tenth_s = 5 * 10**11, 10**11
    assert meter.take(Totals(100, 50, 1000, 500), half_s) == Rates(200, 100, 2000, 1000)
    # Less than a tenth of a second later, and then a whole one; totals that were set to 0 have no rate.
    assert meter.take(Totals(200, 60, 1100, 600), half_s + tenth_s - 1) == Rates(200, 100, 2000, 1000)
    assert meter.take(Totals(200, 60, 1100, 600), half_s + tenth_s) == Rates(1000, 100, 1000, 1000)
    assert meter.take(Totals(), 2 * 10**12) == Rates()


@pytest.mark.parametrize(
    ("unit", "value", "rate_fps"),
    [
        ("pps", 2000, 2000.0),
        ("percentage", 1, 0.01 * 1e9 / (8 * 520)),
        ("mbps", 40, 40e6 / 4000),
        ("kbps", 4000, 4e6 / 4000),
    ],
)
def test_rates_have_every_unit(api: Any, unit: str, value: int, rate_fps: float) -> None:
    """Percent are those of the line with preamble and gap, bits per second those of frames with FCS (500 bytes)."""
    config = two_ports(api)
    flow = add_flow(config, "rated", size=500)
    setattr(flow.rate, unit, value)
    flow.duration.fixed_seconds.seconds = 2
    api.set_config(config)
    transmit(api, "start")
    metric = polled(api, "rated")
    assert metric.frames_rx == int(2 * rate_fps)


@OVER_BOTH
def test_left_out_values_are_those_of_the_standard(api: Any) -> None:
    """1000 frames/s of 64 bytes without an end, and a rate in per cent without a number is that of the line."""
    config = two_ports(api)
    for name, (tx, rx) in {"usual": ("p1", "p2"), "full": ("p2", "p1")}.items():
        flow = config.flows.add(name=name)
        flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = tx, [rx]
        flow.packet.ethernet().ipv4().udp()
        flow.metrics.enable = True
    config.flows[1].rate.choice = "percentage"
    config.flows[1].duration.fixed_packets.packets = 1000
    api.set_config(config)
    transmit(api, "start")
    flow_metrics(api)
    metrics = flow_metrics(api)
    assert metrics["usual"].frames_tx_rate == pytest.approx(1000, rel=0.01)
    assert metrics["full"].frames_rx == 1000


def test_a_flow_to_no_port_is_sent(api: Any) -> None:
    config = api.config()
    config.ports.port(name="p1", location="1")
    flow = config.flows.add(name="to nobody")
    flow.tx_rx.port.tx_name = "p1"
    flow.duration.fixed_packets.packets = 50
    flow.metrics.enable = True
    api.set_config(config)
    transmit(api, "start")
    assert (polled(api, "to nobody").frames_tx, port_metrics(api)["p1"].frames_tx) == (50, 50)


def test_bursts_are_apart_by_their_gap(api: Any) -> None:
    """Three bursts of 10 frames, 100 us from frame to frame; from the last bit of a burst to the next one 5 ms."""
    config = two_ports(api)
    flow = add_flow(config, "bursts", size=125, pps=10_000)
    flow.duration.burst.bursts, flow.duration.burst.packets = 3, 10
    flow.duration.burst.inter_burst_gap.nanoseconds = 5_000_000
    api.set_config(config)
    transmit(api, "start")
    metric = polled(api, "bursts")
    assert metric.frames_rx == 30
    period_ns = 9 * 100_000 + 8 * (125 + 8) + 5_000_000
    took_ns = metric.timestamps.last_timestamp_ns - metric.timestamps.first_timestamp_ns
    assert took_ns == pytest.approx(2 * period_ns + 9 * 100_000, rel=0.01)


def test_sizes_come_in_turn_as_weighted(api: Any) -> None:
    config = two_ports(api)
    flow = add_flow(config, "imix")
    flow.size.weight_pairs.predefined = "imix"
    flow.duration.fixed_packets.packets = 1200
    stepped = add_flow(config, "steps", "p2", "p1")
    stepped.size.increment.start, stepped.size.increment.end, stepped.size.increment.step = 100, 300, 100
    stepped.duration.fixed_packets.packets = 30
    api.set_config(config)
    transmit(api, "start")
    metric = polled(api, "imix")
    assert metric.bytes_tx == metric.bytes_rx == 700 * 64 + 400 * 570 + 100 * 1518
    assert polled(api, "steps").bytes_rx == 10 * (100 + 200 + 300)


def test_sizes_of_frames_that_cannot_be_cut_come_in_turn_from_streams(api: Any) -> None:
    """Goal: frames of TCP with fields that change, and latencies of stored frames, of which a stream has one size."""
    config = two_ports(api)
    config.flows.append(add_flow(api.config(), "tcp").clone())
    tcp = config.flows[0]
    tcp.packet.clear()
    *_, header = tcp.packet.ethernet().ipv4().tcp()
    header.dst_port.increment.set(start=1000, step=1, count=5)
    tcp.size.weight_pairs.predefined = "imix"
    tcp.duration.fixed_packets.packets = 240
    stored = add_flow(config, "stored", "p2", "p1")
    stored.size.increment.set(start=100, end=300, step=100)
    stored.metrics.latency.mode = "store_forward"
    stored.duration.fixed_packets.packets = 30
    drawn = add_flow(config, "drawn", "p2", "p1")
    drawn.packet.clear()
    drawn.packet.ethernet().ipv6().tcp()
    drawn.size.random.set(min=200, max=400)
    drawn.duration.fixed_packets.packets = 32
    api.set_config(config)
    transmit(api, "start")
    shortest = 76  # with a signature
    metric = polled(api, "tcp")
    assert metric.frames_rx == 240
    assert metric.bytes_rx == 140 * shortest + 80 * 570 + 20 * 1518
    metric = polled(api, "stored")
    assert metric.bytes_rx == 10 * (100 + 200 + 300)
    rate_bps, cable_ns = 10**9, 10
    assert metric.latency.minimum_ns == pytest.approx(cable_ns - 300 * 8e9 / rate_bps, abs=1)
    assert metric.latency.maximum_ns == pytest.approx(cable_ns - 100 * 8e9 / rate_bps, abs=1)
    metric = polled(api, "drawn")
    assert (metric.frames_rx, metric.bytes_rx % 2) == (32, 0), "16 sizes, twice"


def test_frames_that_have_no_room_for_a_signature_are_as_short_as_can_be_and_the_client_is_told(api: Any) -> None:
    config = two_ports(api)
    # Over IPv6 and UDP the signature needs 84 bytes; the API's own size is 64.
    config.flows.append(add_flow(api.config(), "usual").clone())
    usual = config.flows[0]
    usual.packet.clear()
    usual.packet.ethernet().ipv6().udp()
    usual.size.fixed, usual.duration.fixed_packets.packets = 64, 50
    mixed = add_flow(config, "mixed", "p2", "p1")
    mixed.size.increment.start, mixed.size.increment.end, mixed.size.increment.step = 60, 70, 5
    mixed.duration.fixed_packets.packets = 30
    told = api.set_config(config).warnings
    assert told == [
        "flows[0].size has frames of 64 bytes: they have 84, which headers, signature and FCS need",
        "flows[1].size has frames of 60 bytes: they have 64, which headers, signature and FCS need",
    ]
    transmit(api, "start")
    metric = polled(api, "usual")
    assert (metric.frames_rx, metric.bytes_tx, metric.bytes_rx, metric.loss) == (50, 50 * 84, 50 * 84, 0)
    assert polled(api, "mixed").bytes_rx == 10 * (64 + 65 + 70)


@OVER_BOTH
def test_update_append_and_delete_change_flows(api: Any) -> None:
    config = two_ports(api)
    add_flow(config, "first").duration.fixed_packets.packets = 10
    api.set_config(config)
    update = api.config_update()
    update.flows.property_names = ["size"]
    update.flows.flows.append(config.flows[0].clone())
    update.flows.flows[0].size.fixed = 200
    api.update_config(update)
    append = api.config_append()
    append.config_append_list.add().flows.append(add_flow(api.config(), "second", "p2", "p1"))
    api.append_config(append)
    assert [(flow.name, flow.size.fixed) for flow in api.get_config().flows] == [("first", 200), ("second", 128)]
    delete = api.config_delete()
    delete.config_delete_list.add().flows = ["second"]
    api.delete_config(delete)
    transmit(api, "start")
    assert polled(api, "first").bytes_rx == 2000
    assert set(flow_metrics(api)) == {"first"}


def test_flows_that_run_go_on_while_others_change(api: Any) -> None:
    """All frames of all flows arrive, though flows are added, changed and removed between them."""
    config = two_ports(api)
    add_flow(config, "kept", pps=100).duration.fixed_packets.packets = 1001
    add_flow(config, "changed", pps=100, size=128).duration.fixed_packets.packets = 600
    tagged = add_flow(config, "tagged", pps=90)
    tagged.packet[1].dst.values = ["10.0.0.2", "10.0.0.3", "10.0.0.4"]
    tagged.packet[1].dst.metric_tags.add(name="address")
    tagged.duration.fixed_packets.packets = 600
    add_flow(config, "removed", pps=100)
    add_flow(config, "paused", pps=100).duration.fixed_packets.packets = 300
    api.set_config(config)
    transmit(api, "start")
    flow_metrics(api), flow_metrics(api)
    transmit(api, "pause", "paused")
    delete = api.config_delete()
    delete.config_delete_list.add().flows = ["removed"]
    (told,) = api.delete_config(delete).warnings
    assert told == "flows that run were interrupted for a moment, and keep their counts"
    assert polled_states(api) == {"kept": "started", "changed": "started", "tagged": "started", "paused": "paused"}
    update = api.config_update()
    update.flows.property_names = ["rate", "size"]
    update.flows.flows.append(config.flows[1].clone())
    update.flows.flows[0].rate.pps, update.flows.flows[0].size.fixed = 200, 256
    before = flow_metrics(api)["changed"]
    api.update_config(update)
    append = api.config_append()
    append.config_append_list.add().flows.append(add_flow(api.config(), "added", "p2", "p1", pps=100))
    api.append_config(append)
    transmit(api, "start", "added")
    transmit(api, "resume", "paused")
    first = flow_metrics(api)
    assert flow_metrics(api)["changed"].frames_tx == pytest.approx(first["changed"].frames_tx + 200, abs=2)
    assert flow_metrics(api)["added"].frames_rx > 0
    changed = polled(api, "changed")
    assert (changed.frames_tx, changed.frames_rx) == (600, 600)
    # Those of the size before go on to leave until the update comes, which is late on a busy machine.
    short, rest = divmod(600 * 256 - changed.bytes_rx, 256 - 128)
    assert rest == 0 and before.frames_tx <= short <= before.frames_tx + 100
    for name, frames in (("kept", 1001), ("tagged", 600), ("paused", 300)):
        metric = polled(api, name)
        assert (metric.frames_tx, metric.frames_rx, metric.loss) == (frames, frames, 0)
        assert metric.latency.average_ns == 10
    assert [part.frames_rx for part in polled(api, "tagged").tagged_metrics] == [200] * 3
    transmit(api, "start", "kept")
    assert (polled(api, "kept").frames_rx, polled(api, "paused").frames_rx) == (1001, 300)


def test_a_port_that_is_switched_off_receives_nothing(api: Any) -> None:
    config = two_ports(api)
    add_flow(config, "lost").duration.fixed_packets.packets = 100
    api.set_config(config)
    control = api.control_state()
    control.port.link.port_names, control.port.link.state = ["p2"], "down"
    api.set_control_state(control)
    assert port_metrics(api)["p2"].link == "down"
    transmit(api, "start")
    assert polled(api, "lost").loss == 100
    control.port.link.state = "up"
    api.set_control_state(control)
    assert port_metrics(api)["p2"].link == "up"
