"""Computes the records of the tester after given frames: the measures by their definitions (docs/DATAPLANE.md).

It shares nothing with the P4 programs. Times are ticks, absolute; a frame is what a test sends, byte for byte.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from scapy.utils import checksum

WORD = 1 << 32
TIME = 1 << 48
LARGEST = WORD - 1
SMOOTHED_DIFFERENCE_MAX = (1 << 28) - 1
IPDV_MAX = (1 << 31) - 1
IPDV_ZERO = 1 << 31
BEYOND_THE_CELLS = 0x100C000
"""No program has a cell of this number, and that of Tofino 1 none of its lower half, which is all that it looks at."""
FCS_BYTES = 4
ALL_HOSTS = 0x01005E000001
ALL_HOSTS_OFFSET = 40
UNKNOWN = 0x01005E000002
"""An address of many whose flows have no cells."""
MANY = {ALL_HOSTS: ALL_HOSTS_OFFSET, UNKNOWN: BEYOND_THE_CELLS}
"""Offset of the cells by address."""
HISTOGRAM_PORT, HISTOGRAM_FIRST_CELL = 1, 2048
TEST, PAUSE, FOREIGN = 0xFFFF, 0x8808, 0x88B5


def station(port: int) -> int:
    """The address that a port owns; its tag is the number of the port."""
    return 0x020000000000 + port


@dataclass(frozen=True)
class Arrival:
    """A frame that arrives at a port of the tester."""

    port: int
    at: int
    flow: int = 100
    sequence: int = 0
    latency: int = 1000
    """Arrival less transmit time, modulo 2^48."""
    destination: int | None = None
    """None: the address of the port."""
    run: int | None = None
    """None: the current run."""
    tag: int | None = None
    """None: the tag of the port that owns the destination."""
    is_damaged: bool = False
    ether_type: int = TEST
    """Of plain frames; only those with TEST have a signature."""
    size_bytes: int = 64
    headers: bytes = b""
    """Headers in front of the signature of another format, whose first six bytes are the destination's."""
    is_recognized: bool = True
    """Whether a signature stands where the tester looks for one (docs/DATAPLANE.md)."""

    @property
    def address(self) -> int:
        return station(self.port) if self.destination is None else self.destination

    @property
    def transmit_time(self) -> int:
        return (self.at - self.latency) % TIME

    def bytes(self, run: int) -> bytes:
        """The frame without its FCS."""
        plain = station(9).to_bytes(6, "big") + self.ether_type.to_bytes(2, "big")
        head = self.address.to_bytes(6, "big") + (self.headers[6:] or plain)
        if self.ether_type == TEST:
            tag = self.tag if self.tag is not None else 0 if self.address in MANY else self.address & 0xFF
            signature = b"PM" + bytes([run if self.run is None else self.run, tag])
            signature += self.flow.to_bytes(2, "big") + self.sequence.to_bytes(4, "big")
            signature += self.transmit_time.to_bytes(6, "big")
            check = checksum(signature) ^ (0x0101 if self.is_damaged else 0)
            head += signature + check.to_bytes(2, "big")
        return head.ljust(self.size_bytes - FCS_BYTES, b"\0")


class Window(ABC):
    """Tells a copy of a frame of a flow from a late frame."""

    @abstractmethod
    def knows(self, sequence: int, newest: int) -> bool:
        """Whether the frame has come before; it has come now."""

    def is_beyond(self, sequence: int, newest: int) -> bool:
        """Whether it is counted that this frame is too late to be known."""
        return False


@dataclass
class Places(Window):
    """Each of a few places keeps the last frame whose sequence number falls on it (Tofino)."""

    places: int
    kept: dict[int, int] = field(default_factory=dict)

    def knows(self, sequence: int, newest: int) -> bool:
        place, tag = sequence % self.places, sequence % (1 << 24)
        known = self.kept.get(place) == tag
        self.kept[place] = tag
        return known


@dataclass
class Newest(Window):
    """The newest sequence numbers, whether they have come or not (v1model)."""

    numbers: int
    came: set[int] = field(default_factory=set)

    def knows(self, sequence: int, newest: int) -> bool:
        known = sequence in self.came
        self.came = {one for one in {*self.came, sequence} if not self.is_beyond(one, newest)}
        return known

    def is_beyond(self, sequence: int, newest: int) -> bool:
        return self.numbers <= (newest - sequence) % WORD < WORD // 2


