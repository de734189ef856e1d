"""Times and ports in words for people: one notation everywhere."""

from __future__ import annotations

import pytest

from p4mesh.quantities import ports_text, time_text


@pytest.mark.parametrize(
    ("times_ns", "shown"),
    [
        ((0,), "0 ns"),
        ((999,), "999 ns"),
        ((1720,), "1.72 us"),
        ((36_910_000_000,), "36.91 s"),
        ((3_691_000_000_000,), "3,691 s"),
        ((672_000, 12_304_000), "0.672 to 12.3 ms"),
        ((369_123_456, 738_200_000), "369.1 to 738.2 ms"),
        ((672, 12_304_000), "672 ns to 12.3 ms"),
        ((60_000_000_000, 60_000_000_000), "60 s"),
    ],
)
def test_a_time_has_four_digits_and_never_an_exponent(times_ns: tuple[float, ...], shown: str) -> None:
    assert time_text(*times_ns) == shown
    assert time_text(*reversed(times_ns)) == shown


def test_ports_that_follow_each_other_are_a_range() -> None:
    assert ports_text([1, 2, 3, 4, 7]) == "1-4,7"
    assert ports_text([17, 18, 1]) == "17-18,1"
    assert ports_text([]) == ""
