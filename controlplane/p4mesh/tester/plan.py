"""From streams to cells, places and replicas: the content of the tables of the P4 program.

Pure: no target, no I/O. Places and cells are the ones of docs/DATAPLANE.md: a transmitter is one
(stream, transmit port), a flow is one (stream, source, destination) and has one cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import compress
from math import gcd

import numpy as np

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.target.capabilities import Capabilities
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import Contract
from p4mesh.tester.flows import Flow, FlowColumns
from p4mesh.tester.histogram import Histogram, HistogramRule, prefixes
from p4mesh.tester.pacing import (
    LONGEST_SLOT_TICKS,
    DepartureClock,
    LoopUse,
    departure_clock,
    scheduled_clock,
    shared_loops,
    slot_rate_fps,
)
from p4mesh.tester.received_fields import ToldApart
from p4mesh.tester.seed_layout import Fields, fields_of, require_field, shifted
from p4mesh.tester.sendable import require_plain_headers
from p4mesh.tester.shared_ports import CounterRoom, SharedPorts, shared_macs, shared_ports
from p4mesh.tester.size_turns import FrameSize, SizeTurn, frame_sizes_of, size_turn_of
from p4mesh.tester.stations import (
    Receiver,
    Station,
    counting_receivers_of,
    destinations_of,
    receivers_of,
)
from p4mesh.tester.stream_checks import check_stream
from p4mesh.traffic.derived import with_addresses
from p4mesh.traffic.line_rate import PS_PER_S, frame_time_ns
from p4mesh.traffic.patterns import Destination, Places
from p4mesh.traffic.stream import Stream, ValueList

FLOW_BITS = 16
FIRST_STREAM_GROUP = 2
"""Multicast group of stream 0; group 1 belongs to reading passes."""


@dataclass(frozen=True)
class CountedGroups:
    """Groups of a transmitter that have a counter on each receive port, and no cell of registers."""

    stream: int
    """Number of the stream in the trial."""
    tx_port: int
    first: int
    """Flow number of the first group; the others follow. It is also the cell that counts the frames sent."""
    destinations: tuple[Destination, ...]
    """The groups, with those that are to receive them."""


@dataclass(frozen=True)
class MessageSource:
    """Messages of one (stream, transmit port, receive port), whose positions are flows that follow each other."""

    number: int
    """Cell of its registers."""
    stream: int
    """Number of the stream in the trial."""
    tx_port: int
    rx_port: int
    first_flow: int
    """Flow of the first position."""
    frames: int

    @property
    def last_flow(self) -> int:
        """Flow of the last position; frames sent in it are messages sent."""
        return self.first_flow + self.frames - 1

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """(flow, mask) pairs that cover the positions."""
        return prefixes(self.first_flow, self.frames, FLOW_BITS)


@dataclass(frozen=True)
class Transmitter:
    """One (stream, transmit port)."""

    id: int
    """Its cell, which is the replication id of its copies on the switch of its port."""
    stream: int
    """Number of the stream in the trial."""
    port: int
    first_place: int
    positions: int
    list_base: int
    list_length: int
    flow_base: int
    skipped: int
    frames: int
    lists: tuple[int, ...] = ()
    """First entry of the value list of each modifier; 0 for modifiers without a list."""
    contention_ps: int = 0
    """Time that a frame may wait for one frame of each other stream on its port, and for a larger one of its own."""
    size_turn: SizeTurn | None = None
    """None where all frames are as long as the seeds."""


@dataclass(frozen=True)
class StreamPlan:
    """One stream with its clock, seeds and transmitters."""

    index: int
    stream: Stream
    clock: DepartureClock
    start_offset_ticks: int
    seeds: int
    transmitters: tuple[Transmitter, ...]
    origin: int = 0
    """Number of the stream in the trial. Ports between whose offsets lie fractions of a departure have own clocks."""
    start_offset_error_ticks: Fraction = Fraction(0)
    """Largest distance of a port's start from the one asked for."""
    first_gap: int = 0
    """Place of the first gap of its schedule among those of all streams."""
    loop: int = 0
    """Number of the loop in which the seeds circulate; 0 is the recirculation port."""

    @property
    def group(self) -> int:
        """Multicast group of the stream."""
        return FIRST_STREAM_GROUP + self.index


