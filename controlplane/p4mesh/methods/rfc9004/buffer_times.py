"""From the longest burst to the buffer behind it (RFC 9004 6.4, 7), and a throughput that is exact enough for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from p4mesh.methods.base import Session
from p4mesh.methods.mesh import Mesh, measure_throughput
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, Value
from p4mesh.methods.results.forwarding import MeshThroughput
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import max_rate_fps, tx_frames

_LONGER = 10
"""Factor by which trials grow to measure the buffer time."""


@dataclass(frozen=True)
class BufferTimes:
    """The buffer that a longest burst implies, in seconds (RFC 9004 6.4 and 7)."""

    implied_s: Fraction
    """Time of the burst on the line."""
    corrected_s: Fraction
    """Without the frames that left while the burst came in."""
    actual_s: Fraction
    """The corrected one, in frames of another rate."""


def buffer_times(
    burst_frames: Fraction, throughput_fps: Fraction, max_fps: Fraction, actual_fps: Fraction
) -> BufferTimes:
    """The buffer times of a burst; ``actual_fps`` is the rate of interest."""
    implied = burst_frames / max_fps
    corrected = implied * (1 - throughput_fps / max_fps)
    return BufferTimes(implied, corrected, corrected * max_fps / actual_fps)


@dataclass(frozen=True)
class Between:
    """A number, and the ends of the interval in which the true one lies."""

    low: Fraction
    value: Fraction
    high: Fraction


def buffer_errors(burst: Between, throughput: Between, max_fps: Fraction, actual_fps: Fraction | None) -> BufferTimes:
    """How far the buffer times may be from those of the true burst and throughput; ``actual_fps`` None: that one.

    A longer burst and a lower throughput make each of the times longer.
    """

    def times(burst_frames: Fraction, throughput_fps: Fraction) -> BufferTimes:
        return buffer_times(burst_frames, throughput_fps, max_fps, actual_fps or throughput_fps)

    found = times(burst.value, throughput.value)
    ends = (times(burst.low, throughput.high), times(burst.high, throughput.low))
    return BufferTimes(
        max(abs(end.implied_s - found.implied_s) for end in ends),
        max(abs(end.corrected_s - found.corrected_s) for end in ends),
        max(abs(end.actual_s - found.actual_s) for end in ends),
    )


def hidden_share(burst_frames: Fraction, trial_frames: int) -> Fraction:
    """The largest share of the corrected time that short throughput trials can take from it.

    Behind a buffer of ``B (1 - rho)`` frames a trial of N frames at line rate finds ``rho / (1 - B (1 - rho) / N)``
    instead of rho. That is higher by less than ``(1 - rho) B / N``.
    """
    return burst_frames / trial_frames


def without_buffer(throughput: Fraction, burst_frames: Fraction, trial_frames: int) -> Fraction:
    """The throughput of an endless trial, as shares of line rate, from that of a trial which the buffer helps.

    Solves ``throughput = rho / (1 - B (1 - rho) / N)`` for rho.
    """
    return throughput * (trial_frames - burst_frames) / (trial_frames - throughput * burst_frames)


def _trial_frames(parameters: ParameterSet, size: FrameSize, rate_bps: int) -> int:
    """The frames that a throughput trial has room for at line rate."""
    return tx_frames(shared.duration_ns_of(parameters, size, rate_bps), max_rate_fps(size, rate_bps))


def in_longer_trials(
    found: MeshThroughput,
    burst_frames: Fraction,
    mesh: Mesh,
    size: FrameSize,
    parameters: ParameterSet,
    session: Session,
) -> MeshThroughput:
    """The throughput, searched again where its trials were so short that the buffer made it read too high.

    A sustained throughput is one without the buffer's help. Else the trials become as long as ``buffer_error_pct``
    needs them, at most ten times as long as they were.
    """
    error = parameters.number("buffer_error_pct") / 100
    frames = _trial_frames(parameters, size, mesh.line_rate_bps)
    highest = found.search.result_load_pct
    scaled = parameters.is_word("duration_ms")
    helped = not _is_sustained(found, parameters) and hidden_share(burst_frames, frames) > error
    if highest is None or not scaled or not helped:
        return found
    lowest = parameters.number("search_min_pct")
    expected = lowest
    if frames > burst_frames:
        expected = 100 * without_buffer(highest / 100, burst_frames, frames)
        expected -= parameters.number("search_resolution_pct")
    trial_frames = min(_LONGER * parameters.integer("scaled_frames"), ceil(burst_frames / error))
    longer: dict[str, Value] = {
        "scaled_frames": trial_frames,
        "search_max_pct": highest,
        "search_initial_pct": min(highest, max(lowest, expected)),
    }
    again = measure_throughput(mesh, size, ParameterSet({**parameters.values, **longer}), session)
    first, last = found.search, again.search
    search = replace(
        last,
        upper_pct=first.upper_pct if last.upper_pct is None else last.upper_pct,
        trials=first.trials + last.trials,
        rows=(*first.rows, *last.rows),
    )
    return replace(again, search=search, trial_frames=trial_frames)


def _is_sustained(found: MeshThroughput, parameters: ParameterSet) -> bool:
    """Whether queues were watched at the throughput, and had to be steady."""
    return parameters.flag(shared.SUSTAINED) and found.search.shown.watched is not None


def between_throughputs(found: MeshThroughput, burst_frames: Fraction) -> Between:
    """The throughput that is for good, in percent of the line: at least what no queue and no buffer helps to pass.

    Queues that were watched and steady exclude no buffer that delays no frame, such as a bucket.
    """
    search = found.search
    highest = search.result_load_pct
    assert highest is not None
    low = highest if search.lower_pct is None else min(highest, Fraction(search.lower_pct))
    frames = max(port.tx_frames for port in search.shown.ports)
    low = min(low, 100 * without_buffer(highest / 100, burst_frames, frames)) if frames > burst_frames else Fraction(0)
    high = highest if search.upper_pct is None else max(highest, Fraction(search.upper_pct))
    return Between(low, highest, high)


def hidden_finding(
    burst_frames: Fraction, found: MeshThroughput, rate_bps: int, parameters: ParameterSet
) -> tuple[str, ...]:
    """The finding on a corrected time that is too short."""
    size = found.frame_size_bytes
    frames = found.trial_frames or _trial_frames(parameters, size, rate_bps)
    hidden_pct = 100 * hidden_share(burst_frames, frames)
    if _is_sustained(found, parameters) or hidden_pct <= parameters.number("buffer_error_pct"):
        return ()
    return (
        f"{size} B: the corrected buffer may read {float(hidden_pct):.1f} % too short, as throughput trials of "
        f"{frames:,} frames end before the buffer is full; raise scaled_frames or duration_ms",
    )
