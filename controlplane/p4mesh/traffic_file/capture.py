"""Reads from a pcap or pcapng file when its frames came and how long they were; what was in them is not looked at."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from p4mesh.traffic.arrivals import MOST_DEPARTURES
from p4mesh.traffic.line_rate import NS_PER_S, SMALLEST_FRAME_BYTES
from p4mesh.traffic.rates import FCS_BYTES

_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""Byte order and nanoseconds in a unit of time, by the first bytes (draft-ietf-opsawg-pcap 4)."""
_PCAPNG = b"\x0a\x0d\x0d\x0a"
_HEADER_BYTES, _RECORD_BYTES = 24, 16
_MICROSECONDS = b"\x06"
_BINARY = 0x80

_Frame = tuple[int, int]
"""Time in nanoseconds, and length on the wire without FCS."""


class CaptureError(Exception):
    """A capture that cannot be replayed: the fault, and what helps."""

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem)
        self.hint = hint


@dataclass(frozen=True)
class Recording:
    """Times and sizes of the frames of a capture."""

    gaps_ns: tuple[int, ...]
    """Time from each frame to the next one; behind the last one the mean of the others."""
    sizes_bytes: tuple[int, ...]
    """Sizes with FCS, as the wire had them: shorter frames were padded to 64 bytes."""


@lru_cache(maxsize=8)
def read_capture(path: Path) -> Recording:
    """Frames of a capture file; raises CaptureError for one that cannot be replayed."""
    try:
        with path.open("rb") as file:
            frames = _read(file)
    except OSError as error:
        raise CaptureError(f"cannot be read: {error.strerror}", "name a pcap or pcapng file") from None
    if len(frames) < 2:
        raise CaptureError(f"{len(frames)} frames have no time between them", "name a capture of two frames or more")
    gaps = [after - before for (before, _), (after, _) in pairwise(frames)]
    if late := next((number for number, gap in enumerate(gaps, 2) if gap < 0), None):
        raise CaptureError(f"frame {late} came before frame {late - 1}", "put them in order of time: reordercap IN OUT")
    if not any(gaps):
        raise CaptureError("all frames have the same time", "capture with time stamps of the frames")
    mean = round(sum(gaps) / len(gaps))
    return Recording((*gaps, mean), tuple(max(SMALLEST_FRAME_BYTES, length + FCS_BYTES) for _, length in frames))


def _read(file: BinaryIO) -> list[_Frame]:
    magic = file.read(4)
    file.seek(0)
    if magic not in _PCAP and magic != _PCAPNG:
        raise CaptureError("no pcap or pcapng file", "name a capture of tcpdump, Wireshark or a tester")
    frames: list[_Frame] = []
    for frame in _pcap(file) if magic in _PCAP else _pcapng(file):
        frames.append(frame)
        if len(frames) > MOST_DEPARTURES:
            raise CaptureError(
                f"more than {MOST_DEPARTURES:,} frames", f"cut it: editcap -r IN OUT 1-{MOST_DEPARTURES}"
            )
    return frames


def _pcap(file: BinaryIO) -> Iterator[_Frame]:
    header = file.read(_HEADER_BYTES)
    order, unit_ns = _PCAP[header[:4]]
    record = struct.Struct(f"{order}4I")
    while len(header) == _HEADER_BYTES and (data := file.read(_RECORD_BYTES)):
        if len(data) < _RECORD_BYTES:
            raise _cut_short()
        seconds, fraction, captured, length = record.unpack(data)
        if len(file.read(captured)) < captured:
            raise _cut_short()
        yield seconds * NS_PER_S + fraction * unit_ns, length


def _pcapng(file: BinaryIO) -> Iterator[_Frame]:
    from pcapng import FileScanner, blocks  # only traffic that replays a capture needs it
    from pcapng.exceptions import PcapngException

    try:
        for block in FileScanner(file):
            if isinstance(block, blocks.SimplePacket):
                raise CaptureError("its frames have no times", "capture with time stamps of the frames")
            if isinstance(block, blocks.EnhancedPacket):
                ticks = block.timestamp_high << 32 | block.timestamp_low
                yield _in_ns(ticks, block.interface.options), block.packet_len
    except (PcapngException, LookupError, ValueError, struct.error):
        raise _cut_short() from None


def _in_ns(ticks: int, options: Mapping[str, bytes]) -> int:
    """Time of the clock of an interface, whose option says its unit: a power of 10, or of 2."""
    (exponent,) = options.get("if_tsresol", _MICROSECONDS)
    if exponent & _BINARY:
        return ticks * NS_PER_S >> (exponent ^ _BINARY)
    return ticks * NS_PER_S // int(10**exponent)


def _cut_short() -> CaptureError:
    return CaptureError("the file is damaged or cut short", "capture it again, or repair it: editcap IN OUT")
