"""The server of ``p4mesh otg``: who may ask, who owns the session, hostile input, and its end."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from math import inf
from operator import itemgetter
from pathlib import Path
from statistics import median
from threading import Event
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit

import grpc
import h11
import pytest
import requests
import uvicorn
from snappi import otg_pb2, otg_pb2_grpc
from support.certificates import make_certificates
from support.golden import GoldenTable
from support.otg import OtgServer, add_flow, errors_of, flow_metrics, serving_otg, transmit, two_ports
from uvicorn.server import ServerState

from p4mesh.errors import OtgBusyError
from p4mesh.otg import grpc_server
from p4mesh.otg.http_server import connections
from p4mesh.otg.locations import Topologies
from p4mesh.otg.ownership import LEASE_S, Ownership, Patience
from p4mesh.otg.pace import TimeMode
from p4mesh.otg.session import Session
from p4mesh.otg.worker import Worker
from p4mesh.target.table import TARGETS
from p4mesh.topology import load_topology

GOLDEN = GoldenTable("otg_command")
EXAMPLES = Path(__file__).parents[3] / "examples" / "otg"
TOKEN = "a-token-of-the-tests-0123456789"


def post(server: OtgServer, body: bytes, path: str = "/config", **headers: str) -> tuple[int, Any]:
    """Status and JSON of the answer to a request as it stands here."""
    place = urlsplit(server.places["http"])
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    connection.request("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    read = answer.status, json.loads(answer.read())
    connection.close()
    return read


def running(server: OtgServer) -> Any:
    """A client whose flow runs."""
    owner = server.api()
    config = two_ports(owner)
    add_flow(config, "endless")
    owner.set_config(config)
    transmit(owner, "start")
    return owner


def test_another_client_is_told_who_owns_the_session_until_the_owner_is_gone(server: OtgServer) -> None:
    owner, other = running(server), server.api("grpc")
    assert flow_metrics(other)["endless"].transmit == "started"
    (told,) = errors_of(lambda: other.set_config(two_ports(other)))
    assert "the session is that of 127.0.0.1:" in told
    errors_of(lambda: transmit(other, "stop"))
    assert flow_metrics(owner)["endless"].transmit == "started"
    owner._transport._session.close()
    other.set_config(two_ports(other))


def test_a_client_that_preempts_takes_the_session(server: OtgServer) -> None:
    owner, other = running(server), server.api("grpc")
    config = two_ports(other)
    config.options.port_options.location_preemption = True
    other.set_config(config)
    assert flow_metrics(owner) == {}


def test_a_session_without_anything_that_runs_is_free(server: OtgServer) -> None:
    owner, other = running(server), server.api("grpc")
    transmit(owner, "stop")
    other.set_config(two_ports(other))


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_a_client_whose_protocols_run_alone_keeps_the_session_while_it_asks(server: OtgServer, transport: str) -> None:
    """As tests of one process do it, each with a client of its own whose connection stays."""
    owner, other = server.api(), server.api(transport)
    config = two_ports(owner)
    config.options.port_options.location_preemption = True
    ethernet = config.devices.add(name="d").ethernets.add(name="e", mac="02:00:00:00:00:01")
    ethernet.connection.port_name = "p1"
    ethernet.ipv4_addresses.add(name="v4", address="10.0.0.1", gateway="10.0.0.2")
    config.devices[0].bgp.router_id = "10.0.0.1"
    peer = config.devices[0].bgp.ipv4_interfaces.add(ipv4_name="v4").peers.add(name="peer")
    peer.set(peer_address="10.0.0.2", as_type="ebgp", as_number=65001)
    config.options.protocol_options.auto_start_all = True
    owner.set_config(config)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(lambda: errors_of(lambda: other.set_config(two_ports(other))))
        while not asked.done():
            owner.get_config()
            time.sleep(0.2)
        (told,) = asked.result()
        assert "whose flows or protocols run" in told
    owner.get_config()
    began_s = time.monotonic()
    other.set_config(two_ports(other))
    assert time.monotonic() - began_s > 1


def test_the_session_of_an_owner_that_vanishes_is_free_after_its_lease() -> None:
    now_s = [0.0]
    ownership = Ownership(lambda: now_s[0])
    ownership.take("a", lease_s=LEASE_S)
    now_s[0] = LEASE_S - 1
    with pytest.raises(OtgBusyError):
        ownership.take("b", lease_s=LEASE_S)
    ownership.seen("a")
    now_s[0] = 2 * LEASE_S - 2
    with pytest.raises(OtgBusyError):
        ownership.take("b", lease_s=LEASE_S)
    now_s[0] = 2 * LEASE_S
    ownership.take("b", lease_s=LEASE_S)


def test_a_client_that_is_refused_asks_once_more_as_the_owners_connection_may_be_ending() -> None:
    busy = OtgBusyError("the session is that of a")
    busy.free_in_s = LEASE_S
    patience = Patience()
    assert 0 < patience.pause_s(busy) < 1
    with pytest.raises(OtgBusyError):
        patience.pause_s(busy)


@pytest.mark.parametrize(
    ("version", "served"),
    [("1.52.0", False), ("1.53.0", True), ("1.58.0", True), ("1.62.0", True), ("1.62.1", False), ("2.0.0", False)],
)
def test_clients_of_older_versions_are_served(server: OtgServer, version: str, served: bool) -> None:
    """Clients that check versions take the server's as a range."""
    api = server.api()
    api._version_meta.api_spec_version = version
    compatible, _ = api._do_version_check()
    assert (compatible is None) is served


