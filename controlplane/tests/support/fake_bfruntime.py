"""bf_switchd in front of the model of a chip (tofino_chip.py): a BF Runtime server, as strict as the real one.

It is written from the public server's behaviour and knows bfrt.json by itself. Unknown tables, fields and actions,
values of another length, missing data, entries that are there already or are not there, and a second client of a
program are errors. Counters and registers are read as they were when they were last synchronised; operations are
waited for as long as the request says, else for 5 s, and one that takes longer is answered as if it had ended. Packets
go by :class:`CpuInterface`, with the headers of the contract.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass
from queue import Empty, Queue, SimpleQueue
from typing import Any

import grpc
from support.bfruntime_tables import fixed_tables
from support.bfruntime_values import (
    EXISTS,
    INVALID,
    NOT_FOUND,
    UNKNOWN,
    UNSUPPORTED,
    Refused,
    data_of,
    key_of,
    put,
)
from support.slow_operations import SlowOperations, is_too_late
from support.tofino_chip import CPU, LOOP, PAIRS, PORTS_PER_PIPE, Device, TofinoChip

from p4mesh.bfruntime import messages
from p4mesh.p4runtime.stubs import rpc_status

OK = 0
DEPARTURES_KEPT = 4
"""By a MAC, of those that have not been read."""
_SYNCHRONISE = {"Counter": "SyncCounters", "Register": "SyncRegisters"}
_PORT, _STATISTICS, _GROUPS, _NODES = "$PORT", "$PORT_STAT", "$pre.mgid", "$pre.node"
_ANSWERED = {"BF_FEC_TYP_FIRECODE": "BF_FEC_TYP_FC"}
"""Values that have two names: the server answers with the second, whichever it was given."""
_PACKET_OUT = {"kind": 1, "flags": 1, "stream": 1, "window": 1, "port": 2, "value": 4, "count": 4, "padding": 4}
_CELLS = {
    "sequence_cells": "next_sequence",
    "last_gap_cells": "last_gap_time",
    "spacing_cells": "spacing_min_inverted",
    "first_departure.first_cells": "first_departure",
    "last_departure.last_cells": "last_departure",
    "flow_sequence.low_cells": "flow_sequence",
    "departures.low_cells": "departures",
    "flow_sequence.high_cells": "flow_sequence",
    "departures.high_cells": "departures",
}
"""Registers whose name is not that of their cell in docs/DATAPLANE.md with ``_cells`` behind."""


@dataclass(frozen=True)
class Kind:
    """A chip as its server shows it."""

    pipes: int
    front_ports: range
    """Numbers within a pipe."""
    cpu: int
    loop: int
    family: str
    """Begins the names of the tables of its traffic manager."""
    loopback: tuple[str, ...]
    """Choices of ``$LOOPBACK_MODE`` that the other chip does not have."""


TOFINO_1 = Kind(2, range(64), CPU, LOOP, "tf1", ())
TOFINO_2 = Kind(4, range(8, 72), 0, 6, "tf2", ("BF_LPBK_PIPE",))


class FakeBfSwitchd(TofinoChip):
    """The switch; ``program`` is the bfrt.json that it was started with."""

    def __init__(
        self,
        device: Device,
        program: bytes,
        *,
        name: str = "p4mesh",
        chip: Kind = TOFINO_1,
        reports_taken: int | None = None,
        drops_polled_s: float = 0.0,
    ) -> None:
        super().__init__(device, cpu=chip.cpu, loop=chip.loop, reports_taken=reports_taken)
        self.name = name
        self._chip = chip
        self._fixed = fixed_tables(chip.family, chip.loopback)
        self.program = program
        self.ports: dict[int, dict[str, Any]] = {}
        """Fields of ``$PORT`` by device port."""
        self.departures: dict[int, deque[int]] = defaultdict(deque)
        """Times that the MACs keep, by device port; each reading of ``$PORT`` takes the oldest."""
        self.dark: set[int] = set()
        """Ports that get no link."""
        self.statistics: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        """Fields of ``$PORT_STAT`` by device port, as the MACs have them now."""
        self._polled: dict[int, dict[str, int]] = {}
        self.polled_at_s = 0.0
        """Monotonic time of the last look at the MACs; the next one follows a second later."""
        self.drops: dict[tuple[str, int], dict[str, int]] = defaultdict(lambda: defaultdict(int))
        """Fields of the tables ``tm.counter`` by the end of their name, and pipe or device port, as they are now."""
        self._drops_polled_s = drops_polled_s
        """Time between two looks at the drops of ports, of which the last one is what is answered; 0: always now."""
        self._drops_seen: dict[tuple[str, int], dict[str, int]] = {}
        self._ends = threading.Event()
        self.owner: int | None = None
        """Client that the program is bound to."""
        self.writes: list[tuple[str, str]] = []
        """(kind of update, table) of all that was written."""
        self.whole_tables: list[int] = []
        """Updates of every cell or entry of a table, of each request."""
        self.operations = SlowOperations()
        self._tables = {
            table["id"]: table for document in (program, self._fixed) for table in json.loads(document)["tables"]
        }
        self._entries: dict[str, dict[bytes, Any]] = defaultdict(dict)
        self._clients: dict[int, SimpleQueue[Any]] = {}
        self._watches_ports = False
        self._synchronised: dict[str, dict[tuple[int, str, int], int]] = defaultdict(dict)
        self._frames: Queue[bytes] = Queue()
        self._server = grpc.server(futures.ThreadPoolExecutor(8))
        self._server.add_generic_rpc_handlers((self._handlers(),))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    def __enter__(self) -> FakeBfSwitchd:
        self._server.start()
        if self._drops_polled_s:
            threading.Thread(target=self._poll_drops, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _poll_drops(self) -> None:
        while not self._ends.wait(self._drops_polled_s):
            self._drops_seen = {place: dict(fields) for place, fields in self.drops.items()}

    def stop(self) -> None:
        self._ends.set()
        for stream in list(self._clients.values()):
            stream.put(None)
        self._server.stop(0)

    def set_link(self, port: int, up: bool) -> None:
        """Let the link of a port come or go; clients that asked for it are told."""
        self.ports[port]["$PORT_UP"] = up
        if self._watches_ports and self.owner is not None:
            message = messages.StreamMessageResponse()
            changed = message.port_status_change_notification
            changed.port_up = up
            changed.table_entry.table_id = self._number(_PORT)
            changed.table_entry.key.fields.add(field_id=1).exact.value = port.to_bytes(4, "big")
            self._clients[self.owner].put(message)

    # Packets

    def _arrive(self, port: int, *frame: Any) -> None:
        self.statistics[port]["$FramesReceivedOK"] += 1
        super()._arrive(port, *frame)

    def to_controller(self, kind: int, port: int, time: int, payload: bytes) -> None:
        head = kind.to_bytes(1, "big") + b"\0" + port.to_bytes(2, "big") + time.to_bytes(6, "big")
        self._frames.put(head + payload)

    def from_cpu(self, frame: bytes) -> None:
        """Take a frame from the CPU port."""
        if len(frame) < 60:
            self.faults.append(f"a frame of {len(frame)} bytes on the CPU interface")
        fields, place = {}, 0
        for name, size in _PACKET_OUT.items():
            fields[name] = int.from_bytes(frame[place : place + size], "big")
            place += size
        self.packet_out(fields, frame[place:], place)

    def take_frame(self, timeout_s: float) -> bytes | None:
        try:
            return self._frames.get(timeout=timeout_s)
        except Empty:
            return None

    # Tables

    def _number(self, name: str) -> int:
        return next(number for number, table in self._tables.items() if table["name"] == name)

    def _table(self, number: int) -> dict[str, Any]:
        if number not in self._tables:
            raise Refused(NOT_FOUND, f"Table not found for id {number}")
        return self._tables[number]

    def _update(self, client: int, update: Any) -> None:
        kind = update.entity.WhichOneof("entity")
        without_key = kind == "table_entry" and not update.entity.table_entry.HasField("key")
        self.whole_tables[-1] += kind == "table_operation" or (without_key and update.type == messages.DELETE)
        if kind == "table_operation":
            asked = update.entity.table_operation
            table = self._table(asked.table_id)
            names = ("Sync", _SYNCHRONISE.get(table["table_type"]))
            if asked.table_operations_type not in names or "Sync" not in table["supported_operations"]:
                raise Refused(UNSUPPORTED, "Operation not supported")
            self.operations.start(client, table["id"], lambda: self._synchronise(table))
        elif kind == "table_attribute":
            attribute = update.entity.table_attribute
            if "port_status_notif_cb" not in self._table(attribute.table_id)["attributes"]:
                raise Refused(UNSUPPORTED, "Failed to allocate Attribute for port status change notify")
            self._watches_ports = attribute.port_status_notify.enable
        elif kind == "table_entry":
            self._update_entry(update.type, update.entity.table_entry)
        else:
            raise Refused(UNSUPPORTED, "Invalid update.")

    def _update_entry(self, kind: int, entry: Any) -> None:
        table = self._table(entry.table_id)
        name = table["name"]
        words = {messages.INSERT: "insert", messages.MODIFY: "modify", messages.DELETE: "delete"}
        if kind not in words:
            raise Refused(INVALID, "Invalid update type")
        self.writes.append((words[kind], name))
        if entry.is_default_entry:
            if entry.HasField("key"):
                raise Refused(INVALID, "Non-empty key for default entry")
            if kind == messages.INSERT:
                raise Refused(UNSUPPORTED, "INSERT of default entry is not supported. Please use MODIFY instead")
            self._entries[name][b"default"] = data_of(table, entry)
            return
        if not entry.HasField("key"):
            if kind != messages.DELETE:
                raise Refused(INVALID, f"Table key cannot be empty table:{name}")
            self._clear(table)
            return
        key, place = key_of(table, entry), entry.key.SerializeToString()
        if name == _PORT:
            self._update_port(kind, table, key, entry)
            return
        known = self._entries[name]
        if kind == messages.INSERT and place in known:
            raise Refused(EXISTS, f"Table Add failed table:{name}")
        if kind != messages.INSERT and place not in known:
            raise Refused(NOT_FOUND, f"Table Entry {words[kind]} failed table:{name}")
        if kind == messages.DELETE:
            self._in_use(name, key)
            del known[place]
            self._forget(table, key, place)
            return
        if not entry.HasField("data"):
            raise Refused(INVALID, f"Table data cannot be empty table:{name}")
        if kind == messages.INSERT and len(known) >= table["size"]:
            raise Refused(INVALID, f"Table Add failed table:{name}: no space")
        known[place] = values = data_of(table, entry)
        self._take(table, key, values, place)

    def _take(self, table: dict[str, Any], key: dict[str, Any], values: dict[str, Any], place: bytes) -> None:
        name = table["name"]
        if name == _GROUPS:
            self._groups()
        elif table["table_type"] == "ParserValueSet":
            self._members(table)
        elif table["table_type"] == "MatchAction_Direct":
            rank = -key.get("$MATCH_PRIORITY", 0)
            self.set_entry(name.rpartition(".")[2], _place(key, place), {**key, **values, "rank": rank})

    def _forget(self, table: dict[str, Any], key: dict[str, Any], place: bytes) -> None:
        if table["name"] == _GROUPS:
            self._groups()
        elif table["table_type"] == "ParserValueSet":
            self._members(table)
        elif table["table_type"] == "MatchAction_Direct":
            self.remove_entry(table["name"].rpartition(".")[2], _place(key, place))

    def _clear(self, table: dict[str, Any]) -> None:
        name, kind = table["name"], table["table_type"]
        if kind == "Register":
            of_cell, first = _cell_of(name), _first_of(table)
            for place in self.cells:
                if place[1] == of_cell and first <= place[2] < first + table["size"]:
                    self.cells[place] = 0
        elif kind == "Counter":
            for cell in [cell for cell in self.counters if cell[0] == name.rpartition(".")[2]]:
                self.counters[cell] = self.octets[cell] = 0
        elif kind in ("MatchAction_Direct", "ParserValueSet"):
            if any("const" in note["name"] for note in table["annotations"]):
                raise Refused(UNSUPPORTED, f"Table Entry delete all failed table:{name}")
            self._entries[name].clear()
            self.tables[name.rpartition(".")[2]].clear()
            if kind == "ParserValueSet":
                self._members(table)
        else:
            raise Refused(UNSUPPORTED, f"Table Entry delete all failed table:{name}")

    def _in_use(self, name: str, key: dict[str, Any]) -> None:
        """Refuse to remove a node that a group has."""
        if name == _NODES:
            for values in self._entries[_GROUPS].values():
                if key["$MULTICAST_NODE_ID"] in values["$MULTICAST_NODE_ID"]:
                    raise Refused(INVALID, f"Table Entry delete failed table:{name}: node is in a group")

    def _groups(self) -> None:
        """Follow the groups to their nodes, and these to ports."""
        nodes = {self._key_values(_NODES, place)["$MULTICAST_NODE_ID"]: v for place, v in self._entries[_NODES].items()}
        self.groups.clear()
        for place, values in self._entries[_GROUPS].items():
            members = values["$MULTICAST_NODE_ID"]
            others = (values["$MULTICAST_NODE_L1_XID_VALID"], values["$MULTICAST_NODE_L1_XID"])
            if any(len(other) != len(members) for other in others):
                raise Refused(INVALID, "lists of a group have different lengths")
            if missing := [node for node in members if node not in nodes]:
                raise Refused(NOT_FOUND, f"node {missing[0]} does not exist")
            self.groups[self._key_values(_GROUPS, place)["$MGID"]] = [
                (port, nodes[node]["$MULTICAST_RID"]) for node in members for port in nodes[node]["$DEV_PORT"]
            ]

    def _members(self, table: dict[str, Any]) -> None:
        keys = [messages.TableEntry(table_id=table["id"]) for _ in self._entries[table["name"]]]
        for message, place in zip(keys, self._entries[table["name"]], strict=True):
            message.key.ParseFromString(place)
        self.loop_ports = [int.from_bytes(message.key.fields[0].ternary.value, "big") for message in keys]
        if any(message.key.fields[0].ternary.mask != b"\x01\xff" for message in keys):
            self.faults.append("a member of loop_ports that is more than one port")

    def _update_port(self, kind: int, table: dict[str, Any], key: dict[str, Any], entry: Any) -> None:
        port = key["$DEV_PORT"]
        if port % PORTS_PER_PIPE not in self._chip.front_ports or port >= self._chip.pipes * PORTS_PER_PIPE:
            raise Refused(INVALID, f"Table Add failed table:{_PORT}")
        if kind == messages.DELETE:
            if self.ports.pop(port, None) is None:
                raise Refused(NOT_FOUND, f"Table Entry delete failed table:{_PORT}")
            return
        values = data_of(table, entry)
        if len({"$TX_PAUSE_FRAME_EN", "$RX_PAUSE_FRAME_EN"} & values.keys()) == 1:
            raise Refused(
                INVALID, "port pause frame configuration require both tx_pause_frame_en and rx_pause_frame_en"
            )
        if kind == messages.INSERT:
            if port in self.ports:
                raise Refused(EXISTS, f"Table Add failed table:{_PORT}")
            if not {"$SPEED", "$FEC"} <= values.keys():
                raise Refused(INVALID, f"Table Add failed table:{_PORT}")
            self.ports[port] = {"$PORT_NAME": f"{port // 4 + 1}/{port % 4}", "$PORT_UP": False}
        elif port not in self.ports:
            raise Refused(NOT_FOUND, f"Table Entry modify failed table:{_PORT}")
        elif {"$SPEED", "$FEC", "$N_LANES"} & values.keys():
            raise Refused(INVALID, f"Table Entry modify failed table:{_PORT}")
        self.ports[port] |= {name: _ANSWERED.get(value, value) for name, value in values.items()}
        self.set_link(port, bool(self.ports[port].get("$PORT_ENABLE")) and port not in self.dark)

    def keep_departure(self, port: int, time: int) -> None:
        """Let the MAC of a port keep a time, if it has room."""
        if len(self.departures[port]) < DEPARTURES_KEPT:
            self.departures[port].append(time)

    def _port_values(self, port: int) -> dict[str, Any]:
        kept = self.departures[port]
        time = {"$TIMESTAMP_1588_VALID": bool(kept), "$TIMESTAMP_1588_VALUE": kept.popleft() if kept else 0}
        return self.ports[port] | time

    def _key_values(self, name: str, place: bytes) -> dict[str, Any]:
        message = messages.TableEntry(table_id=self._number(name))
        message.key.ParseFromString(place)
        return key_of(self._table(message.table_id), message)

    # Reading

    def _synchronise(self, table: dict[str, Any]) -> None:
        name = table["name"]
        if table["table_type"] == "Register":
            cell = _cell_of(name)
            self._synchronised[name] = {place: value for place, value in self.cells.items() if place[1] == cell}
        else:
            short = name.rpartition(".")[2]
            self._synchronised[name] = {
                (0, *place): value for place, value in self.counters.items() if place[0] == short
            }

    def _read_entry(self, asked: Any, pipe: int, answer: Any) -> None:
        table = self._table(asked.table_id)
        name = table["name"]
        if asked.is_default_entry:
            if not name.endswith(".tm.counter.pipe") or pipe >= self._chip.pipes:
                raise Refused(INVALID, f"Error getting default entry of table:{name}")
            found = answer.entities.add().table_entry
            found.CopyFrom(asked)
            put(found, table, self.drops["pipe", pipe])
            return
        if not asked.HasField("key"):
            for port in self.ports if name == _PORT else ():
                found = answer.entities.add().table_entry
                found.table_id = asked.table_id
                found.key.fields.add(field_id=1).exact.value = port.to_bytes(4, "big")
                put(found, table, self._port_values(port))
            for place in self._entries[name]:
                found = answer.entities.add().table_entry
                found.table_id = asked.table_id
                found.key.ParseFromString(place)
            return
        key = key_of(table, asked)
        if "dev_port" in key:
            found = answer.entities.add().table_entry
            found.CopyFrom(asked)
            at = (name.rpartition(".")[2], key["dev_port"])
            put(found, table, self._drops_seen.get(at, {}) if self._drops_polled_s else self.drops[at])
            return
        if name in (_PORT, _STATISTICS):
            port = key["$DEV_PORT"]
            if port not in self.ports:
                raise Refused(NOT_FOUND, f"Entry not found in table:{name}")
            from_hw = asked.table_flags.from_hw
            values = self._port_values(port) if name == _PORT else self._statistics_of(port, from_hw)
            found = answer.entities.add().table_entry
            found.CopyFrom(asked)
            put(found, table, values)
            return
        index = key.get("$REGISTER_INDEX", key.get("$COUNTER_INDEX"))
        if index is None:
            raise Refused(UNSUPPORTED, f"the fake reads no entries of {name}")
        if index >= table["size"]:
            raise Refused(INVALID, f"Entry not found in table:{name}")
        found = answer.entities.add().table_entry
        found.CopyFrom(asked)
        if table["table_type"] == "Register":
            self._put_register(found, table, index)
        else:
            known = self._synchronised[name]
            short = name.rpartition(".")[2]
            packets = known.get((0, short, index), 0)
            put(found, table, {"$COUNTER_SPEC_PKTS": packets, "$COUNTER_SPEC_BYTES": self.octets[short, index]})

    def _statistics_of(self, port: int, from_hardware: bool) -> dict[str, int]:
        """The counters of a MAC, or what has been polled of it in the last second."""
        if from_hardware:
            return self.statistics[port]
        if time.monotonic() > self.polled_at_s + 1:
            self._polled = {number: dict(values) for number, values in self.statistics.items()}
            self.polled_at_s = time.monotonic()
        return self._polled.get(port, {})

    def _put_register(self, entry: Any, table: dict[str, Any], index: int) -> None:
        """Add each field once for every pipe."""
        cell, first = _cell_of(table["name"]), _first_of(table)
        for item in table["data"]:
            field = item["singleton"]
            word = field["name"].rpartition(".")[2]
            for pipe in range(self._chip.pipes):
                value = self._synchronised[table["name"]].get((pipe, cell, first + index), 0)
                upper = word == "high" or table["name"].endswith(".high_cells")
                shift = 32 if upper and cell in PAIRS else 0
                added = entry.data.fields.add(field_id=field["id"])
                added.stream = (value >> shift & 0xFFFFFFFF).to_bytes((field["type"]["width"] + 7) // 8, "big")

    # BF Runtime

    def _require_owner(self, client_id: int, context: Any) -> None:
        if client_id != self.owner:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"client {client_id} is bound to no program")

    def _write(self, request: Any, context: Any) -> Any:
        self._require_owner(request.client_id, context)
        started, asked = time.time_ns(), dict(context.invocation_metadata())
        self.whole_tables.append(0)
        outcomes = []
        for update in request.updates:
            if is_too_late(asked, started):
                context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "Write RPC request timed out")
            outcomes.append(self._outcome(self._update, request.client_id, update))
        started_on = [
            update.entity.table_operation.table_id
            for update, refused in zip(request.updates, outcomes, strict=True)
            if update.entity.HasField("table_operation") and not refused
        ]
        self.operations.wait(request.client_id, started_on, asked)
        _end(outcomes, "Write Error Status", context)
        return messages.WriteResponse()

    def _read(self, request: Any, context: Any) -> Iterator[Any]:
        self._require_owner(request.client_id, context)
        answer = messages.ReadResponse()
        outcomes: list[Refused | None] = []
        for entity in request.entities:
            if entity.WhichOneof("entity") != "table_entry":
                outcomes.append(Refused(INVALID, "Invalid Read entity received"))
            else:
                outcomes.append(self._outcome(self._read_entry, entity.table_entry, request.target.pipe_id, answer))
        yield answer
        _end(outcomes, "Read Error Status", context)

    def _outcome(self, handle: Any, *arguments: Any) -> Refused | None:
        try:
            handle(*arguments)
        except Refused as refused:
            return refused
        return None

    def _set_pipeline(self, request: Any, context: Any) -> Any:
        if request.action != messages.BIND:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "the fake binds only")
        if request.client_id not in self._clients:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"Unknown client. Client_id:{request.client_id}")
        if self.owner is not None:
            text = f"Client ID {request.client_id} trying to bind but Client ID {self.owner} already owns this P4"
            context.abort(grpc.StatusCode.ALREADY_EXISTS, text)
        if len(request.config) != 1 or request.config[0].p4_name != self.name:
            context.abort(grpc.StatusCode.NOT_FOUND, "Failed to find BfRtInfo for program")
        self.owner = request.client_id
        return messages.SetForwardingPipelineConfigResponse()

    def _get_pipeline(self, request: Any, context: Any) -> Any:
        answer = messages.GetForwardingPipelineConfigResponse()
        answer.config.add(p4_name=self.name, bfruntime_info=self.program)
        answer.non_p4_config.bfruntime_info = self._fixed
        return answer

    def _stream(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        first = next(requests)
        client, queue = first.client_id, SimpleQueue[Any]()
        if client in self._clients:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "Can't have two clients with the same client id")
        self._clients[client] = queue
        self.operations.connected(client)
        answer = messages.StreamMessageResponse()
        answer.subscribe.status.code = OK
        queue.put(answer)
        context.add_callback(lambda: queue.put(None))
        threading.Thread(target=_wait_for_end, args=(requests, queue), daemon=True).start()
        try:
            while (message := queue.get()) is not None:
                yield message
        finally:
            del self._clients[client]
            self.operations.disconnected(client)
            if self.owner == client:
                self.owner, self._watches_ports = None, False

    def _handlers(self) -> Any:
        def unary(handler: Any, request: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(handler, request.FromString, lambda m: m.SerializeToString())

        return grpc.method_handlers_generic_handler(
            "bfrt_proto.BfRuntime",
            {
                "SetForwardingPipelineConfig": unary(self._set_pipeline, messages.SetForwardingPipelineConfigRequest),
                "GetForwardingPipelineConfig": unary(self._get_pipeline, messages.GetForwardingPipelineConfigRequest),
                "Write": unary(self._write, messages.WriteRequest),
                "Read": grpc.unary_stream_rpc_method_handler(
                    self._read, messages.ReadRequest.FromString, messages.ReadResponse.SerializeToString
                ),
                "StreamChannel": grpc.stream_stream_rpc_method_handler(
                    self._stream,
                    messages.StreamMessageRequest.FromString,
                    messages.StreamMessageResponse.SerializeToString,
                ),
            },
        )


class CpuInterface:
    """The network interface of the CPU port of a fake switch."""

    def __init__(self, switch: FakeBfSwitchd) -> None:
        self._switch = switch

    def send(self, frame: bytes) -> None:
        self._switch.from_cpu(frame)

    def receive(self, timeout_s: float) -> bytes | None:
        return self._switch.take_frame(timeout_s)

    def lost(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        pass


def _wait_for_end(requests: Iterator[Any], queue: SimpleQueue[Any]) -> None:
    try:
        for _ in requests:
            pass
    except Exception:  # A call that is cancelled ends the iterator in one of several ways.
        pass
    queue.put(None)


def _end(outcomes: list[Refused | None], text: str, context: Any) -> None:
    """End a call with the outcome of every element up to the last that failed."""
    if not any(outcomes):
        return
    status = rpc_status.Status(code=UNKNOWN, message=text)
    while outcomes[-1] is None:
        outcomes.pop()
    for outcome in outcomes:
        code, reason = (outcome.code, str(outcome)) if outcome else (OK, "")
        detail = status.details.add()
        detail.type_url = "type.googleapis.com/bfrt_proto.Error"
        detail.value = messages.Error(canonical_code=code, message=reason).SerializeToString()
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, text)


def _place(key: dict[str, Any], place: bytes) -> Any:
    """Key by which the chip knows an entry: its only number, or its whole key."""
    (first, *others) = key.values()
    return place if others else first


def _first_of(register: dict[str, Any]) -> int:
    """The number of the first cell in a register: the flows of a Tofino 2 are in two banks."""
    return int(register["size"]) if ".upper_cells." in register["name"] else 0


def _cell_of(register: str) -> str:
    """The name of the cell that a register holds."""
    for ending, cell in _CELLS.items():
        if register.endswith(f".{ending}"):
            return cell
    return register.rpartition(".")[2].removesuffix("_cells")
