"""Names by their ends in the client, and what a topology file has for Linux devices, as P4Runtime takes it."""

from __future__ import annotations

from typing import Any

import pytest

from p4mesh.errors import TopologyError
from p4mesh.network.nodes.p4_entries import member, member_group, table_entry
from p4mesh.p4runtime import Client
from p4mesh.p4runtime.errors import SchemaError
from p4mesh.p4runtime.info import full_name
from p4mesh.p4runtime.stubs import Entity

KEYS = ("hdr.ethernet.dst", "hdr.ipv4.dst", "port")


@pytest.mark.parametrize(
    ("asked", "full"), [("ipv4.dst", "hdr.ipv4.dst"), ("hdr.ethernet.dst", "hdr.ethernet.dst"), ("port", "port")]
)
def test_a_single_end_or_a_full_name_stands_for_a_name(asked: str, full: str) -> None:
    assert full_name(KEYS, asked, "key", "table t") == full


@pytest.mark.parametrize(
    ("asked", "problem", "valid"),
    [
        ("dst", "'dst' is the end of more than one key of table t", "hdr.ethernet.dst, hdr.ipv4.dst"),
        ("ort", "table t has no key 'ort'", "ethernet.dst, ipv4.dst, port"),
        ("4.dst", "table t has no key '4.dst'", "ethernet.dst, ipv4.dst, port"),
    ],
)
def test_other_names_are_refused_with_the_choices(asked: str, problem: str, valid: str) -> None:
    with pytest.raises(SchemaError) as caught:
        full_name(KEYS, asked, "key", "table t")
    assert (caught.value.message, caught.value.hint) == (problem, f"valid: {valid}")


def written(client: Client, *entities: Entity) -> list[str]:
    client.insert(entities)
    found = client.read(client.schema.table("ecmp"))
    return [str(entity.table_entry.action.WhichOneof("type")) for entity in found]


def route(client: Client, network: int, **leads_to: Any) -> Entity:
    prefix = {"value": f"10.0.{network}.0", "prefix_bits": 24}
    return table_entry(client, {"table": "ecmp", "key": {"destination": prefix}, **leads_to})


def test_members_groups_and_actions_of_a_topology_are_written(client: Client) -> None:
    """A table has members and groups of the file, or sets of one action."""
    members = [
        member(client, {"profile": "next_hops", "member": 1, "action": "forward_to", "params": [1]}),
        member(client, {"profile": "next_hops", "member": 2, "action": "forward_to", "params": [2]}),
        member_group(client, {"profile": "next_hops", "group": 7, "members": [1, 2]}),
    ]
    led = [route(client, 1, member=1), route(client, 2, group=7)]
    assert written(client, *members, *led) == ["action_profile_member_id", "action_profile_group_id"]


def test_an_action_in_a_table_of_a_selector_is_a_set_of_one(client: Client) -> None:
    own = route(client, 3, action="forward_to", params=[2])
    assert written(client, own) == ["action_profile_action_set"]


def test_parameters_that_are_missing_are_named(client: Client) -> None:
    with pytest.raises(TopologyError, match="entry of table ecmp: 0 parameters for action forward_to"):
        table_entry(client, {"table": "ecmp", "key": {}, "action": "forward_to"})
