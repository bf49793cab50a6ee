"""Bound: printed ends contain the certified ones, verdicts, widths."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from privcalc.bounds import MAX_DIGITS, Bound, Verdict, round_down, round_up
from privcalc.exact import exact

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NOT_NEGATIVE = st.floats(min_value=0.0, allow_nan=False, allow_infinity=False)
DIGITS = st.integers(1, 17)


@st.composite
def brackets(draw: st.DrawFn) -> Bound:
    """Draw brackets of every width, most of them narrow."""
    lower = draw(NOT_NEGATIVE)
    width = draw(st.sampled_from([0.0, 1e-16, 1e-13, 1e-10, 1e-6, 0.1, 10.0]))
    upper = draw(st.sampled_from([lower, math.nextafter(lower, math.inf), lower * (1 + width)]))
    return Bound(upper if math.isfinite(upper) else lower, lower)


def test_a_bracket_is_no_number() -> None:
    """What takes one for a number is told of its upper end, and of verdicts; a text it has."""
    bound: Any = Bound(1.25, 1.0)
    for take in (
        lambda: bound < 3,
        lambda: bound >= 3,
        lambda: max(3, bound),
        lambda: float(bound),
        lambda: round(bound, 2),
        lambda: f"{bound:.3f}",
    ):
        with pytest.raises(TypeError, match=r"\.upper.*\.verdict\(3\)"):
            take()
    assert f"{bound}" == str(bound)
    assert bound == Bound(1.25, 1.0)


class TestRounding:
    @given(FINITE, DIGITS)
    @example(0.1, 10)
    @example(5e-324, 1)
    @example(1.7976931348623157e308, 3)
    @example(9.9999999999, 10)
    def test_up_is_never_less(self, value: float, digits: int) -> None:
        """The printed upper end is at least the value, as exact numbers."""
        assert Fraction(round_up(value, digits)) >= Fraction(value)

    @given(FINITE, DIGITS)
    @example(0.1, 10)
    @example(-0.1, 10)
    @example(1.7976931348623157e308, 3)
    def test_down_is_never_more(self, value: float, digits: int) -> None:
        """The printed lower end is at most the value, as exact numbers."""
        assert Fraction(round_down(value, digits)) <= Fraction(value)

    @given(FINITE)
    def test_error_is_below_one_digit(self, value: float) -> None:
        """Rounding moves a value by less than one unit of the tenth digit."""
        error = Fraction(round_up(value)) - Fraction(round_down(value))
        assert error <= abs(Fraction(value)) * Fraction(10) ** (1 - MAX_DIGITS)


class TestDecimals:
    @given(brackets())
    @example(Bound(2.5, 2.25))
    @example(Bound(0.0, 0.0))
    def test_printed_bracket_contains_the_certified_one(self, bound: Bound) -> None:
        """Both printed ends lie outside, so the printed bracket is never inverted."""
        lower, upper = bound.decimals()
        assert bound.lower is not None
        assert Fraction(lower) <= Fraction(bound.lower) <= Fraction(bound.upper) <= Fraction(upper)

    @given(brackets())
    def test_unequal_ends_stay_apart(self, bound: Bound) -> None:
        """Digits suffice to tell the ends apart, or the ten digits are used up."""
        lower, upper = bound.decimals()
        if lower == upper:
            assert bound.lower is not None
            assert bound.width <= bound.upper * 10.0 ** (1 - MAX_DIGITS)

    def test_missing_lower_end_is_empty(self) -> None:
        """What is not known is not printed."""
        assert Bound(2.5).decimals() == ("", "2.5")


class TestVerdict:
    @given(brackets(), NOT_NEGATIVE)
    def test_matches_the_position_of_the_budget(self, bound: Bound, budget: float) -> None:
        """Within needs the upper end to fit; exceeded needs the lower end to be above.

        Both are numbers: a budget is the decimal that was written.
        """
        assert bound.lower is not None
        number = exact(budget)
        expected = Verdict.UNDECIDED
        if Fraction(bound.upper) <= number:
            expected = Verdict.WITHIN
        elif Fraction(bound.lower) > number:
            expected = Verdict.EXCEEDED
        assert bound.verdict(budget) is expected

    def test_without_lower_end_nothing_is_exceeded(self) -> None:
        """An upper bound cannot show that a budget is exceeded."""
        assert Bound(1e9).verdict(1.0) is Verdict.UNDECIDED


class TestBracket:
    @pytest.mark.parametrize(("upper", "lower"), [(1.0, 2.0), (math.nan, None), (1.0, math.nan)])
    def test_refuses_what_is_none(self, upper: float, lower: float | None) -> None:
        """An inverted bracket, or one with NaN, is a fault of the program."""
        with pytest.raises(AssertionError, match="not a bracket"):
            Bound(upper, lower)

    @given(brackets(), brackets())
    def test_maximum_contains_the_larger_number(self, one: Bound, other: Bound) -> None:
        """The maximum of any two contained numbers lies in the maximum bracket."""
        largest = one.maximum(other)
        assert largest.upper == max(one.upper, other.upper)
        assert largest.lower == max(one.lower or 0.0, other.lower or 0.0)

    def test_within_tolerance(self) -> None:
        """The tolerance is relative, with an absolute floor."""
        assert Bound(1.0 + 1e-10, 1.0).within_tolerance(1e-9, 0.0)
        assert not Bound(1.0 + 1e-8, 1.0).within_tolerance(1e-9, 0.0)
        assert Bound(1e-13, 0.0).within_tolerance(1e-9, 1e-12)
        assert not Bound(1.0).within_tolerance(1e-9, 1e-12)

    @given(st.fractions(0, 1000), brackets())
    @example(Fraction(3, 10), Bound(0.5, 0.25))
    @example(Fraction(3, 10), Bound(0.25, 0.125))
    def test_maximum_with_a_known_number(self, number: Fraction, other: Bound) -> None:
        """What is larger than a number that is known is not taken for it, in either order."""
        assert other.lower is not None
        for largest in (Bound.of(number).maximum(other), other.maximum(Bound.of(number))):
            low, high = largest.outward
            assert low is not None
            assert Fraction(high) >= max(number, Fraction(other.upper))
            assert Fraction(low) <= max(number, Fraction(other.lower))

    @given(st.floats(0.0, 0.5), st.floats(0.0, 0.5))
    @example(0.25, 2.0**-60)
    def test_a_mass_is_added_outward(self, one: float, other: float) -> None:
        """The ends of a sum enclose the sum of the ends, which is seldom a double."""
        found, total = Bound(one, one).plus(Bound(other, other)), Fraction(one) + Fraction(other)
        assert found.lower is not None
        assert Fraction(found.lower) <= total <= Fraction(found.upper)

    @given(brackets())
    @example(Bound(5.0 / 7.0, 5.0 / 7.0))
    @example(Bound(1.0 / 7.0, 1.0 / 7.0))
    @example(Bound(1.7976931348623157e308, 1.7976931348623157e308))
    def test_printed_ends_enclose(self, bound: Bound) -> None:
        """As the decimals that `repr` makes of them, not as doubles."""
        low, high = bound.printed
        assert low is not None
        assert bound.lower is not None
        assert Fraction(repr(low)) <= Fraction(bound.lower)
        assert high == math.inf or Fraction(repr(high)) >= Fraction(bound.upper)
