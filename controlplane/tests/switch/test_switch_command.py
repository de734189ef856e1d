"""``p4mesh switch``: options, refusals, and the switch as a process on pcap files."""

from __future__ import annotations

import os
import random
import resource
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

from p4mesh.errors import P4MeshError, StorageError, UsageError
from p4mesh.p4runtime import Client, TlsCredentials
from p4mesh.switch.command import main
from p4mesh.switch.log import PacketLog
from p4mesh.switch.options import LogOptions, parse

FLAGS_OF_TUTORIALS = (
    "-i 1@s1-eth1 -i 2@s1-eth2 --pcap --device-id 3 s1.json --log-console -L debug"
    " --thrift-port 9090 -- --grpc-server-addr 127.0.0.1:50051 --cpu-port 255"
)


def test_a_command_line_for_simple_switch_grpc_is_understood() -> None:
    options = parse(FLAGS_OF_TUTORIALS.split())
    assert options.interfaces == [(1, "s1-eth1"), (2, "s1-eth2")]
    assert (options.device_id, options.cpu_port, options.drop_port) == (3, 255, 511)
    assert options.address == "127.0.0.1:50051"
    assert options.program == Path("s1.json")
    assert options.pcap == Path()
    assert options.log == LogOptions(None, "debug", 5 << 20, 3, 0)
    assert options.without_effect == ["--thrift-port"]


def test_the_value_of_pcap_may_be_left_out(tmp_path: Path) -> None:
    for words in (f"--pcap {tmp_path} s1.json", f"s1.json --pcap={tmp_path}", f"--no-p4 -i 1@a --pcap {tmp_path}"):
        assert parse(words.split()).pcap == tmp_path
    for words in ("--pcap s1.json", "s1.json --pcap", "--no-p4 --pcap -i 1@a"):
        assert parse(words.split()).pcap == Path()


@pytest.mark.parametrize("address", ["0.0.0.0:9559", "[::]:9559", "192.0.2.1:9559", "some.host:9559"])
def test_an_address_that_others_reach_asks_for_tls_or_for_insecure(address: str) -> None:
    words = ["--no-p4", "--grpc-server-addr", address]
    with pytest.raises(UsageError, match="lets whoever reaches this machine control the switch") as caught:
        parse(words)
    assert "--grpc-server-ssl" in caught.value.hint and "--insecure" in caught.value.hint
    assert parse([*words, "--insecure"]).address == address
    tls = ["--grpc-server-ssl", "--grpc-server-cert", "c", "--grpc-server-key", "k"]
    assert parse([*words, *tls]).address == address


@pytest.mark.parametrize("address", ["127.0.0.1:9559", "127.1.2.3:1", "[::1]:9559", "localhost:9559", "unix:/tmp/x"])
def test_an_address_of_this_machine_asks_for_nothing(address: str) -> None:
    assert parse(["--no-p4", "--grpc-server-addr", address]).address == address


def test_defaults_are_those_of_simple_switch_grpc_but_for_the_address() -> None:
    options = parse(["--no-p4"])
    assert parse(["--no-p4", "x.json"]).program is None
    assert parse(["--no-p4", "x.json"]).without_effect == ["x.json, beside --no-p4,"]
    assert (options.address, options.device_id, options.cpu_port) == ("127.0.0.1:9559", 0, None)
    assert options.program is None and options.use_files_s is None
    assert options.log is None and options.pcap is None and options.memory_bytes == 512 << 20


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
            "for example: 127.0.0.1:9559",
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
        (
            "--no-p4 --restore-state x",
            "--restore-state is not supported: a switch starts without entries",
            "write them by P4Runtime; leave --restore-state out",
        ),
        (
            "--no-p4 --nanolog ipc:///tmp/log.ipc",
            "--nanolog is not supported: its events go over nanomsg, which P4Mesh does not speak",
            "--log-console or --log-file FILE write what happens to each packet; leave --nanolog out",
        ),
        ("--no-p4 --log-console --log-file x", "--log-console and --log-file are given", "choose one of them"),
        ("--no-p4 --log-file x --log-file-max-size 0", "--log-file-max-size is 0", "valid: 1 or more"),
        ("--no-p4 --pcap /nowhere", "--pcap /nowhere: no such directory", "make it first, or name another one"),
        ("--no-p4 --request-memory 1", "--request-memory is 1", "valid: 16 to 1048576 MiB"),
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
    with pytest.raises(P4MeshError, match="interface 'nosuch0': no such interface") as caught:
        main(["--no-p4", "-i", "0@nosuch0"])
    assert caught.value.hint == "ip link shows the interfaces of this network namespace"
    with pytest.raises(P4MeshError, match="cannot listen on unix:/nowhere/socket") as caught:
        main(["--no-p4", "--grpc-server-addr", "unix:/nowhere/socket"])
    assert caught.value.hint == "name a folder that exists"
    with pytest.raises(P4MeshError, match=r"^cannot read /dev/zero: not a regular file$"):
        main(["/dev/zero"])
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(P4MeshError, match=r"^cannot read .*pipe\.json: not a regular file$"):
        main([str(tmp_path / "pipe.json")])
    with pytest.raises(UsageError, match=r"^--log-file /dev/null: not a regular file$"):
        main(["--no-p4", "--log-file", "/dev/null"])
    missing.write_text("{}")
    with pytest.raises(P4MeshError, match=rf"^{missing}: document: no parser named") as caught:
        main([str(missing)])
    assert caught.value.hint.startswith("valid: BMv2 JSON that p4c-bm2-ss has written")


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
    words = ["--no-p4", "-i", "0@a", "-i", "1@b", "--use-files", "2"]
    running = start_switch(tmp_path, *words, "--", "--grpc-server-addr", "127.0.0.1:0", "--cpu-port", "510")
    try:
        yield running, wait_listening(running)
    finally:
        running.kill()
        running.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