def test_with_a_token_nobody_else_is_served() -> None:
    with serving_otg("back-to-back", token=TOKEN) as server:
        place = urlsplit(server.places["http"])
        assert requests.get(f"{place.geturl()}/config", timeout=30).status_code == 401
        assert requests.get(f"http://me:wrong@{place.netloc}/config", timeout=30).status_code == 401
        api = server.api(location=f"http://me:{TOKEN}@{place.netloc}")
        assert api.get_version().sdk_version == api.get_local_version().api_spec_version
        with grpc.insecure_channel(server.places["grpc"]) as channel:
            stub = otg_pb2_grpc.OpenapiStub(channel)
            with pytest.raises(grpc.RpcError) as refused:
                stub.GetVersion(otg_pb2_grpc.google_dot_protobuf_dot_empty__pb2.Empty())
            assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
            shown = [("authorization", f"Bearer {TOKEN}")]
            stub.GetVersion(otg_pb2_grpc.google_dot_protobuf_dot_empty__pb2.Empty(), metadata=shown)


def test_other_machines_reach_it_with_tls_and_a_new_token_alone(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    tls = ("--tls-certificate", str(made.server), "--tls-key", str(made.server_key))
    with serving_otg("back-to-back", *tls, "--http", "0.0.0.0:0", "--grpc", "0.0.0.0:0") as server:
        port = server.places["http"].rpartition(":")[2]
        local = f"https://127.0.0.1:{port}/config"
        assert requests.get(local, verify=str(made.ca), timeout=30).status_code == 401
        shown = {"authorization": f"Bearer {server.places['token']}"}
        assert requests.get(local, verify=str(made.ca), headers=shown, timeout=30).status_code == 200


def test_virtual_time_follows_the_wall_clock() -> None:
    with serving_otg("back-to-back", "--time", "wall") as server:
        api = server.api()
        config = two_ports(api)
        add_flow(config, "endless", pps=1000)
        api.set_config(config)
        began_s, frames = time.monotonic(), 0
        transmit(api, "start")
        while frames < 500:
            frames = flow_metrics(api)["endless"].frames_tx
            passed_s = time.monotonic() - began_s
            assert frames <= 1000 * passed_s + 1
            assert passed_s < 60


def test_one_server_has_both_transports_that_scripts_expect_on_their_own_machine(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    tls = ("--tls-certificate", str(made.server), "--tls-key", str(made.server_key))
    with serving_otg("back-to-back", *tls) as server:
        place = f"{server.places['http']}/capabilities/version"
        assert place.startswith("https://")
        told = requests.get(place, verify=str(made.ca), timeout=30).json()
        assert told["sdk_version"] == server.api("grpc").get_version().sdk_version


HOSTILE = {
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "no object": b"[]",
    "an element of its own": b'{"surprise": 1}',
    "a text for a number": b'{"flows": [{"name": "f", "size": {"fixed": "x"}}]}',
    "a negative number": b'{"flows": [{"name": "f", "size": {"fixed": -1}}]}',
    "no number": b'{"flows": [{"name": "f", "rate": {"choice": "percentage", "percentage": "NaN"}}]}',
    "very deep": b'{"a":' * 5000,
    "an address that is empty": b'{"ports": [{"name": "p", "location": "1"}], "devices": [{"name": "d", "ethernets":'
    b' [{"name": "e", "mac": "02:00:00:00:00:01", "connection": {"choice": "port_name", "port_name": "p"}}],'
    b' "ipv4_loopbacks": [{"name": "l", "eth_name": "e", "address": ""}]}]}',
    "sizes without bound": b'{"ports": [{"name": "p", "location": "1"}], "flows": [{"name": "f", "tx_rx": {"port":'
    b' {"tx_name": "p"}}, "size": {"choice": "increment", "increment": {"end": 4294967295}}}]}',
    "weights without bound": b'{"ports": [{"name": "p", "location": "1"}], "flows": [{"name": "f", "tx_rx": {"port":'
    b' {"tx_name": "p"}}, "size": {"choice": "weight_pairs", "weight_pairs": {"choice": "custom", "custom":'
    b' [{"size": 64, "weight": 3e38}, {"size": 65, "weight": 1}]}}}]}',
    "a number without end": b'{"flows": [{"name": "f", "rate": {"pps": ' + b"9" * 5000 + b"}}]}",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_requests_are_refused_and_harm_nothing(server: OtgServer, case: str) -> None:
    status, answer = post(server, HOSTILE[case])
    assert (status, answer["kind"]) == (400, "validation")
    assert answer["errors"]
    assert "bug" not in answer["errors"][0]
    assert server.api().get_version().api_spec_version


INCOMPLETE = {
    ("POST", "/control/state", "{}"): "choice is left out (valid: port, protocol, traffic)",
    ("POST", "/control/state", '{"choice": "traffic"}'): "traffic.choice is left out (valid: flow_transmit)",
    ("POST", "/control/state", '{"choice": "traffic", "traffic": {"choice": "flow_transmit"}}'): (
        "traffic.flow_transmit.state is left out (valid: start, stop, pause, resume)"
    ),
    ("POST", "/control/state", '{"choice": "port", "port": {"choice": "link"}}'): (
        "port.link.state is left out (valid: up, down)"
    ),
    ("POST", "/control/state", '{"choice": "port", "port": {"choice": "capture"}}'): (
        "port.capture.state is left out (valid: start, stop)"
    ),
    ("POST", "/control/state", '{"choice": "protocol", "protocol": {"choice": "all"}}'): (
        "protocol.all.state is left out (valid: start, stop)"
    ),
    ("POST", "/control/state", '{"choice": "protocol", "protocol": {"choice": "route"}}'): (
        "protocol.route.state is left out (valid: withdraw, advertise)"
    ),
    ("POST", "/control/action", "{}"): "protocol.choice is left out (valid: ipv4, ipv6, bgp)",
    ("PATCH", "/config", '{"choice": "flows"}'): "flows.flows is left out (valid: flows of the configuration)",
}


@pytest.mark.parametrize("asked", INCOMPLETE, ids=" ".join)
def test_requests_that_leave_out_what_to_do_are_told_so(server: OtgServer, asked: tuple[str, str, str]) -> None:
    method, path, body = asked
    answer = requests.request(method, server.places["http"] + path, data=body, timeout=30)
    assert (answer.status_code, answer.json()["errors"]) == (400, [INCOMPLETE[asked]])


def test_answers_over_http_have_a_list_of_warnings_where_there_is_none(server: OtgServer) -> None:
    api = server.api()
    assert api.set_config(two_ports(api)).warnings == []
    control = api.control_state()
    control.protocol.all.state = "start"
    assert api.set_control_state(control).warnings == []


def test_as_many_flows_as_the_program_has_streams_run_and_more_are_refused(server: OtgServer) -> None:
    api = server.api()
    config = two_ports(api)
    packets = {f"f{number}": 5 + number % 16 for number in range(256)}
    for number, (name, count) in enumerate(packets.items()):
        add_flow(config, name, pps=1000 + number).duration.fixed_packets.packets = count
    api.set_config(config)
    transmit(api, "start")
    while any(found.transmit == "started" for found in flow_metrics(api).values()):
        pass
    counts = {name: (found.frames_tx, found.frames_rx) for name, found in flow_metrics(api).items()}
    assert counts == {name: (count, count) for name, count in packets.items()}
    tagged = config.flows[0].packet[2].dst_port
    tagged.increment.count = 2
    tagged.metric_tags.add(name="tag")
    (told,) = errors_of(lambda: api.set_config(config))
    assert "257 streams, the program has 256" in told


def test_idle_connections_keep_nobody_out(capfd: pytest.CaptureFixture[str]) -> None:
    """As many as the server takes. Idle: without a request, with a part of one, after one; the oldest is closed."""
    with serving_otg("back-to-back") as server:
        url = f"{server.places['http']}/capabilities/version"
        for begun in (b"", b"POST /config HTT", b"GET /capabilities/version HTTP/1.1\r\nHost: a\r\n\r\n"):
            with ExitStack() as opened:
                idle = fill(server, opened, begun)
                time.sleep(1)
                assert [requests.get(url, timeout=30).status_code for _ in range(3)] == [200] * 3
                assert [is_closed(it) for it in idle] == [True] + [False] * 63, begun
    assert "Traceback" not in capfd.readouterr().err


WHOLE, BEGUN_BODY = (b"POST /config HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n{}" % length for length in (2, 9))
ANSWER = b""


class Clock:
    """Stands in for the loop: time passes only in :meth:`pass_until`, and applications never answer."""

    def __init__(self) -> None:
        self.now_s = -1.0
        self.due: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now_s

    def call_later(self, after_s: float, call: Callable[[], None]) -> Any:
        due = (self.now_s + after_s, call)
        self.due.append(due)

        def cancel() -> None:
            if due in self.due:
                self.due.remove(due)

        return SimpleNamespace(cancel=cancel)

    def create_task(self, work: Any, **_: Any) -> Any:
        work.close()
        return Mock()

    def pass_until(self, end_s: float) -> None:
        """Call what is due until then."""
        while self.due and min(self.due, key=itemgetter(0))[0] <= end_s:
            due = min(self.due, key=itemgetter(0))
            self.due.remove(due)
            self.now_s = due[0]
            due[1]()
        self.now_s = end_s


@pytest.mark.parametrize(
    ("moments", "closed_s"),
    [
        ((), 10),
        (((0, b"POST /config HTT"), (9, b"P/1.1\r\n")), 10),
        (((0, BEGUN_BODY),), 10),
        (((0, WHOLE),), None),
        (((5, WHOLE), (30, ANSWER)), None),
        (((5, WHOLE), (30, ANSWER), (40, b"POST")), 50),
        (((5, WHOLE), (30, ANSWER), (40, BEGUN_BODY)), 50),
        (((5, WHOLE), (30, ANSWER), (40, WHOLE)), None),
    ],
)
def test_connections_are_closed_whose_requests_do_not_come_to_their_end(
    moments: Sequence[tuple[float, bytes]], closed_s: float | None
) -> None:
    """Ten seconds after they began; a request that came waits for its answer, and uvicorn closes behind an answer."""
    clock, closed = Clock(), list[float]()
    worker: Any = SimpleNamespace(ownership=Ownership())
    config = uvicorn.Config(lambda scope: None, http=connections(worker), timeout_keep_alive=600, log_config=None)
    connection: Any = connections(worker)(config, ServerState(), {}, clock)  # type: ignore[arg-type]
    clock.pass_until(0)
    connection.connection_made(Mock(abort=lambda: closed.append(clock.now_s), is_closing=lambda: False))
    for at_s, what in moments:
        clock.pass_until(at_s)
        if what == ANSWER:
            connection.conn.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
            connection.conn.send(h11.EndOfMessage())
            assert connection.idle_since_s() == inf
            connection.on_response_complete()
            assert connection.idle_since_s() == at_s
        else:
            connection.data_received(what)
    clock.pass_until(100)
    assert closed == ([] if closed_s is None else [closed_s])
    connection.connection_lost(None)
    assert clock.due == []


def served_by_grpc() -> tuple[grpc.Server, int]:
    """Start a server of gRPC in this process, whose tester never starts; return it and its port."""
    worker = Worker(Session(TARGETS["sim"], Topologies(load_topology("back-to-back"), EXAMPLES), TimeMode.FAST))
    server, port = grpc_server.grpc_server(worker, "127.0.0.1:0", None, None)
    server.start()
    return server, port


HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""Beginning of a connection of gRPC (RFC 9113 3.4), and empty settings."""


@pytest.mark.parametrize(("begun", "stays_s"), [(b"", 1.0), (HTTP2, 3.0)], ids=["nothing", "no request"])
def test_idle_connections_of_grpc_end(begun: bytes, stays_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Method: as many as the server takes, and one more, which is closed at once; the times are shorter than usual."""
    monkeypatch.setattr(grpc_server, "PATIENCE_S", 1.0)
    monkeypatch.setattr(grpc_server, "_IDLE_S", 3.0)
    monkeypatch.setattr(grpc_server, "_MOST_CONNECTIONS", 4)
    server, port = served_by_grpc()
    with ExitStack() as opened:
        opened.callback(lambda: server.stop(None).wait())
        opened_s = time.monotonic()
        connections = [opened.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(5)]
        for it in connections:
            it.sendall(begun)
        # Threads of gRPC accept them in no order.
        while [is_closed(it) for it in connections].count(True) != 1:
            assert time.monotonic() < opened_s + stays_s / 2
        while not all(is_closed(it) for it in connections):
            assert time.monotonic() < opened_s + 10 * stays_s
        assert time.monotonic() > opened_s + stays_s / 2
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            grpc.channel_ready_future(channel).result(30)


@pytest.mark.parametrize("call", ["SetConfig", "streamSetConfig", "GetConfig", "streamGetConfig"])
def test_calls_whose_requests_do_not_end_keep_nobody_out(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the server takes: nothing comes, or parts come for ever; the time is shorter than usual."""
    monkeypatch.setattr(grpc_server, "PATIENCE_S", 1.0)
    monkeypatch.setattr(grpc_server, "_MOST_CALLS", 2)
    server, port = served_by_grpc()
    with ExitStack() as opened:
        opened.callback(lambda: server.stop(None).wait())
        channel = opened.enter_context(grpc.insecure_channel(f"127.0.0.1:{port}"))
        ended = Event()
        opened.callback(ended.set)

        def parts() -> Iterator[bytes]:
            while not ended.wait(0.1):
                if call == "streamSetConfig":
                    yield otg_pb2.Data(datum=b"x").SerializeToString()

        ask = channel.stream_stream if call == "streamGetConfig" else channel.stream_unary
        began_s = time.monotonic()
        calls = [ask(f"/otg.Openapi/{call}") for _ in range(2)]
        asked = [
            it(parts(), timeout=20) if call == "streamGetConfig" else it.future(parts(), timeout=20) for it in calls
        ]
        assert [it.code() for it in asked] == [grpc.StatusCode.CANCELLED] * 2
        assert 0.5 < time.monotonic() - began_s < 10


def fill(server: OtgServer, opened: ExitStack, begun: bytes) -> list[socket.socket]:
    """Open as many connections as the server takes; each sends ``begun``, and reads what comes if that is a request."""
    place = urlsplit(server.places["http"])
    connections = []
    for _ in range(64):
        sent = opened.enter_context(socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30))
        sent.sendall(begun)
        if begun.startswith(b"GET"):
            assert sent.recv(1 << 16).startswith(b"HTTP/1.1 200")
        connections.append(sent)
    return connections


def is_closed(connection: socket.socket) -> bool:
    """Tell whether the other side has ended a connection."""
    connection.settimeout(0.01)
    try:
        while connection.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


def test_pages_in_a_browser_cannot_ask(server: OtgServer) -> None:
    assert post(server, b"{}", origin="http://example.com")[0] == 403
    assert post(server, b"{}", sec_fetch_site="cross-site")[0] == 403


def test_an_interrupt_ends_it_and_clients_go_on_after_a_restart() -> None:
    with serving_otg("back-to-back") as first:
        address = first.places["http"].removeprefix("http://")
        api = running(first)
        first.process.send_signal(signal.SIGTERM)
        assert first.process.wait(30) == 0
    with serving_otg("back-to-back", "--http", address) as second:
        assert len(api.get_config().ports) == 0
        api.set_config(two_ports(api))
        assert len(api.get_config().ports) == 2
        running(second)
        second.process.send_signal(signal.SIGINT)
        assert second.process.wait(30) == 0


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_the_script_of_examples_runs(server: OtgServer, transport: str) -> None:
    script = EXAMPLES / "loss_and_latency.py"
    words = [sys.executable, str(script), server.places[transport], transport]
    shown = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()
    assert shown[-2:] == [
        "p1 to p2: stopped, 3000 sent, 3000 received, loss 0 %, latency 10 ns",
        "p2 to p1: stopped, 1000 sent, 1000 received, loss 0 %, latency 10 ns",
    ]


def test_the_pytest_file_of_examples_passes(server: OtgServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTG_API", server.places["http"])
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLES / "test_rate_steps.py")]
    subprocess.run(words, check=True, timeout=120)


COMMANDS = {
    "no_address": ("--http", "localhost"),
    "no_port": ("--grpc", "127.0.0.1:70000"),
    "elsewhere_without_tls": ("--http", "0.0.0.0:8443"),
    "half_of_tls": ("--tls-key", "key.pem"),
    "no_certificate": ("--tls-key", "absent.pem", "--tls-certificate", "absent.pem"),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_options_that_do_not_fit_are_refused(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    GOLDEN.expect_refusal(case, ("otg", "--topology", "back-to-back", *COMMANDS[case]), tmp_path, capsys)


def test_locations_name_topologies_of_the_server(server: OtgServer) -> None:
    api = server.api()
    config = two_ports(api)
    for port, number in zip(config.ports, (3, 4), strict=True):
        port.location = f"p4mesh://wrs-18x1g.yaml/{number}"
    add_flow(config, "f").duration.fixed_packets.packets = 10
    api.set_config(config)
    transmit(api, "start")
    assert [flow_metrics(api)["f"].frames_rx for _ in range(3)][-1] == 10
    config.ports[0].location = "p4mesh://../../etc/passwd/1"
    (told,) = errors_of(lambda: api.set_config(config))
    assert told == ("ports are of several topologies (name one in all locations: p4mesh://TOPOLOGY/PORT)")
    config.ports[1].location = config.ports[0].location
    (told,) = errors_of(lambda: api.set_config(config))
    assert told.startswith("'../../etc/passwd' is no topology of the server (valid: atm-8x155m, back-to-back")


def test_configurations_and_metrics_come_in_parts_over_grpc(server: OtgServer) -> None:
    api = server.api("grpc")
    api.enable_grpc_streaming, api._chunk_size = True, 100
    config = two_ports(api)
    add_flow(config, "f")
    api.set_config(config)
    assert [flow.name for flow in api.get_config().flows] == ["f"]
    assert set(flow_metrics(api)) == {"f"}


def test_answers_over_http_do_not_wait_for_acknowledgements(server: OtgServer) -> None:
    """Goal: less than the 40 ms for which a client keeps one back, while it waits for the second part of an answer."""
    url, took_s = f"{server.places['http']}/config", []
    with requests.Session() as session:
        for _ in range(15):
            began_s = time.monotonic()
            session.post(url, data='{"surprise": 1}', timeout=30)
            took_s.append(time.monotonic() - began_s)
    assert median(took_s) < 0.03


def test_a_request_beyond_the_limit_is_refused(server: OtgServer) -> None:
    status, answer = post(server, b'{"' + b"x" * (5 << 20))
    assert (status, answer["errors"]) == (413, ["the request has more than 4 MiB: send less"])
