"""Plan: the places and flows that the program will visit are those of the oracle."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support import destination_oracle as oracle

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.layers import Modifiable
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.plan import Limits, Plan, make_plan
from p4mesh.traffic.patterns import Broadcast, FullMesh, Pairs, Pattern, Rotate
from p4mesh.traffic.stream import FieldModifier, Progression, Stream

RATES = dict.fromkeys(range(1, 300), 10**9)
LIMITS = Limits.of(load_contract(), 1000, LoopModel(10**11, 500_000), "sim")


def plan_of(pattern: Pattern, tx: tuple[int, ...], rx: tuple[int, ...], **changes: object) -> Plan:
    stream = replace(Stream("s", 64, Fraction(1000), 10, pattern, tx, rx), **changes)  # type: ignore[arg-type]
    return make_plan((stream,), LIMITS, RATES)


def visited(plan: Plan, port: int, frames: int) -> list[int]:
    """The destination ports of the first frames of a port, by the arithmetic of the program."""
    (transmitter,) = [t for t in plan.streams[0].transmitters if t.port == port]
    places = []
    for k in range(frames):
        place = transmitter.first_place + k % transmitter.positions
        if place >= transmitter.list_length:
            place -= transmitter.list_length
        places.append(plan.destinations[transmitter.list_base + place][1].port)
    return places


@pytest.mark.parametrize("count", [2, 3, 6, 18, 256])
def test_full_mesh_is_the_pattern_of_rfc_2889(count: int) -> None:
    ports = tuple(range(1, count + 1))
    plan = plan_of(FullMesh(), ports, ports)
    for port in ports[:: max(1, count // 6)]:
        expected = [oracle.full_mesh(port, k, count) for k in range(2 * count)]
        assert visited(plan, port, 2 * count) == expected
    assert len(plan.flows) == count * (count - 1)
    assert {(f.tx_port, f.rx_port) for f in plan.flows} == {(a, b) for a in ports for b in ports if a != b}


def test_rotation_is_the_pattern_of_rfc_2889_5_4() -> None:
    plan = plan_of(Rotate(), (1, 2, 3), (7, 8, 9, 10))
    for index, port in enumerate((1, 2, 3), start=1):
        assert visited(plan, port, 9) == [(7, 8, 9, 10)[(index - 1 + k) % 4] for k in range(9)]


def test_flow_of_a_position_names_the_port_that_is_visited() -> None:
    ports = (3, 5, 8, 9)
    plan = plan_of(FullMesh(), ports, ports)
    for transmitter in plan.streams[0].transmitters:
        order = visited(plan, transmitter.port, transmitter.positions)
        flows = plan.flows[transmitter.flow_base : transmitter.flow_base + transmitter.positions]
        assert [flow.rx_port for flow in flows] == order
        assert [flow.cell for flow in flows] == list(
            range(transmitter.flow_base, transmitter.flow_base + transmitter.positions)
        )


def test_broadcast_has_a_cell_for_every_receiver_and_one_sequence() -> None:
    plan = plan_of(Broadcast(), (1,), (2, 3, 4))
    expected = [flow for flow in plan.flows if flow.expected]
    assert [flow.rx_port for flow in expected] == [2, 3, 4]
    assert {flow.sequence_cell for flow in plan.flows} == {0}
    offsets = {receiver.port: receiver.flow_offset for receiver in plan.receivers}
    assert all(flow.cell == offsets[flow.rx_port] for flow in plan.flows)


def test_lists_of_the_same_stations_are_kept_once() -> None:
    stream = Stream("s", 64, Fraction(1000), 10, FullMesh(), (1, 2, 3), (1, 2, 3))
    plan = make_plan((stream, replace(stream, name="t", frame_size_bytes=128)), LIMITS, RATES)
    assert len(plan.destinations) == 3
    assert len({t.id for s in plan.streams for t in s.transmitters}) == 6


def test_start_offset_is_a_whole_number_of_departures() -> None:
    plan = plan_of(FullMesh(), (1, 2), (1, 2), start_offset_ns=(0, 3_000_000))
    first, second = plan.streams[0].transmitters
    assert (first.skipped, second.skipped) == (0, 3)
    assert plan.streams[0].clock.departures == 13


def test_more_offsets_than_clocks_are_rounded_to_phases_of_a_departure() -> None:
    """256 ports 448 us apart, as in N-to-N multicast with 9216 bytes at 100G: whole departures are 188 us apart."""
    ports = tuple(range(1, 257))
    rate = Fraction(99955, 100_000) * 10**11 / (8 * 9236) / 255
    offsets_ns = tuple(448_000 * place for place in range(256))
    stream = Stream("s", 9216, rate, 10, Pairs(), ports, ports, start_offset_ns=offsets_ns)
    plan = make_plan((stream,), replace(LIMITS, streams=64), RATES)
    assert len(plan.streams) == 64
    period = plan.streams[0].clock.period_ticks
    for part in plan.streams:
        assert 0 < part.start_offset_error_ticks <= period / 128 + 1
        assert 2 <= len(part.transmitters) <= 6
        for transmitter in part.transmitters:
            begins = transmitter.skipped * period + part.start_offset_ticks
            assert abs(begins - offsets_ns[transmitter.port - 1]) <= period / 128 + 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"frame_count": 0}, "no frame fits into the trial"),
        ({"rx_ports": (1, 2)}, "a full mesh needs two or more ports"),
        ({"rx_ports": (), "tx_ports": (), "pattern": Rotate()}, "has no port"),
        ({"pattern": Pairs(), "rx_ports": (1,)}, "cannot be paired"),
    ],
)
def test_streams_that_cannot_be_planned_are_refused(changes: dict[str, object], message: str) -> None:
    stream = Stream("s", 64, Fraction(1000), 10, FullMesh(), (1, 2, 3), (1, 2, 3))
    with pytest.raises(ParameterError, match=message):
        make_plan((replace(stream, **changes),), LIMITS, RATES)  # type: ignore[arg-type]


def test_too_many_flows_are_refused_with_the_number_available() -> None:
    ports = tuple(range(1, 258))
    with pytest.raises(UnsupportedError, match="needs 65792 flows, the program has 65536"):
        plan_of(FullMesh(), ports, ports)


def test_more_fields_that_change_than_the_program_has_modifiers_are_refused_with_the_number() -> None:
    names = ("ipv4_src", "ipv4_dst", "udp_src", "udp_dst", "ipv4.ttl", "ipv4.dscp", "ipv4.identification")
    modifiers = [FieldModifier(Modifiable.of_name(name), Progression(2)) for name in names]
    assert plan_of(Pairs(), (1,), (2,), modifiers=tuple(modifiers[:4])).value_lists == ((),) * 4
    with pytest.raises(UnsupportedError, match="not supported on sim: stream 's' has 3 field modifiers") as caught:
        stream = Stream("s", 128, Fraction(1000), 10, Pairs(), (1,), (2,), modifiers=tuple(modifiers[:3]))
        make_plan((stream,), replace(LIMITS, modifiers=2), RATES)
    assert caught.value.hint == "the program has 2"
    with pytest.raises(ParameterError, match="has 5 field modifiers"):
        plan_of(Pairs(), (1,), (2,), modifiers=tuple(modifiers[:5]))
