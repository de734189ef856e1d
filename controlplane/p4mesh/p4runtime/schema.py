"""Entities by the names of P4Info."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from p4mesh.p4runtime.errors import SchemaError
from p4mesh.p4runtime.info import Info, lookup
from p4mesh.p4runtime.stubs import Entity, p4d, p4i, p4r
from p4mesh.p4runtime.table_encoder import ActionEncoder, MatchValue, TableEncoder, table_action
from p4mesh.p4runtime.values import Value, encode
from p4mesh.p4runtime.wire import delimited, number, varint


@dataclass(frozen=True)
class CounterData:
    """The value of one counter cell."""

    packets: int
    bytes: int


@dataclass(frozen=True)
class MeterConfig:
    """Rates in bytes or packets per second, bursts in bytes or packets."""

    cir: int
    cburst: int
    pir: int
    pburst: int

    def message(self) -> p4r.MeterConfig:
        return p4r.MeterConfig(cir=self.cir, cburst=self.cburst, pir=self.pir, pburst=self.pburst)


Replicas = Iterable[tuple[int, int]]
"""(port, instance) pairs."""


class Schema:
    """Builds entities. Names are full names or aliases of P4Info; their last parts will do where no other one ends so.

    Key fields, parameters and actions of an entry are those of its table.
    """

    def __init__(self, message: p4i.P4Info) -> None:
        self.info = Info(message)
        self._tables: dict[str, TableEncoder] = {}
        self._actions: dict[str, ActionEncoder] = {}

    def _table(self, name: str) -> TableEncoder:
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = TableEncoder(self.info, lookup(self.info.tables, "table", name))
        return table

    def described(self, table: str) -> TableEncoder:
        """The parts of the entries of a table."""
        return self._table(table)

    def table_entry(
        self,
        table: str,
        match: Mapping[str, MatchValue] | None = None,
        action: str | None = None,
        params: Mapping[str, Value] | None = None,
        *,
        priority: int = 0,
        member: int | None = None,
        group: int | None = None,
        action_set: Sequence[tuple[str, Mapping[str, Value], int]] | None = None,
        counter: CounterData | None = None,
        meter: MeterConfig | None = None,
        idle_timeout_ns: int = 0,
        metadata: bytes = b"",
    ) -> Entity:
        """Table entry that leads to an action, a member, a group, or a one-shot action set (P4Runtime section 9.1).

        An action set is a list of (action, parameters, weight).
        """
        encoder = self._table(table)
        parts = [encoder.head, encoder.key(match or {})]
        if action is not None:
            body = encoder.action(action, params or {})
            length = varint(len(body))
            # Field 3 of TableEntry, a TableAction, whose field 1 is the Action.
            parts += (b"\x1a", varint(len(body) + 1 + len(length)), b"\x0a", length, body)
        elif params:
            raise SchemaError(f"table {encoder.name!r}: parameters are given without an action")
        if member is not None:
            parts.append(table_action(member=member))
        if group is not None:
            parts.append(table_action(group=group))
        if action_set is not None:
            items = [
                delimited(1, delimited(1, encoder.action(name, values)) + number(2, weight))
                for name, values, weight in action_set
            ]
            parts.append(table_action(action_set=b"".join(items)))
        if priority:
            parts.append(number(4, priority))
        if meter is not None:
            parts.append(delimited(6, meter.message().SerializeToString()))
        if counter is not None:
            parts.append(delimited(7, number(1, counter.bytes) + number(2, counter.packets)))
        if idle_timeout_ns:
            parts.append(number(9, idle_timeout_ns))
        if metadata:
            parts.append(delimited(11, metadata))
        entity: Entity = Entity.FromString(delimited(2, b"".join(parts)))
        return entity

    def default_entry(
        self,
        table: str,
        action: str | None = None,
        params: Mapping[str, Value] | None = None,
        *,
        counter: CounterData | None = None,
        meter: MeterConfig | None = None,
    ) -> Entity:
        """Default entry with a new action; without an action, modifying resets it (P4Runtime section 9.1.3)."""
        encoder = self._table(table)
        entry = p4r.TableEntry(table_id=encoder.message.preamble.id, is_default_action=True)
        if action is not None:
            entry.action.action.ParseFromString(encoder.action(action, params or {}))
        if counter is not None:
            entry.counter_data.CopyFrom(_counter_data(counter))
        if meter is not None:
            entry.meter_config.CopyFrom(meter.message())
        return Entity(table_entry=entry)

    def table(
        self,
        table: str,
        match: Mapping[str, MatchValue] | None = None,
        *,
        priority: int = 0,
        default: bool = False,
        counters: bool = False,
        meters: bool = False,
        marked: bool = False,
        idle: bool = False,
    ) -> Entity:
        """Filter that reads entries of a table, all of them without ``match`` (P4Runtime section 9.1.6)."""
        encoder = self._table(table)
        entry = p4r.TableEntry.FromString(encoder.head + (encoder.key(match) if match else b""))
        entry.priority = priority
        entry.is_default_action = default
        if counters:
            entry.counter_data.SetInParent()
        if meters:
            entry.meter_config.SetInParent()
        if marked:
            entry.meter_counter_data.SetInParent()
        if idle:
            entry.time_since_last_hit.SetInParent()
        return Entity(table_entry=entry)

    def counter(self, name: str, index: int | None = None, data: CounterData | None = None) -> Entity:
        """Counter cell, or all cells of the counter (P4Runtime section 9.3.2)."""
        entry = p4r.CounterEntry(counter_id=lookup(self.info.counters, "counter", name).preamble.id)
        if index is not None:
            entry.index.index = index
        if data is not None:
            entry.data.CopyFrom(_counter_data(data))
        return Entity(counter_entry=entry)

    def counter_cells(self, name: str, indices: Iterable[int]) -> list[Entity]:
        """Cells of a counter, to be read."""
        counter_id = lookup(self.info.counters, "counter", name).preamble.id
        cells = []
        for index in indices:
            cell = Entity()
            cell.counter_entry.counter_id = counter_id
            cell.counter_entry.index.index = index
            cells.append(cell)
        return cells

    def direct_counter(
        self,
        table: str,
        match: Mapping[str, MatchValue] | None = None,
        data: CounterData | None = None,
        *,
        priority: int = 0,
        default: bool = False,
    ) -> Entity:
        """Direct counter of an entry, or of all entries of a table (P4Runtime section 9.3.1)."""
        place = self.table(table, match, priority=priority, default=default).table_entry
        entry = p4r.DirectCounterEntry(table_entry=place)
        if data is not None:
            entry.data.CopyFrom(_counter_data(data))
        return Entity(direct_counter_entry=entry)

    def meter(
        self, name: str, index: int | None = None, config: MeterConfig | None = None, *, marked: bool = False
    ) -> Entity:
        """Meter cell, or all cells of the meter (P4Runtime section 9.4.2); without ``config``, modifying resets it.

        ``marked``: reads its counters per colour, or sets them to 0.
        """
        entry = p4r.MeterEntry(meter_id=lookup(self.info.meters, "meter", name).preamble.id)
        if index is not None:
            entry.index.index = index
        if config is not None:
            entry.config.CopyFrom(config.message())
        if marked:
            entry.counter_data.SetInParent()
        return Entity(meter_entry=entry)

    def direct_meter(
        self,
        table: str,
        match: Mapping[str, MatchValue] | None = None,
        config: MeterConfig | None = None,
        *,
        priority: int = 0,
        default: bool = False,
        marked: bool = False,
    ) -> Entity:
        """Direct meter of an entry, or of all entries of a table (section 9.4.1); ``marked`` as for :meth:`meter`."""
        place = self.table(table, match, priority=priority, default=default).table_entry
        entry = p4r.DirectMeterEntry(table_entry=place)
        if config is not None:
            entry.config.CopyFrom(config.message())
        if marked:
            entry.counter_data.SetInParent()
        return Entity(direct_meter_entry=entry)

    def register(self, name: str, index: int | None = None, value: Value | None = None) -> Entity:
        """Register cell, or all cells of the register (P4Runtime section 9.7)."""
        register = lookup(self.info.registers, "register", name)
        entry = p4r.RegisterEntry(register_id=register.preamble.id)
        if index is not None:
            entry.index.index = index
        if value is not None:
            entry.data.CopyFrom(_register_data(register, value))
        return Entity(register_entry=entry)

    def member(
        self, profile: str, member: int, action: str | None = None, params: Mapping[str, Value] | None = None
    ) -> Entity:
        """Member of an action profile (P4Runtime section 9.2.1)."""
        number = lookup(self.info.action_profiles, "action profile", profile).preamble.id
        entry = p4r.ActionProfileMember(action_profile_id=number, member_id=member)
        if action is not None:
            entry.action.ParseFromString(self._action(action)(params or {}))
        return Entity(action_profile_member=entry)

    def action_params(self, action: str) -> tuple[str, ...]:
        """The names of an action's parameters in their order."""
        return self._action(action).params

    def _action(self, name: str) -> ActionEncoder:
        encoder = self._actions.get(name)
        if encoder is None:
            encoder = self._actions[name] = ActionEncoder(lookup(self.info.actions, "action", name))
        return encoder

    def group(self, profile: str, group: int, members: Mapping[int, int], max_size: int = 0) -> Entity:
        """Group of an action selector (P4Runtime section 9.2.2): weights by member."""
        number = lookup(self.info.action_profiles, "action profile", profile).preamble.id
        entry = p4r.ActionProfileGroup(action_profile_id=number, group_id=group, max_size=max_size)
        for member, weight in members.items():
            entry.members.add(member_id=member, weight=weight)
        return Entity(action_profile_group=entry)

    def multicast_group(self, group: int, replicas: Replicas = (), *, numeric_ports: bool = False) -> Entity:
        """Multicast group of (port, instance) pairs (P4Runtime section 9.5.1).

        ``numeric_ports`` names ports by the deprecated field ``egress_port``, the only one that servers older than
        P4Runtime 1.4 read, Stratum among them; they take its absence for port 0.
        """
        entry = p4r.MulticastGroupEntry(multicast_group_id=group)
        if numeric_ports:
            for port, instance in replicas:
                entry.replicas.add(egress_port=port, instance=instance)
        else:
            _add_replicas(entry.replicas, replicas)
        return Entity(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(multicast_group_entry=entry))

    def clone_session(
        self, session: int, replicas: Replicas = (), *, class_of_service: int = 0, packet_length_bytes: int = 0
    ) -> Entity:
        """Clone session (P4Runtime section 9.5.2); ``packet_length_bytes`` 0 clones the whole packet."""
        entry = p4r.CloneSessionEntry(
            session_id=session, class_of_service=class_of_service, packet_length_bytes=packet_length_bytes
        )
        _add_replicas(entry.replicas, replicas)
        return Entity(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(clone_session_entry=entry))

    def value_set(self, name: str, members: Iterable[Mapping[str, MatchValue]] = ()) -> Entity:
        """Parser value set with all its members (section 9.6); a match by field name, or "" for the only field.

        P4Info of the Tofino back end describes no fields: such a value set has one, exact, with number 1.
        """
        from p4mesh.p4runtime.table_encoder import FieldEncoder

        value_set = lookup(self.info.value_sets, "value set", name)
        entry = p4r.ValueSetEntry(value_set_id=value_set.preamble.id)
        encoders = [FieldEncoder(f"value set {name!r}", field) for field in value_set.match]
        for member in members:
            added = entry.members.add()
            if not encoders:
                added.match.add(field_id=1).exact.value = encode(member[""], 32, f"value set {name!r}")  # type: ignore[arg-type]
            for encoder in encoders:
                value = member.get(encoder.name, member.get("") if len(encoders) == 1 else None)
                added.MergeFromString(encoder.value_set_element(value))
        return Entity(value_set_entry=entry)

    def digest(self, name: str, *, max_timeout_ns: int = 0, max_list_size: int = 1, ack_timeout_ns: int = 0) -> Entity:
        """Configuration of a digest (P4Runtime section 9.8); times in ns."""
        config = p4r.DigestEntry.Config(
            max_timeout_ns=max_timeout_ns, max_list_size=max_list_size, ack_timeout_ns=ack_timeout_ns
        )
        number = lookup(self.info.digests, "digest", name).preamble.id
        return Entity(digest_entry=p4r.DigestEntry(digest_id=number, config=config))


