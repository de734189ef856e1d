"""A switch on pcap files and on interfaces, from Python."""

from __future__ import annotations

import os
import re
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from p4mesh._engine import EngineError, LiveSwitch, cable_delays

pytestmark = pytest.mark.wall_clock
PROGRAM = Path(__file__).parents[2] / "sim/tests/programs/stamps.json"
FLOWS = 50
FLOOD = 60_000
"""Frames that no receive buffer of a port holds."""
ENDINGS = Path(__file__).parents[2] / "pipeline/tests/handwritten/endings.json"


def pcap(*frames: bytes) -> bytes:
    """A pcap file with one frame per microsecond."""
    records = (struct.pack("<IIII", 0, at, len(frame), len(frame)) + frame for at, frame in enumerate(frames))
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records)


def test_without_a_program_every_frame_of_a_file_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("veth0_in.pcap").write_bytes(pcap(b"", bytes(60), bytes(1500)))
    switch = LiveSwitch([(1, "veth0")], use_files_s=0)
    switch.start()
    while switch.counters()["received"] < 3:
        assert not switch.wait(0.01)
    switch.stop()
    assert switch.counters()["drop_no_program"] == 3
    assert Path("veth0_out.pcap").read_bytes() == pcap()


def test_marked_frames_with_another_payload_are_counted_and_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One frame as it was sent, one with a flipped bit, one without the mark."""
    monkeypatch.chdir(tmp_path)
    whole = bytes(14) + b"PM\x07".ljust(18) + bytes(range(100))
    damaged = bytearray(whole)
    damaged[-1] ^= 1
    Path("veth0_in.pcap").write_bytes(pcap(whole, bytes(damaged), bytes(damaged).replace(b"PM", b"XX")))
    switch = LiveSwitch([(1, "veth0")], use_files_s=0)
    switch.set_payload([14, 18], list(b"PM\x07"), 18)
    switch.start()
    while switch.counters()["received"] < 3:
        assert not switch.wait(0.01)
    switch.stop()
    assert switch.damaged_payloads() == {1: 1}
    assert switch.counters()["drop_no_program"] == 2


def test_what_cannot_be_opened_is_named() -> None:
    with pytest.raises(EngineError, match=r"^interface 'nosuchif0': no such interface$"):
        LiveSwitch([(1, "nosuchif0")])
    with pytest.raises(EngineError, match=r"^/nowhere/x_in.pcap: cannot open: No such file or directory"):
        LiveSwitch([(1, "/nowhere/x")], use_files_s=0)
    with pytest.raises(EngineError, match=r"^not valid JSON"):
        LiveSwitch([], "{")


SEND, LOOP = 0, 1


def order(kind: int, passes: int, port: int) -> bytes:
    """A frame of 64 bytes with FCS for the test program stamps.p4."""
    head = struct.pack("!6s6sHBBHH", b"\xff" * 6, b"\x02\0\0\0\0\1", 0x88B5, kind, 0, passes, port)
    return head.ljust(60, b"\0")


def sent_stamp(frame: bytes) -> int:
    """The egress time stamp that the program has put into a frame."""
    return int.from_bytes(frame[20:26], "big")


def records(path: Path) -> list[bytes]:
    """The frames of a pcap file."""
    data, frames = path.read_bytes()[24:], []
    while data:
        length = struct.unpack_from("<I", data, 8)[0]
        frames.append(data[16 : 16 + length])
        data = data[16 + length :]
    return frames


def test_frames_of_files_go_through_the_program_in_order_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Port 510 gives orders, port 1 gets frames, one of them after three rounds of the loop."""
    monkeypatch.chdir(tmp_path)
    Path("a_in.pcap").write_bytes(pcap(order(SEND, 0, 1), order(LOOP, 3, 1), b"short", order(SEND, 0, 7)))
    Path("b_in.pcap").write_bytes(pcap())
    switch = LiveSwitch([(510, "a"), (1, "b")], PROGRAM.read_text(), cpu_port=None, use_files_s=0.05)
    switch.start()
    while sum(switch.counters()[name] for name in ("sent", "drop_unknown_port")) < 3:
        assert not switch.wait(0.01)
    switch.stop()
    counters = switch.counters()
    assert counters["received"] == 4
    assert counters["drop_unknown_port"] == 1
    assert counters["drop_program_ingress"] == 1
    first, second = records(Path("b_out.pcap"))
    assert first[:20] == order(SEND, 0, 1)[:20]
    assert second[:20] == order(LOOP, 0, 1)[:20]
    assert 0 < sent_stamp(first) < sent_stamp(second)
    assert records(Path("a_out.pcap")) == []


