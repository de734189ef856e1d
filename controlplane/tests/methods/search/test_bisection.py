"""Searches: all published trial sequences, then the properties of the remaining cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.fakes import FakeMeasurer

from p4mesh.methods.longer_trials import Asked, measure_each
from p4mesh.methods.search.bisection import bisect, bisect_each
from p4mesh.methods.search.goal import Grid, SearchGoal
from p4mesh.methods.sweeps import frame_loss_loads, loses_nothing_twice, sweep_loads
from p4mesh.traffic.line_rate import max_rate_fps, rate_at_pct
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

VECTORS = json.loads((Path(__file__).parents[2] / "fixtures" / "search_vectors.json").read_text())


def limit(value: Any) -> Callable[[Fraction], Verdict]:
    return lambda load: Verdict.PASS if load <= Fraction(str(value)) else Verdict.FAIL


def goal(initial: Any, low: Any, high: Any, resolution: Any, **more: Any) -> SearchGoal:
    loads: list[Any] = [Fraction(str(item)) for item in (initial, low, high, resolution)]
    return SearchGoal(*loads, **more)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['source']}-{v['frame_size_bytes']}-{v['result']}")
@pytest.mark.parametrize("edge", ["true_limit_min", "midway"])
def test_published_sequences_are_reproduced_trial_by_trial(vector: dict[str, Any], edge: str) -> None:
    low, high = Fraction(str(vector["true_limit_min"])), Fraction(str(vector["true_limit_max"]))
    true_limit = low if edge == "true_limit_min" else low + (high - low) / 2
    asked = goal(
        vector["initial"], vector["minimum"], vector["maximum"], vector["resolution"], grid=Grid(vector["grid"])
    )
    found = bisect(asked, limit(true_limit))
    assert [[float(step.load), step.verdict is Verdict.PASS] for step in found.steps] == vector["trials"]
    assert (found.result is None) == (vector["state"] == "FAIL")
    assert found.result is not None and float(found.result) == vector["result"]


def floored(value: Fraction, grid: Grid) -> Fraction:
    """The grid's rounding as the methodology words it, without the code under test."""
    places = {Grid.EXACT: None, Grid.THREE_DECIMALS: 1000, Grid.INTEGER: 1}[grid]
    return value if places is None else Fraction(value.numerator * places // value.denominator, places)


def by_the_book(
    asked: SearchGoal, trial: Callable[[Fraction], Verdict]
) -> tuple[list[Fraction], Verdict, Fraction | None]:
    """Methodology 1.1, with its endless cases cut off; returns trials, state and result.

    The book calls a search that ends at its lower bound a FAIL even where that bound had passed, or was not tried: a
    load that passed is the result here, and the bound is tried where none has.

    With ``try_max_first`` the maximum is tried before all else: a PASS ends the search, a FAIL is known to it.
    """
    passed: Fraction | None = None
    failed = right = asked.maximum
    left, current = asked.minimum, asked.initial
    trials: list[Fraction] = []
    if asked.try_max_first:
        trials.append(asked.maximum)
        if trial(asked.maximum) is Verdict.PASS:
            return trials, Verdict.MEASURED, asked.maximum
        if current == asked.maximum:
            current = floored((left + right) / 2, asked.grid)
    while len(trials) < 60:
        trials.append(current)
        if trial(current) is Verdict.PASS:
            passed = left = current
            following = floored((current + right) / 2, asked.grid)
            if following >= asked.maximum or failed - passed <= asked.resolution:
                return trials, Verdict.MEASURED, passed
        else:
            failed = right = current
            following = floored((failed + left) / 2, asked.grid)
            if failed <= asked.minimum + asked.resolution:
                if passed is not None:
                    return trials, Verdict.MEASURED, passed
                if current == asked.minimum:
                    return trials, Verdict.FAIL, current
                following = asked.minimum
        current = following
    return trials, Verdict.INVALID, None


def random_goal(random: Random, grid: Grid) -> SearchGoal:
    """A goal as users write them: up to two decimals, or integers."""
    unit = 1 if grid is Grid.INTEGER else 100
    low, first, high = sorted(Fraction(random.randrange(1, 100 * unit), unit) for _ in range(3))
    resolution = Fraction(random.randrange(1, 10 * unit), unit)
    return SearchGoal(first, low, high + Fraction(1, unit), resolution, grid=grid)


@pytest.mark.parametrize("grid", list(Grid))
@pytest.mark.parametrize("try_max_first", [False, True])
def test_searches_of_random_devices_are_those_of_the_book(grid: Grid, try_max_first: bool) -> None:
    """Sequences that are not published: 2000 goals and limits for each grid, trial by trial."""
    random = Random(f"{grid.value} 1")
    ended = 0
    for _ in range(2000):
        asked = replace(random_goal(random, grid), try_max_first=try_max_first)
        device = limit(Fraction(random.randrange(0, 100_000), 997))
        trials, state, value = by_the_book(asked, device)
        found = bisect(asked, device)
        loads = [step.load for step in found.steps]
        if state is Verdict.INVALID or len(loads) < len(trials):
            # The book goes on for ever below the grid; ours stops there, with the bracket that it has.
            assert loads == trials[: len(loads)]
            assert found.failed is not None
            continue
        ended += 1
        assert loads == trials
        assert found.state is state
        assert (found.result if state is Verdict.MEASURED else found.last_tried) == value
    assert ended > 1500


@pytest.mark.parametrize("grid", list(Grid))
@pytest.mark.parametrize("try_max_first", [False, True])
def test_results_of_random_searches_are_loads_that_passed(grid: Grid, try_max_first: bool) -> None:
    random = Random(f"{grid.value} 2")
    for _ in range(500):
        asked = replace(random_goal(random, grid), try_max_first=try_max_first)
        true_limit = Fraction(random.randrange(0, 100_000), 997)
        found = bisect(asked, limit(true_limit))
        tried = {step.load: step.verdict for step in found.steps}
        if found.result is None:
            assert found.state is Verdict.FAIL and tried[found.last_tried] is Verdict.FAIL
        else:
            assert tried[found.result] is Verdict.PASS
            assert found.result <= true_limit
        assert found.failed is None or (tried[found.failed] is Verdict.FAIL and found.failed > true_limit)
        assert all(asked.minimum <= load <= asked.maximum for load in tried)


BY_HAND = [
    # initial, minimum, maximum, resolution, grid, limit, trials, state, result
    ("the maximum is tried when it is the initial load", 100, 10, 100, 10, "exact", 100, [100], "MEASURED", 100),
    ("from the maximum downwards", 100, 0, 100, 30, "exact", 60, [100, 50, 75, "62.5", "56.25"], "MEASURED", "56.25"),
    ("every load fails down to the lower bound", 50, 10, 90, 15, "exact", 0, [50, 30, 20, 10], "FAIL", None),
    ("only the lower bound passes", 50, 10, 90, 15, "exact", 12, [50, 30, 20, 10], "MEASURED", 10),
    # The failing load within the resolution of the minimum ends the search, and 10 passed.
    ("the lower bound passes and nothing above it", 10, 10, 90, 30, "exact", 10, [10, 50, 30], "MEASURED", 10),
    ("a value that passed near the lower bound", 15, 10, 90, 30, "exact", 16, [15, "52.5", "33.75"], "MEASURED", 15),
    ("a resolution wider than the range, passing", 40, 10, 90, 100, "exact", 90, [40], "MEASURED", 40),
    ("a resolution wider than the range, failing", 40, 10, 90, 100, "exact", 20, [40, 10], "MEASURED", 10),
    ("one load only, passing", 50, 50, 50, 1, "exact", 60, [50], "MEASURED", 50),
    ("one load only, failing", 50, 50, 50, 1, "exact", 40, [50], "FAIL", None),
    # (8 + 15)/2 = 11.5, (11 + 15)/2 = 13, (13 + 15)/2 = 14, then (13 + 14)/2 = 13.5 downwards: 13 once more.
    ("integers fall both ways", 8, 1, 15, 1, "integer", 13, [8, 11, 13, 14, 13], "MEASURED", 13),
    ("integers, nothing passes", 8, 1, 15, 2, "integer", 0, [8, 4, 2, 1], "FAIL", None),
    ("integers, the maximum is out of reach", 8, 1, 15, 1, "integer", 15, [8, 11, 13, 14], "MEASURED", 14),
    # (10 + 55)/2 = 32.5, (32.5 + 55)/2 = 43.75, (43.75 + 55)/2 = 49.375, (43.75 + 49.375)/2 = 46.5625: 46.562
    (
        "three decimals",
        *(10, 10, 100, 3, "three_decimals", "46.57"),
        [10, 55, "32.5", "43.75", "49.375", "46.562"],
        *("MEASURED", "46.562"),
    ),
    (
        "rates as exact fractions",
        *(10, 10, 100, 3, "exact", "46.57"),
        [10, 55, "32.5", "43.75", "49.375", "46.5625"],
        *("MEASURED", "46.5625"),
    ),
    (
        "decimals below one percent",
        "0.5",
        "0.1",
        "0.9",
        "0.2",
        "exact",
        "0.65",
        ["0.5", "0.7", "0.6"],
        "MEASURED",
        "0.6",
    ),
]


@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: case[0])
def test_sequences_worked_out_by_hand(case: tuple[Any, ...]) -> None:
    _, initial, low, high, resolution, grid, true_limit, trials, state, result = case
    asked = goal(initial, low, high, resolution, grid=Grid(grid))
    found = bisect(asked, limit(true_limit))
    assert [step.load for step in found.steps] == [Fraction(str(load)) for load in trials]
    assert found.state.value == state
    assert found.result == (None if result is None else Fraction(str(result)))
    assert found.last_tried == Fraction(str(trials[-1]))


