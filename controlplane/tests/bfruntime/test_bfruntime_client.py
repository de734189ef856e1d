"""The BF Runtime client against a strict server: what it writes, what it refuses itself, and what errors say.

Method: fake_bfruntime.py with the bfrt.json of our program; what the client would never send is sent as messages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from support.fake_bfruntime import CpuInterface, FakeBfSwitchd

from p4mesh.bfruntime import (
    BfClient,
    BfConnectError,
    BfRefusedError,
    BfSchemaError,
    BfTimeoutError,
    CpuPort,
    messages,
)
from p4mesh.bfruntime.info import LOWEST_PRIORITY
from p4mesh.bfruntime.ports import PortWatch
from p4mesh.bfruntime.schema import entry_of
from p4mesh.tester.contract import P4SRC

COMPILED = P4SRC / "compiled"
P4INFO, PROGRAM = COMPILED / "p4mesh.tofino1.p4info.txtpb", COMPILED / "p4mesh.tofino1.bfrt.json"
FRAMES = "cells.frames_cells"
STREAM = {
    "interval_ticks": 10,
    "interval_fraction_q32": 0,
    "departure_count": 1,
    "start_offset_ticks": 0,
    "last_slot": 0,
    "burst_slots": 1,
    "multicast_group": 2,
    "queue": 0,
}


@pytest.fixture
def switchd() -> Iterator[FakeBfSwitchd]:
    with FakeBfSwitchd(lambda *_: [], PROGRAM.read_bytes()) as switch:
        yield switch


@pytest.fixture
def client(switchd: FakeBfSwitchd) -> Iterator[BfClient]:
    with CpuPort(CpuInterface(switchd)) as cpu, BfClient(switchd.address, "p4mesh", cpu) as connected:
        connected.set_pipeline(P4INFO, PROGRAM)
        yield connected


def test_entries_are_inserted_changed_and_removed(client: BfClient, switchd: FakeBfSwitchd) -> None:
    def stream(ticks: int) -> Any:
        return client.schema.table_entry("stream", {"stream": 3}, "set_stream", STREAM | {"interval_ticks": ticks})

    client.insert([stream(10)])
    assert switchd.tables["stream"][3]["interval_ticks"] == 10
    client.modify([stream(11)])
    assert switchd.tables["stream"][3]["interval_ticks"] == 11
    assert stream(11) == stream(11) != stream(12)
    client.delete([stream(11)])
    assert not switchd.tables["stream"]


def test_the_larger_priority_wins_although_bf_runtime_counts_downwards(
    client: BfClient, switchd: FakeBfSwitchd
) -> None:
    def receiver(mask: int, tag: int, priority: int) -> Any:
        return client.schema.table_entry(
            "receiver",
            {"port": 4, "destination_mac": (0x0200_0000_0000 & mask, mask)},
            "expected",
            {"flow_offset": 0, "receiver_tag": tag},
            priority=priority,
        )

    client.insert([receiver(0xFF00_0000_0000, 1, 8), receiver(0xFFFF_FFFF_FFFF, 2, 48)])
    ranks = {entry["receiver_tag"]: entry["rank"] for entry in switchd.tables["receiver"].values()}
    assert ranks == {1: 8 - LOWEST_PRIORITY, 2: 48 - LOWEST_PRIORITY}


def test_a_group_is_made_of_nodes_that_come_and_go_with_it(client: BfClient, switchd: FakeBfSwitchd) -> None:
    group = client.schema.multicast_group
    client.insert([group(7, [(68, 0), (4, 12)])])
    assert switchd.groups[7] == [(68, 0), (4, 12)]
    for members in ([(68, 0), (4, 12), (128, 13)], [(68, 0)]):
        client.modify([group(7, members)])
        assert switchd.groups[7] == members
        assert len(client.read_all("$pre.node")) == len(members)
    client.delete([group(7)])
    assert not switchd.groups and not client.read_all("$pre.node")


def test_registers_are_read_of_every_pipe_as_last_synchronised(client: BfClient, switchd: FakeBfSwitchd) -> None:
    switchd.cells[0, "frames", 2] = 5 << 32 | 6
    switchd.cells[1, "frames", 3] = 7
    assert client.read_registers(FRAMES, [2, 3])["low"].tolist() == [[0, 0], [0, 0]], "nothing was fetched yet"
    client.sync([FRAMES])
    found = client.read_registers(FRAMES, [2, 3])
    assert found["low"].tolist() == [[6, 0], [0, 7]]
    assert found["high"].tolist() == [[5, 0], [0, 0]]
    client.reset([FRAMES])
    client.sync([FRAMES])
    assert not client.read_registers(FRAMES, [2, 3])["low"].any()


def test_counters_are_added_up_by_the_server_and_synchronised_first(client: BfClient, switchd: FakeBfSwitchd) -> None:
    switchd.counters["receive_reason", 33] = 12
    ((cell, data),) = client.read_counters("receive_reason", [33])
    assert (cell, data.packets) == (33, 12)
    read = client.packet_counts({"transmit_reason": [1], "receive_reason": [34, 33]})
    assert read() == [0, 0, 12]
    switchd.counters["transmit_reason", 1] = 5
    assert read() == [5, 0, 12]
    packets, _ = client.read_counter_array("receive_reason")
    assert (packets[33], sum(packets), len(packets)) == (12, 12, client.bfrt.table("receive_reason").size)


def test_registers_are_read_after_they_were_fetched_however_long_that_takes(
    client: BfClient, switchd: FakeBfSwitchd
) -> None:
    switchd.operations.duration_s, switchd.operations.wait_s = 0.3, 0.01
    switchd.cells[0, "frames", 2] = 6
    client.sync([FRAMES])
    assert client.read_registers(FRAMES, [2])["low"].tolist() == [[6], [0]]


def test_whole_tables_are_each_a_request_with_a_time_of_its_own(client: BfClient, switchd: FakeBfSwitchd) -> None:
    switchd.whole_tables.clear()
    client.clear()
    client.sync([FRAMES, "receive_reason", "cells.window_cells"])
    assert sum(switchd.whole_tables) > 30
    assert max(switchd.whole_tables) == 1


def test_an_operation_that_does_not_end_in_time_is_an_error_and_never_taken_for_a_later_one(
    switchd: FakeBfSwitchd,
) -> None:
    with (
        CpuPort(CpuInterface(switchd)) as cpu,
        BfClient(switchd.address, "p4mesh", cpu) as client,
    ):
        client.set_pipeline(P4INFO, PROGRAM)
        client.request_timeout_s = 0.2
        client.reconnect()
        switchd.operations.may_end.clear()
        with pytest.raises(BfTimeoutError) as caught:
            client.sync([FRAMES])
        assert str(caught.value) == (
            "cannot write (synchronise) pipe.TesterIngress.flow_measurement.cells.frames_cells: "
            f"the BF Runtime server at {switchd.address} has not answered within 0.2 s"
        )
        assert caught.value.hint is not None and "tester.tofino.request_timeout_s" in caught.value.hint
        assert not client.is_connected, "the server would take the end of this operation for that of the next"
        client.request_timeout_s = 30.0
        client.reconnect()
        switchd.operations.may_end.set()
        assert switchd.operations.all_have_ended(10)
        client.set_pipeline(P4INFO, PROGRAM)
        switchd.cells[0, "frames", 2] = 6
        switchd.operations.duration_s = 0.3
        client.sync([FRAMES])
        assert client.read_registers(FRAMES, [2])["low"].tolist() == [[6], [0]]


def test_more_elements_than_a_request_has_room_for_go_in_several(client: BfClient, switchd: FakeBfSwitchd) -> None:
    entries = [
        client.schema.table_entry("modifier_a.list_value", {"entry": n}, "modifier_a.set_value", {"addend": n})
        for n in range(2500)
    ]
    client.insert(entries)
    assert len(switchd.tables["list_value"]) == 2500
    with pytest.raises(BfRefusedError) as caught:
        client.insert(entries[:3])
    assert str(caught.value) == (
        "cannot write (insert) pipe.TesterEgress.transmission.modifier_a.list_value: "
        "Table Add failed table:pipe.TesterEgress.transmission.modifier_a.list_value (ALREADY_EXISTS); 3 of 3 failed"
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: s.table_entry("streams_of_light"), "no table named 'streams_of_light'"),
        (lambda s: s.table_entry("modifier", {}), "table 'modifier' is one of 2"),
        (lambda s: s.table_entry("stream", {"flow": 1}, "set_stream", STREAM), "has no key field 'flow'"),
        (lambda s: s.table_entry("stream", {}, "set_stream", STREAM), "key field 'stream' is matched as exact"),
        (lambda s: s.table_entry("stream", {"stream": 256}, "set_stream", STREAM), "0x100 does not fit in 8 bits"),
        (lambda s: s.table_entry("stream", {"stream": 1}, "expected", {}), "action named 'expected'"),
        (lambda s: s.table_entry("stream", {"stream": 1}, "set_stream", {}), "parameter 'interval_ticks' is missing"),
        (
            lambda s: s.table_entry("stream", {"stream": 1}, "set_stream", STREAM | {"colour": 1}),
            "has no parameter 'colour'",
        ),
    ],
)
def test_names_and_values_that_the_program_has_not_are_refused_before_anything_is_sent(
    client: BfClient, build: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(BfSchemaError) as caught:
        build(client.schema)
    assert message in str(caught.value)


def broken(client: BfClient, change: Callable[[Any], object]) -> Any:
    """The update of a good entry of table ``stream`` after a change."""
    entry = client.schema.table_entry("stream", {"stream": 1}, "set_stream", STREAM)
    update = messages.Update(type=messages.INSERT)
    update.entity.table_entry.CopyFrom(entry.message)
    change(update)
    return update


def _entry(update: Any) -> Any:
    return update.entity.table_entry


FAULTS: dict[str, Callable[[Any], object]] = {
    "unknown table": lambda u: setattr(_entry(u), "table_id", 5),
    "unknown key field": lambda u: setattr(_entry(u).key.fields[0], "field_id", 9),
    "key of another length": lambda u: setattr(_entry(u).key.fields[0].exact, "value", b"\0\1"),
    "key matched in another way": lambda u: setattr(_entry(u).key.fields[0].ternary, "mask", b"\1"),
    "no key": lambda u: _entry(u).ClearField("key"),
    "unknown action": lambda u: setattr(_entry(u).data, "action_id", 9),
    "action for default entries only": lambda u: setattr(_entry(u).data, "action_id", 21257015),
    "unknown data field": lambda u: setattr(_entry(u).data.fields[0], "field_id", 99),
    "missing data field": lambda u: _entry(u).data.fields.pop(),
    "data of another length": lambda u: setattr(_entry(u).data.fields[0], "stream", b"\1"),
    "data of another type": lambda u: setattr(_entry(u).data.fields[0], "bool_val", True),
    "data beyond its width": lambda u: setattr(_entry(u).data.fields[7], "stream", b"\x08"),
    "entry that is not there": lambda u: setattr(u, "type", messages.MODIFY),
    "unspecified update": lambda u: setattr(u, "type", 0),
    "default entry with a key": lambda u: setattr(_entry(u), "is_default_entry", True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_fake_is_as_strict_as_a_switch(client: BfClient, switchd: FakeBfSwitchd, fault: str) -> None:
    client._write([("insert", "a good entry", broken(client, lambda update: None))])
    assert set(switchd.tables["stream"]) == {1}
    switchd.tables["stream"].clear()
    client.clear()
    with pytest.raises(BfRefusedError):
        client._write([("insert", "a bad entry", broken(client, FAULTS[fault]))])
    assert not switchd.tables["stream"]


def test_a_read_that_the_switch_refuses_names_the_table(client: BfClient) -> None:
    table = client.bfrt.table("$PORT_STAT")
    with pytest.raises(BfRefusedError, match=r"^cannot read \$PORT_STAT: Entry not found in table:\$PORT_STAT"):
        client.read([entry_of(table, {"$DEV_PORT": 8}, None, {})])


def test_an_operation_that_a_table_has_not_is_refused(client: BfClient) -> None:
    with pytest.raises(BfRefusedError, match="Operation not supported"):
        client.sync(["stream"])


def test_a_client_that_is_not_bound_can_do_nothing(switchd: FakeBfSwitchd, client: BfClient) -> None:
    with grpc.insecure_channel(switchd.address) as channel:
        write = channel.unary_unary(
            f"{messages.SERVICE}Write", messages.WriteRequest.SerializeToString, messages.WriteResponse.FromString
        )
        with pytest.raises(grpc.RpcError, match="bound to no program"):
            write(messages.WriteRequest(client_id=5))


def test_a_server_that_goes_away_is_noticed_and_met_again() -> None:
    program = PROGRAM.read_bytes()
    with (
        FakeBfSwitchd(lambda *_: [], program) as first,
        FakeBfSwitchd(lambda *_: [], program) as second,
        CpuPort(CpuInterface(first)) as cpu,
        BfClient(first.address, "p4mesh", cpu, timeout_s=5) as client,
    ):
        client.set_pipeline(P4INFO, PROGRAM)
        first.stop()
        end = time.monotonic() + 5
        while client.is_connected and time.monotonic() < end:
            time.sleep(0.01)
        assert not client.is_connected
        with pytest.raises(BfConnectError, match="does not answer"):
            client.sync([FRAMES])
        client.address = second.address
        client.reconnect()
        client.set_pipeline(P4INFO, PROGRAM)
        client.sync([FRAMES])


def test_a_loss_of_link_is_counted_once_however_it_is_noticed() -> None:
    watch = PortWatch()
    for up in (True, True, False, False, True, False):
        watch.on_port(4, up)
    state = watch.states([4])[4]
    assert (state.up, state.losses) == (False, 2)
