"""The extension module: conversions, errors, and the clock. The engine itself is tested in Rust."""

from __future__ import annotations

import json
from typing import Any

import pytest

from p4mesh._engine import ConfigError, EngineError, SimNetwork

GIGABIT = 1_000_000_000
BYTE_PS = 8_000


def document(**changes: Any) -> str:
    """Two hosts on a switch, and a tester without links."""
    ports = [{"number": 1, "rate_bps": GIGABIT}, {"number": 2, "rate_bps": GIGABIT}]
    network = {
        "tester": {"ports": ports, "loop": {"port": 509, "rate_bps": 100 * GIGABIT, "latency_ns": 500}},
        "nodes": [
            {"name": "hosts", "device": "host", "ports": ports},
            {"name": "dut", "device": "ethernet_switch", "ports": ports},
        ],
        "links": [{"from": {"node": "hosts", "port": port}, "to": {"node": "dut", "port": port}} for port in (1, 2)],
    }
    return json.dumps(network | changes)


def test_a_frame_crosses_a_switch_in_the_time_of_its_bits() -> None:
    network = SimNetwork(document())
    frame = bytes.fromhex("ffffffffffff020000000001") + bytes(48)
    network.host_send("hosts", 1, frame)
    assert network.in_flight() == 1
    assert network.settle(10**9) == (64 * BYTE_PS * 2 + 8 * BYTE_PS, 0, True)
    assert network.host_take("hosts") == [(2, (8 + 64) * BYTE_PS, frame)]
    assert network.truth()["nodes"]["dut"]["counters"]["flooded_group"] == 1


def test_the_clock_goes_where_it_is_sent_and_never_back() -> None:
    network = SimNetwork(document())
    assert network.run_until(5_000) == (5_000, 0)
    assert network.advance(1_000) == (6_000, 0)
    with pytest.raises(EngineError, match=r"^cannot run to 1 ps: the clock is at 6000 ps$"):
        network.run_until(1)


def test_errors_say_what_is_valid() -> None:
    network = SimNetwork(document())
    with pytest.raises(EngineError, match=r"^no port 3 on dut; valid: 1, 2$"):
        network.set_link("dut", 3, False)
    with pytest.raises(EngineError, match=r"^no device named 'x'; valid: hosts, dut$"):
        network.reset_device("x")


def test_a_document_is_refused_with_the_place_the_problem_and_what_is_valid() -> None:
    with pytest.raises(ConfigError, match=r"^nodes: invalid type: integer `3`, expected a sequence") as caught:
        SimNetwork(document(nodes=3))
    assert (caught.value.place, caught.value.valid) == (("nodes",), None)
    with pytest.raises(EngineError) as refused:
        SimNetwork(document(nodes=[{"name": "x", "device": "hub", "ports": []}], links=[]))
    error = refused.value
    assert isinstance(error, ConfigError)
    assert error.place == ("nodes", 0, "device")
    assert error.problem == "no device model named 'hub'"
    assert error.valid == "ethernet_switch, host, p4, router, tap"
    assert str(error) == f"nodes[0].device: {error.problem}; valid: {error.valid}"


def test_links_and_resets_change_what_a_frame_meets() -> None:
    ends = [("tester", 1, "dut", 1), ("tester", 2, "dut", 2)]
    links = [{"from": {"node": a, "port": p}, "to": {"node": b, "port": q}} for a, p, b, q in ends]
    network = SimNetwork(document(links=links))
    assert network.links() == [(1, True, 0), (2, True, 0)]
    network.set_link("dut", 2, False)
    network.set_link("dut", 2, False)
    assert network.links() == [(1, True, 0), (2, False, 1)]
    network.set_link("tester", 2, True)
    assert network.links() == [(1, True, 0), (2, True, 1)]
    network.reset_device("dut", off_ps=1_000)
    network.reseed(7)
    assert network.advance(2_000) == (2_000, 0)


def test_packet_outs_are_not_awaited_without_a_server() -> None:
    with pytest.raises(EngineError, match=r"no P4Runtime server runs"):
        SimNetwork(document()).advance(1, packet_outs=1)


def test_one_server_at_a_time() -> None:
    network = SimNetwork(document())
    port = network.serve("127.0.0.1:0", 1)
    assert 1024 <= port < 65536
    with pytest.raises(EngineError, match=rf"^a server runs on 127.0.0.1:{port} already; call stop"):
        network.serve("127.0.0.1:0", 1)
    with pytest.raises(EngineError, match=r"^the server handled 0 of 1 packet-outs in 0.01 s$"):
        network.advance(1, packet_outs=1, timeout_s=0.01)
    network.stop()
    network.stop()
    assert network.serve(f"127.0.0.1:{port}") == port
    network.stop()
    with pytest.raises(EngineError, match=r"^address 'nonsense': .*; valid: HOST:PORT or unix:PATH$"):
        network.serve("nonsense")
