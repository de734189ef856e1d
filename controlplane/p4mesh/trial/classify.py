"""From a reading to a TrialResult: classification, conservation checks, derived statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np

from p4mesh.target.base import Pauses
from p4mesh.tester.flows import FlowColumns
from p4mesh.tester.plan import Plan, Transmitter
from p4mesh.tester.reading import Reading
from p4mesh.tester.records import ALL_ONES, STOPPING_COUNTS, chosen_records
from p4mesh.traffic.line_rate import NS_PER_S, PS_PER_S
from p4mesh.trial.columns import Array, Groups, from_columns
from p4mesh.trial.counted_groups import group_frames
from p4mesh.trial.departure_correction import corrected
from p4mesh.trial.latency_stats import histogram_stats, latency_of_all, latency_of_groups
from p4mesh.trial.message_stats import message_counts, message_distrust
from p4mesh.trial.queue_trend import Readings, queue_trend
from p4mesh.trial.result import (
    FlowCounts,
    Outage,
    PortCounts,
    QueueTrend,
    Status,
    StrayCounts,
    StreamPacing,
    TrialResult,
)
from p4mesh.trial.spec import TrialSpec

_RATE_TOLERANCE = 1e-4
"""Relative difference of intended and offered load that makes a trial INVALID (methodology 0.1)."""
_READ_TICKS = 2
"""Largest error of a difference of two time stamps."""
_WORD_BYTES = 4
_NEVER_TICKS = 1 << 62
"""Arrival of the first frame where none has come; later than all others."""


@dataclass(frozen=True)
class Observed:
    """Observations of a trial: the last reading of its streams, and events before it."""

    reading: Reading
    last_before: Mapping[int, int] = field(default_factory=dict)
    """Per flow cell, the departure in ticks of the last frame that arrived before an outage."""
    link_losses: Mapping[int, int] = field(default_factory=dict)
    """Number of times that the link of each port went down."""
    queues: Readings | None = None
    """Readings while the streams ran; None where there were no readings."""
    pauses: Pauses = field(default_factory=Pauses)
    """Of the departures."""


def classify(
    spec: TrialSpec,
    plan: Plan,
    observed: Observed,
    tick_ps: int,
    *,
    lateness_ns: int = 0,
    aborted: str = "",
    pacing: tuple[StreamPacing, ...] = (),
) -> TrialResult:
    """Return the result of a trial; ``aborted`` is the reason why its streams were ended early.

    ``lateness_ns`` is how late a departure may be (one round of the loop); it bounds the accuracy
    of the offered load that a short trial can show.
    """
    intended = sum(t.frames for stream in plan.streams for t in stream.transmitters)
    reading = observed.reading
    records = reading.records
    flows = _flow_arrays(plan, reading)
    tx_ports = {port: reading.counted(port, "transmitted") for port in plan.ports}
    expected = flows.expected
    unique = int(flows.unique[expected].sum())
    duplicates = int(flows.duplicates[expected].sum())
    back_at_source = int((flows.unique + flows.duplicates)[~expected].sum())
    expected_rx = int(flows.sent[expected].sum())
    tx_frames = sum(tx_ports.values())
    missing = _missing(plan, records)
    broken = missing or _distrust(spec, plan, reading, flows, tx_frames, intended)
    mismatch = "" if broken else _load_mismatch(plan, records, tick_ps, lateness_ns)
    mismatch = mismatch or ("" if broken else _late_loss(plan, observed.pauses, expected_rx - unique, expected_rx))
    reason = aborted or broken or mismatch
    first, last = _departures(plan, records)
    start_skew, start_spread = _start_differences(spec, plan, records)
    window = _window(spec, plan, records, tick_ps)
    result = TrialResult(
        status=Status.ABORT if aborted else Status.INVALID if reason else Status.VALID,
        reason=reason,
        label=spec.label,
        duration_ns=spec.duration_ns,
        intended_frames=intended,
        tx_frames=tx_frames,
        expected_rx_frames=expected_rx,
        rx_frames=unique + duplicates,
        lost_frames=expected_rx - unique,
        duplicate_frames=duplicates,
        reordered_frames=int(flows.reordered[expected].sum()),
        flooded_frames=reading.received("flooded") + back_at_source,
        foreign_frames=reading.received("foreign"),
        stale_frames=reading.received("stale"),
        damaged_frames=reading.received("damaged"),
        first_tx_ns=first * tick_ps // 1000,
        last_tx_ns=last * tick_ps // 1000,
        ports=_port_counts(plan, tx_ports, observed, flows, tick_ps, window),
        latency=latency_of_all(plan, records, reading.bins, tick_ps),
        flows=_flow_counts(plan, reading, flows, tick_ps) if spec.per_flow else (),
        start_skew_ns=start_skew * tick_ps // 1000,
        start_spread_ns=start_spread * tick_ps // 1000,
        oload_error_ppm=_load_error_ppm(plan, records),
        pacing=pacing,
        histograms=histogram_stats(plan, records, reading.bins, tick_ps),
        outages=_outages(plan, observed, flows, first, tick_ps) if spec.interruption else (),
        misdirected_frames=reading.received("misdirected"),
        silent_flows=int((flows.unique[expected & (flows.sent > 0)] == 0).sum()) if spec.memberships else 0,
        undelivered=not aborted and bool(missing or mismatch),
        strays=_strays(plan, reading, flows),
        messages=message_counts(plan, reading, tick_ps),
        queues=_queues(spec, plan, observed, tick_ps) if spec.watch_queues and not aborted else None,
    )
    return corrected(result, plan, records, reading.stamps)


def _strays(plan: Plan, reading: Reading, flows: _Flows) -> tuple[StrayCounts, ...]:
    """Return the frames of each stream that went astray; frames to many that came back to their source are flooded."""
    if reading.strays is None:
        return ()
    numbers: dict[int, set[int]] = {}
    back: dict[int, int] = {}
    received = (flows.unique + flows.duplicates).tolist()
    for row, flow in enumerate(plan.flows):
        numbers.setdefault(flow.stream, set()).add(flow.sequence_cell)
        if not flow.expected:
            back[flow.stream] = back.get(flow.stream, 0) + received[row]
    flooded, misdirected = reading.strays
    return tuple(
        StrayCounts(
            plan.names[stream],
            int(flooded[sorted(cells)].sum()) + back.get(stream, 0),
            int(misdirected[sorted(cells)].sum()),
        )
        for stream, cells in numbers.items()
    )


def addresses_reached(plan: Plan, reading: Reading) -> set[int]:
    """Return the ports that own the destinations of which at least one frame arrived there."""
    flows = _flow_arrays(plan, reading)
    return {int(port) for port in flows.rx_port[flows.expected & (flows.unique > 0)]}


@dataclass(frozen=True)
class _Flows:
    """Columns over the flows of a plan, in the plan's order."""

    cells: Array
    """Of those that have one: the first ones. The others are counted alone, and have no duplicates and no order."""
    rx_port: Array
    expected: Array
    sent: Array
    unique: Array
    duplicates: Array
    reordered: Array


