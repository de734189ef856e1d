"""The data plane by hand: what it asks of a client that writes down its requests, and counts as differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from p4mesh.errors import UnsupportedError
from p4mesh.p4runtime import CounterData, PacketIn
from p4mesh.tester import dataplane
from p4mesh.tester.dataplane import HOLD_TICKS, PORT_REASONS, DataPlane, PortTotals, SwitchPorts
from p4mesh.tester.histogram import Bins, InterarrivalBins
from p4mesh.tester.pacing import first_fraction_q32
from p4mesh.tester.responders import PuntRule

REASONS = {
    name: number for number, name in enumerate((*PORT_REASONS, *dataplane.LOOP_REASONS, *dataplane.TRANSMIT_REASONS))
}


class Contract(dict[str, Any]):
    """Constants of a small program, with room for 32 reasons."""

    check_covers_payload = False
    record_fields, message_fields = (("cell", 4),), (("newest", 4),)
    p4info_path, device_config_path = "info", "config"

    @property
    def constants(self) -> dict[str, Any]:
        return self

    def reason(self, name: str) -> int:
        return REASONS[name.lower()]


def small_contract() -> Contract:
    return Contract(
        REASON_BITS=5, PORT_LOOP=100, PORT_CPU=101, GROUP_READ=9, HISTOGRAM_BINS=16, GROUP_PORTS=3, GROUPS=8,
        KIND_SEED=1, KIND_SEND=2, KIND_START=3, KIND_READ=4, STAMP_SENT=64, PUNT_RULES=2, READ_MESSAGES=32,
        SIZES_IN_TURN=1, IN_TUNNEL=2, WRONG_IPV4=4, MORE_MODIFIERS=8, BALANCED=1024, PAYLOAD_SUM_SHIFT=16,
    )  # fmt: skip


class Client:
    """Counters are 0 unless ``counters`` has them; entities are tuples of a word and what they are made of."""

    def __init__(self) -> None:
        self.counters: dict[tuple[str, int], tuple[int, int]] = {}
        self.asked: list[tuple[str, list[int]]] = []
        self.done: list[tuple[str, list[Any]]] = []
        self.sent: list[dict[str, Any]] = []
        self.packets: list[PacketIn] = []
        self.taken: list[tuple[int, float | None]] = []
        self.schema = SimpleNamespace(
            table_entry=lambda table, **values: (table, values["match"], values["action"], values["priority"]),
            multicast_group=lambda number, members, numeric_ports: (number, members),
            info=SimpleNamespace(counters={"flooded_flow"}),
        )
        self.insert, self.modify, self.delete = (self._noting(word) for word in ("insert", "modify", "delete"))

    def _noting(self, word: str) -> Callable[[Iterable[Any]], None]:
        return lambda entities: self.done.append((word, list(entities)))

    def count(self, counter: str, cell: int, packets: int, octets: int = 0) -> None:
        self.counters[counter, cell] = packets, octets

    def read_counters(self, counter: str, cells: Iterable[int]) -> list[tuple[int, CounterData]]:
        self.asked.append((counter, list(cells)))
        return [(cell, CounterData(*self.counters.get((counter, cell), (0, 0)))) for cell in self.asked[-1][1]]

    def read_counter_array(self, counter: str) -> tuple[list[int], list[int]]:
        self.asked.append((counter, []))
        return [self.counters.get((counter, cell), (0, 0))[0] for cell in range(24)], []

    def packet_counts(self, cells: dict[str, list[int]]) -> Callable[[], list[int]]:
        self.asked += cells.items()
        return lambda: [self.counters.get((name, cell), (0, 0))[0] for name, some in cells.items() for cell in some]

    def packet_out(self, payload: bytes, **fields: int) -> None:
        self.sent.append({"payload": payload, **fields})

    def take_packet_ins(self, count: int, timeout_s: float | None = None) -> list[PacketIn]:
        self.taken.append((count, timeout_s))
        come, self.packets = self.packets[:count], self.packets[count:]
        return come


def plane(devices: dict[int, int] | None = None, loops: tuple[int, ...] = ()) -> tuple[Any, Client]:
    client = Client()
    return DataPlane(client, small_contract(), SwitchPorts(devices or {}, loops)), client  # type: ignore[arg-type]


def cell(port: int, reason: str) -> int:
    return 32 * port + REASONS[reason]


@pytest.mark.parametrize(("sees_fcs", "unseen"), [(False, 4), (True, 0)])
def test_totals_of_a_port_have_the_fcs_of_each_frame(sees_fcs: bool, unseen: int) -> None:
    """Port 2 has the number 7 in the program: it sent 3 frames and received 5 expected and one damaged."""
    it, client = plane({2: 7})
    it.counters_see_fcs = sees_fcs
    client.count("transmit_reason", cell(7, "transmitted"), 3, 180)
    client.count("receive_reason", cell(7, "expected"), 5, 300)
    client.count("receive_reason", cell(7, "damaged"), 1, 90)
    client.count("receive_reason", cell(1, "expected"), 2, 120)
    totals = PortTotals(3, 180 + 3 * unseen, 6, 390 + 6 * unseen)
    assert it.port_totals((1, 2)) == {1: PortTotals(0, 0, 2, 120 + 2 * unseen), 2: totals}


def test_reasons_of_the_same_ports_are_prepared_once() -> None:
    it, client = plane({2: 7})
    client.count("receive_reason", cell(7, "request_done"), 4)
    client.count("transmit_reason", cell(7, "no_destination"), 5)
    counts = it.reason_counts((1, 2))
    assert {place: count for place, count in counts.items() if count} == {
        (2, "request_done"): 4,
        (2, "no_destination"): 5,
    }
    assert len(counts) == 2 * len(REASONS)
    client.count("receive_reason", cell(1, "stale"), 6)
    asked = len(client.asked)
    assert it.reason_counts((1, 2))[1, "stale"] == 6 and len(client.asked) == asked
    assert {port for port, _ in it.reason_counts((2,))} == {2} and len(client.asked) > asked


def test_ended_seeds_are_those_of_all_loops_and_strays_those_of_flows() -> None:
    it, client = plane(loops=(40, 41))
    for loop, seeds in ((100, 1), (40, 2), (41, 4)):
        client.count("receive_reason", cell(loop, "unknown_stream"), seeds)
    assert it.ended_seeds() == 7
    client.count("flooded_flow", 1, 5)
    client.count("misdirected_flow", 2, 6)
    assert it.stray_counts(3).tolist() == [[0, 5, 0], [0, 0, 6]]
    assert it.counts_strays


def test_requests_have_the_ports_of_the_program_and_clocks_begin_far_ahead() -> None:
    it, client = plane({2: 7}, loops=(40, 41))
    waited: list[int] = []
    it.hold(range(3, 8), waited.append)
    assert (client.sent, waited) == ([{"payload": b"", "kind": 3, "value": HOLD_TICKS, "stream": 3, "count": 5}], [7])
    assert (1 << 30) - (1 << 25) < HOLD_TICKS < 1 << 30
    client.sent.clear()
    for port, stamped in ((1, False), (2, True)):
        it.send(port, b"x", stamped=stamped)
    assert [(sent["port"], sent["flags"], sent["kind"]) for sent in client.sent] == [(1, 0, 2), (7, 64, 2)]
    del it._contract["STAMP_SENT"]
    it.send(1, b"x", stamped=True)
    assert client.sent[-1]["flags"] == 0, "a program that keeps no stamps"


def test_a_seed_begins_as_if_it_had_closed_gaps_before() -> None:
    """The second of three begins at a fraction: below the fraction of its clock a gap has been closed already."""
    it, client = plane(loops=(40, 41))
    it._seed_fields = {5: {"flags": 3}}
    begun = first_fraction_q32(1, 3)
    assert begun > 0
    for loop, fraction in ((0, begun), (1, begun + 1), (2, 0)):
        it.inject_seed(5, b"seed", 1, 3, loop, fraction)
    it.inject_seed(6, b"", 0, 1)
    assert [(sent["port"], sent["window"], sent["value"], sent.get("flags")) for sent in client.sent] == [
        *((0, 0, begun, 3), (40, 1, begun, 3), (41, 0, begun, 3), (0, 0, 0, None)),
    ]


@pytest.mark.parametrize(
    ("layout", "stream", "covers", "flags", "count"),
    [
        ({}, {}, False, 0, 3),
        ({}, {"sizes_in_turn_bytes": (64, 65)}, False, 1, 3),
        ({"in_tunnel": True}, {}, False, 2, 3),
        ({"spoiled": "IPV4"}, {}, False, 4, 3),
        ({}, {"modifiers": (1,) * dataplane.FEWEST_MODIFIERS}, False, 0, 3),
        ({}, {"modifiers": (1,) * (dataplane.FEWEST_MODIFIERS + 1)}, False, 8, 3),
        # Two words of balance follow those of the seed.
        ({}, {"trailer": 12}, False, 8, 5 + 1024),
        ({}, {"trailer": 12}, True, 8, 5 + 1024 + (0xABCD << 16)),
        ({}, {}, True, 0, 3),
    ],
)
def test_what_the_parser_cannot_see_in_a_seed_is_said_beside_it(
    layout: dict[str, Any],
    stream: dict[str, Any],
    covers: bool,
    flags: int,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shape = SimpleNamespace(**{"in_tunnel": False, "spoiled": "", "words": {"own": 3}, **layout})
    monkeypatch.setattr(dataplane, "layout_of", lambda frame: shape)
    monkeypatch.setattr(dataplane, "payload_sums", lambda frame, sizes, payload: [0xABCD, 1])
    it, _ = plane()
    it._contract.check_covers_payload = covers
    frame = SimpleNamespace(trailer_bytes=stream.pop("trailer", 0))
    usual = {"frame": frame, "modifiers": (), "sizes_in_turn_bytes": (), "frame_size_bytes": 64, "payload": None}
    assert it._seed_fields_of(SimpleNamespace(**{**usual, **stream})) == {"flags": flags, "count": count}


def punted(port: int, payload: bytes) -> PacketIn:
    return PacketIn(payload, {"kind": 2, "port": port})


def test_rules_for_frames_to_the_controller_are_those_wanted_last() -> None:
    it, client = plane({2: 7})
    rules = [PuntRule.of(port=2), PuntRule.of(ether_type=5), PuntRule.of(port=1, ether_type=5)]
    matches: list[dict[str, int]] = [{"port": 7}, {"ether_type": 5}, {"port": 1, "ether_type": 5}]
    entries = [("punt", match, "to_controller", 1) for match in matches]
    it.punt(rules[:2])
    it.punt(rules[1:])
    assert client.done == [
        *(("delete", []), ("insert", entries[:2])),
        *(("delete", entries[:1]), ("insert", entries[2:])),
    ]
    with pytest.raises(
        UnsupportedError, match="the ports need 3 rules for frames to the controller, the program has 2"
    ):
        it.punt(rules)


def test_frames_that_the_program_has_counted_are_waited_for() -> None:
    """Three frames are counted, of which one has come by itself; of those on their way one is no punted frame."""
    it, client = plane({2: 7})
    kept: list[PacketIn] = []
    it.faults = SimpleNamespace(keep=kept.append)
    client.packets = [punted(7, b"a")]
    assert it.take_packet_in(0.5) and not it.take_packet_in(0.25)
    assert client.taken == [(1, 0.5), (1, 0.25)]
    client.count("receive_reason", cell(7, "punted"), 2)
    client.count("receive_reason", cell(1, "punted"), 1)
    fault = PacketIn(b"fault", {"kind": 9})
    client.packets = [punted(1, b"b"), fault, punted(7, b"c"), punted(7, b"later")]
    assert it.take_punted((1, 2)) == [(2, b"a"), (1, b"b"), (2, b"c")]
    assert (kept, client.taken[2:]) == ([fault], [(2, None), (1, None)])
    assert it.take_punted((1, 2)) == [], "the next one is not counted yet"
    client.count("receive_reason", cell(7, "punted"), 4)
    assert it.take_packet_in(1) and it.take_handed() == [(2, b"later")] and it.take_handed() == []
    client.packets = [punted(7, b"last")]
    assert it.take_punted((1, 2)) == [(2, b"last")], "what was handed over before is known"
    client.count("receive_reason", cell(7, "punted"), 9)
    assert it.take_punted((1, 2)) == [], "frames that do not come are waited for once"


def test_histograms_count_since_the_plan_was_installed_and_between_extremes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histogram 1 with twice 16 bins is that of the flow of cell 2; its latencies can only be in bins 3 and 4."""
    it, client = plane()
    rows: list[list[int]] = []

    def bins_of(records: Any, finer_bits: int) -> range:
        rows.append([*records.tolist(), finer_bits])
        return range(3, 5)

    monkeypatch.setattr(dataplane, "latency_bins", bins_of)
    monkeypatch.setattr(dataplane, "ipdv_bins", lambda records, finer_bits: range(2))
    monkeypatch.setattr(dataplane, "interarrival_bins", lambda records, finer_bits: range(len(records)))
    of_one: Any = SimpleNamespace(number=1, finer_bits=1, tx_port=4, cells=(2,))
    of_all: Any = SimpleNamespace(number=0, finer_bits=0, tx_port=None, cells=(0, 1))
    records = np.array([10, 11, 12])
    for place, frames in ((32 + 3, 5), (32 + 4, 6), (32 + 5, 99), (3, 1)):
        client.count("latency_histogram", place, frames)
    for place, frames in ((64 + 1, 7), (96 + 0, 8), (96 + 2, 99), (0, 20), (16, 30)):
        client.count("ipdv_histogram", place, frames)
    found = it.histogram_counts([of_one, of_all], records, counts_times=False)
    assert rows == [[12, 1], [10, 11, 12, 0]]
    assert found[1] == Bins([0] * 3 + [5, 6] + [0] * 27, [0, 7] + [0] * 30 + [8] + [0] * 31)
    assert found[0] == Bins([0] * 3 + [1] + [0] * 12, [20] + [0] * 15 + [30] + [0] * 15)
    it._bins_before |= it._bins
    client.count("latency_histogram", 32 + 3, 9)
    client.asked.clear()
    found = it.histogram_counts([of_one], records, counts_times=True)
    assert found[1] == Bins([0] * 3 + [4] + [0] * 28, [0] * 64)
    assert client.asked == [("latency_histogram", [35, 36])]
    times = it.interarrival_counts([of_all, of_one], records)
    # Records of two flows give two bins of histogram 0; one of one flow gives one of histogram 1.
    assert times[0] == InterarrivalBins([0] * 16, [0] * 16)
    assert client.asked[1:] == [("ipdv_histogram", cells) for cells in ([0, 1], [16, 17], [64], [96])]