@dataclass(frozen=True)
class Plan:
    """Everything that the streams of a trial need in the data plane."""

    streams: tuple[StreamPlan, ...]
    destinations: tuple[tuple[Stream, Station], ...]
    receivers: tuple[Receiver, ...]
    columns: FlowColumns
    """Flows of the streams, in columns."""
    ports: tuple[int, ...]
    value_lists: tuple[tuple[int, ...], ...] = ()
    """Values of all lists, for each modifier of the program."""
    frame_sizes: tuple[FrameSize, ...] = ()
    """Sizes in turn of all transmitters."""
    gaps_ticks: tuple[int, ...] = ()
    """Ticks by which the slots of all schedules are longer."""
    histograms: tuple[Histogram, ...] = ()
    interarrival: tuple[Histogram, ...] = ()
    """Histograms of the times between frames."""
    histogram_rules: tuple[HistogramRule, ...] = ()
    counted: tuple[CountedGroups, ...] = ()
    """Groups beyond the cells."""
    counted_ports: tuple[int, ...] = ()
    """Ports on which they are counted, in the order of their places."""
    messages: tuple[MessageSource, ...] = ()
    """Sources whose messages are counted as a whole."""
    told_apart: tuple[ToldApart, ...] = ()
    """Flows whose frames are told apart by fields that they come with."""
    asked: tuple[Stream, ...] = ()
    """The streams as they were asked for, by their numbers."""
    loop_uses: tuple[LoopUse, ...] = ()
    """Use that each of :attr:`streams` makes of its loop; known where the plan is for a target."""

    @property
    def flows(self) -> tuple[Flow, ...]:
        """The flows one by one."""
        return self.columns.flows

    @property
    def round_ns(self) -> int:
        """The longest round of a seed, rounded up."""
        return int(max(use.round_ps for use in self.loop_uses)) // 1000 + 1

    def start_ns(self, streams: int) -> int:
        """Time in which all seeds make their first round, and so many streams are started."""
        return (streams + 4) * self.round_ns

    @property
    def names(self) -> dict[int, str]:
        """Names of the streams of the trial, by their numbers."""
        return {plan.origin: plan.stream.name for plan in self.streams}

    def of_streams(self, names: Collection[str]) -> Plan:
        """Part of the plan that belongs to some streams, all without names; their numbers stay."""
        if not names:
            return self
        chosen = {number for number, name in self.names.items() if name in names}
        if unknown := set(names) - set(self.names.values()):
            raise ParameterError(
                f"no stream '{min(unknown)}' is loaded", hint=f"loaded: {', '.join(self.names.values())}"
            )
        columns = self.columns.some(np.isin(self.columns.stream, list(chosen)))
        cells = set(columns.cell.tolist())
        return replace(
            self,
            streams=tuple(stream for stream in self.streams if stream.origin in chosen),
            loop_uses=tuple(compress(self.loop_uses, (stream.origin in chosen for stream in self.streams))),
            columns=columns,
            histograms=tuple(histogram for histogram in self.histograms if cells.intersection(histogram.cells)),
            interarrival=tuple(histogram for histogram in self.interarrival if cells.intersection(histogram.cells)),
            counted=tuple(counted for counted in self.counted if counted.stream in chosen),
            messages=tuple(source for source in self.messages if source.stream in chosen),
            told_apart=tuple(flow for flow in self.told_apart if flow.stream in chosen),
        )

    @property
    def own_cells(self) -> list[int]:
        """Cells of the flows, of the groups beyond them and of the transmitters, in order."""
        flows = self.columns
        transmitters = [transmitter.id for plan in self.streams for transmitter in plan.transmitters]
        sent = [counted.first + place for counted in self.counted for place in range(len(counted.destinations))]
        told_apart = (cell for flow in self.told_apart for cell in flow.cells)
        return sorted({*flows.cell.tolist(), *flows.sequence_cell.tolist(), *transmitters, *sent, *told_apart})

    @property
    def cells(self) -> int:
        """Cells that a reading pass must visit: flows, transmitters and ports."""
        transmitters = [transmitter.id for plan in self.streams for transmitter in plan.transmitters]
        sent = [counted.first + len(counted.destinations) - 1 for counted in self.counted]
        flows = np.maximum(self.columns.cell, self.columns.sequence_cell)
        told_apart = [flow.cells[-1] for flow in self.told_apart]
        return 1 + max([int(flows.max(initial=0)), *transmitters, *self.ports, *sent, *told_apart])


