"""Pipeline configs: verify, save, commit, reconcile, cookies, and P4Info that does not fit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.p4runtime_support import DEVICE_ID, JSON, P4INFO, PROGRAMS, Switch, ethernet, ipv4, state, write_everything

from p4mesh.p4runtime import Client, CounterData, MeterConfig, PipelineError, WriteError, load_p4info
from p4mesh.p4runtime.stubs import Entity, p4i, p4r
from p4mesh.p4runtime.wire import delimited


def test_the_config_comes_back_as_it_was_sent(switch: Switch) -> None:
    with Client(switch.address, DEVICE_ID) as client:
        client.set_pipeline(P4INFO, JSON, cookie=0xC00C1E)
        config = client.get_pipeline()
        assert config.p4info == load_p4info(P4INFO)
        assert config.p4_device_config == JSON.read_bytes()
        assert client.get_pipeline_cookie() == 0xC00C1E
        only_cookie = client._get_pipeline("COOKIE_ONLY")
        assert not only_cookie.HasField("p4info") and not only_cookie.p4_device_config
        assert not client._get_pipeline("P4INFO_AND_COOKIE").p4_device_config
        assert not client._get_pipeline("DEVICE_CONFIG_AND_COOKIE").HasField("p4info")
        client.set_pipeline(P4INFO, JSON)
        assert client.get_pipeline_cookie() is None


def test_verify_changes_nothing(switch: Switch) -> None:
    with Client(switch.address, DEVICE_ID) as client:
        client.set_pipeline(P4INFO, JSON, action="VERIFY")
        assert not client.get_pipeline().HasField("p4info")
        client.set_pipeline(P4INFO, JSON)
        client.insert([client.schema.table_entry("forward", {"destination": 1}, "drop")])
        client.set_pipeline(P4INFO, JSON, action="VERIFY")
        assert len(list(client.read(client.schema.table("forward")))) == 1


def test_commit_replays_what_was_written_since_the_save(switch: Switch, client: Client) -> None:
    s = client.schema
    old = s.table_entry("forward", {"destination": 1}, "forward_to", {"port": 1})
    new = s.table_entry("forward", {"destination": 1}, "forward_to", {"port": 2})
    client.insert([old])
    client.set_pipeline(P4INFO, JSON, action="VERIFY_AND_SAVE", cookie=5)
    # Reads and writes are about the saved config, frames still use the old one.
    assert list(client.read(s.table("forward"))) == []
    client.insert([new, s.multicast_group(1, [(1, 1)])])
    assert list(client.read(s.table("forward"))) == [new]
    switch.send(0, ethernet(1))
    switch.run()
    assert [port for port, _ in switch.received()] == [1]
    client.commit_pipeline()
    switch.send(0, ethernet(1))
    switch.run()
    assert [port for port, _ in switch.received()] == [2]
    assert list(client.read(s.table("forward"))) == [new]
    assert list(client.read(s.multicast_group(0))) == [s.multicast_group(1, [(1, 1)])]
    assert client.get_pipeline_cookie() == 5


def test_commit_without_a_saved_config(client: Client) -> None:
    with pytest.raises(Exception, match=r"there is no saved config.*NOT_FOUND"):
        client.commit_pipeline()


def test_a_new_commit_clears_the_forwarding_state(client: Client) -> None:
    client.insert([client.schema.table_entry("forward", {"destination": 1}, "drop")])
    client.set_pipeline(P4INFO, JSON)
    assert list(client.read(client.schema.table("forward"))) == []


def test_reconcile_keeps_the_forwarding_state(client: Client) -> None:
    before = write_everything(client)
    client.set_pipeline(P4INFO, JSON, action="RECONCILE_AND_COMMIT", cookie=9)
    assert state(client) == before
    assert client.get_pipeline_cookie() == 9


def test_reconcile_keeps_what_frames_have_counted(switch: Switch, client: Client) -> None:
    """Goal: counts that no controller could write survive: the other half of counters of one unit, colours, misses."""
    info = load_p4info(P4INFO)
    for counter in (*info.counters, *info.direct_counters):
        counter.spec.unit = p4i.CounterSpec.PACKETS
    client.set_pipeline_config(info, JSON.read_bytes())
    s = client.schema
    key = {"port": 1, "ipv4_valid": 1}
    client.insert(
        [
            s.table_entry("forward", {"destination": 1}, "forward_to", {"port": 1}),
            s.table_entry("acl", key, "count_only", priority=1, meter=MeterConfig(0, 1, 0, 2)),
        ]
    )
    client.modify([s.default_entry("acl", meter=MeterConfig(0, 1, 0, 1)), s.meter("rate", 1, MeterConfig(0, 1, 0, 1))])
    for port in (0, 0, 1, 1, 1):
        switch.send(port, ipv4("10.1.1.1"))
    switch.run()

    def counted() -> list[Entity]:
        wanted = s.table("acl", counters=True, meters=True, marked=True)
        default = s.table("acl", default=True, counters=True, meters=True, marked=True)
        return list(client.read(wanted, default, s.counter("port_counter"), s.meter("rate", marked=True)))

    before = counted()
    (entry, default) = (entity.table_entry for entity in before[:2])
    assert entry.counter_data.packet_count == 3 and entry.counter_data.byte_count > 100
    assert entry.meter_counter_data.red.packet_count == 1 and default.meter_counter_data.red.packet_count == 1
    assert any(entity.counter_entry.data.byte_count for entity in before)
    client.set_pipeline_config(info, JSON.read_bytes(), action="RECONCILE_AND_COMMIT")
    assert counted() == before


def test_reconcile_refuses_a_program_that_cannot_hold_the_state(client: Client) -> None:
    before = write_everything(client)
    info = load_p4info(P4INFO)
    for index, table in enumerate(info.tables):
        if table.preamble.alias == "by_port":
            del info.tables[index]
    with pytest.raises(PipelineError, match="the forwarding state cannot be preserved: action profile"):
        client.set_pipeline_config(info, JSON.read_bytes(), action="RECONCILE_AND_COMMIT")
    assert state(client) == before


def test_parameters_that_the_compiler_removed(switch: Switch, client: Client) -> None:
    """Goal: P4Info may have parameters that the program does not use: they are needed, checked and given back."""
    info = load_p4info(P4INFO)
    action = next(action for action in info.actions if action.preamble.alias == "forward_to")
    action.params[0].id = 2
    action.params.insert(0, p4i.Action.Param(id=1, name="unused", bitwidth=12))
    client.set_pipeline_config(info, JSON.read_bytes())
    s = client.schema
    entry = s.table_entry("forward", {"destination": 1}, "forward_to", {"unused": 0xABC, "port": 2})
    client.insert([entry, s.member("ports", 1, "forward_to", {"unused": 1, "port": 1})])
    assert list(client.read(s.table("forward"))) == [entry]
    (member,) = client.read(Entity(action_profile_member=p4r.ActionProfileMember()))
    assert [param.value for param in member.action_profile_member.action.params] == [b"\1", b"\1"]
    switch.send(0, ethernet(1))
    switch.run()
    assert [port for port, _ in switch.received()] == [2]
    wide = s.table_entry("forward", {"destination": 2}, "forward_to", {"unused": 1, "port": 2})
    wide.table_entry.action.action.params[0].value = b"\x10\x00"
    with pytest.raises(WriteError, match="'unused': 0x1000 does not fit in 12 bits"):
        client.insert([wide])


def test_initial_entries_can_be_changed(switch: Switch) -> None:
    """Goal: entries that the program brings along are entries like others, up to the size in P4Info (section 9.1.5)."""
    info = PROGRAMS / "initial_entries.p4info.txtpb"
    with Client(switch.address, DEVICE_ID) as client:
        client.set_pipeline(info, PROGRAMS / "initial_entries.json")
        s = client.schema

        def ports_of(*kinds: int) -> list[int]:
            for kind in kinds:
                switch.send(0, ethernet(1, kind))
            switch.run()
            return [port for port, _ in switch.received()]

        assert ports_of(0x1111, 0x1122, 0x9999) == [1, 2, 3]
        found = {entity.table_entry.priority: entity for entity in client.read(s.table("by_type"))}
        assert sorted(found) == [1, 2, 3] and not any(entity.table_entry.is_const for entity in found.values())
        found[3].table_entry.action.action.params[0].value = b"\3"
        client.modify([found[3]])
        client.delete([found[2]])
        client.insert([s.table_entry("by_type", {"ether_type": 0x9999}, "forward_to", {"port": 1}, priority=2)])
        assert sorted(ports_of(0x1111, 0x1122, 0x9999)) == [1, 3, 3]
        added = [
            s.table_entry("by_type", {"ether_type": kind}, "forward_to", {"port": 1}, priority=9) for kind in range(2)
        ]
        with pytest.raises(WriteError, match=r"full, its size is 4 \(RESOURCE_EXHAUSTED\)"):
            client.insert(added)
        client.set_pipeline(info, PROGRAMS / "initial_entries.json", action="RECONCILE_AND_COMMIT")
        assert sorted(entity.table_entry.priority for entity in client.read(s.table("by_type"))) == [1, 2, 3, 9]
        # A table whose entries are const stays as it is, even to a P4Info that is older than the flag.
        older = load_p4info(info)
        older.tables[0].has_initial_entries = False
        client.set_pipeline_config(older, (PROGRAMS / "initial_entries.json").read_bytes())
        with pytest.raises(WriteError, match="its entries are const in the program"):
            client.delete([found[2]])


def table(info: p4i.P4Info, alias: str) -> p4i.Table:
    return next(table for table in info.tables if table.preamble.alias == alias)


def change_name(info: p4i.P4Info) -> None:
    table(info, "acl").preamble.name = "Other.acl"


def change_width(info: p4i.P4Info) -> None:
    table(info, "forward").match_fields[0].bitwidth = 47


def change_kind(info: p4i.P4Info) -> None:
    table(info, "forward").match_fields[0].match_type = p4i.MatchField.LPM


def drop_field(info: p4i.P4Info) -> None:
    del table(info, "acl").match_fields[0]


def change_size(info: p4i.P4Info) -> None:
    info.counters[0].size = 513


def change_param(info: p4i.P4Info) -> None:
    next(a for a in info.actions if a.preamble.alias == "forward_to").params[0].bitwidth = 10


def same_id(info: p4i.P4Info) -> None:
    info.counters[0].preamble.id = info.tables[0].preamble.id


def swap_profile(info: p4i.P4Info) -> None:
    table(info, "by_port").implementation_id = 0


def unknown_register(info: p4i.P4Info) -> None:
    info.registers[0].preamble.name = "nothing"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_name, "the program has no table 'Other.acl'"),
        (change_width, "table 'EverythingIngress.forward': key field 'destination' has 47 bits, 48 in the program"),
        (change_kind, "key field 'destination' is matched as lpm, exact in the program"),
        (drop_field, "table 'EverythingIngress.acl': the key has 4 field(s), 5 in the program"),
        (change_size, "counter 'EverythingIngress.port_counter' has 513 cell(s), 512 in the program"),
        (change_param, "action 'EverythingIngress.forward_to': parameter 'port' has 10 bits, 9 in the program"),
        (same_id, "have the same id"),
        (swap_profile, "is implemented by no action profile, by EverythingIngress.ports in the program"),
        (unknown_register, "the program has no register 'nothing', and P4Info has no register 'EverythingIngress."),
    ],
)
def test_p4info_that_does_not_fit_is_refused(
    client: Client, change: Callable[[p4i.P4Info], None], message: str
) -> None:
    info = load_p4info(P4INFO)
    change(info)
    with pytest.raises(PipelineError) as caught:
        client.set_pipeline_config(info, JSON.read_bytes(), action="VERIFY")
    assert "the switch refused the pipeline: P4Info does not fit the program: " in str(caught.value)
    assert message in str(caught.value)


def test_what_the_compiler_removed_is_known_and_refused(client: Client) -> None:
    """p4c removes unused objects from the program; P4Info still has them."""
    info = load_p4info(P4INFO)
    info.counters.add(preamble=p4i.Preamble(id=0x12000001, name="EverythingIngress.unused"), size=4)
    client.set_pipeline_config(info, JSON.read_bytes())
    with pytest.raises(WriteError, match=r"nothing uses it, so the compiler removed it \(FAILED_PRECONDITION\)"):
        client.modify([client.schema.counter("EverythingIngress.unused", 0, CounterData(1, 1))])
    assert list(client.read(client.schema.counter("EverythingIngress.unused"))) == []


@pytest.mark.parametrize(
    ("program", "message"), [(b"", "p4_device_config"), (b"{", "p4_device_config"), (b"\xff", "is not UTF-8 text")]
)
def test_programs_that_are_none_are_refused(client: Client, program: bytes, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        client.set_pipeline_config(load_p4info(P4INFO), program)


def test_the_wrapper_of_older_controllers_is_accepted(client: Client) -> None:
    """``p4.tmp.P4DeviceConfig``: reassign = 1, device_data = 3."""
    wrapped = b"\x08\x01" + delimited(3, JSON.read_bytes())
    client.set_pipeline_config(load_p4info(P4INFO), wrapped)
    client.insert([client.schema.table_entry("forward", {"destination": 1}, "drop")])
    assert client.get_pipeline().p4_device_config == wrapped


def test_a_refused_pipeline_leaves_the_old_one(client: Client) -> None:
    client.insert([client.schema.table_entry("forward", {"destination": 1}, "drop")])
    with pytest.raises(PipelineError):
        client.set_pipeline_config(load_p4info(P4INFO), b"{}")
    assert len(list(client.read(client.schema.table("forward")))) == 1


def test_actions_without_or_with_a_config(client: Client) -> None:
    request = client._pipeline_request("VERIFY_AND_COMMIT")
    with pytest.raises(PipelineError, match="the config is not set"):
        client._send_pipeline(request)
    request.config.p4_device_config = b"{}"
    with pytest.raises(PipelineError, match="the config has no p4info"):
        client._send_pipeline(request)
    request.action = p4r.SetForwardingPipelineConfigRequest.COMMIT
    with pytest.raises(PipelineError, match="COMMIT takes no config"):
        client._send_pipeline(request)
    request.action = p4r.SetForwardingPipelineConfigRequest.UNSPECIFIED
    with pytest.raises(PipelineError, match="action 0 is not valid"):
        client._send_pipeline(request)


def test_files_that_cannot_be_read(client: Client, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("p4") / "x"
    with pytest.raises(PipelineError, match=r"cannot read P4Info .*x: No such file"):
        client.set_pipeline(path, JSON)
    path.write_text("tables { nonsense }")
    with pytest.raises(PipelineError, match="is not P4Info in text format"):
        client.set_pipeline(path, JSON)
    with pytest.raises(PipelineError, match=r"cannot read .*none"):
        client.set_pipeline(P4INFO, path.with_name("none"))


def test_ids_of_another_program_are_refused(client: Client) -> None:
    entry = client.schema.table_entry("forward", {"destination": 1}, "drop")
    entry.table_entry.table_id += 1
    wrong_kind = client.schema.counter("port_counter", 0)
    wrong_kind.counter_entry.counter_id = client.schema.info.tables["acl"].preamble.id
    with pytest.raises(WriteError) as caught:
        client.modify([entry, wrong_kind])
    assert [failure.code for failure in caught.value.failures] == ["INVALID_ARGUMENT"] * 2
