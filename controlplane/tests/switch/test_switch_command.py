"""``p4mesh switch``: options, refusals, and the switch as a process on pcap files."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.certificates import make_certificates
from support.p4runtime_support import DEVICE_ID, JSON, P4INFO, ethernet, ipv4

from p4mesh.errors import P4MeshError, UsageError
from p4mesh.p4runtime import Client, TlsCredentials
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
    assert parse(["--no-p4", "x.json"]).program is None
    assert parse(["--no-p4", "x.json"]).without_effect == ["x.json, beside --no-p4,"]
    assert (options.address, options.device_id, options.cpu_port) == ("0.0.0.0:9559", 0, None)
    assert options.program is None and options.use_files_s is None


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("", "no program is given", "give FILE.json, or --no-p4 to wait for one by P4Runtime"),
        ("--no-p4 -i 0", "-i 0 is not PORT@IFACE", "for example: -i 0@veth0"),
        ("--no-p4 -i a@b", "-i a@b is not PORT@IFACE", "for example: -i 0@veth0"),
        ("--no-p4 -i 512@b", "-i 512@b: port 512 does not exist", "valid: 0 to 511"),
        ("--no-p4 -i 0@a -i 0@b", "-i 0@b: port or interface is used by 0@a", ""),
        ("--no-p4 -i 9@a --cpu-port 9", "-i 9@a: port 9 is the CPU port", "use another port, or another --cpu-port"),
        ("--no-p4 --cpu-port 0", "--cpu-port is 0", "valid: 1 to 511"),
        ("--no-p4 --cpu-port 511", "--cpu-port 511 is the drop port", "use another port, or another --drop-port"),
        ("--no-p4 --use-files -1", "--use-files is -1", "valid: 0 or more seconds"),
        ("--no-p4 --device-id -1", "--device-id is -1", "valid: 0 or more"),
        (
            "--no-p4 --grpc-server-addr 9559",
            "--grpc-server-addr 9559 is not HOST:PORT or unix:PATH",
            "for example: 0.0.0.0:9559",
        ),
        (
            "--no-p4 --grpc-server-ssl",
            "--grpc-server-ssl needs --grpc-server-cert",
            "for example: --grpc-server-cert FILE.pem",
        ),
        (
            "--no-p4 --grpc-server-ssl --grpc-server-cert c",
            "--grpc-server-ssl needs --grpc-server-key",
            "for example: --grpc-server-key FILE.pem",
        ),
        (
            "--no-p4 --grpc-server-ssl --grpc-server-cert c --grpc-server-key k --grpc-server-with-client-auth",
            "--grpc-server-ssl needs --grpc-server-cacert",
            "for example: --grpc-server-cacert FILE.pem",
        ),
        (
            "--no-p4 --grpc-server-key k",
            "--grpc-server-key is given without TLS",
            "add --grpc-server-ssl, or leave it out",
        ),
        (
            "--no-p4 --grpc-server-with-client-auth",
            "--grpc-server-with-client-auth is given without TLS",
            "add --grpc-server-ssl, or leave it out",
        ),
        ("--no-p4 --restore-state x", "--restore-state is not supported", "see: p4mesh switch --help"),
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


def pcap_header(link_type: int = 0) -> bytes:
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type)


def pcap_record(time_us: int, frame: bytes) -> bytes:
    return struct.pack("<IIII", time_us // 10**6, time_us % 10**6, len(frame), len(frame)) + frame


def write_pcap(path: Path, frames: list[tuple[int, bytes]]) -> None:
    """Write (time in microseconds, frame) pairs."""
    path.write_bytes(pcap_header(1) + b"".join(pcap_record(*frame) for frame in frames))


def read_pcap(path: Path) -> list[bytes]:
    data = path.read_bytes()
    frames, place = [], 24
    while place < len(data):
        length = struct.unpack_from("<I", data, place + 8)[0]
        frames.append(data[place + 16 : place + 16 + length])
        place += 16 + length
    return frames


def start_switch(directory: Path, *words: str, program: str = "p4mesh") -> subprocess.Popen[str]:
    """Start `p4mesh switch`, or simple_switch_grpc, in a directory."""
    code = "import sys; from p4mesh.switch.command import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code] if program == "p4mesh" else [program]
    return subprocess.Popen(
        [*command, *words], cwd=directory, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def wait_listening(running: subprocess.Popen[str]) -> str:
    assert running.stderr is not None
    line = ""
    while not line.startswith("Server listening on "):
        line = running.stderr.readline()
        assert line, "the switch ended"
    return line.split()[-1]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A switch process on two pairs of pcap files, and the address that it listens on."""
    write_pcap(tmp_path / "a_in.pcap", [(0, ethernet(1)), (20, ethernet(2))])
    write_pcap(tmp_path / "b_in.pcap", [(10, ethernet(1, source=9))])
    words = ["--no-p4", "-i", "0@a", "-i", "1@b", "--use-files", "2", "--log-console"]
    running = start_switch(tmp_path, *words, "--", "--grpc-server-addr", "127.0.0.1:0", "--cpu-port", "510")
    try:
        yield running, wait_listening(running)
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


