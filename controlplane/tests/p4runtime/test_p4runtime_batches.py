"""Write batches: order, atomicity, the errors of each update, and large batches."""

from __future__ import annotations

import pytest
from support.p4runtime_support import Switch, ethernet, state, write_everything

from p4mesh.p4runtime import Client, CounterData, MeterConfig, WriteError
from p4mesh.p4runtime.stubs import Entity, p4r


def test_every_update_of_a_batch_is_tried(client: Client) -> None:
    s = client.schema
    good = [s.table_entry("forward", {"destination": i}, "drop") for i in range(3)]
    with pytest.raises(WriteError) as caught:
        client.insert([good[0], good[0], good[1], s.table_entry("route", {}), good[2]])
    assert [(f.index, f.code) for f in caught.value.failures] == [(1, "ALREADY_EXISTS"), (3, "INVALID_ARGUMENT")]
    assert str(caught.value) == (
        "cannot write table forward [destination=0x0]: table 'EverythingIngress.forward': the entry exists already"
        " (ALREADY_EXISTS); 2 of 5 failed"
    )
    assert len(list(client.read(s.table("forward")))) == 3


def changes(client: Client) -> list[tuple[str, Entity]]:
    """Updates of every kind that change what ``everything`` wrote."""
    s = client.schema
    return [
        ("INSERT", s.table_entry("forward", {"destination": 2}, "drop", metadata=b"x")),
        ("MODIFY", s.table_entry("forward", {"destination": 1}, "forward_to", {"port": 1})),
        ("DELETE", s.table_entry("forward", {"destination": 1})),
        ("MODIFY", s.table_entry("acl", {"port": 1, "ipv4_valid": 0}, "count_only", priority=3)),
        ("DELETE", s.table_entry("acl", {"port": 1, "ipv4_valid": 0}, priority=3)),
        ("MODIFY", s.default_entry("forward", "drop")),
        ("MODIFY", s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, action_set=[("forward_to", {"port": 1}, 1)])),
        ("DELETE", s.table_entry("ecmp", {"destination": "10.0.0.0/8"})),
        ("INSERT", s.table_entry("ecmp", {"destination": "11.0.0.0/8"}, action_set=[("forward_to", {"port": 1}, 1)])),
        ("INSERT", s.member("ports", 2, "drop")),
        ("MODIFY", s.member("ports", 1, "drop")),
        ("DELETE", s.table_entry("by_port", {"port": 3})),
        ("DELETE", s.member("ports", 1)),
        ("MODIFY", s.multicast_group(3, [(3, 3)])),
        ("DELETE", s.multicast_group(3)),
        ("INSERT", s.multicast_group(4, [(3, 3)])),
        ("MODIFY", s.clone_session(4, [(3, 0)])),
        ("DELETE", s.clone_session(4)),
        ("INSERT", s.clone_session(5, [(3, 0)])),
        ("MODIFY", s.counter("port_counter", None, CounterData(5, 5))),
        ("MODIFY", s.meter("rate", None, MeterConfig(5, 5, 5, 5))),
        ("MODIFY", s.register("last_seen", None, 1)),
        ("MODIFY", s.register("balance", 1, 1)),
        ("MODIFY", s.value_set("special_types")),
        ("MODIFY", s.digest("learn_t", max_list_size=9)),
        ("DELETE", s.digest("learn_t")),
    ]


@pytest.mark.parametrize("atomicity", ["ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"])
def test_all_or_none_leaves_the_state_as_it_was(client: Client, atomicity: str) -> None:
    before = write_everything(client)
    updates = changes(client)
    bad = client.schema.table_entry("forward", {"destination": 77}, "drop")
    with pytest.raises(WriteError) as caught:
        client.write([*updates, ("DELETE", bad)], atomicity)  # type: ignore[arg-type]
    (failure,) = caught.value.failures
    assert (failure.index, failure.code) == (len(updates), "NOT_FOUND")
    assert sorted(map(str, state(client))) == sorted(map(str, before))
    client.write(updates, atomicity)  # type: ignore[arg-type]
    assert sorted(map(str, state(client))) != sorted(map(str, before))


