"""Plan: the places and flows that the program will visit are those of the oracle."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support import destination_oracle as oracle
from support.stacks import STACKS

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.layers import Frame, Modifiable, udp
from p4mesh.target.capabilities import Capabilities
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.message_sources import with_messages
from p4mesh.tester.pacing import LoopUse
from p4mesh.tester.plan import Limits, MessageSource, Plan, _phases, limits_of, make_plan
from p4mesh.tester.received_fields import ToldApart
from p4mesh.tester.size_turns import SizeTurn, frame_sizes_of, size_turn_of
from p4mesh.traffic.arrivals import Poisson
from p4mesh.traffic.patterns import Broadcast, FullMesh, GroupRange, Message, Multicast, Pairs, Pattern, Rotate
from p4mesh.traffic.stream import Burst, FieldModifier, Progression, Stream, ValueList

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
        ({"tx_ports": (1,), "rx_ports": (1,)}, "a full mesh needs two or more ports"),
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
    with pytest.raises(ParameterError, match=r"stream 's': ipv4\.ecn runs over from 0, by 0 to 4"):
        plan_of(Pairs(), (1,), (2,), modifiers=(FieldModifier(Modifiable.of_name("ipv4.ecn"), Progression(5)),))
    with pytest.raises(ParameterError, match="has 5 field modifiers"):
        plan_of(Pairs(), (1,), (2,), modifiers=tuple(modifiers[:5]))


def test_frames_of_other_streams_hold_up_a_transmitter_for_their_time_on_the_line() -> None:
    """64 bytes take 672 ns of 1 Gbit/s and 128 bytes 1,184 ns; each time is rounded up by a picosecond."""
    plain = Stream("a", 64, Fraction(1000), 10, Pairs(), (1, 2), (3, 4))
    longer = Stream("b", 128, Fraction(1000), 10, Pairs(), (1,), (3,))
    turns = replace(longer, name="c", sizes_in_turn_bytes=(64, 128))
    held_up = {
        (plan.stream.name, each.port): each.contention_ps
        for plan in make_plan((plain, longer, turns), LIMITS, RATES).streams
        for each in plan.transmitters
    }
    # Sizes in turn may be out of step with their own frames, too.
    assert held_up == {
        ("a", 1): 2 * 1_184_001,
        ("a", 2): 0,
        ("b", 1): 672_001 + 1_184_001,
        ("c", 1): 672_001 + 2 * 1_184_001,
    }


@pytest.mark.parametrize(
    ("streams", "offset_ns", "expected"),
    [
        # With a clock for each port its start is exact; with one for all it is a whole departure of 1 ms.
        (2, 999_999, [(0, 0, 0), (0, 999_999, 0)]),
        (2, 1_000_000, [(0, 0, 0), (1, 0, 0)]),
        (1, 3_400_000, [(0, 0, 400_000), (3, 0, 400_000)]),
        (1, 3_600_000, [(0, 0, 400_000), (4, 0, 400_000)]),
    ],
)
def test_a_port_starts_when_it_was_asked_to_where_there_is_a_clock_for_it(
    streams: int, offset_ns: int, expected: list[tuple[int, int, int]]
) -> None:
    """Departures left out, ticks of 1 ns behind these, and the error in ticks, of two ports."""
    stream = Stream("s", 64, Fraction(1000), 10, FullMesh(), (1, 2), (1, 2), start_offset_ns=(0, offset_ns))
    plan = make_plan((stream,), replace(LIMITS, streams=streams), RATES)
    found = {
        each.port: (each.skipped, part.start_offset_ticks, part.start_offset_error_ticks)
        for part in plan.streams
        for each in part.transmitters
    }
    assert [found[port] for port in (1, 2)] == expected


def test_two_clocks_are_half_a_departure_apart() -> None:
    """Starts at 0.4 and 0.6 ms are both taken for 0.5 ms; a stream without offsets begins at once."""
    stream = Stream("s", 64, Fraction(1000), 10, Pairs(), (1, 2, 3), (4, 5, 6), start_offset_ns=(0, 400_000, 600_000))
    plan = make_plan((stream,), replace(LIMITS, streams=2), RATES)
    assert [(part.start_offset_ticks, part.start_offset_error_ticks) for part in plan.streams] == [
        (0, 0),
        (500_000, 100_000),
    ]
    both = make_plan((replace(stream, start_offset_ns=()), replace(stream, name="t")), LIMITS, RATES)
    assert [(part.stream.name, part.start_offset_ticks) for part in both.streams] == [
        ("s", 0),
        ("t", 0),
        ("t", 400_000),
        ("t", 600_000),
    ]
    assert {part.start_offset_error_ticks for part in both.streams} == {0}


def test_phases_of_a_departure_are_halved_until_there_is_room_for_their_clocks() -> None:
    assert (list(_phases(9)), list(_phases(1))) == ([9, 4, 2], [])


def test_a_program_counts_and_changes_what_its_constants_say() -> None:
    """Finer bins are for targets in real time; messages are counted on testers of one switch."""
    contract = load_contract()
    names = (
        "GROUPS",
        "GROUP_PORTS",
        "MESSAGE_SOURCES",
        "MESSAGE_RULES",
        "FRAME_SIZES",
        "SCHEDULED_GAPS",
        "RECEIVED_FIELD_RULES",
    )
    lacking = replace(
        contract, constants={k: v for k, v in contract.constants.items() if k not in (*names, "FINER_BITS")}
    )
    target = {
        "stamps": SimpleNamespace(tick_ps=8000),
        "loop": LIMITS.loop,
        "target": "x",
        "bad_fcs": True,
        "other_loops": (),
    }
    for program in (contract, lacking):
        wanted = [program.constants.get(name, 0) for name in names]
        for real_time in (False, True):
            capabilities = cast("Capabilities", SimpleNamespace(**target, real_time=real_time))
            limits = limits_of(program, capabilities, {})
            assert [
                getattr(limits, "received_field_rules" if name == names[-1] else name.lower()) for name in names
            ] == wanted
            assert limits.finer_bits == (program.constants.get("FINER_BITS", 0) if real_time else 0)
            assert (limits.tick_ps, limits.bad_fcs) == (8000, True)
            assert limits_of(program, capabilities, {1: 0}) == replace(limits, switch_of={1: 0}, message_sources=0)


def test_values_of_lists_stand_behind_each_other() -> None:
    lists = [ValueList((5, 7)), ValueList((6,)), ValueList((8, 9))]
    streams = [
        Stream(name, 64, Fraction(1000), 10, Pairs(), (1,), (2,), modifiers=(FieldModifier(udp.SOURCE, values),))
        for name, values in zip("abc", lists, strict=True)
    ]
    plan = make_plan(streams, LIMITS, RATES)
    assert plan.value_lists[0] == (5, 7, 6, 8, 9)
    assert [part.transmitters[0].lists for part in plan.streams] == [(0,), (2,), (3,)]


@pytest.mark.parametrize(
    ("limits", "changes", "message"),
    [
        # A replication id is that of the copy which stays in the loop.
        ({"transmitters": 3}, {}, "needs 3 transmitters, the program has 2"),
        ({"transmitters": 4}, {}, ""),
        ({"frame_sizes": 0}, {"sizes_in_turn_bytes": (64, 128)}, "stream 's' has frame sizes in turn"),
        ({"frame_sizes": 1}, {"sizes_in_turn_bytes": (64, 128)}, "needs 2 frame sizes in turn, the program has 1"),
        ({"frame_sizes": 0}, {}, ""),
        ({"scheduled_gaps": 0}, {"arrivals": Poisson()}, "arrivals that are not evenly spaced"),
        ({"any_headers": False}, {}, ""),
        ({}, {"bad_fcs": True}, "frames with a bad FCS"),
    ],
)
def test_what_a_program_lacks_is_named(limits: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    stream = replace(Stream("s", 128, Fraction(1000), 10, FullMesh(), (1, 2, 3), (1, 2, 3)), **changes)
    with pytest.raises(UnsupportedError, match=message) if message else nullcontext():
        make_plan((stream,), replace(LIMITS, **limits), RATES)


@pytest.mark.parametrize(
    ("sizes", "positions", "round_frames"), [(3, 2, None), (4, 6, 12), (2, 2, 2), (3, 3, 3), (2, 1, None)]
)
def test_each_destination_gets_every_size_once(sizes: int, positions: int, round_frames: int | None) -> None:
    """Where both numbers have a divisor in common, a size is left out behind each round, their common multiple."""
    stream = Stream("s", 256, Fraction(1000), 10, Pairs(), (1,), (2,), sizes_in_turn_bytes=(64, 128, 200, 256)[-sizes:])
    turn = size_turn_of(stream, 7, positions)
    assert turn == SizeTurn(7, sizes - 1, round_frames - 1 if round_frames else 0)
    seen = {
        (frame % positions, (frame + (frame // round_frames if round_frames else 0)) % sizes)
        for frame in range(sizes * positions)
    }
    assert len(seen) == sizes * positions
    assert size_turn_of(replace(stream, sizes_in_turn_bytes=()), 7, positions) is None


def test_sizes_in_turn_are_told_without_fcs_and_by_their_distance_to_the_seed() -> None:
    stream = Stream("s", 256, Fraction(1000), 10, Pairs(), (1,), (2,), sizes_in_turn_bytes=(256, 64))
    assert [(each.length_bytes, each.shorter_bytes) for each in frame_sizes_of(stream)] == [(252, 0), (60, 192)]
    assert frame_sizes_of(replace(stream, sizes_in_turn_bytes=())) == []
    with pytest.raises(ParameterError, match="a frame of 63 bytes has no room") as caught:
        frame_sizes_of(replace(stream, sizes_in_turn_bytes=(256, 63)))
    assert caught.value.hint == "use sizes of 64 bytes or more"


def test_slots_of_a_burst_are_frames_on_the_line_and_those_of_a_message_half_of_them() -> None:
    """1,518 bytes take 12,304 ns of 1 Gbit/s; a period is a whole number of slots. 3.4 frames are two messages."""
    sent = {"frame_size_bytes": 1518, "frame_count": 10}
    burst = plan_of(Pairs(), (1,), (2,), burst=Burst(2), **sent).streams[0].clock
    message = plan_of(Message(Pairs(), 2), (1,), (2,), burst=Burst(2), **sent).streams[0].clock
    slow = plan_of(Pairs(), (1,), (2,), burst=Burst(2, Fraction(50_000)), **sent).streams[0].clock
    slots = [-(-2_000_000 // 12_304), -(-2_000_000 // 6_152), 100]
    assert [each.last_slot + 1 for each in (burst, message, slow)] == slots
    # The last one of five bursts ends with its second slot.
    assert [each.departures for each in (burst, message, slow)] == [4 * slot + 2 for slot in slots]
    stream = Stream("s", 64, Fraction(1000), 10, Message(Pairs(), 2), (1, 2), (3, 4), burst=Burst(2))
    plan = make_plan((replace(stream, start_offset_ns=(0, 3_400_000)),), replace(LIMITS, streams=1), RATES)
    assert [each.skipped for each in plan.streams[0].transmitters] == [0, 4]


@pytest.mark.parametrize(("streams", "start_ticks", "error_ticks"), [(2, [0, 600_000], 0), (1, [0], 1_400_000)])
def test_a_port_that_starts_later_begins_with_a_whole_burst(
    streams: int, start_ticks: list[int], error_ticks: int
) -> None:
    """Four frames in 4 ms; 4.6 ms or, with one clock for both ports, 2.6 ms are for the second of them one burst."""
    offset_ns = 4_600_000 if streams == 2 else 2_600_000
    stream = Stream(
        "s", 64, Fraction(1000), 12, Pairs(), (1, 2), (3, 4), burst=Burst(4), start_offset_ns=(0, offset_ns)
    )
    plan = make_plan((stream,), replace(LIMITS, streams=streams), RATES)
    assert [each.skipped for part in plan.streams for each in part.transmitters] == [0, 4]
    assert [part.start_offset_ticks for part in plan.streams] == start_ticks
    assert float(plan.streams[-1].start_offset_error_ticks) == pytest.approx(error_ticks, abs=0.001)
    clock = plan.streams[-1].clock
    assert clock.departures == 3 * (clock.last_slot + 1) + 4, "the first burst is left out, three are sent"


def test_slots_of_a_burst_are_as_short_as_frames_on_the_line() -> None:
    """Two frames of 672 ns each 672 us: a thousand slots fit."""
    stream = Stream("s", 64, Fraction(2 * 10**6, 672), 4, Pairs(), (1, 2), (3, 4), burst=Burst(2))
    assert make_plan((stream,), LIMITS, RATES).streams[0].clock.last_slot == 999


def test_a_start_that_a_departure_misses_by_less_than_half_a_tick_is_that_departure() -> None:
    plan = plan_of(Pairs(), (1, 2), (3, 4), rate_fps=Fraction(5 * 10**9, 5002), start_offset_ns=(0, 1000))
    assert [(part.start_offset_ticks, [each.skipped for each in part.transmitters]) for part in plan.streams] == [
        (0, [0, 1])
    ]
    assert float(plan.streams[0].start_offset_error_ticks) == pytest.approx(0.4)


def test_sizes_in_turn_leave_as_close_as_the_line_allows_if_they_are_in_step_with_destinations() -> None:
    """64 and 128 bytes take 672 and 1,184 ns; to two destinations in turn any slot may have the larger one."""
    sent = {"frame_size_bytes": 128, "sizes_in_turn_bytes": (64, 128), "frame_count": 1000}
    poisson = {"rate_fps": Fraction(10**9, 1150), "arrivals": Poisson(), **sent}
    one = plan_of(Rotate(), (1,), (3,), **poisson).streams[0]
    assert one.clock.slot_ticks == 672
    assert one.start_offset_ticks == one.clock.first_ticks > 0
    with pytest.raises(ParameterError, match="rates up to 844,595 frames/s have room for them"):
        plan_of(Rotate(), (1,), (3, 4), **poisson)


def test_headers_beyond_udp_are_for_programs_that_parse_them() -> None:
    stream = Stream("s", 256, Fraction(1000), 10, Pairs(), (1,), (2,), Frame(STACKS["vxlan"]))
    assert make_plan((stream,), LIMITS, RATES).streams
    with pytest.raises(UnsupportedError, match="stream 's' has frames of ethernet"):
        make_plan((stream,), replace(LIMITS, any_headers=False), RATES)


def test_groups_beyond_the_cells_are_counted_on_each_port_by_their_numbers() -> None:
    """Eight cells hold two of four groups on each of three ports; a flow to one port has the cell behind these."""
    small, rates = replace(LIMITS, flows=8, groups=8, group_ports=4), dict.fromkeys(range(1, 6), 10**9)
    pattern = Multicast((GroupRange("225.1.1.1", 4, (2, 3)),))
    groups = Stream("groups", 64, Fraction(1000), 20, pattern, (1,), (2, 3))
    one = replace(groups, name="one", pattern=Pairs(), tx_ports=(4,), rx_ports=(5,))
    plan = make_plan((groups, one), small, rates)
    assert [(flow.rx_port, flow.cell, flow.sequence_cell) for flow in plan.flows] == [
        (1, 0, 0), (1, 1, 1), (2, 2, 0), (2, 3, 1), (3, 4, 0), (3, 5, 1), (5, 6, 6),
    ]  # fmt: skip
    assert [flow.cell for flow in plan.flows if flow.expected] == [2, 3, 4, 5, 6]
    (counted,) = plan.counted
    assert (counted.first, [each.part for each in counted.destinations]) == (2, ["225.1.1.3", "225.1.1.4"])
    assert (plan.own_cells, plan.cells, plan.counted_ports) == (list(range(7)), 7, (1, 2, 3))
    offsets = {(each.port, each.mac[-1]): each.flow_offset for each in plan.receivers if each.mac[0] == 1}
    assert [[offsets[port, group] for port in (1, 2, 3)] for group in (1, 2, 3, 4)] == [
        [0, 2, 4], [0, 2, 4], [8, 16, 24], [8, 16, 24],
    ]  # fmt: skip
    with pytest.raises(UnsupportedError, match="needs 4 groups with frame sizes in turn, the program has 2"):
        make_plan((replace(groups, frame_size_bytes=128, sizes_in_turn_bytes=(64, 128)),), small, rates)
    assert [
        (flow.stream, flow.rx_port)
        for flow in make_plan(
            (
                replace(groups, pattern=Multicast(), rx_ports=(2,)),
                replace(groups, name="one", pattern=Multicast(), rx_ports=(3,)),
            ),
            LIMITS,
            rates,
        ).flows
        if flow.expected
    ] == [(0, 2), (1, 3)]
    # Of two senders all groups are counted.
    plan = make_plan((replace(groups, tx_ports=(1, 4)),), small, rates)
    assert [(each.tx_port, each.first, len(each.destinations)) for each in plan.counted] == [(1, 0, 4), (4, 4, 4)]
    assert [each.flow_base for each in plan.streams[0].transmitters] == [0, 4]
    assert (plan.flows, plan.own_cells, plan.cells) == ((), list(range(8)), 8)


def test_two_switches_number_the_flows_that_they_send_and_differ_where_one_port_receives_from_both() -> None:
    """Each has the 65,536 cells of the program; the second stream has numbers behind those of the first."""
    limits = replace(LIMITS, switch_of={1: 0, 2: 0, 3: 1, 4: 1, 5: 1})

    def cells(tx_ports: tuple[int, ...], rx_ports: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
        stream = Stream("s", 64, Fraction(1000), 10, Rotate(), tx_ports, rx_ports)
        plan = make_plan((stream, replace(stream, name="t")), limits, dict.fromkeys(limits.switch_of, 10**9))
        bases = [each.flow_base for part in plan.streams for each in part.transmitters]
        assert bases == plan.columns.sequence_cell[:: len(rx_ports)].tolist()
        return [(flow.tx_port, flow.rx_port, flow.cell, flow.sequence_cell) for flow in plan.flows]

    assert cells((1, 3, 5), (2, 4)) == [
        (1, 2, 0, 0), (1, 4, 65_537, 1), (3, 4, 65_536, 65_536), (3, 2, 1, 65_537), (5, 2, 2, 65_538),
        (5, 4, 65_539, 65_539),
        (1, 2, 4, 4), (1, 4, 65_541, 5), (3, 4, 65_540, 65_540), (3, 2, 5, 65_541), (5, 2, 6, 65_542),
        (5, 4, 65_543, 65_543),
    ]  # fmt: skip
    assert cells((1, 3), (4,)) == [(1, 4, 65_536, 0), (3, 4, 65_537, 65_537), (1, 4, 65_538, 2), (3, 4, 65_539, 65_539)]


def test_a_part_of_a_plan_has_what_belongs_to_its_streams() -> None:
    streams = [
        Stream(name, 64, Fraction(1000), 10, Pairs(), (port,), (port + 1,)) for name, port in (("a", 1), ("b", 3))
    ]
    uses = cast("tuple[LoopUse, ...]", tuple(SimpleNamespace(round_ps=time_ps) for time_ps in (2_999, 5_000)))
    plan = replace(make_plan(streams, LIMITS, RATES), loop_uses=uses)
    assert plan.of_streams(()) is plan
    part = plan.of_streams(("b",))
    assert (part.names, [flow.tx_port for flow in part.flows], part.loop_uses) == ({1: "b"}, [3], uses[1:])
    with pytest.raises(ParameterError, match="no stream 'c' is loaded") as caught:
        plan.of_streams(("b", "c"))
    assert caught.value.hint == "loaded: a, b"
    told_apart = cast("tuple[ToldApart, ...]", (SimpleNamespace(cells=(400, 401, 402)),))
    assert (plan.cells, replace(plan, told_apart=told_apart).cells) == (300, 403), "ports have cells up to 299"
    assert [stream.group for stream in plan.streams] == [2, 3]
    # The longest round, rounded up: one for each of two streams, and four for the seeds.
    assert (plan.start_ns(2), plan.of_streams(("a",)).start_ns(1)) == (6 * 6, 5 * 3)


def test_sources_of_messages_are_those_of_streams_that_have_them() -> None:
    """Flows 0 to 2 are of the first stream, without messages; each of two pairs has three positions."""
    plain = Stream("plain", 64, Fraction(1000), 6, Pairs(), (1, 2, 3), (4, 5, 6))
    messages = replace(
        plain, name="messages", pattern=Message(Pairs(), 3), burst=Burst(3), tx_ports=(1, 2), rx_ports=(3, 4)
    )
    plan = make_plan((plain, messages, replace(plain, name="last")), LIMITS, RATES)
    assert with_messages(plan, LIMITS).messages == (
        MessageSource(number=0, stream=1, tx_port=1, rx_port=3, first_flow=3, frames=3),
        MessageSource(number=1, stream=1, tx_port=2, rx_port=4, first_flow=6, frames=3),
    )
    assert with_messages(make_plan((plain,), LIMITS, RATES), LIMITS).messages == ()


def test_positions_of_a_message_are_flows_that_follow_each_other() -> None:
    source = MessageSource(number=0, stream=0, tx_port=1, rx_port=2, first_flow=6, frames=3)
    assert (source.last_flow, source.blocks) == (8, [(6, 0xFFFE), (8, 0xFFFF)])
