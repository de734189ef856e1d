"""The table entries of a plan, by the names of P4Info (docs/DATAPLANE.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from p4mesh.layers import IPv4, IPv6
from p4mesh.tester.contract import Contract
from p4mesh.tester.plan import Plan, StreamPlan, Transmitter
from p4mesh.tester.seed_layout import field_place, fields_of, shifted
from p4mesh.tester.stations import Station, own_station
from p4mesh.tester.switch_client import Entity, SwitchSchema
from p4mesh.traffic.stream import FEWEST_MODIFIERS, Progression, Stream, ValueList

EntryKey = tuple[object, ...]
"""Name of an entry, beginning with a word such as ``stream``; equal keys mean the same match."""

_BAD_FCS = 1 << FEWEST_MODIFIERS
"""Bit of ``modified`` of a transmitter whose frames leave with an FCS that does not fit, where the target can."""


class PlanEntries:
    """Builds entities; knows tables and actions, not the state of the switch."""

    def __init__(self, schema: SwitchSchema, contract: Contract, port_of: Callable[[int], int] = int) -> None:
        """Take the number of a tester port in the program from ``port_of``; by default it is the same."""
        self._schema = schema
        self._contract = contract
        self._port_of = port_of
        self._fields = fields_of(contract)
        self._letters = contract.modifiers

    def of(self, plan: Plan) -> dict[EntryKey, Entity]:
        """Every entry that the streams of a plan need, by its name."""
        wanted: dict[EntryKey, Entity] = {}
        for place, (stream, station) in enumerate(plan.destinations):
            wanted["destination", place] = self._destination(place, stream, station)
        looking = {apart.rx_port for apart in plan.told_apart}
        for receiver in plan.receivers:
            offset = receiver.flow_offset | (self._contract["TOLD_APART"] if receiver.port in looking else 0)
            wanted["receiver", receiver.port, receiver.mac, receiver.mask] = self._schema.table_entry(
                "receiver",
                match={
                    "port": self._port_of(receiver.port),
                    "destination_mac": (int.from_bytes(receiver.mac, "big"), receiver.mask),
                },
                action="expected",
                params={"flow_offset": offset, "receiver_tag": receiver.tag},
                # Entries with a mask that matches everything come last.
                priority=receiver.mask.bit_count() + 1,
            )
        for apart in plan.told_apart:
            for keys, action, numbers in apart.rules(self._contract["RECEIVED_BITS"]):
                wanted["received_fields", apart.rx_port, apart.flow, action] = self._schema.table_entry(
                    "received_fields",
                    match={"port": self._port_of(apart.rx_port), "flow": apart.flow, **keys},
                    action=action,
                    params=numbers,
                    priority=1,
                )
        for rule in plan.histogram_rules:
            bins = self._contract["HISTOGRAM_BINS"] << rule.finer_bits
            action, params = "use_histogram", {"first_cell": rule.histogram * bins}
            if "FINER_BITS" in self._contract.constants:
                params["finer_bits"] = rule.finer_bits
            if rule.interarrival is not None:
                action = "use_interarrival"
                params["first_interarrival_cell"] = 2 * rule.interarrival * bins
            wanted["histogram", rule] = self._schema.table_entry(
                "histogram",
                match={"port": self._port_of(rule.port), "flow": (rule.flow, rule.mask)},
                action=action,
                params=params,
                priority=1,
            )
        for source in plan.messages:
            for flow, mask in source.blocks:
                wanted["message", flow, mask] = self._schema.table_entry(
                    "message",
                    match={"flow": (flow, mask)},
                    action="part_of_message",
                    params={
                        "message_source": source.number,
                        "first_flow": source.first_flow,
                        "last_flow": source.last_flow,
                        "message_frames": source.frames,
                    },
                    priority=1,
                )
        for letter, values in zip(self._letters, plan.value_lists, strict=True):
            for entry, value in enumerate(values):
                wanted["value", letter, entry] = self._schema.table_entry(
                    f"modifier_{letter}.list_value",
                    match={"entry": entry},
                    action=f"modifier_{letter}.set_value",
                    params={"addend": value},
                )
        for entry, size in enumerate(plan.frame_sizes):
            wanted["frame_size", entry] = self._schema.table_entry(
                "frame_size",
                match={"entry": entry},
                action="cut_to",
                params={
                    "length_bytes": size.length_bytes,
                    "shorter_bytes": size.shorter_bytes,
                    "payload_sum": size.payload_sum,
                },
            )
        for entry, ticks in enumerate(plan.gaps_ticks):
            wanted["gap", entry] = self._schema.table_entry(
                "scheduled_gap", match={"entry": entry}, action="add_gap", params={"ticks": ticks}
            )
        for planned in plan.streams:
            wanted["stream", planned.index] = self._stream(planned)
            if planned.clock.longer_by_ticks:
                wanted["schedule", planned.index] = self._schema.table_entry(
                    "schedule",
                    match={"stream": planned.index},
                    action="schedule_of",
                    params={
                        "first_entry": planned.first_gap,
                        "last_step": len(planned.clock.longer_by_ticks) - 1,
                    },
                )
            for transmitter in planned.transmitters:
                wanted["transmitter", transmitter.id] = self._transmitter(planned.stream, transmitter)
                if turn := transmitter.size_turn:
                    wanted["sizes", transmitter.id] = self._schema.table_entry(
                        "sizes",
                        match={"transmitter": transmitter.id},
                        action="sizes_of",
                        params={
                            "first_entry": turn.first_entry,
                            "last_step": turn.last_step,
                            "last_round_frame": turn.last_round_frame,
                        },
                    )
                for number, letter in zip(range(len(planned.stream.modifiers)), self._letters, strict=False):
                    wanted["modifier", letter, transmitter.id] = self._modifier(
                        planned.stream, transmitter, number, letter
                    )
        return wanted

    def _stream(self, plan: StreamPlan) -> Entity:
        return self._schema.table_entry(
            "stream",
            match={"stream": plan.index},
            action="set_stream",
            params={
                "interval_ticks": plan.clock.interval_ticks,
                "interval_fraction_q32": plan.clock.interval_fraction_q32,
                "departure_count": min(plan.clock.departures, self._contract["UNLIMITED_DEPARTURES"]),
                "start_offset_ticks": plan.start_offset_ticks,
                "last_slot": plan.clock.last_slot,
                "burst_slots": plan.clock.burst_slots,
                "multicast_group": plan.group | (self._contract["SCHEDULED"] if plan.clock.longer_by_ticks else 0),
                "queue": plan.stream.priority,
            },
        )

    def _modifier(self, stream: Stream, transmitter: Transmitter, number: int, letter: str) -> Entity:
        modifier = stream.modifiers[number]
        place = field_place(stream.frame, modifier.field, self._fields)
        assert place is not None, "a plan has fields that the program changes"
        params = {"field_code": place.code(self._fields)}
        values = shifted(stream.frame, modifier, self._fields)
        if isinstance(values, Progression):
            action = "progression_of"
            params |= {"last_step": values.count - 1, "step_size": values.step % (1 << 32)}
        elif isinstance(values, ValueList):
            action = "list_of"
            params |= {"last_step": len(values.values) - 1, "first_entry": transmitter.lists[number]}
        else:
            action = "random_of"
            params |= {"last_step": values.count - 1, "seed": values.seed, "mask": values.mask}
        return self._schema.table_entry(
            f"modifier_{letter}.modifier",
            match={"transmitter": transmitter.id},
            action=f"modifier_{letter}.{action}",
            params=params,
        )

    def _transmitter(self, stream: Stream, transmitter: Transmitter) -> Entity:
        source = own_station(stream, transmitter.port)
        family, address = _addresses(stream, source)
        params = {
            "first": transmitter.first_place,
            "last": transmitter.positions - 1,
            "length_entries": transmitter.list_length,
            "base_entry": transmitter.list_base,
            "flow": transmitter.flow_base,
            "skipped": transmitter.skipped,
            "end_departure": transmitter.skipped + transmitter.frames,
            "modified": (1 << min(len(stream.modifiers), FEWEST_MODIFIERS)) - 1 | (_BAD_FCS if stream.bad_fcs else 0),
            "mac": int.from_bytes(stream.source_mac or source.mac, "big"),
            **address,
        }
        return self._schema.table_entry(
            "transmitter", match={"transmitter": transmitter.id}, action=f"source_{family}", params=params
        )

    def _destination(self, place: int, stream: Stream, station: Station) -> Entity:
        # The next node on a path, not its end.
        station = replace(station, ipv6=stream.frame.destination_of_path or station.ipv6)
        family, address = _addresses(stream, station)
        return self._schema.table_entry(
            "destination",
            match={"entry": place},
            action=f"station_{family}",
            params={"mac": int.from_bytes(station.mac, "big"), **address, "receiver_tag": station.receiver_tag},
        )


def _addresses(stream: Stream, station: Station) -> tuple[str, dict[str, int]]:
    match stream.frame.network:
        case IPv4():
            return "ipv4", {"address": int(station.ipv4)}
        case IPv6():
            prefix, low = divmod(int(station.ipv6), 1 << 32)
            return "ipv6", {"prefix": prefix, "low": low}
        case _:
            return "ethernet", {}
