"""The begin of a trial in which more comes than later is told from what chance and readings make of even windows.

Method: readings are made from the frames of eight windows; chance has seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from p4mesh.measurement.counts import PortCounts, Transient
from p4mesh.measurement.transient import PortReading, transient

DURATION_NS = 8_000_000
SENT = 1000
"""Frames of a port in a window."""


def found(*ports: Sequence[int], latency_ns: float = 0) -> Transient | None:
    """The transient of ports that receive these frames in each window."""
    numbers = range(1, len(ports) + 1)
    readings = [
        PortReading(
            DURATION_NS * window // 8,
            None,
            {number: sum(frames[:window]) for number, frames in zip(numbers, ports, strict=True)},
        )
        for window in range(1, 8)
    ]
    counts = [
        PortCounts(number, tx_frames=8 * SENT, rx_frames=sum(frames))
        for number, frames in zip(numbers, ports, strict=True)
    ]
    lost_share = 1 - sum(map(sum, ports)) / (8 * SENT * len(ports))
    answer = transient(readings, counts, dict.fromkeys(numbers, latency_ns), DURATION_NS, lost_share)
    return answer[0] if answer else None


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ((500, 100, 100, 100, 100, 100, 100, 100), Transient(1_000_000, True, 400)),
        ((1000, 700, 100, 100, 100, 100, 100, 100), Transient(2_000_000, True, 1500)),
        ((1000, 1000, 1000, 700, 100, 100, 100, 100), Transient(4_000_000, True, 3300)),
        ((1000, 1000, 1000, 1000, 700, 100, 100, 100), Transient(5_000_000, False, 0)),
        ((1000, 1000, 1000, 1000, 1000, 1000, 1000, 300), Transient(7_000_000, False, 0)),
        ((103, 101, 99, 100, 101, 99, 100, 100), Transient(0, True, 0, hidden_frames=3)),
        ((100, 100, 100, 100, 100, 100, 100, 101), None),
        ((0, 100, 100, 100, 100, 100, 100, 100), None),
        ((1000, 1000, 200, 1000, 1000, 1000, 1000, 1000), None),
    ],
    ids=["first window", "second", "fourth", "behind the middle", "last", "unsure", "even", "later", "an outage"],
)
def test_windows(windows: Sequence[int], expected: Transient | None) -> None:
    assert found(windows) == expected


def test_a_port_alone_shows_its_own() -> None:
    even = (500,) * 8
    assert found(*[even] * 30, (580, *even[1:])) == Transient(1_000_000, True, 80)


def test_the_latency_of_a_device_hides_no_transient() -> None:
    """Frames take half a window: it has 100 of its own in the first one, and 50 are on the way at the end."""
    whole = found((300, 100, 100, 100, 100, 100, 100, 150), latency_ns=DURATION_NS / 16)
    assert whole == Transient(1_000_000, True, 250)


@pytest.mark.parametrize("passed", [0.001, 0.02, 0.5, 0.97, 0.999])
@pytest.mark.parametrize("ports", [1, 4, 16])
def test_chance_is_seldom_taken_for_a_transient(passed: float, ports: int) -> None:
    draw = np.random.default_rng(7)
    trials = 300
    wrong = sum(
        bool(answer and (answer.frames or not answer.over))
        for _ in range(trials)
        if (answer := found(*draw.binomial(SENT, passed, size=(ports, 8)).tolist()))
    )
    assert wrong <= 0.02 * trials


def test_a_bucket_and_a_queue_of_one_port_are_told_apart() -> None:
    """Of 8 windows of 100 frames, 400 more come first, and 200 come in two windows behind the transmission.

    Late frames are at first counted as if all came evenly: 1,400 in 10 windows.
    """
    came = [500 + 100 * window for window in range(8)]
    readings = [PortReading(DURATION_NS * number // 8, None, {1: frames}) for number, frames in enumerate(came[:7], 1)]
    counts = PortCounts(1, tx_frames=8 * SENT, rx_frames=came[-1] + 200, late_frames=280, queued_frames=280)
    answer = transient(readings, [counts], {1: 0.0}, DURATION_NS, 1 - 1400 / 8000)
    assert answer is not None
    assert answer[0] == Transient(1_000_000, True, 400)
    assert answer[1] == (replace(counts, early_frames=400, late_frames=200, queued_frames=200),)


@pytest.mark.parametrize(("takes", "early"), [(0, 60), (40, 60), (400, 0)])
def test_frames_that_a_reading_may_have_missed_are_none_of_a_transient(takes: int, early: int) -> None:
    """Of windows with 500 of 1,000 frames, the first one has 60 more; its end is not known to ``takes`` frames sent."""
    came = [560 + 500 * window for window in range(8)]
    readings = [
        PortReading(DURATION_NS * number // 8, (SENT * number - takes // 2, SENT * number + takes // 2), {1: frames})
        for number, frames in enumerate(came[:7], 1)
    ]
    counts = PortCounts(1, tx_frames=8 * SENT, rx_frames=came[-1])
    answer = transient(readings, [counts], {1: 0.0}, DURATION_NS, 0.5)
    assert answer is not None
    assert (answer[0].frames, answer[0].hidden_frames) == ((early, 0) if early else (0, 60))


def test_the_rate_of_a_device_on_a_processor_has_an_error_of_its_windows() -> None:
    """Eight windows that are 100 above or below 500: 2 * 100 * sqrt(8 * 8 / 7), rounded."""
    came = np.cumsum([600, 400] * 4).tolist()
    readings = [PortReading(DURATION_NS * number // 8, None, {1: frames}) for number, frames in enumerate(came[:7], 1)]
    counts = PortCounts(1, tx_frames=8 * SENT, rx_frames=came[-1])
    answers = [transient(readings, [counts], {1: 0.0}, DURATION_NS, 0.5, varies=varies) for varies in (False, True)]
    assert answers == [None, (Transient(0, True, 0, hidden_frames=605), (counts,))]