def test_the_switch_forwards_files_and_ends_on_a_signal(
    number: signal.Signals, process: tuple[subprocess.Popen[str], str], tmp_path: Path
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
    running.send_signal(number)
    assert running.wait(timeout=10) == 0
    assert running.stdout is not None and running.stdout.read() == ""
    assert read_pcap(tmp_path / "a_out.pcap") == [ethernet(2)]
    assert read_pcap(tmp_path / "b_out.pcap") == [ethernet(1), ethernet(1, source=9)]


def wait_for_frames(path: Path, count: int, timeout_s: float = 20.0) -> list[bytes]:
    """The frames of an output once there are so many, or when no more come."""
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
    for file, reason in ((f"{tmp_path}/none.pem", "No such file or directory"), ("/dev/zero", "not a regular file")):
        for name in (made.server, made.server_key, made.ca):
            with pytest.raises(UsageError, match=rf"^cannot read {file}: {reason}$"):
                main(words.replace(f" {name}", f" {file}").split())


def test_the_log_tells_what_happens_to_each_packet(tmp_path: Path) -> None:
    """Goal: states, tables with what they found, actions, drops with their reasons, what leaves. Method: two frames."""
    write_pcap(tmp_path / "a_in.pcap", [(0, ethernet(1)), (20, ethernet(7))])
    write_pcap(tmp_path / "b_in.pcap", [])
    words = [
        "--no-p4",
        "-i",
        "0@a",
        "-i",
        "1@b",
        "--use-files",
        "2",
        "--log-file",
        "log.txt",
        "--dump-packet-data",
        "3",
    ]
    running = start_switch(tmp_path, *words, "--grpc-server-addr", "127.0.0.1:0", "--cpu-port", "510")
    try:
        with Client(wait_listening(running), 0) as client:
            client.set_pipeline(P4INFO, JSON)
            s = client.schema
            client.insert(
                [
                    s.table_entry("forward", {"destination": 1}, "forward_to", {"port": 1}),
                    s.table_entry("forward", {"destination": 7}, "drop"),
                ]
            )
            wait_for_frames(tmp_path / "b_out.pcap", 1)
            end = time.monotonic() + 10
            while "dropped" not in (text := (tmp_path / "log.txt").read_text()) and time.monotonic() < end:
                time.sleep(0.1)
    finally:
        running.terminate()
    assert running.wait(timeout=10) == 0
    lines = [line.split("] ", 1)[1] for line in text.splitlines()]
    first = lines[lines.index("from port 0: 60 bytes 000000...") :]
    for line in (
        "  parser: pass of a frame of 60 bytes",
        "  parser: state start",
        "  parser: extract ethernet: 0000000000010a0b0c0d0e0f1234",
        "  ingress: condition hdr.packet_out.isValid() is false",
        "  ingress: table EverythingIngress.forward destination=0x000000000001: hit entry 0 (0x01), "
        "action EverythingIngress.forward_to(port=0x0001)",
        "  deparser: headers: ethernet",
        "out of port 1: 60 bytes 000000...",
        "from port 0: 60 bytes 000000...",
        "dropped: marked to drop in ingress",
    ):
        assert line in first, "\n".join(lines)
        first = first[first.index(line) + 1 :]


def test_a_log_that_nobody_reads_or_that_cannot_be_written(tmp_path: Path) -> None:
    """Goal: a closed pipe ends the log alone; a full disk ends it with one message. Method: a limit of file size."""
    write_pcap(tmp_path / "a_in.pcap", [(n, ethernet(1)) for n in range(200)])
    words = ["-i", "0@a", "-i", "1@b", "--use-files", "1", str(REFLECT), "--grpc-server-addr", "127.0.0.1:0"]
    write_pcap(tmp_path / "b_in.pcap", [])
    running = start_switch(tmp_path, *words, "--log-console")
    try:
        assert running.stdout is not None
        running.stdout.close()
        wait_listening(running)
        assert len(wait_for_frames(tmp_path / "b_out.pcap", 200)) == 200
        time.sleep(0.5)
        assert running.poll() is None
    finally:
        running.terminate()
    assert running.wait(timeout=10) == 0
    assert running.stderr is not None and "Traceback" not in running.stderr.read()
    log = PacketLog(LogOptions(tmp_path / "log.txt", "trace", 1 << 30, 0, 0), TalkativeSwitch())  # type: ignore[arg-type]
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, old[1]))
    try:
        with pytest.raises(StorageError, match=r"^the log cannot be written: File too large$"):
            log.write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)
    log.close()


