"""Numbers, times and ports in words for people: one notation everywhere."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

import p4mesh
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.quantities import (
    decimals_text,
    frame_sizes_text,
    grouped,
    least_text,
    most_text,
    number_text,
    ports_text,
    signed_text,
    time_text,
    typed_text,
)
from p4mesh.report.numbers import cell_text, text_with_bounds, text_with_error

WITH_EXPONENT = re.compile(r":[-+, ]?[0-9]*(?:\.[0-9]+)?[eEgG]\}")
"""``number_text`` and ``typed_text`` make numbers instead."""


@pytest.mark.parametrize(
    ("times_ns", "shown"),
    [
        ((0,), "0 ns"),
        ((999,), "999 ns"),
        ((1000,), "1 us"),
        ((999_999,), "1,000 us"),
        ((1_000_000,), "1 ms"),
        ((1_000_000_000,), "1 s"),
        ((1000, 1_000_000), "0.001 to 1 ms"),
        ((999, 1_000_000), "999 ns to 1 ms"),
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
    assert ports_text([1, 2, 5, 6]) == "1-2,5-6"
    assert ports_text([]) == ""


def test_frame_sizes_that_follow_each_other_are_a_range() -> None:
    assert frame_sizes_text([64, 65, 1518]) == "64, 65, 1518 B"
    assert frame_sizes_text([64, 65, 66, 1518, "imix"]) == "64 to 66, 1518, imix B"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (1_488_095, "1,488,095"),
        (1_488_095.24, "1,488,095"),
        (-100_000.6, "-100,001"),
        (99_999.46, "99,999.5"),
        (1 / 3, "0.333333"),
        (float("inf"), "inf"),
        (0.00005, "0.00005"),
        (-1.23456789e-9, "-0.00000000123457"),
        (1e21, "1,000,000,000,000,000,000,000"),
        (Fraction(1, 8), "0.125"),
    ],
)
def test_a_number_has_commas_between_thousands_six_digits_and_no_exponent(value: float | Fraction, shown: str) -> None:
    assert number_text(value) == shown


def test_a_number_has_the_digits_that_are_asked_for_and_all_of_its_whole_part() -> None:
    assert [number_text(1234.5678, digits) for digits in (2, 4, 6)] == ["1,235", "1,235", "1,234.57"]
    assert number_text(0.000171, 2) == "0.00017"


def test_decimals_are_rounded_half_up_and_zero_has_no_sign() -> None:
    assert [decimals_text(value, 3) for value in (69.0625, -0.0, -0.0004, -0.0005)] == [
        "69.063",
        "0.000",
        "0.000",
        "-0.001",
    ]
    assert [number_text(value) for value in (-0.0, Fraction(-1, 10**400))] == ["0", "0"]
    assert cell_text(fields.IPDV_AVG_US, -0.00001) == "0.0000"


def test_an_error_is_rounded_up() -> None:
    """Goal: an error of 0.07 frames/s is not +-0."""
    assert [cell_text(fields.MFR_ERROR_FPS, value) for value in (0.0, 0.07, 1.0, 0.1 + 0.2)] == ["0", "1", "1", "1"]
    assert cell_text(fields.AVG_ERROR_US, 0.1 + 0.2) == "0.3000", "noise of a float is none"


@pytest.mark.parametrize(
    ("value", "below", "above", "text"),
    [
        # Nine decimals of a time whose error is 127 times as large: 1.5048 and the 0.0118 of rounding.
        (0.011847406, 1.504743634, 1.504743634, "0.0 +-1.6"),
        (33303571.4, 109498.0, 109498.0, "33,303,571 +-109,499"),
        (2.145, 0.134, 0.134, "2.15 +-0.14"),
        (2.0, 0.0000012, 0.0000012, "2.0000000 +-0.0000012"),
        (2.0, 1e-12, 1e-12, "2.000000000 +-0.000000001"),
        (99.9958, 0.2, 0.03, "100.00 +0.03 -0.21"),
        (99.9958, 0.0, 0.03, "99.995800000 +0.03"),
        (99.9958, 0.0, 0.0, "99.995800000 +-?"),
    ],
)
def test_a_number_has_the_digits_of_its_error(value: float, below: float, above: float, text: str) -> None:
    """Goal: two digits of the error, as many decimals of the number, and nothing left out of what they say together."""
    column = Column("burst_s", "Burst", "s", 9)
    assert text_with_bounds(column, value, below, above) == text
    if below == above > 0:
        assert text_with_error(column, value, below) == text


def test_a_change_has_its_sign() -> None:
    assert [signed_text(value, 3) for value in (0.5, 0.0, -0.00001)] == ["+0.5", "0", "-0.00001"]


def test_a_number_that_is_typed_has_neither_commas_nor_an_exponent() -> None:
    assert [typed_text(value) for value in (1e6, 1e-7, Fraction(1, 3))] == ["1000000", "0.0000001", "0.333333333333"]


@pytest.mark.parametrize(
    ("limit", "most", "least"),
    [
        (Fraction(10**9, 1184), "844594.5945", "844594.5946"),
        (Fraction(10**9, 672), "1488095.238", "1488095.239"),
        (Fraction(1, 3 * 10**7), "0.00000003333333333", "0.00000003333333334"),
        (Fraction(15 * 10**13, 672), "223214285700", "223214285800"),
        (12_500, "12500", "12500"),
    ],
)
def test_a_limit_that_is_typed_is_not_beyond_itself(limit: Fraction | int, most: str, least: str) -> None:
    assert (most_text(limit), least_text(limit)) == (most, least)
    assert Fraction(most) <= limit <= Fraction(least)


def test_no_text_of_the_product_is_made_with_a_format_that_has_exponents() -> None:
    product = Path(p4mesh.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in product.rglob("*.py") if path.name != "quantities.py"}
    assert texts
    assert [(path.name, found) for path, text in texts.items() if (found := WITH_EXPONENT.findall(text))] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [("1488095", "1,488,095"), ("1000.50", "1,000.50"), ("10.", "10."), ("1e6", "1e6"), ("a.1", "a.1"), ("", "")],
)
def test_only_plain_numbers_get_commas(text: str, shown: str) -> None:
    assert grouped(text) == shown
