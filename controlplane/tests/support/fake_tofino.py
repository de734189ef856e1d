"""A P4Runtime server with a little model of a two-pipe Tofino 1 behind it, written from docs/TOFINO.md.

It knows nothing of the controller and shares no code with it: tables, groups, counters and the packet-outs of the
contract in, packet-ins out. Streams that are started send all their frames at once, over a device whose latency is a
number; a cell is read in three passes, the low words, the high words, the report. A controller that breaks the contract
(a group without the loop, seeds in a port that is no loop) gets no frames, or ``faults`` notes it. As Stratum does, it
reads ports of groups from ``egress_port``. As PCIe does, it pads packet-outs; as a CPU port does, it takes so many
reports of a reading frame and drops the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent import futures
from queue import SimpleQueue
from typing import Any

import grpc
from support.certificates import Certificates

from p4mesh.p4runtime.stubs import p4i, p4r, rpc_status

CPU, LOOP, PORTS_PER_PIPE, FLOWS, WINDOW = 192, 68, 128, 16384, 8
SEED, START, READ, SEND = 1, 2, 3, 4
CLEAR, SILENT = 1, 2
EXPECTED, FLOODED, TRANSMITTED, MISDIRECTED = 1, 2, 12, 16
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


class FakeTofino:
    """The switch; ``device`` is cabled to its ports."""

    def __init__(
        self,
        device: Device,
        *,
        value_sets: bool = True,
        cpu: int = CPU,
        reports_taken: int | None = None,
        tls: Certificates | None = None,
    ) -> None:
        self.device = device
        self.value_sets = value_sets
        self.cpu = cpu
        """Device port of the CPU: 192 on chips with two pipes, 320 on those with more."""
        self.reports_taken = reports_taken
        """Reports of one reading frame that the CPU port takes; None: all."""
        self.reports_lost = 0
        self.device_config = b""
        self.loop_ports: list[int] = []
        self.owners: dict[int, int] = {}
        """Ports that count as another one in table ``receiver``, as if an entry named both."""
        self.seeds: dict[tuple[int, int], int] = defaultdict(int)
        """Seeds by (stream, loop port)."""
        self.frame_sizes: dict[int, set[int]] = defaultdict(set)
        """Bytes of the frames of each stream, FCS included: those of its seeds."""
        self.sent_frames: list[int] = []
        """Ports of the controller's own frames."""
        self.faults: list[str] = []
        self.tables: dict[str, dict[bytes, Any]] = defaultdict(dict)
        self.groups: dict[int, list[tuple[int, int]]] = {}
        self.elections: list[tuple[int, int]] = []
        """(device id, election id) of each arbitration."""
        self._cells: dict[tuple[int, str, int], int] = defaultdict(int)
        self._counters: dict[tuple[str, int], int] = defaultdict(int)
        self._now = 1_000_000
        self._to_controller: SimpleQueue[p4r.StreamMessageResponse | None] = SimpleQueue()
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers((self._handlers(),))
        if tls is None:
            port = self._server.add_insecure_port("127.0.0.1:0")
        else:
            own = [(tls.server_key.read_bytes(), tls.server.read_bytes())]
            credentials = grpc.ssl_server_credentials(own, tls.ca.read_bytes(), require_client_auth=True)
            port = self._server.add_secure_port("127.0.0.1:0", credentials)
        self.address = f"127.0.0.1:{port}"

    def __enter__(self) -> FakeTofino:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._to_controller.put(None)
        self._server.stop(0)

    # The chip

    def _start(self, streams: int) -> None:
        base = self._now + 1000
        for stream in range(streams):
            entry = self._entry("stream", bytes([stream]))
            if entry is None:
                continue
            replicas = self.groups.get(entry["multicast_group"], [])
            loops = [port for port, replica in replicas if replica == 0]
            if len(loops) != 1 or not self.seeds.get((stream, loops[0])):
                self.faults.append(f"stream {stream}: loops {loops}, seeds {dict(self.seeds)}")
                continue
            transmitters = [(port, replica) for port, replica in replicas if replica]
            gap = entry["interval_ticks"] + entry["interval_fraction_q32"] / 2**32
            for departure in range(entry["departure_count"]):
                time = base + round(departure * gap)
                for port, replica in transmitters:
                    self._depart(port, replica, departure, time)

    def _depart(self, port: int, replica: int, departure: int, time: int) -> None:
        source = self._entry("transmitter", replica.to_bytes(2, "big"))
        if source is None:
            return
        pipe = port // PORTS_PER_PIPE
        self._cells[pipe, "departures", replica] += 1
        if not source["skipped"] <= departure < source["end_departure"]:
            return
        position = (departure - source["skipped"]) % (source["last"] + 1)
        place = (source["first"] + position) % source["length_entries"]
        station = self._entry("destination", (source["base_entry"] + place).to_bytes(4, "big"))
        if station is None:
            return
        flow = source["flow"] + position
        sequence = self._cells[pipe, "flow_sequence", flow]
        self._cells[pipe, "flow_sequence", flow] += 1
        self._cells[pipe, "first_departure", replica] = self._cells[pipe, "first_departure", replica] or time
        self._cells[pipe, "last_departure", replica] = time
        self._counters["transmit_reason", port << 5 | TRANSMITTED] += 1
        mac, tag = station["mac"].to_bytes(6, "big"), station["receiver_tag"]
        for out, latency in self.device(port, mac, departure):
            self._arrive(out, mac, tag, flow, sequence, latency, time + latency)

    def _arrive(self, port: int, mac: bytes, tag: int, flow: int, sequence: int, latency: int, time: int) -> None:
        pipe, cells = port // PORTS_PER_PIPE, self._cells
        if last := cells[pipe, "last_start", port]:
            nearest = max(cells[pipe, "spacing_min_inverted", port], ALL_ONES - (time - last))
            cells[pipe, "spacing_min_inverted", port] = nearest
        cells[pipe, "last_start", port] = time
        owner = self._receiver(port, mac)
        reason = FLOODED if owner is None else EXPECTED if owner["receiver_tag"] == tag else MISDIRECTED
        self._counters["receive_reason", port << 5 | reason] += 1
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
        cells[pipe, "next_sequence", flow] = sequence + 1
        cells[pipe, "latency_last", flow] = latency
        cells[pipe, "latency_sum", flow] += latency
        cells[pipe, "last_arrival", flow] = time
        widen("latency_extremes", latency)
        rule = next((r for r in self.tables["histogram"].values() if r["port"] == port and r["flow"](flow)), None)
        if rule is not None:
            octave = max(0, latency.bit_length() - 6)
            bin_number = latency if latency < 64 else 64 * octave + (latency >> (octave - 1)) % 64
            self._counters["latency_histogram", rule["first_cell"] + bin_number] += 1

    def _receiver(self, port: int, mac: bytes) -> dict[str, Any] | None:
        address = int.from_bytes(mac, "big")
        owner = self.owners.get(port, port)
        for entry in self.tables["receiver"].values():
            if entry["port"] == owner and entry["destination_mac"](address):
                return entry
        return None

    def _read_cells(self, request: dict[str, int], padding: bytes) -> None:
        loop = request["port"] or LOOP
        pipe = loop // PORTS_PER_PIPE
        if sorted(self.groups.get(1, [])) != sorted([(self.cpu, 1), (loop, 0)]):
            self.faults.append(f"reading in loop {loop} with group {self.groups.get(1)}")
            return
        reports = 0
        for cell in range(request["value"], request["value"] + request["count"]):
            low = self._words(pipe, cell, 0)
            high = self._words(pipe, cell, 32)
            if request["flags"] & CLEAR:
                for name in (*TRANSMIT_WORDS, *RECEIVE_WORDS, "last_start"):
                    self._cells[pipe, name, cell] = 0
            self._now += 3
            if request["flags"] & SILENT and cell != request["value"] + request["count"] - 1:
                continue
            reports += 1
            if self.reports_taken is not None and reports > self.reports_taken:
                self.reports_lost += 1
                continue
            self._packet_in(READ, 0, cell.to_bytes(4, "big") + high + low + padding)

    def _words(self, pipe: int, cell: int, shift: int) -> bytes:
        values = (
            self._cells[pipe, name, cell] >> (shift if name in PAIRS else 0) & ALL_ONES
            for name in (*TRANSMIT_WORDS, *RECEIVE_WORDS)
        )
        return b"".join(value.to_bytes(4, "big") for value in values)

    # P4Runtime

    def _entry(self, table: str, key: bytes) -> Any:
        return self.tables[table].get(key.lstrip(b"\0"))

    def _packet_in(self, kind: int, port: int, payload: bytes) -> None:
        message = p4r.StreamMessageResponse()
        message.packet.payload = payload
        values = {"kind": kind, "flags": 0, "port": port, "time": self._now}
        for field in self._header("packet_in").metadata:
            message.packet.metadata.add(metadata_id=field.id, value=values[field.name].to_bytes(8, "big").lstrip(b"\0"))
        self._to_controller.put(message)

    def _header(self, name: str) -> Any:
        return next(h for h in self.info.controller_packet_metadata if h.preamble.name == name)

    def _packet_out(self, packet: p4r.PacketOut) -> None:
        fields = self._header("packet_out").metadata
        names = {field.id: field.name for field in fields}
        request = {names[m.metadata_id]: int.from_bytes(m.value, "big") for m in packet.metadata}
        header_bytes = sum(field.bitwidth for field in fields) // 8
        payload = packet.payload.ljust(SHORTEST_PACKET_OUT_BYTES - header_bytes, b"\0")
        port = request["port"] or LOOP
        if request["kind"] == SEND:
            self.sent_frames.append(request["port"])
        elif request["kind"] == SEED:
            if port % PORTS_PER_PIPE == LOOP or port in self.loop_ports:
                self.seeds[request["stream"], port] += 1
                self.frame_sizes[request["stream"]].add(LOOP_HEADER_BYTES + len(payload) + FCS_BYTES)
            else:
                self.faults.append(f"a seed for port {port}, which is no loop")
        elif request["kind"] == READ:
            self._read_cells(request, payload)
        elif request["kind"] == START and request["value"] < FAR_AHEAD_TICKS:
            self._start(request["count"])

    def _stream(self, requests: Iterator[p4r.StreamMessageRequest], _: object) -> Iterator[p4r.StreamMessageResponse]:
        for request in requests:
            if request.HasField("arbitration"):
                asked = request.arbitration
                self.elections.append((asked.device_id, asked.election_id.low))
                answer = p4r.StreamMessageResponse()
                answer.arbitration.CopyFrom(asked)
                yield answer
            elif request.HasField("packet"):
                self._packet_out(request.packet)
                while not self._to_controller.empty():
                    message = self._to_controller.get()
                    if message is None:
                        return
                    yield message

    def _set_pipeline(self, request: Any, _: object) -> Any:
        self.info: p4i.P4Info = request.config.p4info
        self.device_config = request.config.p4_device_config
        self._counter_names = {counter.preamble.id: counter.preamble.alias for counter in self.info.counters}
        return p4r.SetForwardingPipelineConfigResponse()

    def _write(self, request: p4r.WriteRequest, context: Any) -> p4r.WriteResponse:
        for update in request.updates:
            kind = update.entity.WhichOneof("entity")
            gone = update.type == p4r.Update.DELETE
            if kind == "table_entry":
                self._write_entry(update.entity.table_entry, gone)
            elif kind == "packet_replication_engine_entry":
                group = update.entity.packet_replication_engine_entry.multicast_group_entry
                self.groups[group.multicast_group_id] = [(r.egress_port, r.instance) for r in group.replicas]
            elif kind == "value_set_entry" and self.value_sets:
                members = update.entity.value_set_entry.members
                self.loop_ports = [int.from_bytes(m.match[0].exact.value, "big") for m in members]
            else:
                _refuse(context, f"Unsupported entity type: {kind}")
        return p4r.WriteResponse()

    def _write_entry(self, entry: Any, gone: bool) -> None:
        table = next(t for t in self.info.tables if t.preamble.id == entry.table_id)
        name = table.preamble.name.rpartition(".")[2]
        if name == "stream" and gone:
            self.seeds.clear()  # Seeds of a stream without an entry end; a trial removes all at once.
        key = entry.match[0].exact.value.lstrip(b"\0") if len(entry.match) == 1 else entry.SerializeToString()
        if len(entry.match) > 1:
            without_action = type(entry)()
            without_action.match.extend(entry.match)
            key = without_action.SerializeToString(deterministic=True)
        if gone:
            del self.tables[name][key]
            return
        action = next(a for a in self.info.actions if a.preamble.id == entry.action.action.action_id)
        params = {p.id: p.name for p in action.params}
        kept: dict[str, Any] = {params[p.param_id]: int.from_bytes(p.value, "big") for p in entry.action.action.params}
        fields = {field.id: field.name for field in table.match_fields}
        for match in entry.match:
            if match.HasField("exact"):
                kept[fields[match.field_id]] = int.from_bytes(match.exact.value, "big")
            else:
                value, mask = (int.from_bytes(part, "big") for part in (match.ternary.value, match.ternary.mask))
                kept[fields[match.field_id]] = lambda found, v=value, m=mask: found & m == v
        self.tables[name][key] = kept

    def _read(self, request: p4r.ReadRequest, _: object) -> Iterator[p4r.ReadResponse]:
        answer = p4r.ReadResponse()
        for entity in request.entities:
            asked = entity.counter_entry
            found = answer.entities.add().counter_entry
            found.CopyFrom(asked)
            name = self._counter_names[asked.counter_id]
            found.data.packet_count = self._counters[name, asked.index.index]
        yield answer

    def _handlers(self) -> Any:
        def unary(handler: Any, request: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(
                handler, request.FromString, lambda message: message.SerializeToString()
            )

        return grpc.method_handlers_generic_handler(
            "p4.v1.P4Runtime",
            {
                "SetForwardingPipelineConfig": unary(self._set_pipeline, p4r.SetForwardingPipelineConfigRequest),
                "Write": unary(self._write, p4r.WriteRequest),
                "Read": grpc.unary_stream_rpc_method_handler(
                    self._read, p4r.ReadRequest.FromString, p4r.ReadResponse.SerializeToString
                ),
                "StreamChannel": grpc.stream_stream_rpc_method_handler(
                    self._stream, p4r.StreamMessageRequest.FromString, p4r.StreamMessageResponse.SerializeToString
                ),
            },
        )


def _refuse(context: Any, text: str) -> None:
    """End a Write of one update as servers do: every element has a status in the details."""
    status = rpc_status.Status(code=2, message="one or more updates failed")
    status.details.add().Pack(p4r.Error(canonical_code=12, message=text))
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, "one or more updates failed")
