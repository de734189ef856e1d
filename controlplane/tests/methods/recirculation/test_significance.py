"""Spreads, errors and differences of repeated measurements, against published values of Student's and Welch's t."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from p4mesh.methods.recirculation.significance import delta_of
from p4mesh.methods.results.repetition import sampling_error, spread_of


def test_repetitions_that_do_not_vary_have_an_interval_of_no_width() -> None:
    delta = delta_of([3.25, 3.25], [1.0, 1.0, 1.0])
    assert (delta.value, delta.low, delta.high, delta.differs) == (2.25, 2.25, 2.25, True)
    assert delta_of([1.0, 1.0], [1.0, 1.0]).differs is False


def test_one_repetition_has_no_interval() -> None:
    delta = delta_of([3.0], [1.0, 1.5])
    assert (delta.value, delta.low, delta.high, delta.differs) == (1.75, None, None, None)


def test_equal_spreads_of_five_have_eight_degrees_of_freedom() -> None:
    first, second = [10.0, 11.0, 12.0, 13.0, 14.0], [1.0, 2.0, 3.0, 4.0, 5.0]
    delta = delta_of(first, second)
    assert delta.value == 9.0
    # Both variances are 2.5, so the standard error is 1; t(0.975, 8) = 2.306.
    assert delta.low == pytest.approx(9 - 2.306, abs=1e-3)
    assert delta.high == pytest.approx(9 + 2.306, abs=1e-3)


def test_unequal_spreads_have_the_degrees_of_welch_and_satterthwaite() -> None:
    # One spread is 0: the degrees of freedom are those of the other, 4; t(0.975, 4) = 2.776.
    delta = delta_of([10.0, 11.0, 12.0, 13.0, 14.0], [11.0] * 5)
    assert delta.value == 1.0
    assert delta.low == pytest.approx(1 - 2.776 * 0.5**0.5, abs=1e-3)
    assert delta.differs is False


def test_the_error_of_time_stamps_widens_an_interval_at_both_ends() -> None:
    """Each of the two means is wrong by up to 0.5."""
    same = delta_of([3.25, 3.25], [1.0, 1.0], error=0.5)
    assert (same.low, same.high) == (1.25, 3.25)
    varied = delta_of([10.0, 11.0, 12.0, 13.0, 14.0], [1.0, 2.0, 3.0, 4.0, 5.0], error=0.5)
    assert varied.low == pytest.approx(9 - 2.306 - 1, abs=1e-3)
    assert varied.high == pytest.approx(9 + 2.306 + 1, abs=1e-3)


@pytest.mark.parametrize(("error", "differs"), [(1.124, True), (1.125, False)])
def test_an_interval_that_touches_zero_is_no_difference(error: float, differs: bool) -> None:
    """Of 2.25, the error of both means takes off 2.248 or 2.25."""
    assert delta_of([3.25, 3.25], [1.0, 1.0], error).differs is differs
    assert delta_of([1.0, 1.0], [3.25, 3.25], error).differs is differs


def mean(values: Sequence[int]) -> Fraction:
    return Fraction(sum(values), len(values))


def test_the_error_of_a_mean_is_that_of_student() -> None:
    """2, 4 and 6 deviate by 2: t(0.975, 2) = 4.3027 times 2 / sqrt(3)."""
    assert float(sampling_error([2, 4, 6], mean) or 0) == pytest.approx(4.3027 * 2 / 3**0.5, abs=1e-3)
    assert sampling_error([2, 2, 2], mean) == 0


def test_the_error_of_a_statistic_has_what_few_trials_shift_it_by() -> None:
    """The square of the mean of 1 and 3 is 4, and 1 or 9 without one: t(0.975, 1) = 12.706 times 4, and |5 - 4|."""
    for sign in (1, -1):
        found = sampling_error([1, 3], lambda values, sign=sign: sign * mean(values) ** 2)  # type: ignore[misc]
        assert float(found or 0) == pytest.approx(12.7062 * 4 + 1, abs=1e-3)


def test_a_statistic_that_one_trial_alone_has_is_without_an_error() -> None:
    assert sampling_error([1], mean) is None
    assert sampling_error([1, 2, 3], lambda values: mean(values) if 2 in values else None) is None
    assert sampling_error([1, 2], lambda values: None if len(values) == 2 else mean(values)) == 0


def test_a_spread_relative_to_a_mean_has_no_sign() -> None:
    spread = spread_of([-1, -3])
    assert (spread.minimum, spread.mean, spread.maximum) == (-3, -2, -1)
    assert spread.rsd_pct == pytest.approx(100 * 2**0.5 / 2)
