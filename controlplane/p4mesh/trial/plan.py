"""From streams to cells, places and replicas: what the tables of the P4 program will hold.

Pure: no target, no I/O. Places and cells are the ones of docs/DATAPLANE.md: a transmitter is one
(stream, transmit port), a flow is one (stream, source, destination) and has one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.traffic.derived import without_phase
from p4mesh.traffic.line_rate import frame_time_ns
from p4mesh.traffic.stream import MAX_MODIFIERS, PatternKind, Stream, ValueList
from p4mesh.trial.histogram import HistogramRule, prefixes
from p4mesh.trial.pacing import DepartureClock, LoopModel, departure_clock, seed_counts, slot_rate_fps
from p4mesh.trial.stations import TO_MANY, Receiver, Station, destinations_of, receivers_of, shared_ports_of

_FLOW_BITS = 24
FIRST_STREAM_GROUP = 2
"""Multicast group of stream 0; group 1 belongs to reading passes."""


@dataclass(frozen=True)
class Flow:
    """One cell of the measurement registers."""

    cell: int
    sequence_cell: int
    """Cell that counts the frames sent; a broadcast has one for all its receivers."""
    stream: int
    tx_port: int
    rx_port: int
    expected: bool = True
    """False for the cell of a broadcast that would come back to its source."""


@dataclass(frozen=True)
class Transmitter:
    """One (stream, transmit port). ``id`` is the replication id of its copies."""

    id: int
    stream: int
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
    """How long a frame may wait for one frame of each other stream on its port."""


@dataclass(frozen=True)
class StreamPlan:
    """One stream with its clock, seeds and transmitters."""

    index: int
    stream: Stream
    clock: DepartureClock
    start_offset_ticks: int
    seeds: int
    transmitters: tuple[Transmitter, ...]

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
    flows: tuple[Flow, ...]
    ports: tuple[int, ...]
    value_lists: tuple[tuple[int, ...], ...] = ((), ())
    """Values of all lists, for the first and for the second modifier of the streams."""
    histograms: tuple[HistogramRule, ...] = ()
    """One histogram per stream."""

    @property
    def cells(self) -> int:
        """Cells that a reading pass must visit: flows, transmitters and ports."""
        transmitters = [transmitter.id for plan in self.streams for transmitter in plan.transmitters]
        return 1 + max([flow.cell for flow in self.flows] + transmitters + list(self.ports), default=0)


@dataclass(frozen=True)
class Limits:
    """Sizes of the program and properties of the target that a plan must respect."""

    streams: int
    transmitters: int
    flows: int
    destinations: int
    receivers: int
    modifier_values: int
    histogram_rules: int
    tick_ps: int
    loop: LoopModel
    target: str


def make_plan(
    streams: Sequence[Stream], limits: Limits, rate_bps_of: dict[int, int], *, histograms: bool = False
) -> Plan:
    """Allocate cells and places for ``streams``; raises when the program has no room for them."""
    streams = [without_phase(stream) if stream.pattern is PatternKind.MESH_STREAMS else stream for stream in streams]
    _require(len(streams), limits.streams, "streams", limits)
    shared_ports = shared_ports_of(streams)
    destinations: list[tuple[Stream, Station]] = []
    list_bases: dict[tuple[object, ...], int] = {}
    flows: list[Flow] = []
    plans: list[StreamPlan] = []
    values: tuple[list[int], list[int]] = ([], [])
    transmitter_id = 0
    for index, stream in enumerate(streams):
        _check(stream)
        clock = _clock(stream, limits, rate_bps_of)
        base = _list_base(stream, destinations, list_bases)
        lists = _lists_of(stream, values)
        skips = _skipped_departures(stream, clock, limits.tick_ps)
        transmitters = []
        for source, port in enumerate(stream.tx_ports):
            transmitter_id += 1
            first, positions, length = _places(stream, source)
            transmitters.append(
                Transmitter(
                    transmitter_id,
                    index,
                    port,
                    first,
                    positions,
                    base,
                    length,
                    len(flows),
                    skips[source],
                    stream.frame_count,
                    lists,
                )
            )
            flows.extend(_flows_of(stream, index, source, len(flows), shared_ports))
        if max(skips) > 0:
            clock = _with_more_departures(clock, max(skips))
        plans.append(StreamPlan(index, stream, clock, 0, 0, tuple(transmitters)))
    _require(transmitter_id, limits.transmitters - 1, "transmitters", limits)
    _require(len(flows), limits.flows, "flows", limits)
    _require(len(destinations), limits.destinations, "destination places", limits)
    _require(max(map(len, values)), limits.modifier_values, "values in modifier lists", limits)
    receivers = receivers_of(streams, shared_ports)
    _require(len(receivers), limits.receivers, "receivers", limits)
    slots = [(slot_rate_fps(plan.clock, limits.tick_ps), plan.stream.frame_size_bytes) for plan in plans]
    plans = _with_contention(plans, rate_bps_of)
    seeds = seed_counts(slots, limits.loop, limits.target)
    return Plan(
        tuple(replace(plan, seeds=count) for plan, count in zip(plans, seeds, strict=True)),
        tuple(destinations),
        receivers,
        tuple(flows),
        tuple(sorted(rate_bps_of)),
        (tuple(values[0]), tuple(values[1])),
        _histograms(plans, flows, limits) if histograms else (),
    )


def _histograms(plans: Sequence[StreamPlan], flows: Sequence[Flow], limits: Limits) -> tuple[HistogramRule, ...]:
    """Return rules that count the frames of each stream in the histogram of its number."""
    rules = []
    for plan in plans:
        cells = [flow.cell for flow in flows if flow.stream == plan.index]
        # A broadcast carries the first of its cells as flow number; they are in the same range.
        covered = prefixes(cells[0], len(cells), _FLOW_BITS)
        ports = sorted({flow.rx_port for flow in flows if flow.stream == plan.index})
        rules += [HistogramRule(plan.index, port, flow, mask) for port in ports for flow, mask in covered]
    _require(len(rules), limits.histogram_rules, "histogram rules", limits)
    return tuple(rules)


def _places(stream: Stream, source: int) -> tuple[int, int, int]:
    """Return (first place, number of positions, list length) of the source-th transmitter.

    The program visits place = (first + k mod positions), minus the length when it is reached.
    """
    count = len(stream.rx_ports)
    if stream.pattern is PatternKind.FULL_MESH:
        return source + 1, count - 1, count
    if stream.pattern is PatternKind.ROTATE:
        return source % count, count, count
    if stream.pattern is PatternKind.IN_PHASE:
        return 0, count, count
    if stream.pattern is PatternKind.PAIRS:
        return source, 1, count
    return 0, 1, 1


def _flows_of(stream: Stream, index: int, source: int, base: int, shared_ports: tuple[int, ...]) -> list[Flow]:
    port = stream.tx_ports[source]
    if stream.pattern in TO_MANY:
        expected = set(stream.rx_ports) - {port}
        return [Flow(base + place, base, index, port, rx, rx in expected) for place, rx in enumerate(shared_ports)]
    first, positions, length = _places(stream, source)
    return [
        Flow(base + place, base + place, index, port, stream.rx_ports[(first + place) % length])
        for place in range(positions)
    ]


def _with_contention(plans: Sequence[StreamPlan], rate_bps_of: dict[int, int]) -> list[StreamPlan]:
    """Tell every transmitter how long frames of the other streams of its port may hold it up."""
    wire_ps = {
        (plan.index, port): int(frame_time_ns(plan.stream.frame_size_bytes, rate_bps_of[port]) * 1000) + 1
        for plan in plans
        for port in plan.stream.tx_ports
    }
    busy_ps: dict[int, int] = {}
    for (_, port), duration_ps in wire_ps.items():
        busy_ps[port] = busy_ps.get(port, 0) + duration_ps
    return [
        replace(
            plan,
            transmitters=tuple(
                replace(t, contention_ps=busy_ps[t.port] - wire_ps[plan.index, t.port]) for t in plan.transmitters
            ),
        )
        for plan in plans
    ]


def _lists_of(stream: Stream, values: tuple[list[int], list[int]]) -> tuple[int, ...]:
    """Append the value lists of a stream's modifiers; return where each begins."""
    bases = []
    for modifier, kept in zip(stream.modifiers, values, strict=False):
        bases.append(len(kept))
        if isinstance(modifier.values, ValueList):
            kept.extend(modifier.values.values)
    return tuple(bases)