@pytest.mark.parametrize(
    ("bounds", "true_limit", "trials", "result"),
    [
        ((100, 10, 100, 10), 100, [100], 100),
        ((100, 10, 100, 40), 60, [100, 55, "77.5"], None),  # goes on: the bracket is 22.5 wide, but after a FAIL
        ((10, 10, 100, 95), 60, [100, 10], 10),
        ((50, 50, 50, 1), 40, [50], None),  # the one load there is, once
        ((40, 10, 90, 100), 20, [90, 40, 10], 10),
    ],
)
def test_the_maximum_first_then_the_rule(
    bounds: tuple[int, ...], true_limit: int, trials: list[Any], result: int | None
) -> None:
    found = bisect(goal(*bounds, try_max_first=True), limit(true_limit))
    loads = [step.load for step in found.steps]
    assert loads[: len(trials)] == [Fraction(str(load)) for load in trials]
    if result is not None or len(trials) < 3:
        assert len(loads) == len(trials)
        assert found.result == result
    else:
        assert found.result is not None and found.failed is not None
        assert found.failed - found.result <= bounds[3]


def test_resolution_stops_only_after_a_pass() -> None:
    """66.294 % with resolution 10 %: after FAILs the search goes on until the next PASS."""
    found = bisect(goal(10, 10, 100, 10), limit("66.3"))
    assert found.result == Fraction("66.2939453125")
    assert found.steps[-1].verdict is Verdict.PASS