def wait_for_frames(path: Path, count: int, timeout_s: float = 20.0) -> list[bytes]:
    """Return the frames of an output once there are so many, or when no more come."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        frames = read_pcap(path) if path.exists() and path.stat().st_size >= 24 else []
        if len(frames) >= count:
            return frames
        time.sleep(0.02)
    return read_pcap(path)


def test_a_socket_in_the_file_system(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/p4runtime"
    running = start_switch(tmp_path, "--no-p4", "--grpc-server-addr", address)
    try:
        assert wait_listening(running) == address
        with Client(address, 0) as client:
            client.set_pipeline(P4INFO, JSON)
            assert client.get_pipeline().HasField("p4info")
    finally:
        running.terminate()
    assert running.wait(timeout=10) == 0
    assert not (tmp_path / "p4runtime").exists()


def test_the_server_uses_tls_with_the_options_of_simple_switch_grpc(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    words = f"--no-p4 --grpc-server-addr 127.0.0.1:0 --grpc-server-ssl --grpc-server-cert {made.server}"
    words += f" --grpc-server-key {made.server_key} --grpc-server-with-client-auth --grpc-server-cacert {made.ca}"
    running = start_switch(tmp_path, *words.split())
    try:
        tls = TlsCredentials(made.ca, made.client, made.client_key)
        with Client(wait_listening(running), 0, tls=tls) as client:
            client.set_pipeline(P4INFO, JSON)
            assert client.get_pipeline().HasField("p4info")
    finally:
        running.terminate()
    assert running.wait(timeout=10) == 0
    with pytest.raises(UsageError, match=r"^cannot read .*none\.pem: No such file or directory$"):
        main(words.replace(str(made.server_key), f"{tmp_path}/none.pem").split())


REFLECT = Path(__file__).parents[3] / "engine/differential/compiled/parse_short.json"


def test_pipes_are_read_while_they_are_written(tmp_path: Path) -> None:
    """Goal: test scripts for simple_switch that feed it by pipes, of link type 0, get each answer at once."""
    for name in ("p0", "p1"):
        os.mkfifo(tmp_path / f"{name}_in.pcap")
    words = ["--use-files", "0", "-i", "1@p1", "-i", "0@p0", "--grpc-server-addr", f"unix:{tmp_path}/s", str(REFLECT)]
    running = start_switch(tmp_path, *words)
    try:
        # Opened in the order of the ports, each with its header at once, as simple_switch reads them.
        with (tmp_path / "p0_in.pcap").open("wb", 0) as first:
            first.write(pcap_header())
            with (tmp_path / "p1_in.pcap").open("wb", 0) as second:
                second.write(pcap_header())
                for time_us in (1, 3):
                    first.write(pcap_record(time_us, bytes(64)))
                    second.write(pcap_record(time_us + 1, bytes(64)))
                    assert len(wait_for_frames(tmp_path / "p1_out.pcap", time_us)) >= time_us
        assert len(wait_for_frames(tmp_path / "p1_out.pcap", 4)) == 4
    finally:
        running.terminate()
    assert running.wait(timeout=10) == 0


@pytest.fixture
def cables() -> Iterator[dict[int, str]]:
    """Pairs of virtual interfaces for ports 1 to 3; returns the switch's ends, the others end with "x"."""
    names = {port: f"pm{os.getpid() % 10**6}-{port}" for port in (1, 2, 3)}
    try:
        for name in names.values():
            for words in (f"add {name} type veth peer name {name}x", f"set {name} up", f"set {name}x up"):
                subprocess.run(["ip", "link", *words.split()], check=True)
        yield names
    finally:
        for name in names.values():
            subprocess.run(["ip", "link", "del", name], check=False, stderr=subprocess.DEVNULL)


