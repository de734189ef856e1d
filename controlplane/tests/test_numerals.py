"""Numbers in what users write: exact, and only with the digits 0 to 9."""

from __future__ import annotations

from fractions import Fraction

import pytest

from p4mesh.numerals import decimal, integer, is_digits


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-1.5", Fraction(-3, 2)),
        (".25", Fraction(1, 4)),
        ("1E3", 1000),
        ("2e-3", Fraction(1, 500)),
        ("1/3", Fraction(1, 3)),
    ],
)
def test_a_decimal_is_exact(text: str, value: Fraction) -> None:
    assert decimal(text) == value


@pytest.mark.parametrize("text", ["", "+1", "1_0", "1e", "e3", "1/0", "1.5/2", "\u0663", "0x1", " 1", "nan", "inf"])
def test_other_notations_are_no_decimals(text: str) -> None:
    with pytest.raises(ValueError, match="not a number"):
        decimal(text)


def test_a_number_of_60_digits_is_read_and_a_longer_one_refused() -> None:
    longest = "9" * 60
    assert is_digits(longest) and integer(longest) == decimal(longest) == 10**60 - 1
    assert not is_digits(longest + "9")
    for read, what in ((integer, "an integer"), (decimal, "a number")):
        with pytest.raises(ValueError, match=f"not {what}"):
            read(longest + "9")


def test_an_exponent_of_four_characters_is_read_and_a_longer_one_refused() -> None:
    assert decimal("1e-999") == Fraction(1, 10**999)
    with pytest.raises(ValueError, match="not a number"):
        decimal("1e-1000")


@pytest.mark.parametrize("text", ["", "1.0", "--1", "+1", "1_0", "\u0663"])
def test_other_notations_are_no_integers(text: str) -> None:
    assert integer("-7") == -7
    with pytest.raises(ValueError, match="not an integer"):
        integer(text)


def test_digits_have_no_sign_and_are_those_of_ascii() -> None:
    assert is_digits("007")
    assert not any(map(is_digits, ("", "-1", "1.0", "\u0663")))
