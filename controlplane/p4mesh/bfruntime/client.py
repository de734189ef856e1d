"""A BF Runtime controller of one device, with the verbs of :class:`p4mesh.p4runtime.Client`."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from p4mesh.bfruntime import messages
from p4mesh.bfruntime.cpu_port import CpuPort
from p4mesh.bfruntime.errors import BfProgramError, BfRefusedError, BfRuntimeError, BfTimeoutError
from p4mesh.bfruntime.info import COUNTER_INDEX, REGISTER_INDEX, BfrtInfo, DataValue, TableInfo
from p4mesh.bfruntime.schema import BfEntity, BfSchema, Entry, Group, ValueSet, entry_of
from p4mesh.bfruntime.service import Service
from p4mesh.bfruntime.stream import PortEvent, Subscription
from p4mesh.p4runtime import CounterData, PacketColumns, PacketIn, columns_of, load_p4info
from p4mesh.p4runtime.info import Info
from p4mesh.p4runtime.values import Value

CLIENT_ID = 1000
_MOST_ELEMENTS = 1024
"""Elements of a request; a server works on one for milliseconds."""
_WHOLE_TABLE = ("clear", "synchronise")
"""Actions on every cell or entry of a table; each is a request of its own, because it takes the longest."""
_SYNCHRONISE = {"Counter": "SyncCounters", "Register": "SyncRegisters"}
"""Operation by kind of table; ``Sync`` of bfrt.json is another name, which servers of older SDEs do not know."""
_GROUPS, _NODES = "$pre.mgid", "$pre.node"
_NODES_OF_A_GROUP = 1024
_ENTRIES = "MatchAction_Direct"
_CLEARED_BY_RESET = ("Register", "Counter", "ParserValueSet")


class BfClient:
    """Subscribed, and bound to a program, between entering and leaving the context.

    Errors are :class:`BfRuntimeError` and its children. Not for use by several threads at once; ``on_port`` is called
    by a thread of its own.
    """

    def __init__(
        self,
        address: str,
        program: str,
        cpu: CpuPort,
        *,
        device_id: int = 0,
        client_id: int = CLIENT_ID,
        timeout_s: float = 30.0,
        connect_timeout_s: float = 10.0,
        request_timeout_s: float = 30.0,
        on_port: PortEvent = lambda port, up: None,
    ) -> None:
        self.address = address
        self.program = program
        self.timeout_s = timeout_s
        self._cpu = cpu
        self._device_id = device_id
        self._client_id = client_id
        self._connect_timeout_s = connect_timeout_s
        self.request_timeout_s = request_timeout_s
        """Limit of each request, from the next connection on."""
        self._on_port = on_port
        self._schema: BfSchema | None = None
        self._nodes: dict[int, tuple[int, ...]] = {}
        self.packet_outs_sent = 0
        """Packet-outs since the client has connected."""
        self.packet_ins_taken = 0
        """Packet-ins that the caller has taken, since the client has connected."""
        self.bfrt = BfrtInfo()
        """Tables of the switch's program and its fixed tables, as the server tells them."""
        self.bfrt_json = b""
        """The bfrt.json of the program that the switch runs."""

    def __enter__(self) -> BfClient:
        """Connect, subscribe and bind; raises BfProgramError where the switch runs no such program."""
        self._connect()
        return self

    def reconnect(self) -> None:
        """Connect again, after the server has gone and come back; call :meth:`set_pipeline` then."""
        self._close()
        self._connect()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave the device to other controllers."""
        self._close()

    def _connect(self) -> None:
        self._service = Service(self.address, self._connect_timeout_s, self.request_timeout_s)
        self.packet_outs_sent = self.packet_ins_taken = 0
        try:
            self._stream = Subscription(
                self._service, self._client_id, self._device_id, self._connect_timeout_s, self._on_port
            )
        except BfRuntimeError:
            self._service.close()
            raise
        try:
            self._bind()
            self._watch_ports()
        except BfRuntimeError:
            self._close()
            raise

    def _close(self) -> None:
        self._stream.close()
        self._service.close()

    @property
    def is_connected(self) -> bool:
        """False once the server has gone; :meth:`reconnect` is for when it is back."""
        return not self._stream.has_ended

    def _bind(self) -> None:
        request = messages.SetForwardingPipelineConfigRequest(
            device_id=self._device_id, client_id=self._client_id, action=messages.BIND
        )
        request.config.add(p4_name=self.program)
        asked = messages.GetForwardingPipelineConfigRequest(device_id=self._device_id, client_id=self._client_id)
        known = self._service.call(
            "GetForwardingPipelineConfig", asked, messages.GetForwardingPipelineConfigResponse, "get the program"
        )
        programs = {config.p4_name: config.bfruntime_info for config in known.config}
        if self.program not in programs:
            raise BfProgramError(
                f"the switch runs no program {self.program!r}",
                hint=f"valid for tester.tofino.program: {', '.join(sorted(programs)) or 'none'}",
            )
        try:
            self._service.call(
                "SetForwardingPipelineConfig", request, messages.SetForwardingPipelineConfigResponse, "bind"
            )
        except BfRefusedError as refused:
            refused.hint = "another controller may have bound the program: end it"
            raise
        self.bfrt_json = programs[self.program]
        self.bfrt = BfrtInfo(self.bfrt_json, known.non_p4_config.bfruntime_info)

    def _watch_ports(self) -> None:
        update = messages.Update(type=messages.INSERT)
        update.entity.table_attribute.table_id = self.bfrt.table("$PORT").id
        update.entity.table_attribute.port_status_notify.enable = True
        self._write([("watch", "$PORT", update)])

    # Pipeline

    @property
    def schema(self) -> BfSchema:
        """Builds entities by the names of the program."""
        assert self._schema is not None, "set_pipeline comes first"
        return self._schema

    def set_pipeline(self, p4info_path: str | Path, program_path: str | Path) -> None:
        """Take the switch's program, which must have all that bfrt.json at ``program_path`` has, and clear its state.

        The program itself is loaded by bf_switchd. Raises BfProgramError for another program.
        """
        self.require(Path(program_path).read_bytes())
        self.use_program(p4info_path)
        self.clear()

    def use_program(self, p4info_path: str | Path) -> None:
        """Take the P4Info of the switch's program; nothing is written."""
        self._schema = BfSchema(self.bfrt, Info(load_p4info(p4info_path)))
        self._cpu.use(self._schema.info)

    def require(self, wanted: bytes) -> None:
        """Raise BfProgramError unless the switch's program has all tables, fields and actions of a bfrt.json."""
        missing = BfrtInfo(wanted).missing_from(self.bfrt)
        if missing:
            raise BfProgramError(
                f"program {self.program!r} on the switch is another one: it lacks {missing[0]}"
                + (f" and {len(missing) - 1} more" if len(missing) > 1 else ""),
                hint="build p4src/tna of this release for this chip and load it (docs/TOFINO.md)",
            )

    def clear(self) -> None:
        """Remove every entry, group and member, and reset registers and counters, those of other clients too."""
        own = list(self.bfrt.tables.values())
        for table in own:
            if table.kind == _ENTRIES and table.key:
                self._write([("clear", table.name, _deletion(messages.TableEntry(table_id=table.id)))])
        self.reset([table.name for table in own if table.kind in _CLEARED_BY_RESET])
        for name in (_GROUPS, _NODES):
            found = self.read_all(name)
            self._write([("delete", name, _deletion(_with_key_alone(entry))) for entry in found])
        self._nodes.clear()

    def reset(self, names: Iterable[str]) -> None:
        """Set all cells of registers and counters to 0, and remove all members of value sets, in every pipe."""
        tables = [self.bfrt.table(name) for name in names]
        self._write([("clear", one.name, _deletion(messages.TableEntry(table_id=one.id))) for one in tables])

    # Writing

    def insert(self, entities: Iterable[BfEntity]) -> None:
        """Insert entities, in order."""
        self._write(list(self._updates("insert", entities)))

    def modify(self, entities: Iterable[BfEntity]) -> None:
        """Modify entities, in order."""
        self._write(list(self._updates("modify", entities)))

    def delete(self, entities: Iterable[BfEntity]) -> None:
        """Delete entities, in order."""
        self._write(list(self._updates("delete", entities)))

    def _updates(self, verb: str, entities: Iterable[BfEntity]) -> Iterator[_Update]:
        for entity in entities:
            if isinstance(entity, Group):
                yield from self._group_updates(verb, entity)
            elif isinstance(entity, ValueSet):
                name = entity.table.name
                yield "clear", name, _deletion(messages.TableEntry(table_id=entity.table.id))
                yield from (("insert", name, _update(messages.INSERT, one.message)) for one in entity.members)
            elif verb == "delete":
                yield verb, entity.table.name, _deletion(entity.key_alone)
            else:
                kind = messages.INSERT if verb == "insert" else messages.MODIFY
                yield verb, entity.table.name, _update(kind, entity.message)

    def _group_updates(self, verb: str, group: Group) -> Iterator[_Update]:
        """Yield new nodes, the group with them, and the removal of the nodes that it had."""
        old = self._nodes.pop(group.number, ())
        # Nodes of the two generations of a group differ, so that it always has nodes.
        first = group.number * 2 * _NODES_OF_A_GROUP
        first += _NODES_OF_A_GROUP if old and old[0] == first else 0
        nodes = tuple(range(first, first + len(group.replicas))) if verb != "delete" else ()
        for node, (port, replica) in zip(nodes, group.replicas, strict=False):
            values: dict[str, DataValue] = {"$MULTICAST_RID": replica, "$MULTICAST_LAG_ID": [], "$DEV_PORT": [port]}
            entry = entry_of(self.bfrt.table(_NODES), {"$MULTICAST_NODE_ID": node}, None, values)
            yield "insert", _NODES, _update(messages.INSERT, entry.message)
        members: dict[str, DataValue] = {
            "$MULTICAST_NODE_ID": list(nodes),
            "$MULTICAST_NODE_L1_XID_VALID": [False] * len(nodes),
            "$MULTICAST_NODE_L1_XID": [0] * len(nodes),
        }
        entry = entry_of(self.bfrt.table(_GROUPS), {"$MGID": group.number}, None, members if nodes else {})
        if verb == "delete":
            yield verb, _GROUPS, _deletion(entry.key_alone)
        else:
            kind = messages.INSERT if verb == "insert" else messages.MODIFY
            yield verb, _GROUPS, _update(kind, entry.message)
            self._nodes[group.number] = nodes
        for node in old:
            gone = entry_of(self.bfrt.table(_NODES), {"$MULTICAST_NODE_ID": node}, None, {})
            yield "delete", _NODES, _deletion(gone.key_alone)

    def write_fixed(
        self, verb: str, table: str, match: dict[str, Any], values: dict[str, Any], action: str | None = None
    ) -> None:
        """Insert, modify or delete an entry of a fixed table by names; ``action`` is one without data of its own."""
        known = self.bfrt.table(table)
        entry = entry_of(known, match, None, values)
        if action is not None:
            entry.message.data.action_id = known.action(action).id
        self._write(list(self._updates(verb, [entry])))

    def _write(self, updates: Sequence[_Update]) -> None:
        """Apply updates in order; raise BfRefusedError for the first request with some that failed."""
        for part in _requests(updates):
            request = messages.WriteRequest(
                target=self._target(), client_id=self._client_id, updates=[update for _, _, update in part]
            )
            places = [f"({verb}) {name}" for verb, name, _ in part]
            try:
                self._service.call("Write", request, messages.WriteResponse, "write", places)
            except BfTimeoutError:
                # The server still works on it, and would take its end for that of a later operation of the same client.
                self._stream.close()
                self._client_id += 1
                raise

    def _target(self) -> Any:
        return messages.TargetDevice(
            device_id=self._device_id,
            pipe_id=messages.ALL_PIPES,
            direction=messages.ALL_DIRECTIONS,
            prsr_id=messages.ALL_PARSERS,
        )

    # Reading

    def read(self, entries: Sequence[Entry], *, from_hardware: bool = False) -> list[Any]:
        """The TableEntry messages of entries with these keys, in their order.

        Fixed tables may answer with what the driver has polled last, up to a second ago, unless ``from_hardware``.
        """
        found = []
        for first in range(0, len(entries), _MOST_ELEMENTS):
            part = entries[first : first + _MOST_ELEMENTS]
            request = messages.ReadRequest(target=self._target(), client_id=self._client_id)
            for entry in part:
                asked = request.entities.add().table_entry
                asked.CopyFrom(entry.message)
                asked.ClearField("data")
                if from_hardware:
                    # Servers of older SDEs know the second one only.
                    asked.table_flags.from_hw = asked.table_read_flag.from_hw = True
            answers = self._service.read(request, [entry.table.name for entry in part])
            found += [entity.table_entry for entity in answers]
        if len(found) != len(entries):
            raise BfRuntimeError(f"the switch has answered {len(found)} of {len(entries)} entries")
        return found

    def read_pipe(self, table: str, pipe: int) -> dict[str, Any]:
        """The data of the only entry that a table without key has for one pipe, by names."""
        known = self.bfrt.table(table)
        request = messages.ReadRequest(target=self._target(), client_id=self._client_id)
        request.target.pipe_id = pipe
        asked = request.entities.add().table_entry
        asked.table_id, asked.is_default_entry = known.id, True
        (found,) = self._service.read(request, [known.name])
        return values_of(known, found.table_entry)

    def read_all(self, table: str) -> list[Any]:
        """The TableEntry messages of all entries of a table."""
        known = self.bfrt.table(table)
        request = messages.ReadRequest(target=self._target(), client_id=self._client_id)
        request.entities.add().table_entry.table_id = known.id
        return [entity.table_entry for entity in self._service.read(request, [known.name])]

    def sync(self, names: Sequence[str]) -> None:
        """Let the server fetch registers or counters from every pipe; later reads return what it has fetched."""
        updates = []
        for name in names:
            table = self.bfrt.table(name)
            update = messages.Update(type=messages.INSERT)
            update.entity.table_operation.table_id = table.id
            update.entity.table_operation.table_operations_type = _SYNCHRONISE.get(table.kind, "")
            updates.append(("synchronise", table.name, update))
        self._write(updates)

    def read_counters(self, name: str, indices: Iterable[int]) -> list[tuple[int, CounterData]]:
        """(index, value) of some cells of a counter, added up over all pipes."""
        table, cells = self.bfrt.table(name), list(indices)
        self.sync([name])
        counts = []
        for cell, entry in zip(cells, self.read(_cells(table, COUNTER_INDEX, cells)), strict=True):
            values = values_of(table, entry)
            counts.append(
                (cell, CounterData(values.get("$COUNTER_SPEC_PKTS", 0), values.get("$COUNTER_SPEC_BYTES", 0)))
            )
        return counts

    def packet_counts(self, cells: Mapping[str, Iterable[int]]) -> Callable[[], list[int]]:
        """Prepare to read counter cells again and again: a call returns the packets of all of them, in their order."""
        wanted = {name: list(indices) for name, indices in cells.items()}
        return lambda: [data.packets for name in wanted for _, data in self.read_counters(name, wanted[name])]

    def read_counter_array(self, name: str) -> tuple[array[int], array[int]]:
        """(packets, bytes) of all cells of a counter, in order of their index, added up over all pipes."""
        cells = [data for _, data in self.read_counters(name, range(self.bfrt.table(name).size))]
        return array("Q", [cell.packets for cell in cells]), array("Q", [cell.bytes for cell in cells])

    def read_registers(self, name: str, cells: Sequence[int]) -> dict[str, np.ndarray[Any, Any]]:
        """Values of each field of a register as last synchronised: rows are pipes, columns the cells.

        Names of fields are without that of the register.
        """
        table = self.bfrt.table(name)
        fields = table.data_by_id
        found: dict[int, list[int]] = {number: [] for number in fields}
        for entry in self.read(_cells(table, REGISTER_INDEX, cells)):
            for one in entry.data.fields:
                found[one.field_id].append(int.from_bytes(one.stream, "big"))
        return {
            fields[number].name.rpartition(".")[2]: np.array(values, dtype=np.uint64).reshape(len(cells), -1).T
            for number, values in found.items()
        }

    # Packet I/O

    def packet_out(self, payload: bytes, **metadata: Value) -> None:
        """Send a frame to the program; ``packet_out`` header fields that are left out are 0."""
        self._cpu.send(payload, metadata)
        self.packet_outs_sent += 1

    def take_packet_ins(self, count: int, timeout_s: float | None = None) -> list[PacketIn]:
        """The next packet-ins: ``count``, or fewer when none has come for ``timeout_s``."""
        taken: list[PacketIn] = []
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        while len(taken) < count and (packet := self._cpu.take(limit_s)) is not None:
            taken.append(packet)
        self.packet_ins_taken += len(taken)
        return taken

    def take_packet_columns(self, count: int, timeout_s: float | None = None) -> list[PacketColumns]:
        """The next packet-ins in columns, in their order, as :meth:`take_packet_ins` takes them."""
        return columns_of(self.take_packet_ins(count, timeout_s))

    def lost_packet_ins(self) -> dict[str, int]:
        """Packet-ins that the CPU interface has lost since the start, by the counters that have moved."""
        return self._cpu.lost()