def _flow_arrays(plan: Plan, reading: Reading) -> _Flows:
    """Return the flows with cells, and behind them those that are counted alone."""
    records = reading.records
    columns = plan.columns
    cells = columns.cell
    measured = _Flows(
        cells,
        columns.rx_port,
        columns.expected,
        records["flow_sequence"][columns.sequence_cell].astype(np.int64),
        records["frames"][cells].astype(np.int64),
        records["duplicates"][cells].astype(np.int64),
        records["reordered"][cells].astype(np.int64),
    )
    counted = list(group_frames(plan, reading))
    if not counted:
        return measured
    nothing = [np.zeros(group.sent.size, dtype=np.int64) for group in counted]
    return _Flows(
        cells,
        np.concatenate([measured.rx_port, *(np.repeat(group.ports, group.sent.shape[1]) for group in counted)]),
        np.concatenate([measured.expected, *(group.expected.ravel() for group in counted)]),
        np.concatenate([measured.sent, *(group.sent.ravel() for group in counted)]),
        np.concatenate([measured.unique, *(group.received.ravel() for group in counted)]),
        np.concatenate([measured.duplicates, *nothing]),
        np.concatenate([measured.reordered, *nothing]),
    )


def _missing(plan: Plan, records: Array) -> str:
    """Return which port did not send all of its frames, or an empty text."""
    for stream in plan.streams:
        for transmitter in stream.transmitters:
            cells = slice(transmitter.flow_base, transmitter.flow_base + transmitter.positions)
            sent = int(records["flow_sequence"][cells].sum())
            if sent != transmitter.frames:
                return f"tester under-delivered: port {transmitter.port} sent {sent} of {transmitter.frames} frames"
    return ""