@dataclass
class FlowCells:
    """The registers of a flow."""

    window: Window
    next_sequence: int = 0
    duplicates: int = 0
    reordered: int = 0
    beyond_window: int = 0
    last_gap_time: int = 0
    bytes: int = 0
    latencies: list[int] = field(default_factory=list)
    overflows: int = 0
    smoothed_x16: int = 0
    in_order: int = 0
    ipdvs: list[int] = field(default_factory=list)
    arrivals: list[int] = field(default_factory=list)

    def record(self) -> dict[str, int]:
        """The fields of ``record_t`` that belong to a flow's reception."""
        jitters = [abs(b - a) for a, b in pairwise(self.latencies)]
        signed = [ipdv + IPDV_ZERO for ipdv in self.ipdvs]
        return {
            "frames": len(self.latencies),
            "bytes": self.bytes,
            "duplicates": self.duplicates,
            "reordered": self.reordered,
            **({"beyond_window": self.beyond_window} if self.beyond_window else {}),
            "next_sequence": self.next_sequence,
            "last_gap_time": self.last_gap_time,
            **_extremes("latency", self.latencies),
            **_sum("latency", self.latencies),
            "latency_last": self.latencies[-1] if self.latencies else 0,
            "latency_overflows": self.overflows,
            **_extremes("jitter", jitters),
            **_sum("jitter", jitters),
            "jitter_smoothed_x16": self.smoothed_x16,
            "ipdv_count": len(self.ipdvs),
            **_extremes("ipdv", signed),
            **_sum("ipdv", self.ipdvs),
            "first_arrival": self.arrivals[0] if self.arrivals else 0,
            "last_arrival": self.arrivals[-1] if self.arrivals else 0,
        }


@dataclass(frozen=True)
class MessageSource:
    """Messages whose positions are flows from ``first_flow`` on."""

    number: int
    first_flow: int
    frames: int

    @property
    def flows(self) -> range:
        return range(self.first_flow, self.first_flow + self.frames)


MESSAGES = (MessageSource(0, 200, 4), MessageSource(1, 210, 1), MessageSource(5, 220, 3))


@dataclass
class MessageCells:
    """The registers of a source of messages; a message is over when a frame of a later one arrives."""

    source: MessageSource
    newest: int = 0
    came: list[Arrival] = field(default_factory=list)
    """Frames of the newest message, in the order of their arrival."""
    complete: int = 0
    damaged: int = 0
    times: list[tuple[int, int, int]] = field(default_factory=list)
    """FIFO, LILO and FILO of complete messages."""

    def take(self, frame: Arrival) -> None:
        """Take a frame that is no duplicate."""
        ahead = (frame.sequence - self.newest) % WORD
        if ahead >= WORD // 2:
            return
        if ahead:
            self.damaged += ahead - (len(self.came) == self.source.frames)
            self.newest, self.came = frame.sequence, []
        self.came.append(frame)
        if len(self.came) == self.source.frames:
            self.complete += 1
            of_flow = {one.flow: one.transmit_time for one in self.came}
            first, last = of_flow[self.source.flows[0]], of_flow[self.source.flows[-1]]
            self.times.append((self.came[0].at - first, frame.at - last, frame.at - first))

    def record(self) -> dict[str, int]:
        """The fields of a source, with smallest times as they are."""
        found = {
            "newest": self.newest,
            "arrived": len(self.came),
            "complete": self.complete,
            "damaged": self.damaged,
        }
        for name, values in zip(("fifo", "lilo", "filo"), zip(*self.times, strict=True), strict=False):
            found |= {f"{name}_min": min(values), f"{name}_max": max(values), f"{name}_sum": sum(values)}
        return found


