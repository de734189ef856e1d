"""A device with a queue per port, as arithmetic: its latencies, counted as the registers of the tester do.

It meets the watch of queues of the product without an engine, so that hundreds of meshes take seconds.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from p4mesh.measurement.counts import QueueTrend, Trend
from p4mesh.measurement.queue_trend import Readings, queue_trend
from p4mesh.measurement.queue_watch import READINGS, QueueWatch, queue_watch
from p4mesh.methods.search.lengthening import MOST_LENGTHENING
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.plan import Limits, Plan, make_plan
from p4mesh.tester.records import ALL_ONES, READ_TICKS
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream

TICK_PS = 1000
RATE_BPS = 10**9
ROUND_NS, PASSES_PER_CELL = 400, 2
NOMINAL_TICKS = 1000
"""Between two frames of a port."""
Column = np.ndarray[Any, Any]
_NAMES = (
    *("frames", "latency_sum_high", "latency_sum_low", "jitter_sum_high", "jitter_sum_low"),
    *("latency_max", "latency_min_inverted", "first_arrival", "last_arrival"),
)
_RECORD = np.dtype([(name, np.uint64) for name in (*_NAMES, READ_TICKS)])


@dataclass(frozen=True)
class QueueModel:
    """A full mesh in step through queues that take one frame in ``1 + excess`` intervals of the frames."""

    ports: int
    frames: int
    """Of each port, in the shortest trial."""
    excess: float
    """Of the arrivals over the departures of each queue; negative where it has room."""
    at_input: bool = False
    """Queues are those of the senders, not of the receivers."""
    crossing_frames: float = 0.0
    """Ways between the two halves of the ports are this much longer before the queue, as between line cards."""
    jitter_frames: float = 0.0
    late_first_frames: float = 0.0
    """The first frame of each flow takes this much longer."""
    seed: int = 1

    def trend(self, limit_ppm: float, longer: int = 1) -> QueueTrend:
        """Tell what the watch says of a trial that is so many times longer."""
        frames = longer * self.frames
        plan = _plan(self.ports, frames)
        duration_ns = frames * NOMINAL_TICKS * TICK_PS // 1000
        watch = queue_watch(plan, duration_ns, TICK_PS, ROUND_NS, PASSES_PER_CELL)
        flows = self._flows(frames)
        cells = [flow.cell for flow in plan.flows]
        last = np.zeros(max(cells) + 1, dtype=_RECORD)
        for flow in plan.flows:
            last[flow.cell] = _record(*flows[flow.tx_port, flow.rx_port])
        found = queue_trend(
            plan,
            None if watch is None else self._readings(plan, watch, flows),
            last,
            duration_ticks=frames * NOMINAL_TICKS,
            tick_ps=TICK_PS,
            limit=limit_ppm / 1e6,
        )
        assert found is not None
        return found

    def judged(self, limit_ppm: float) -> tuple[QueueTrend, int]:
        """Tell what a search goes on with, and how many times longer that trial is."""
        longer = 1
        while True:
            found = self.trend(limit_ppm, longer)
            if found.trend is not Trend.UNCLEAR or longer >= MOST_LENGTHENING:
                return found, longer
            longer = min(longer * found.longer, MOST_LENGTHENING)

    def covers(self, found: QueueTrend) -> bool:
        """Whether the true excess is within the stated error."""
        return abs(found.excess_ppm - max(0.0, self.excess * 1e6)) <= found.error_ppm

    def _readings(self, plan: Plan, watch: QueueWatch, flows: dict[tuple[int, int], tuple[Column, Column]]) -> Readings:
        cells = tuple(cell for part in watch.cells for cell in part)
        pair_of = {flow.cell: (flow.tx_port, flow.rx_port) for flow in plan.flows}
        records = []
        for time_ns in watch.times_ns:
            read = np.zeros(len(cells), dtype=_RECORD)
            for row, cell in enumerate(cells):
                # A reading takes a while: cells are copied one after the other.
                at = time_ns * 1000 // TICK_PS + row
                arrivals, latencies = flows[pair_of[cell]]
                count = int(np.searchsorted(arrivals, at, side="right"))
                read[row] = _record(arrivals[:count], latencies[:count])
                read[row][READ_TICKS] = at
            records.append(read)
        assert len(records) == READINGS
        return Readings(cells, tuple(records))

    def _flows(self, frames: int) -> dict[tuple[int, int], tuple[Column, Column]]:
        """Arrivals and latencies of each flow, in ticks."""
        draw = np.random.default_rng((self.seed, frames))
        slots = np.arange(frames)
        phases = draw.uniform(0, 0.2 * NOMINAL_TICKS, self.ports)
        service = NOMINAL_TICKS * (1 + self.excess)
        tx = np.repeat(np.arange(self.ports), frames)
        rx = (tx + 1 + np.tile(slots, self.ports) % (self.ports - 1)) % self.ports
        sent = np.tile(slots * NOMINAL_TICKS, self.ports) + np.repeat(phases, frames)
        half = self.ports // 2
        due = sent + self.crossing_frames * NOMINAL_TICKS * ((tx < half) != (rx < half)) * (not self.at_input)
        queue = tx if self.at_input else rx
        order = np.lexsort((due, queue))
        left = np.empty(len(order))
        bounds = np.searchsorted(queue[order], np.arange(self.ports + 1))
        for first, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            members = order[first:end]
            served = service * np.arange(len(members))
            left[members] = service + served + np.maximum.accumulate(due[members] - served)
        latency = 5000 + left - sent + draw.uniform(0, self.jitter_frames * NOMINAL_TICKS, len(sent))
        latency[np.tile(slots, self.ports) < self.ports - 1] += self.late_first_frames * NOMINAL_TICKS
        latency = latency.round().astype(np.int64)
        arrival = sent.round().astype(np.int64) + latency
        found = {}
        by_flow = np.lexsort((arrival, rx, tx))
        keys = (tx * self.ports + rx)[by_flow]
        edges = np.flatnonzero(np.diff(keys, prepend=-1))
        for first, end in zip(edges.tolist(), [*edges[1:].tolist(), len(keys)], strict=True):
            rows = by_flow[first:end]
            found[int(tx[rows[0]]) + 1, int(rx[rows[0]]) + 1] = arrival[rows], latency[rows]
        return found


def seeded(seed: int) -> tuple[QueueModel, float]:
    """Draw a device, and a limit of 50 to 100,000 ppm for the excess."""
    draw = random.Random(seed)
    limit_ppm = 10 ** draw.uniform(1.7, 5)
    share = draw.choice((-draw.random(), 10 ** draw.uniform(-1, 1), draw.uniform(0.8, 1.3), draw.uniform(1, 3)))
    return (
        QueueModel(
            ports=(ports := draw.randint(4, 64)),
            frames=min(max(10 * ports, round(10 ** draw.uniform(2.5, 3.8))), 50_000 // ports),
            excess=share * limit_ppm / 1e6,
            at_input=draw.random() < 0.25,
            crossing_frames=draw.choice((0.0, 0.0, 10.0, 250.0)),
            jitter_frames=draw.choice((0.0, 0.0, 0.3, 3.0)),
            late_first_frames=draw.choice((0.0, 0.0, 0.0, 20.0)),
            seed=seed,
        ),
        limit_ppm,
    )


@cache
def _plan(ports: int, frames: int) -> Plan:
    everyone = tuple(range(1, ports + 1))
    stream = Stream("mesh", 64, Fraction(10**12, NOMINAL_TICKS * TICK_PS), frames, FullMesh(), everyone, everyone)
    limits = Limits.of(load_contract(), TICK_PS, LoopModel(400_000_000_000, 500_000), "test")
    return make_plan((stream,), limits, dict.fromkeys(everyone, RATE_BPS))


def _record(arrivals: Column, latencies: Column) -> tuple[int, ...]:
    if not len(arrivals):
        return (0,) * len(_RECORD.names or ())
    sums = divmod(int(latencies.sum()), 1 << 32)
    jitter = divmod(int(np.abs(np.diff(latencies)).sum()), 1 << 32)
    return (
        *(len(arrivals), *sums, *jitter, int(latencies.max()), ALL_ONES - int(latencies.min())),
        *(int(arrivals[0]), int(arrivals[-1]), 0),
    )