def _distrust(spec: TrialSpec, plan: Plan, reading: Reading, flows: _Flows, tx_frames: int, intended: int) -> str:
    """Return why the counts cannot be trusted, or an empty text (invariant 6 of the design)."""
    records = reading.records
    if tx_frames != intended:
        return f"transmit counters show {tx_frames} frames, the flows {intended}"
    counted = reading.received("expected")
    measured = int((flows.unique + flows.duplicates).sum())
    if counted != measured:
        return f"receive counters show {counted} expected frames, the flows {measured}"
    if (flows.unique[flows.expected] > flows.sent[flows.expected]).any():
        return "a flow has received more frames than were sent"
    for name in STOPPING_COUNTS:
        if records.dtype[name].itemsize == _WORD_BYTES and (records[name][flows.cells] == ALL_ONES).any():
            return f"a flow has {ALL_ONES} or more frames counted in {name}"
    for port, mac in reading.macs.items():
        wanted = sum(t.frames for s in plan.streams if s.stream.bad_fcs for t in s.transmitters if t.port == port)
        if mac.bad_fcs_sent != wanted:
            return f"port {port} sent {mac.bad_fcs_sent} frames with a bad FCS instead of {wanted}"
    for reason in ("unknown_flow", "no_destination", "unknown_transmitter"):
        if reading.received(reason):
            return f"{reading.received(reason)} frames were dropped by the tester: {reason}"
    return message_distrust(plan, reading)


def _spans(plan: Plan, records: Array) -> Iterator[tuple[Transmitter, float, int]]:
    """Yield, per transmitter, the time from the first to the last departure in ticks: intended and as it was."""
    for stream in plan.streams:
        ideal = float(stream.clock.frame_interval_ticks)
        for transmitter in stream.transmitters:
            if transmitter.frames < 2:
                continue
            span = int(records["last_departure"][transmitter.id]) - int(records["first_departure"][transmitter.id])
            wanted = (transmitter.frames - 1) * ideal
            if stream.stream.burst:
                # The last burst may be cut short anywhere; only whole periods count.
                wanted = span if abs(span - wanted) < ideal * stream.stream.burst.frames else wanted
            yield transmitter, wanted, span


def _load_error_ppm(plan: Plan, records: Array) -> float:
    errors = (1_000_000 * (wanted / span - 1) for _, wanted, span in _spans(plan, records) if span > 0)
    return max(errors, key=abs, default=0.0)


def _load_mismatch(plan: Plan, records: Array, tick_ps: int, lateness_ns: int) -> str:
    for transmitter, wanted, span in _spans(plan, records):
        # Oload / Iload is wanted / span, so what the rule allows is a share of the span.
        allowed = max(_RATE_TOLERANCE * span, (lateness_ns * 1000 + transmitter.contention_ps) / tick_ps)
        tolerance = allowed + _READ_TICKS
        if abs(span - wanted) > tolerance:
            offered = 100 * wanted / span if span else 0.0
            return (
                f"oload_mismatch: offered load is {offered:.4f} % of the intended load on port {transmitter.port} "
                f"(tolerance {100 * tolerance / wanted:.4f} %)"
            )
    return ""