_Update = tuple[str, str, Any]
"""(action, name of the table, Update message)."""


def _requests(updates: Sequence[_Update]) -> Iterator[Sequence[_Update]]:
    """Yield the updates of each request, in order."""
    for whole, same in groupby(updates, key=lambda update: update[0] in _WHOLE_TABLE):
        part = list(same)
        most = 1 if whole else _MOST_ELEMENTS
        for first in range(0, len(part), most):
            yield part[first : first + most]


def values_of(table: TableInfo, entry: Any) -> dict[str, Any]:
    """The data of an entry of a table without actions by names; numbers, texts, truth values, lists."""
    known = table.data_by_id
    values: dict[str, Any] = {}
    for found in entry.data.fields:
        kind = found.WhichOneof("value")
        if kind is None or found.field_id not in known:
            continue
        value = getattr(found, kind)
        if kind == "stream":
            value = int.from_bytes(value, "big")
        elif kind.endswith("_arr_val"):
            value = list(value.val)
        values[known[found.field_id].name] = value
    return values


def _update(kind: int, entry: Any) -> Any:
    update = messages.Update(type=kind)
    update.entity.table_entry.CopyFrom(entry)
    return update


def _deletion(entry: Any) -> Any:
    return _update(messages.DELETE, entry)


def _with_key_alone(entry: Any) -> Any:
    message = messages.TableEntry(table_id=entry.table_id)
    message.key.CopyFrom(entry.key)
    return message


def _cells(table: TableInfo, index: str, cells: Sequence[int]) -> list[Entry]:
    """Entries of cells, of which there may be many thousands: they differ in their index alone."""
    first, field = entry_of(table, {index: 0}, None, {}), table.key[index]
    if cells:
        field.bytes_of(max(cells), table.name)
    size_bytes = field.size_bytes

    def at(cell: int) -> Entry:
        message = messages.TableEntry()
        message.CopyFrom(first.message)
        message.key.fields[0].exact.value = cell.to_bytes(size_bytes, "big")
        return Entry(table, message)

    return [at(cell) for cell in cells]