@dataclass(frozen=True)
class Limits:
    """Sizes of the program and properties of the target that a plan must respect."""

    streams: int
    transmitters: int
    flows: int
    destinations: int
    receivers: int
    modifiers: int
    """Fields of one stream that change."""
    modifier_values: int
    histograms: int
    histogram_rules: int
    tick_ps: int
    loop: LoopModel
    target: str
    finer_bits: int = 0
    """A histogram may have 2^finer_bits times as many bins, in the place of as many histograms."""
    bad_fcs: bool = False
    """Whether ports can send frames with a wrong FCS."""
    other_loops: tuple[LoopModel, ...] = ()
    """Ports in loopback, loops 1, 2, ..."""
    groups: int = 0
    """Groups that are counted on each of :attr:`group_ports` beside the flows; 0 = the program has no such counters."""
    group_ports: int = 0
    message_sources: int = 0
    """Sources whose messages are counted as a whole; 0 = the program does not count messages."""
    message_rules: int = 0
    frame_sizes: int = 0
    """Sizes in turn of all transmitters; 0 = the program sends all frames as long as their seeds."""
    scheduled_gaps: int = 0
    """Departures of the schedules of all streams; 0 = the program has no schedules."""
    interarrival: bool = False
    """The program has histograms of the times between frames."""
    received_field_rules: int = 0
    """Headers by which flows are told apart; 0 = the program does not look at them."""
    any_headers: bool = False
    """The program parses tunnels and headers beyond UDP over IP."""
    fields: Fields = field(default_factory=dict)
    """Constants that say which fields the program changes."""
    switch_of: Mapping[int, int] = field(default_factory=dict)
    """Switch of each port of a tester of several; empty: there is one."""

    def first_cell(self, port: int) -> int:
        """First cell of the switch of a port: each has as many as the program has flows."""
        return self.flows * self.switch_of.get(port, 0)

    @classmethod
    def of(
        cls,
        contract: Contract,
        tick_ps: int,
        loop: LoopModel,
        target: str,
        *,
        bad_fcs: bool = False,
        other_loops: tuple[LoopModel, ...] = (),
    ) -> Limits:
        return cls(
            streams=contract["STREAMS"],
            transmitters=contract["TRANSMITTERS"],
            flows=contract["FLOWS"],
            destinations=contract["DESTINATIONS"],
            receivers=contract["RECEIVERS"],
            modifiers=len(contract.modifiers),
            modifier_values=contract["MODIFIER_VALUES"],
            histograms=contract["HISTOGRAMS"],
            histogram_rules=contract["HISTOGRAM_RULES"],
            tick_ps=tick_ps,
            loop=loop,
            target=target,
            bad_fcs=bad_fcs,
            other_loops=other_loops,
            groups=contract.constants.get("GROUPS", 0),
            group_ports=contract.constants.get("GROUP_PORTS", 0),
            message_sources=contract.constants.get("MESSAGE_SOURCES", 0),
            message_rules=contract.constants.get("MESSAGE_RULES", 0),
            frame_sizes=contract.constants.get("FRAME_SIZES", 0),
            scheduled_gaps=contract.constants.get("SCHEDULED_GAPS", 0),
            interarrival="ID_ACTION_USE_INTERARRIVAL" in contract.constants,
            received_field_rules=contract.constants.get("RECEIVED_FIELD_RULES", 0),
            any_headers="IN_TUNNEL" in contract.constants,
            fields=fields_of(contract),
        )