def test_the_maximum_is_not_tried_so_the_result_is_a_floor() -> None:
    found = bisect(goal(10, 10, 100, 10), limit(100))
    assert found.result == Fraction("94.375")
    assert found.at_least


def test_try_max_first_gives_the_maximum_with_one_trial() -> None:
    found = bisect(goal(50, 1, 100, "0.1", try_max_first=True), limit(100))
    assert (found.result, len(found.steps), found.at_least) == (100, 1, False)


@pytest.mark.parametrize("true_limit", ["0.5", "1.3", "17.5467", "50", "60.625", "99.95"])
@pytest.mark.parametrize("try_max_first", [False, True])
def test_a_known_limit_is_found_within_the_resolution(true_limit: str, try_max_first: bool) -> None:
    asked = goal(50, "0.1", 100, "0.1", try_max_first=try_max_first)
    found = bisect(asked, limit(true_limit))
    assert found.state is Verdict.MEASURED
    assert found.result is not None
    assert found.result <= Fraction(true_limit)
    if not found.at_least:
        assert found.failed is not None
        assert found.failed > Fraction(true_limit)
        assert found.failed - found.result <= Fraction("0.1")


def test_a_limit_that_is_exactly_a_tried_load_ends_the_search() -> None:
    found = bisect(goal(55, 10, 100, 10), limit(55))
    assert found.result == 55
    # The bracket is 45 % wide: 19 halves are below one ppm of the line, 18 are not.
    assert len(found.steps) == 1 + 19
    assert [100 / grid.granularity for grid in Grid] == [1_000_000, 100_000, 100]


