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
    delay_deviation_ns: float = field(default=0.0, metadata={"stored": "if set"})
    """Standard deviation of the delays."""
    cable_ns: float = field(default=0.0, metadata={"stored": "if set"})
    """Most that a latency of this port has of the virtual cables, between the stamps and the device; 0 where the ports
    are no virtual cables, and where that was not measured."""

    @property
    def single_error_ns(self) -> float:
        """Most that is left of a delay in the latency of a single frame, which is less by the smallest delay; of 99 %
        of the frames."""
        if self.error_p99_ns is None:
            return 0.0
        return self.delay_avg_ns - max(0.0, self.delay_min_ns) + self.error_p99_ns

    @property
    def cable_error_ns(self) -> float:
        """Most that an average latency has of the cables: what they take on a machine that has nothing else to do, and
        as much as other work, which cables meet like departures, makes the average of these longer than the smallest.
        """
        return self.cable_ns + self.delay_avg_ns - self.delay_min_ns if self.cable_ns else 0.0

    def average_error_ns(self, frames: int) -> float:
        """Error of the average delay for some of the departures, with 95 % confidence.

        The average is exact for all departures with a stamp. Others are a sample of them, or they of others: the
        variance of the difference of both averages is that of the delays times the difference of one by their numbers.
        """
        if not frames or not self.samples:
            return 0.0
        return _DEVIATIONS_95 * self.delay_deviation_ns * sqrt(abs(1 / frames - 1 / self.samples))


DelayBins = Sequence[tuple[int, int, int]]
"""(smallest delay in ns, smallest one above, number of delays), in order."""


Delays = tuple[int, int, tuple[int, int] | None, DelayBins]
"""Number of delays, their sum in ns, the smallest and the largest, and their distribution."""


def port_stamps(port: int, arrivals: str, delays: Delays, cable_ns: float = 0.0) -> PortStamps:
    """Describes the stamps of a port by the delays of its departures."""
    samples, total_ns, range_ns, bins = delays
    if range_ns is None or not samples:
        return PortStamps(port, arrivals, PROGRAM, cable_ns=cable_ns)
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
        sqrt(sum(number * distance**2 for distance, number in distances) / samples),
        cable_ns,
    )


def most_of(delays: Delays) -> float:
    """Delay in ns that most frames do not exceed, 95 %; 0 without delays."""
    samples, _, _, bins = delays
    return float(_quantile([(above - 1, number) for _, above, number in bins], samples, 0.95)) if samples else 0.0


def _quantile(values: Sequence[tuple[float, int]], total: int, share: float) -> float:
    """Smallest value that is not exceeded by a share of all."""
    seen = 0
    for value, number in values:
        seen += number
        if seen >= share * total:
            return value
    return values[-1][0]