def _late_loss(plan: Plan, pauses: Pauses, lost: int, expected: int) -> str:
    """Return why losses may be the tester's, or an empty text.

    What is due while the tester has no processor leaves at once afterwards, closer together than the load asks for. A
    device may lose as many frames by that as left late; more than these it has lost by itself.
    """
    if lost <= 0 or not pauses.late_ns:
        return ""
    frames = sum(transmitter.frames for stream in plan.streams for transmitter in stream.transmitters)
    rate_fps = sum(stream.stream.rate_fps * len(stream.transmitters) for stream in plan.streams)
    late = min(frames, int(rate_fps * pauses.late_ns / NS_PER_S) + 1)
    if lost * frames > late * expected:
        return ""
    return (
        f"late departures: the tester stood still for up to {pauses.longest_ns / 1e6:.1f} ms; about {late} frames left "
        f"late and too close together, which may be why {lost} were lost"
    )


def _queues(spec: TrialSpec, plan: Plan, observed: Observed, tick_ps: int) -> QueueTrend | None:
    duration_ticks = spec.duration_ns * 1000 / tick_ps
    limit = spec.excess_limit_ppm / 1_000_000
    last = observed.reading.records
    return queue_trend(plan, observed.queues, last, duration_ticks=duration_ticks, tick_ps=tick_ps, limit=limit)


def _departures(plan: Plan, records: Array) -> tuple[int, int]:
    ids = [transmitter.id for stream in plan.streams for transmitter in stream.transmitters]
    sent = [identifier for identifier in ids if records["departures"][identifier]]
    if not sent:
        return 0, 0
    return int(records["first_departure"][sent].min()), int(records["last_departure"][sent].max())


def _start_differences(spec: TrialSpec, plan: Plan, records: Array) -> tuple[int, int]:
    """Return the largest difference of the starts of two ports of a stream: not asked for, and asked for."""
    skew = spread = 0
    for number in plan.names:
        ids = [t.id for stream in plan.streams if stream.origin == number for t in stream.transmitters]
        first = records["first_departure"][ids]
        difference = int(first.max()) - int(first.min())
        asked = spec.streams[number]
        if any(asked.start_offset_ns) or not asked.pattern.in_step:
            spread = max(spread, difference)
        else:
            skew = max(skew, difference)
    return skew, spread


@dataclass(frozen=True)
class _Window:
    """How long the streams of a trial send, in ticks."""

    transmission: Fraction
    """``count / rate`` of the stream that takes longest."""
    starts: int
    """Between the first departures of the first and of the last transmitter."""

    def late_frames(self, frames: int, first: int, last: int) -> int:
        """Return how many frames, spread evenly over their arrivals, came after the time of transmission was over."""
        if last - first <= self.transmission + self.starts + _READ_TICKS:
            return 0
        return frames - int(self.transmission * (frames - 1) / (last - first))


def _window(spec: TrialSpec, plan: Plan, records: Array, tick_ps: int) -> _Window:
    longest_s = max((Fraction(stream.frame_count) / stream.rate_fps for stream in spec.streams), default=Fraction(0))
    ids = [transmitter.id for stream in plan.streams for transmitter in stream.transmitters]
    starts = records["first_departure"][[number for number in ids if records["departures"][number]]]
    return _Window(longest_s * PS_PER_S / tick_ps, int(starts.max()) - int(starts.min()) if len(starts) else 0)


def _port_counts(
    plan: Plan, tx_frames: Mapping[int, int], observed: Observed, flows: _Flows, tick_ps: int, window: _Window
) -> tuple[PortCounts, ...]:
    reading = observed.reading
    back_at_source, late_frames = _back_at_source(flows), _late_frames(flows, reading.records, window)

    def counts(port: int) -> PortCounts:
        spacing_inverted = int(reading.records["spacing_min_inverted"][port])
        mac = reading.macs.get(port)
        return PortCounts(
            port=port,
            tx_frames=tx_frames[port],
            rx_frames=reading.counted(port, "expected") - back_at_source.get(port, 0),
            flooded_frames=reading.counted(port, "flooded") + back_at_source.get(port, 0),
            misdirected_frames=reading.counted(port, "misdirected"),
            foreign_frames=reading.counted(port, "foreign"),
            stale_frames=reading.counted(port, "stale"),
            damaged_frames=reading.counted(port, "damaged"),
            # A MAC that counts them need not hand them to the program.
            pause_frames=max(reading.counted(port, "pause"), (mac.pause_received or 0) if mac else 0),
            bad_fcs_frames=mac.bad_fcs_received if mac else None,
            runt_frames=mac.runts_received if mac else None,
            link_losses=observed.link_losses.get(port, 0),
            min_spacing_ns=(ALL_ONES - spacing_inverted) * tick_ps / 1000 if spacing_inverted else None,
            late_frames=late_frames.get(port, 0),
            controller_tx_ns=_controller_tx_ns(reading, port, tick_ps),
        )

    return tuple(map(counts, plan.ports))


