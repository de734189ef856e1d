"""Requests that try to take the memory of a P4Runtime server: ``python p4runtime_load.py``.

Each shape goes to a fresh ``p4mesh switch``; printed are the largest memory that the server ever held (VmHWM), in MiB
above that of a server at rest, the time that it took, and the codes of the answers.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
from support.p4runtime_support import PROGRAMS
from support.processes import within

from p4mesh.p4runtime import Client

MIB = 1 << 20
_SERVICE = "/p4.v1.P4Runtime/"
_START = "import sys; from p4mesh.switch.command import main; sys.exit(main(sys.argv[1:]))"
_MAX_ADDRESS_SPACE = 4 << 30
"""Of the server: a fault must not take the memory of the machine."""


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(tag: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return varint(tag << 3 | 2) + varint(len(content)) + content


def empty_updates(length: int) -> bytes:
    """A WriteRequest of so many bytes, all of them updates without content, from nobody."""
    return b"\x22\x00" * (length // 2)


def large_update(length: int) -> bytes:
    """A WriteRequest from nobody with one update of so many bytes."""
    return field(4, bytes(length))


def large_value(table_id: int, length: int) -> bytes:
    """A WriteRequest of the primary (election id 1) whose one match value has so many bytes."""
    exact = field(2, field(1, b"\x7f" * length))
    entry = b"\x08" + varint(table_id) + field(2, b"\x08\x01" + exact)
    return field(3, b"\x10\x01") + field(4, b"\x08\x01" + field(2, field(2, entry)))


def empty_matches(table_id: int, length: int) -> bytes:
    """A WriteRequest of the primary with an entry of so many bytes, all of them matches without content."""
    entry = b"\x08" + varint(table_id) + b"\x12\x00" * (length // 2)
    return field(3, b"\x10\x01") + field(4, b"\x08\x01" + field(2, field(2, entry)))


def pipeline_config(p4info: bytes, program: bytes, action: int = 1) -> bytes:
    """A SetForwardingPipelineConfigRequest of the primary, by default one that only verifies."""
    config = field(1, p4info) + field(2, program)
    return field(3, b"\x10\x01") + b"\x20" + varint(action) + field(5, config)


def many_reads(table_id: int, count: int) -> bytes:
    """A ReadRequest that asks so many times for all entries of a table."""
    return field(2, field(2, b"\x08" + varint(table_id))) * count


class Server:
    """A ``p4mesh switch`` that runs ``large.p4``, as a process."""

    def __init__(self, *words: str, open_files: int = 1024) -> None:
        command = [sys.executable, "-c", _START, "--no-p4", "--grpc-server-addr", "127.0.0.1:0", *words]
        limited = within(command, as_=_MAX_ADDRESS_SPACE, nofile=open_files)
        self._process = subprocess.Popen(limited, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        line = ""
        while not line.startswith("Server listening on "):
            line = self._process.stderr.readline()
            assert line, "the switch ended"
        self.address = line.split()[-1]
        self._at_rest_mib = self._peak_mib()

    def _peak_mib(self) -> float:
        for line in Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return float("inf")

    def taken_mib(self) -> float:
        """The largest memory ever held, above that at the start; infinite when the server has died."""
        return self._peak_mib() - self._at_rest_mib if self._process.poll() is None else float("inf")

    @contextmanager
    def primary(self, entries: int = 0) -> Iterator[Client]:
        """Yield the primary controller (election id 1) after so many entries of ``exact_table`` were written."""
        with Client(self.address, 0, timeout_s=60) as client:
            client.set_pipeline(PROGRAMS / "large.p4info.txtpb", PROGRAMS / "large.json")
            s = client.schema
            client.insert(
                [
                    s.table_entry("exact_table", {"destination": n}, "set", {"port": 1, "flow": n})
                    for n in range(entries)
                ]
            )
            yield client

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


def call(address: str, method: str, request: bytes, timeout_s: float = 60) -> str:
    """Send bytes as a request of their own connection; return the code of the answer, and its text."""
    options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(address, [*options, ("grpc.use_local_subchannel_pool", 1)]) as channel:
        try:
            channel.unary_unary(_SERVICE + method)(request, timeout=timeout_s)
        except grpc.RpcError as error:
            return f"{error.code().name}: {error.details()}"
    return "OK: "


def call_without_end(address: str, method: str, request: bytes, wait_s: float) -> str:
    """Send a request and keep it open for a while, as a client that has more to say; return the code of the answer."""
    options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]

    def requests() -> Iterator[bytes]:
        yield request
        time.sleep(wait_s)

    with grpc.insecure_channel(address, options) as channel:
        try:
            channel.stream_unary(_SERVICE + method)(requests(), timeout=60)
        except grpc.RpcError as error:
            return f"{error.code().name}: {error.details()}"
    return "OK: "


def parallel(count: int, send: Callable[[], str]) -> list[str]:
    with ThreadPoolExecutor(count) as pool:
        futures: list[Future[str]] = [pool.submit(send) for _ in range(count)]
        return [future.result() for future in futures]


@contextmanager
def unread(address: str, request: bytes, timeout_s: float | None = None) -> Iterator[Iterator[bytes]]:
    """Yield the answers to a Read, none of which is taken before the caller asks."""
    with grpc.insecure_channel(address, [("grpc.max_receive_message_length", -1)]) as channel:
        answers = channel.unary_stream(_SERVICE + "Read")(request, timeout=timeout_s)
        yield answers
        answers.cancel()


def _show(name: str, server: Server, answers: list[str], start: float) -> None:
    codes = sorted({answer.partition(":")[0] for answer in answers})
    seconds = time.perf_counter() - start
    print(f"{name:34} {server.taken_mib():8.0f} MiB  {seconds:6.2f} s  {' '.join(codes)}", flush=True)


def main() -> None:
    for size_mib in (3.8, 38, 114):
        server, start = Server(), time.perf_counter()
        _show(
            f"empty updates, {size_mib:g} MiB",
            server,
            [call(server.address, "Write", empty_updates(int(size_mib * MIB)))],
            start,
        )
        server.stop()
    server = Server()
    with server.primary(entries=1_000) as client:
        table_id = client.schema.table("exact_table").table_entry.table_id
        start = time.perf_counter()
        with unread(server.address, many_reads(table_id, 20_000)):
            time.sleep(10)
            _show("Read of 20,000 tables, unread", server, [], start)
        server.stop()
    server, start = Server(), time.perf_counter()
    request = large_update(240 * MIB)
    _show("six Writes of 240 MiB", server, parallel(6, lambda: call(server.address, "Write", request)), start)
    server.stop()
    server, start = Server(), time.perf_counter()
    request = large_value(1, 240 * MIB)
    answers = parallel(6, lambda: call_without_end(server.address, "Write", request, 10))
    _show("six Writes of 240 MiB, kept open", server, answers, start)
    server.stop()
    server = Server()
    with server.primary() as client:
        table_id = client.schema.table("exact_table").table_entry.table_id
        start = time.perf_counter()
        _show("one value of 200 MB", server, [call(server.address, "Write", large_value(table_id, 200 * 10**6))], start)
    server.stop()


if __name__ == "__main__":
    main()