def test_every_way_in_which_a_program_ends_a_frame_is_counted_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop of the parser, two failed assertions, three frames for a queue that no port has."""
    monkeypatch.chdir(tmp_path)
    Path("a_in.pcap").write_bytes(pcap(*(bytes([kind]).ljust(60, b"\0") for kind in (1, 2, 2, 3, 3, 3))))
    switch = LiveSwitch([(1, "a")], ENDINGS.read_text(), use_files_s=0)
    switch.start()
    while sum(dropped_by_the_program(switch).values()) < 6:
        assert not switch.wait(0.01)
    switch.stop()
    assert dropped_by_the_program(switch) == {
        "drop_program_looplimit": 1,
        "drop_program_assertionfailed": 2,
        "drop_program_unknownqueue": 3,
    }


def dropped_by_the_program(switch: LiveSwitch) -> dict[str, int]:
    return {name: count for name, count in switch.counters().items() if name.startswith("drop_program_")}


@pytest.fixture
def cables() -> Iterator[list[tuple[str, str]]]:
    """Two veth pairs, (switch end, our end); skips the test where they cannot be made."""
    pairs = [(f"p4m{os.getpid()}s{index}", f"p4m{os.getpid()}t{index}") for index in range(2)]
    try:
        for pair in pairs:
            command = ["ip", "link", "add", pair[0], "type", "veth", "peer", "name", pair[1]]
            if subprocess.run(command, capture_output=True, check=False).returncode:
                pytest.skip("veth interfaces cannot be made here")
            for end in pair:
                subprocess.run(["ip", "link", "set", end, "up"], check=True)
        yield pairs
    finally:
        for pair in pairs:
            subprocess.run(["ip", "link", "del", pair[0]], capture_output=True, check=False)


def listen(interface: str) -> socket.socket:
    """A raw socket that sees the frames that come in."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
    raw.bind((interface, 0x88B5))
    raw.settimeout(5)
    return raw


@pytest.mark.skipif(not hasattr(socket, "AF_PACKET"), reason="needs Linux packet sockets")
def test_frames_of_interfaces_go_through_the_program(cables: list[tuple[str, str]]) -> None:
    (switch_a, our_a), (switch_b, our_b) = cables
    switch = LiveSwitch([(510, switch_a), (1, switch_b)], PROGRAM.read_text(), cpu_port=None)
    switch.start()
    with listen(our_a) as side_a, listen(our_b) as side_b:
        side_a.send(order(SEND, 0, 1))
        arrived = side_b.recv(2048)
        assert arrived[:20] == order(SEND, 0, 1)[:20]
        side_b.send(arrived)
        back = side_a.recv(2048)
        assert sent_stamp(back) == sent_stamp(arrived)
        assert int.from_bytes(back[26:32], "big") > sent_stamp(arrived)
    switch.stop()


@pytest.mark.parametrize(("access", "arrivals"), [("af_xdp", "XDP program"), ("af_packet", "kernel")])
def test_the_kernel_stamps_departures_where_it_is_asked_to(
    cables: list[tuple[str, str]], access: str, arrivals: str
) -> None:
    """Port 510 gives orders, port 1 sends."""
    (switch_a, our_a), (switch_b, our_b) = cables
    switch = LiveSwitch([(510, switch_a), (1, switch_b)], PROGRAM.read_text(), cpu_port=None, access=access)
    switch.start()
    with listen(our_a) as side_a, listen(our_b) as side_b:
        for stamped, count in ((True, 50), (False, 0)):
            switch.begin_departures(stamped)
            for _ in range(50):
                side_a.send(order(SEND, 0, 1))
                side_b.recv(2048)
            patience_s = time.monotonic() + 5
            while switch.stamps()[1][1][0] < count and time.monotonic() < patience_s:
                time.sleep(0.01)
            source, (samples, total_ns, range_ns, bins) = switch.stamps()[1]
            assert (source, samples, sum(number for _, _, number in bins)) == (arrivals, count, count)
            if count:
                assert range_ns is not None
                # The clocks that are compared are read one after the other.
                assert -1_000 < range_ns[0] <= total_ns / count <= range_ns[1] < 10**9
            else:
                assert (total_ns, range_ns) == (0, None)
    longest_ns, late_ns = switch.take_pauses()
    assert late_ns == 0 or longest_ns > 1_000_000
    switch.stop()