def _list_base(stream: Stream, destinations: list[tuple[Stream, Station]], bases: dict[tuple[object, ...], int]) -> int:
    """Return where the stream's destination list begins; equal lists are kept once."""
    stations = destinations_of(stream)
    key = (stream.template.ip_version, *stations)
    if key not in bases:
        bases[key] = len(destinations)
        destinations.extend((stream, station) for station in stations)
    return bases[key]


def _clock(stream: Stream, limits: Limits, rate_bps_of: dict[int, int]) -> DepartureClock:
    wire_slot = min(1000 * frame_time_ns(stream.frame_size_bytes, rate_bps_of[port]) for port in stream.tx_ports)
    burst = stream.burst.frames if stream.burst else 1
    return departure_clock(
        stream.rate_fps, stream.frame_count, limits.tick_ps, burst_frames=burst, wire_slot_ps=wire_slot
    )


def _skipped_departures(stream: Stream, clock: DepartureClock, tick_ps: int) -> list[int]:
    """Return how many departures each transmitter leaves out before its first frame."""
    if not stream.start_offset_ns:
        return [0] * len(stream.tx_ports)
    interval_ps = clock.frame_interval_ticks * tick_ps
    return [round(Fraction(offset * 1000) / interval_ps) for offset in stream.start_offset_ns]


