"""RFC 2544 under conditions: routers, modifiers of section 11, random destinations of section 12."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.layers.rip import RIP, RIPEntry
from scapy.layers.snmp import SNMP
from support.beds import make_bed
from support.fakes import FakeMeasurer, FlowMeasurer, lossless
from support.frames import FORMATS, ip_version_of
from support.networks import changed, parsed, shipped, switch
from support.runs import run_on_sim

from p4mesh.errors import ParameterError
from p4mesh.layers import ethernet, ipv4, ipv6
from p4mesh.methods.base import Method, TrialNote
from p4mesh.methods.composition import Case, Composed
from p4mesh.methods.conditions.under_conditions import PARAMETERS, Conditions, Queries, UnderConditions
from p4mesh.methods.options.parameters import ParameterSet, resolve
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.tester.stations import station
from p4mesh.topology import Topology
from p4mesh.traffic.addresses import station_mac
from p4mesh.traffic.control_frames import management_query, routing_update
from p4mesh.traffic.patterns import Broadcast, Pairs
from p4mesh.traffic.stream import FieldModifier, PseudoRandom, Stream, ValueList
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

GIGABIT = 10**9
SECOND = 10**9
BED = make_bed()
QUICK = ("scaled_frames=2000", "learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1")
SWITCH = parsed(switch(ports=2))


def parameters(*settings: str) -> ParameterSet:
    test = Composed(Throughput(), (UnderConditions(),))
    return resolve(test.name, test.parameters, settings)


def trial(frames: int = 1000, ip_version: int | None = 4, duration_ns: int = SECOND) -> TrialSpec:
    headers = FORMATS[ip_version]
    streams = (
        Stream("out", 128, Fraction(frames), frames, Pairs(), (1, 3), (2, 4), headers),
        Stream("back", 128, Fraction(frames), frames, Pairs(), (2, 4), (1, 3), headers),
    )
    return TrialSpec("t", streams, duration_ns)


def offered(spec: TrialSpec, *settings: str) -> TrialSpec:
    return Conditions(FakeMeasurer(), parameters(*settings), BED.port_numbers).offered(spec)


def run(test: Method, topology: Topology, *settings: str, size: int = 128) -> Outcome:
    return run_on_sim(Composed(test, (UnderConditions(),)), topology, (size,), *QUICK, *settings)[1]


def test_without_conditions_a_trial_is_not_changed() -> None:
    assert offered(trial()) == trial()


def test_one_frame_in_a_hundred_is_a_broadcast_to_all_other_ports() -> None:
    unicast, to_all = offered(trial(), "modifier=broadcast").streams[:2]
    assert (unicast.frame_count, to_all.frame_count) == (990, 10)
    assert unicast.rate_fps == 99 * to_all.rate_fps
    assert (to_all.pattern, to_all.tx_ports, to_all.rx_ports) == (Broadcast(), (1, 3), (1, 2, 3, 4))


def test_the_counts_are_those_of_the_test_frames() -> None:
    """A device that drops every broadcast and every tenth test frame."""

    def carry(_: TrialSpec, sent: dict[tuple[str, int, int], int]) -> dict[tuple[str, int, int], int]:
        return {key: 0 if key[0].endswith("-broadcast") else count - count // 10 for key, count in sent.items()}

    conditions = Conditions(FlowMeasurer(carry), parameters("modifier=broadcast"), BED.port_numbers)
    result = conditions.measure(trial(), TrialNote(Fraction(100), 0))
    assert (result.tx_frames, result.expected_rx_frames, result.lost_frames) == (3960, 3960, 396)
    assert {flow.stream for flow in result.flows} == {"out", "back"}
    assert result.latency is not None and result.latency.count == 3564


def test_a_query_opens_each_second() -> None:
    spec = offered(trial(duration_ns=2_500_000_000), "modifier=management")
    assert [frame.at_ns for frame in spec.controller_frames] == [-1000, SECOND - 1000, 2 * SECOND - 1000]
    assert all(frame.to_device and frame.port == 1 for frame in spec.controller_frames)
    query = Ether(spec.controller_frames[0].payload)
    assert (query[IP].dst, query[UDP].dport, SNMP in query) == ("198.18.1.1", 161, True)


def test_queries_without_an_answer_are_told() -> None:
    conditions = Conditions(FakeMeasurer(), parameters("modifier=management"), BED.port_numbers)
    conditions.measure(trial(duration_ns=2 * SECOND), TrialNote(Fraction(100), 0))
    assert conditions.findings(128) == ("128 B: the device answered 0 of 2 management queries",)
    assert conditions.queries(128) == (Queries(frame_size_bytes=128, asked=2, answered=0),)


def test_queries_that_are_answered_are_no_finding() -> None:
    class Answering(FakeMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            return replace(super().measure(spec, note), answered_frames=2)

    for modifier, asked in (("management", 2), ("routing_update", None)):
        conditions = Conditions(Answering(), parameters(f"modifier={modifier}"), BED.port_numbers)
        conditions.measure(trial(duration_ns=2 * SECOND), TrialNote(Fraction(100), 0))
        assert conditions.findings(128) == ()
        assert [(row.asked, row.answered) for row in conditions.queries(128)] == ([(2, 2)] if asked else [])


@pytest.mark.parametrize("frame_format", ["ipv4", "ipv6"])
def test_a_router_answers_management_queries_and_the_result_says_how_many(frame_format: str) -> None:
    """Trials of 2.5 s have three seconds that begin; the model answers each, from its own address."""
    frames = ("routed=true", f"frame_format={frame_format}")
    settings = (*frames, "modifier=management", "duration_ms=2500", "sustained=false")
    topology = changed("router-4x1g", ("1000000000", "10000000"), ("4000000", "40000"))
    outcome = run(FrameLoss(), topology, *settings, "step_pct=10", size=1518)
    (row,) = next(table for table in outcome.tables if table.name == "management_queries").rows
    assert (row["asked"], row["answered"]) == (6, 6), "two loads without loss, three queries each"
    assert not any("management queries" in finding for finding in outcome.findings)


@pytest.mark.parametrize(("modifier", "changed_note"), [("none", False), ("filter_1", True)])
def test_a_judge_sees_the_test_frames_alone(modifier: str, changed_note: bool) -> None:
    """A device that passes test frames and drops what its filters should: the judge counts no loss."""
    measurer = FlowMeasurer(
        lambda _, sent: {key: 0 if key[0].endswith("-filter_1") else count for key, count in sent.items()}
    )
    lost: list[int] = []

    def judge(result: TrialResult) -> Verdict:
        lost.append(result.lost_frames)
        return Verdict.PASS

    plain, judged = TrialNote(Fraction(100), 0), TrialNote(Fraction(100), 0, judge)
    conditions = Conditions(measurer, parameters(f"modifier={modifier}"), BED.port_numbers)
    results = [conditions.measure(trial(), note) for note in (plain, judged)]
    first, second = measurer.notes
    assert first is plain, "without a judge there is none to call"
    assert (second is not judged) == changed_note and second is not None and second.judge is not None
    second.judge(measurer.measure(measurer.specs[-1]))
    assert lost == [0] and [result.lost_frames for result in results] == [0, 0]
    assert conditions.findings(128) == ()


def test_broadcasts_that_arrive_are_as_it_should_be() -> None:
    conditions = Conditions(FlowMeasurer(lossless), parameters("modifier=broadcast"), BED.port_numbers)
    conditions.measure(trial(), TrialNote(Fraction(100), 0))
    assert conditions.findings(128) == ()


@pytest.mark.parametrize(
    ("version", "device", "updated"),
    [
        (4, "198.18.5.1", [f"198.19.{200 + n}.0" for n in range(6)]),
        (6, "2001:2:0:5::1", [f"2001:2:ffff:{n}::" for n in range(6)]),
    ],
)
def test_the_first_station_asks_and_announces(version: int, device: str, updated: list[str]) -> None:
    """A query to its router, and an update for six networks: in 24 bits of IPv4, in 64 of IPv6."""
    from_5, from_7 = (
        TrialSpec("t", (replace(trial(ip_version=version).streams[0], tx_ports=ports),), SECOND)
        for ports in ((5, 7), (7, 5))
    )
    spec = replace(from_5, streams=(*from_5.streams, *from_7.streams))
    for sent in (from_5, spec):
        (query,) = offered(sent, "modifier=management").controller_frames
        (update,) = offered(sent, "modifier=routing_update").controller_frames
        assert (query.port, query.to_device, update.port, update.to_device) == (5, True, 5, False)
        packet = Ether(query.payload)
        assert packet[IP if version == 4 else IPv6].dst == device
        body = update.payload[14 + 20 + 8 + 4 :] if version == 4 else update.payload[14 + 40 + 8 + 4 :]
        entries = [body[begin : begin + 20] for begin in range(0, len(body), 20)]
        found = [ip_address(entry[4:8] if version == 4 else entry[:16]) for entry in entries]
        assert found == [ip_address(text) for text in updated]
        assert all(version == 4 or entry[18] == 64 for entry in entries)


def test_routing_updates_alternate_from_trial_to_trial() -> None:
    measurer = FakeMeasurer()
    conditions = Conditions(measurer, parameters("modifier=routing_update"), BED.port_numbers)
    for _ in range(3):
        conditions.measure(trial(), TrialNote(Fraction(100), 0))
    updates = [Ether(spec.controller_frames[0].payload) for spec in measurer.specs]
    assert [update[RIPEntry].metric for update in updates] == [1, 16, 1]
    assert all(update[RIP].cmd == 2 and update[RIPEntry].addr == "198.19.200.0" for update in updates)


@pytest.mark.parametrize(
    ("source", "network", "mac", "group", "port", "entry"),
    [
        (
            *("198.18.1.2", "198.19.200.0/24", "ff:ff:ff:ff:ff:ff", "255.255.255.255", 520),
            "0002 0000 c613c800 0000000000000000 00000010",
        ),
        (
            *("2001:2::1", "2001:2:200::/48", "33:33:00:00:00:09", "ff02::9", 521),
            "20010002020000000000000000000000 0000 30 10",
        ),
    ],
)
def test_routing_updates_are_rip_and_ripng_byte_by_byte(
    source: str, network: str, mac: str, group: str, port: int, entry: str
) -> None:
    """RFC 1058 3.1 and RFC 2080 2.1: a response of version 1 for an unreachable network, whose hop limit is 255."""
    found = routing_update(bytes(6), ip_address(source), [ip_network(network)], 16)
    ip = found[14:]
    header = 20 if ip[0] >> 4 == 4 else 40
    assert (found[:6].hex(":"), ip_address(ip[16:20] if header == 20 else ip[24:40])) == (mac, ip_address(group))
    assert ip[8 if header == 20 else 7] == 255
    assert ip[header : header + 4] == 2 * port.to_bytes(2, "big")
    assert ip[header + 8 :] == bytes.fromhex(f"02 01 0000 {entry}")


@pytest.mark.parametrize(("modifier", "lines"), [("filter_1", 1), ("filter_25", 24)])
def test_frames_that_filters_drop_come_from_other_addresses(modifier: str, lines: int) -> None:
    denied = offered(trial(), f"modifier={modifier}").streams[1]
    (change,) = denied.modifiers
    assert isinstance(change.values, ValueList)
    assert (change.field, len(change.values.values)) == (ipv4.SOURCE, lines)
    assert station(1).ipv4 + change.values.values[0] == IPv4Address("198.18.1.128")
    assert (denied.frame_count, denied.may_be_filtered) == (10, True)


def test_the_permitted_address_is_the_thirteenth_of_twenty_five() -> None:
    test = Composed(FrameLoss(), (UnderConditions(),))
    settings = resolve(test.name, test.parameters, ("modifier=filter_25",))
    measurer = FlowMeasurer(lossless)
    (unit,) = test.units(settings, (128,))
    outcome = test.assemble(BED, settings, {unit: test.run_unit(unit, BED, settings, measurer)})
    rows = [row for row in outcome.tables[-1].rows if row["port"] == 2]
    assert len(rows) == 25
    assert [(row["position"], row["source"]) for row in rows if row["action"] == "permit"] == [(13, "198.18.2.2")]
    assert any("frames that its filters should drop" in text for text in outcome.findings)


def test_a_mix_has_filters_of_both_families() -> None:
    test = Composed(FrameLoss(), (UnderConditions(),))
    settings = resolve(test.name, test.parameters, ("modifier=filter_25", "frame_format=ipv6", "ip_mix=50:50"))
    (unit,) = test.units(settings, (128,))
    measurer = FlowMeasurer(lossless)
    outcome = test.assemble(BED, settings, {unit: test.run_unit(unit, BED, settings, measurer)})
    (filters,) = (table for table in outcome.tables if table.name == "filters")
    permitted = [row["source"] for row in filters.rows if (row["port"], row["action"]) == (3, "permit")]
    assert permitted == ["198.18.3.2", "2001:2:0:3::2"]
    assert len(filters.rows) == 4 * 2 * 25
    sent = {ip_version_of(stream.frame) for spec in measurer.specs for stream in spec.streams if stream.modifiers}
    assert sent == {4, 6}, "denied sources of both families"


def test_random_destinations_are_256_networks_behind_a_router() -> None:
    stream = offered(trial(), "modifier=networks", "routed=true").streams[0]
    base, random = stream.modifiers
    assert isinstance(base.values, ValueList) and isinstance(random.values, PseudoRandom)
    moved = (int(station(2).ipv4) + base.values.values[0]) % (1 << 32)
    assert IPv4Address(moved) == IPv4Address("10.0.2.2")
    assert random.values.mask == 0x00FF0000 and stream.routed
    six = offered(trial(ip_version=6), "modifier=networks", "routed=true", "frame_format=ipv6").streams[0]
    assert random == FieldModifier(ipv4.DESTINATION, PseudoRandom(1, 0x00FF0000))
    assert six.modifiers == (FieldModifier(ipv6.DESTINATION, PseudoRandom(1, 0xFF00)),)


def test_random_destinations_of_a_bridge_are_mac_addresses_of_the_receiver() -> None:
    given = replace(trial(), streams=(replace(trial().streams[0], start_offset_ns=(0, 7)), trial().streams[1]))
    spec = offered(given, "modifier=networks")
    assert [
        (stream.name, stream.tx_ports, stream.rx_ports, stream.start_offset_ns, stream.destination_mac)
        for stream in spec.streams
    ] == [
        ("out-1", (1,), (2,), (), station_mac(2)[:3] + b"\0\0\0"),
        ("out-3", (3,), (4,), (7,), station_mac(4)[:3] + b"\0\0\0"),
        ("back-2", (2,), (1,), (), station_mac(1)[:3] + b"\0\0\0"),
        ("back-4", (4,), (3,), (), station_mac(3)[:3] + b"\0\0\0"),
    ]
    assert {stream.modifiers for stream in spec.streams} == {
        (FieldModifier(ethernet.DESTINATION, PseudoRandom(1, 0xFFFFFF)),)
    }
    assert spec.learning.verify is False


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("routed=true", "frame_format=ethernet"), "routed=true with frame_format=ethernet"),
        (("modifier=networks", "pattern=in_phase"), "needs a router"),
        (("modifier=broadcast", "frame_format=ipv6"), "modifier=broadcast with frame_format=ipv6, which has no broad"),
        (("extension_headers=routing",), "extension_headers=routing with frame_format=ipv4"),
        (("ip_mix=50:50",), "ip_mix=50:50 with frame_format=ipv4"),
    ],
)
def test_conditions_that_contradict_are_refused(settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Composed(Throughput(), (UnderConditions(),)).check(BED, parameters(*settings))


@pytest.mark.parametrize("version", [4, 6])
def test_control_frames_have_valid_checksums(version: int) -> None:
    sender = station(1)
    source, device = (sender.ipv4, sender.router_ipv4) if version == 4 else (sender.ipv6, sender.router_ipv6)
    networks = [IPv4Network("198.19.200.0/24")] if version == 4 else []
    for frame in (management_query(sender.mac, source, device), routing_update(sender.mac, source, networks, 1)):
        packet = Ether(frame)
        shown = packet[UDP].chksum
        del packet[UDP].chksum
        assert Ether(bytes(packet))[UDP].chksum == shown


def test_a_bridge_carries_one_percent_broadcasts_at_line_rate() -> None:
    outcome = run(Throughput(), SWITCH, "modifier=broadcast")
    (row,) = outcome.tables[0].rows
    assert (outcome.state, row["throughput_pct"]) == (Verdict.MEASURED, 100)
    assert row["throughput_fps"] == pytest.approx(0.99 * 2 * GIGABIT / 8 / 148, rel=1e-3)


@pytest.mark.parametrize(
    ("modifier", "frame_format"),
    [
        (modifier, frame_format)
        for modifier in ("none", "broadcast", "management", "routing_update", "filter_1")
        for frame_format in ("ipv4", "ipv6")
        if (modifier, frame_format) != ("broadcast", "ipv6")
    ],
)
def test_a_router_is_measured_under_every_modifier(modifier: str, frame_format: str) -> None:
    topology = shipped("p4-l3-4ports")
    outcome = run(Throughput(), topology, "routed=true", f"frame_format={frame_format}", f"modifier={modifier}")
    (row,) = outcome.tables[0].rows
    assert (outcome.state, row["throughput_pct"]) == (Verdict.MEASURED, 100)
    expected = {"management": "answered 0 of 2", "filter_1": "frames that its filters should drop"}
    assert len(outcome.findings) == (modifier in expected)
    assert all(expected[modifier] in text for text in outcome.findings)


def with_networks(networks: int) -> Topology:
    """The router with routes to 10.R.N.0/24 for R below ``networks`` behind every port."""
    routes = "".join(
        f"      - {{table: route_ipv4, key: {{destination: {{value: '0x0a{r:02x}{port:02x}00', prefix_bits: 24}}}}, "
        f"action: to_next_hop, params: [{port}]}}\n"
        for port in (1, 2, 3, 4)
        for r in range(networks)
    )
    return changed("p4-l3-4ports", ("    entries:\n", "    entries:\n" + routes))


def test_frames_to_256_networks_all_have_a_route() -> None:
    outcome = run(FrameLoss(), with_networks(256), "routed=true", "modifier=networks")
    assert [row["lost_frames"] for row in outcome.tables[0].rows] == [0, 0]


def test_half_of_the_networks_without_a_route_are_half_of_the_frames() -> None:
    settings = ("routed=true", "modifier=networks", "learning_verify=false", "step_pct=10")
    outcome = run(FrameLoss(), with_networks(128), *settings)
    assert outcome.tables[0].rows[0]["loss_pct"] == pytest.approx(50, abs=4)


def test_a_bridge_floods_random_destinations_and_they_arrive() -> None:
    outcome = run(FrameLoss(), SWITCH, "modifier=networks")
    assert [row["lost_frames"] for row in outcome.tables[0].rows] == [0, 0]


@pytest.mark.parametrize(
    ("settings", "beginnings"),
    [
        ((), []),
        (("modifier=broadcast",), ["Modifier of RFC 2544 11: One frame in 100 is a broadcast"]),
        (("frame_format=ipv6", "ip_mix=90:10"), ["IPv4 and IPv6 frames 90:10: two streams per direction"]),
        (
            ("frame_format=ipv6", "ip_mix=50:50", "modifier=networks"),
            ["Modifier of RFC 2544 11: Random destinations", "IPv4 and IPv6 frames 50:50"],
        ),
    ],
)
def test_conditions_are_told_as_deviations(settings: tuple[str, ...], beginnings: list[str]) -> None:
    case = Case(Throughput(), BED, parameters(*settings))
    outcome = UnderConditions().assemble(lambda _: Outcome(Verdict.MEASURED, "", (), ()), case, {})
    assert len(outcome.deviations) == len(beginnings)
    assert all(text.startswith(begin) for text, begin in zip(outcome.deviations, beginnings, strict=True))


def test_parameters_name_their_clause() -> None:
    assert {parameter.name: parameter.section for parameter in PARAMETERS} == {
        "routed": "RFC 2544 C.2",
        "modifier": "RFC 2544 11, 12",
        "extension_headers": "RFC 5180 5.3",
        "ip_mix": "RFC 5180 7",
        "advertised_prefix": "RFC 5180 5.2",
        "advertised_networks": "RFC 5180 5.2",
    }
