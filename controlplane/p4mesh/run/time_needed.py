"""Says before a run of a traffic file how long it takes: in real time by its clock, on sim by a short piece of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from p4mesh.quantities import number_text
from p4mesh.run.job import Measurer
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.trial.spec import TrialSpec

_FIRST_PIECE_FRAMES, _GROWTH, _PIECES = 500, 4, 6
_ENOUGH_S = 0.5
"""Pieces of the longest run grow until one takes so much longer than the first; the difference is traffic alone."""
_WORTH_TELLING_FRAMES = 1_000_000
"""Sent in all runs; fewer take seconds."""
_WORTH_TELLING_S = 10
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def frames_of(spec: TrialSpec) -> int:
    """The frames that the ports of the tester send in a trial."""
    return sum(stream.frame_count * len(stream.tx_ports) for stream in spec.streams)


def real_time_text(specs: Sequence[TrialSpec]) -> str:
    """How long trials take on a target in real time, without learning; empty where that is short."""
    total_s = sum(spec.duration_ns + spec.settle_ns + spec.restabilise_ns for spec in specs) / NS_PER_S
    frames = sum(map(frames_of, specs))
    return f"{frames:,} frames in {_shown(total_s)}" if total_s >= _WORTH_TELLING_S else ""


def simulated_text(
    specs: Sequence[TrialSpec], jobs: int, measurer: Measurer, clock_s: Callable[[], float] = time.process_time
) -> str:
    """How long trials take in a simulation, by the rate of a piece of the longest one.

    The clock is the time of the processor, which other work of the machine does not change: a piece is so short that a
    pause would count for most of it.
    """
    frames = sum(map(frames_of, specs))
    longest = max(specs, key=frames_of)

    def timed(wanted: int) -> tuple[int, float]:
        spec, begin_s = _piece(longest, wanted), clock_s()
        measurer.measure(spec)
        return frames_of(spec), clock_s() - begin_s

    timed(_FIRST_PIECE_FRAMES)  # Loads code.
    first_frames, first_s = timed(_FIRST_PIECE_FRAMES)
    for power in range(1, _PIECES):
        sent, needed_s = timed(_FIRST_PIECE_FRAMES * _GROWTH**power)
        if needed_s - first_s >= _ENOUGH_S:
            break
    rate_fps = (sent - first_frames) / max(needed_s - first_s, 1e-3)
    at_once = min(jobs, len(specs))
    simulated_s = sum(spec.duration_ns for spec in specs) / NS_PER_S
    needed = _shown(frames / rate_fps / at_once)
    return (
        f"{frames:,} frames in {number_text(simulated_s)} s of simulated time: about {needed}, by the {rate_fps:,.0f} "
        "frames "
        "of a short piece in a second of a processor"
    )


def is_long(specs: Sequence[TrialSpec]) -> bool:
    """Whether trials send enough frames for their time in a simulation to matter."""
    return sum(map(frames_of, specs)) >= _WORTH_TELLING_FRAMES


def _piece(spec: TrialSpec, frames: int) -> TrialSpec:
    """The trial with its rates, for as long as some frames take."""
    share = min(1.0, frames / frames_of(spec))
    streams = (
        replace(stream, frame_count=max(1, int(share * stream.frame_count)), start_offset_ns=())
        for stream in spec.streams
    )
    duration_ns = max(1, int(share * spec.duration_ns))
    return replace(
        spec,
        streams=tuple(streams),
        duration_ns=duration_ns,
        sampling=None,
        watch_queues=False,
        histograms=None,
        interarrival=None,
    )


def _shown(seconds: float) -> str:
    """A time in the two largest units that it has."""
    left = round(seconds) or 1
    words: list[str] = []
    for size, unit in _UNITS:
        if (count := left // size) and len(words) < 2:
            words.append(f"{count} {unit}")
        left -= count * size
    return " ".join(words)
