"""Entries of P4 programs of other people: keys without ``@name``, names by their ends, members and groups."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from p4mesh.errors import TopologyError
from p4mesh.tester.stations import station
from p4mesh.topology import Topology
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

ENGINE = Path(__file__).parents[3] / "engine"
ROUTER = ENGINE / "pipeline/tests/programs/router.json"
"""A router of a tutorial's kind: it answers no ARP, and writes the MAC addresses that its entries have."""
MATCHING = ENGINE / "pipeline/tests/programs/matching.json"
HEAD = """
name: names
tester: {{ports: [{{numbers: 1-2, rate_bps: 1000000000{port}}}]}}
nodes:
  - name: dut
    device: p4
    program: {program}
    ports: [{{numbers: 1-2, rate_bps: 1000000000}}]
    latency_ns: 700
{keys}
links: [{{from: "tester:1-2", to: "dut:1-2"}}]
"""


def device(program: Path, keys: list[str], port: str = "") -> Topology:
    indented = "\n".join(f"    {key}" for key in keys)
    return parse_topology("names.yaml", HEAD.format(program=program, keys=indented, port=port))


def routes(table: str, key: str, next_key: str, action: str) -> list[str]:
    lines = ["entries:"]
    for port in (1, 2):
        prefix = f"{{value: 198.18.{port}.0, prefix_bits: 24}}"
        mac = station(port).mac.hex(":")
        lines.append(f"  - {{table: {table}, key: {{{key}: {prefix}}}, action: set_next_hop, params: [{port}]}}")
        lines.append(
            f'  - {{table: next_hops, key: {{{next_key}: {port}}}, action: {action}, params: [{port}, "{mac}"]}}'
        )
    return lines


def routed(topology: Topology) -> TrialResult:
    stream = Stream("s", 128, Fraction(10_000), 50, Pairs(), (1, 2), (2, 1), routed=True)
    with open_measurer(topology) as measurer:
        return measurer.measure(TrialSpec("t", (stream,), 5_000_000, Learning(enabled=False)))


@pytest.mark.parametrize(
    ("table", "key", "next_key", "action"),
    [
        ("routes", "dst", "next_hop", "forward"),
        ("In.routes", "ipv4.dst", "meta.next_hop", "In.forward"),
        ("routes", "hdr.ipv4.dst", "next_hop", "forward"),
    ],
)
def test_a_router_without_arp_is_measured_by_every_spelling(table: str, key: str, next_key: str, action: str) -> None:
    entries = routes(table, key, next_key, action)
    result = routed(device(ROUTER, entries, ', router_mac: "02:00:00:00:00:fe"'))
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert (result.rx_frames, result.lost_frames) == (100, 0)
    assert result.latency is not None
    # The frame is stored, then 700 ns.
    assert result.latency.min_ns == pytest.approx(8 * 128 + 700, abs=2)


@pytest.mark.parametrize("lost", [0, 100])
def test_stations_have_the_macs_that_the_entries_of_a_silent_router_have(lost: int) -> None:
    entries = [
        line.replace(station(port).mac.hex(":"), f"02:00:00:00:0b:0{port}")
        for line in routes("routes", "dst", "next_hop", "forward")
        for port in (1 if station(1).mac.hex(":") in line else 2,)
    ]
    macs = "" if lost else ', station_mac: "02:00:00:00:0b:01,02:00:00:00:0b:02"'
    result = routed(device(ROUTER, entries, f', router_mac: "02:00:00:00:00:fe"{macs}'))
    assert (result.tx_frames, result.lost_frames) == (100, lost)


def test_without_its_address_the_silent_router_is_named() -> None:
    result = routed(device(ROUTER, routes("routes", "dst", "next_hop", "forward")))
    assert result.status is Verdict.INVALID
    assert result.reason.startswith("no router answers for 198.18.1.1 on port 1")


def entry(table: str, key: str, rest: str = "action: set, params: [7]", more: tuple[str, ...] = ()) -> list[str]:
    return [*more, f"entries: [{{table: {table}, key: {{{key}}}, {rest}}}]"]


