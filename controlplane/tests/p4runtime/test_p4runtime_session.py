"""Controllers: the primary, rights to write, and the notices to each."""

from __future__ import annotations

import grpc
import pytest
from support.p4runtime_support import DEVICE_ID, JSON, P4INFO, Switch

from p4mesh.p4runtime import Client, ConnectError, NotPrimaryError, P4RuntimeError, WriteError, load_p4info
from p4mesh.p4runtime.service import Service
from p4mesh.p4runtime.stubs import p4r


def arbitration(device_id: int = DEVICE_ID, election_id: int | None = 1, role: str = "") -> p4r.StreamMessageRequest:
    message = p4r.StreamMessageRequest()
    message.arbitration.device_id = device_id
    if election_id is not None:
        message.arbitration.election_id.low = election_id
    if role:
        message.arbitration.role.name = role
    return message


class Controller:
    """A controller by hand, to say things that the client never would."""

    def __init__(self, address: str) -> None:
        from queue import SimpleQueue

        self._channel = grpc.insecure_channel(address)
        self.service = Service(self._channel)
        self._requests: SimpleQueue[p4r.StreamMessageRequest | None] = SimpleQueue()
        self.answers = self.service.StreamChannel(iter(self._requests.get, None))

    def say(self, message: p4r.StreamMessageRequest) -> p4r.MasterArbitrationUpdate:
        self._requests.put(message)
        return self.hear()

    def hear(self) -> p4r.MasterArbitrationUpdate:
        return next(self.answers).arbitration

    def end(self) -> None:
        self._requests.put(None)
        self.answers.cancel()
        self._channel.close()


OK, NOT_FOUND, ALREADY_EXISTS = 0, 5, 6


def test_a_role_has_a_name_of_1024_bytes_at_most(switch: Switch) -> None:
    controller = Controller(switch.address)
    with pytest.raises(grpc.RpcError) as caught:
        controller.say(arbitration(election_id=1, role="r" * 1025))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details() == "role.name has 1025 bytes; valid: at most 1024"
    controller.end()
    controller = Controller(switch.address)
    assert controller.say(arbitration(election_id=1, role="r" * 1024)).status.code == OK
    controller.end()


def test_the_highest_election_id_is_primary_and_others_are_told(switch: Switch) -> None:
    one, two = Controller(switch.address), Controller(switch.address)
    assert one.say(arbitration(election_id=1)).status.code == OK
    answer = two.say(arbitration(election_id=2))
    assert answer.status.code == OK and answer.election_id.low == 2
    told = one.hear()
    assert told.status.code == ALREADY_EXISTS and told.election_id.low == 2
    two.end()
    told = one.hear()
    assert told.status.code == NOT_FOUND and told.election_id.low == 2
    # An id below the highest ever seen does not make a primary.
    assert one.say(arbitration(election_id=1)).status.code == NOT_FOUND
    assert one.say(arbitration(election_id=3)).status.code == OK
    one.end()


def test_a_backup_joins_without_disturbing_the_primary(switch: Switch) -> None:
    one, two, three = (Controller(switch.address) for _ in range(3))
    assert one.say(arbitration(election_id=5)).status.code == OK
    assert two.say(arbitration(election_id=4)).status.code == ALREADY_EXISTS
    assert three.say(arbitration(election_id=None)).status.code == ALREADY_EXISTS
    # A primary that lowers its id steps down, and everyone hears of it.
    assert one.say(arbitration(election_id=3)).status.code == NOT_FOUND
    assert two.hear().status.code == NOT_FOUND
    for controller in (one, two, three):
        controller.end()


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([arbitration(device_id=9)], grpc.StatusCode.NOT_FOUND),
        ([arbitration(election_id=7)], grpc.StatusCode.INVALID_ARGUMENT),
        ([arbitration(election_id=8), arbitration(device_id=9, election_id=8)], grpc.StatusCode.FAILED_PRECONDITION),
        ([arbitration(election_id=8), arbitration(election_id=8, role="r")], grpc.StatusCode.FAILED_PRECONDITION),
    ],
)
def test_wrong_arbitration_ends_the_stream(
    switch: Switch, messages: list[p4r.StreamMessageRequest], code: grpc.StatusCode
) -> None:
    taken, other = Controller(switch.address), Controller(switch.address)
    taken.say(arbitration(election_id=7))
    with pytest.raises(grpc.RpcError) as caught:
        for message in messages:
            other.say(message)
    assert caught.value.code() is code
    other.end()
    taken.end()


def test_role_configs_are_refused(switch: Switch) -> None:
    message = arbitration(role="r")
    message.arbitration.role.config.type_url = "x"
    controller = Controller(switch.address)
    with pytest.raises(grpc.RpcError) as caught:
        controller.say(message)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    controller.end()


def test_roles_have_a_primary_each(switch: Switch, client: Client) -> None:
    with Client(switch.address, DEVICE_ID, role="reader") as other:
        other.load_schema()
        assert client.is_primary and other.is_primary
        entry = other.schema.table_entry("forward", {"destination": 1}, "drop")
        other.insert([entry])
        assert list(client.read(client.schema.table("forward"))) == [entry]
        # Both get packet-ins.
        client.insert([client.schema.table_entry("forward", {"destination": 7}, "to_controller", {"tag": 1})])
        switch.send(1, (7).to_bytes(6, "big") + bytes(54))
        switch.run()
        assert len(client.take_packet_ins(1)) == len(other.take_packet_ins(1)) == 1