@pytest.mark.parametrize("access", ["af_xdp", "af_packet"])
def test_frames_that_find_no_room_are_counted(cables: list[tuple[str, str]], access: str) -> None:
    """Method: nobody takes the frames at first; each is received later, or was dropped."""
    (near, far), _ = cables
    switch = LiveSwitch([(1, near)], cpu_port=None, access=access)
    before = switch.counters()
    with listen(far) as ours:
        for _ in range(FLOOD):
            ours.send(udp(0))
    dropped = switch.counters()["drop_no_room"] - before["drop_no_room"]
    assert 0 < dropped < FLOOD
    switch.start()
    patience_s = time.monotonic() + 5
    while switch.counters()["received"] + dropped < FLOOD and time.monotonic() < patience_s:
        time.sleep(0.01)
    switch.stop()
    # The kernel has frames of its own, such as those of IPv6.
    assert FLOOD <= switch.counters()["received"] + dropped < FLOOD + 20


@pytest.mark.parametrize("access", ["af_xdp", "af_packet"])
def test_frames_on_a_cable_are_stamped_at_both_ends(cables: list[tuple[str, str]], access: str) -> None:
    near, far = cables[0]
    count, total_ns, range_ns, bins = cable_delays(near, far, access)
    assert count > 250 and range_ns is not None and sum(number for _, _, number in bins) == count
    assert 0 < range_ns[0] <= total_ns / count <= range_ns[1] < 20_000_000


def test_a_cable_that_is_not_there_is_named() -> None:
    with pytest.raises(EngineError, match="interface 'nosuchif0': no such interface"):
        cable_delays("nosuchif0", "nosuchif1")
    with pytest.raises(EngineError, match="access 'fast'; valid: best, af_xdp, af_packet"):
        cable_delays("lo", "lo", "fast")


@pytest.mark.skipif(shutil.which("ethtool") is None, reason="ethtool is not installed")
def test_frames_of_all_queues_arrive() -> None:
    """Frames with different UDP ports reach different queues of an interface; AF_XDP has a socket for each."""
    near, far = (f"p4m{os.getpid()}q{end}" for end in "ab")
    queues = ["numrxqueues", "4", "numtxqueues", "4"]
    made = ["ip", "link", "add", near, *queues, "type", "veth", "peer", "name", far, *queues]
    if subprocess.run(made, capture_output=True, check=False).returncode:
        pytest.skip("veth interfaces cannot be made here")
    try:
        for end in (near, far):
            subprocess.run(["ip", "link", "set", end, "up"], check=True)
        switch = LiveSwitch([(1, near)], cpu_port=None, access="af_xdp")
        assert switch.ports()[1].endswith("4 queues")
        switch.start()
        for number in range(FLOWS):
            # The kernel keeps to one queue for each socket.
            with listen(far) as ours:
                ours.send(udp(number))
        patience_s = time.monotonic() + 5
        while switch.counters()["drop_no_program"] < FLOWS and time.monotonic() < patience_s:
            time.sleep(0.01)
        switch.stop()
        assert switch.counters()["drop_no_program"] >= FLOWS
        statistics = subprocess.run(["ethtool", "-S", near], capture_output=True, check=True, text=True).stdout
        used = re.findall(r"rx_queue_\d+_xdp_packets: [1-9]", statistics)
        assert len(used) > 1, statistics
    finally:
        subprocess.run(["ip", "link", "del", near], capture_output=True, check=False)


def udp(number: int) -> bytes:
    """A frame of a flow of its own; its checksums do not matter."""
    packet = bytes.fromhex("4500002e00000000401100000a0000010a000002") + struct.pack("!HHHH", 1000 + number, 7, 26, 0)
    return (bytes.fromhex("0200000000010200000000020800") + packet).ljust(60, b"\0")