def _with_more_departures(clock: DepartureClock, skipped: int) -> DepartureClock:
    periods, rest = divmod(skipped, clock.burst_slots)
    extra = periods * (clock.last_slot + 1) + rest
    return DepartureClock(
        clock.interval_ticks, clock.interval_fraction_q32, clock.departures + extra, clock.last_slot, clock.burst_slots
    )


def _check(stream: Stream) -> None:
    if stream.frame_count < 1:
        raise ParameterError(
            f"stream '{stream.name}': no frame fits into the trial at {float(stream.rate_fps):.3g} frames/s",
            hint="lengthen the trial or raise the rate",
        )
    if stream.pattern is PatternKind.FULL_MESH and (stream.tx_ports != stream.rx_ports or len(stream.tx_ports) < 2):
        raise ParameterError(
            f"stream '{stream.name}': a full mesh needs two or more ports, the same to transmit and to receive",
            hint="use the pattern rotate for partial meshes",
        )
    if not stream.tx_ports or not stream.rx_ports:
        raise ParameterError(f"stream '{stream.name}' has no port", hint="name transmit and receive ports")
    if len(stream.modifiers) > MAX_MODIFIERS:
        raise ParameterError(
            f"stream '{stream.name}' has {len(stream.modifiers)} field modifiers", hint=f"use at most {MAX_MODIFIERS}"
        )
    if (stream.source_mac and len(stream.tx_ports) > 1) or (stream.destination_mac and len(stream.rx_ports) > 1):
        raise ParameterError(
            f"stream '{stream.name}' gives one address to several ports",
            hint="source_mac needs one transmit port, destination_mac one receive port",
        )
    if stream.pattern is PatternKind.PAIRS and len(stream.tx_ports) != len(stream.rx_ports):
        raise ParameterError(
            f"stream '{stream.name}': {len(stream.tx_ports)} transmit and {len(stream.rx_ports)} receive ports "
            "are no pairs",
            hint="name equally many ports",
        )


def _require(wanted: int, available: int, what: str, limits: Limits) -> None:
    if wanted > available:
        raise UnsupportedError(
            f"not supported on {limits.target}: the trial needs {wanted} {what}, the program has {available}",
            hint="use fewer streams or ports (p4src/include/sizes.p4)",
        )