def test_counted_groups_are_differences_and_read_one_by_one_where_they_are_few() -> None:
    """Three ports with counters of 8 numbers each: up to 6 of the 24 are read by their cells, more as a whole."""
    it, client = plane()

    def plan(*parts: tuple[int, int], ports: int = 2) -> Any:
        counted = [SimpleNamespace(first=first, destinations=(None,) * count) for first, count in parts]
        return SimpleNamespace(counted=counted, counted_ports=tuple(range(1, 1 + ports)))

    assert it.group_counts(plan()) is None
    for place in range(24):
        client.count("group_frames", place, 100 + place)
    found = it.group_counts(plan((1, 1), (5, 2)))
    assert client.asked == [("group_frames", cells) for cells in ([1], [5, 6], [9], [13, 14])]
    assert found.tolist() == [[0, 101, 0, 0, 0, 105, 106, 0], [0, 109, 0, 0, 0, 113, 114, 0], [0] * 8]
    it._group_counts_before = it._group_counts
    client.count("group_frames", 9, 119)
    client.asked.clear()
    found = it.group_counts(plan((1, 2), (5, 2)))
    assert client.asked == [("group_frames", [])]
    assert found.tolist() == [[0, 0, 102, 0, 0, 0, 0, 0], [0, 10, 110, 0, 0, 0, 0, 0], [0] * 8]


