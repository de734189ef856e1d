"""The tester program seen by a controller: entries, seeds, starts and reading passes by name.

Everything goes through P4Runtime, or BF Runtime (docs/DATAPLANE.md): table entries, multicast groups and
packet-outs in, counters and packet-ins out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from p4mesh.errors import UnsupportedError
from p4mesh.p4runtime import PacketIn
from p4mesh.tester.cell_reader import CellReader, RecordFormat, WaitForPasses, message_format, v1model_format
from p4mesh.tester.contract import Contract
from p4mesh.tester.entries import EntryKey, PlanEntries
from p4mesh.tester.fault_capture import FaultCapture
from p4mesh.tester.frames import FCS_BYTES, payload_sums
from p4mesh.tester.histogram import Bins, Histogram, InterarrivalBins
from p4mesh.tester.invariant_crc import BALANCE_BYTES
from p4mesh.tester.pacing import first_fraction_q32
from p4mesh.tester.plan import Plan, StreamPlan
from p4mesh.tester.records import interarrival_bins, ipdv_bins, latency_bins
from p4mesh.tester.responders import Match, PuntRule
from p4mesh.tester.seed_layout import WORD_BYTES, layout_of
from p4mesh.tester.switch_client import Entity, SwitchClient
from p4mesh.traffic.stream import FEWEST_MODIFIERS, Stream

_RECORD_REPLICA = 1
HOLD_TICKS = (1 << 30) - (1 << 24)
"""Ticks by which clocks are set ahead: with the longest start offset they stay within the 31 bits that the departure
clock compares."""
_OF_ALL_CELLS = 4
"""Cost of reading a cell by its index, in cells of a counter that is read as a whole."""
_NO_GROUPS = np.zeros((0, 0), dtype=np.int64)
PORT_REASONS = (
    "expected", "flooded", "misdirected", "stale", "damaged", "foreign", "pause", "unknown_flow", "punted",
)  # fmt: skip
"""Reasons of frames that come in on a port; the program names them ``REASON_EXPECTED`` and so on."""
LOOP_REASONS = ("unknown_stream", "bad_request", "request_done")
"""Reasons of frames of the loop and of the controller."""
TRANSMIT_REASONS = ("transmitted", "unknown_transmitter", "no_destination", "outside_start_stop")
"""Reasons of copies in egress."""
Reason = tuple[int, str]
"""Port, and name of a reason for which frames are counted there."""


@dataclass(frozen=True)
class PortTotals:
    """Frames of a port and their bytes with FCS."""

    frames_tx: int
    bytes_tx: int
    frames_rx: int
    bytes_rx: int


@dataclass(frozen=True)
class SwitchPorts:
    """Port numbers of the switch where they differ from those of the tester."""

    devices: Mapping[int, int] = field(default_factory=dict)
    """Number of a tester port for the program; ports that are not named have their own number."""
    other_loops: tuple[int, ...] = ()
    """Ports in loopback, which are loops 1, 2, ... beside loop 0 of the program."""

    def of(self, number: int) -> int:
        """Number of a tester port in the program."""
        return self.devices.get(number, number)


class DataPlane:
    """Programs and reads one tester. The client must be the primary of the tester's device."""

    numeric_ports = False
    """Whether groups name ports as servers before P4Runtime 1.4 know them."""
    groups_return_seeds = True
    """Whether a group returns the seed to its loop; else the program sends it there beside the copies of the group."""
    message_time_bits = 48
    """Width of the times of messages, in ticks."""
    counters_see_fcs = False
    """Whether bytes of counters are with the FCS."""

    def __init__(
        self,
        client: SwitchClient,
        contract: Contract,
        ports: SwitchPorts | None = None,
        form: RecordFormat | None = None,
    ) -> None:
        self._client = client
        self._contract = contract
        self._ports = ports or SwitchPorts()
        self._numbers = {device: number for number, device in self._ports.devices.items()}
        self._reader = CellReader(client, contract, form or v1model_format(contract), self._keep_punted)
        self._entries: dict[EntryKey, Entity] = {}
        self._streams: dict[EntryKey, Entity] = {}
        """Entries of the streams of the plan, of those that have been removed, too."""
        self._groups: dict[int, tuple[tuple[int, int], ...]] = {}
        self._seed_fields: dict[int, dict[str, int]] = {}
        self._bins_before: dict[tuple[str, int], int] = {}
        self._bins: dict[tuple[str, int], int] = {}
        self._group_counts = _NO_GROUPS
        self._group_counts_before = _NO_GROUPS
        self._punts: dict[EntryKey, Entity] = {}
        self._punted = 0
        self._handed: list[tuple[int, bytes]] = []
        self._reasons_of: tuple[tuple[int, ...], list[Reason], Callable[[], list[int]]] = ((), [], list)
        """Ports that were asked for last, their places, and the prepared reading."""
        self.faults = FaultCapture(client, contract, self._number_of, self._keep_punted)
        """Frames that come because something is wrong with them."""

    def load_program(self) -> None:
        """Push the compiled tester and install the entries that every trial needs."""
        self._client.set_pipeline(self._contract.p4info_path, self._contract.device_config_path)
        self._reasons_of = ((), [], list)
        self._entries.clear()
        self._bins_before.clear()
        self._bins.clear()
        self._group_counts = self._group_counts_before = _NO_GROUPS
        self._groups.clear()
        self._punts.clear()
        self._punted = 0
        self._handed.clear()
        self.faults.forget()
        self._reader.forget()
        self._set_groups(self._reading_group(self._contract["PORT_LOOP"]))

    @property
    def is_connected(self) -> bool:
        """False once the server has gone; its entries may be gone with it."""
        return self._client.is_connected

    def ensure_connected(self) -> None:
        """Connect again where the server has gone since the last use, and load the program anew."""
        if not self.is_connected:
            self._client.reconnect()
            self.load_program()

    @property
    def packet_outs_sent(self) -> int:
        """Packet-outs so far; the target's clock waits for them."""
        return self._client.packet_outs_sent

    def configure(self, plan: Plan, run: int) -> None:
        """Install the entries and groups of a plan and remove those of the plan before; histograms begin anew."""
        # Counters of P4 are never cleared: counts of a trial are differences.
        self._bins_before |= self._bins
        self._group_counts_before = self._group_counts
        self._set_groups(
            {self._contract["GROUP_READ"]: self._groups[self._contract["GROUP_READ"]]}
            | {stream.group: self._replicas(stream) for stream in plan.streams}
        )
        self._seed_fields = {planned.index: self._seed_fields_of(planned.stream) for planned in plan.streams}
        self._set_entries(PlanEntries(self._client.schema, self._contract, self._ports.of).of(plan))
        self._streams = {key: entry for key, entry in self._entries.items() if key[0] == "stream"}
        self._client.modify(
            [
                self._client.schema.default_entry("receive_run", "set_receive_run", {"run_id": run}),
                self._client.schema.default_entry("transmit_run", "set_transmit_run", {"run_id": run}),
            ]
        )

    def renew(self, plan: Plan) -> None:
        """Let transmitters of the plan, which is otherwise the one that is configured, send more frames."""
        entries = PlanEntries(self._client.schema, self._contract, self._ports.of).of(plan)
        self._set_entries(self._entries | {key: entry for key, entry in entries.items() if key[0] == "transmitter"})

    def admit_streams(self, streams: Collection[int]) -> None:
        """Install the entries of streams of the plan again, of those that have been removed."""
        missing = {key: self._streams[key] for number in streams if (key := ("stream", number)) not in self._entries}
        if missing:
            self._set_entries(self._entries | missing)

    def stop_streams(self, streams: Collection[int]) -> None:
        """Remove the entries of streams; each of their seeds ends at its next pass."""
        ended = {("stream", number) for number in streams}
        self._set_entries({key: entry for key, entry in self._entries.items() if key not in ended})

    def send(self, port: int, frame: bytes, *, stamped: bool = False) -> None:
        """Send one frame of the controller out of a port; ``stamped`` keeps when it leaves, where the program can."""
        flags = self._contract.constants.get("STAMP_SENT", 0) if stamped else 0
        self._request("SEND", frame, port=self._ports.of(port), flags=flags)

    def inject_seed(
        self, stream: int, payload: bytes, number: int, count: int, loop: int = 0, fraction_q32: int = 0
    ) -> None:
        """Put one of ``count`` seeds into a loop, as if it had closed gaps with this fraction before."""
        port = self._ports.other_loops[loop - 1] if loop else 0
        begun = first_fraction_q32(number, count)
        fields = self._seed_fields.get(stream, {})
        window = int(begun < fraction_q32)
        self._request("SEED", payload, stream=stream, value=begun, window=window, port=port, **fields)

    def _seed_fields_of(self, stream: Stream) -> dict[str, int]:
        """Flags and count of the seeds of a stream: what the parser of the program cannot see in them."""
        layout, flags = layout_of(stream.frame), 0
        if stream.sizes_in_turn_bytes:
            flags |= self._contract["SIZES_IN_TURN"]
        if layout.in_tunnel:
            flags |= self._contract["IN_TUNNEL"]
        if layout.spoiled:
            flags |= self._contract[f"WRONG_{layout.spoiled}"]
        if len(stream.modifiers) > FEWEST_MODIFIERS or stream.frame.trailer_bytes:
            flags |= self._contract["MORE_MODIFIERS"]
        count = layout.words["own"]
        if stream.frame.trailer_bytes:
            count += BALANCE_BYTES // WORD_BYTES
            count |= self._contract["BALANCED"]
            if self._contract.check_covers_payload:
                payload_sum = payload_sums(stream.frame, (stream.frame_size_bytes,), stream.payload)[0]
                count |= payload_sum << self._contract["PAYLOAD_SUM_SHIFT"]
        return {"flags": flags, "count": count}

    def hold(self, streams: range, wait: WaitForPasses) -> None:
        """Set the clocks of streams far ahead, so that seeds do not depart by those of an interrupted run."""
        self.start(streams, HOLD_TICKS)
        wait(len(streams) + 2)

    def start(self, streams: range, lead_ticks: int) -> None:
        """Start streams together, ``lead_ticks`` after the request's first pass."""
        self._request("START", b"", value=lead_ticks, stream=streams.start, count=len(streams))

    def punt(self, rules: Collection[PuntRule]) -> None:
        """Have the frames of these rules without signature handed to the controller, and no others.

        Rules may have all keys of the program's table ``punt``. Raises UnsupportedError when the table has no room.
        """
        room = self._contract["PUNT_RULES"]
        if len(rules) > room:
            raise UnsupportedError(
                f"the ports need {len(rules)} rules for frames to the controller, the program has {room}",
                hint="run fewer protocols at a time (p4src/include/sizes.p4)",
            )
        wanted: dict[EntryKey, Entity] = {("punt", rule): self._punt_entry(rule) for rule in rules}
        self._client.delete([entry for key, entry in self._punts.items() if key not in wanted])
        self._client.insert([entry for key, entry in wanted.items() if key not in self._punts])
        self._punts = wanted

    def _punt_entry(self, rule: PuntRule) -> Entity:
        match: dict[str, Match] = dict(rule.keys)
        if isinstance(number := match.get("port"), int):
            match["port"] = self._ports.of(number)
        return self._client.schema.table_entry("punt", match=match, action="to_controller", priority=1)

    @property
    def packet_ins_taken(self) -> int:
        """Packet-ins so far, records of reading passes included."""
        return self._client.packet_ins_taken

    def take_packet_in(self, timeout_s: float) -> bool:
        """Wait for the next packet-in; return whether one has come. Records that were not asked for are dropped."""
        packets = self._client.take_packet_ins(1, timeout_s)
        for packet in packets:
            self._keep_punted(packet)
        return bool(packets)

    def take_handed(self) -> list[tuple[int, bytes]]:
        """(port, frame) of every punted frame that is here already."""
        taken, self._handed = self._handed, []
        self._punted += len(taken)
        return taken

    def take_punted(self, ports: Sequence[int]) -> list[tuple[int, bytes]]:
        """(port, frame) of every frame that was handed to the controller since the last call."""
        cells = {self._reason_cell(port, "punted"): port for port in ports}
        # The program counts every frame that it punts, so that those still on their way are known and waited for.
        counted = sum(data.packets for _, data in self._client.read_counters("receive_reason", list(cells)))
        missing, self._punted = counted - self._punted - len(self._handed), counted
        while missing > 0 and (packets := self._client.take_packet_ins(missing)):
            missing -= sum(self._keep_punted(packet) for packet in packets)
        taken, self._handed = self._handed, []
        return taken

    def _keep_punted(self, packet: PacketIn) -> bool:
        punted = packet.metadata["kind"] == self._contract["KIND_SEND"]
        if punted:
            self._handed.append((self._number_of(packet.metadata["port"]), packet.payload))
        else:
            self.faults.keep(packet)
        return punted

    def _number_of(self, port: int) -> int:
        return self._numbers.get(port, port)

    def clear(self, cells: int, wait: WaitForPasses) -> None:
        """Clear every register of cells 0 to ``cells`` - 1; confirmed by the last record."""
        self._reader.clear(cells, wait)

    def clear_windows(self, cells: int, wait: WaitForPasses) -> None:
        """Clear duplicate windows that outlive a trial; those of v1model are cleared with their cells."""

    @property
    def passes_per_cell(self) -> int:
        """Rounds of the loop that a reading frame makes for a cell."""
        return self._reader.passes_per_cell

    def read(self, cells: int, wait: WaitForPasses) -> np.ndarray[Any, Any]:
        """Records of cells 0 to ``cells`` - 1; all of them, or TargetError.

        Fields are those of ``record_t`` that the target measures, and READ_TICKS (:mod:`p4mesh.tester.records`).
        """
        return self._reader.read([range(cells)], wait)

    def read_some(self, wanted: Sequence[range], wait: WaitForPasses) -> np.ndarray[Any, Any]:
        """Records of some cells, in their order; fields of ports may be missing from them."""
        return self._reader.read(wanted, wait)

    def clear_messages(self, sources: int, wait: WaitForPasses) -> None:
        """Clear the messages of sources 0 to ``sources`` - 1, and everything else in the cells of these numbers."""
        self._reader.clear(sources, wait, flags=self._contract["READ_MESSAGES"])

    def read_messages(self, sources: int, wait: WaitForPasses) -> np.ndarray[Any, Any]:
        """Records of sources 0 to ``sources`` - 1, with the fields of ``message_record_t``."""
        return self._reader.read([range(sources)], wait, form=message_format(self._contract))

    def reason_counts(self, ports: Sequence[int]) -> dict[Reason, int]:
        """Frames per (port, reason) since the program was loaded."""
        counted, places, read = self._reasons_of
        if counted != tuple(ports):
            places, read = self._reasons(ports)
            self._reasons_of = tuple(ports), places, read
        return dict(zip(places, read(), strict=True))

    def port_totals(self, ports: Sequence[int]) -> dict[int, PortTotals]:
        """Test frames sent, and frames received for any reason, of each port since the program was loaded."""
        sent = {self._reason_cell(port, "transmitted"): port for port in ports}
        received = {self._reason_cell(port, reason): port for port in ports for reason in PORT_REASONS}
        totals = {port: [0, 0, 0, 0] for port in ports}
        unseen_bytes = 0 if self.counters_see_fcs else FCS_BYTES
        for counter, cells, place in (("transmit_reason", sent, 0), ("receive_reason", received, 2)):
            for cell, data in self._client.read_counters(counter, list(cells)):
                totals[cells[cell]][place] += data.packets
                totals[cells[cell]][place + 1] += data.bytes + data.packets * unseen_bytes
        return {port: PortTotals(*found) for port, found in totals.items()}

    def ended_seeds(self) -> int:
        """Seeds that have ended in the loops because their streams had, since the program was loaded."""
        loops = (self._contract["PORT_LOOP"], *self._ports.other_loops)
        cells = [self._cell_of(port, "unknown_stream") for port in loops]
        return sum(data.packets for _, data in self._client.read_counters("receive_reason", cells))

    @property
    def counts_strays(self) -> bool:
        """Whether the program counts flooded and misdirected frames per flow."""
        return "flooded_flow" in self._client.schema.info.counters

    def stray_counts(self, flows: int) -> np.ndarray[Any, Any]:
        """Flooded and misdirected frames of flows 0 to ``flows`` - 1 since the program was loaded: two rows."""
        found = np.zeros((2, flows), dtype=np.int64)
        for row, counter in enumerate(("flooded_flow", "misdirected_flow")):
            for cell, data in self._client.read_counters(counter, range(flows)):
                found[row, cell] = data.packets
        return found

    def histogram_counts(
        self, histograms: Sequence[Histogram], records: np.ndarray[Any, Any], *, counts_times: bool
    ) -> dict[int, Bins]:
        """Frames per bin that each histogram has counted since :meth:`configure`.

        Only bins between the extremes of ``records`` are read, or of the one flow of a histogram: the others cannot
        have changed. Where times between frames are counted, IPDV is not.
        """
        found = {}
        for histogram in histograms:
            number, finer_bits = histogram.number, histogram.finer_bits
            size = self._contract["HISTOGRAM_BINS"] << finer_bits
            own = records if histogram.tx_port is None else records[list(histogram.cells)]
            sizes = range(0) if counts_times else self._ipdv_bins(own, finer_bits)
            increases, decreases = (self._new_counts(*self._ipdv_cells(number, half, size), sizes) for half in (0, 1))
            latencies = self._new_counts("latency_histogram", number * size, size, latency_bins(own, finer_bits))
            found[number] = Bins(latencies, increases + decreases)
        return found

    def _ipdv_bins(self, records: np.ndarray[Any, Any], finer_bits: int) -> range:
        """Bins of IPDV that flows with these records may have filled."""
        return ipdv_bins(records, finer_bits)

    def _ipdv_cells(self, histogram: int, half: int, size: int) -> tuple[str, int, int]:
        """Counter, first cell and number of increases, for half 0, or of decreases of a histogram of a size."""
        return "ipdv_histogram", (2 * histogram + half) * size, size

    def interarrival_counts(
        self, histograms: Sequence[Histogram], records: np.ndarray[Any, Any]
    ) -> dict[int, InterarrivalBins]:
        """Frames per bin of the time since the frame before, which each histogram has counted since :meth:`configure`.

        Only bins of times that ``records`` allow are read.
        """
        found = {}
        for histogram in histograms:
            size = self._contract["HISTOGRAM_BINS"] << histogram.finer_bits
            places = interarrival_bins(records[list(histogram.cells)], histogram.finer_bits)
            found[histogram.number] = InterarrivalBins(
                *(
                    self._new_counts("ipdv_histogram", (2 * histogram.number + half) * size, size, places)
                    for half in (0, 1)
                )
            )
        return found

    def group_counts(self, plan: Plan) -> np.ndarray[Any, Any] | None:
        """Frames per (place of the port, flow number) of counted groups since :meth:`configure`.

        None where the plan counts none. Counters of other numbers and ports are 0.
        """
        if not plan.counted:
            return None
        now = np.zeros((self._contract["GROUP_PORTS"], self._contract["GROUPS"]), dtype=np.int64)
        if self._group_counts.size:
            now[:] = self._group_counts
        cells = np.arange(now.size).reshape(now.shape)
        places = range(len(plan.counted_ports))
        parts = [slice(part.first, part.first + len(part.destinations)) for part in plan.counted]
        if sum(part.stop - part.start for part in parts) * len(places) > now.size // _OF_ALL_CELLS:
            everything = np.array(self._client.read_counter_array("group_frames")[0]).reshape(now.shape)
            for part in parts:
                now[places, part] = everything[places, part]
        else:
            for place, part in product(places, parts):
                counts = self._client.read_counters("group_frames", cells[place, part].tolist())
                now[place, part] = [data.packets for _, data in counts]
        self._group_counts = now
        return now - self._group_counts_before if self._group_counts_before.size else now

    def _new_counts(self, counter: str, first: int, size: int, bins: range) -> list[int]:
        """Counts of ``size`` cells from ``first`` on since :meth:`configure`; those outside of ``bins`` are 0."""
        counts = [0] * size
        cells = range(first + bins.start, first + bins.stop)
        for cell, data in self._client.read_counters(counter, cells) if cells else ():
            counts[cell - first] = data.packets - self._bins_before.get((counter, cell), 0)
            self._bins[counter, cell] = data.packets
        return counts

    def _reasons(self, ports: Sequence[int]) -> tuple[list[Reason], Callable[[], list[int]]]:
        """Reasons for which frames are counted on some ports, and a function that reads the counts."""
        counters = {"receive_reason": PORT_REASONS + LOOP_REASONS, "transmit_reason": TRANSMIT_REASONS}
        places = {counter: [(port, reason) for port in ports for reason in counters[counter]] for counter in counters}
        cells = {counter: [self._reason_cell(*place) for place in places[counter]] for counter in counters}
        return [place for counter in counters for place in places[counter]], self._client.packet_counts(cells)

    def _reason_cell(self, port: int, reason: str) -> int:
        return self._cell_of(self._ports.of(port), reason)

    def _cell_of(self, port: int, reason: str) -> int:
        """Cell of a reason for a port by its number in the program."""
        return (port << self._contract["REASON_BITS"]) + self._contract.reason(reason.upper())

    def _request(self, kind: str, payload: bytes, **fields: int) -> None:
        self._client.packet_out(payload, kind=self._contract[f"KIND_{kind}"], **fields)

    def _replicas(self, stream: StreamPlan) -> tuple[tuple[int, int], ...]:
        copies = tuple((self._ports.of(transmitter.port), transmitter.id) for transmitter in stream.transmitters)
        return ((self._contract["PORT_LOOP"], 0), *copies) if self.groups_return_seeds else copies

    def _reading_group(self, loop_port: int) -> dict[int, tuple[tuple[int, int], ...]]:
        """Group by which a record goes to the controller and its frame round the loop of a port."""
        return {self._contract["GROUP_READ"]: ((self._contract["PORT_CPU"], _RECORD_REPLICA), (loop_port, 0))}

    def _set_entries(self, wanted: dict[EntryKey, Entity]) -> None:
        """Write the difference between the installed and the wanted entries."""
        # Deletions come first: the entries of two plans need not fit into the tables together.
        self._client.delete([entry for key, entry in self._entries.items() if key not in wanted])
        self._client.modify(
            [entry for key, entry in wanted.items() if key in self._entries and self._entries[key] != entry]
        )
        self._client.insert([entry for key, entry in wanted.items() if key not in self._entries])
        self._entries = dict(wanted)

    def _set_groups(self, wanted: dict[int, tuple[tuple[int, int], ...]]) -> None:
        def entities(groups: Mapping[int, tuple[tuple[int, int], ...]]) -> list[Entity]:
            encode = self._client.schema.multicast_group
            return [encode(number, members, numeric_ports=self.numeric_ports) for number, members in groups.items()]

        known = self._groups
        self._client.delete(entities({n: members for n, members in known.items() if n not in wanted}))
        self._client.modify(entities({n: m for n, m in wanted.items() if n in known and known[n] != m}))
        self._client.insert(entities({n: members for n, members in wanted.items() if n not in known}))
        self._groups = dict(wanted)
