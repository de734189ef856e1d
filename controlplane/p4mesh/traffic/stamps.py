"""Names the places at which a tester takes the time stamps of frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import sqrt


class StampKind(str, Enum):
    """Places of the two stamps of a frame, sent and received."""

    FIRST_BIT = "first bit"
    """First bit sent to first bit received, on the wire."""
    SOFTWARE = "software"
    """Taken by software around whole frames: after the whole frame was received, before it is sent."""
    PARSER = "egress parser"
    """From the egress parser of a chip to the first bit received. The parser is behind the queue of the port and in
    front of deparser and MAC: what they take is part of every latency until a measurement over a wire gives it."""


_DEVIATIONS_95 = 1.96

KERNEL, PROGRAM = "kernel", "program"
"""Sources of the stamps of departures on Linux: the kernel beside the program, or the program alone."""


@dataclass(frozen=True)
class PortStamps:
    """Sources of the time stamps of a port of Linux, and the error of those of departures.

    A signature holds the stamp of the program, since the kernel stamps a frame when it has left. The delay is the
    difference: the way of the frame through the sending kernel.
    """

    port: int
    arrivals: str
    """Source of the stamps of arrivals."""
    departures: str
    """Source of those of departures."""
    samples: int = 0
    """Departures with a stamp of the kernel."""
    delay_avg_ns: float = 0.0
    delay_min_ns: int = 0
    delay_max_ns: int = 0
    error_median_ns: float | None = None
    """Half of the delays differ from their average by this at most; None without stamps of the kernel."""
    error_p99_ns: float | None = None
    """99 % of them do."""
    delay_avg_error_ns: float = field(default=0.0, metadata={"stored": "if set"})
    """Sampling error of the average delay, with 95 % confidence: not all departures have a stamp of the kernel."""


DelayBins = Sequence[tuple[int, int, int]]
"""(smallest delay in ns, smallest one above, number of delays), in order."""


def port_stamps(
    port: int, arrivals: str, total_ns: int, range_ns: tuple[int, int] | None, bins: DelayBins
) -> PortStamps:
    """Describes the stamps of a port by its delays: their sum, the smallest and the largest, and their distribution."""
    samples = sum(number for _, _, number in bins)
    if range_ns is None or not samples:
        return PortStamps(port, arrivals, PROGRAM)
    average_ns = total_ns / samples
    distances = sorted((abs((low + above - 1) / 2 - average_ns), number) for low, above, number in bins)
    return PortStamps(
        port,
        arrivals,
        KERNEL,
        samples,
        average_ns,
        *range_ns,
        _quantile(distances, samples, 0.5),
        _quantile(distances, samples, 0.99),
        _DEVIATIONS_95 * sqrt(sum(number * distance**2 for distance, number in distances)) / samples,
    )


def _quantile(values: Sequence[tuple[float, int]], total: int, share: float) -> float:
    """Smallest value that is not exceeded by a share of all."""
    seen = 0
    for value, number in values:
        seen += number
        if seen >= share * total:
            return value
    return values[-1][0]
