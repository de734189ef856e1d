"""Frames that came after the time of transmission, by hand from the first and the last arrival."""

from __future__ import annotations

from fractions import Fraction

from p4mesh.measurement.departures import READ_ERROR_TICKS, Window

WINDOW = Window(transmission=Fraction(1000), starts=10)
ALLOWED = 1000 + 10 + READ_ERROR_TICKS


def test_arrivals_of_the_time_of_transmission_and_the_distance_of_starts_are_not_late() -> None:
    assert WINDOW.late_frames(501, 7, 7 + ALLOWED) == 0
    assert WINDOW.late_frames(501, 7, 7 + ALLOWED + 30, varied=30) == 0


def test_one_tick_more_makes_those_late_that_the_time_of_transmission_does_not_hold() -> None:
    """Evenly spread, 500 distances take the span; the time of transmission holds 1000 / span of them."""
    span = ALLOWED + 1
    assert WINDOW.late_frames(501, 7, 7 + span) == 501 - 1000 * 500 // span
    assert WINDOW.late_frames(501, 7, 7 + span + 30, varied=30) == 501 - 1000 * 500 // (span + 30)
    # Five frames in 2000 ticks are four distances, of which the time of transmission holds two.
    assert Window(Fraction(1000), 0).late_frames(5, 0, 2000) == 5 - 2
