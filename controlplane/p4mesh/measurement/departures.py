"""When the streams of a plan departed: first and last frames, starts of their ports, offered beside intended load."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from p4mesh.measurement.columns import Array
from p4mesh.tester.plan import Plan, Transmitter
from p4mesh.traffic.derived import chains_of
from p4mesh.traffic.line_rate import PS_PER_S

READ_ERROR_TICKS = 2
"""Largest error of a difference of two time stamps."""


def departures(plan: Plan, records: Array) -> tuple[int, int]:
    """First and last departure of a test frame in ticks; 0 where none has left."""
    ids = [transmitter.id for stream in plan.streams for transmitter in stream.transmitters]
    sent = [identifier for identifier in ids if records["departures"][identifier]]
    if not sent:
        return 0, 0
    return int(records["first_departure"][sent].min()), int(records["last_departure"][sent].max())


def spans(plan: Plan, records: Array) -> Iterator[tuple[Transmitter, float, int]]:
    """Yield, per transmitter, the time from the first to the last departure in ticks: intended and as it was."""
    for stream in plan.streams:
        ideal = float(stream.clock.frame_interval_ticks)
        for transmitter in stream.transmitters:
            if transmitter.frames < 2:
                continue
            span = int(records["last_departure"][transmitter.id]) - int(records["first_departure"][transmitter.id])
            wanted = (transmitter.frames - 1) * ideal
            if stream.clock.longer_by_ticks:
                wanted = float(stream.clock.span_ticks(transmitter.frames))
            elif stream.stream.burst:
                # The last burst may be cut short anywhere; only whole periods count.
                wanted = span if abs(span - wanted) < ideal * stream.stream.burst.frames else wanted
            yield transmitter, wanted, span


def load_error_ppm(plan: Plan, records: Array) -> float:
    """Offered less intended load of the transmitter that is farthest off, relative to its intended load."""
    errors = (1_000_000 * (wanted / span - 1) for _, wanted, span in spans(plan, records) if span > 0)
    return max(errors, key=abs, default=0.0)


def start_differences(plan: Plan, records: Array) -> tuple[int, int]:
    """Largest difference of the starts of two ports of a stream, in ticks: not asked for, and asked for."""
    skew = spread = 0
    for number in plan.names:
        ids = [t.id for stream in plan.streams if stream.origin == number for t in stream.transmitters]
        first = records["first_departure"][ids]
        difference = int(first.max()) - int(first.min())
        asked = plan.asked[number]
        if any(asked.start_offset_ns) or not asked.pattern.in_step:
            spread = max(spread, difference)
        else:
            skew = max(skew, difference)
    return skew, spread


@dataclass(frozen=True)
class Window:
    """Time for which the streams send, in ticks."""

    transmission: Fraction
    """``count / rate`` of the stream, or of those one behind the other, that take longest."""
    starts: int
    """Time between the first departures of the first and of the last transmitter."""

    def late_frames(self, frames: int, first: int, last: int, varied: int = 0) -> int:
        """Frames that came after the time of transmission was over, if their arrivals are spread evenly.

        ``varied`` is what latencies differ by without a queue: it makes the arrivals of any device take longer.
        """
        if last - first <= self.transmission + self.starts + READ_ERROR_TICKS + varied:
            return 0
        return frames - int(self.transmission * (frames - 1) / (last - first))


def window(plan: Plan, records: Array, tick_ps: int) -> Window:
    """Time for which the streams were to send, and the distance of the starts of their ports."""
    chains = chains_of(plan.asked)
    lasting_s = (sum(stream.frame_count / stream.rate_fps for stream in chain) for chain in chains)
    longest_s = Fraction(max(lasting_s, default=0))
    heads = {chain[0].name for chain in chains}
    scheduled = [
        stream.clock.span_ticks(transmitter.frames) + stream.clock.slot_ticks
        for stream in plan.streams
        for transmitter in stream.transmitters
        if stream.clock.longer_by_ticks
    ]
    begun = [stream for stream in plan.streams if plan.asked[stream.origin].name in heads]
    ids = [transmitter.id for stream in begun for transmitter in stream.transmitters]
    starts = records["first_departure"][[number for number in ids if records["departures"][number]]]
    return Window(
        max((longest_s * PS_PER_S / tick_ps, *scheduled)), int(starts.max()) - int(starts.min()) if len(starts) else 0
    )
