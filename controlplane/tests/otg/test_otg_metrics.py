"""Metrics of flows and ports by hand: counts, rates, times and latencies, of whole flows and of their parts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import pytest

from p4mesh.measurement.counts import FlowCounts, LatencyStats
from p4mesh.otg.egress_tags import EgressTag, ranges_of, values_of
from p4mesh.otg.elements import Element
from p4mesh.otg.flow_metrics import Line, TaggedRequest, flow_metric
from p4mesh.otg.flows import STORE_FORWARD, Flow, Measured
from p4mesh.otg.metrics import RateMeter, Rates, Totals, chosen, port_metric, port_totals
from p4mesh.otg.pace import OnDemand
from p4mesh.otg.ports import Port
from p4mesh.otg.traffic import Counted, FlowRun, Transmit
from p4mesh.tester import instrument
from p4mesh.tester.dataplane import PortTotals
from p4mesh.tester.received_fields import ReceivedBits
from p4mesh.topology import model
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stamps import StampKind
from p4mesh.traffic.stream import Stream

ALL = TaggedRequest(True, False, (), {})
NONE = TaggedRequest(False, False, (), {})
RATES = Rates(10.0, 5.0, 1000.0, 500.0)
LINE = Line(StampKind.FIRST_BIT, {1: 10**9})


def stream(name: str, *sizes: int, to: tuple[int, ...] = (2,)) -> Stream:
    made = Stream(name, sizes[0], Fraction(1000), 100, Pairs(), (1,), to)
    return replace(made, sizes_in_turn_bytes=sizes if len(sizes) > 1 else ())


def flow(*streams: Stream, tags: Any = None, **measured: Any) -> Flow:
    each = tuple((("vlan", f"0x{place}"),) for place in range(len(streams))) if tags is None else tags
    return Flow("f", streams, each, Measured(True, **measured), "p1", "p2", {2: "p2", 3: "p3"})


def counts(name: str, sent: int, received: int, rx_port: int = 2, **more: Any) -> FlowCounts:
    return FlowCounts(name, 1, rx_port, sent, received, **more)


def metric_of(run: FlowRun, tagged: TaggedRequest = ALL, line: Line = LINE) -> Any:
    return flow_metric(run, line, lambda *_: RATES, tagged)


def parts_of(metric: Any) -> dict[tuple[str, ...], Any]:
    def text(tag: Any) -> str:
        return str(tag.value.str if tag.name == "rx_name" else tag.value.hex)

    return {tuple(map(text, part.tags)): part for part in metric.tagged_metrics}


def test_frames_bytes_and_rates_of_a_flow_are_sums_over_its_streams() -> None:
    """Sizes 64, 128, 256 in turn: eight frames are 2 x 448 + 64 + 128 bytes; what the device shortened has its own."""
    run = FlowRun(flow(stream("a", 64, 128, 256), stream("b", 100), loss=True), Transmit.STARTED)
    run.counts = (counts("a", 8, 6, rx_bytes=900), counts("b", 10, 9))
    metric = metric_of(run)
    assert (metric.frames_tx, metric.frames_rx, metric.bytes_tx, metric.bytes_rx) == (18, 15, 1088 + 1000, 900 + 900)
    assert metric.loss == pytest.approx(100 * 3 / 18)
    assert (metric.frames_tx_rate, metric.frames_rx_rate) == (10, 5)
    assert (metric.tx_rate_bytes, metric.tx_rate_bps, metric.tx_rate_kbps, metric.tx_rate_mbps) == pytest.approx(
        (1000, 8000, 8, 0.008)
    )
    # 20 bytes of preamble and gap for each frame.
    assert (metric.tx_l1_rate_bps, metric.rx_l1_rate_bps) == (8 * 1200, 8 * 600)
    assert (metric.name, metric.port_tx, metric.port_rx) == ("f", "p1", "p2")
    first, second = parts_of(metric).values()
    assert (first.frames_tx, first.bytes_tx, second.frames_rx, second.loss) == (8, 1088, 9, pytest.approx(10))
    assert metric_of(FlowRun(flow(stream("a", 64), loss=True))).loss == 0
    run = FlowRun(flow(stream("a", 64), loss=True))
    run.counts = (counts("a", 1, 0),)
    assert metric_of(run).loss == 100


def test_counts_begin_anew_with_a_flow_and_go_on_over_its_loadings() -> None:
    """100 and 90 frames of 64 bytes of the time before its start are none of its own; it was loaded twice since."""
    old = flow(stream("a", 64))
    run = FlowRun(flow(stream("a", 128)))
    run.earlier = (Counted(old, (counts("a", 150, 130),), (counts("a", 100, 90),)),)
    run.counts = (counts("a", 7, 6),)
    metric = metric_of(run)
    assert (metric.frames_tx, metric.frames_rx) == (50 + 7, 40 + 6)
    assert (metric.bytes_tx, metric.bytes_rx) == (64 * 50 + 128 * 7, 64 * 40 + 128 * 6)


def test_frames_to_several_ports_were_sent_once() -> None:
    run = FlowRun(flow(stream("a", 64, to=(2, 3)), tags=((),), loss=True, by_receiver=True))
    run.counts = (counts("a", 10, 10), counts("a", 10, 4, rx_port=3))
    metric = metric_of(run)
    assert (metric.frames_tx, metric.frames_rx, metric.bytes_tx, metric.bytes_rx) == (10, 14, 640, 896)
    assert metric.loss == 0
    parts = parts_of(metric)
    assert {key: part.frames_rx for key, part in parts.items()} == {("p2",): 10, ("p3",): 4}
    assert not any(part.HasField("frames_tx") or part.HasField("loss") for part in parts.values())
    # To one port each they were sent to it.
    run = FlowRun(flow(stream("a", 64), stream("b", 64, to=(3,)), tags=((), ()), by_receiver=True))
    run.counts = (counts("a", 10, 9), counts("b", 5, 4, rx_port=3))
    assert {key: part.frames_tx for key, part in parts_of(metric_of(run)).items()} == {("p2",): 10, ("p3",): 5}
    run = FlowRun(flow(stream("a", 64, to=(2, 3)), tags=((),)))
    run.counts = (counts("a", 10, 9),)
    run.flow = replace(run.flow, tags=((("vlan", "0x1"),),))
    assert parts_of(metric_of(run))[("0x1",)].frames_tx == 10, "not told apart by receivers"


def test_latency_and_times_are_those_of_frames_that_arrived() -> None:
    """Stored frames from their last bit in: 64 bytes take 512 ns of 1 Gbit/s, 125 bytes 1,000 ns."""
    slow = LatencyStats(2, 3000.0, 5000.0, 8000.0)
    found = (
        counts("a", 9, 8, latency=LatencyStats(8, 2000.0, 4000.0, 20_000.0), first_rx_ns=700, last_rx_ns=900),
        counts("b", 9, 2, latency=slow, first_rx_ns=300, last_rx_ns=500),
        counts("c", 9, 0, first_rx_ns=0, last_rx_ns=0),
    )
    streams = (stream("a", 64), stream("b", 125), stream("c", 64))
    for mode, line, expected in (
        ("cut_through", LINE, (2000, 5000, 2800)),
        (STORE_FORWARD, LINE, (1488, 4000, (28_000 - 8 * 512 - 2 * 1000) / 10)),
        (STORE_FORWARD, Line(StampKind.SOFTWARE, {1: 10**9}), (2000, 5000, 2800)),
    ):
        run = FlowRun(flow(*streams, latency=mode, timestamps=True))
        run.counts = found
        metric = metric_of(run, line=line)
        shown = (metric.latency.minimum_ns, metric.latency.maximum_ns, metric.latency.average_ns)
        assert shown == pytest.approx(expected), mode
        assert (metric.timestamps.first_timestamp_ns, metric.timestamps.last_timestamp_ns) == (300, 900)
    idle = metric_of(FlowRun(flow(*streams, latency=STORE_FORWARD, timestamps=True)))
    assert (idle.latency.minimum_ns, idle.latency.maximum_ns, idle.latency.average_ns) == (0, 0, 0)
    assert (idle.timestamps.first_timestamp_ns, idle.timestamps.last_timestamp_ns) == (0, 0)
    single = FlowRun(flow(stream("a", 64), latency="cut_through"))
    single.counts = (counts("a", 1, 1, latency=LatencyStats(1, 700.0, 700.0, 700.0)),)
    assert metric_of(single).latency.average_ns == 700


def test_parts_are_those_that_a_client_asks_for() -> None:
    run = FlowRun(flow(stream("a", 64), stream("b", 64), stream("c", 64)))
    run.counts = (counts("a", 5, 0), counts("b", 0, 0), counts("c", 0, 3))
    every = {"0x0": 5, "0x1": 0, "0x2": 0}

    def sent(tagged: TaggedRequest) -> dict[str, int]:
        return {value: part.frames_tx for (value,), part in parts_of(metric_of(run, tagged)).items()}

    assert sent(NONE) == {}
    assert sent(ALL) == {key: every[key] for key in ("0x0", "0x2")}, "0x1 has neither sent nor received"
    assert sent(replace(ALL, empty=True)) == every
    assert sent(replace(ALL, values={"vlan": ["0X2", "0x7"]})) == {"0x2": 0}
    assert sent(replace(ALL, values={"vlan": []})) == sent(ALL)
    assert sent(replace(ALL, values={"dscp": []})) == {}
    (only, _) = metric_of(run, replace(ALL, columns=("frames_rx",))).tagged_metrics
    assert [field.name for field, _ in only.ListFields()] == ["tags", "frames_rx"]


def test_a_client_asks_for_parts_that_sent_or_received_unless_it_says_otherwise() -> None:
    filters = [{"name": "vlan", "values": ["0x2"]}, {"name": "dscp"}]
    asked = {"include": False, "include_empty_metrics": True, "metric_names": ["frames_rx"], "filters": filters}
    for data, expected in (
        ({}, (True, False, [], {})),
        (asked, (False, True, ["frames_rx"], {"vlan": ["0x2"], "dscp": []})),
    ):
        found = TaggedRequest.read(Element(data, "tagged_metrics"))
        assert (
            found.include,
            found.empty,
            list(found.columns),
            {k: list(v) for k, v in found.values.items()},
        ) == expected


def test_bits_of_received_fields_are_the_values_of_tags() -> None:
    """Priority 3 of 5 bits 0b101_01: the first tag has the highest ones."""
    priority = EgressTag("priority", ReceivedBits("vlan", 0, 3))
    low = EgressTag("id", ReceivedBits("vlan", 14, 2))
    assert values_of((priority, low), 0b101_01) == (("priority", "0x5"), ("id", "0x1"))
    assert values_of((priority, low), 0b010_11) == (("priority", "0x2"), ("id", "0x3"))
    assert ranges_of((priority, low)) == [ReceivedBits("vlan", 0, 3), ReceivedBits("vlan", 14, 2)]
    behind = EgressTag("cfi", ReceivedBits("vlan", 3, 1))
    assert ranges_of((priority, behind, low)) == [ReceivedBits("vlan", 0, 4), ReceivedBits("vlan", 14, 2)]
    middle = [EgressTag("", ReceivedBits("vlan", first, count)) for first, count in ((8, 2), (10, 1), (11, 1))]
    assert ranges_of((priority, *middle)) == [ReceivedBits("vlan", 0, 3), ReceivedBits("vlan", 8, 4)]
    assert ranges_of((priority, EgressTag("label", ReceivedBits("mpls", 3, 1))))[1] == ReceivedBits("mpls", 3, 1)
    made = replace(flow(stream("a", 64), tags=((),)), egress_tags=(priority, low))
    run = FlowRun(made)
    run.counts = (counts("a", 10, 4, part="21"), counts("a", 10, 0), counts("a", 10, 6, part="11"))
    parts = parts_of(metric_of(run))
    assert {key: part.frames_rx for key, part in parts.items()} == {("0x5", "0x1"): 4, ("0x2", "0x3"): 6}
    assert not any(part.HasField("frames_tx") for part in parts.values()), "nobody knows with which bits frames come"


def test_rates_are_changes_per_second_between_readings_that_are_not_too_close() -> None:
    meter = RateMeter(10**12)
    assert meter.take(Totals(10, 8, 1000, 800), 10**12 + 10**11 - 1) == Rates()
    # Since the reading of 1 s, in a tenth of a second.
    assert meter.take(Totals(20, 16, 2000, 1600), 10**12 + 10**11) == Rates(200, 160, 20_000, 16_000)
    assert meter.take(Totals(99, 99, 9999, 9999), 10**12 + 10**11 + 5) == Rates(200, 160, 20_000, 16_000)
    # Two seconds later; a counter that began anew has no rate below 0.
    assert meter.take(Totals(30, 6, 3000, 1600), 31 * 10**11) == Rates(5, 0, 500, 0)


def test_a_port_has_its_state_its_counters_and_its_speed_in_kilobytes() -> None:
    totals = port_totals(PortTotals(frames_tx=1, frames_rx=2, bytes_tx=3, bytes_rx=4))
    port = Port("p1", "1", model.TesterPort(1, "p1", 10**9))
    metric = port_metric(port, totals, Rates(5, 6, 7, 8), up=True, sending=True, capturing=False)
    assert (metric.frames_tx, metric.frames_rx, metric.bytes_tx, metric.bytes_rx) == (1, 2, 3, 4)
    assert (metric.frames_tx_rate, metric.frames_rx_rate, metric.bytes_tx_rate, metric.bytes_rx_rate) == (5, 6, 7, 8)
    assert metric.speed == 125_000
    kind = type(metric)
    assert (metric.link, metric.transmit, metric.capture) == (
        kind.Link.up,
        kind.Transmit.started,
        kind.Capture.stopped,
    )
    other = port_metric(port, totals, Rates(), up=False, sending=False, capturing=True)
    assert (other.link, other.transmit, other.capture) == (kind.Link.down, kind.Transmit.stopped, kind.Capture.started)
    assert chosen((), {"a": 1, "b": 2}, "port") == ["a", "b"] and chosen(["b"], {"a": 1, "b": 2}, "port") == ["b"]


class Clock:
    """A tester that notes how long it has waited."""

    passed_ns = 0

    def wait(self, duration_ns: int) -> None:
        self.passed_ns += duration_ns


def test_virtual_time_passes_between_polls_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting is rounded down to a tenth of a second; a second poll for the same takes a second at least."""
    now_ns, tester = [0], Clock()
    monkeypatch.setattr("p4mesh.otg.pace.time.monotonic_ns", lambda: now_ns[0])
    pace = OnDemand(cast(instrument.Tester, tester))

    def asked(poll: str, waited_s: float) -> float:
        before_ns = tester.passed_ns
        now_ns[0] += int(waited_s * 10**9)
        pace.before(poll)
        pace.after()
        return (tester.passed_ns - before_ns) / 10**9

    assert [asked(*request) for request in (("flows", 0.19), ("ports", 0), ("flows", 0), ("ports", 0))] == [
        0.1,
        0,
        1,
        0,
    ]
    # Each new poll of both is a second later; a request that changes something begins anew.
    assert [asked(*request) for request in (("flows", 0.5), ("", 0.3), ("ports", 0), ("flows", 2.55))] == [
        1,
        0.3,
        0,
        2.5,
    ]


def test_steps_of_virtual_time_grow_while_they_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """They double from 1 ms to a second, and halve where one took the machine more than a tenth of a second."""
    now_s, steps_ms, slow_ms = [0.0], list[float](), [10**9]

    class Slow(Clock):
        def wait(self, duration_ns: int) -> None:
            steps_ms.append(duration_ns / 10**6)
            now_s[0] += 0.2 if steps_ms[-1] >= slow_ms[0] else 0.0

    monkeypatch.setattr("p4mesh.otg.pace.time.monotonic", lambda: now_s[0])
    pace = OnDemand(cast(instrument.Tester, Slow()))
    assert pace.pass_time(3 * 10**9, 5) == 3 * 10**9
    assert steps_ms == [*(2**place for place in range(10)), 1000, 977]
    steps_ms.clear()
    slow_ms[0] = 8
    assert pace.pass_time(10**9, 0.5) == 39 * 10**6
    assert steps_ms == [1, 2, 4, 8, 4, 8, 4, 8], "then the time of the request is over"
