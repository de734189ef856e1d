"""The steps behind a search for the throughput: its result tried again, loads below it, and its row for the device.

Every trial is of 1,000 ns unless it is longer for a reason; loads, lengths and numbers are worked out by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import pytest

from p4mesh.measurement.counts import PortCounts, QueueTrend, Trend
from p4mesh.methods.criterion import Criterion
from p4mesh.methods.results.searched import JudgedTrial, Searched, SearchRow
from p4mesh.methods.search.goal import Grid, SearchGoal
from p4mesh.methods.search.limit import LimitSearch, MlrAttributes, MlrPreset, SearchMethod
from p4mesh.methods.search.loss_verification import LossVerification
from p4mesh.methods.throughput_search import Confirmation, search_throughput
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict

PASS, FAIL, INVALID = Verdict.PASS, Verdict.FAIL, Verdict.INVALID
T_NS = 1000
INTEGERS = SearchGoal(Fraction(32), Fraction(0), Fraction(64), Fraction(1), grid=Grid.INTEGER)
PLAIN = TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13)


@dataclass
class Device:
    """Trials by formula; every port sends and receives as many frames as a trial has nanoseconds."""

    verdict: Callable[[Fraction, int], Verdict]
    excess_ppm: Callable[[Fraction, int], tuple[float, float]] | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    """Counts of each result that differ, and the frames of a port of a trial of 1,000 ns."""
    kept_frames: int = 0
    trials: list[tuple[float, int, int]] = field(default_factory=list)
    """Load, trials expected after it, length."""

    def __call__(self, load: Fraction, remaining: int, length_ns: int) -> JudgedTrial[SearchRow]:
        self.trials.append((float(load), remaining, length_ns))
        verdict, changes = self.verdict(load, length_ns), dict(self.changes)
        frames = changes.pop("frames", T_NS) * length_ns // T_NS
        ports = (PortCounts(1, tx_frames=frames), PortCounts(2, rx_frames=frames), PortCounts(3, rx_frames=1))
        counts = {"tx_frames": frames, "expected_rx_frames": frames, "lost_frames": int(verdict is FAIL)}
        result = replace(PLAIN, ports=ports, **{**counts, **changes})
        row = SimpleNamespace(verdict=verdict, load_pct=float(load), flooded_frames=1, length_ns=length_ns)
        excess = self.excess_ppm(load, length_ns) if self.excess_ppm else None
        return JudgedTrial(verdict, result, cast(SearchRow, row), self.kept_frames, excess)

    @property
    def loads(self) -> list[float]:
        return [load for load, _, _ in self.trials]

    @property
    def lengths(self) -> list[float]:
        """In trials of the usual length."""
        return [length_ns / T_NS for _, _, length_ns in self.trials]


def up_to(limit: float) -> Callable[[Fraction, int], Verdict]:
    return lambda load, _: PASS if load <= limit else FAIL


def search(device: Device, goal: SearchGoal = INTEGERS, factor: int = 1, **more: Any) -> Searched[SearchRow]:
    of_goal = LimitSearch(more.pop("method", SearchMethod.BISECT), goal, **more)
    return search_throughput(of_goal, T_NS, device, Confirmation(device, factor) if factor > 1 else None)


def once(load: int, minimum: int = 8, maximum: int = 64) -> SearchGoal:
    """A search that ends after the first load, if that passes."""
    return SearchGoal(Fraction(load), Fraction(minimum), Fraction(maximum), Fraction(64), grid=Grid.INTEGER)


def test_a_result_that_a_longer_trial_refutes_is_searched_below_with_longer_trials() -> None:
    """40 passes alone, 30 for twice as long. 2 + log2(64) trials are typical, and 2 + log2(40) of the second search."""
    device = Device(lambda load, length_ns: PASS if load <= (40 if length_ns == T_NS else 30) else FAIL)
    found = search(device, factor=2)
    first, confirming, second = device.trials[:7], device.trials[7], device.trials[8:]
    assert first == [(load, 7 - n, 1000) for n, load in enumerate((32, 48, 40, 44, 42, 41, 40))]
    assert confirming == (40, 0, 2000)
    assert second == [(load, 7 - n, 2000) for n, load in enumerate((39, 37, 33, 25, 29, 31, 30))]
    assert (found.state, found.throughput_pct, found.upper_pct) == (Verdict.MEASURED, 30, 31)
    assert (found.trials, len(found.rows), found.flooded_frames) == (15, 15, 15)
    assert (found.shown, found.at_least) == (found.rows[-1], False)


@pytest.mark.parametrize(
    ("load", "highest", "factor", "length"),
    [
        (32, 64, 1, 2),
        (32, 64, 3, 3),
        (16, 64, 3, 4),
        (59, 64, 2, 2),
        # 90 % of the highest load have as many frames but for a tenth.
        (54, 60, 1, None),
        (53, 60, 1, 60 / 53),
    ],
)
def test_a_low_result_is_tried_again_with_as_many_frames_as_at_the_highest_load(
    load: int, highest: int, factor: int, length: float | None
) -> None:
    device = Device(up_to(load))
    found = search(device, once(load, maximum=highest), factor, same_frames=True)
    assert device.lengths == pytest.approx([1] if length is None else [1, length], abs=0.001)
    assert (found.throughput_pct, set(device.loads)) == (load, {load})
    assert found.shown is found.rows[-1]
    assert found.excluded_loss_ppm == pytest.approx(3e6 / (1000 * (length or 1)), rel=0.001), "of the longer trial"


def test_a_low_result_that_has_too_few_frames_is_searched_below_with_as_many() -> None:
    device = Device(lambda load, length_ns: PASS if load < 32 or length_ns == T_NS else FAIL)
    found = search(device, once(32), same_frames=True)
    assert list(zip(device.loads, device.lengths, strict=True)) == [(32, 1), (32, 2), (8, 8)]
    assert (found.throughput_pct, found.upper_pct) == (8, 32)


@pytest.mark.parametrize(
    ("minimum", "confirmed", "lower", "state", "trials"),
    [
        (8, INVALID, PASS, INVALID, 2),
        (8, FAIL, INVALID, INVALID, 3),
        (8, FAIL, FAIL, FAIL, 3),
        (8, FAIL, Verdict.UNDELIVERED, INVALID, 3),
        # Nothing is below the minimum.
        (32, FAIL, PASS, FAIL, 2),
    ],
)
def test_a_confirmation_without_a_result(
    minimum: int, confirmed: Verdict, lower: Verdict, state: Verdict, trials: int
) -> None:
    device = Device(lambda load, length_ns: PASS if length_ns == T_NS else confirmed if load == 32 else lower)
    found = search(device, once(32, minimum=minimum), factor=2)
    assert (found.state, found.throughput_pct, found.trials) == (state, None, trials)
    assert (found.shown, found.excluded_loss_ppm) == (found.rows[-1], None)


def test_mlrsearch_sends_as_many_frames_from_the_start_and_is_not_confirmed_by_itself() -> None:
    device = Device(up_to(20))
    mlr = MlrAttributes(MlrPreset.RFC_2544)
    goal = replace(INTEGERS, minimum=Fraction(1))
    found = search(device, goal, method=SearchMethod.MLR, same_frames=True, mlr=mlr)
    assert found.throughput_pct == pytest.approx(20, rel=0.005)
    lengths = [64 / load if load < 57.6 else 1 for load in device.loads]
    assert device.lengths == pytest.approx(lengths, abs=0.001)
    ((lower, upper),) = [(goal.lower_pct, goal.upper_pct) for goal in found.mlr_goals]
    assert lower == found.throughput_pct and 20 < upper <= 20 * 1.005 + 0.001


@pytest.mark.parametrize("good", [1, 2])
def test_mlrsearch_below_a_result_goes_by_its_own_rules(good: int) -> None:
    """Of two trials one may lose frames: up to 30 one is good where trials take twice as long, above none."""

    def verdict(load: Fraction, length_ns: int) -> Verdict:
        if length_ns == T_NS:
            return PASS if load <= 40 else FAIL
        tried = sum((at, each_ns) == (float(load), length_ns) for at, _, each_ns in device.trials)
        return PASS if load <= 30 and tried == good else FAIL

    device = Device(verdict)
    goal = replace(INTEGERS, minimum=Fraction(1))
    found = search(device, goal, 2, method=SearchMethod.MLR, mlr=MlrAttributes(MlrPreset.TST_009))
    assert (found.state, found.throughput_pct) == (Verdict.MEASURED, pytest.approx(30, rel=0.005))
    assert (found.shown.verdict, found.shown.load_pct) == (PASS, found.throughput_pct)


def test_no_fewer_than_no_trials_are_expected() -> None:
    """Six trials are typical of a guided search; a device that seems to forward 99 % of any load needs more."""
    device = Device(up_to(20), None, {"lost_frames": 10})
    search(device, method=SearchMethod.GUIDED)
    expected = [left for _, left, _ in device.trials]
    assert expected[:6] == [5, 4, 3, 2, 1, 0] and set(expected[6:]) == {0}


def test_a_result_is_at_most_what_the_tester_sends_and_says_so() -> None:
    device = Device(lambda load, _: PASS if load <= 40 else Verdict.UNDELIVERED)
    found = search(device)
    assert (found.throughput_pct, found.upper_pct, found.undelivered_pct, found.at_least) == (40, None, 41, True)


FILLS_PPM = (1000.0, 100.0)
CARRIED = 50 / 1.0011
"""Of 50, what the device carries for any time, if 1,000 and at most 1,100 ppm are too much: 49.94506043."""
EXACT = SearchGoal(Fraction(50), Fraction(10), Fraction(50), Fraction(1))


@pytest.mark.parametrize(
    ("frames", "lengths"),
    [
        # 1,000 ppm of 2,000 frames are two: a queue. A trial 16 times as long may tell, and a longer one is not made.
        (2000, [1, 1]),
        (1999, [1, 2, 1]),
        (125, [1, 16, 1]),
        (124, [1]),
    ],
)
def test_below_a_result_at_which_a_queue_fills_is_the_load_that_the_device_carries(
    frames: int, lengths: list[int]
) -> None:
    device = Device(up_to(50), lambda load, _: FILLS_PPM if load == 50 else (0.0, 0.0), {"frames": frames})
    found = search(device, EXACT)
    assert device.lengths == lengths
    assert {left for _, left, _ in device.trials[1:]} <= {0}
    lowered = len(lengths) > 1
    # Rounded down to a millionth of a percent.
    assert found.throughput_pct == (49.94506 if lowered else 50)
    assert found.upper_pct == (50 if lowered else None)
    if not lowered:
        assert found.lower_pct == found.for_good.carried_pct == pytest.approx(CARRIED, abs=1e-9)
        assert found.for_good.bucket_pct == 0, "fewer frames than the bucket"


@pytest.mark.parametrize(
    ("goal", "excess_ppm", "loads"),
    [
        (EXACT, FILLS_PPM, [50, 49.94506, 49.89018, 49.835361]),  # each 1.0011 below the one before; three at most
        (replace(EXACT, minimum=Fraction("49.94506")), FILLS_PPM, [50, 49.94506]),
        (EXACT, (1000.0, 1000.0), [50]),  # not certain
        # The load that the device carries is nearer than one ppm of the line.
        (EXACT, (1.8, 0.1), [50]),
    ],
)
def test_loads_are_lowered_while_a_queue_certainly_fills(
    goal: SearchGoal, excess_ppm: tuple[float, float], loads: list[float]
) -> None:
    device = Device(up_to(50), lambda *_: excess_ppm, {"frames": 10_000_000})
    found = search(device, goal)
    assert device.loads == pytest.approx(loads, abs=1e-9) and found.throughput_pct == pytest.approx(loads[-1])


def test_a_lower_load_that_fails_is_no_result() -> None:
    """A load that the device should carry, but does not: the result stays, and one more is tried below."""
    device = Device(lambda load, _: PASS if load == 50 else FAIL, lambda *_: FILLS_PPM, {"frames": 2000})
    found = search(device, EXACT)
    assert (found.throughput_pct, len(device.trials), found.shown) == (50, 4, found.rows[0])


def test_a_growth_that_a_longer_trial_does_not_confirm_is_none() -> None:
    """One frame of 1,000, and one of 2,000."""
    device = Device(up_to(50), lambda _, length_ns: (1000.0 * T_NS / length_ns, 1.0))
    found = search(device, EXACT)
    assert (found.throughput_pct, device.lengths) == (50, [1, 2])


def test_a_load_at_which_the_longer_trial_loses_is_no_result() -> None:
    """At 50 %, one frame of 1,000 waits, and of 2,000 one is lost: 500 ppm and their error of 1 ppm are too much."""
    device = Device(
        lambda load, length_ns: FAIL if load == 50 and length_ns > T_NS else up_to(50)(load, length_ns),
        lambda _, length_ns: (1000.0 * T_NS / length_ns, 1.0),
    )
    found = search(device, EXACT)
    assert device.lengths == [1, 2, 1, 2]
    assert (found.throughput_pct, found.upper_pct) == (pytest.approx(50 / 1.000501, abs=1e-6), 50)
    assert (found.shown.load_pct, found.shown.verdict) == (found.throughput_pct, PASS)


@pytest.mark.parametrize(("minimum", "lengths"), [(50, [1, 2]), (10, [1, 2, 1, 2, 1, 2, 1])])
def test_where_a_longer_trial_loses_and_no_lower_load_passes_there_is_no_result(
    minimum: int, lengths: list[int]
) -> None:
    """One frame of 1,000 waits at each load, and of 2,000 some are lost; below 50 of 1,000, too."""
    device = Device(
        lambda load, length_ns: PASS if load == 50 and length_ns == T_NS else FAIL,
        lambda _, length_ns: (1000.0 * T_NS / length_ns, 1.0),
    )
    found = search(device, replace(EXACT, minimum=Fraction(minimum)))
    assert (device.lengths, found.shown) == (lengths, found.rows[-1])
    assert (found.state, found.throughput_pct, found.upper_pct) == (FAIL, None, 50)


def test_a_load_at_which_a_longer_trial_without_a_queue_loses_is_the_upper_bound() -> None:
    """Of the integers 50 passes and 51 fails; one frame of 50 waits, and longer trials lose at 50, but not at 49."""
    device = Device(
        lambda load, length_ns: FAIL if load == 50 and length_ns > T_NS else up_to(50)(load, length_ns),
        lambda _, length_ns: (21_000.0, 1.0) if length_ns == T_NS else (0.0, 1.0),
        {"frames": 50},
    )
    found = search(device)
    assert (found.throughput_pct, found.upper_pct, device.trials[-1]) == (49, 50, (49, 0, 2 * T_NS))


@pytest.mark.parametrize(("copies", "lost", "excluded_ppm"), [(1, 0, 750), (4, 0, 750), (4, 8, 1821.4)])
def test_a_result_for_good_is_less_a_bucket_of_every_port(copies: int, lost: int, excluded_ppm: float) -> None:
    """Of 4,000 frames that a port sends, a bucket of 1,000 hides a quarter; where loss alone decides, no more.

    A loss ratio above 3 / 4,000 is excluded, of copies as well: they may be lost together. Of two lost, Wilson's
    interval ends at 0.00098 + 0.00084.
    """
    changes = {"frames": 4000, "expected_rx_frames": 4000 * copies, "lost_frames": lost}
    found = search(Device(up_to(50), None, changes), EXACT)
    assert (found.lower_pct, found.for_good.carried_pct, found.for_good.bucket_pct) == (50, None, 37.5)
    assert found.excluded_loss_ppm == pytest.approx(excluded_ppm, rel=1e-4)


@pytest.mark.parametrize("method", [SearchMethod.BISECT, SearchMethod.MLR])
def test_a_queue_that_fills_by_copies_is_no_upper_bound_of_any_search(method: SearchMethod) -> None:
    """Above 40 a tenth of the frames comes twice, and as many stay in a queue: 1/11 of those that arrive."""

    def trial(load: Fraction, _: int, length_ns: int) -> JudgedTrial[SearchRow]:
        queues = QueueTrend(Trend.FILLING, excess_ppm=100_000.0) if load > 40 else QueueTrend(Trend.STEADY)
        result = replace(PLAIN, tx_frames=1000, expected_rx_frames=1000, rx_frames=1100, duplicate_frames=100)
        criterion, result = Criterion(sustained=True), replace(result, queues=queues)
        row = SimpleNamespace(verdict=criterion(result), load_pct=float(load), flooded_frames=0)
        return criterion.judged(result, cast(SearchRow, row))

    found = search_throughput(LimitSearch(method, replace(INTEGERS, minimum=Fraction(1))), T_NS, trial)
    assert found.throughput_pct == pytest.approx(40, abs=0.5)
    assert (found.upper_pct, found.at_least) == (None, True)
    assert found.of_copies_pct == pytest.approx(41, abs=1)
    assert [goal.upper_pct for goal in found.mlr_goals] == [None] * (method is SearchMethod.MLR)


@pytest.mark.parametrize(
    "changes",
    [
        {"lost_frames": 200},
        {"queues": QueueTrend(Trend.FILLING, excess_ppm=250_000.0), "lost_frames": 500},
        {"queues": QueueTrend(Trend.STEADY, excess_ppm=9.0), "lost_frames": 200},
    ],
)
def test_a_guided_search_guesses_by_the_frames_that_are_lost_or_queued(changes: dict[str, Any]) -> None:
    """The device forwards 80 % of 100, as 1 / 1.25, or as 800 of 1,000 frames: 80 is tried next, and 81."""
    device = Device(up_to(80), None, changes)
    goal = replace(INTEGERS, initial=Fraction(0), maximum=Fraction(100))
    search(device, goal, method=SearchMethod.GUIDED)
    assert device.loads == [0, 100, 80, 81]


@pytest.mark.parametrize(("lost", "kept", "trials"), [(3, 5, 2), (3, 6, 1)])
def test_frames_that_a_filling_queue_keeps_are_lost_to_the_verification(lost: int, kept: int, trials: int) -> None:
    """More than eight frames are a clear overload, which is not tried again."""
    device = Device(lambda load, _: FAIL if load == 64 else PASS, None, {"lost_frames": lost}, kept)
    goal = once(64, minimum=8)
    search(device, goal, method=SearchMethod.VERIFIED, verification=LossVerification(2, overload_frames=8))
    assert device.loads.count(64) == trials


@pytest.mark.parametrize(("theoretical", "rare"), [(64, True), (63, False)])
def test_losses_above_the_load_that_the_pattern_allows_say_nothing_about_the_device(
    theoretical: int, rare: bool
) -> None:
    """It forwards 999 of 1,000 frames at 64, so the one that it loses at 32 has another reason; if 64 counts."""
    device = Device(up_to(16))
    goal = replace(once(32), try_max_first=True, minimum=Fraction(16))
    found = search_throughput(LimitSearch(SearchMethod.BISECT, goal), T_NS, device, None, Fraction(theoretical))
    assert device.loads == [64, 32, 16] and found.throughput_pct == 16
    assert (found.rare_loss and found.rare_loss.lowest_pct) == (32 if rare else None)