@pytest.mark.skipif(os.geteuid() != 0, reason="virtual interfaces need root")
def test_a_cable_that_is_pulled_out_leaves_its_group(cables: dict[int, str]) -> None:
    """Goal: members that watch a port hear of its carrier. Method: packet-outs through a group, counted per port."""
    from p4mesh import _engine

    switch = _engine.LiveSwitch(list(cables.items()))
    far = {port: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for port in cables}
    try:
        for port, one in far.items():
            one.bind((f"{cables[port]}x", 0))
            one.settimeout(0.1)
        address = f"127.0.0.1:{switch.serve('127.0.0.1:0', DEVICE_ID)}"
        switch.start()
        with Client(address, DEVICE_ID) as client:
            client.set_pipeline(P4INFO, JSON)
            s = client.schema
            group = s.group("next_hops", 9, {1: 1, 2: 1, 3: 1}, max_size=8)
            for member in group.action_profile_group.members:
                member.watch_port = bytes([member.member_id])
            client.insert([s.member("next_hops", port, "forward_to", {"port": port}) for port in cables])
            client.insert([group, s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, group=9)])

            def ports_of_flows() -> set[int]:
                for number in range(30):
                    client.packet_out(ipv4("10.1.2.3", identification=number * 7919 % 65536), submit=1)
                found = set()
                for port, one in far.items():
                    try:
                        while True:
                            if one.recv(2048)[12:14] == b"\x08\x00":
                                found.add(port)
                    except OSError:
                        continue
                return found

            def until(expected: set[int]) -> None:
                end = time.monotonic() + 20
                while (found := ports_of_flows()) != expected:
                    assert time.monotonic() < end, found

            until({1, 2, 3})
            subprocess.run(["ip", "link", "set", f"{cables[2]}x", "down"], check=True)
            until({1, 3})
            subprocess.run(["ip", "link", "set", f"{cables[2]}x", "up"], check=True)
            until({1, 2, 3})
    finally:
        switch.stop()
        for one in far.values():
            one.close()


@pytest.mark.skipif(shutil.which("simple_switch_grpc") is None, reason="simple_switch_grpc is not installed")
@pytest.mark.parametrize("program", ["parse_short", "expr_bits", "metadata", "drop"])
def test_files_are_handled_as_by_simple_switch_grpc(program: str, tmp_path: Path) -> None:
    """Goal: the same output files. Method: frames of 0 bytes and more, equal times, times that go back."""
    generator = random.Random(program)
    # Together no more than a queue of simple_switch holds (64): it reads the files faster than it forwards.
    frames_per_port = 20
    words = ["--use-files", "0", *(word for port in (3, 1, 2) for word in ("-i", f"{port}@p{port}"))]
    outputs: dict[str, Any] = {}
    for kind in ("simple_switch_grpc", "p4mesh"):
        generator.seed(program)
        directory = tmp_path / kind
        directory.mkdir()
        for port in (1, 2, 3):
            times = [generator.randrange(100) for _ in range(frames_per_port)]
            frames = [generator.randbytes(generator.choice((0, 1, 2, 5, 14, 30, 60, 1514))) for _ in times]
            records = b"".join(map(pcap_record, times, frames))
            (directory / f"p{port}_in.pcap").write_bytes(pcap_header(generator.choice((0, 1))) + records)
        running = start_switch(
            directory,
            *words,
            str(REFLECT.with_name(f"{program}.json")),
            "--",
            "--grpc-server-addr",
            f"unix:{directory}/s",
            program=kind,
        )
        try:
            paths = {port: directory / f"p{port}_out.pcap" for port in (1, 2, 3)}
            expected = outputs.get("simple_switch_grpc")
            if expected is None:
                time.sleep(2)
            outputs[kind] = {
                port: wait_for_frames(path, len(expected[port]) if expected else 0) for port, path in paths.items()
            }
        finally:
            running.kill()
            running.wait()
    assert sum(map(len, outputs["simple_switch_grpc"].values())) > frames_per_port
    assert outputs["p4mesh"] == outputs["simple_switch_grpc"]