@pytest.mark.parametrize(
    "keys",
    [
        entry("ternary_table", "b: 1"),
        entry("ternary_table", "a: 9, b: 1", "priority: 3, action: In.set, params: [7]"),
        entry("range_table", "request.c: {value: 1, mask: 1}"),
        entry("range_table", "a: 4"),
        entry("selector_table", "a: 1"),
    ],
)
def test_fields_that_match_anything_may_be_left_out_and_a_value_alone_is_an_exact_match(keys: list[str]) -> None:
    device(MATCHING, keys)


MEMBERS = (
    "members: [{profile: selector, member: 1, action: set, params: [5]}, {profile: In.selector, member: 2,"
    " action: In.set, params: [6]}, {profile: profile, member: 1, action: set, params: [5]}]",
    "member_groups: [{profile: selector, group: 4, members: [1, 2]}]",
)


@pytest.mark.parametrize(
    "keys",
    [
        entry("selector_table", "a: 1", "group: 4", MEMBERS),
        entry("selector_table", "a: 1", "member: 2", MEMBERS),
        entry("profile_table", "a: 1", "member: 1", MEMBERS),
    ],
)
def test_entries_lead_to_members_and_groups(keys: list[str]) -> None:
    device(MATCHING, keys)


def test_an_entry_with_a_member_of_its_own_is_exchanged_and_deleted_by_events() -> None:
    """A profile has room for some members: each goes with its entry."""
    change = "{table: selector_table, key: {a: 1}, action: set, params: [8]}"
    gone = "{table: selector_table, key: {a: 1}}"
    events = [
        "events:",
        *(f"  - {{at_s: {at}, delete: [{gone}], insert: [{change}], modify: [{change}]}}" for at in range(1, 60)),
    ]
    device(MATCHING, [*entry("selector_table", "a: 1"), *events])


@pytest.mark.parametrize(
    ("keys", "message", "valid"),
    [
        (entry("ternary_table", "c: 1"), "key: no key 'c' in table ternary_table", "a, b"),
        (entry("ternary_table", "a: 1"), "key 'b' of table ternary_table is matched as exact and missing", "a number"),
        (entry("table", "a: 1"), "table: no table 'table' in the program", "selector_table"),
        (entry("range_table", "a: 1, request.a: 2"), "'a' and 'request.a' are the same key", "each key once"),
        (
            entry("ternary_table", "b: 1", "action: sett"),
            "action: no action 'sett' in table ternary_table",
            "set, stop",
        ),
        (entry("ternary_table", "b: 1", "member: 1"), "its entries name an action", "an entry"),
        (entry("selector_table", "a: 1", "member: 1"), "member 1", "an entry"),
        (entry("profile_table", "a: 1"), "action: action profile In.profile has no selector", "member, with members"),
        (entry("selector_table", "a: 1", more=MEMBERS), "In.selector has members of the file", "member, with members"),
        (
            entry("selector_table", "a: 1", "member: 1, group: 1"),
            "needs an action, a member or a group",
            "member, or group",
        ),
        (entry("selector_table", "a: 1", "priority: 0"), "an action, a member or a group", "member, or group"),
        (
            ["members: [{profile: x, member: 1, action: set}]"],
            "no action profile 'x' in the program",
            "profile, selector",
        ),
        (
            ["member_groups: [{profile: selector, group: 1, members: [3]}]"],
            "member 3",
            "a group of a selector once, with members of it",
        ),
    ],
)
def test_names_that_are_none_are_refused_with_the_choices(keys: list[str], message: str, valid: str) -> None:
    with pytest.raises(TopologyError) as caught:
        device(MATCHING, keys)
    assert message in caught.value.message
    assert valid in str(caught.value.hint)


def test_an_end_of_two_keys_is_refused_with_their_full_names(tmp_path: Path) -> None:
    place = tmp_path / "twins.json"
    place.write_text(MATCHING.read_text().replace('"name" : "hdr.request.c"', '"name" : "hdr.answer.a"'))
    json.loads(place.read_text())
    with pytest.raises(TopologyError) as caught:
        device(place, entry("range_table", "a: 1"))
    assert "'a' is the end of more than one key of table range_table" in caught.value.message
    assert caught.value.hint == "valid: hdr.request.a, hdr.answer.a"
    device(place, entry("range_table", "request.a: 1, hdr.answer.a: {value: 1, mask: 1}"))
