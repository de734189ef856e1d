"""Captures that are replayed: times and sizes as Scapy and python-pcapng write them, refusals of all others."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from pcapng import FileWriter, blocks
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgWriter, PcapWriter

from p4mesh.traffic.arrivals import MOST_DEPARTURES
from p4mesh.traffic_file.capture import CaptureError, read_capture

TIMES_NS = (1_700_000_000_000_000_000, 1_700_000_000_000_100_000, 1_700_000_001_000_000_000)
LENGTHS = (60, 42, 1514)
GAPS_NS = (100_000, 999_900_000, 500_000_000)
SIZES = (64, 64, 1518)
"""A frame of 42 bytes without FCS has been padded on the wire."""


def pcap(times_ns: tuple[int, ...], lengths: tuple[int, ...], *, order: str = "<", unit_ns: int = 1000) -> bytes:
    """A file of frames of which the first 20 bytes were kept."""
    magic = 0xA1B2C3D4 if unit_ns == 1000 else 0xA1B23C4D
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 20, 1)]
    for time_ns, length in zip(times_ns, lengths, strict=True):
        seconds, rest_ns = divmod(time_ns, 10**9)
        parts += [struct.pack(f"{order}4I", seconds, rest_ns // unit_ns, 20, length), bytes(20)]
    return b"".join(parts)


def pcapng(resolution: int, ticks: tuple[int, ...]) -> bytes:
    """A file of an interface whose clock has this resolution (if_tsresol)."""
    section = blocks.SectionHeader()
    options = {"if_tsresol": bytes([resolution])}
    section.new_member(blocks.InterfaceDescription, link_type=1, options=options)
    data = io.BytesIO()
    writer = FileWriter(data, section)
    for at, length in zip(ticks, LENGTHS, strict=True):
        high, low = divmod(at, 1 << 32)
        members = {"interface_id": 0, "timestamp_high": high, "timestamp_low": low, "packet_data": bytes(length)}
        writer.write_block(section.new_member(blocks.EnhancedPacket, **members))
    return data.getvalue()


def of_no_interface(data: bytes) -> bytes:
    """The file with a first frame of interface 7, which it does not have."""
    packet = data.index(struct.pack("<II", 6, 92))
    return data[: packet + 8] + struct.pack("<I", 7) + data[packet + 12 :]


def written(folder: Path, data: bytes) -> Path:
    path = folder / "frames.pcap"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("unit_ns", [1, 1000])
def test_times_and_sizes_of_a_pcap(tmp_path: Path, order: str, unit_ns: int) -> None:
    found = read_capture(written(tmp_path, pcap(TIMES_NS, LENGTHS, order=order, unit_ns=unit_ns)))
    assert (found.gaps_ns, found.sizes_bytes) == (GAPS_NS, SIZES)


@pytest.mark.parametrize("writer", [PcapWriter, PcapNgWriter])
def test_files_of_scapy(tmp_path: Path, writer: type) -> None:
    """Times are multiples of a microsecond, which these formats have."""
    path = tmp_path / "scapy"
    with writer(str(path)) as file:
        for time_ns, length in zip(TIMES_NS, LENGTHS, strict=True):
            frame = Ether(bytes(length))
            frame.time = time_ns / 10**9
            file.write(frame)
    found = read_capture(path)
    assert found.sizes_bytes == SIZES
    assert found.gaps_ns == pytest.approx(GAPS_NS, abs=1000)


@pytest.mark.parametrize(
    ("resolution", "ticks"),
    [(9, TIMES_NS), (6, tuple(at // 1000 for at in TIMES_NS)), (0x80 | 10, (0, 512, 1024))],
)
def test_times_of_a_pcapng_have_the_unit_of_their_interface(
    tmp_path: Path, resolution: int, ticks: tuple[int, ...]
) -> None:
    found = read_capture(written(tmp_path, pcapng(resolution, ticks)))
    assert found.gaps_ns == (GAPS_NS if resolution < 0x80 else (500_000_000,) * 3)
    assert found.sizes_bytes == SIZES


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "no pcap or pcapng file"),
        (b"name: traffic\n", "no pcap or pcapng file"),
        (pcap((), ()), "0 frames have no time between them"),
        (pcap((1000,), (60,)), "1 frames have no time between them"),
        (pcap((1000, 1000), (60, 60)), "all frames have the same time"),
        (pcap((3000, 5000, 4000), LENGTHS), "frame 3 came before frame 2"),
        (pcap((1000, 2000), (60, 60))[:-1], "damaged or cut short"),
        (pcap((1000, 2000), (60, 60))[:-25], "damaged or cut short"),
        (pcapng(6, (0, 1, 2))[:-3], "damaged or cut short"),
        (of_no_interface(pcapng(6, (0, 1, 2))), "damaged or cut short"),
        (pcap(tuple(range(0, 1000 * (MOST_DEPARTURES + 1), 1000)), (60,) * (MOST_DEPARTURES + 1)), "more than 65,536"),
    ],
)
def test_captures_that_cannot_be_replayed(tmp_path: Path, data: bytes, problem: str) -> None:
    with pytest.raises(CaptureError, match=problem) as caught:
        read_capture(written(tmp_path, data))
    assert caught.value.hint


def test_a_capture_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="cannot be read: No such file"):
        read_capture(tmp_path / "none.pcap")