def test_the_other_updates_of_a_failed_all_or_none_batch_are_aborted(client: Client) -> None:
    import grpc

    from p4mesh.p4runtime.status import batch_errors

    s = client.schema
    updates = [
        ("INSERT", s.table_entry("forward", {"destination": 1}, "drop")),
        ("DELETE", s.table_entry("forward", {"destination": 2})),
        ("INSERT", s.table_entry("forward", {"destination": 3}, "drop")),
    ]
    ((_, _, request),) = client._requests.split(updates, "ROLLBACK_ON_ERROR")
    with pytest.raises(grpc.RpcError) as caught:
        client._stub.Write(request)
    assert caught.value.code() is grpc.StatusCode.UNKNOWN
    outcomes = batch_errors(caught.value)
    assert outcomes is not None
    aborted, not_found = 10, 5
    assert [outcome.canonical_code for outcome in outcomes] == [aborted, not_found, aborted]
    assert {outcome.space for outcome in outcomes} == {"p4mesh"}


def test_a_large_batch_with_many_failures_is_reported_in_full(client: Client) -> None:
    entries = [client.schema.table_entry("forward", {"destination": i}, "drop") for i in range(1000)]
    client.insert(entries)
    with pytest.raises(WriteError) as caught:
        client.insert(entries * 5)
    assert len(caught.value.failures) == 5000
    assert [failure.index for failure in caught.value.failures] == list(range(5000))


def test_a_client_with_default_limits_hears_what_fits_and_how_much_is_left_out(client: Client) -> None:
    """Goal: 1000 failures reach a controller that takes 8 KiB of metadata. Method: a plain channel of grpcio."""
    import grpc

    from p4mesh.p4runtime.service import Service
    from p4mesh.p4runtime.status import batch_errors

    name = "é" * 100_000
    wrong = [client.schema.table_entry("forward", {"destination": i}) for i in range(1000)]
    ((_, _, request),) = client._requests.split([("DELETE", entry) for entry in wrong], "CONTINUE_ON_ERROR")
    with grpc.insecure_channel(client.address) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            Service(channel).Write(request)
        outcomes = batch_errors(caught.value)
        assert caught.value.code() is grpc.StatusCode.UNKNOWN
        assert outcomes is not None and len(outcomes) >= 10
        text = caught.value.details()
        assert text.startswith("1000 of 1000 updates failed; first: number 0: ")
        assert text.endswith(f"the first {len(outcomes)} are listed, {1000 - len(outcomes)} more do not fit")
        with pytest.raises(grpc.RpcError, match=r"no controller has the role 'é+\.\.\. \(200000 bytes in all\)'"):
            Service(channel).Write(p4r.WriteRequest(device_id=client.device_id, role=name).SerializeToString())


def test_updates_keep_their_order_across_requests(switch: Switch, client: Client) -> None:
    s = client.schema
    one = s.table_entry("forward", {"destination": 1}, "forward_to", {"port": 1})
    updates = [("INSERT", one), ("DELETE", one)] * 10_000
    client.write([*updates, ("INSERT", one)])
    switch.send(0, ethernet(1))
    switch.run()
    assert [port for port, _ in switch.received()] == [1]


def test_update_types_and_empty_updates(client: Client) -> None:
    from p4mesh.p4runtime.stubs import p4r

    request = p4r.WriteRequest(device_id=client.device_id, election_id=client._requests.election_id)
    request.updates.add(entity=client.schema.table_entry("forward", {"destination": 1}, "drop"))
    request.updates.add(type=p4r.Update.INSERT)
    request.updates.add(type=p4r.Update.INSERT).entity.extern_entry.extern_type_id = 0x81
    import grpc

    from p4mesh.p4runtime.status import batch_errors

    with pytest.raises(grpc.RpcError) as caught:
        client._stub.Write(request.SerializeToString())
    outcomes = batch_errors(caught.value)
    assert outcomes is not None
    assert [(outcome.canonical_code, outcome.message) for outcome in outcomes] == [
        (3, "update type 0 is not valid; valid: INSERT, MODIFY, DELETE"),
        (3, "the update has no entity"),
        (12, "extern type 0x81 is not supported"),
    ]
