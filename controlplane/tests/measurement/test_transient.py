"""The begin of a trial in which more comes than later is told from what chance and readings make of even windows.

Method: readings are made from the frames of eight windows; chance has seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from p4mesh.measurement.counts import FlowCounts, PortCounts, Transient
from p4mesh.measurement.flow_arrays import FlowArrays
from p4mesh.measurement.transient import (
    UNKNOWN,
    PortReading,
    _damaged,
    _late_frames,
    _mean_of_ports,
    _Windows,
    _windows,
    transient,
)
from p4mesh.tester.reading import Reading
from p4mesh.tester.records import ALL_ONES
from p4mesh.traffic.arrivals import Poisson, Profile, Recorded
from p4mesh.traffic.derived import consecutive
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.trial.parts import transients
from p4mesh.trial.parts.base import Trial
from p4mesh.trial.parts.transients import FindingTransients, _aparts_ns, _ways_ns, burst_ns
from p4mesh.trial.result import TrialResult
from p4mesh.trial.results import not_measured
from p4mesh.trial.spec import Interruption, TrialSpec
from p4mesh.verdict import Verdict

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
        ((1000, 1000, 1000, 1000, 1000, 1000, 300, 300), Transient(6_000_000, False, 0)),
        ((1000, 1000, 1000, 1000, 1000, 1000, 1000, 300), Transient(7_000_000, False, 0)),
        ((500, 500, 500, 500, 500, 500, 500, 300), Transient(7_000_000, False, 0)),
        ((103, 101, 99, 100, 101, 99, 100, 100), Transient(0, True, 0, hidden_frames=3)),
        ((100, 100, 100, 100, 100, 100, 100, 101), None),
        ((0, 100, 100, 100, 100, 100, 100, 100), None),
        ((1000, 1000, 200, 1000, 1000, 1000, 1000, 1000), None),
    ],
    ids=[
        "first window",
        "second",
        "fourth",
        "behind the middle",
        "last but one",
        "last",
        "less in the last",
        "unsure",
        "even",
        "later",
        "an outage",
    ],
)
def test_windows(windows: Sequence[int], expected: Transient | None) -> None:
    assert found(windows) == expected


def test_a_port_alone_shows_its_own() -> None:
    even = (500,) * 8
    assert found(*[even] * 30, (580, *even[1:])) == Transient(1_000_000, True, 80)
    fewer = (400, *even[1:])
    assert found((580, *even[1:]), fewer) == Transient(1_000_000, True, 0), "all ports together have none more"


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


@pytest.mark.parametrize("queued", [280, 0])
def test_a_bucket_and_a_queue_of_one_port_are_told_apart(queued: int) -> None:
    """Of 8 windows of 100 frames, 400 more come first, and 200 come in two windows behind the transmission.

    Late frames are at first counted as if all came evenly: 1,400 in 10 windows. A port that only sends has neither.
    """
    came = [500 + 100 * window for window in range(8)]
    readings = [PortReading(DURATION_NS * number // 8, None, {1: frames}) for number, frames in enumerate(came[:7], 1)]
    counts = PortCounts(1, tx_frames=8 * SENT, rx_frames=came[-1] + 200, late_frames=280, queued_frames=queued)
    sender = PortCounts(2, tx_frames=8 * SENT)
    answer = transient(readings, [counts, sender], {1: 0.0}, DURATION_NS, 1 - 1400 / 8000)
    assert answer is not None
    assert answer[0] == Transient(1_000_000, True, 400)
    left = replace(counts, early_frames=400, late_frames=200, queued_frames=200 if queued else 0)
    assert answer[1] == (left, sender)


@pytest.mark.parametrize(("takes", "early"), [(0, 60), (40, 60), (232, 60), (240, 0), (400, 0)])
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
    """Eight windows that are 100 above or below 500: 2.4 * sqrt((8 * 100^2 - 8) * 8 / 7), rounded."""
    came = np.cumsum([600, 400] * 4).tolist()
    readings = [PortReading(DURATION_NS * number // 8, None, {1: frames}) for number, frames in enumerate(came[:7], 1)]
    counts = PortCounts(1, tx_frames=8 * SENT, rx_frames=came[-1])
    answers = [transient(readings, [counts], {1: 0.0}, DURATION_NS, 0.5, varies=varies) for varies in (False, True)]
    assert answers == [None, (Transient(0, True, 0, hidden_frames=726), (counts,))]


def windows(
    *ports: Sequence[float],
    parts: Sequence[float] | None = None,
    unsure: Sequence[float] | None = None,
    lost_share: float = 0.0,
) -> _Windows:
    """Windows of these frames per port, of equal length unless told."""
    count = len(ports[0])
    lengths = np.array([parts or [1 / count] * count] * len(ports))
    return _Windows(np.array(ports, dtype=float), lengths, np.array([unsure or [0.0] * count] * len(ports)), lost_share)


EVEN = (100,) * 7
"""Windows behind the first one, each a whole eighth of the trial."""


@pytest.mark.parametrize(
    ("excess", "above", "hidden"), [(0.0, False, 0), (1, False, 0), (1.01, True, 1), (2, True, 2), (-5, False, 0)]
)
def test_a_window_is_above_by_more_than_a_frame_of_each_port(excess: float, above: bool, hidden: int) -> None:
    found = windows((100 + excess, *EVEN))
    assert (found.above(0), found.hidden(0)) == (above, hidden)


@pytest.mark.parametrize(("excess", "above"), [(2, False), (2.01, True)])
def test_a_window_of_a_port_may_have_a_frame_more_at_each_end(excess: float, above: bool) -> None:
    """Of eight ports, no sum of eight frames tells."""
    assert windows((100 + excess, *EVEN), *[(100, *EVEN)] * 7).above(0) is above


SMOOTH = (103, 102, 101, 99, 98, 97)


@pytest.mark.parametrize(
    ("behind", "parts", "chance"),
    [
        pytest.param((100,) * 4, (1, 1, 1, 1, 1), 4 * (100 * 0.25 * 5 / 4) ** 0.5, id="few windows: single losses"),
        pytest.param((100,) * 4, (2, 1, 1, 1, 1), 4 * (200 * 0.25 * 6 / 4) ** 0.5, id="a window twice as long"),
        pytest.param(SMOOTH, None, 4 * (28 / 5 * 7 / 6) ** 0.5, id="deviation of the windows behind"),
        pytest.param((102, 101, 100, 99, 98), None, 4 * (10 / 4 * 6 / 5) ** 0.5, id="the fewest that show one"),
        pytest.param((110, 90) * 3, None, 4 * 1.05 * 20 * (7 / 6) ** 0.5, id="steps between neighbours"),
        pytest.param((100, 100, 130, 130, 70, 70), None, 4 * (900 * 4 / 5 * 7 / 6) ** 0.5, id="lower median of steps"),
    ],
)
@pytest.mark.parametrize("ports", [1, 3])
def test_the_frames_that_chance_makes_are_none_of_a_transient(
    behind: Sequence[float], parts: Sequence[float] | None, chance: float, ports: int
) -> None:
    """The windows behind have 100 frames on average.

    Few of them show nothing but the losses, a quarter: a port alone shows an excess, too. Losses that would make more
    than the windows deviate by make it for a port alone.
    """
    few = len(behind) == 4
    lost_share = 0.25 if few else 8.0
    wanted = 100 * (parts[0] if parts else 1)

    def above(excess: float) -> bool:
        others = [[wanted, *[100] * len(behind)]] * (ports - 1)
        return windows([wanted + excess, *behind], *others, parts=parts, lost_share=lost_share).above(0)

    edge = min(chance * ports**0.5 + ports, chance + 2) if few else chance + ports
    assert (above(edge - 0.01), above(edge + 0.01)) == (False, True)


def test_what_the_length_of_a_window_is_unsure_by_is_none_of_a_transient() -> None:
    """Of windows with 100 frames in a seventh of a trial, a hundredth of the trial is 7 frames; one more may come."""
    for excess, above in ((7.99, False), (8.01, True)):
        frames = (500, 100 + excess, *(100,) * 5)
        assert windows(frames, unsure=(0.5, 0.01, *[0.5] * 5)).above(1) is above


@pytest.mark.parametrize(("moved", "alike"), [(26, True), (26.01, False), (-26, True), (-26.01, False)])
def test_windows_are_alike_within_five_deviations_and_a_frame_of_each_port(moved: float, alike: bool) -> None:
    assert windows((900, 100 + moved, 100 - moved, 100), lost_share=0.25).alike(1) is alike


@pytest.mark.parametrize(
    ("moves", "alike", "together"),
    [((20, -20, 20, -20), True, True), ((20, 20, -20, -20), True, False), ((18, -36, 18, 0), False, True)],
)
def test_windows_of_frames_that_leave_unevenly_are_alike_together(
    moves: Sequence[float], alike: bool, together: bool
) -> None:
    """By 26 frames each, or added up: 18, -18 and 0 of the last ones."""
    found = windows((900, *(100 + move for move in moves)), lost_share=0.25)
    assert (found.alike(1), found.alike(1, unevenly=True)) == (alike, together)


@pytest.mark.parametrize(("last", "falls"), [(84, False), (83, False), (82.9, True), (117, False)])
def test_a_device_that_forwards_less_at_last_is_told(last: float, falls: bool) -> None:
    """Less than its rate by more than five deviations of 3.2 frames and a frame: a tenth of 100 is lost."""
    assert windows((900, *(100,) * 6, last), lost_share=0.1024).falls(1) is falls
    paused = [[900, *[100] * place, last, *[100] * (5 - place), last] for place in range(6)]
    told = [windows(frames, lost_share=0.1024).falls(1) for frames in paused]
    assert told == [*[False] * 3, *[falls] * 3], "a pause in the first half of the seven is what it always does"


@pytest.mark.parametrize(("last", "falls"), [(177, False), (176, True)])
def test_a_last_window_that_is_longer_may_have_more_frames_less(last: float, falls: bool) -> None:
    """Twice as long as the others: five deviations of 4.5 frames and a frame of 200."""
    parts = (1 / 8, *[1 / 8] * 6, 2 / 8)
    assert windows((900, *[100] * 6, last), parts=parts, lost_share=0.1024).falls(1) is falls


def test_a_port_whose_frames_leave_unevenly_has_a_part_in_the_length_of_windows_as_in_the_frames() -> None:
    """A hundredth of the trial for 1 of 9 frames; of the port alone it is one frame in 8."""
    ports = [(900,) * 8, (100,) * 8]
    found = _Windows(np.array(ports, float), np.full((2, 8), 1 / 8), np.array([[0.0] * 8, [0.01] * 8]), 0.0)
    assert found._allowed(0, 8000) == pytest.approx(2 + 8000 * 0.001)


@pytest.mark.parametrize(("moved", "damaged", "varied"), [(2, 0, 0), (2, 100, 24), (3, 0, 11), (50, 9, 240)])
def test_the_next_trial_may_differ_by_the_deviation_of_the_windows(moved: float, damaged: int, varied: int) -> None:
    """2.4 * sqrt(2 * (2 * moved^2 - 8)) for two windows of one port: 8 are of their limits."""
    assert windows((900, 100 + moved, 100 - moved)).varied(1, damaged) == varied


@pytest.mark.parametrize(("other", "varied"), [((900, 150, 50), 480), ((900, 50, 150), 339), ((900, 100, 100), 239)])
def test_ports_vary_together_or_each_by_itself(other: tuple[float, ...], varied: int) -> None:
    """Squares of 2 * 100^2 - 4 * 8, of 4 * (50^2 - 4), and of 2 * 50^2 - 4 * 8 or 2 * 50^2 - 8."""
    assert windows((900, 150, 50), other).varied(1) == pytest.approx(varied, abs=1)


def test_frames_came_damaged_with_any_part_of_theirs() -> None:
    counts = PortCounts(1, damaged_frames=1, foreign_frames=2, corrupted_frames=4, bad_fcs_frames=8, flooded_frames=16)
    assert _damaged([counts, PortCounts(2, damaged_frames=32)]) == 47


def test_early_frames_are_those_beyond_the_rate_of_the_rest() -> None:
    found = windows((400, 300, 100, 100), (50, 50, 20, 30), parts=(0.2, 0.2, 0.3, 0.3))
    assert found.early(2).tolist() == pytest.approx([700 - 200 / 0.6 * 0.4, 100 - 50 / 0.6 * 0.4])


@pytest.mark.parametrize("readings", [4, 5])
def test_fewer_than_five_readings_show_no_transient(readings: int) -> None:
    """Windows end with the readings, and the last one with the trial."""
    looks = [
        PortReading(DURATION_NS * number // (readings + 1), None, {1: 400 + 100 * number}) for number in (1, 2, 3, 4, 5)
    ]
    counts = PortCounts(1, tx_frames=8 * SENT, rx_frames=500 + 100 * readings)
    answer = transient(looks[:readings], [counts], {1: 0.0}, DURATION_NS, 0.5)
    assert (answer and answer[0]) == (Transient(DURATION_NS // 6, True, 400) if readings == 5 else None)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        # Windows differ by 20 frames together, whose squares are 1,600, and 32 of those may be cuts at their ends.
        ((110, 90, 110, 90), 2.4 * (1568 * 4 / 3) ** 0.5),
        # Each by itself by 10, which are 400, and 8 of these.
        ((90, 110, 90, 110), 2.4 * (784 * 4 / 3) ** 0.5),
    ],
)
def test_windows_vary_together_or_each_by_itself(second: tuple[int, ...], expected: float) -> None:
    frames = np.array([(110, 90, 110, 90), second], dtype=np.float64)
    windows = _Windows(frames, np.full((2, 4), 0.25), np.zeros((2, 4)), 0.1)
    assert windows.varied(0) == round(expected)


def test_cuts_of_windows_are_of_all_ports_together_or_of_each() -> None:
    """Of squares of 6 and of 3 frames, and a port without any: 4 * 36 - 4 * 8, and 2 * 9 - 8."""
    assert windows((103, 97, 103, 97), (103, 97, 103, 97)).varied(0) == round(2.4 * (112 * 4 / 3) ** 0.5)
    assert windows((900, 103, 97), (900, 100, 100)).varied(1) == round(2.4 * (10 * 2) ** 0.5)


def test_a_rate_behind_a_full_queue_that_varies_has_that_in_its_error() -> None:
    """Windows of 100 and 140 frames in turn: no transient, and none of them at the end has less than all before."""
    came = np.cumsum([100, 140] * 4).tolist()
    readings = [PortReading(DURATION_NS * number // 8, None, {1: came[number - 1]}) for number in range(1, 8)]
    port = PortCounts(1, tx_frames=8 * SENT, rx_frames=960 + 40, late_frames=40, queued_frames=40)
    found = transient(readings, [port], {1: 0.0}, DURATION_NS, 0.01)
    assert found is not None and found[1] == (port,)
    assert replace(found[0], hidden_frames=0) == Transient(0, over=True, frames=0)
    # 45 of 180 behind the last reading are late, so that the last window has 135; cuts are 8 of the squares.
    assert found[0].hidden_frames == round(2.4 * ((3021.875 - 8) * 8 / 7) ** 0.5)


def test_behind_a_full_queue_that_loses_nothing_all_windows_are_one_part() -> None:
    """Windows of 500 and seven of 100: 150 above the mean of 150 in the first, which is 2.4 * sqrt(140,000 * 8 / 7)."""
    readings = [PortReading(DURATION_NS * number // 8, None, {1: 400 + 100 * number}) for number in range(1, 8)]
    port = PortCounts(1, tx_frames=8 * SENT, rx_frames=1200 + 200, late_frames=280, queued_frames=280)
    answer = transient(readings, [port], {1: 0.0}, DURATION_NS, 0.0)
    assert answer == (Transient(0, True, 0, round(2.4 * (139_992 * 8 / 7) ** 0.5)), (port,))


def test_a_processor_that_forwards_less_in_its_last_window_alone_is_over_its_transient_nowhere() -> None:
    came = np.cumsum([1000] * 7 + [300]).tolist()
    readings = [PortReading(DURATION_NS * number // 8, None, {1: came[number - 1]}) for number in range(1, 8)]
    port = PortCounts(1, tx_frames=8 * SENT, rx_frames=came[-1])
    answer = transient(readings, [port], {1: 0.0}, DURATION_NS, 0.1, varies=True)
    assert answer == (Transient(7_000_000, over=False, frames=0), (port,))


@pytest.mark.parametrize(("first", "of_all", "of_ports"), [(0, 57, [38, 49]), (3, 90, [56, 49])])
def test_frames_that_leave_unevenly_may_be_of_a_transient(first: int, of_all: int, of_ports: list[int]) -> None:
    """A port sends a hundredth of the trial apart and the other one two: 8.3 and 48.8 of 830 and 2,440 frames.

    The first has 30 beyond the rate behind its fourth window; what the second has beyond in the fifth is too late to
    tell. From the fourth window on, 530 and 1,540 frames come in five eighths, of which 18 and 24 fewer had come
    before: beyond these the first has 48, and both together 32.
    """
    found = windows((100, 100, 100, 130, 100, 100, 100, 100), (300, 300, 300, 300, 340, 300, 300, 300))
    all_frames, frames = found.unevenly(first, np.array([0.01, 0.02]))
    assert (all_frames, frames.tolist()) == (of_all, of_ports)


@pytest.mark.parametrize(
    ("came", "uneven", "expected", "of_port"),
    [
        ((100,) * 8, 0.05, Transient(0, True, 0, 40, 40), (0, 40)),
        ((500, *(100,) * 7), 0.01, Transient(1_000_000, True, 400, 8, 8), (400, 8)),
        ((*(115,) * 4, *(85,) * 4), 0.01, UNKNOWN, (0, 0)),
        ((*(115,) * 4, *(85,) * 4), 0.0, Transient(0, True, 0, 17), (0, 0)),
    ],
    ids=["even", "a bucket", "fewer later", "fewer later by chance"],
)
def test_frames_that_leave_unevenly_are_in_the_error_of_a_rate(
    came: Sequence[int], uneven: float, expected: Transient, of_port: tuple[int, int]
) -> None:
    """A part of the trial at 800 frames a trial. A port that only sends has no such frames."""
    received = np.cumsum(came).tolist()
    readings = [PortReading(DURATION_NS * number // 8, None, {1: received[number - 1]}) for number in range(1, 8)]
    ports = PortCounts(1, rx_frames=received[-1]), PortCounts(2, tx_frames=8 * SENT)
    answer = transient(readings, ports, {1: 0.0}, DURATION_NS, 0.5, uneven={1: uneven, 2: 0.5})
    changed = replace(ports[0], early_frames=of_port[0], uneven_frames=of_port[1])
    assert answer == (expected, (changed, ports[1]))


def test_a_part_of_ports_without_frames_is_none() -> None:
    parts = np.array([0.5, 0.25])
    assert [float(_mean_of_ports(parts, np.array(frames))) for frames in ((0, 0), (1, 0), (1, 3))] == [0, 0.5, 0.3125]


def test_a_window_is_unsure_by_its_readings_and_by_how_unevenly_frames_leave() -> None:
    """Two readings that take 40 and 80 of 1,000 frames: half of that at each end, and 5 % of the trial."""
    readings = [PortReading(0, (80, 120), {1: 5}), PortReading(0, (460, 540), {1: 50})]
    counts = PortCounts(1, tx_frames=1000, rx_frames=100)
    found, _ = _windows(readings, [counts], {1: 0.0}, DURATION_NS, 0.5, np.array([0.05]), {})
    assert found.unsure.tolist() == [pytest.approx([0.07, 0.11, 0.09])]
    assert found.parts.tolist() == [pytest.approx([0.1, 0.4, 0.5])]


def test_ports_that_received_nothing_tell_nothing() -> None:
    readings = [PortReading(DURATION_NS * number // 8, None, {1: 0}) for number in range(1, 8)]
    assert transient(readings, [PortCounts(1, tx_frames=8 * SENT)], {}, DURATION_NS, 1.0) is None


@pytest.mark.parametrize(("strays", "last"), [(150, 100), (20, 0)])
def test_frames_that_were_flooded_back_are_of_a_window_as_others(strays: int, last: int) -> None:
    """Readings count them at their source, the result does not. With some unknown, no window has less than none."""
    readings = [PortReading(DURATION_NS * number // 8, None, {1: 100 * number}) for number in range(1, 8)]
    counts = PortCounts(1, tx_frames=8 * SENT, rx_frames=650)
    found, _ = _windows(readings, [counts], {1: 0.0}, DURATION_NS, 0.5, np.zeros(1), {1: strays})
    assert found.frames.tolist() == [[100] * 7 + [last]]


@pytest.mark.parametrize(("takes", "expected"), [(116, (2_000_000, 560, 0)), (120, (1_000_000, 491, 60))])
def test_a_window_is_unsure_at_both_of_its_ends(takes: int, expected: tuple[int, int, int]) -> None:
    """Of windows with 500 of 1,000 frames, the first has 1,000 and the second 560; each reading takes a while."""
    came = [1000, *(1560 + 500 * window for window in range(7))]
    readings = [
        PortReading(DURATION_NS * number // 8, (SENT * number - takes // 2, SENT * number + takes // 2), {1: frames})
        for number, frames in enumerate(came[:7], 1)
    ]
    answer = transient(readings, [PortCounts(1, tx_frames=8 * SENT, rx_frames=came[-1])], {1: 0.0}, DURATION_NS, 0.5)
    assert answer is not None
    assert (answer[0].ends_ns, answer[0].frames, answer[0].hidden_frames) == expected


def test_where_all_frames_were_late_so_are_those_behind_the_last_reading() -> None:
    """50 frames that take 50 times as long as the trial: 50 of 50.5 parts are late."""
    assert _late_frames(PortCounts(1, rx_frames=50, late_frames=50), 50, 0.5) == round(50 * 50 / 50.5)


def stream(name: str, begin_ns: int = 0, frames: int = 1000, **more: Any) -> Stream:
    """A frame each microsecond."""
    starts_ns = (begin_ns,) if begin_ns else ()
    return Stream(name, 64, Fraction(10**6), frames, Pairs(), (1,), (9,), start_offset_ns=starts_ns, **more)


def test_streams_are_apart_by_the_begin_of_one_or_the_end_of_another() -> None:
    """Both send for 1 ms; a port that has sent its last frame waits a microsecond less."""
    late = stream("a"), stream("b", 200_000)
    assert [_aparts_ns(late, sending_ns) for sending_ns in (10**6, 1_150_000, 2 * 10**6)] == [
        {"a": 0, "b": 200_000},
        {"a": 149_000, "b": 200_000},
        {"a": 199_000, "b": 200_000},
    ]
    assert _aparts_ns([stream("a", 5000), stream("b", 5000)], 10**6) == {"a": 0, "b": 0}
    assert _aparts_ns([stream("a", frames=1101), stream("b")], 1_101_000) == {"a": 0, "b": 100_000}
    assert _aparts_ns([stream("a", frames=1101), stream("b")], 10**6) == {"a": 100_000, "b": 0}
    parts = consecutive(stream("a"), {"warm-up": 400, "sampled": 600})
    assert _aparts_ns(parts, 10**6) == {"warm-up": 0, "sampled": 0}


@pytest.mark.parametrize(
    ("more", "again_ns"),
    [
        ({"burst": Burst(4)}, 4000),
        ({}, 0),
        ({"sizes_in_turn_bytes": (64, 128, 256)}, 3000),
        ({"arrivals": Poisson()}, 0),
        ({"arrivals": Profile(((Fraction(0), Fraction(2)), (Fraction(1), Fraction(1))), 40_000)}, 40_000),
        ({"arrivals": Recorded((1, 2, 3, 4, 5))}, 5000),
    ],
)
def test_a_stream_does_the_same_again_after_a_burst_its_sizes_or_a_round(more: dict[str, Any], again_ns: int) -> None:
    assert burst_ns(stream("a", **more)) == again_ns


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"watch_queues": True}, True),
        ({"watch_losses": True}, True),
        ({}, False),
        ({"watch_losses": True, "interruption": Interruption(1, 1)}, False),
    ],
)
def test_transients_are_looked_for_where_queues_or_losses_are_watched(spec: dict[str, Any], wanted: bool) -> None:
    trial = SimpleNamespace(spec=TrialSpec("transients", (stream("a"),), 1000, **spec))
    assert FindingTransients.is_wanted(cast("Trial", trial)) is wanted


def part_of(
    *streams: Stream, duration_ns: int, real_time: bool = False
) -> tuple[FindingTransients, list[int | Fraction], list[PortReading]]:
    """A part whose trial has sent, 9 us later on the clock, a frame each microsecond; the times of its readings."""
    target = SimpleNamespace(capabilities=SimpleNamespace(real_time=real_time, software_devices=False))
    counts = iter(range(10**6))

    def reason_counts() -> dict[tuple[int, str], int]:
        number = next(counts)
        return {(9, "expected"): number, (9, "misdirected"): 99, (1, "transmitted"): 2 * number, (2, "transmitted"): 5}

    tester = SimpleNamespace(tick_ps=500, target=target, reason_counts=reason_counts)
    clock = SimpleNamespace(burst_slots=1, frame_interval_ticks=2000)
    planned = SimpleNamespace(
        streams=[SimpleNamespace(clock=clock, transmitters=[SimpleNamespace(positions=1)])],
        names={number: one.name for number, one in enumerate(streams)},
        columns=SimpleNamespace(stream=np.array([0, 1, 1])),
    )
    spec = TrialSpec("transients", streams, duration_ns, watch_losses=True)
    part = FindingTransients(cast("Trial", SimpleNamespace(spec=spec, tester=tester)))
    sending: Any = SimpleNamespace(tester=tester, plan=planned, duration_ns=duration_ns, lead_ns=9000, now_ns=0)
    part.started(sending)
    due_ns: list[int | Fraction] = []
    while part.due_ns is not None:
        due_ns.append(part.due_ns - 9000)
        sending.now_ns = part.due_ns
        part.act(sending)
    return part, due_ns, part._readings


def test_ports_are_read_at_the_ends_of_windows_of_whole_cycles_and_bursts() -> None:
    """An eighth of 8.004 ms has 1,000 frames of a microsecond; with bursts of 3 in one of two streams 333 of these."""
    _, due_ns, readings = part_of(stream("a"), duration_ns=8_004_000)
    assert due_ns == [1_000_000 * number for number in range(1, 8)]
    assert readings[:2] == [PortReading(1_000_000, None, {9: 0}), PortReading(2_000_000, None, {9: 1})]
    some = stream("a", frames=8004), stream("b", frames=8004, burst=Burst(3))
    assert part_of(*some, duration_ns=8_004_000)[1] == [999_000 * number for number in range(1, 8)]
    brief = stream("a", frames=4995), stream("b", frames=4995, burst=Burst(3))
    assert part_of(*brief, duration_ns=8_004_000)[1] == [], "less than five windows before the last frame has left"
    least = stream("a", frames=5000), stream("b", frames=5000, burst=Burst(3))
    assert part_of(*least, duration_ns=8_004_000)[1] == [999_000 * number for number in range(1, 6)]
    longest = stream("a", frames=8004), stream("b", frames=8004, burst=Burst(1334))
    assert part_of(*longest, duration_ns=8_004_000)[1] == [1_334_000 * number for number in range(1, 6)]
    longer = stream("a", frames=8004), stream("b", frames=8004, burst=Burst(1335))
    assert part_of(*longer, duration_ns=8_004_000)[1] == due_ns, "a burst that no window holds is left to the errors"
    both = stream("a", frames=8004, burst=Burst(1400)), stream("b", frames=8004, burst=Burst(1335))
    assert part_of(*both, duration_ns=8_004_000)[1] == due_ns
    # Bursts of all streams are in step with their cycles, sizes in turn are not.
    assert part_of(*(stream(name, frames=8004, burst=Burst(3)) for name in "ab"), duration_ns=8_004_000)[1] == due_ns
    sizes = stream("a", frames=8004, sizes_in_turn_bytes=(64, 128, 256))
    assert part_of(sizes, duration_ns=8_004_000)[1] == [999_000 * number for number in range(1, 8)]
    _, _, readings = part_of(stream("a"), duration_ns=8_004_000, real_time=True)
    assert readings[1] == PortReading(2_000_000, (2 * 2 + 5, 2 * 3 + 5), {9: 3})


def test_a_transient_is_looked_for_where_frames_were_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stream b begins 100 us, or 1.25 % of its time, later; it has a third of the frames at port 9."""
    monkeypatch.setattr(transients, "transient", lambda *given, **more: asked.append((given, more)))
    monkeypatch.setattr(transients, "_ways_ns", lambda *_: {9: 700.0})
    asked: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    part, _, readings = part_of(stream("a", frames=8000), stream("b", 100_000, 8000), duration_ns=8_000_000)
    lost = FlowCounts("a", 1, 9, 8000, 6000), FlowCounts("b", 1, 9, 8000, 3000)
    spec = TrialSpec("transients", (), 8_000_000)
    ports = (PortCounts(9, rx_frames=9000), PortCounts(8))
    result = replace(not_measured(spec, Verdict.MEASURED, ""), flows=lost, ports=ports, lost_frames=7000)
    reading: Any = SimpleNamespace(of_ports={9: {"expected": 9003}, 8: {"expected": 4}})
    strays: Any = SimpleNamespace(
        cells=np.arange(3),
        expected=np.array([True, False, False]),
        rx_port=np.array([9, 9, 8]),
        unique=np.array([9000, 2, 4]),
        duplicates=np.array([0, 1, 0]),
    )

    def added(one: TrialResult, to: FindingTransients = part) -> TrialResult:
        return to.add(one, reading, strays)

    assert added(result) is result
    (((given_readings, given_ports, ways_ns, sending_ns, lost_share), more),) = asked
    assert (given_readings, given_ports, ways_ns) == (readings, ports, {9: 700.0})
    assert (sending_ns, lost_share) == (8_000_000, 7000 / 16_000)
    # Three frames of b more came where they were not wanted, and four at a port that is to get none.
    of_b = 100_000 / 8e6
    uneven = {9: pytest.approx(of_b * 3003 / 9003), 8: pytest.approx(of_b)}
    assert more == {"uneven": uneven, "strays": {9: 3, 8: 4}, "varies": False}
    whole = replace(result, flows=tuple(replace(flow, rx_frames=8000) for flow in lost), lost_frames=0)
    for other in (whole, replace(result, status=Verdict.INVALID)):
        assert added(other) is other and len(asked) == 1
    queued = replace(whole, ports=(PortCounts(9, rx_frames=9000, queued_frames=1), PortCounts(8)))
    assert added(queued) is queued and len(asked) == 2
    # Without counts of flows a port may have those of the stream that is most apart.
    by_port = replace(result, flows=(), expected_rx_frames=14_000)
    added(by_port)
    assert (asked[2][0][4], asked[2][1]["uneven"]) == (0.5, dict.fromkeys((9, 8), 100_000 / 8e6))
    unsent = replace(by_port, expected_rx_frames=0, lost_frames=0)
    assert added(unsent) is unsent
    # A burst that is on its way is no more apart than that; on the clock of the wall nobody knows its way.
    for real_time, apart_ns in ((False, 700), (True, 4000)):
        bursts = (stream(name, frames=8000, burst=Burst(4)) for name in "ab")
        added(result, part_of(*bursts, duration_ns=8_000_000, real_time=real_time)[0])
        assert asked[-1][1]["uneven"][9] == pytest.approx(apart_ns / 8e6)
    shortest = (stream(name, frames=8, burst=Burst(4)) for name in "ab")
    added(result, part_of(*shortest, duration_ns=8000)[0])
    assert asked[-1][1]["uneven"][9] == pytest.approx(700 / 8000), "each window has a cycle of one frame"
    by_chance = (stream(name, frames=8000, arrivals=Poisson()) for name in "ab")
    added(result, part_of(*by_chance, duration_ns=8_000_000)[0])
    assert asked[-1][1]["varies"] is True
    unread, due_ns, _ = part_of(stream("a", frames=4995), stream("b", burst=Burst(3)), duration_ns=8_004_000)
    assert due_ns == [] and added(result, unread).transient == UNKNOWN and added(queued, unread) is queued
    apart, due_ns, _ = part_of(stream("a", frames=8000), stream("b", 3_001_000, 8000), duration_ns=8_000_000)
    assert due_ns and added(result, apart).transient == UNKNOWN, "by more than a window of 1 ms"
    over, others = Transient(1, over=True, frames=2), (PortCounts(9, rx_frames=1), PortCounts(8))
    monkeypatch.setattr(transients, "transient", lambda *given, **more: (over, others))
    assert added(result) == replace(result, transient=over, ports=others)


