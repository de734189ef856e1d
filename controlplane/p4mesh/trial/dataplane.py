"""The tester program seen by a controller: entries, seeds, starts and reading passes by name.

Everything goes through P4Runtime (docs/DATAPLANE.md): table entries, multicast groups and
packet-outs in, counters and packet-ins out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

import numpy as np

from p4mesh.errors import TargetError
from p4mesh.p4runtime import Client, Entity, PacketIn
from p4mesh.target.contract import Contract
from p4mesh.trial.entries import EntryKey, PlanEntries
from p4mesh.trial.histogram import Bins
from p4mesh.trial.latency_stats import ipdv_bins, latency_bins
from p4mesh.trial.plan import Plan, StreamPlan

WaitForPasses = Callable[[int], None]
"""Lets the target's time pass until a frame has made this many rounds of the loop."""

_RECORD_REPLICA = 1
_READ_ATTEMPTS = 3
_HOLD_TICKS = (1 << 30) - (1 << 24)
"""With the longest start offset still within reach of the departure clock, which compares 31 bits."""
_TIME_BITS = 48
_RECEIVE_REASONS = ("expected", "flooded", "stale", "damaged", "foreign", "pause", "unknown_flow", "punted")
_LOOP_REASONS = ("unknown_stream", "bad_request", "request_done")
_TRANSMIT_REASONS = ("transmitted", "unknown_transmitter", "no_destination", "outside_start_stop")


