"""``p4mesh switch``: options, refusals, and the switch as a process on pcap files."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from p4runtime_support import JSON, P4INFO, ethernet

from p4mesh.errors import P4MeshError, UsageError
from p4mesh.p4runtime import Client
from p4mesh.switch.command import main
from p4mesh.switch.options import parse

FLAGS_OF_TUTORIALS = (
    "-i 1@s1-eth1 -i 2@s1-eth2 --pcap --nanolog ipc:///tmp/log.ipc --device-id 3 s1.json --log-console -L debug"
    " --thrift-port 9090 -- --grpc-server-addr 0.0.0.0:50051 --cpu-port 255"
)


def test_a_command_line_for_simple_switch_grpc_is_understood() -> None:
    options = parse(FLAGS_OF_TUTORIALS.split())
    assert options.interfaces == [(1, "s1-eth1"), (2, "s1-eth2")]
    assert (options.device_id, options.cpu_port, options.drop_port) == (3, 255, 511)
    assert options.address == "0.0.0.0:50051"
    assert options.program == Path("s1.json")
    assert set(options.without_effect) == {"--pcap", "--nanolog", "--log-console", "-L", "--thrift-port"}


def test_defaults_are_those_of_simple_switch_grpc() -> None:
    options = parse(["--no-p4"])
    assert (options.address, options.device_id, options.cpu_port) == ("0.0.0.0:9559", 0, None)
    assert options.program is None and options.use_files_s is None


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("", "no program is given", "give FILE.json, or --no-p4 to wait for one by P4Runtime"),
        ("--no-p4 x.json", "--no-p4 excludes a program, got x.json", "leave one of them out"),
        ("--no-p4 -i 0", "-i 0 is not PORT@IFACE", "for example: -i 0@veth0"),
        ("--no-p4 -i a@b", "-i a@b is not PORT@IFACE", "for example: -i 0@veth0"),
        ("--no-p4 -i 512@b", "-i 512@b: port 512 does not exist", "valid: 0 to 511"),
        ("--no-p4 -i 0@a -i 0@b", "-i 0@b: port or interface is used by 0@a", ""),
        ("--no-p4 -i 9@a --cpu-port 9", "-i 9@a: port 9 is the CPU port", "use another port, or another --cpu-port"),
        ("--no-p4 --cpu-port 0", "--cpu-port is 0", "valid: 1 to 511"),
        ("--no-p4 --use-files -1", "--use-files is -1", "valid: 0 or more seconds"),
        ("--no-p4 --device-id -1", "--device-id is -1", "valid: 0 or more"),
        ("--no-p4 --grpc-server-addr 9559", "--grpc-server-addr 9559 is not HOST:PORT", "for example: 0.0.0.0:9559"),
        ("--no-p4 --grpc-server-ssl", "--grpc-server-ssl is not supported", "see: p4mesh switch --help"),
        ("--no-p4 --nonsense", "unrecognized arguments: --nonsense", "see: p4mesh switch --help"),
    ],
)
def test_wrong_arguments(words: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(words.split())
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_what_the_machine_does_not_have(tmp_path: Path) -> None:
    missing = tmp_path / "none.json"
    with pytest.raises(P4MeshError, match=r"cannot read .*: No such file") as caught:
        main([str(missing)])
    assert caught.value.exit_code == 3
    with pytest.raises(P4MeshError, match="interface 'nosuch0': no such interface"):
        main(["--no-p4", "-i", "0@nosuch0"])
    missing.write_text("{}")
    with pytest.raises(P4MeshError, match="the switch does not start"):
        main([str(missing)])


def write_pcap(path: Path, frames: list[tuple[int, bytes]]) -> None:
    """Write (time in microseconds, frame) pairs."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for time_us, frame in frames:
        out += struct.pack("<IIII", time_us // 10**6, time_us % 10**6, len(frame), len(frame)) + frame
    path.write_bytes(out)


def read_pcap(path: Path) -> list[bytes]:
    data = path.read_bytes()
    frames, place = [], 24
    while place < len(data):
        length = struct.unpack_from("<I", data, place + 8)[0]
        frames.append(data[place + 16 : place + 16 + length])
        place += 16 + length
    return frames


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A switch process on two pairs of pcap files, and the address that it listens on."""
    write_pcap(tmp_path / "a_in.pcap", [(0, ethernet(1)), (20, ethernet(2))])
    write_pcap(tmp_path / "b_in.pcap", [(10, ethernet(1, source=9))])
    code = "import sys; from p4mesh.switch.command import main; sys.exit(main(sys.argv[1:]))"
    words = ["--no-p4", "-i", "0@a", "-i", "1@b", "--use-files", "2", "--log-console"]
    words += ["--", "--grpc-server-addr", "127.0.0.1:0", "--cpu-port", "510"]
    running = subprocess.Popen(
        [sys.executable, "-c", code, *words], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stderr is not None
    try:
        line = ""
        while not line.startswith("Server listening on "):
            line = running.stderr.readline()
            assert line, "the switch ended"
        yield running, line.split()[-1]
    finally:
        running.kill()
        running.wait()


def test_the_switch_forwards_files_and_ends_on_a_signal(
    process: tuple[subprocess.Popen[str], str], tmp_path: Path
) -> None:
    running, address = process
    with Client(address, 0) as client:
        client.set_pipeline(P4INFO, JSON)
        s = client.schema
        client.insert([s.table_entry("forward", {"destination": n}, "forward_to", {"port": 2 - n}) for n in (1, 2)])
        client.insert([s.table_entry("acl", {"ipv4_valid": 0}, "count_only", priority=1)])
        for _ in range(200):
            (counter,) = client.read(s.direct_counter("acl"))
            if counter.direct_counter_entry.data.packet_count == 3:
                break
            assert running.poll() is None
            client.take_packet_ins(1, timeout_s=0.05)
    running.send_signal(signal.SIGTERM)
    assert running.wait(timeout=10) == 0
    assert running.stdout is not None and running.stdout.read() == ""
    assert read_pcap(tmp_path / "a_out.pcap") == [ethernet(2)]
    assert read_pcap(tmp_path / "b_out.pcap") == [ethernet(1), ethernet(1, source=9)]
