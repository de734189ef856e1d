"""Where our codes differ from those of simple_switch_grpc, and only there.

Goal: docs/P4RUNTIME.md claims which refusals differ. Method: send every wrong entity of
``test_p4runtime_errors`` to simple_switch_grpc too and compare its code with our golden file; the
differences must be those of ``golden/p4runtime_bmv2.txt``. Needs simple_switch_grpc.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from p4runtime_support import CPU_PORT, DEVICE_ID, JSON, P4INFO
from test_p4runtime_errors import GOLDEN, other_cases, read_cases, table_cases

from p4mesh.p4runtime import Client, P4RuntimeError, ReadError, WriteError

SIMPLE_SWITCH = shutil.which("simple_switch_grpc")
DIFFERENCES = Path(__file__).parent / "golden/p4runtime_bmv2.txt"

pytestmark = pytest.mark.skipif(SIMPLE_SWITCH is None, reason="simple_switch_grpc is not installed")


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
        try:
            if name in writes:
                bmv2.write([writes[name]])
            else:
                list(bmv2.read(read_cases(schema)[name]))
            theirs = "OK"
            bmv2.set_pipeline(P4INFO, JSON)
        except P4RuntimeError as error:
            theirs = code(error)
        ours = (GOLDEN / f"{name}.txt").read_text().partition(":")[0]
        if ours != theirs:
            lines.append(f"{name}: {ours}, simple_switch_grpc {theirs}\n")
    text = "".join(sorted(lines))
    if os.environ.get("P4MESH_UPDATE_GOLDEN"):
        DIFFERENCES.write_text(text)
    assert text == DIFFERENCES.read_text()