def test_a_search_ends_within_the_resolution_of_what_the_tester_cannot_send() -> None:
    """A nearer one would find the limit of the tester: 66.25 is 11.25 % above the load that passed, 60.625 5.625 %."""
    trial = lambda load: Verdict.PASS if load <= 55 else Verdict.UNDELIVERED  # noqa: E731
    found = bisect(goal(10, 10, 100, 10), trial)
    assert [float(step.load) for step in found.steps] == [10, 55, 77.5, 66.25, 60.625]
    assert (found.result, found.undelivered) == (55, Fraction("60.625"))


def test_a_search_that_has_ended_stays_at_its_result_or_its_minimum_while_others_go_on() -> None:
    goals = {"passes": goal(50, 10, 50, 1), "fails": goal(20, 10, 50, 20), "goes on": goal(10, 10, 90, 30)}
    asked: list[dict[str, Fraction]] = []

    def trial(loads: Mapping[str, Fraction]) -> dict[str, Verdict]:
        asked.append(dict(loads))
        limits = {"passes": 50, "fails": 0, "goes on": 35}
        return {key: limit(limits[key])(load) for key, load in loads.items()}

    found = bisect_each(goals, trial)
    assert [tuple(loads.values()) for loads in asked] == [(50, 20, 10), (50, 10, 50), (50, 10, 30)]
    assert [found[key].result for key in goals] == [50, None, 30]


def test_nothing_passes_is_a_fail_without_a_result() -> None:
    """A search that ends at its lower bound reports the last load tried, never a marker value."""
    found = bisect(goal(50, "0.01", 100, "0.01"), limit(0))
    assert found.state is Verdict.FAIL
    assert found.result is None
    assert found.last_tried == found.failed == Fraction("0.01")


def test_an_untrusted_trial_ends_the_search_and_is_no_result() -> None:
    answers = iter([Verdict.PASS, Verdict.INVALID])
    found = bisect(goal(10, 10, 100, 10), lambda _: next(answers))
    assert found.state is Verdict.INVALID
    assert found.result is None


def test_integers_are_floored_in_both_directions() -> None:
    found = bisect(goal(100, 100, 2048, 1, grid=Grid.INTEGER), limit(1500))
    assert found.result == 1500
    assert all(step.load.denominator == 1 for step in found.steps)


def test_three_decimals_are_floored() -> None:
    found = bisect(goal(10, 10, 100, 10, grid=Grid.THREE_DECIMALS), limit("66.3"))
    assert all((step.load * 1000).denominator == 1 for step in found.steps)