@dataclass
class Outcome:
    """The state that the frames of a vector leave."""

    flows: dict[int, FlowCells]
    messages: list[MessageCells] = field(default_factory=lambda: [*map(MessageCells, MESSAGES)])
    reasons: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    bins: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Cells of the latency histogram."""
    ipdv_bins: dict[str, dict[int, int]] = field(
        default_factory=lambda: {"increases": defaultdict(int), "decreases": defaultdict(int)}
    )
    """Bins of the histogram of IPDV, from 0."""
    starts: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Arrivals by port, of all frames."""

    def spacing(self, port: int) -> int:
        """The complement of the smallest distance of two frame starts on a port, 0 without two frames."""
        starts = self.starts[port]
        gaps = [min(b - a, LARGEST) for a, b in pairwise(starts)]
        return LARGEST - min(gaps) if gaps else 0


def outcome_of(arrivals: list[Arrival], run: int, window: Callable[[], Window]) -> Outcome:
    """State that the frames leave in cleared registers, with such a window for each flow."""
    found = Outcome(defaultdict(lambda: FlowCells(window())))
    for frame in arrivals:
        reason = _reason(frame, run)
        found.reasons[frame.port, reason] += 1
        found.starts[frame.port].append(frame.at)
        if reason == "expected":
            _measure(found, frame)
    return found


def _reason(frame: Arrival, run: int) -> str:
    if frame.ether_type != TEST or not frame.is_recognized:
        return "pause" if frame.ether_type == PAUSE else "foreign"
    if frame.is_damaged:
        return "damaged"
    if frame.run is not None and frame.run != run:
        return "stale"
    if frame.address not in (station(frame.port), *MANY):
        return "flooded"
    own_tag = 0 if frame.address in MANY else frame.port
    if frame.tag is not None and frame.tag != own_tag:
        return "misdirected"
    return "expected" if _cell(frame) < BEYOND_THE_CELLS else "unknown_flow"


def _cell(frame: Arrival) -> int:
    return frame.flow + MANY.get(frame.address, 0)


def _measure(found: Outcome, frame: Arrival) -> None:
    flow = found.flows[_cell(frame)]
    ahead = (frame.sequence - flow.next_sequence) % WORD
    is_late = ahead >= WORD // 2
    newest = (flow.next_sequence - 1) % WORD if is_late else frame.sequence
    if flow.window.knows(frame.sequence, newest):
        flow.duplicates += 1
        return
    flow.beyond_window += flow.window.is_beyond(frame.sequence, newest)
    latency = min((frame.at - frame.transmit_time) % TIME, LARGEST)
    if is_late:
        flow.reordered += 1
    else:
        if ahead:
            flow.last_gap_time = frame.transmit_time
        elif flow.latencies:
            ipdv = max(-IPDV_MAX, min(IPDV_MAX, latency - flow.in_order))
            flow.ipdvs.append(ipdv)
            if frame.port == HISTOGRAM_PORT:
                found.ipdv_bins["decreases" if ipdv < 0 else "increases"][bin_of(abs(ipdv))] += 1
        flow.next_sequence = (frame.sequence + 1) % WORD
        flow.in_order = latency
    if flow.latencies:
        difference = min(abs(latency - flow.latencies[-1]), SMOOTHED_DIFFERENCE_MAX)
        flow.smoothed_x16 += difference - ((flow.smoothed_x16 + 8) >> 4)
    flow.latencies.append(latency)
    flow.overflows += (frame.at - frame.transmit_time) % TIME > LARGEST
    flow.bytes += frame.size_bytes
    for source in found.messages:
        if frame.flow in source.source.flows:
            source.take(frame)
    flow.arrivals.append(frame.at)
    if frame.port == HISTOGRAM_PORT:
        found.bins[HISTOGRAM_FIRST_CELL + bin_of(latency)] += 1


def bin_of(ticks: int) -> int:
    """The place of a latency: 64 bins for each power of two."""
    octave = max(0, ticks.bit_length() - 6)
    return ticks if ticks < 64 else 64 * octave + (ticks >> (octave - 1)) % 64


def _extremes(name: str, values: list[int]) -> dict[str, int]:
    return {
        f"{name}_min_inverted": LARGEST - min(values) if values else 0,
        f"{name}_max": max(values) if values else 0,
    }


def _sum(name: str, values: list[int]) -> dict[str, int]:
    high, low = divmod(sum(values), WORD)
    return {f"{name}_sum_high": high % (1 << 64), f"{name}_sum_low": low}
