"""A little model of a Tofino 1 that runs the tester, written from docs/TOFINO.md.

It knows nothing of the controller and shares no code with it, nor of the interface in front of it: tables, groups,
counters and the packet-outs of the contract in, packet-ins out. Streams that are started send all their frames at
once, over a device whose latency is a number; a cell is read in three passes, the low words, the high words, the
report. A controller that leaves the contract (a group that returns seeds, seeds in a port that is no loop) gets
nothing, or is noted in ``faults``. As PCIe does, it pads packet-outs; as a CPU port does, it takes so many reports of a
reading frame and drops the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

CPU, LOOP, PORTS_PER_PIPE, FLOWS, WINDOW = 192, 68, 128, 16384, 8
SEED, START, READ, SEND = 1, 2, 3, 4
CLEAR, SILENT = 1, 2
EXPECTED, FLOODED, UNKNOWN_STREAM, TRANSMITTED, MISDIRECTED = 1, 2, 9, 12, 16
SHORTEST_PACKET_OUT_BYTES = 60
LOOP_HEADER_BYTES = 18
FCS_BYTES = 4
FAR_AHEAD_TICKS = 1 << 29
"""A start later than this only holds the streams."""
TRANSMIT_WORDS = ("flow_sequence", "departures", "first_departure", "last_departure")
RECEIVE_WORDS = (
    *("duplicates", "next_sequence", "reordered", "last_gap_time", "frames", "latency_extremes", "latency_sum"),
    *("latency_last", "latency_overflows", "jitter_extremes", "jitter_sum", "first_arrival", "last_arrival"),
    "spacing_min_inverted",
)
PAIRS = {
    *("last_gap_time", "frames", "latency_extremes", "latency_sum", "jitter_extremes", "jitter_sum"),
    *("first_arrival", "last_arrival", *TRANSMIT_WORDS),
}
"""Cells of two words; both reading passes return the one word of the others."""
ALL_ONES = 0xFFFFFFFF

Device = Callable[[int, bytes, int], list[tuple[int, int]]]
"""(port in, destination, number of the frame on its port) -> (port out, latency in ticks) of each copy."""


Entry = dict[str, Any]
"""Parameters and exact keys by name, predicates for ternary keys, and ``rank``: the largest one that matches wins."""


class TofinoChip(ABC):
    """The chip; ``device`` is cabled to its ports."""

    def __init__(self, device: Device, *, cpu: int = CPU, loop: int = LOOP, reports_taken: int | None = None) -> None:
        self.device = device
        self.cpu = cpu
        """Device port of the CPU: 192 on a Tofino 1 with two pipes, 320 with more; 0 on a Tofino 2."""
        self.loop = loop
        """Number of the recirculation port within each pipe."""
        self.reports_taken = reports_taken
        """Reports of one reading frame that the CPU port takes; None: all."""
        self.reports_lost = 0
        self.loop_ports: list[int] = []
        self.owners: dict[int, int] = {}
        """Ports that count as another one in table ``receiver``, as if an entry named both."""
        self.seeds: dict[tuple[int, int], int] = defaultdict(int)
        """Seeds by (stream, loop port)."""
        self.loop_of: dict[int, int] = {}
        """Port of the loop in which the seeds of each stream were when it last started."""
        self.growth_bytes = 0
        """Bytes by which the device makes frames longer."""
        self.slower_ppm: dict[int, float] = {}
        """By port, how much slower its clock is than that of departures, where it sends at its line rate."""
        self.seeds_to_lose = 0
        """So many of the next seeds do not come into the loop."""
        self.frame_sizes: dict[int, set[int]] = defaultdict(set)
        """Bytes of the frames of each stream, FCS included: those of its seeds."""
        self.sent_frames: list[int] = []
        """Ports of the controller's own frames."""
        self.faults: list[str] = []
        self.tables: dict[str, dict[Hashable, Entry]] = defaultdict(dict)
        """Entries by the last part of the table's name; of one exact key, by its number."""
        self.groups: dict[int, list[tuple[int, int]]] = {}
        self.cells: dict[tuple[int, str, int], int] = defaultdict(int)
        """By pipe, name in docs/DATAPLANE.md and number."""
        self.counters: dict[tuple[str, int], int] = defaultdict(int)
        self.octets: dict[tuple[str, int], int] = defaultdict(int)
        """Bytes of the frames that counters have counted, FCS included."""
        self._now = 1_000_000

    @abstractmethod
    def to_controller(self, kind: int, port: int, time: int, payload: bytes) -> None:
        """Hand a frame to the controller."""

    def set_entry(self, table: str, key: Hashable, entry: Entry) -> None:
        """Take an entry of a table."""
        self.tables[table][key] = entry

    def remove_entry(self, table: str, key: Hashable) -> None:
        """Forget an entry, which is there."""
        if table == "stream":
            # Seeds of a stream without an entry end.
            for stream, port in [place for place in self.seeds if place[0] == key]:
                self.counters["receive_reason", port << 5 | UNKNOWN_STREAM] += self.seeds.pop((stream, port))
        del self.tables[table][key]

    def packet_out(self, request: dict[str, int], payload: bytes, header_bytes: int) -> None:
        """Take a frame of the controller: the fields of its header, of so many bytes, and what follows."""
        payload = payload.ljust(SHORTEST_PACKET_OUT_BYTES - header_bytes, b"\0")
        port = request["port"] or self.loop
        if request["kind"] == SEND:
            self.sent_frames.append(request["port"])
        elif request["kind"] == SEED:
            if self.seeds_to_lose:
                self.seeds_to_lose -= 1
            elif port % PORTS_PER_PIPE == self.loop or port in self.loop_ports:
                self.seeds[request["stream"], port] += 1
                self.frame_sizes[request["stream"]].add(LOOP_HEADER_BYTES + len(payload) + FCS_BYTES)
            else:
                self.faults.append(f"a seed for port {port}, which is no loop")
        elif request["kind"] == READ:
            self._read_cells(request, payload)
        elif request["kind"] == START and request["value"] < FAR_AHEAD_TICKS:
            self._start(request["count"])

    def _start(self, streams: int) -> None:
        base = self._now + 1000
        for stream in range(streams):
            entry = self.tables["stream"].get(stream)
            if entry is None:
                continue
            transmitters = self.groups.get(entry["multicast_group"], [])
            loops = [port for seeded, port in self.seeds if seeded == stream]
            # Seeds return by themselves: a replica for them would double them with each departure.
            if len(loops) != 1 or not all(replica for _, replica in transmitters):
                self.faults.append(f"stream {stream}: loops {loops}, group {transmitters}")
                continue
            self.loop_of[stream] = loops[0]
            size = max(self.frame_sizes[stream])
            gap = entry["interval_ticks"] + entry["interval_fraction_q32"] / 2**32
            for departure in range(entry["departure_count"]):
                time = base + round(departure * gap)
                for port, replica in transmitters:
                    waiting = round(departure * gap * self.slower_ppm.get(port, 0) / 1e6)
                    self._depart(port, replica, departure, time + waiting, size)

    def _depart(self, port: int, replica: int, departure: int, time: int, size: int) -> None:
        source = self.tables["transmitter"].get(replica)
        if source is None:
            return
        pipe = port // PORTS_PER_PIPE
        self.cells[pipe, "departures", replica] += 1
        if not source["skipped"] <= departure < source["end_departure"]:
            return
        position = (departure - source["skipped"]) % (source["last"] + 1)
        place = (source["first"] + position) % source["length_entries"]
        station = self.tables["destination"].get(source["base_entry"] + place)
        if station is None:
            return
        flow = source["flow"] + position
        sequence = self.cells[pipe, "flow_sequence", flow]
        self.cells[pipe, "flow_sequence", flow] += 1
        self.cells[pipe, "first_departure", replica] = self.cells[pipe, "first_departure", replica] or time
        self.cells[pipe, "last_departure", replica] = time
        self._count("transmit_reason", port << 5 | TRANSMITTED, size)
        mac, tag = station["mac"].to_bytes(6, "big"), station["receiver_tag"]
        for out, latency in self.device(port, mac, departure):
            self._arrive(out, mac, tag, flow, sequence, latency, time + latency, size + self.growth_bytes)

    def _count(self, counter: str, cell: int, size: int) -> None:
        self.counters[counter, cell] += 1
        self.octets[counter, cell] += size

    def _arrive(
        self, port: int, mac: bytes, tag: int, flow: int, sequence: int, latency: int, time: int, size: int
    ) -> None:
        pipe, cells = port // PORTS_PER_PIPE, self.cells
        if last := cells[pipe, "last_start", port]:
            nearest = max(cells[pipe, "spacing_min_inverted", port], ALL_ONES - (time - last))
            cells[pipe, "spacing_min_inverted", port] = nearest
        cells[pipe, "last_start", port] = time
        owner = self._receiver(port, mac)
        reason = FLOODED if owner is None else EXPECTED if owner["receiver_tag"] == tag else MISDIRECTED
        self._count("receive_reason", port << 5 | reason, size)
        if owner is None or reason == MISDIRECTED:
            return
        flow += owner["flow_offset"]

        def widen(name: str, sample: int) -> None:
            high, low = divmod(cells[pipe, name, flow], 1 << 32)
            cells[pipe, name, flow] = max(high, ALL_ONES - sample) << 32 | max(low, sample)

        if cells[pipe, "frames", flow]:
            jitter = abs(latency - cells[pipe, "latency_last", flow])
            widen("jitter_extremes", jitter)
            cells[pipe, "jitter_sum", flow] += jitter
        else:
            cells[pipe, "first_arrival", flow] = time
        cells[pipe, "frames", flow] += 1
        self._count("flow_bytes", flow, size)
        cells[pipe, "next_sequence", flow] = sequence + 1
        cells[pipe, "latency_last", flow] = latency
        cells[pipe, "latency_sum", flow] += latency
        cells[pipe, "last_arrival", flow] = time
        widen("latency_extremes", latency)
        rule = _winner(r for r in self.tables["histogram"].values() if r["port"] == port and r["flow"](flow))
        if rule is not None:
            octave = max(0, latency.bit_length() - 6)
            bin_number = latency if latency < 64 else 64 * octave + (latency >> (octave - 1)) % 64
            self.counters["latency_histogram", rule["first_cell"] + bin_number] += 1

    def _receiver(self, port: int, mac: bytes) -> Entry | None:
        address = int.from_bytes(mac, "big")
        owner = self.owners.get(port, port)
        receivers = self.tables["receiver"].values()
        return _winner(r for r in receivers if r["port"] == owner and r["destination_mac"](address))

    def _read_cells(self, request: dict[str, int], padding: bytes) -> None:
        loop = request["port"] or self.loop
        pipe = loop // PORTS_PER_PIPE
        # The last report goes to the CPU port by itself.
        if request["count"] > 1 and sorted(self.groups.get(1, [])) != sorted([(self.cpu, 1), (loop, 0)]):
            self.faults.append(f"reading in loop {loop} with group {self.groups.get(1)}")
            return
        reports = 0
        for cell in range(request["value"], request["value"] + request["count"]):
            low = self._words(pipe, cell, 0)
            high = self._words(pipe, cell, 32)
            if request["flags"] & CLEAR:
                for name in (*TRANSMIT_WORDS, *RECEIVE_WORDS, "last_start"):
                    self.cells[pipe, name, cell] = 0
            self._now += 3
            if request["flags"] & SILENT and cell != request["value"] + request["count"] - 1:
                continue
            reports += 1
            if self.reports_taken is not None and reports > self.reports_taken:
                self.reports_lost += 1
                continue
            self.to_controller(READ, 0, self._now, cell.to_bytes(4, "big") + high + low + padding)

    def _words(self, pipe: int, cell: int, shift: int) -> bytes:
        values = (
            self.cells[pipe, name, cell] >> (shift if name in PAIRS else 0) & ALL_ONES
            for name in (*TRANSMIT_WORDS, *RECEIVE_WORDS)
        )
        return b"".join(value.to_bytes(4, "big") for value in values)


def _winner(entries: Iterable[Entry]) -> Entry | None:
    """The entry that wins of those that match."""
    return max(entries, key=lambda entry: entry["rank"], default=None)