class DataPlane:
    """Programs and reads one tester. The client must be the primary of the tester's device."""

    def __init__(self, client: Client, contract: Contract) -> None:
        self._client = client
        self._contract = contract
        self._entries: dict[EntryKey, Entity] = {}
        self._groups: dict[int, tuple[tuple[int, int], ...]] = {}
        self._bins: dict[tuple[str, int], int] = {}
        self._punts: dict[EntryKey, Entity] = {}
        self._punted = 0
        self._handed: list[tuple[int, bytes]] = []
        self._last_record_ticks: int | None = None
        self._dtype = np.dtype([(name, f">u{width}") for name, width in contract.record_fields])

    def load_program(self) -> None:
        """Push the compiled tester and install what every trial needs."""
        self._client.set_pipeline(self._contract.p4info_path, self._contract.json_path)
        self._entries.clear()
        self._bins.clear()
        self._groups.clear()
        self._punts.clear()
        self._punted = 0
        self._handed.clear()
        self._last_record_ticks = None
        replicas = ((self._contract["PORT_CPU"], _RECORD_REPLICA), (self._contract["PORT_LOOP"], 0))
        self._set_groups({self._contract["GROUP_READ"]: replicas})

    @property
    def packet_outs_sent(self) -> int:
        """Packet-outs so far; the target's clock waits for them."""
        return self._client.packet_outs_sent

    def configure(self, plan: Plan, run: int) -> None:
        """Install the entries and groups of a plan and remove those of the plan before."""
        self._set_groups(
            {self._contract["GROUP_READ"]: self._groups[self._contract["GROUP_READ"]]}
            | {stream.group: self._replicas(stream) for stream in plan.streams}
        )
        self._set_entries(PlanEntries(self._client.schema, self._contract).of(plan))
        self._client.modify(
            [
                self._client.schema.default_entry("receive_run", "set_receive_run", {"run_id": run}),
                self._client.schema.default_entry("transmit_run", "set_transmit_run", {"run_id": run}),
            ]
        )

    def stop_streams(self) -> None:
        """Remove the stream entries; every seed ends at its next pass."""
        self._set_entries({key: entry for key, entry in self._entries.items() if key[0] != "stream"})

    def send(self, port: int, frame: bytes) -> None:
        """Send one frame of the controller out of a port."""
        self._request("SEND", frame, port=port)

    def inject_seed(self, stream: int, payload: bytes, number: int, count: int) -> None:
        """Put one of ``count`` seeds into the loop; their fractions are spread over one tick."""
        self._request("SEED", payload, stream=stream, value=(number << 32) // count)

    def hold(self, streams: int, wait: WaitForPasses) -> None:
        """Set the clocks of streams 0 to ``streams`` - 1 far ahead: a run that was broken off has left departures."""
        self.start(streams, _HOLD_TICKS)
        wait(streams + 2)

    def start(self, streams: int, lead_ticks: int) -> None:
        """Start streams 0 to ``streams`` - 1 together, ``lead_ticks`` after the request's first pass."""
        self._request("START", b"", value=lead_ticks, count=streams)

    def punt(self, ether_types: Sequence[int]) -> None:
        """Have frames of these types without signature handed to the controller, and no others."""
        wanted: dict[EntryKey, Entity] = {
            ("punt", number): self._client.schema.table_entry(
                "punt", match={"ether_type": (number, 0xFFFF)}, action="to_controller", priority=1
            )
            for number in ether_types
        }
        self._client.delete([entry for key, entry in self._punts.items() if key not in wanted])
        self._client.insert([entry for key, entry in wanted.items() if key not in self._punts])
        self._punts = wanted

    def take_punted(self, ports: Sequence[int]) -> list[tuple[int, bytes]]:
        """Return (port, frame) of every frame that was handed to the controller since the last call."""
        cells = {(port << self._contract["REASON_BITS"]) + self._contract.reason("PUNTED"): port for port in ports}
        counted = sum(data.packets for _, data in self._client.read_counters("receive_reason", list(cells)))
        missing, self._punted = counted - self._punted - len(self._handed), counted
        while missing > 0 and (packets := self._client.take_packet_ins(missing)):
            missing -= sum(self._keep_punted(packet) for packet in packets)
        taken, self._handed = self._handed, []
        return taken

    def _keep_punted(self, packet: PacketIn) -> bool:
        punted = packet.metadata["kind"] == self._contract["KIND_SEND"]
        if punted:
            self._handed.append((packet.metadata["port"], packet.payload))
        return punted

    def clear(self, cells: int, wait: WaitForPasses) -> None:
        """Clear every register of cells 0 to ``cells`` - 1; confirmed by the last record."""
        self._sweep(0, cells, self._contract["FLAG_CLEAR"] | self._contract["FLAG_SILENT"], 0, wait)

    def clear_windows(self, cells: int, wait: WaitForPasses) -> None:
        """Clear the duplicate windows of all cells, and everything else there."""
        for place in range(1 << self._contract["WINDOW_BITS"]):
            self._sweep(0, cells, self._contract["FLAG_CLEAR"] | self._contract["FLAG_SILENT"], place, wait)

    def read(self, cells: int, wait: WaitForPasses) -> np.ndarray[Any, Any]:
        """Return the records of cells 0 to ``cells`` - 1, fields as in ``record_t``.

        Records that are lost, or a reading frame, are noticed by the missing cells, which are read
        again. Of duplicate records the first is kept, and records of an earlier reading, which may
        come late or twice, are known by their time. Raises TargetError when records stay missing.
        """
        payloads: dict[int, bytes] = {}
        missing = [(0, cells)]
        older = self._last_record_ticks
        for _ in range(_READ_ATTEMPTS):
            for first, count in missing:
                self._request("READ", b"", value=first, count=count)
                wait(count + 2)
            payloads |= self._records({cell for first, count in missing for cell in range(first, first + count)}, older)
            missing = _gaps(payloads.keys(), cells)
            if not missing:
                return np.frombuffer(b"".join(payloads[cell] for cell in range(cells)), dtype=self._dtype)
        raise TargetError(
            f"{sum(count for _, count in missing)} of {cells} records were not received in {_READ_ATTEMPTS} attempts",
            hint="the controller channel or the loop loses frames",
        )

    def reason_counts(self, ports: Sequence[int]) -> dict[tuple[int, str], int]:
        """Return the frames per (port, reason)."""
        counts = {}
        for counter, reasons in (
            ("receive_reason", _RECEIVE_REASONS + _LOOP_REASONS),
            ("transmit_reason", _TRANSMIT_REASONS),
        ):
            cells = {
                (port << self._contract["REASON_BITS"]) + self._contract.reason(reason.upper()): (port, reason)
                for port in ports
                for reason in reasons
            }
            for index, data in self._client.read_counters(counter, list(cells)):
                counts[cells[index]] = data.packets
        return counts

    def histogram_counts(self, histograms: Sequence[int], records: np.ndarray[Any, Any]) -> dict[int, Bins]:
        """Return the frames per bin that each histogram has counted since it was last read here.

        Only bins between the extremes of ``records`` are read: the others cannot have changed.
        """
        size = self._contract["HISTOGRAM_BINS"]
        latencies, sizes = latency_bins(records), ipdv_bins(records)
        return {
            number: Bins(
                self._new_counts("latency_histogram", number * size, size, latencies),
                self._new_counts("ipdv_histogram", 2 * number * size, size, sizes)
                + self._new_counts("ipdv_histogram", (2 * number + 1) * size, size, sizes),
            )
            for number in histograms
        }

    def _new_counts(self, counter: str, first: int, size: int, bins: range) -> list[int]:
        """Return ``size`` counts from cell ``first`` on, of which those outside of ``bins`` are 0."""
        counts = [0] * size
        cells = range(first + bins.start, first + bins.stop)
        for cell, data in self._client.read_counters(counter, cells) if cells else ():
            counts[cell - first] = data.packets - self._bins.get((counter, cell), 0)
            self._bins[counter, cell] = data.packets
        return counts

    def _sweep(self, first: int, count: int, flags: int, window: int, wait: WaitForPasses) -> None:
        older = self._last_record_ticks
        for _ in range(_READ_ATTEMPTS):
            self._request("READ", b"", flags=flags, window=window, value=first, count=count)
            wait(count + 2)
            if self._records({first + count - 1}, older):
                return
        raise TargetError(
            f"a clearing pass over {count} cells did not return in {_READ_ATTEMPTS} attempts",
            hint="the controller channel or the loop loses frames",
        )

    def _records(self, cells: Set[int], older: int | None) -> dict[int, bytes]:
        """Return the first record of each cell that was read later than ``older``; fewer when no more come."""
        found: dict[int, bytes] = {}
        while len(found) < len(cells) and (packets := self._client.take_packet_ins(len(cells) - len(found))):
            for packet in packets:
                cell = int.from_bytes(packet.payload[:4], "big")
                if packet.metadata["kind"] != self._contract["KIND_READ"]:
                    self._keep_punted(packet)
                elif cell in cells and (older is None or _is_later(packet.metadata["time"], older)):
                    self._last_record_ticks = packet.metadata["time"]
                    found.setdefault(cell, packet.payload)
        return found

    def _request(self, kind: str, payload: bytes, **fields: int) -> None:
        self._client.packet_out(payload, kind=self._contract[f"KIND_{kind}"], **fields)

    def _replicas(self, stream: StreamPlan) -> tuple[tuple[int, int], ...]:
        return ((self._contract["PORT_LOOP"], 0), *((t.port, t.id) for t in stream.transmitters))

    def _set_entries(self, wanted: dict[EntryKey, Entity]) -> None:
        """Write the difference between what is installed and what is wanted."""
        self._client.delete([entry for key, entry in self._entries.items() if key not in wanted])
        self._client.modify(
            [entry for key, entry in wanted.items() if key in self._entries and self._entries[key] != entry]
        )
        self._client.insert([entry for key, entry in wanted.items() if key not in self._entries])
        self._entries = dict(wanted)

    def _set_groups(self, wanted: dict[int, tuple[tuple[int, int], ...]]) -> None:
        group = self._client.schema.multicast_group
        self._client.delete([group(number, self._groups[number]) for number in self._groups if number not in wanted])
        self._client.modify(
            [group(n, replicas) for n, replicas in wanted.items() if n in self._groups and self._groups[n] != replicas]
        )
        self._client.insert([group(n, replicas) for n, replicas in wanted.items() if n not in self._groups])
        self._groups = dict(wanted)


def _is_later(ticks: int, other: int) -> bool:
    """Compare two time stamps of 48 bits, which wrap; 0 is no time stamp."""
    return ticks == 0 or 0 < (ticks - other) % (1 << _TIME_BITS) < 1 << (_TIME_BITS - 1)


def _gaps(present: Iterable[int], cells: int) -> list[tuple[int, int]]:
    """Return (first, count) of each run of missing cells."""
    gaps: list[tuple[int, int]] = []
    known = set(present)
    for cell in range(cells):
        if cell in known:
            continue
        if gaps and gaps[-1][0] + gaps[-1][1] == cell:
            gaps[-1] = (gaps[-1][0], gaps[-1][1] + 1)
        else:
            gaps.append((cell, 1))
    return gaps