def test_only_what_differs_between_two_plans_is_written() -> None:
    it, client = plane()
    it._set_entries({("a", 1): "one", ("b", 2): "two"})
    it._set_entries({("a", 1): "one", ("b", 2): "other", ("c", 3): "three"})
    it._set_entries({("a", 1): "one"})
    assert client.done == [
        *(("delete", []), ("modify", []), ("insert", ["one", "two"])),
        *(("delete", []), ("modify", ["other"]), ("insert", ["three"])),
        *(("delete", ["other", "three"]), ("modify", []), ("insert", [])),
    ]
    client.done.clear()
    it._set_groups({1: ((1, 0),), 2: ((2, 0),)})
    it._set_groups({1: ((1, 0),), 2: ((3, 0),), 4: ((4, 0),)})
    it._set_groups({1: ((1, 0),)})
    assert client.done == [
        *(("delete", []), ("modify", []), ("insert", [(1, ((1, 0),)), (2, ((2, 0),))])),
        *(("delete", []), ("modify", [(2, ((3, 0),))]), ("insert", [(4, ((4, 0),))])),
        *(("delete", [(2, ((3, 0),)), (4, ((4, 0),))]), ("modify", []), ("insert", [])),
    ]


def test_streams_that_were_removed_are_installed_again_once() -> None:
    it, client = plane()
    it._streams = {("stream", number): f"stream {number}" for number in range(3)}
    it._set_entries({**it._streams, ("receiver", 1): "receiver"})
    client.done.clear()
    it.stop_streams([0, 2])
    it.admit_streams([1])
    it.admit_streams([1, 2])
    assert client.done == [
        *(("delete", ["stream 0", "stream 2"]), ("modify", []), ("insert", [])),
        *(("delete", []), ("modify", []), ("insert", ["stream 2"])),
    ]


