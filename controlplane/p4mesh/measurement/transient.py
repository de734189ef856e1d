"""Finds the begin of a trial in which an overloaded device forwards more than later, while a buffer or a bucket fills.

A device whose look-up collapses forwards everything until its queue is full, and a policer until its bucket is empty.
No latency shows that. The counters of the ports do: they are read at equal distances while the streams run, and the
frames of the first windows are compared with those of the rest. Where time does not stand still meanwhile, a reading is
of a moment between two counts of the frames sent. By how much frames may leave unevenly, a window is unsure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from p4mesh.measurement.columns import Array
from p4mesh.measurement.counts import PortCounts, Transient

_DEVIATIONS = 4
"""Standard deviations of the frames of a window that chance makes."""
_LEAST_WINDOWS = 4
"""Windows of a steady part: half of a trial."""
FEWEST_READINGS = _LEAST_WINDOWS + 1
"""Readings of a trial that tell: there may be a transient in front of the steady part."""
_OF_STEPS = 1.05
"""Standard deviation in medians of the differences of neighbours: 1 / (0.674 * sqrt(2))."""
_OF_RATE = 2.4
"""Standard deviations in the error of a rate (95 %), which are those of some eight windows."""
_OF_CUTS = 8
"""Largest sum of squares that the limits of windows leave of a port whose frames come evenly."""
_OF_A_PORT = 2
"""Frames by which a window of a port may be longer than its part of the trial: one at each end."""
_FEWEST_SEEN = 5
"""Windows whose frames show how much they differ, though two of their steps may be the end of a transient."""


UNKNOWN = Transient(0, over=False, frames=0)
"""The transient of trials whose frames leave so unevenly that no reading tells."""


@dataclass(frozen=True)
class PortReading:
    """Test frames of all ports until a time while the streams ran."""

    time_ns: int
    """Time after the first departure."""
    sent: tuple[int, int] | None
    """Before and after the frames received were counted; None where time stood still meanwhile."""
    received: dict[int, int]
    """Frames by port."""


@dataclass(frozen=True)
class _Windows:
    """Frames received in each window by port (rows), and how long a window is for a port, in parts of the trial."""

    frames: Array
    parts: Array
    unsure: Array
    """Part of the trial by which the length of each window may be another one, by port."""
    lost_share: float
    """Share of the frames that were lost, 0 to 1."""

    def above(self, first: int) -> bool:
        """Whether a window has more frames than the rate of those behind it, and one of each port more."""
        excess, chance = self._excess(*self._of_all_ports(), first)
        single, of_chance = self._excess(self.frames, self.parts, self.unsure, first, few=True)
        return bool(excess[0] - chance[0] > len(self.frames)) or bool((single - of_chance > _OF_A_PORT).any())

    def hidden(self, first: int) -> int:
        """Frames of a window beyond the rate of those behind it that chance may have made; 0 for one of each port."""
        excess, _ = self._excess(*self._of_all_ports(), first)
        return round(excess[0]) if excess[0] > len(self.frames) else 0

    def _of_all_ports(self) -> tuple[Array, Array, Array]:
        unsure = _mean_of_ports(self.unsure, self.frames.sum(axis=1))
        return self.frames.sum(axis=0)[None, :], self.parts.mean(axis=0)[None, :], unsure[None, :]

    def _excess(
        self, frames: Array, parts: Array, unsure_parts: Array, first: int, *, few: bool = False
    ) -> tuple[Array, Array]:
        """Frames of a window beyond the rate of those behind it, and how many of them chance makes.

        Windows behind show what chance makes, unless the transient ends among them: then their neighbours do. Of a
        ``few`` frames, windows may agree by chance.
        """
        behind, lengths = frames[:, first + 1 :], parts[:, first + 1 :]
        rates = behind.sum(axis=1) / lengths.sum(axis=1)
        wanted = rates * parts[:, first]
        # Of frames that are lost one by one, it is their number times the share that is lost.
        variance = wanted * self.lost_share
        unsure = rates * unsure_parts[:, first]
        if behind.shape[1] >= _FEWEST_SEEN:
            left = behind - rates[:, None] * lengths
            # The lower of two medians: the end of a transient may be two of four steps.
            steps = _OF_STEPS * np.quantile(np.abs(np.diff(left)), 0.5, axis=1, method="lower")
            if not few:
                variance = np.minimum(variance, (left**2).sum(axis=1) / (behind.shape[1] - 1))
            variance = np.maximum(variance, steps**2)
        of_rate = 1 + parts[:, first] / lengths.sum(axis=1)
        return frames[:, first] - wanted, _DEVIATIONS * np.sqrt(variance * of_rate) + unsure

    def alike(self, first: int, *, unevenly: bool = False) -> bool:
        """Whether the windows from ``first`` have frames of one rate, but for what chance makes.

        Where frames leave ``unevenly``, several windows together are no longer unsure than one.
        """
        frames, parts, _ = (part[0, first:] for part in self._of_all_ports())
        left = frames - parts * frames.sum() / parts.sum()
        allowed = self._allowed(first, frames.sum() / parts.sum())
        return bool((abs(np.cumsum(left) if unevenly else left) <= allowed).all())

    def falls(self, first: int) -> bool:
        """Whether the last window has fewer frames than the least rate of the first half of those from ``first`` on."""
        frames, parts, _ = (part[0, first:] for part in self._of_all_ports())
        half = len(frames) // 2
        rate = (frames[:half] / parts[:half]).min()
        return bool(rate * parts[-1] - frames[-1] > self._allowed(first, rate)[-1])

    def _allowed(self, first: int, rate: float) -> Array:
        """Frames by which windows from ``first`` on may differ from those of a rate by chance."""
        _, parts, unsure = (part[0, first:] for part in self._of_all_ports())
        found: Array = len(self.frames) + (_DEVIATIONS + 1) * np.sqrt(parts * rate * self.lost_share) + unsure * rate
        return found

    def varied(self, first: int, damaged: int = 0) -> int:
        """Frames from window ``first`` on that the next trial may have more or less, as these windows differ.

        Ports may vary together, or each by itself; at least as chance has it that so many came ``damaged``.
        """
        frames, parts = self.frames[:, first:], self.parts[:, first:]
        left = frames - parts * (frames.sum(axis=1) / parts.sum(axis=1))[:, None]
        together = (left.sum(axis=0) ** 2).sum() - _OF_CUTS * len(left) ** 2
        apart = ((left**2).sum(axis=1) - _OF_CUTS).clip(0).sum()
        count = frames.shape[1]
        variance = max(together, apart) * count / (count - 1)
        return round(_OF_RATE * float(np.sqrt(max(variance, damaged))))

    def unevenly(self, first: int, uneven: Array) -> tuple[int, Array]:
        """Frames from window ``first`` on that may be of a transient: of all ports together, and of each.

        Those to a port leave unevenly by a part of the trial. Each window may have some beyond the rate behind it, and
        less than it is unsure by.
        """
        until = range(first, self.frames.shape[1] - _LEAST_WINDOWS + 1)
        early = np.array([self.early(place) for place in until])
        frames, parts = self.frames[:, first:], self.parts[:, first:]
        rate, rates = frames.sum() / parts.mean(axis=0).sum(), frames.sum(axis=1) / parts.sum(axis=1)
        of_all = _mean_of_ports(uneven, self.frames.sum(axis=1)) * rate + early.sum(axis=1).max() - early[0].sum()
        of_ports: Array = np.rint(uneven * rates + early.max(axis=0) - early[0])
        return round(float(of_all)), of_ports

    def early(self, first: int) -> Array:
        """Frames of each port before window ``first`` beyond the rate of the windows from there on."""
        rates = self.frames[:, first:].sum(axis=1) / self.parts[:, first:].sum(axis=1)
        found: Array = self.frames[:, :first].sum(axis=1) - rates * self.parts[:, :first].sum(axis=1)
        return found


def transient(
    readings: Sequence[PortReading],
    ports: Sequence[PortCounts],
    ways_ns: dict[int, float],
    duration_ns: int,
    lost_share: float,
    *,
    uneven: Mapping[int, float] | None = None,
    strays: Mapping[int, int] | None = None,
    varies: bool = False,
) -> tuple[Transient, tuple[PortCounts, ...]] | None:
    """The transient of a trial that lost a share of its frames, and its ports with it; None where there is none.

    ``ways_ns`` is the smallest latency at each port that received some. Frames to a port may leave by the part
    ``uneven`` of the trial earlier or later than evenly. Readings count ``strays``, too, which are not meant for the
    port. The rate of a device that ``varies`` as its processor has time has an error of its windows.
    """
    receivers = [port for port in ports if port.port in ways_ns]
    if not receivers or len(readings) < FEWEST_READINGS:
        return None
    parts = np.array([(uneven or {}).get(port.port, 0.0) for port in receivers])
    windows, late = _windows(readings, ports, ways_ns, duration_ns, lost_share, parts, strays or {})
    # Behind a full queue, windows tell how much is chance, and damaged frames; losses do not: the queue makes some.
    queued, damaged = any(late.values()), _damaged(receivers)
    of_all = float(_mean_of_ports(parts, windows.frames.sum(axis=1)))
    count = windows.frames.shape[1]
    first = next((place for place in range(count - 1) if not windows.above(place)), count - 1) if lost_share else 0
    if lost_share and not varies and not windows.alike(first, unevenly=bool(of_all)):
        if of_all:
            return UNKNOWN, tuple(ports)
        if windows.falls(first):
            return Transient(readings[-1].time_ns, over=False, frames=0), tuple(ports)
        return (Transient(0, True, 0, windows.varied(0, damaged)), tuple(ports)) if queued else None
    if lost_share and count - first < _LEAST_WINDOWS:
        return Transient(readings[first - 1].time_ns, over=False, frames=0), tuple(ports)
    hidden = max(windows.hidden(first), windows.varied(first, damaged) if varies or queued else 0)
    numbers, unsure = [port.port for port in receivers], 0
    if of_all:
        unsure, of_ports = windows.unevenly(first, parts)
        by_port = dict(zip(numbers, of_ports.astype(int).tolist(), strict=True))
        ports = [replace(port, uneven_frames=by_port.get(port.port, 0)) for port in ports]
    hidden += unsure
    if not first:
        return (Transient(0, True, 0, hidden, unsure), tuple(ports)) if hidden else None
    early = dict(zip(numbers, windows.early(first).tolist(), strict=True))
    found = Transient(readings[first - 1].time_ns, True, max(0, round(sum(early.values()))), hidden, unsure)
    return found, tuple(_with(port, early.get(port.port, 0.0), late.get(port.port, 0)) for port in ports)


def _mean_of_ports(parts: Array, frames: Array) -> Array:
    """Parts of a trial by port (rows), weighted by the frames of the ports."""
    found: Array = frames @ parts / max(1, frames.sum())
    return found


def _damaged(ports: Iterable[PortCounts]) -> int:
    """Frames that came and were none of the test any more."""
    return sum(
        port.damaged_frames + port.foreign_frames + port.corrupted_frames + (port.bad_fcs_frames or 0) for port in ports
    )


def _with(port: PortCounts, early: float, late: int) -> PortCounts:
    queued = late if port.queued_frames else 0
    return replace(port, early_frames=round(early), late_frames=late, queued_frames=queued)


def _windows(
    readings: Sequence[PortReading],
    ports: Sequence[PortCounts],
    ways_ns: dict[int, float],
    duration_ns: int,
    lost_share: float,
    uneven: Array,
    strays: Mapping[int, int],
) -> tuple[_Windows, dict[int, int]]:
    """The windows between readings, and the late frames of each port."""
    receivers = [port for port in ports if port.port in ways_ns]
    sent = sum(port.tx_frames for port in ports)
    spans = np.array([_span(reading, sent, duration_ns) for reading in readings])
    times, takes = spans.mean(axis=1), np.array([0.0, *((spans[:, 1] - spans[:, 0]) / 2), 0.0])
    begins = np.array([ways_ns[port.port] / duration_ns for port in receivers])[:, None]
    limits = np.concatenate((begins, np.maximum(times, begins), 1 + begins), axis=1)
    late, until = {}, []
    for port, rest in zip(receivers, (limits[:, -1] - limits[:, -2]).tolist(), strict=True):
        came = [reading.received[port.port] for reading in readings]
        in_all = port.rx_frames + strays.get(port.port, 0)
        late[port.port] = _late_frames(port, in_all - came[-1], rest)
        until.append([0, *came, max(in_all - late[port.port], came[-1])])
    frames = np.diff(np.array(until, dtype=np.float64))
    return _Windows(frames, np.diff(limits), takes[1:] + takes[:-1] + uneven[:, None], lost_share), late


def _span(reading: PortReading, sent: int, duration_ns: int) -> tuple[float, float]:
    """Parts of the trial between which it was read. A target on the wall clock sends late, and reads late."""
    if reading.sent is None:
        return reading.time_ns / duration_ns, reading.time_ns / duration_ns
    return reading.sent[0] / sent, reading.sent[1] / sent


def _late_frames(port: PortCounts, behind: int, rest: float) -> int:
    """Late frames of a port that received so many ``behind`` the last reading, in a ``rest`` of the trial and later.

    Those of the port were counted as if all its frames had come evenly. Those behind the last reading have.
    """
    longer = port.late_frames / max(1, port.rx_frames - port.late_frames)
    return round(behind * longer / (rest + longer)) if longer else 0
