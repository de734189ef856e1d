"""Test frames of each port of a plan."""

from __future__ import annotations

import numpy as np

from p4mesh.measurement.columns import Array, Groups
from p4mesh.measurement.counts import PortCounts
from p4mesh.measurement.departures import Window
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.tester.plan import Plan
from p4mesh.tester.reading import Reading
from p4mesh.tester.records import ALL_ONES

_OF_JITTER = 8
"""Largest difference of latencies in differences of neighbouring frames, of which jitter has 3 to 10."""
_LEAST_FRAMES = 8
"""Frames of a flow whose least latency is that of its way."""
_AT_FIRST = 25
"""Such a flow begins in this part of the arrivals."""
_SEVERAL = 4
"""Frames due of a flow that a queue would have held back."""


def port_counts(
    plan: Plan, reading: Reading, flows: FlowArrays, tick_ps: int, sending: Window
) -> tuple[PortCounts, ...]:
    back_at_source, late = _back_at_source(flows), _late_frames(flows, reading.records, sending)

    def counts(port: int) -> PortCounts:
        spacing_inverted = int(reading.records["spacing_min_inverted"][port])
        mac, frames = reading.macs.get(port), reading.of_ports[port]
        return PortCounts(
            port=port,
            tx_frames=frames["transmitted"],
            rx_frames=frames["expected"] - back_at_source.get(port, 0),
            flooded_frames=frames["flooded"] + back_at_source.get(port, 0),
            misdirected_frames=frames["misdirected"],
            foreign_frames=frames["foreign"],
            stale_frames=frames["stale"],
            damaged_frames=0 if reading.check_covers_payload else frames["damaged"],
            # A MAC that counts them need not hand them to the program.
            pause_frames=max(frames["pause"], (mac.pause_received or 0) if mac else 0),
            bad_fcs_frames=mac.bad_fcs_received if mac else None,
            runt_frames=mac.runts_received if mac else None,
            corrupted_frames=_corrupted(reading, port),
            min_spacing_ns=(ALL_ONES - spacing_inverted) * tick_ps / 1000 if spacing_inverted else None,
            late_frames=late.get(port, (0, 0))[0],
            queued_frames=late.get(port, (0, 0))[1],
            controller_tx_ns=_controller_tx_ns(reading, port, tick_ps),
        )

    return tuple(map(counts, plan.ports))


def _corrupted(reading: Reading, port: int) -> int:
    """Frames with another payload than was sent, which the program has found or the port has discarded."""
    found = reading.of_ports[port]["damaged"] if reading.check_covers_payload else 0
    mac = reading.macs.get(port)
    return found + ((mac.corrupted_received or 0) if mac else 0)


def _back_at_source(flows: FlowArrays) -> dict[int, int]:
    """Frames to many, by receive port, that came where they were not expected."""
    rows = np.flatnonzero(~flows.expected)
    ports, groups = _by_port(flows, rows)
    return dict(zip(ports, groups.totals((flows.unique + flows.duplicates)[rows[groups.rows]]).tolist(), strict=True))


def _late_frames(flows: FlowArrays, records: Array, sending: Window) -> dict[int, tuple[int, int]]:
    """Late frames by receive port: all, and those that only a queue can have held back.

    Flows that are counted alone have no times.
    """
    timed = len(flows.cells)
    rows = np.flatnonzero((flows.expected & (flows.unique > 0))[:timed])
    ports, groups = _by_port(flows, rows)
    rows = rows[groups.rows]
    cells = flows.cells[rows]
    frames, found_records = flows.unique[rows], records[cells]
    held = ~(_in_time(found_records, frames, groups, sending) & (flows.lost[rows] == 0))
    # A port none of whose flows were held back keeps them all.
    held |= ~groups.largest(held).astype(bool).repeat(groups.sizes)
    far = np.iinfo(np.int64).max
    columns = (
        groups.totals(np.where(held, frames, 0)),
        groups.smallest(np.where(held, found_records["first_arrival"].astype(np.int64), far)),
        groups.largest(found_records["last_arrival"]),
        _varied(found_records, groups),
    )
    found = zip(*map(np.ndarray.tolist, columns), strict=True)
    return {
        port: (sending.late_frames(frames, first, last), sending.late_frames(frames, first, last, varied))
        for port, (frames, first, last, varied) in zip(ports, found, strict=True)
    }


def _in_time(records: Array, frames: Array, groups: Groups, sending: Window) -> Array:
    """Flows that came as long as was sent and no longer, though several frames were due while others still came.

    Where they lost nothing either, they have passed by the queue that held the others back: behind a link that is full,
    say, those that do not take it.
    """
    last, whole = records["last_arrival"].astype(np.int64), int(sending.transmission)
    begin = groups.smallest(records["first_arrival"])
    after = (groups.largest(last) - begin - whole - sending.starts).repeat(groups.sizes)
    taken = last - begin.repeat(groups.sizes)
    whole_time = (taken <= whole + sending.starts) & (taken * frames >= (frames - 2) * whole)
    found: Array = whole_time & (after * frames > _SEVERAL * whole)
    return found


def _varied(records: Array, groups: Groups) -> Array:
    """Differences of latencies that are no queue's, by port: jitter, and ways of different lengths.

    A queue that fills changes latency little from one frame to the next, and not at all for the first frame of a flow.
    """
    frames = records["frames"].astype(np.int64)
    jitter = (records["jitter_sum_high"].astype(np.int64) << 32) + records["jitter_sum_low"].astype(np.int64)
    least = ALL_ONES - records["latency_min_inverted"].astype(np.int64)
    far = np.iinfo(np.int64).max
    first, last = (records[name].astype(np.int64) for name in ("first_arrival", "last_arrival"))
    begin, end = groups.smallest(first), groups.largest(last)
    members = groups.sizes
    # Of flows that start later, the first frame may find a queue.
    some = (frames >= _LEAST_FRAMES) & ((first - begin.repeat(members)) * _AT_FIRST <= (end - begin).repeat(members))
    ways = groups.largest(np.where(some, least, 0)) - groups.smallest(np.where(some, least, far))
    found: Array = ways.clip(0) + _OF_JITTER * groups.totals(jitter) // groups.totals(frames)
    return found


def _by_port(flows: FlowArrays, rows: Array) -> tuple[list[int], Groups]:
    """Receive ports of some flows in their order, and these flows in groups by port."""
    ports, numbers = np.unique(flows.rx_port[rows], return_inverse=True)
    return ports.tolist(), Groups.of_numbers(numbers)


def _controller_tx_ns(reading: Reading, port: int, tick_ps: int) -> int | None:
    mac = reading.macs.get(port)
    if mac is not None and mac.last_departure_ns is not None:
        return mac.last_departure_ns
    if "controller_departure" not in (reading.records.dtype.names or ()):
        return None
    ticks = int(reading.records["controller_departure"][port])
    return ticks * tick_ps // 1000 if ticks else None