@pytest.mark.parametrize(("returns", "copies"), [(True, [(100, 0), (7, 21), (1, 22)]), (False, [(7, 21), (1, 22)])])
def test_copies_go_to_ports_of_the_program(returns: bool, copies: list[tuple[int, int]]) -> None:
    it, _ = plane({2: 7})
    it.groups_return_seeds = returns
    stream = SimpleNamespace(transmitters=[SimpleNamespace(port=2, id=21), SimpleNamespace(port=1, id=22)])
    assert list(it._replicas(stream)) == copies
    assert it._reading_group(5) == {9: ((101, 1), (5, 0))}


def test_messages_are_read_and_cleared_with_their_flag() -> None:
    it, _ = plane()
    seen: list[Any] = []
    it._reader = SimpleNamespace(
        passes_per_cell=3,
        clear=lambda cells, wait, **more: seen.append((cells, more)),
        read=lambda wanted, wait, form=None: seen.append((wanted, form and form.flags)),
    )
    for call in (it.clear, it.clear_messages, it.read, it.read_messages):
        call(7, None)
    it.read_some([range(3, 5)], None)
    assert seen == [(7, {}), (7, {"flags": 32}), ([range(7)], None), ([range(7)], 32), ([range(3, 5)], None)]
    assert it.passes_per_cell == 3