@pytest.mark.parametrize(
    ("later_ns", "rx_frames", "known"),
    [(10**6, 9, True), (10**6 + 1, 9, False), (1_500_000, 1, False), (1_500_000, 0, True)],
)
def test_windows_tell_nothing_of_frames_that_leave_apart_by_more(later_ns: int, rx_frames: int, known: bool) -> None:
    """Windows of 1 ms, and a second stream that begins so much later; the way of its bursts takes no time."""
    streams = stream("a", frames=8000, burst=Burst(4)), stream("b", later_ns, 8000, burst=Burst(4))
    part, _, _ = part_of(*streams, duration_ns=8_000_000)
    of_b, ports = FlowCounts("b", 1, 9, 10, rx_frames), (PortCounts(9, rx_frames=rx_frames),)
    result = replace(not_measured(part.trial.spec, Verdict.MEASURED, ""), flows=(of_b,), ports=ports)
    none = np.zeros(0, dtype=int)
    flows: Any = SimpleNamespace(cells=none, expected=none > 0, rx_port=none, unique=none, duplicates=none)
    reading: Any = SimpleNamespace(of_ports={9: {"expected": rx_frames}}, records={"latency_min_inverted": none})
    assert part.add(result, reading, flows).transient == (None if known else UNKNOWN)


