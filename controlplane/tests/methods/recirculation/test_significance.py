"""Differences of repeated measurements, with intervals against published values of Welch's t."""

from __future__ import annotations

import pytest

from p4mesh.methods.recirculation.significance import delta_of


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
