"""Trials of the target ``tofino`` on the sources of its program, interpreted behind a fake bf_switchd.

Method: the controller, the server's tables, and both gresses with their parsers take part (interpreted_switchd.py);
the device is a formula, so every count and every latency is known. Nothing of a chip is in it.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import pytest
from support.fake_bfruntime import TOFINO_2
from support.frames import labelled
from support.interpreted_switchd import InterpretedSwitchd
from support.tofino_beds import (
    CHIPS,
    DEVICE_PORTS,
    FRONT_LOOP,
    GROUPS,
    IGMPV3_ROUTERS,
    LATENCY_NS,
    MS,
    PORTS_OF_TOFINO_2,
    bfrt_topology,
    mesh,
    switch,
    switch_of_chip,
    tofino_2_text,
    tofino_2_topology,
)
from support.tofino_chip import Device

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.layers import (
    UDP_OVER_IPV4,
    UDP_OVER_IPV6,
    Ethernet,
    Frame,
    IPv4,
    IPv6,
    Layer,
    Mpls,
    ServiceTag,
    Udp,
    Vlan,
    ipv4,
    udp,
)
from p4mesh.layers.extension import extension_kinds, extension_of
from p4mesh.layers.notation import text_of_frame
from p4mesh.measurement.counting import count_flows
from p4mesh.measurement.counts import MessageTime
from p4mesh.measurement.faults import Faults
from p4mesh.target.table import TARGETS
from p4mesh.tester.contract import P4SRC, load_contract
from p4mesh.tester.histogram import HistogramPer
from p4mesh.tester.opening import open_tester
from p4mesh.tester.sendable import require_plain_headers, require_sendable
from p4mesh.tester.tofino_dataplane import fits_the_parser
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.addresses import station_mac
from p4mesh.traffic.memberships import Memberships, Version
from p4mesh.traffic.patterns import GroupRange, Message, Multicast, Pairs, Rotate
from p4mesh.traffic.stream import Burst, FieldModifier, Progression, Stream
from p4mesh.trial.onlooker import FaultRequest, Onlooker
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

BROADCAST = b"\xff" * 6
Running = Callable[..., AbstractContextManager[InterpretedSwitchd]]
PROFILES = {
    "tofino2_ipdv": (TOFINO_2, PORTS_OF_TOFINO_2, partial(tofino_2_topology, loops=f"{FRONT_LOOP}, profile: ipdv"))
}


def snooping_switch(devices: Mapping[int, int]) -> Device:
    """A device that forwards groups to the ports from which reports have come, and loses every fifth frame."""
    forward = switch(lost=lambda n: n % 5 == 4, step_ns=8, devices=devices)
    members: set[int] = set()

    def device(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        if mac == IGMPV3_ROUTERS:
            members.add(port)
        if mac in (BROADCAST, IGMPV3_ROUTERS):
            return []
        if mac.startswith(GROUPS):
            return [(member, LATENCY_NS) for member in sorted(members - {port})]
        return forward(port, mac, number)

    return device


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Running:
    @contextmanager
    def run(name: str = "tofino1") -> Iterator[InterpretedSwitchd]:
        kind, devices, _ = (CHIPS | PROFILES)[name]
        device = snooping_switch(devices)

        program = (P4SRC / "compiled" / f"p4mesh.{name}.bfrt.json").read_bytes()
        found = switch_of_chip(monkeypatch, device, kind=InterpretedSwitchd, program=program, chip=kind, name=name)
        assert isinstance(found, InterpretedSwitchd)
        with found:
            yield found

    return run


def measured(chip: InterpretedSwitchd, *specs: TrialSpec, name: str = "tofino1", more: str = "") -> list[TrialResult]:
    topology = bfrt_topology(chip.address, more) if more else (CHIPS | PROFILES)[name][2](chip.address)
    with open_measurer(topology, "tofino") as measurer:
        results = [measurer.measure(spec) for spec in specs]
    assert chip.faults == []
    return results


def pairs(frames: int, **options: Any) -> TrialSpec:
    stream = Stream("pairs", 128, Fraction(1_000_000), frames, Pairs(), (1, 3), (2, 4))
    return replace(mesh(frames), streams=(replace(stream, **options),))


@pytest.mark.parametrize("name", CHIPS)
def test_a_mesh_over_pipes_is_measured(name: str, running: Running) -> None:
    """Goal: the first trial of RFC 2889 on four ports; 15 frames of each port, of which every fifth is lost."""
    with running(name) as chip:
        first, second = measured(chip, mesh(15), replace(mesh(15), histograms=HistogramPer.STREAM), name=name)
    for result in (first, second):
        assert (result.status, result.reason) == (Verdict.MEASURED, "")
        assert (result.tx_frames, result.rx_frames, result.lost_frames) == (60, 48, 12)
        assert {flow.tx_frames for flow in result.flows} == {5}
        latency = result.latency
        assert latency is not None and latency.count == 48
        assert (latency.min_ns, latency.max_ns) == (LATENCY_NS, LATENCY_NS + 24)
        assert latency.sum_ns == 4 * sum(LATENCY_NS + 8 * (n % 4) for n in range(15) if n % 5 != 4)
        assert {port.port: port.rx_frames for port in result.ports} == dict.fromkeys(DEVICE_PORTS, 12)
    assert second.latency is not None and dict(second.latency.percentiles_ns)[50.0] == pytest.approx(1012, rel=1 / 128)


def test_a_tofino_2_with_the_profile_for_it_measures_ipdv(running: Running) -> None:
    """Goal: every third frame of a port is of one flow; pairs of which neither was lost are samples with a sign."""
    with running("tofino2_ipdv") as chip:
        spec = replace(mesh(15), histograms=HistogramPer.STREAM)
        results = measured(chip, spec, spec, name="tofino2_ipdv")
    for result, first in zip(results, (0, 15), strict=True):
        pairs_of_flows = [(n, n + 3) for n in range(first, first + 15 - 3) if n % 5 != 4 and (n + 3) % 5 != 4]
        samples = [8 * (after % 4 - before % 4) for before, after in pairs_of_flows] * len(DEVICE_PORTS)
        latency = result.latency
        assert (result.status, result.reason) == (Verdict.MEASURED, "") and latency is not None
        assert (latency.ipdv_count, latency.ipdv_min_ns, latency.ipdv_max_ns) == (len(samples), -8, 24)
        assert latency.ipdv_sum_ns == sum(samples)
        (histogram,) = result.histograms
        shown = dict(histogram.latency.ipdv_percentiles_ns)
        assert (shown[50.0], shown[99.9]) == (sorted(samples)[(len(samples) - 1) // 2], max(samples))
        assert (latency.jitter_count, latency.rfc3550_jitter_flows) == (48 - 12, 0)


def stacks_of_tofino(units: int) -> Iterator[Frame]:
    """Yield every way of tags, labels and an IP header with up to two extension headers that the parser takes."""
    extensions = [extension_of(kind) for kind in extension_kinds()]
    chains = [(), *((header,) for header in extensions), *product(extensions, repeat=2)]
    networks = [(IPv4(),), *((IPv6(), *chain) for chain in chains if fits_the_parser(chain, units))]
    tags: list[tuple[Layer, ...]] = [(), (Vlan(vid=7),), (ServiceTag(vid=8),)]
    for outer in (*tags, *((*tag, Vlan(vid=9)) for tag in tags[1:])):
        yield Frame((Ethernet(), *outer))
        for labels, network in product(range(3), networks):
            layers = (Ethernet(), *outer, *(Mpls(100 + label, ttl=9) for label in range(labels)), *network, Udp())
            frame = Frame(layers)
            with suppress(ParameterError, UnsupportedError):
                require_sendable("any", frame)
                require_plain_headers("any", frame, "tofino")
                yield frame


@pytest.mark.parametrize("name", CHIPS)
def test_every_stack_that_the_parser_takes_is_counted_exactly(name: str, running: Running) -> None:
    """Goal: each stream of a trial has another stack and its own count; the device loses every fifth frame."""
    frames = list(stacks_of_tofino(load_contract()["EXTENSION_UNITS"]))
    assert len(frames) == 590
    some = frames if os.environ.get("P4MESH_ALL_HEADERS") else random.Random(1).sample(frames, 32)
    for number in range(0, len(some), 16):
        streams = tuple(
            Stream(f"s{place}", 256, Fraction(100_000), 5, Pairs(), (1,), (2,), frame)
            for place, frame in enumerate(some[number : number + 16])
        )
        with running(name) as chip:
            (result,) = measured(chip, replace(mesh(5), streams=streams, duration_ns=50_000, per_flow=True), name=name)
        assert (result.status, result.reason) == (Verdict.MEASURED, "")
        kinds = {stream.name: text_of_frame(stream.frame) for stream in streams}
        counts = {flow.stream: (flow.tx_frames, flow.rx_frames) for flow in result.flows}
        assert {kinds[name]: found for name, found in counts.items() if found != (5, 4)} == {}
        assert len(counts) == len(streams)


@pytest.mark.parametrize(
    "chain", [("routing", "destination"), ("destination", "fragment", "routing"), ("ah", "destination", "esp")]
)
def test_headers_that_the_parser_does_not_take_are_refused(chain: tuple[str, ...], running: Running) -> None:
    spec = pairs(5, frame=UDP_OVER_IPV6.extended([extension_of(kind) for kind in chain]), frame_size_bytes=200)
    with running() as chip, pytest.raises(UnsupportedError, match="'pairs' has the IPv6 extension headers") as caught:
        measured(chip, spec)
    assert caught.value.hint.startswith("use 32 bytes of headers at most")


def test_more_labels_than_the_parser_takes_are_refused(running: Running) -> None:
    spec = pairs(5, frame=labelled(UDP_OVER_IPV4, *(Mpls(label) for label in (100, 200, 300))))
    with running() as chip, pytest.raises(UnsupportedError, match="'pairs' has 3 MPLS labels") as caught:
        measured(chip, spec)
    assert caught.value.hint == "use 2 at most, or --target sim"


def test_two_streams_in_two_loops_and_their_modifiers(running: Running) -> None:
    """Goal: a stream whose ports count, and one that goes round receivers in the loop of a front port."""
    modifiers = (
        FieldModifier(udp.SOURCE, Progression(4)),
        FieldModifier(ipv4.SOURCE, Progression(2, 256)),
    )
    counting = Stream("counting", 128, Fraction(500_000), 10, Pairs(), (1,), (2,), modifiers=modifiers)
    turning = Stream("turning", 256, Fraction(500_000), 10, Rotate(), (3, 4), (1, 2))
    spec = replace(mesh(), streams=(counting, turning), duration_ns=20_000)
    with running() as chip:
        (result,) = measured(chip, spec, more=", front_loops: [{device_port: 8, rate_bps: 100000000000}]")
        assert chip.loop_ports == [8]
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert sorted((flow.stream, flow.tx_port, flow.tx_frames) for flow in result.flows) == [
        *[("counting", 1, 10)],
        *[("turning", port, 5) for port in (3, 3, 4, 4)],
    ]
    assert (result.tx_frames, result.rx_frames) == (30, 24)


@pytest.mark.parametrize("name", CHIPS)
def test_frames_that_arrive_at_a_wrong_port_are_captured_as_they_came(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goal: of each trial the first ones that were asked for, with port, time, flow and number.

    Port 2 is in pipe 0, port 4 in another, and each pipe hands over as many as were asked for.
    """
    kind, devices, topology = CHIPS[name]
    forward = switch(devices=devices)

    def floods(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        return [*forward(port, mac, number), (devices[4], 2 * LATENCY_NS), (devices[2], 2 * LATENCY_NS + 10_000)]

    program = (P4SRC / "compiled" / f"p4mesh.{name}.bfrt.json").read_bytes()
    chip = switch_of_chip(monkeypatch, floods, kind=InterpretedSwitchd, program=program, chip=kind, name=name)
    found: list[Faults] = []
    one = replace(pairs(20), streams=(replace(pairs(20).streams[0], tx_ports=(1,), rx_ports=(3,)),))
    with chip:
        for frames in (3, 2):  # The second controller finds the mirror session of the first.
            with open_measurer(topology(chip.address), "tofino") as measurer:
                for _ in range(2):
                    onlooker = Onlooker(lambda _: None, faults=FaultRequest(frames, found.append))
                    assert measurer.measure(one, onlooker).flooded_frames == 40
                measurer.measure(one)
    assert chip.faults == []
    for faults, frames in zip(found, (3, 3, 2, 2), strict=True):
        assert [(frame.reason, frame.port, frame.flow, frame.sequence) for frame in faults.frames] == [
            ("flooded", 4, "pairs 1->3", number) for number in range(frames)
        ]
        late_ns = [frame.at_ns - number * 1000 - 2 * LATENCY_NS for number, frame in enumerate(faults.frames)]
        assert late_ns[0] == 0 and all(abs(late) < 760 for late in late_ns), "a departure waits for a round of its seed"
        assert all(len(frame.frame) == 124 and frame.frame[:6] == station_mac(3) for frame in faults.frames)


def test_lost_frames_of_a_tofino_are_named_behind_the_last_that_came(running: Running) -> None:
    """Goal: of five frames the last is lost; no number is taken for lost that came."""
    found: list[Faults] = []
    with running() as chip, open_measurer(bfrt_topology(chip.address), "tofino") as measurer:
        measurer.measure(pairs(5), Onlooker(lambda _: None, faults=FaultRequest(4, found.append)))
    (faults,) = found
    assert (faults.frames, faults.lost_frames, faults.named_frames) == ((), 2, 2)
    assert [(lost.tx_port, lost.first_sequence, lost.frames) for lost in faults.lost] == [(1, 4, 1), (3, 4, 1)]


def test_learning_frames_and_a_second_trial_leave_nothing_behind(running: Running) -> None:
    learning = Learning(wait_ns=MS, verify=False, frames_per_address=1)
    with running() as chip:
        first, second = measured(chip, pairs(5, frame_size_bytes=64), replace(pairs(5), learning=learning))
    assert [(result.status, result.rx_frames, result.lost_frames) for result in (first, second)] == [
        (Verdict.MEASURED, 8, 2),
        (Verdict.MEASURED, 8, 2),
    ]


@pytest.mark.parametrize("name", CHIPS)
def test_hosts_join_groups_and_get_their_frames(name: str, running: Running) -> None:
    """Goal: reports are packet-outs; the device forwards a group to the ports that sent them, and to no others."""
    groups = (GroupRange("225.1.1.1", 2, (2, 4)),)
    stream = Stream("groups", 128, Fraction(1_000_000), 10, Multicast(groups), (1,), (2, 4))
    memberships = Memberships(
        Version.IGMPV3, groups, robustness=1, join_wait_ns=MS, leave_wait_ns=MS, joins_per_s=1_000_000, verify=False
    )
    spec = replace(mesh(), streams=(stream,), duration_ns=10_000, memberships=memberships)
    with running(name) as chip:
        (result,) = measured(chip, spec, name=name)
    assert (result.status, result.reason, result.flooded_frames) == (Verdict.MEASURED, "", 0)
    assert {port.port: port.rx_frames for port in result.ports} == {1: 0, 2: 10, 3: 0, 4: 10}


def test_streams_start_one_by_one(running: Running) -> None:
    """Goal: a start request for the second of two clocks alone, then one for the first; every fifth frame is lost."""
    first = Stream("first", 128, Fraction(1_000_000), 40, Pairs(), (1,), (2,))
    second = replace(first, name="second", frame_count=20, tx_ports=(3,), rx_ports=(4,))
    with running() as chip, open_tester(TARGETS["tofino"], bfrt_topology(chip.address)) as instrument:
        instrument.load((first, second))

        def frames(name: str) -> tuple[int, int]:
            (flow,) = count_flows(instrument.loaded, instrument.read(name), instrument.tick_ps, name)
            return flow.tx_frames, flow.rx_frames

        instrument.arm("second")
        instrument.start("second")
        assert (frames("first"), frames("second")) == ((0, 0), (20, 16))
        instrument.arm("first")
        instrument.start("first")
        instrument.stop("second")
        assert (frames("first"), frames("second")) == ((40, 32), (20, 16))
    assert chip.faults == []


def test_groups_beyond_the_flows_are_counted_with_the_profile_for_it(running: Running) -> None:
    """Goal: 4,096 groups on four ports and a flow beside them are more than 16,384 cells; all groups have counters.

    The device forwards groups to all ports, and loses every fifth frame of a trial for port 4.
    """
    receivers = (2, 3, 4)
    streams = [
        Stream(f"groups{half}", 128, Fraction(1_000_000), 15, Multicast((range_of,)), (1,), receivers)
        for half, range_of in enumerate(GroupRange(f"225.1.{8 * half}.0", 2048, receivers) for half in (0, 1))
    ]
    beside = Stream("beside", 128, Fraction(1_000_000), 5, Pairs(), (1,), (3,))

    came = Counter[str]()

    def device(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        if not mac.startswith(GROUPS):
            return switch(devices=PORTS_OF_TOFINO_2)(port, mac, number)
        came["groups"] += 1
        lost = came["groups"] % 5 == 0
        return [(PORTS_OF_TOFINO_2[one], LATENCY_NS) for one in receivers if one != 4 or not lost]

    with running("tofino2_ipdv") as chip:
        chip.device = device
        spec = replace(mesh(15), streams=(*streams, beside))
        (result,) = measured(chip, spec, name="tofino2_ipdv")
    assert (result.status, result.reason, result.flooded_frames) == (Verdict.MEASURED, "", 0)
    assert {port.port: port.rx_frames for port in result.ports} == {1: 0, 2: 30, 3: 35, 4: 24}
    assert (result.expected_rx_frames, result.lost_frames) == (95, 6)
    assert result.latency is not None and result.latency.count == 5, "groups that are counted have no latency"


def test_messages_are_counted_with_the_profile_for_it(running: Running) -> None:
    """Goal: the device loses frame 5 of each port, the second one of message 1; the other four messages are whole.

    Ports have 10 Gbit/s, so that the loop has room for departures that are twice as fast as the line.
    """
    frames, lost = 4, 5
    stream = Stream(
        *("messages", 128, Fraction(frames * 200_000), 5 * frames, Message(Pairs(), frames), (1, 3), (2, 4)),
        burst=Burst(frames),
    )
    spec = replace(mesh(), streams=(stream,), duration_ns=25_000)
    with running("tofino2_ipdv") as chip:
        chip.device = switch(devices=PORTS_OF_TOFINO_2, lost=lambda number: number % (5 * frames) == lost)
        topology = parse_topology("slow.yaml", tofino_2_text(chip.address, ", profile: ipdv", 10**10))
        with open_measurer(topology, "tofino") as measurer:
            results = [measurer.measure(spec) for _ in range(2)]
    assert chip.faults == []
    for result in results:
        assert (result.status, result.reason) == (Verdict.MEASURED, "")
        assert [(found.tx_port, found.rx_port) for found in result.messages] == [(1, 2), (3, 4)]
        for found in result.messages:
            assert (found.sent, found.complete, found.damaged) == (5, 4, 1)
            assert found.fifo and found.lilo and found.filo
            assert found.fifo == found.lilo == MessageTime(4, LATENCY_NS, LATENCY_NS, 4 * LATENCY_NS)
            assert LATENCY_NS < found.filo.min_ns <= found.filo.max_ns < LATENCY_NS + 1000