def limits_of(contract: Contract, capabilities: Capabilities, switch_of: Mapping[int, int]) -> Limits:
    """Limits of a compiled program on a target that declares these capabilities."""
    limits = Limits.of(
        contract,
        capabilities.stamps.tick_ps,
        capabilities.loop,
        capabilities.target,
        bad_fcs=capabilities.bad_fcs,
        other_loops=capabilities.other_loops,
    )
    if capabilities.real_time:
        limits = replace(limits, finer_bits=contract.constants.get("FINER_BITS", 0))
    # Messages are counted by blocks of flow numbers, which several switches have.
    return replace(limits, switch_of=switch_of, message_sources=0) if switch_of else limits


def make_plan(streams: Sequence[Stream], limits: Limits, rate_bps_of: dict[int, int]) -> Plan:
    """Allocate cells and places for ``streams``; raises when the program has no room for them.

    Start offsets are exact to the tick where the loop has room for the clocks and seeds that this needs; else they are
    rounded to as many phases of a departure as there is room for, at worst to whole ones: ``start_offset_error_ticks``.
    """
    for stream in streams:
        check_stream(stream)
        if not limits.any_headers:
            require_plain_headers(stream.name, stream.frame, limits.target)
        if len(stream.modifiers) > limits.modifiers:
            raise UnsupportedError(
                f"not supported on {limits.target}: stream '{stream.name}' has {len(stream.modifiers)} field modifiers",
                hint=f"the program has {limits.modifiers}",
            )
        for modifier in stream.modifiers:
            require_field(stream.name, stream.frame, modifier, limits.fields)
    asked, streams = tuple(streams), [with_addresses(stream.as_sent()) for stream in streams]
    if any(any(stream.start_offset_ns) for stream in streams):
        # Each phase of a stream takes a clock, and thus a stream of the program.
        for phases in (None, *_phases(limits.streams // len(streams))):
            with suppress(UnsupportedError):
                return replace(_allocate(streams, limits, rate_bps_of, phases), asked=asked)
    return replace(_allocate(streams, limits, rate_bps_of, 1), asked=asked)


def _phases(most: int) -> Iterator[int]:
    """Yield numbers of phases, each about half of the one before it, down to 2."""
    while most > 1:
        yield most
        most //= 2


def _allocate(
    streams: Sequence[Stream],
    limits: Limits,
    rate_bps_of: dict[int, int],
    phases: int | None,
    *,
    numbers_differ: bool = False,
) -> Plan:
    """A plan without loops. Of a tester of several switches, each numbers the flows that it sends.

    A flow has one number at both of its ends. In a full mesh of equal switches none comes twice at one receiver; where
    one does, the flows of all switches get different numbers: ``numbers_differ``.
    """
    shared = shared_ports(streams, CounterRoom(limits.flows, limits.groups, limits.group_ports))
    next_number = 0
    switches = sorted({0, *limits.switch_of.values()})
    next_cells = dict.fromkeys(switches, shared.cells)
    transmitters_of = dict.fromkeys(switches, 0)
    counted: list[CountedGroups] = []
    destinations: list[tuple[Stream, Station]] = []
    list_bases: dict[tuple[object, ...], int] = {}
    blocks: list[FlowColumns] = []
    plans: list[StreamPlan] = []
    values: list[list[int]] = [[] for _ in range(limits.modifiers)]
    sizes: list[FrameSize] = []
    gaps: list[int] = []
    for index, stream in enumerate(streams):
        if limits.switch_of and stream.pattern.to_many:
            raise UnsupportedError(
                f"not supported on a tester of several switches: stream '{stream.name}' has frames to many ports",
                hint="use a tester of one switch, or a pattern whose frames have one receiver each",
            )
        # The flows of a stream have a range of numbers, the same on all switches.
        next_cells = dict.fromkeys(switches, max(next_cells.values()))
        if stream.bad_fcs and not limits.bad_fcs:
            raise UnsupportedError(
                f"not supported on {limits.target}: stream '{stream.name}' asks for frames with a bad FCS",
                hint="leave these frames out, or use --target sim",
            )
        clock = _clock(stream, limits, rate_bps_of)
        lists = _lists_of(stream, values, limits.fields)
        if stream.sizes_in_turn_bytes and not limits.frame_sizes:
            raise UnsupportedError(
                f"not supported on {limits.target}: stream '{stream.name}' has frame sizes in turn",
                hint="give each frame size a stream of its own",
            )
        first_size = len(sizes)
        sizes += frame_sizes_of(stream)
        starts = _starts(stream, clock, limits, phases)
        transmitters = []
        for source, port in enumerate(stream.tx_ports):
            switch = limits.switch_of.get(port, 0)
            transmitters_of[switch] += 1
            next_cell = max(next_cells.values()) if numbers_differ else next_cells[switch]
            places = stream.pattern.places(stream, source)
            if stream.has_own_lists:
                places = Places(0, places.positions, places.positions)
            if source == 0 or stream.lists_differ:
                base = _list_base(stream, source, destinations, list_bases)
            counts = shared.counts and stream.pattern.to_many
            first_flow = next_number if counts else next_cell
            transmitters.append(
                Transmitter(
                    limits.first_cell(port) + transmitters_of[switch],
                    index,
                    port,
                    places.first,
                    places.positions,
                    base,
                    places.length,
                    limits.first_cell(port) + first_flow,
                    starts[source].skipped,
                    stream.frame_count,
                    lists,
                    size_turn=size_turn_of(stream, first_size, places.positions),
                )
            )
            if counts:
                listed = stream.pattern.flows(stream, source)
                measured = max(0, min(shared.flows - first_flow, len(listed)))
                blocks.append(_flows_of(stream, index, source, first_flow, shared, measured, limits))
                if stream.sizes_in_turn_bytes:
                    require(first_flow + len(listed), shared.flows, "groups with frame sizes in turn", limits)
                counted.append(CountedGroups(index, port, first_flow + measured, listed[measured:]))
                next_number += len(listed)
            else:
                blocks.append(_flows_of(stream, index, source, next_cell, shared, places.positions, limits))
                last = blocks[-1].cell[-1] - limits.first_cell(blocks[-1].rx_port[-1])
                next_cells[switch] = int(last) + 1
        plans += _groups(len(plans), index, stream, clock, transmitters, starts, len(gaps))
        gaps += clock.longer_by_ticks
    require(len(plans), limits.streams, "streams", limits)
    # Replication id 0 is that of the copy that stays in the loop.
    require(max(transmitters_of.values()), limits.transmitters - 1, "transmitters", limits)
    require(max(next_cells.values()), limits.flows, "flows", limits)
    require(len(destinations), limits.destinations, "destination places", limits)
    require(max(map(len, values)), limits.modifier_values, "values in modifier lists", limits)
    require(len(sizes), limits.frame_sizes, "frame sizes in turn", limits)
    require(len(gaps), limits.scheduled_gaps, "departures in schedules", limits)
    receivers = _receivers(streams, shared, limits)
    require(len(receivers), limits.receivers, "receivers", limits)
    columns = FlowColumns.joined(blocks)
    if limits.switch_of and not numbers_differ and len(np.unique(columns.cell)) < len(columns.cell):
        return _allocate(streams, limits, rate_bps_of, phases, numbers_differ=True)
    slots = [(slot_rate_fps(plan.clock, limits.tick_ps), plan.stream.frame_size_bytes) for plan in plans]
    plans = _with_contention(plans, rate_bps_of)
    shares = shared_loops(slots, (limits.loop, *limits.other_loops), limits.target)
    return Plan(
        tuple(replace(plan, seeds=seeds, loop=loop) for plan, (seeds, loop) in zip(plans, shares, strict=True)),
        tuple(destinations),
        receivers,
        columns,
        tuple(sorted(rate_bps_of)),
        tuple(map(tuple, values)),
        tuple(sizes),
        tuple(gaps),
        counted=tuple(item for item in counted if item.destinations),
        counted_ports=shared.ports if shared.counts else (),
    )


def _receivers(streams: Sequence[Stream], shared: SharedPorts, limits: Limits) -> tuple[Receiver, ...]:
    if not shared.counts:
        return receivers_of(streams, shared.ports, shared.flows)
    ranges = [
        (macs, limits.flows, limits.groups) if beyond else (macs, 0, shared.flows)
        for macs, beyond in shared_macs(streams, shared)
    ]
    return counting_receivers_of(streams, shared.ports, ranges)


def _flows_of(
    stream: Stream, index: int, source: int, base: int, shared: SharedPorts, measured: int, limits: Limits
) -> FlowColumns:
    port = stream.tx_ports[source]
    visited = stream.pattern.flows(stream, source)[:measured]
    numbers = np.arange(base, base + len(visited))
    parts = tuple(flow.part for flow in visited)
    if stream.pattern.to_many:
        places = np.arange(len(shared.ports))
        cells = (numbers + shared.flows * places[:, np.newaxis]).ravel()
        rx_ports = np.repeat(np.array(shared.ports, dtype=np.int64), len(visited))
        expected = np.array([rx in flow.ports and rx != port for rx in shared.ports for flow in visited], dtype=bool)
        numbers, parts = np.tile(numbers, len(places)), parts * len(places)
    else:
        rx_ports = np.array([flow.ports[0] for flow in visited], dtype=np.int64)
        expected = np.ones(len(visited), dtype=bool)
        cells = (numbers + [limits.first_cell(rx) for rx in rx_ports.tolist()]).ravel()
        numbers += limits.first_cell(port)
    return FlowColumns(cells, numbers, np.full_like(cells, index), np.full_like(cells, port), rx_ports, expected, parts)


def _with_contention(plans: Sequence[StreamPlan], rate_bps_of: dict[int, int]) -> list[StreamPlan]:
    """Tell every transmitter how long frames of the other streams of its port may hold it up."""
    wire_ps = {
        (plan.index, port): int(frame_time_ns(plan.stream.frame_size_bytes, rate_bps_of[port]) * 1000) + 1
        for plan in plans
        for port in {transmitter.port for transmitter in plan.transmitters}
    }
    busy_ps: dict[int, int] = {}
    for (_, port), duration_ps in wire_ps.items():
        busy_ps[port] = busy_ps.get(port, 0) + duration_ps
    return [
        replace(
            plan,
            transmitters=tuple(
                replace(t, contention_ps=busy_ps[t.port] - (0 if t.size_turn else wire_ps[plan.index, t.port]))
                for t in plan.transmitters
            ),
        )
        for plan in plans
    ]


def _lists_of(stream: Stream, values: Sequence[list[int]], fields: Fields) -> tuple[int, ...]:
    """Append the value lists of a stream's modifiers; return where each begins."""
    bases = []
    for modifier, kept in zip(stream.modifiers, values, strict=False):
        bases.append(len(kept))
        if isinstance(added := shifted(stream.frame, modifier, fields), ValueList):
            kept.extend(added.values)
    return tuple(bases)


def _list_base(
    stream: Stream, source: int, destinations: list[tuple[Stream, Station]], bases: dict[tuple[object, ...], int]
) -> int:
    """First entry of the destination list of a stream's transmitter; equal lists are kept once."""
    stations = destinations_of(stream, source)
    key = (type(stream.frame.network), stream.frame.destination_of_path, *stations)
    if key not in bases:
        bases[key] = len(destinations)
        destinations.extend((stream, station) for station in stations)
    return bases[key]


def _clock(stream: Stream, limits: Limits, rate_bps_of: dict[int, int]) -> DepartureClock:
    wire_slot = min(1000 * frame_time_ns(stream.frame_size_bytes, rate_bps_of[port]) for port in stream.tx_ports)
    burst = stream.burst_frames
    if stream.burst and stream.burst.rate_fps:
        wire_slot = max(wire_slot, PS_PER_S / stream.burst.rate_fps)
    if stream.pattern.frames_together > 1:
        # Departures are twice as fast as the line: whatever seed one waits for, the port has a frame to send, so that
        # a message is back to back to the last bit.
        wire_slot /= 2
    if stream.arrivals:
        if not limits.scheduled_gaps:
            raise UnsupportedError(
                f"not supported on {limits.target}: stream '{stream.name}' has arrivals that are not evenly spaced",
                hint="leave arrivals out, or use --target sim",
            )
        slots = [
            min(1000 * frame_time_ns(size, rate_bps_of[port]) for port in stream.tx_ports)
            for size in stream.frame_sizes_bytes
        ]
        if any(gcd(len(slots), positions) > 1 for positions in _positions(stream)):
            slots = [max(slots)]  # Sizes are out of step with departures, so that each destination gets all of them.
        try:
            return scheduled_clock(stream.arrivals, stream.rate_fps, stream.frame_count, limits.tick_ps, slots)
        except ValueError as error:
            raise ParameterError(
                f"stream '{stream.name}' has arrivals that the tester cannot send: {error}",
                hint="change its rate, its arrivals or their period",
            ) from None
    return departure_clock(
        stream.rate_fps, stream.frame_count, limits.tick_ps, burst_frames=burst, wire_slot_ps=wire_slot
    )


def _positions(stream: Stream) -> set[int]:
    """Destinations in turn of each transmitter."""
    return {stream.pattern.places(stream, source).positions for source in range(len(stream.tx_ports))}


@dataclass(frozen=True)
class _Start:
    """Start of a transmitter: departures left out, after a start of its clock that is this much later."""

    skipped: int
    ticks: int
    error_ticks: Fraction


def _starts(stream: Stream, clock: DepartureClock, limits: Limits, phases: int | None) -> list[_Start]:
    """Start of each transmitter; ``phases`` of a period at most, 1: whole departures, None: exact ones."""
    period, interval = clock.period_ticks, clock.frame_interval_ticks
    offsets_ns = stream.start_offset_ns or (0,) * len(stream.tx_ports)
    starts = {}
    for offset_ns in dict.fromkeys(offsets_ns):
        wanted = Fraction(offset_ns * 1000, limits.tick_ps)
        begin = wanted if phases is None else round(wanted * phases / period) * period / phases
        # Bursts and messages begin with a whole one.
        periods = int((begin + Fraction(1, 2)) / period)
        skipped, ticks = periods * clock.burst_slots, round(begin - periods * period)
        require(ticks, LONGEST_SLOT_TICKS, "ticks between the first departures of two ports", limits)
        starts[offset_ns] = _Start(skipped, ticks, abs(skipped * interval + ticks - wanted))
    return [starts[offset_ns] for offset_ns in offsets_ns]


def _groups(
    index: int,
    origin: int,
    stream: Stream,
    clock: DepartureClock,
    transmitters: Sequence[Transmitter],
    starts: Sequence[_Start],
    first_gap: int,
) -> list[StreamPlan]:
    """One clock for the transmitters of each start, numbered from ``index``."""
    plans = []
    for number, ticks in enumerate(dict.fromkeys(start.ticks for start in starts), index):
        members = [(t, start) for t, start in zip(transmitters, starts, strict=True) if start.ticks == ticks]
        plans.append(
            StreamPlan(
                number,
                stream,
                _with_more_departures(clock, max(start.skipped for _, start in members)),
                ticks + clock.first_ticks,
                0,
                tuple(transmitter for transmitter, _ in members),
                origin,
                max(start.error_ticks for _, start in members),
                first_gap,
            )
        )
    return plans


def _with_more_departures(clock: DepartureClock, skipped: int) -> DepartureClock:
    """The same clock for a transmitter that leaves out departures of whole bursts."""
    return replace(clock, departures=clock.departures + skipped // clock.burst_slots * (clock.last_slot + 1))


def require(wanted: int, available: int, what: str, limits: Limits) -> None:
    """Raise UnsupportedError when the trial needs more than the program has."""
    if wanted > available:
        raise UnsupportedError(
            f"not supported on {limits.target}: the trial needs {wanted} {what}, the program has {available}",
            hint="use fewer streams or ports (p4src/include/sizes.p4)",
        )