def _back_at_source(flows: _Flows) -> dict[int, int]:
    """Return the frames to many, by receive port, that came where they were not expected."""
    rows = np.flatnonzero(~flows.expected)
    ports, groups = _by_port(flows, rows)
    return dict(zip(ports, groups.totals((flows.unique + flows.duplicates)[rows[groups.rows]]).tolist(), strict=True))


def _late_frames(flows: _Flows, records: Array, window: _Window) -> dict[int, int]:
    """Return the late frames by receive port. Flows that are counted alone have no times."""
    timed = len(flows.cells)
    rows = np.flatnonzero((flows.expected & (flows.unique > 0))[:timed])
    ports, groups = _by_port(flows, rows)
    rows = rows[groups.rows]
    cells = flows.cells[rows]
    columns = (
        groups.totals(flows.unique[rows]),
        groups.smallest(records["first_arrival"][cells]),
        groups.largest(records["last_arrival"][cells]),
    )
    found = zip(*map(np.ndarray.tolist, columns), strict=True)
    return {port: window.late_frames(*times) for port, times in zip(ports, found, strict=True)}


def _by_port(flows: _Flows, rows: Array) -> tuple[list[int], Groups]:
    """Return the receive ports of some flows in their order, and these flows in groups by port."""
    ports, numbers = np.unique(flows.rx_port[rows], return_inverse=True)
    return ports.tolist(), Groups.of_numbers(numbers)


def _controller_tx_ns(reading: Reading, port: int, tick_ps: int) -> int | None:
    if "controller_departure" not in (reading.records.dtype.names or ()):
        return None
    ticks = int(reading.records["controller_departure"][port])
    return ticks * tick_ps // 1000 if ticks else None


def _tail_lost(sent: Any, next_sequence: Any) -> Any:
    """Return the frames sent behind the last one received; sequence numbers are those of 32 bits."""
    return (sent - next_sequence.astype(np.int64)) % (1 << 32)


def _ns(ticks: Array, tick_ps: int) -> Array:
    """Return whole nanoseconds. The product of a time and its tick may be too large for numbers of the machine."""
    whole, rest = np.divmod(ticks, 1000)
    found: Array = whole * tick_ps + rest * tick_ps // 1000
    return found


