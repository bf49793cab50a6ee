"""What written numbers stand for."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privcalc.exact import Written, enclosure, exact, rounding, significant_digits, standing_for
from privcalc.spec.parse import parse


def read(text: str) -> float:
    """Return the value of one number of a specification."""
    value = parse(f"pure:epsilon={text}").tree.parameters[0][1]  # type: ignore[union-attr]
    assert isinstance(value, float)
    return value


@given(st.integers(0, 10**15 - 1), st.integers(0, 30))
def test_short_decimals_are_exact(mantissa: int, places: int) -> None:
    """A decimal of at most 15 digits stands for itself, and not for its double."""
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
        low, high = enclosure(float(value))
        assert low <= number <= high or exact(float(value)) is not None


def test_long_decimals_stand_for_a_neighbourhood() -> None:
    """More than 15 digits are no exact number: a printed ratio may be among what is meant."""
    value = read("0.3333333333333333")
    assert exact(value) is None
    low, high = enclosure(value)
    assert low < Fraction(1, 3) < high
    assert high - low <= Fraction(value) / 2**52


def test_a_long_decimal_beside_a_short_one_is_not_taken_for_it() -> None:
    """0.30000000000000000001 has the double of 0.3 and is not 0.3."""
    value = read("0.30000000000000000001")
    assert value == 0.3
    assert isinstance(value, Written)
    assert exact(value) is None
    assert exact(read("30%")) == Fraction(3, 10)
    assert exact(read("1/3%")) == Fraction(1, 300)


def test_rounding_is_nothing_for_what_doubles_hold() -> None:
    """0.5 is a double, 0.1 is rounded by at most 2^-53."""
    assert rounding(0.5) == 0.0
    assert rounding(0.1) == 2.0**-53
    assert rounding(standing_for(1 / 3, Fraction(1, 3))) == 2.0**-53
    assert rounding(5e-324) >= 0.012


@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), ("100", 1), ("100.0", 4), ("0.0010", 2), ("1.20e5", 3), ("0", 0)],
)
def test_significant_digits(text: str, count: int) -> None:
    """Zeros before the first digit do not count, nor those at the end of a whole number."""
    assert significant_digits(text) == count
