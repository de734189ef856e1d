"""Counts, latency and times of each flow, and frames of each stream that went astray."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from p4mesh.measurement.columns import Array, Groups, from_columns
from p4mesh.measurement.counts import FlowCounts, StrayCounts
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.measurement.latency_stats import latency_of_groups, sent_bytes_of
from p4mesh.tester.flows import FlowColumns
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading
from p4mesh.tester.records import chosen_records

_NEVER_TICKS = 1 << 62
"""Arrival of the first frame where none has come; later than all others."""


def flow_counts(plan: Plan, reading: Reading, flows: FlowArrays, tick_ps: int) -> tuple[FlowCounts, ...]:
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
        "doubtful_frames": total(flows.doubtful),
        "latency": (latencies := latency_of_groups(records, groups, tick_ps, sent_bytes_of(plan)[flows.cells[rows]])),
        "first_rx_ns": _ns(groups.smallest(arrived) % _NEVER_TICKS, tick_ps),
        "last_rx_ns": _ns(groups.largest(records["last_arrival"]), tick_ps),
        "first_tx_ns": _ns(_first_departures(plan, reading.records)[streams, tx_ports], tick_ps),
        "last_gap_tx_ns": [time_ns if ticks else None for ticks, time_ns in gaps],
        "tail_lost_frames": groups.totals(tail_lost(flows.sent[rows], records["next_sequence"])),
        "part": list(map(plan.columns.part.__getitem__, firsts.tolist())),
    }
    of_many_sizes = {found.origin for found in plan.streams if found.stream.sizes_in_turn_bytes}
    changed = [latency is not None and latency.added_bytes != 0 for latency in latencies]
    if of_many_sizes or any(changed):
        totals = zip(groups.totals(records["bytes"]).tolist(), streams.tolist(), changed, strict=True)
        columns["rx_bytes"] = [octets if other or stream in of_many_sizes else None for octets, stream, other in totals]
    if reading.strays is not None:
        flooded, misdirected = _strays_of_flows(plan.columns, reading.strays)
        columns |= {"flooded_frames": total(flooded), "misdirected_frames": total(misdirected)}
    return tuple(from_columns(FlowCounts, columns))


def tail_lost(sent: Any, next_sequence: Any) -> Any:
    """Frames sent behind the last one received; sequence numbers have 32 bits."""
    return (sent - next_sequence.astype(np.int64)) % (1 << 32)


def _ns(ticks: Array, tick_ps: int) -> Array:
    """Whole nanoseconds. The product of a time and its tick may be too large for 64 bits."""
    whole, rest = np.divmod(ticks, 1000)
    found: Array = whole * tick_ps + rest * tick_ps // 1000
    return found


def _flow_keys(columns: FlowColumns) -> Array:
    """Number for each flow; it is the same for flows of one stream, pair of ports and part."""
    names = dict(zip(dict.fromkeys(columns.part), count(), strict=False))
    parts = np.fromiter(map(names.__getitem__, columns.part), dtype=np.int64, count=len(columns.part))
    places = columns.stream, columns.tx_port, columns.rx_port, parts
    found: Array = np.ravel_multi_index(places, [1 + int(column.max(initial=0)) for column in places])
    return found


def _in_order_of_appearance(keys: Array) -> tuple[Array, Array]:
    """Row in which each key is for the first time, and for each row the number of its key in this order."""
    _, firsts, numbers = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return firsts[order], ranks[numbers]


def _first_departures(plan: Plan, records: Array) -> Array:
    """First departures in ticks by stream and transmit port."""
    transmitters = [transmitter for stream in plan.streams for transmitter in stream.transmitters]
    places = [item.stream for item in transmitters], [item.port for item in transmitters]
    found = np.zeros([1 + max(numbers, default=0) for numbers in places], dtype=np.int64)
    found[places] = records["first_departure"][[item.id for item in transmitters]]
    return found


def _strays_of_flows(columns: FlowColumns, strays: Array) -> tuple[Array, Array]:
    """Flooded and misdirected frames by row of the plan; 0 for frames to many, as receivers share one number."""
    numbers = columns.sequence_cell
    own = np.bincount(numbers)[numbers] == 1
    flooded, misdirected = strays[:, numbers] * own
    return flooded, misdirected


def stray_counts(plan: Plan, reading: Reading, flows: FlowArrays) -> tuple[StrayCounts, ...]:
    """Frames of each stream that went astray; frames to many that came back to their source are flooded."""
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
