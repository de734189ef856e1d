"""Action profiles: members, groups, weights, and one-shot programming."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from support.p4runtime_published import published
from support.p4runtime_support import JSON, P4INFO, Switch, ethernet, ipv4

from p4mesh.p4runtime import Client, WriteError, load_p4info
from p4mesh.p4runtime.stubs import Entity, p4r


def codes(caught: pytest.ExceptionInfo[WriteError]) -> list[str]:
    return [failure.code for failure in caught.value.failures]


def all_members(client: Client) -> list[Entity]:
    return list(client.read(Entity(action_profile_member=p4r.ActionProfileMember())))


def all_groups(client: Client) -> list[Entity]:
    return list(client.read(Entity(action_profile_group=p4r.ActionProfileGroup())))


def test_an_entry_leads_to_a_member(switch: Switch, client: Client) -> None:
    s = client.schema
    member = s.member("ports", 4, "forward_to", {"port": 2})
    client.insert([member, s.table_entry("by_port", {"port": 0}, member=4)])
    switch.send(0, ethernet(1))
    switch.run()
    assert [port for port, _ in switch.received()] == [2]
    client.modify([s.member("ports", 4, "forward_to", {"port": 3})])
    switch.send(0, ethernet(1))
    switch.run()
    assert [port for port, _ in switch.received()] == [3]
    assert list(client.read(s.table("by_port"))) == [s.table_entry("by_port", {"port": 0}, member=4)]
    assert all_members(client) == [s.member("ports", 4, "forward_to", {"port": 3})]


def test_a_member_in_use_cannot_be_deleted(client: Client) -> None:
    s = client.schema
    client.insert([s.member("ports", 4, "drop"), s.table_entry("by_port", {"port": 0}, member=4)])
    with pytest.raises(WriteError) as caught:
        client.delete([s.member("ports", 4)])
    assert codes(caught) == ["FAILED_PRECONDITION"]
    client.delete([s.table_entry("by_port", {"port": 0}), s.member("ports", 4)])
    assert all_members(client) == []


def test_a_group_spreads_frames_over_its_members(switch: Switch, client: Client) -> None:
    s = client.schema
    client.insert([s.member("next_hops", i, "forward_to", {"port": i}) for i in (1, 2, 3)])
    group = s.group("next_hops", 9, {1: 1, 2: 1, 3: 2}, max_size=8)
    client.insert([group, s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, group=9)])
    for number in range(200):
        switch.send(0, ipv4("10.1.2.3", identification=number * 7919 % 65536))
    switch.run(1000)
    ports = Counter(port for port, _ in switch.received())
    assert set(ports) == {1, 2, 3} and sum(ports.values()) == 200
    assert ports[3] > max(ports[1], ports[2])
    assert all_groups(client) == [group]
    client.modify([s.group("next_hops", 9, {2: 1}, max_size=8)])
    switch.send(0, ipv4("10.1.2.3"))
    switch.run()
    assert [port for port, _ in switch.received()] == [2]


def test_members_leave_with_their_link_and_come_back_to_their_place(switch: Switch, client: Client) -> None:
    """Goal: a group goes round a port whose link is down, and every flow is where it was when it is up again."""
    s = client.schema
    client.insert([s.member("next_hops", i, "forward_to", {"port": i}) for i in (1, 2, 3)])
    group = s.group("next_hops", 9, {1: 2, 2: 2, 3: 2}, max_size=8)
    for member in group.action_profile_group.members:
        member.watch_port = bytes([member.member_id])
    client.insert([group, s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, group=9)])

    def ports_of_flows() -> list[int]:
        found = []
        for number in range(60):
            switch.send(0, ipv4("10.1.2.3", identification=number * 7919 % 65536))
            switch.run(10)
            found += [port for port, _ in switch.received()] or [0]
        return found

    def until(seen: Callable[[list[int]], bool]) -> None:
        # The server hears of links while time goes on, perhaps in the middle of a round: judge whole rounds.
        for _ in range(200):
            ports = ports_of_flows()
            if seen(ports):
                return
        raise AssertionError(ports)

    before = ports_of_flows()
    assert set(before) == {1, 2, 3}
    switch.network.set_link("tester", 2, False)
    until(lambda ports: set(ports) == {1, 3})
    assert all_groups(client) == [group]
    with pytest.raises(WriteError, match=r"it is in group 9"):
        client.delete([s.member("next_hops", 2)])
    switch.network.set_link("tester", 2, True)
    until(lambda ports: ports == before)


def test_rules_of_groups(client: Client) -> None:
    s = client.schema
    client.insert([s.member("next_hops", 1, "forward_to", {"port": 1}), s.group("next_hops", 1, {1: 1}, max_size=4)])
    refused = {
        "unknown member": (s.group("next_hops", 2, {5: 1}, max_size=4), "NOT_FOUND"),
        "no weight": (s.group("next_hops", 2, {1: 0}, max_size=4), "INVALID_ARGUMENT"),
        "above max_size": (s.group("next_hops", 2, {1: 5}, max_size=4), "RESOURCE_EXHAUSTED"),
        "max_size above P4Info": (s.group("next_hops", 2, {1: 1}, max_size=9), "INVALID_ARGUMENT"),
        "exists": (s.group("next_hops", 1, {1: 1}, max_size=4), "ALREADY_EXISTS"),
        "no selector": (s.group("ports", 1, {1: 1}), "INVALID_ARGUMENT"),
        "id 0": (s.group("next_hops", 0, {1: 1}), "INVALID_ARGUMENT"),
    }
    with pytest.raises(WriteError) as caught:
        client.insert([entity for entity, _ in refused.values()])
    assert codes(caught) == [code for _, code in refused.values()]
    with pytest.raises(WriteError) as caught:
        client.modify([s.group("next_hops", 1, {1: 1}, max_size=5), s.group("next_hops", 7, {1: 1})])
    assert codes(caught) == ["INVALID_ARGUMENT", "NOT_FOUND"]


def test_one_shot_entries_come_back_as_written(switch: Switch, client: Client) -> None:
    s = client.schema
    choices = [("forward_to", {"port": 1}, 1), ("forward_to", {"port": 2}, 1), ("forward_to", {"port": 1}, 2)]
    entry = s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, action_set=choices)
    client.insert([entry])
    assert list(client.read(s.table("ecmp"))) == [entry]
    assert all_members(client) == [] and all_groups(client) == []
    for number in range(50):
        switch.send(0, ipv4("10.1.2.3", identification=number * 7919 % 65536))
    switch.run(1000)
    assert {port for port, _ in switch.received()} == {1, 2}
    other = s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, action_set=[("forward_to", {"port": 3}, 1)])
    client.modify([other])
    switch.send(0, ipv4("10.1.2.3"))
    switch.run()
    assert [port for port, _ in switch.received()] == [3]
    client.delete([entry])
    assert list(client.read(s.table("ecmp"))) == []
    # Nothing is left behind: members and groups can be made now.
    client.insert([s.member("next_hops", 1, "forward_to", {"port": 1})])


def test_one_shots_and_groups_do_not_mix(client: Client) -> None:
    s = client.schema
    one_shot = s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, action_set=[("forward_to", {"port": 3}, 1)])
    member = s.member("next_hops", 1, "forward_to", {"port": 1})
    client.insert([one_shot])
    with pytest.raises(WriteError, match="cannot be mixed"):
        client.insert([member])
    client.delete([one_shot])
    client.insert([member])
    with pytest.raises(WriteError, match="cannot be mixed"):
        client.insert([one_shot])


def test_a_failed_one_shot_leaves_nothing(client: Client) -> None:
    s = client.schema
    one_shot = s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, action_set=[("forward_to", {"port": 3}, 1)])
    client.insert([one_shot])
    with pytest.raises(WriteError) as caught:
        client.insert([one_shot])
    assert codes(caught) == ["ALREADY_EXISTS"]
    client.delete([one_shot])
    client.insert([s.member("next_hops", 1, "forward_to", {"port": 1})])


def test_an_action_set_may_say_what_its_selector_does_anyway(client: Client) -> None:
    """Section 9.2.3: the combination that the default stands for is supported, others need not be."""
    s = client.schema
    entry = s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, action_set=[("forward_to", {"port": 3}, 1)])
    known = entry.table_entry.action.action_profile_action_set
    choice = published(known)
    for mode, size in (("RANDOM", "SUM_OF_WEIGHTS"), ("HASH", "SUM_OF_MEMBERS")):
        choice.action_selection_mode = choice.ActionSelectionMode.Value(mode)
        choice.size_semantics = choice.SizeSemantics.Value(size)
        known.ParseFromString(choice.SerializeToString())
        with pytest.raises(WriteError) as caught:
            client.insert([entry])
        assert codes(caught) == ["UNIMPLEMENTED"]
    choice.action_selection_mode, choice.size_semantics = choice.HASH, choice.SUM_OF_WEIGHTS
    known.ParseFromString(choice.SerializeToString())
    client.insert([entry])
    assert list(client.read(s.table("ecmp"))) == [entry]


def test_members_without_weights(switch: Switch, client: Client) -> None:
    """Section 9.2.2: where P4Info disallows weights, 0 is the only one, and every member counts alike."""
    info = load_p4info(P4INFO)
    for profile in info.action_profiles:
        newer = published(profile)
        newer.weights_disallowed = newer.with_selector
        profile.ParseFromString(newer.SerializeToString())
    client.set_pipeline_config(info, JSON.read_bytes())
    s = client.schema
    client.insert([s.member("next_hops", i, "forward_to", {"port": i}) for i in (1, 2)])
    with pytest.raises(WriteError) as caught:
        client.insert([s.group("next_hops", 9, {1: 1, 2: 0}, max_size=8)])
    assert codes(caught) == ["INVALID_ARGUMENT"]
    group = s.group("next_hops", 9, {1: 0, 2: 0}, max_size=8)
    client.insert([group, s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, group=9)])
    assert all_groups(client) == [group]
    for number in range(100):
        switch.send(0, ipv4("10.1.2.3", identification=number * 7919 % 65536))
    switch.run(1000)
    ports = Counter(port for port, _ in switch.received())
    assert set(ports) == {1, 2} and min(ports.values()) > 25
    client.delete([s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, group=9), group])
    client.delete([s.member("next_hops", i) for i in (1, 2)])
    entry = s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, action_set=[("forward_to", {"port": 3}, 0)])
    client.insert([entry])
    assert list(client.read(s.table("ecmp"))) == [entry]
