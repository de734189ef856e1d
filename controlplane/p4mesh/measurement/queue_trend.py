"""From readings while traffic ran to the trend of the queues: steady, filling, or too short to tell.

While a queue fills, the latency of its frames grows by the same amount in every window, because each frame finds more
in front of it: by (arrivals - departures) / arrivals of the time that has passed. In a steady state it grows by nothing
on average. So the slope of the mean latency over the time of arrival is the excess. Windows are whole cycles of the
traffic, which makes bursts and meshes equal in all of them.

The least, the mean and the longest latency of a flow bound its growth without such readings, where latencies differ by
little (:mod:`p4mesh.measurement.latency_at_rest`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TypeVar

import numpy as np

from p4mesh.measurement.columns import Array
from p4mesh.measurement.counts import QueueTrend, Trend
from p4mesh.measurement.latency_at_rest import growth_bounds
from p4mesh.measurement.queue_watch import Pair, pairs_of
from p4mesh.tester.flows import Flow
from p4mesh.tester.plan import Plan
from p4mesh.tester.records import READ_TICKS

_CERTAIN_LIMIT = 10e-6
"""Excess that is not missed where latency is quiet enough to see it."""
_QUIET = 1e-6
"""Excess that is not looked for in short trials: loads are on a grid of as much."""
LEAST_TICKS = 4
"""Growth in a trial that is not looked for."""
_STAMP_TICKS = 2
"""Growth that two time stamps of each of two frames may hide."""
_COARSE_LIMIT = 1000e-6
"""The same for pairs of ports that were not read while traffic ran."""
_SIGMAS = 5
"""Errors of a slope are this many standard deviations: thousands of trials, each with many pairs, have no false one."""
_LEAST_WINDOWS = 4
_GROWN_FRAMES = 1.5
"""Backlog that has grown while the queue was watched. Frames that are sent in step do not make less by their phases."""
_DECAY = 0.6
"""A queue that fills grows as fast late as early; a slope that falls below this share of what it was comes to rest."""
_EXPLAINED = 4
"""Steps between windows may vary so many times more than jitter says before a queue is taken to wander."""
_PHASES_FRAMES = 0.1
"""Deviation of steps that phases of the traffic make, which windows cut differently."""
_FEW_STEPS = 12
"""A variance of few steps may be too small by chance: it is enlarged by this over the steps that it is from."""
_OF_A_WALK = 1.2
"""The slope of a line through a random walk varies by 6/5 of what that between its ends does."""
_MOST_KEPT = 0.999
"""Share of the arrivals that a queue keeps, beyond which nothing is told apart."""
_REPORTED_BUFFER_FRAMES = 1000
_MOST_LONGER = 10
_TIME_MASK = (1 << 48) - 1
_PPM = 1e6

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True)
class Readings:
    """Records of the same cells, read one time after the other while traffic ran."""

    cells: tuple[int, ...]
    records: tuple[Array, ...]


def queue_trend(
    plan: Plan,
    readings: Readings | None,
    last: Array,
    *,
    duration_ticks: float,
    tick_ps: int,
    limit: float,
    pairs: Mapping[Pair, Sequence[Flow]] | None = None,
    part_ticks: float | None = None,
) -> QueueTrend | None:
    """Trend of the queues between the ports; None where no pair of ports has got two frames.

    ``last`` are the records of all cells at rest, ``limit`` is the excess that must not be missed, as a share of the
    departures. Of some flows alone, ``pairs`` has them; in a part of the trial alone, it lasts ``part_ticks``.
    """
    all_pairs = pairs_of(plan) if pairs is None else pairs
    bounds = growth_bounds(all_pairs, last, part_ticks)
    if not bounds:
        return None
    watched_ticks = duration_ticks if part_ticks is None else part_ticks
    quiet, stamps = min(_QUIET, LEAST_TICKS / watched_ticks), _STAMP_TICKS / watched_ticks
    if max(bounds.values()) <= quiet:
        # No two latencies differ by so much that a queue could have filled.
        return _steady(0.0, max(bounds.values()) + stamps)
    pairs = {pair: all_pairs[pair] for pair in bounds}
    moved = {pair for pair, bound in bounds.items() if bound > quiet}
    bounds = {pair: bound + stamps for pair, bound in bounds.items()}
    return _Judge(plan, pairs, bounds, moved, readings, last, duration_ticks, tick_ps, limit / (1 + limit)).trend()


@dataclass(frozen=True)
class _Series:
    """Mean latency per window, in ticks, with its error from the jitter of single frames."""

    times: Array
    means: Array
    variances: Array
    frames: float


@dataclass(frozen=True)
class _Slope:
    """Growth of latency by time, with its standard error, and that over the earlier and the later windows."""

    value: float
    error: float
    early: float
    late: float
    span_ticks: float

    @property
    def margin(self) -> float:
        """Distance of the value from those that are excluded."""
        return _SIGMAS * self.error

    @property
    def upper(self) -> float:
        """Largest slope that is not excluded."""
        return max(self.value, 0.0) + self.margin

    @property
    def is_certain(self) -> bool:
        """Whether latency has grown by more than noise and time stamps can make it."""
        return self.value > self.margin and self.value * self.span_ticks >= LEAST_TICKS

    def is_steady(self, limit: float) -> bool:
        return self.upper < limit and not self.rises

    def is_filling(self, least_growth_ticks: float) -> bool:
        """Whether latency has grown all the time, by more than phases and noise can make it."""
        return self.rises and self.value * self.span_ticks >= least_growth_ticks

    @property
    def rises(self) -> bool:
        """Whether latency grows beyond all noise, and all the time."""
        certain = self.value > max(self.margin, _CERTAIN_LIMIT)
        return certain and self.early > 0 and _DECAY * self.early <= self.late <= self.early / _DECAY


class _Judge:
    """Puts the slopes of a trial together: those of receive ports, of pairs of ports and of single flows."""

    def __init__(
        self,
        plan: Plan,
        pairs: Mapping[Pair, Sequence[Flow]],
        bounds: Mapping[Pair, float],
        moved: set[Pair],
        readings: Readings | None,
        last: Array,
        duration_ticks: float,
        tick_ps: int,
        limit: float,
    ) -> None:
        self._pairs = pairs
        self._bounds = bounds
        self._moved = moved
        self._duration_ticks = duration_ticks
        self._tick_ps = tick_ps
        self._limit = limit
        """Growth of latency by time, which is the share of the arrivals that the queue keeps."""
        self._frames_to: dict[int, int] = {}
        for (_, rx), flows in pairs_of(plan).items():
            self._frames_to[rx] = self._frames_to.get(rx, 0) + _frames(last, flows)
        self._clocks = _clocks(plan)
        self._windows = _Windows(readings) if readings is not None and len(readings.records) > _LEAST_WINDOWS else None
        self._at_rest: dict[int, float] = {}
        """Largest growth that latencies at rest leave possible at each receive port, of all its pairs."""
        for (_, rx), bound in bounds.items():
            self._at_rest[rx] = max(bound, self._at_rest.get(rx, 0.0))

    def trend(self) -> QueueTrend:
        watched: set[Pair] = set()
        of_ports: dict[int, _Slope | None] = dict.fromkeys(sorted({rx for _, rx in self._moved}))
        if self._windows is not None:
            watched = {pair for pair in self._pairs if self._windows.has(self._pairs[pair])}
            of_pair = {pair: self._windows.series(self._pairs[pair]) for pair in sorted(watched & self._moved)}
            slopes = self._slopes({(pair[1], pair): series for pair, series in of_pair.items() if series is not None})
            of_ports = self._of_ports(watched)
            if found := self._filling(slopes, of_ports):
                return found
        factors = [self._longer(rx, slope) for rx, slope in of_ports.items() if not self._is_steady(rx, slope)]
        if factors or self._hidden(watched):
            known = [self._excess(rx, slope) for rx, slope in of_ports.items()]
            return _unclear(max(factors, default=_MOST_LONGER), *max(known, key=sum))
        return _steady(*max((self._upper(rx, of_ports.get(rx)) for rx in self._at_rest), key=sum))

    def _is_steady(self, rx_port: int, slope: _Slope | None) -> bool:
        if slope is None or self._comes_to_rest(rx_port):
            return self._rests(rx_port)
        return slope.is_steady(self._limit) or (self._rests(rx_port) and not slope.rises)

    def _rests(self, rx_port: int) -> bool:
        return self._at_rest[rx_port] < self._limit

    def _comes_to_rest(self, rx_port: int) -> bool:
        """Whether latencies at rest exclude a coarse limit, so that a rise is that of a queue which comes to rest."""
        return self._limit >= _COARSE_LIMIT and self._rests(rx_port)

    def _upper(self, rx_port: int, slope: _Slope | None) -> tuple[float, float]:
        """Excess at a port that is steady, where there certainly is one, and what is not excluded beyond it."""
        at_rest = self._at_rest[rx_port]
        if slope is None or not slope.is_steady(self._limit):
            return 0.0, at_rest
        upper = min(slope.upper, at_rest)
        value = min(slope.value, upper) if slope.is_certain else 0.0
        return value, upper - value

    def _excess(self, rx_port: int, slope: _Slope | None) -> tuple[float, float]:
        """Excess at a port and its error, from what excludes more."""
        half = self._at_rest[rx_port] / 2
        if slope is None or slope.upper > 2 * half:
            return half, half
        return max(slope.value, 0.0), slope.margin

    def _of_ports(self, watched: set[Pair]) -> dict[int, _Slope | None]:
        """Slope of each receive port whose latency has moved; None where it has too few windows."""
        assert self._windows is not None
        joined: dict[int, _Series | None] = {}
        for rx in sorted({rx for _, rx in self._moved}):
            members = [self._windows.series(self._pairs[pair]) for pair in sorted(watched) if pair[1] == rx]
            joined[rx] = _joined([series for series in members if series is not None])
        slopes = self._slopes({(rx, rx): series for rx, series in joined.items() if series is not None})
        return {rx: slopes.get(rx) for rx in joined}

    def _filling(self, slopes: Mapping[Pair, _Slope], of_ports: Mapping[int, _Slope | None]) -> QueueTrend | None:
        """Queue that fills fastest: one to a port, or on the way of some of its frames.

        None where latencies at rest exclude the limit: what windows show there is a queue that comes to rest.
        """
        ports = {
            rx: slope
            for rx, slope in of_ports.items()
            if slope is not None and slope.is_filling(self._growth_ticks(rx)) and not self._comes_to_rest(rx)
        }
        if ports:
            order = sorted(ports, key=lambda port: -ports[port].value)
            return self._full(order, ports[order[0]], self._frames_to[order[0]])
        some = {
            pair: slope
            for pair, slope in slopes.items()
            if slope.is_filling(self._growth_ticks(pair[1])) and not self._comes_to_rest(pair[1])
        }
        if some:
            pair, *_ = fastest = sorted(some, key=lambda each: -some[each].value)
            frames = round(self._frames_to[pair[1]] * self._share(pair, some))
            return self._full([rx for _, rx in fastest], some[pair], frames)
        return self._of_single_flows()

    def _of_single_flows(self) -> QueueTrend | None:
        """Queue that only some flows of a pair of ports go through, such as those of one priority."""
        assert self._windows is not None
        for pair in sorted(pair for pair in self._moved if not self._comes_to_rest(pair[1])):
            flows = self._pairs[pair]
            for flow in flows if len(flows) > 1 and self._windows.has(flows) else ():
                series = self._windows.series([flow])
                slope = self._slopes({(pair[1], flow.cell): series})[flow.cell] if series is not None else None
                if series is not None and slope is not None and slope.is_filling(self._growth_ticks(pair[1])):
                    frames = round(series.frames * self._duration_ticks / slope.span_ticks)
                    return self._full([pair[1]], slope, frames)
        return None

    def _share(self, pair: Pair, some: Mapping[Pair, _Slope]) -> float:
        """Part of the pairs to the same port whose queue fills, 0 to 1."""
        mates = [other for other in self._pairs if other[1] == pair[1]]
        return sum(other in some for other in mates) / len(mates)

    def _full(self, rx_ports: Sequence[int], slope: _Slope, frames: int) -> QueueTrend:
        seconds = self._duration_ticks * self._tick_ps / 1e12
        excess_fps = frames / seconds * slope.value
        return QueueTrend(
            Trend.FILLING,
            *_in_ppm(slope.value, slope.margin),
            excess_fps=excess_fps,
            overflow_s=_REPORTED_BUFFER_FRAMES / excess_fps,
            rx_ports=tuple(dict.fromkeys(rx_ports)),
        )

    def _slopes(self, series: Mapping[tuple[int, _Key], _Series]) -> dict[_Key, _Slope]:
        """Slope of each series; a series is that of a receive port and a key of the caller's.

        Queues of one trial wander alike, which tells more of each than its own few windows.
        """
        wandering = {place: _wandering(each, self._frame_ticks(place[0])) for place, each in series.items()}
        usual = sum(wandering.values()) / max(1, len(wandering))
        few = 1 + _FEW_STEPS / max(1, sum(len(each.times) - 2 for each in series.values()))
        return {place[1]: _slope(each, few * max(wandering[place], usual)) for place, each in series.items()}

    def _frame_ticks(self, rx_port: int) -> float:
        return self._duration_ticks / self._frames_to[rx_port]

    def _growth_ticks(self, rx_port: int) -> float:
        """Least growth of latency that tells: senders out of step may meet later than they did at first."""
        clocks = self._clocks[rx_port]
        frames = _GROWN_FRAMES if len(clocks) == 1 else _GROWN_FRAMES + sum(clocks.values())
        return frames * self._frame_ticks(rx_port)

    def _longer(self, rx_port: int, slope: _Slope | None) -> int:
        """Factor by which a trial must be longer to tell: errors of a slope shrink with T^1.5, growth is as T.

        What latencies of a steady queue differ by has nothing to do with T: its bound on the excess shrinks with T.
        """
        factors = [float(_MOST_LONGER)]
        if slope is None or not slope.rises:
            factors.append(self._at_rest[rx_port] / self._limit)
        if slope is not None:
            by_noise = pow(slope.margin / (self._limit / 2), 2 / 3)
            seen = slope.value if slope.rises else max(slope.value, self._limit)
            by_growth = self._growth_ticks(rx_port) / (seen * slope.span_ticks)
            factors.append(max(float(by_noise), by_growth))
        return max(2, ceil(min(factors)))

    def _hidden(self, watched: set[Pair]) -> bool:
        """Whether a pair that was not read has latencies that differ by more than those of the pairs that were."""
        usual = max((self._bounds[pair] for pair in watched), default=0.0)
        least = max(self._limit, usual + _COARSE_LIMIT)
        return any(bound > least for pair, bound in self._bounds.items() if pair not in watched)


class _Windows:
    """Frames and latency between one reading and the next, per cell."""

    def __init__(self, readings: Readings) -> None:
        self._column = {cell: number for number, cell in enumerate(readings.cells)}
        self._frames = _grown([records["frames"].astype(np.int64) for records in readings.records])
        self._latency = _grown([_sum_of(records, "latency_sum") for records in readings.records])
        self._jitter = _grown([_sum_of(records, "jitter_sum") for records in readings.records])
        ticks = np.array([records[READ_TICKS].astype(np.int64) for records in readings.records])
        ticks = (ticks - ticks[0]) & _TIME_MASK
        self._times = (ticks[1:] + ticks[:-1]) / 2

    def has(self, flows: Sequence[Flow]) -> bool:
        return all(flow.cell in self._column for flow in flows)

    def series(self, flows: Sequence[Flow]) -> _Series | None:
        """Latency of some flows together; None with too few windows in which they have frames."""
        columns = [self._column[flow.cell] for flow in flows]
        frames = self._frames[:, columns].sum(axis=1)
        full = frames > max(1, frames.max() // 2)
        if full.sum() < _LEAST_WINDOWS:
            return None
        frames = frames[full].astype(np.float64)
        latency, jitter = (part[:, columns].sum(axis=1)[full] for part in (self._latency, self._jitter))
        # Of independent latencies, the mean difference of two neighbours is about their standard deviation.
        deviation = jitter.sum() / frames.sum()
        times = self._times[:, columns].mean(axis=1)[full]
        return _Series(times, latency / frames, deviation**2 / frames, float(frames.sum()))


def _grown(values: Sequence[Array]) -> Array:
    return np.diff(np.array(values), axis=0)


def _sum_of(records: Array, name: str) -> Array:
    return (records[f"{name}_high"].astype(np.int64) << 32) + records[f"{name}_low"].astype(np.int64)


def _joined(series: Sequence[_Series]) -> _Series | None:
    """Mean of the series that have the most windows, weighed by their frames."""
    if not series:
        return None
    windows = max(len(each.times) for each in series)
    members = [each for each in series if len(each.times) == windows]
    weights = np.array([each.frames for each in members])
    weights /= weights.sum()
    return _Series(
        np.average([each.times for each in members], axis=0, weights=weights),
        np.average([each.means for each in members], axis=0, weights=weights),
        (np.array([each.variances for each in members]) * (weights**2)[:, None]).sum(axis=0),
        float(sum(each.frames for each in members)),
    )


def _wandering(series: _Series, frame_ticks: float) -> float:
    """Variance of the steps from one window to the next that jitter and phases of frames do not explain.

    A queue near its capacity with random arrivals goes up and down for longer than a window: its next mean begins where
    the last one was, so that noise of the steps adds up and looks like a line for a while.
    """
    steps = np.diff(series.means)
    variance = float(((steps - steps.mean()) ** 2).sum()) / (len(steps) - 1)
    explained = _EXPLAINED * 2 * float(series.variances.mean()) + (_PHASES_FRAMES * frame_ticks) ** 2
    return max(0.0, variance - explained)


def _slope(series: _Series, wandering: float) -> _Slope:
    """Fit a line; its error is from the jitter of single frames, the residuals of the line, and wandering."""
    count = len(series.times)
    value, left = _line(series.times, series.means)
    half = count // 2
    variance = float(series.variances.mean()) + float((left**2).sum()) / (count - 2)
    early, _ = _line(series.times[:half], series.means[:half])
    late, _ = _line(series.times[-half:], series.means[-half:])
    window_ticks = float(series.times[-1] - series.times[0]) / (count - 1)
    # Of a line through the sums of n independent steps.
    walk = _OF_A_WALK * wandering / ((count - 1) * window_ticks**2)
    deviations = float(((series.times - series.times.mean()) ** 2).sum())
    return _Slope(value, sqrt(variance / deviations + walk), early, late, window_ticks * count)


def _line(times: Array, values: Array) -> tuple[float, Array]:
    """Slope of the line through points by least squares, and its residual at each of them."""
    centred = times - times.mean()
    slope = float((centred * values).sum() / (centred**2).sum())
    return slope, values - values.mean() - slope * centred


def _clocks(plan: Plan) -> dict[int, dict[object, int]]:
    """Number of transmitters that send to each receive port, by the distance of their frames in ticks."""
    found: dict[int, dict[object, set[Pair]]] = {}
    clock_of = {stream.origin: stream.clock.frame_interval_ticks for stream in plan.streams}
    for flow in plan.flows:
        if flow.expected:
            senders = found.setdefault(flow.rx_port, {}).setdefault(clock_of[flow.stream], set())
            senders.add((flow.stream, flow.tx_port))
    return {port: {clock: len(senders) for clock, senders in clocks.items()} for port, clocks in found.items()}


def _frames(records: Array, flows: Iterable[Flow]) -> int:
    return sum(records["frames"][[flow.cell for flow in flows]].tolist())


def _of_departures(slope: float) -> float:
    """The share of the departures that arrives beyond them, from the share of the arrivals that is kept."""
    kept = min(slope, _MOST_KEPT)
    return kept / (1 - kept)


def _in_ppm(growth: float, margin: float) -> tuple[float, float]:
    """Excess over the departures and its error, from those of a growth."""
    excess = _of_departures(growth)
    return _PPM * excess, _PPM * (_of_departures(growth + margin) - excess)


def _steady(growth: float, margin: float) -> QueueTrend:
    return QueueTrend(Trend.STEADY, *_in_ppm(growth, margin))


def _unclear(longer: int, growth: float, margin: float) -> QueueTrend:
    return QueueTrend(Trend.UNCLEAR, *_in_ppm(growth, margin), longer=longer)
