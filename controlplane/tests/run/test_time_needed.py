"""The time that a run of traffic takes, told before its start: by the clock in real time, by a short piece on sim."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from p4mesh.run.time_needed import is_long, real_time_text, simulated_text
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.results import not_measured
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

STREAM = Stream("one", 64, Fraction(1_000_000), 300_000_000, Pairs(), (1, 2), (3, 4), start_offset_ns=(0, 7))
LONG = TrialSpec("long", (STREAM,), 300 * 10**9, watch_queues=True)


class Machine:
    """Measures so many frames per second, after a time that does not depend on them; its clock is its own."""

    def __init__(self, frames_per_s: int) -> None:
        self.now_s = 0.0
        self.measured: list[int] = []
        self._frames_per_s = frames_per_s

    def measure(self, spec: TrialSpec, onlooker: object = None, /) -> TrialResult:
        frames = sum(stream.frame_count * len(stream.tx_ports) for stream in spec.streams)
        assert Fraction(frames, spec.duration_ns) == pytest.approx(600 / 300_000, rel=0.01)
        assert not spec.streams[0].start_offset_ns and not spec.watch_queues
        self.measured.append(frames)
        self.now_s += 3 + frames / self._frames_per_s
        return not_measured(spec, Verdict.MEASURED, "")

    def clock_s(self) -> float:
        return self.now_s


@pytest.mark.parametrize(
    ("frames_per_s", "pieces", "told"),
    [
        (1_000_000, 7, "about 10 min"),
        (10_000, 4, "about 16 h 40 min"),
    ],
)
def test_pieces_grow_until_they_tell_the_rate(frames_per_s: int, pieces: int, told: str) -> None:
    machine = Machine(frames_per_s)
    text = simulated_text([LONG], 4, machine, machine.clock_s)
    assert text.startswith(f"600,000,000 frames in 300 s of simulated time: {told}, by the ")
    assert len(machine.measured) == pieces
    assert max(machine.measured) <= 512_000


def test_runs_of_a_sweep_share_the_processes() -> None:
    machine = Machine(1_000_000)
    short = replace(LONG, streams=(replace(STREAM, frame_count=150_000_000),), duration_ns=150 * 10**9)
    assert "1,200,000,000 frames in 600 s of simulated time: about 10 min," in simulated_text(
        [LONG, short, short], 2, machine, machine.clock_s
    )


def test_a_piece_is_no_longer_than_the_trial_and_has_a_frame_of_each_stream() -> None:
    """500 frames are a 600th; what takes no time at all takes a thousandth of a second, and what is short a second."""
    machine = Machine(10**15)
    few = (replace(STREAM, frame_count=150_000), replace(STREAM, name="rare", frame_count=1))
    text = simulated_text([replace(LONG, streams=few, duration_ns=150_001_000)], 1, machine, machine.clock_s)
    assert machine.measured[0] == 2 * (249 + 1) and max(machine.measured) == 300_002
    assert "about 1 s, by the 299,502,000 frames of a" in text


def test_short_runs_are_not_told_and_real_time_is_that_of_the_clock() -> None:
    assert is_long([LONG])
    small = replace(LONG, streams=(replace(STREAM, frame_count=400_000),), duration_ns=1000)
    assert not is_long([small]) and is_long([replace(small, streams=(replace(STREAM, frame_count=500_000),))])
    assert real_time_text([small]) == ""
    assert real_time_text([replace(LONG, duration_ns=86_400 * 10**9)]) == "600,000,000 frames in 1 d 7 s"
    assert real_time_text([replace(LONG, duration_ns=3 * 10**9)]) == "600,000,000 frames in 10 s", "with silence"
    three_units = replace(LONG, duration_ns=(86_400 + 7200 + 180) * 10**9)
    assert real_time_text([three_units]) == "600,000,000 frames in 1 d 2 h"
