"""Devices that lose single frames: told apart from lack of capacity, and not passed for want of frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import log
from random import Random

import pytest
from support.beds import GIGABIT, make_bed
from support.fakes import FakeMeasurer
from support.networks import parsed, switch
from support.random_runs import SmallDevice, measured
from support.runs import run_on_sim

from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.results.forwarding import MeshThroughput
from p4mesh.methods.results.loss_interval import (
    LEARNS,
    excluded_ratio,
    forgiven_text,
    interval_cells,
    loss_error_pct,
    loss_interval,
)
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.rare_loss import CountedTrial, RareLoss, rare_loss, together
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed
from p4mesh.methods.rfc2889.partially_meshed import PartiallyMeshed
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

BED = make_bed(2)
Carry = Callable[[TrialSpec, int], int]


def binomial(random: Random, frames: int, ratio: float) -> int:
    """Number of lost ones of ``frames``, drawn by the gaps between losses."""
    if ratio <= 0:
        return 0
    lost, at = 0, 0
    while True:
        at += 1 + int(log(1 - random.random()) / log(1 - ratio))
        if at > frames:
            return lost
        lost += 1


def device(seed: int, ratio: float, capacity_pct: Fraction = Fraction(100), queue_frames: int = 0) -> Carry:
    """A device that loses a ratio of all frames, behind a limit with a queue that drains after the trial."""
    random = Random(seed)

    def carry(spec: TrialSpec, sent: int) -> int:
        (stream,) = spec.streams
        limit_fps = capacity_pct / 100 * max_rate_fps(stream.frame_size_bytes, GIGABIT)
        excess = max(Fraction(0), 1 - limit_fps / stream.rate_fps) * stream.frame_count
        overflow = max(0, int(excess) - queue_frames) * len(stream.tx_ports)
        return sent - overflow - binomial(random, sent - overflow, ratio)

    return carry


def run(carry: Carry, *settings: str) -> tuple[MeshThroughput, Outcome]:
    test = FullyMeshed()
    parameters = resolve(test.name, test.parameters, ("parts=throughput", *settings))
    (unit,) = test.units(parameters, (64,))
    found = test.run_unit(unit, BED, parameters, FakeMeasurer(carry))
    assert isinstance(found, MeshThroughput)
    return found, test.assemble(BED, parameters, {unit: found})


@pytest.mark.parametrize("ratio", [1e-2, 1e-3, 3e-4])
@pytest.mark.parametrize("capacity_pct", ["100", "60", "17.55"])
@pytest.mark.parametrize("seed", range(5))
def test_a_ratio_that_does_not_depend_on_the_load_is_named_and_never_passes(
    ratio: float, capacity_pct: str, seed: int
) -> None:
    found, outcome = run(device(seed, ratio, Fraction(capacity_pct)))
    assert found.search.state is Verdict.FAIL and found.search.throughput_pct is None
    rare = found.search.rare_loss
    assert rare is not None and rare.independent
    assert rare.interval[0] / 1.3 <= ratio <= rare.interval[1] * 1.3
    assert abs(rare.forwarded_pct - float(capacity_pct)) < 2
    top = outcome.findings[0]
    assert top.startswith(
        f"64 B: loses about {100 * rare.ratio:.2g} % of the frames at every load, independent of load"
    )
    assert "acceptable_loss_pct=" in top and "MLRsearch" in top


@pytest.mark.parametrize("ratio", [1e-3, 1e-4])
@pytest.mark.parametrize("seed", range(5))
def test_the_loss_limit_that_is_suggested_finds_the_capacity(ratio: float, seed: int) -> None:
    _, outcome = run(device(seed, ratio, Fraction(60)), "search_min_pct=1")
    suggested = next(word for word in outcome.findings[0].replace(",", " ").split() if "acceptable_loss_pct" in word)
    found, again = run(device(seed + 100, ratio, Fraction(60)), suggested, "search_min_pct=1")
    assert found.search.throughput_pct == pytest.approx(60, abs=0.5)
    assert not [text for text in again.findings if "loses about" in text]


def test_a_few_losses_far_below_the_capacity_are_named_without_calling_them_independent() -> None:
    named = 0
    for seed in range(20):
        found, outcome = run(device(seed, 1e-5), "search_method=bisect")
        rare = found.search.rare_loss
        if rare is None:
            # Nothing was lost but near the maximum, which may be lack of capacity.
            assert found.search.throughput_pct is not None and found.search.throughput_pct > 80
            continue
        named += 1
        if not rare.independent:
            assert "at loads far below what it forwards" in outcome.findings[0]
            assert "or a link or port carries far less than others" in outcome.findings[0]
            assert "lack of capacity" not in outcome.findings[0]
    assert named > 3


def test_losses_at_an_output_that_the_pattern_asks_for_too_much_are_not_rare() -> None:
    """Three ports send to one, which carries a third of each; the other way round, all arrives."""
    topology = parsed(switch(ports=4, port="queue_frames: 16"))
    quick = (
        "learning_wait_ms=1",
        "settle_ms=1",
        "restabilise_ms=0",
        "scaled_frames=2000",
        "parts=throughput",
        "search_resolution_pct=2",
    )
    _, outcome, trials = run_on_sim(PartiallyMeshed(), topology, (128,), *quick)
    assert any(result.lost_frames for _, result in trials)
    assert not [text for text in outcome.findings if "loses about" in text]


@pytest.mark.parametrize("queue_frames", [0, 10, 1000, 10_000])
@pytest.mark.parametrize("capacity_pct", ["99.74", "94", "60", "17.55", "3.1", "0.7"])
@pytest.mark.parametrize("settings", [(), ("search_method=linear_down",), ("search_method=combo",)])
def test_lack_of_capacity_is_no_rare_loss(capacity_pct: str, queue_frames: int, settings: tuple[str, ...]) -> None:
    found, outcome = run(device(1, 0, Fraction(capacity_pct), queue_frames), *settings)
    assert found.search.rare_loss is None
    assert not [text for text in outcome.findings if "loses about" in text]


def test_a_device_that_collapses_under_overload_has_no_rare_loss() -> None:
    def collapse(spec: TrialSpec, sent: int) -> int:
        return sent if spec.streams[0].rate_fps <= 200_000 else sent // 1000

    assert run(collapse)[0].search.rare_loss is None


def test_a_low_result_is_tried_with_as_many_frames_as_the_maximum() -> None:
    """A device that loses every 5,000th frame of a port passes only trials that are shorter than that."""
    found, _ = run(lambda spec, sent: sent - sent // 10_000)
    frames = [row.tx_frames for row in found.search.rows]
    passed = [row.tx_frames for row in found.search.rows if row.verdict is Verdict.PASS]
    assert passed and max(passed) < 10_000, "believed by the search"
    assert found.search.state is Verdict.FAIL and frames[-1] == pytest.approx(frames[0], rel=1e-3)


def test_durations_that_are_asked_for_stay_what_they_are() -> None:
    found, _ = run(device(1, 0, Fraction(20)), "duration_ms=10")
    assert {row.duration_ms for row in found.search.rows} == {10}


def test_pass_says_which_loss_it_excludes() -> None:
    found, outcome = run(device(1, 0, Fraction(50)))
    frames = found.search.shown.tx_frames
    assert frames == pytest.approx(60_000, rel=1e-3)
    assert found.search.excluded_loss_ppm == pytest.approx(3e6 / frames)
    assert "With 95 % confidence, a result excludes a loss ratio above 3/n of the n frames sent: 0.005 %." in (
        outcome.tables[0].note
    )
    failed, outcome = run(lambda spec, sent: 0)
    assert failed.search.excluded_loss_ppm is None and "confidence" not in outcome.tables[0].note


def test_a_loss_that_was_accepted_is_not_excluded_by_the_rule_for_trials_without_loss() -> None:
    found, outcome = run(lambda spec, sent: sent - sent // 1000, "acceptable_loss_pct=1")
    shown = found.search.shown
    assert found.search.throughput_pct == 100 and shown.lost_frames == shown.tx_frames // 1000
    _, high = loss_interval(shown.lost_frames, shown.tx_frames)
    assert found.search.excluded_loss_ppm == pytest.approx(1e6 * high) and high > 1e-3
    note = outcome.tables[0].note
    assert f"a loss ratio above the upper end of the interval of the accepted losses: {100 * high:.2g} %." in note
    assert "3/n" not in note


def test_a_sweep_shows_its_losses_with_an_interval() -> None:
    test = FullyMeshed()
    parameters = resolve(test.name, test.parameters, ("parts=forwarding", "sweep_start_pct=90"))
    (unit,) = test.units(parameters, (64,))
    found = test.run_unit(unit, BED, parameters, FakeMeasurer(lambda spec, sent: sent - sent // 1000))
    tables = test.assemble(BED, parameters, {unit: found}).tables
    (table,) = (one for one in tables if one.name == "sweep_loss_interval")
    assert [row["load_pct"] for row in table.rows] == [90, 100]
    for row in table.rows:
        low, ratio, high = (float(str(row[key])) for key in ("loss_low_pct", "loss_pct", "loss_high_pct"))
        assert low < ratio < high and ratio == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize(
    ("lost", "frames", "low", "high"),
    [
        # Wilson 1927, worked out by hand with z = 1.959964.
        (1, 10, 0.017876, 0.404150),
        (50, 100, 0.403832, 0.596168),
        (10, 10_000, 0.000543288, 0.00183987),
    ],
)
def test_intervals_of_a_ratio(lost: int, frames: int, low: float, high: float) -> None:
    assert loss_interval(lost, frames) == pytest.approx((low, high), rel=2e-4)


def test_without_loss_the_interval_ends_at_three_in_n() -> None:
    assert loss_interval(0, 3000) == (0, 0.001)
    assert excluded_ratio(0, 3000) == 0.001
    assert pytest.approx(0.05, rel=0.01) == (1 - 0.001) ** 3000, "what 95 % confidence means"
    assert loss_interval(0, 0) == loss_interval(0, 1) == (0, 1)
    assert loss_interval(7, 7)[1] == 1
    assert loss_interval(1, 1)[0] == pytest.approx(1 / (1 + 1.959964**2)), "Wilson 1927 of one frame"


@pytest.mark.parametrize(
    ("lost", "frames", "error_pct"), [(0, 3000, 0.1), (1, 10, 30.4150), (99, 100, 4.4487), (1, 1, 79.3452)]
)
def test_the_error_of_a_loss_is_the_larger_side_of_its_interval(lost: int, frames: int, error_pct: float) -> None:
    assert loss_error_pct(lost, frames) == pytest.approx(error_pct, rel=2e-4)
    assert loss_error_pct(0, 0) is None


def test_the_cells_of_a_loss_tell_frames_that_came_late_and_bursts_that_are_forgiven() -> None:
    """Of 100,000 frames 50 were lost, 40 of which may have come late; each of two senders is forgiven 1,000."""
    cells = interval_cells(50, 100_000, 40, senders=2)
    assert cells == {
        "loss_low_pct": 100 * loss_interval(10, 100_000)[0],
        "loss_high_pct": 100 * loss_interval(50, 100_000)[1],
        "bucket_loss_pct": pytest.approx(2 + 100 * loss_interval(50, 100_000)[1]),
    }
    assert interval_cells(50, 100_000)["loss_low_pct"] == 100 * loss_interval(50, 100_000)[0], "none is doubtful"
    assert interval_cells(0, 10)["bucket_loss_pct"] == interval_cells(0, 0)["bucket_loss_pct"] == 100


def test_a_bucket_hides_most_in_the_trial_in_which_a_sender_has_sent_least() -> None:
    for frames, most in (((4000, 2500), "40 %"), ((800,), "100 %"), ((), "100 %")):
        assert f"loses up to {most} more of them" in forgiven_text(frames)
        assert forgiven_text(frames, LEARNS).endswith(f"learns up to {most} fewer of more addresses at the same rate.")


@pytest.mark.parametrize(
    ("test", "settings", "words"),
    [
        ("rfc2889.address_caching", {}, "learns up to 100 % fewer of more addresses"),
        ("rfc2889.address_learning", {}, "learns up to 100 % fewer of more addresses"),
        (
            "messages.latency",
            {"messages": "20", "message_frames": "100", "messages_per_s": "100"},
            "loses up to 50 % more of them",
        ),
    ],
)
def test_rates_and_losses_have_a_word_on_what_a_bucket_hides(test: str, settings: dict[str, str], words: str) -> None:
    tables = measured(test, SmallDevice((10**8,) * 3), 128, settings).outcome.tables
    assert any(f"forgives each sender a burst of 1,000 frames, as policers do, {words}" in one.note for one in tables)


def test_the_interval_holds_the_true_ratio_nineteen_times_of_twenty() -> None:
    random = Random(9)
    held = 0
    for _ in range(400):
        low, high = loss_interval(binomial(random, 20_000, 1e-3), 20_000)
        held += low <= 1e-3 <= high
    assert 0.92 <= held / 400 <= 0.98


Row = tuple[int, int, int, int]
"""Load in percent, duration, frames, lost frames."""
FORWARDED: Row = (100, 1, 10_000, 0)


def found_in(*rows: Row, accepted: Fraction = Fraction(0)) -> RareLoss | None:
    return rare_loss([CountedTrial(Fraction(load), *rest) for load, *rest in rows], accepted)


def rare(frames: int, lost: int, low: int, high: int, *, independent: bool) -> RareLoss:
    return RareLoss(
        independent=independent,
        frames=frames,
        lost_frames=lost,
        lowest_pct=low,
        highest_pct=high,
        forwarded_pct=100,
    )


def test_copies_that_are_lost_together_are_one_loss() -> None:
    """Of 10,000 frames 100, 110 and 90 were lost, each with its eight copies: as likely as not by chance."""
    counts = [(10, 800), (20, 880), (40, 720)]
    copies = [CountedTrial(Fraction(load), 1, 80_000, lost, alone=1 / 8) for load, lost in counts]
    found = rare_loss(copies)
    assert found is not None and found.independent and (found.lost_frames, found.frames) == (2400, 240_000)
    assert found.interval == loss_interval(300, 30_000)
    assert together([found, found]).interval == loss_interval(600, 60_000)
    assert together([found, replace(found, corrupted_frames=3)]).corrupted_frames == 3
    one_by_one = rare_loss([replace(trial, alone=1.0) for trial in copies])
    assert one_by_one is not None and one_by_one.frames == 160_000, "the third trial would differ too much"


@pytest.mark.parametrize(
    ("lossy", "forwarded", "named"),
    [
        pytest.param((90, 1, 10_000, 1), FORWARDED, True, id="at 90 % of the capacity"),
        pytest.param((91, 1, 10_000, 1), FORWARDED, False, id="nearer to it"),
        pytest.param((90, 1, 20_000, 1), FORWARDED, True, id="as long as the trial that was forwarded"),
        pytest.param((50, 1, 20_000, 1), (100, 2, 10_000, 0), True, id="shorter than that"),
        pytest.param((50, 4, 10_000, 1), (100, 2, 9_949, 0), True, id="50 frames more in twice its time"),
        pytest.param((50, 2, 10_000, 1), (100, 1, 9_899, 0), False, id="100 frames more, as behind a buffer"),
        pytest.param((50, 2, 10_000, 1), (100, 1, 9_950, 51), False, id="the same, of more that were sent"),
        pytest.param((50, 1, 1, 1), FORWARDED, True, id="a trial of one frame"),
    ],
)
def test_a_loss_has_another_reason_well_below_what_was_forwarded_for_as_long(
    lossy: Row, forwarded: Row, named: bool
) -> None:
    """Of trials that were forwarded in less time, a buffer may be the reason."""
    load, _, frames, lost = lossy
    expected = rare(frames, lost, load, load, independent=False) if named else None
    assert found_in(lossy, forwarded) == expected
    assert found_in(lossy, (70, 1, 0, 0), forwarded) == expected, "nothing was sent"


def test_a_ratio_that_is_accepted_is_no_rare_loss() -> None:
    lossy = (50, 1, 4, 1)
    assert found_in(lossy, FORWARDED, accepted=Fraction(1, 4)) is None
    assert found_in(lossy, FORWARDED, accepted=Fraction(1, 5)) == rare(4, 1, 50, 50, independent=False)


@pytest.mark.parametrize(
    ("lossy", "top", "expected"),
    [
        pytest.param(
            ((20, 5), (40, 5)), (10_000, 0), rare(20_000, 10, 20, 40, independent=True), id="G of 8.11 is above 8"
        ),
        pytest.param(
            ((20, 5), (40, 5)), (9_500, 0), rare(29_500, 10, 20, 40, independent=True), id="G of 7.77 is below 8"
        ),
        pytest.param(
            ((20, 5), (45, 5), (90, 5)), (10_000, 0), rare(40_000, 15, 20, 90, independent=True), id="at 90 % as well"
        ),
        pytest.param(((20, 4), (40, 4)), (10_000, 0), rare(20_000, 8, 20, 40, independent=False), id="too few"),
        pytest.param(((21, 5), (40, 5)), (10_000, 0), rare(20_000, 10, 21, 40, independent=False), id="too near"),
    ],
)
def test_a_ratio_is_independent_of_loads_that_are_far_apart(
    lossy: tuple[tuple[int, int], ...], top: tuple[int, int], expected: RareLoss
) -> None:
    """Trials of 10,000 frames, and one at the capacity, which belongs to them where the G test allows it.

    Three ratios have two degrees of freedom: three deviations above them are 2 + 3 * sqrt(2 * 2).
    """
    assert found_in(*((load, 1, 10_000, lost) for load, lost in lossy), (100, 1, *top)) == expected


def test_ratios_are_the_same_up_to_three_deviations_of_the_g_test() -> None:
    """50, 50 and 29 of 100,000 frames: 4 * 50 * ln(50 / 43) + 2 * 29 * ln(29 / 43) = 7.3, below 8.

    The loss at the top makes the capacity a little less than its load.
    """
    whole = found_in((20, 1, 100_000, 50), (40, 1, 100_000, 50), (100, 1, 100_000, 29))
    assert whole is not None and whole.independent
    assert (whole.frames, whole.lost_frames, whole.ratio, whole.highest_pct) == (300_000, 129, 0.00043, 100)
    assert whole.forwarded_pct == pytest.approx(99.971)
