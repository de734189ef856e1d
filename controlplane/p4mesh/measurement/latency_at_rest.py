"""From the last and the mean latency of each flow, read at rest, to how fast the queues of a mesh can have filled.

While a queue fills, latency grows evenly, so the last frame of a flow is later than its mean by half of the growth. One
flow is too noisy to tell; the flows to a port together, beside those to the other ports, are not. This needs no
readings while traffic runs, and tells less: a queue that rises and then rests looks like one that fills.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from p4mesh.measurement.columns import Array
from p4mesh.tester.flows import Flow

_LEAST_PORTS = 8
"""Ports whose trends are compared: their differences are the noise of one."""
_SIGMAS = 5
_FEW_PORTS = 12
"""A deviation of few ports may be too small by chance: its square is enlarged by this over their number."""


@dataclass(frozen=True)
class RestingPort:
    """Growth of the latency of frames to a port, by time: the share of the arrivals that a queue keeps."""

    value: float
    margin: float
    """Distance of the value from those that are excluded."""

    @property
    def upper(self) -> float:
        """Largest growth that is not excluded."""
        return max(self.value, 0.0) + self.margin


def ports_at_rest(pairs: Mapping[tuple[int, int], Sequence[Flow]], last: Array) -> dict[int, RestingPort]:
    """Growth of latency at each receive port, from the records of all cells at rest; empty with too few ports.

    ``pairs`` has the flows by (transmit port, receive port).
    """
    flows = sorted((flow for members in pairs.values() for flow in members), key=lambda flow: flow.rx_port)
    records = last[[flow.cell for flow in flows]]
    rx_ports = np.array([flow.rx_port for flow in flows], dtype=np.int64)
    several = records["frames"] > 1
    records, rx_ports = records[several], rx_ports[several]
    ports, counts = np.unique(rx_ports, return_counts=True)
    if len(ports) < _LEAST_PORTS:
        return {}
    frames = records["frames"].astype(np.float64)
    sums = (records["latency_sum_high"].astype(np.int64) << 32) + records["latency_sum_low"]
    means = sums / frames
    grown = records["latency_last"] - means
    # A first frame that is later than all others hides so much of the growth.
    hidden = (records["latency_max"] - means) / frames
    half_spans = (records["last_arrival"].astype(np.int64) - records["first_arrival"].astype(np.int64)) / 2
    ends = np.cumsum(counts)
    of_ports = [np.add.reduceat(column, ends - counts) for column in (grown, hidden, half_spans)]
    slopes, allowances = of_ports[0] / of_ports[2], of_ports[1] / of_ports[2]
    deviation = float(slopes.std(ddof=1)) * (1 + _FEW_PORTS / len(ports)) ** 0.5
    # The ends of a transmission load queues less, which hides as much of the growth at each port.
    common = max(0.0, -float(slopes.mean()))
    margins = _SIGMAS * deviation + allowances + common
    columns = (column.tolist() for column in (ports, slopes, margins))
    return {port: RestingPort(value, margin) for port, value, margin in zip(*columns, strict=True)}