class TalkativeSwitch:
    """A switch that tells more than there is room for."""

    def trace(self, shown_bytes: int, passes: bool) -> None:
        pass

    def take_trace(self) -> tuple[list[str], int]:
        return ["x" * 2_000], 0


def test_a_level_above_debug_tells_nothing_of_packets(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_pcap(tmp_path / f"{name}_in.pcap", [(0, ethernet(1))])
    words = ["-i", "0@a", "-i", "1@b", "--use-files", "0", "--log-console", "-L", "info", str(REFLECT)]
    running = start_switch(tmp_path, *words, "--grpc-server-addr", "127.0.0.1:0")
    try:
        wait_listening(running)
        wait_for_frames(tmp_path / "a_out.pcap", 1)
    finally:
        running.terminate()
    assert running.wait(timeout=10) == 0
    assert running.stdout is not None and running.stdout.read() == ""


REFLECT = Path(__file__).parents[3] / "engine/differential/compiled/parse_short.json"


def test_pipes_are_read_while_they_are_written(tmp_path: Path) -> None:
    """Goal: test scripts for simple_switch that feed it by pipes, of link type 0, get each answer at once."""
    for name in ("p0", "p1"):
        os.mkfifo(tmp_path / f"{name}_in.pcap")
    words = ["--use-files", "0", "-i", "1@p1", "-i", "0@p0", "--grpc-server-addr", f"unix:{tmp_path}/s", str(REFLECT)]
    running = start_switch(tmp_path, *words)
    try:
        # Opened in the order of the ports, each with its header at once, as simple_switch reads them. For reading, too:
        # that does not wait for the switch, so the test ends where there is none.
        with (tmp_path / "p0_in.pcap").open("r+b", 0) as first:
            first.write(pcap_header())
            with (tmp_path / "p1_in.pcap").open("r+b", 0) as second:
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
def test_frames_of_interfaces_are_written_to_pcap_files(cables: dict[int, str], tmp_path: Path) -> None:
    """Goal: --pcap writes what comes in and what goes out. Method: a program that sends each frame to port 1."""
    words = [word for port in (1, 2) for word in ("-i", f"{port}@{cables[port]}")]
    running = start_switch(
        tmp_path, *words, "--pcap", "--log-console", str(REFLECT), "--grpc-server-addr", "127.0.0.1:0"
    )
    frame = ethernet(1, 0x4321, source=9)
    try:
        wait_listening(running)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as far:
            far.bind((f"{cables[2]}x", 0))
            far.send(frame)
            found = wait_for_frames(tmp_path / f"{cables[1]}_out.pcap", 1)
    finally:
        running.terminate()
    assert running.wait(timeout=10) == 0
    assert frame in read_pcap(tmp_path / f"{cables[2]}_in.pcap")
    assert found
    assert running.stdout is not None
    told = running.stdout.read()
    assert "from port 2: 60 bytes" in told and "out of port 1: " in told


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