def test_a_flapping_device_ends_the_search() -> None:
    seen: list[Fraction] = []

    def flap(load: Fraction) -> Verdict:
        seen.append(load)
        return Verdict.PASS if len(seen) == 1 else Verdict.FAIL

    found = bisect(goal(50, 10, 100, 1, grid=Grid.INTEGER), flap)
    assert found.state is Verdict.FAIL


def test_a_value_that_passed_and_failed_is_no_result() -> None:
    answers = {8: [Verdict.PASS], 11: [Verdict.PASS], 13: [Verdict.PASS, Verdict.FAIL], 14: [Verdict.FAIL]}
    found = bisect(goal(8, 1, 15, 1, grid=Grid.INTEGER), lambda load: answers[int(load)].pop(0))
    assert (found.state, found.result, found.failed) == (Verdict.FAIL, None, 13)


@pytest.mark.parametrize("bounds", [(5, 10, 100, 1), (50, 60, 40, 1), (50, 10, 100, 0)])
def test_contradicting_goals_are_refused(bounds: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="minimum <= initial <= maximum"):
        goal(*bounds)


def test_sweeps_end_at_their_end() -> None:
    assert sweep_loads(Fraction(10), Fraction(100), Fraction(10)) == tuple(range(10, 101, 10))
    assert sweep_loads(Fraction(10), Fraction(95), Fraction(50)) == (10, 60, 95)
    with pytest.raises(ValueError, match="no sweep"):
        sweep_loads(Fraction(50), Fraction(10), Fraction(5))


def test_frame_loss_sweep_stops_after_two_lossless_loads() -> None:
    def tried(lossless: Collection[int]) -> list[Fraction]:
        def device(spec: TrialSpec, sent: int) -> int:
            return sent - (round(100 * spec.streams[0].rate_fps / max_rate_fps(64, 10**9)) not in lossless)

        def spec_at(load: Fraction, length_ns: int) -> TrialSpec:
            stream = Stream("load", 64, rate_at_pct(load, 64, 10**9), 1000, Pairs(), (1,), (2,))
            return TrialSpec("load", (stream,), length_ns)

        measurer = FakeMeasurer(device)
        asked = [Asked(load, partial(spec_at, load), 10**6) for load in frame_loss_loads()]
        measure_each(measurer, asked, lengthen=False, enough=loses_nothing_twice)
        return [100 * spec.streams[0].rate_fps / max_rate_fps(64, 10**9) for spec in measurer.specs]

    assert tried(range(71)) == [100, 90, 80, 70, 60]
    assert tried((90, 60, 50)) == [100, 90, 80, 70, 60, 50]
    assert tried(()) == list(range(100, 0, -10)) == list(frame_loss_loads())
    assert frame_loss_loads(maximum=Fraction(95))[:2] == (95, 90)


@pytest.mark.parametrize("below", ["0.003", "0.5", "30", "90"])
def test_a_search_below_a_load_that_passed_at_first_looks_near_it(below: str) -> None:
    """A longer trial fails by little as a rule: few more trials find the limit then, and a low one is found too."""
    asked = goal(50, 0, 100, "0.01").below(Fraction("97.3"))
    true_limit = Fraction("97.3") - Fraction(below)
    found = bisect(asked, limit(true_limit))
    assert found.result is not None and true_limit - Fraction("0.01") <= found.result <= true_limit
    steps = [97.29, 97.27, 97.23, 97.15, 96.99]  # the resolution below, then twice that, and twice that again
    assert [float(step.load) for step in found.steps[:5]] == steps[: len(found.steps)] or true_limit > 96.99
    assert len(found.steps) <= 2 + 2 * max(0, (Fraction(below) / Fraction("0.01")).__ceil__().bit_length())


def test_a_search_below_a_load_ends_at_the_minimum() -> None:
    asked = goal(50, 10, 100, "0.1").below(Fraction("97.3"))
    found = bisect(asked, limit(5))
    assert found.state is Verdict.FAIL and found.result is None
    assert found.last_tried == 10 and len(found.steps) < 25