@pytest.mark.parametrize(
    ("flows", "lost", "expected", "share"),
    [
        ((), 1, 1, 1.0),
        ((), 0, 0, 0.0),
        ((FlowCounts("a", 1, 9, 1, 0),), 7, 9, 1.0),
        ((FlowCounts("a", 1, 9, 4, 3), FlowCounts("other", 1, 9, 8, 0)), 7, 9, 0.25),
        ((FlowCounts("a", 1, 9, 0, 0),), 7, 9, 0.0),
    ],
)
def test_the_share_of_lost_frames_is_of_flows_where_these_are_told_apart(
    flows: tuple[FlowCounts, ...], lost: int, expected: int, share: float
) -> None:
    """Of streams that a device may filter, none."""
    part, _, _ = part_of(stream("a"), replace(stream("other"), may_be_filtered=True), duration_ns=8_000_000)
    result = not_measured(part.trial.spec, Verdict.MEASURED, "")
    assert part._lost_share(replace(result, flows=flows, lost_frames=lost, expected_rx_frames=expected)) == share


def test_the_way_to_a_port_is_the_smallest_latency_of_frames_that_it_was_to_get() -> None:
    """Ticks of 500 ps. Time stamps of the frames at port 9 are off, those at port 8 came where none were expected."""
    ticks = [70, 50, 90, ALL_ONES, 10, 20]
    records = np.array([(ALL_ONES - least,) for least in ticks], dtype=[("latency_min_inverted", np.uint64)])
    flows = SimpleNamespace(
        expected=np.array([True, True, True, True, False, True]),
        unique=np.array([5, 1, 5, 5, 5, 0]),
        cells=np.arange(6),
        rx_port=np.array([6, 6, 7, 9, 8, 7]),
    )
    found = _ways_ns(cast("Reading", SimpleNamespace(records=records)), cast("FlowArrays", flows), 500)
    assert found == {6: 25, 7: 45, 9: 0}