def _counter_data(data: CounterData) -> p4r.CounterData:
    return p4r.CounterData(packet_count=data.packets, byte_count=data.bytes)


def _register_data(register: p4i.Register, value: Value) -> p4d.P4Data:
    spec = register.type_spec
    what = f"register {register.preamble.name!r}"
    if spec.HasField("bool"):
        return p4d.P4Data(bool=bool(value))
    if spec.HasField("bitstring"):
        bits = spec.bitstring
        if bits.HasField("int"):
            return p4d.P4Data(bitstring=_signed(value, bits.int.bitwidth, what))
        return p4d.P4Data(bitstring=encode(value, bits.bit.bitwidth, what))
    if spec.HasField("serializable_enum"):
        return p4d.P4Data(enum_value=encode(value, 64, what))
    # A new type: its width is checked by the switch.
    return p4d.P4Data(bitstring=encode(value, 2048, what))


def _signed(value: Value, width_bits: int, what: str) -> bytes:
    if not isinstance(value, int):
        raise SchemaError(f"{what}: {value!r} is not a signed number")
    limit = 1 << (width_bits - 1)
    if not -limit <= value < limit:
        raise SchemaError(f"{what}: {value} does not fit in {width_bits} bits (signed)")
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def _add_replicas(field: object, replicas: Replicas) -> None:
    for port, instance in replicas:
        field.add(port=encode(port, 32, "replica port"), instance=instance)  # type: ignore[attr-defined]
