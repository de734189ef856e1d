"""The connection of a client: encrypted where both sides say so, and made again after it was lost."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.certificates import Certificates, make_certificates
from support.p4runtime_support import DEVICE_ID, JSON, P4INFO, Switch, ethernet

from p4mesh.errors import ParameterError
from p4mesh.no_answer import why_no_answer
from p4mesh.p4runtime import Client, ConnectError, P4RuntimeError, PipelineError, TlsCredentials

SHORT_S = 1.0


@pytest.fixture
def made(tmp_path: Path) -> Certificates:
    return make_certificates(tmp_path / "tls")


@contextmanager
def serving(made: Certificates, *, clients_too: bool = False) -> Iterator[str]:
    """A live switch without ports whose server uses TLS; returns its address."""
    from p4mesh import _engine

    switch = _engine.LiveSwitch([])
    authority = made.ca.read_bytes() if clients_too else None
    port = switch.serve("127.0.0.1:0", DEVICE_ID, (made.server.read_bytes(), made.server_key.read_bytes(), authority))
    try:
        yield f"127.0.0.1:{port}"
    finally:
        switch.stop()


def refusal(address: str, tls: TlsCredentials | None) -> ConnectError:
    with pytest.raises(ConnectError) as caught, Client(address, DEVICE_ID, timeout_s=SHORT_S, tls=tls):
        pass
    return caught.value


# TLS


def test_a_pipeline_goes_through_tls(made: Certificates) -> None:
    with (
        serving(made) as address,
        Client(address, DEVICE_ID, tls=TlsCredentials(ca=made.ca)) as client,
    ):
        client.set_pipeline(P4INFO, JSON)
        client.insert([client.schema.table_entry("forward", {"destination": 1}, "forward_to", {"port": 2})])
        assert len(list(client.read(client.schema.table("forward")))) == 1


def test_a_server_with_tls_has_no_word_with_clients_without(made: Certificates) -> None:
    with serving(made) as address:
        error = refusal(address, None)
    assert error.message == f"no P4Runtime server answers at {address} within 1 s"
    assert error.hint == "something listens there: is it the server of a switch, and does it use TLS?"


def test_a_server_of_another_authority_is_not_believed(made: Certificates, tmp_path: Path) -> None:
    stranger = make_certificates(tmp_path / "stranger")
    with serving(made) as address:
        error = refusal(address, TlsCredentials(ca=stranger.ca))
    assert error.hint.startswith("something listens there: does its server use TLS, is its certificate signed by")


def test_a_server_with_another_name_is_believed_only_under_that_name(tmp_path: Path) -> None:
    made = make_certificates(tmp_path / "named", server="tester.example")
    with serving(made) as address:
        refusal(address, TlsCredentials(ca=made.ca))
        with Client(address, DEVICE_ID, tls=TlsCredentials(ca=made.ca, server_name="tester.example")) as client:
            assert client.is_primary


def test_a_server_that_knows_its_clients_takes_no_others(made: Certificates, tmp_path: Path) -> None:
    stranger = make_certificates(tmp_path / "stranger")
    with serving(made, clients_too=True) as address:
        known = TlsCredentials(made.ca, made.client, made.client_key)
        with Client(address, DEVICE_ID, tls=known) as client:
            assert client.is_primary
        for tls in (
            TlsCredentials(made.ca),
            TlsCredentials(made.ca, stranger.client, stranger.client_key),
        ):
            # With TLS 1.3 a client hears of it after its own part of the handshake: at once, or at its first request.
            with (
                pytest.raises(P4RuntimeError),
                Client(address, DEVICE_ID, timeout_s=SHORT_S, tls=tls),
            ):
                pass


@pytest.mark.parametrize("name", ["missing", "not in PEM", "certificate alone", "key alone"])
def test_credentials_that_cannot_be_used_are_one_clear_message(name: str, made: Certificates, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("hello")
    tls, message = {
        "missing": (TlsCredentials(tmp_path / "none"), f"TLS: cannot read {tmp_path}/none: No such file or directory"),
        "not in PEM": (TlsCredentials(text), f"TLS: {text} is not in PEM"),
        "certificate alone": (
            TlsCredentials(made.ca, certificate=made.client),
            "TLS: there is a certificate without its key",
        ),
        "key alone": (TlsCredentials(made.ca, key=made.client_key), "TLS: there is a key without its certificate"),
    }[name]
    with pytest.raises(ParameterError) as caught, Client("127.0.0.1:1", tls=tls):
        pass
    assert caught.value.message == message
    assert caught.value.hint


def test_a_server_refuses_credentials_that_are_none(made: Certificates) -> None:
    from p4mesh import _engine

    switch = _engine.LiveSwitch([])
    for certificate, key in ((b"hello", made.server_key.read_bytes()), (made.server.read_bytes(), b"hello")):
        with pytest.raises(_engine.EngineError, match=r"^the TLS credentials cannot be used: "):
            switch.serve("127.0.0.1:0", DEVICE_ID, (certificate, key, None))


# A connection that is lost


def forward(client: Client) -> None:
    client.insert([client.schema.table_entry("forward", {"destination": 1}, "forward_to", {"port": 2})])


def wait_until_lost(client: Client) -> None:
    end = time.monotonic() + 10
    while client.is_connected:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_client_connects_again_when_its_server_is_back(switch: Switch, client: Client) -> None:
    forward(client)
    assert client.is_connected
    switch.network.stop()
    wait_until_lost(client)
    assert not client.is_primary
    with pytest.raises(P4RuntimeError):
        client.packet_out(ethernet(1))

    switch.network.serve(switch.address, DEVICE_ID)
    client.reconnect()
    assert client.is_connected and client.is_primary
    assert client.election_id == 2, "servers need not answer to the same one"
    client.set_pipeline(P4INFO, JSON)
    forward(client)
    switch.send(0, ethernet(1))
    switch.run()
    assert switch.received() == [(2, ethernet(1))]
    client.packet_out(ethernet(1), submit=1)
    assert client.packet_outs_sent == 1, "the count begins with the connection, as that of the server"


def test_a_server_that_has_forgotten_its_pipeline_says_so(switch: Switch, client: Client) -> None:
    """Goal: no entry is taken to be still there. Method: another switch is behind the address when it is back."""
    address = switch.address
    switch.network.stop()
    wait_until_lost(client)
    other = Switch()
    try:
        other.network.stop()
        other.network.serve(address, DEVICE_ID)
        client.reconnect()
        with pytest.raises(PipelineError, match="the switch has no pipeline"):
            client.load_schema()
    finally:
        other.network.stop()


def test_without_a_server_connecting_again_is_an_error_and_can_be_repeated(switch: Switch, client: Client) -> None:
    client.timeout_s = SHORT_S
    switch.network.stop()
    wait_until_lost(client)
    for _ in range(2):
        with pytest.raises(ConnectError, match="no P4Runtime server answers"):
            client.reconnect()
        assert not client.is_connected
    switch.network.serve(switch.address, DEVICE_ID)
    client.reconnect()
    assert client.is_primary


def test_another_primary_is_not_a_lost_connection(switch: Switch, client: Client) -> None:
    with Client(switch.address, DEVICE_ID, election_id=5):
        end = time.monotonic() + 10
        while client.is_primary:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert client.is_connected


def test_hints_name_the_cause(tmp_path: Path) -> None:
    """A port without a listener, a path without a socket, a name without a machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        assert refusal(address, None).hint == "nothing listens there: is the switch running, and is the port right?"
    assert why_no_answer(f"unix:{tmp_path}/none").startswith("there is no such socket")
    assert "'host.invalid'" in why_no_answer("host.invalid:9559")
    assert why_no_answer("nowhere") == "an address is HOST:PORT or unix:PATH"
