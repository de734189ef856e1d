"""Frames of the CPU port: the headers of packet I/O, and a network interface of Linux."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from queue import Empty, Queue

import pytest

from p4mesh.bfruntime import BfConnectError, BfSchemaError, CpuPort, PacketSocket, cpu_port
from p4mesh.p4runtime import load_p4info
from p4mesh.p4runtime.info import Info
from p4mesh.tester.contract import P4SRC

INFO = Info(load_p4info(P4SRC / "compiled" / "p4mesh.tofino1.p4info.txtpb"))
LOOPBACK = "lo"


class Wire:
    """A FrameSocket whose two ends are lists."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.coming: Queue[bytes] = Queue()

    def send(self, frame: bytes) -> None:
        self.sent.append(frame)

    def receive(self, timeout_s: float) -> bytes | None:
        try:
            return self.coming.get(timeout=timeout_s)
        except Empty:
            return None

    def lost(self) -> dict[str, int]:
        return {"rx_errors of wire": 7}

    def close(self) -> None:
        pass


def test_headers_are_those_of_the_program_byte_for_byte() -> None:
    wire = Wire()
    with CpuPort(wire) as cpu:
        cpu.use(INFO)
        cpu.send(b"\xaa" * 50, {"kind": 3, "stream": 7, "port": 68, "value": 0x01020304, "count": 9})
        cpu.send(b"", {"kind": 2})
        wire.coming.put(bytes.fromhex("0400 0084 0000 1234 5678 cafe"))
        packet = cpu.take(5)
        assert cpu.take(0) is None
    assert wire.sent[0].hex() == "03000700" + "0044" + "01020304" + "00000009" + "00000000" + "aa" * 50
    assert wire.sent[1] == b"\2" + bytes(59), "short frames are padded to 60 bytes"
    assert packet is not None
    assert (packet.payload.hex(), packet.metadata) == (
        "cafe",
        {"kind": 4, "flags": 0, "port": 132, "time": 0x12345678},
    )


def test_a_field_that_the_header_has_not_is_refused() -> None:
    with CpuPort(Wire()) as cpu:
        cpu.use(INFO)
        with pytest.raises(BfSchemaError, match="packet_out has no field 'colour'"):
            cpu.send(b"", {"colour": 1})


def test_an_interface_that_does_not_exist_is_one_clear_message() -> None:
    _need_raw_sockets()
    with pytest.raises(BfConnectError, match="CPU interface p4m-none: ") as caught:
        PacketSocket("p4m-none")
    assert "tester.tofino.cpu_interface" in caught.value.hint


@pytest.mark.parametrize("types", ["8100", "88a8", "0004"])
def test_frames_pass_an_interface_as_they_are_whatever_stands_where_linux_looks_for_tags(types: str) -> None:
    """Goal: bytes 12 and 13 of a frame are a part of a time or a payload; Linux takes tags out of what it receives."""
    _need_raw_sockets()
    mark = os.urandom(6)
    frame = b"\x02" + mark + bytes(5) + bytes.fromhex(types) + b"\x00\x2a" + bytes(range(60))
    receiver, sender = PacketSocket(LOOPBACK), PacketSocket(LOOPBACK)
    try:
        sender.send(frame)
        end = time.monotonic() + 5
        while time.monotonic() < end:
            found = receiver.receive(0.1)
            if found is not None and found[1:7] == mark:
                break
        assert found == frame
    finally:
        receiver.close()
        sender.close()


def test_frames_that_nobody_fetches_in_time_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: what the socket has no room for is known afterwards, however often it is asked."""
    _need_raw_sockets()
    monkeypatch.setattr(cpu_port, "_RECEIVE_BYTES", 1)
    receiver, sender = PacketSocket(LOOPBACK), PacketSocket(LOOPBACK)
    try:
        assert receiver.lost() == {}
        for _ in range(200):
            sender.send(b"\x03" * 1000)
        first = receiver.lost()
        assert first.keys() == {"the socket on lo"} and first["the socket on lo"] > 100
        assert receiver.lost()["the socket on lo"] >= first["the socket on lo"]
    finally:
        receiver.close()
        sender.close()


def test_frames_that_the_interface_loses_are_counted_from_the_start_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _need_raw_sockets()
    statistics = tmp_path / LOOPBACK / "statistics"
    statistics.mkdir(parents=True)
    (statistics / "rx_dropped").write_text("5\n")
    (statistics / "rx_errors").write_text("6\n")
    monkeypatch.setattr(cpu_port, "_INTERFACES", tmp_path)
    port = PacketSocket(LOOPBACK)
    try:
        assert port.lost() == {}
        (statistics / "rx_dropped").write_text("9\n")
        assert port.lost() == {"rx_dropped of lo": 4}
    finally:
        port.close()


def test_the_client_passes_on_what_the_interface_has_lost() -> None:
    assert CpuPort(Wire()).lost() == {"rx_errors of wire": 7}


def _need_raw_sockets() -> None:
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except PermissionError:
        pytest.skip("no permission for raw sockets")