def _flow_counts(plan: Plan, reading: Reading, flows: _Flows, tick_ps: int) -> tuple[FlowCounts, ...]:
    expected = np.flatnonzero(plan.columns.expected)
    firsts, numbers = _in_order_of_appearance(_flow_keys(plan.columns)[expected])
    groups = Groups.of_numbers(numbers)
    rows, firsts = expected[groups.rows], expected[firsts]
    records, names = chosen_records(reading.records, flows.cells[rows]), plan.names
    streams, tx_ports = plan.columns.stream[firsts], plan.columns.tx_port[firsts]
    arrived = records["first_arrival"].astype(np.int64)
    arrived[arrived == 0] = _NEVER_TICKS
    gap_ticks = groups.largest(records["last_gap_time"])
    gaps = zip(gap_ticks.tolist(), _ns(gap_ticks, tick_ps).tolist(), strict=True)

    def total(column: Array) -> Array:
        return groups.totals(column[rows])

    columns: dict[str, Sequence[Any] | Array] = {
        "stream": [names[stream] for stream in streams.tolist()],
        "tx_port": tx_ports,
        "rx_port": plan.columns.rx_port[firsts],
        "tx_frames": total(flows.sent),
        "rx_frames": total(flows.unique + flows.duplicates),
        "duplicate_frames": total(flows.duplicates),
        "reordered_frames": total(flows.reordered),
        "latency": latency_of_groups(records, groups, tick_ps),
        "first_rx_ns": _ns(groups.smallest(arrived) % _NEVER_TICKS, tick_ps),
        "last_rx_ns": _ns(groups.largest(records["last_arrival"]), tick_ps),
        "first_tx_ns": _ns(_first_departures(plan, reading.records)[streams, tx_ports], tick_ps),
        "last_gap_tx_ns": [time_ns if ticks else None for ticks, time_ns in gaps],
        "tail_lost_frames": groups.totals(_tail_lost(flows.sent[rows], records["next_sequence"])),
        "part": list(map(plan.columns.part.__getitem__, firsts.tolist())),
    }
    of_many_sizes = {found.origin for found in plan.streams if found.stream.sizes_in_turn_bytes}
    if of_many_sizes:
        totals = zip(groups.totals(records["bytes"]).tolist(), streams.tolist(), strict=True)
        columns["rx_bytes"] = [octets if stream in of_many_sizes else None for octets, stream in totals]
    if reading.strays is not None:
        flooded, misdirected = _strays_of_flows(plan.columns, reading.strays)
        columns |= {"flooded_frames": total(flooded), "misdirected_frames": total(misdirected)}
    return tuple(from_columns(FlowCounts, columns))


def _flow_keys(columns: FlowColumns) -> Array:
    """Return a number for each flow; it is the same for flows of one stream, pair of ports and part."""
    names = dict(zip(dict.fromkeys(columns.part), count(), strict=False))
    parts = np.fromiter(map(names.__getitem__, columns.part), dtype=np.int64, count=len(columns.part))
    places = columns.stream, columns.tx_port, columns.rx_port, parts
    found: Array = np.ravel_multi_index(places, [1 + int(column.max(initial=0)) for column in places])
    return found


def _in_order_of_appearance(keys: Array) -> tuple[Array, Array]:
    """Return where each key is for the first time, and for each row the number of its key in this order."""
    _, firsts, numbers = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return firsts[order], ranks[numbers]


def _first_departures(plan: Plan, records: Array) -> Array:
    """Return the first departures in ticks by stream and transmit port."""
    transmitters = [transmitter for stream in plan.streams for transmitter in stream.transmitters]
    places = [item.stream for item in transmitters], [item.port for item in transmitters]
    found = np.zeros([1 + max(numbers, default=0) for numbers in places], dtype=np.int64)
    found[places] = records["first_departure"][[item.id for item in transmitters]]
    return found


def _strays_of_flows(columns: FlowColumns, strays: Array) -> tuple[Array, Array]:
    """Return flooded and misdirected frames by row of the plan; frames to many have one number for all receivers."""
    numbers = columns.sequence_cell
    own = np.bincount(numbers)[numbers] == 1
    flooded, misdirected = strays[:, numbers] * own
    return flooded, misdirected


def _outages(plan: Plan, observed: Observed, flows: _Flows, origin: int, tick_ps: int) -> tuple[Outage, ...]:
    def since_first_ns(ticks: int | None) -> int | None:
        return (ticks - origin) * tick_ps // 1000 if ticks else None

    names, records = plan.names, observed.reading.records
    return tuple(
        Outage(
            stream=names[flow.stream],
            tx_port=flow.tx_port,
            rx_port=flow.rx_port,
            tx_frames=int(flows.sent[row]),
            lost_frames=int(flows.sent[row] - flows.unique[row]),
            tail_lost_frames=int(_tail_lost(flows.sent[row], records["next_sequence"][flow.cell])),
            last_before_ns=since_first_ns(observed.last_before.get(flow.cell)),
            first_after_ns=since_first_ns(int(records["last_gap_time"][flow.cell])),
        )
        for row, flow in enumerate(plan.flows)
        if flow.expected
    )
