"""Compares our codes with those of simple_switch_grpc: they differ only where the list says so.

Goal: docs/P4RUNTIME.md claims which refusals differ. Method: send every wrong entity of
``p4runtime_cases`` to simple_switch_grpc too and compare its code with our golden text; the
differences must be those of ``golden/p4runtime_bmv2.txt``. Needs simple_switch_grpc.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.golden import golden_text
from support.p4runtime_cases import GOLDEN, other_cases, read_cases, table_cases
from support.p4runtime_support import CPU_PORT, DEVICE_ID, JSON, P4INFO, Switch, ethernet

from p4mesh.p4runtime import Client, CounterData, MeterConfig, P4RuntimeError, ReadError, WriteError

SIMPLE_SWITCH = shutil.which("simple_switch_grpc")
DIFFERENCES = Path(__file__).parents[1] / "golden/p4runtime_bmv2.txt"

pytestmark = [
    pytest.mark.wall_clock,
    pytest.mark.skipif(SIMPLE_SWITCH is None, reason="simple_switch_grpc is not installed"),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def bmv2() -> Iterator[Client]:
    address = f"127.0.0.1:{free_port()}"
    words = [str(SIMPLE_SWITCH), "--no-p4", "--device-id", str(DEVICE_ID)]
    words += ["--", "--grpc-server-addr", address, "--cpu-port", str(CPU_PORT)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with Client(address, DEVICE_ID, timeout_s=20) as client:
            client.set_pipeline(P4INFO, JSON)
            yield client
    finally:
        process.terminate()
        process.wait()


def code(error: P4RuntimeError) -> str:
    if isinstance(error, WriteError | ReadError):
        return error.failures[0].code
    # simple_switch_grpc answers a read with one code, without details.
    return str(error).rpartition("(")[2].rstrip(")")


def test_codes_differ_only_where_we_say_so(bmv2: Client) -> None:
    schema = bmv2.schema
    lines = []
    writes = table_cases(schema) | other_cases(schema)
    for name in [*writes, *read_cases(schema)]:
        # Some refused requests leave something behind.
        bmv2.set_pipeline(P4INFO, JSON)
        try:
            if name in writes:
                bmv2.write([writes[name]])
            else:
                list(bmv2.read(read_cases(schema)[name]))
            theirs = "OK"
        except P4RuntimeError as error:
            theirs = code(error)
        ours = GOLDEN.cases()[name].partition(":")[0]
        if ours != theirs:
            lines.append(f"{name}: {ours}, simple_switch_grpc {theirs}\n")
    text = "".join(sorted(lines))
    assert text == golden_text(DIFFERENCES, text)


def test_packet_io_is_alike(bmv2: Client, client: Client, switch: Switch) -> None:
    """Unaligned controller headers: a packet-out comes back as a packet-in, on both."""
    for controller in (bmv2, client):
        entries = [
            controller.schema.table_entry("forward", {"destination": n}, "to_controller", {"tag": 0x8000 + n})
            for n in range(3)
        ]
        controller.insert(entries)
        for n in range(3):
            controller.packet_out(ethernet(n), submit=1, egress_port=0x1FF, _pad=0x3F)
    switch.run(packet_outs=client.packet_outs_sent)
    assert bmv2.take_packet_ins(3) == client.take_packet_ins(3)


def test_entries_read_back_alike(bmv2: Client, client: Client) -> None:
    found = []
    for controller in (bmv2, client):
        s = controller.schema
        one_shot = [("forward_to", {"port": 1}, 1), ("rewrite", {"destination": 7, "port": 2}, 3)]
        controller.insert(
            [
                s.table_entry("forward", {"destination": 0x00FF}, "forward_to", {"port": 1}, idle_timeout_ns=10**9),
                s.table_entry("route", {"destination": "10.0.0.0/8"}, "rewrite", {"destination": 0, "port": 1}),
                s.table_entry("acl", {"port": (1, 3), "ttl": (2, 9), "ipv4_valid": 1}, "deny", priority=5),
                s.table_entry("acl", {"protocol": 6, "ipv4_valid": 0}, "count_only", priority=6, metadata=b"m"),
                s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, action_set=one_shot),
                s.member("ports", 5, "forward_to", {"port": 1}),
                s.multicast_group(4, [(1, 5)]),
                s.clone_session(4, [(1, 1)]),
            ]
        )
        controller.insert([s.table_entry("by_port", {"port": 3}, member=5)])
        controller.modify(
            [s.counter("port_counter", 2, CounterData(4, 5)), s.meter("rate", 1, MeterConfig(1, 2, 3, 4))]
        )
        wanted = [s.table(table) for table in ("forward", "route", "acl", "ecmp", "by_port")]
        wanted += [s.table("forward", default=True), s.member("ports", 0), s.multicast_group(0), s.clone_session(0)]
        wanted += [s.counter("port_counter", 2), s.meter("rate", 1)]
        found.append([sorted(map(str, controller.read(entity))) for entity in wanted])
    assert found[0] == found[1]
