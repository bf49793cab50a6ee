"""What written numbers stand for."""

from __future__ import annotations

import math
from copy import copy, deepcopy
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privcalc.exact import (
    Enclosed,
    Written,
    decimal_text,
    doubles,
    exact,
    shown,
    standing_for,
)
from privcalc.spec.parse import parse


def read(text: str) -> float:
    """Return the value of one number of a specification."""
    value = parse(f"pure:epsilon={text}").tree.parameters[0][1]  # type: ignore[union-attr]
    assert isinstance(value, float)
    return value


@given(st.integers(0, 10**40 - 1), st.integers(0, 60))
def test_decimals_are_exact(mantissa: int, places: int) -> None:
    """A decimal of any length stands for itself, and not for its double."""
    number = Fraction(mantissa, 10**places)
    if number <= 700:
        assert exact(read(f"{mantissa}e-{places}")) == number


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_ratios_are_exact(top: int, bottom: int) -> None:
    """A ratio stands for the rational, its double is the nearest one."""
    number = Fraction(top, bottom)
    if number <= 700:
        value = read(f"{top}/{bottom}")
        assert exact(value) == number
        assert value == float(number)


@given(st.floats(0.0, 700.0))
def test_doubles_stand_for_the_decimal_that_python_prints(value: float) -> None:
    """What a program prints and a user pastes is the number that the double stands for."""
    assert exact(value) == Fraction(repr(value))
    assert exact(read(f"{value!r}")) == exact(value)


@given(st.integers(1, 10**30), st.integers(1, 10**30), st.integers(-1100, 1100))
def test_what_a_double_leaves_out(top: int, bottom: int, power: int) -> None:
    """The nearest double, its error raised and the doubles around are those of the rational."""
    number = Fraction(top, bottom) * Fraction(2) ** power
    value, error, known = Enclosed(number, number).nearest()
    low, high = doubles(number)
    if value in (0.0, math.inf):
        assert (error, known) == (math.inf, number)
        return
    centre = Fraction(value)
    assert value == float(number)
    if centre == number:
        assert (error, known, low, high) == (0.0, None, value, value)
        return
    assert known == number
    assert error == math.nextafter(float(abs(centre - number) / centre), math.inf)
    assert Fraction(low) < number
    assert value in (low, high)
    assert high == math.nextafter(low, math.inf)
    assert high == math.inf or number < Fraction(high)


@given(st.fractions(0, 10**9), st.fractions(Fraction(1, 10**9), 10**9))
def test_products_of_known_numbers_are_known(first: Fraction, second: Fraction) -> None:
    """Products and quotients are exact, and so is the square."""
    one, two = Enclosed(first, first), Enclosed(second, second)
    assert (one * two).exact == first * second
    assert (one / two).exact == first / second
    assert (one / two).squared == (first / second) ** 2
    root = two.root()
    assert (one * root).squared == first**2 * second
    assert (one / root).squared == first**2 / second


def test_a_known_number_has_one_form() -> None:
    """However it was computed, so that laws of equal numbers are equal."""
    two, four = Enclosed.of(2.0), Enclosed.of(4.0)
    assert four.root() == two == four / two == two * 1


def test_a_long_decimal_is_not_taken_for_a_short_one() -> None:
    """0.30000000000000000001 has the double of 0.3 and is not 0.3."""
    value = read("0.30000000000000000001")
    assert value == 0.3
    assert isinstance(value, Written)
    assert exact(value) == Fraction("0.30000000000000000001")
    assert exact(read("0.3000000000000000000000")) == Fraction(3, 10)
    assert exact(read("30%")) == Fraction(3, 10)
    assert exact(read("1/3%")) == Fraction(1, 300)


@given(st.fractions(min_value=0, max_value=700))
def test_texts_are_read_as_the_number(number: Fraction) -> None:
    """Decimals and ratios are printed with all that is needed to read them again."""
    value = standing_for(float(number), number)
    assert exact(read(shown(value))) == number
    assert exact(copy(value)) == exact(deepcopy(value)) == number


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0.25", "0.25"),
        ("1/3", None),
        ("1e-30", "1e-30"),
        ("-12.5", "-12.5"),
        ("123456789012345678901234567890", "1.2345678901234567890123456789e29"),
        ("0", "0"),
    ],
)
def test_decimal_texts(number: str, text: str | None) -> None:
    """A rational is a decimal where its denominator has no primes but 2 and 5."""
    assert decimal_text(Fraction(number)) == text