def test_a_second_controller_takes_over(switch: Switch, client: Client) -> None:
    with Client(switch.address, DEVICE_ID, election_id=2) as other:
        other.load_schema()
        with pytest.raises(NotPrimaryError, match="the request has election_id 1, the primary has 2"):
            client.insert([client.schema.table_entry("forward", {"destination": 1}, "drop")])
        other.insert([other.schema.table_entry("forward", {"destination": 1}, "drop")])
        # Anyone may read.
        assert len(list(client.read(client.schema.table("forward")))) == 1
    with pytest.raises(NotPrimaryError, match="there is no primary"):
        client.insert([client.schema.table_entry("forward", {"destination": 2}, "drop")])


def test_a_controller_that_has_closed_is_gone_and_what_it_sent_is_not(switch: Switch, client: Client) -> None:
    for closed in range(20):
        # The election id of the last round is free again.
        with Client(switch.address, DEVICE_ID, election_id=2) as other:
            other.load_schema()
            other.packet_out(bytes(60), egress_port=1)
        switch.network.advance(1, closed + 1, timeout_s=0)
        with pytest.raises(NotPrimaryError, match="there is no primary"):
            client.insert([client.schema.table_entry("forward", {"destination": 2}, "drop")])


def test_a_controller_that_is_not_primary_gives_up(switch: Switch, client: Client) -> None:
    with pytest.raises(P4RuntimeError, match="election_id 1 is used by another controller"):
        Client(switch.address, DEVICE_ID, election_id=1).__enter__()
    with pytest.raises(NotPrimaryError) as caught:
        Client(switch.address, DEVICE_ID, election_id=0).__enter__()
    assert caught.value.hint == "use an election id above 1, or stop the other controller"


def test_packet_outs_of_a_backup_are_refused(switch: Switch, client: Client) -> None:
    with Client(switch.address, DEVICE_ID, election_id=2):
        from p4mesh.p4runtime import PacketOutError

        client.packet_out(bytes(60), egress_port=1)
        switch.run(packet_outs=1)
        with pytest.raises(PacketOutError, match="not primary"):
            client.take_packet_ins(1, timeout_s=1)


def test_no_server(switch: Switch) -> None:
    with pytest.raises(ConnectError, match=r"no P4Runtime server answers at 127\.0\.0\.1:1 within 0\.3 s"):
        Client("127.0.0.1:1", DEVICE_ID, timeout_s=0.3).__enter__()
    with pytest.raises(P4RuntimeError, match="device_id 9 is not this device; valid: 3"):
        Client(switch.address, 9).__enter__()


def test_a_server_that_goes_away_is_noticed(switch: Switch, client: Client) -> None:
    switch.network.stop()
    with pytest.raises(ConnectError):
        client.insert([client.schema.table_entry("forward", {"destination": 1}, "drop")])
    with pytest.raises(ConnectError):
        client.take_packet_ins(1, timeout_s=5)


def test_capabilities(client: Client) -> None:
    assert client.capabilities() == "1.4.1"


def test_calls_before_a_pipeline_is_set(switch: Switch) -> None:
    with Client(switch.address, DEVICE_ID) as client:
        assert not client.get_pipeline().HasField("p4info")
        client._use(load_p4info(P4INFO))
        entry = client.schema.table_entry("forward", {"destination": 1}, "drop")
        with pytest.raises(P4RuntimeError, match=r"no pipeline config is set \(FAILED_PRECONDITION\)"):
            client.insert([entry])
        with pytest.raises(P4RuntimeError, match=r"no pipeline config is set \(FAILED_PRECONDITION\)"):
            list(client.read(client.schema.table("forward")))
        client.set_pipeline(P4INFO, JSON)
        client.insert([entry])


def test_the_order_of_checks(switch: Switch, client: Client) -> None:
    """First the device, then who is primary, then the pipeline (section 12)."""
    service = client._stub
    request = p4r.WriteRequest(device_id=9)
    for device_id, role, code in [
        (9, "", grpc.StatusCode.NOT_FOUND),
        (DEVICE_ID, "nobody", grpc.StatusCode.NOT_FOUND),
        (DEVICE_ID, "", grpc.StatusCode.PERMISSION_DENIED),
    ]:
        request = p4r.WriteRequest(device_id=device_id, role=role)
        with pytest.raises(grpc.RpcError) as caught:
            service.Write(request.SerializeToString())
        assert caught.value.code() is code


def test_write_errors_survive_a_process_boundary() -> None:
    import pickle

    from p4mesh.p4runtime import Failure

    error = WriteError([Failure(3, "NOT_FOUND", "no such entry", "table t [a=1]")], 5)
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) == "cannot write table t [a=1]: no such entry (NOT_FOUND)"
    assert copy.failures == error.failures


def test_an_election_id_of_zero_is_not_an_unset_one(switch: Switch) -> None:
    """Section 16.2.1: {0, 0} makes a primary; a request without election id is nobody's."""
    one = Controller(switch.address)
    message = arbitration(election_id=0)
    assert message.arbitration.HasField("election_id")
    assert one.say(message).status.code == OK
    request = p4r.WriteRequest(device_id=DEVICE_ID)
    with pytest.raises(grpc.RpcError) as caught:
        one.service.Write(request.SerializeToString())
    assert caught.value.code() == grpc.StatusCode.PERMISSION_DENIED
    request.election_id.low = 0
    # Primary, but there is no pipeline.
    with pytest.raises(grpc.RpcError) as caught:
        one.service.Write(request.SerializeToString())
    assert caught.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    one.end()
