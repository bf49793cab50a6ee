"""What a written number stands for: one rational, or all numbers that round to one double.

A decimal of at most DIGITS significant digits, a ratio and a percentage of such are exact: 0.1 is
one tenth, not the double next to it. Two decimals of so few digits never share a double, so that
`repr` gives back the one that was written. A longer decimal stands for every number that rounds to
the same double: what a ratio became when it was printed may be one of them.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Self

from privcalc.record import record

DIGITS = 15
# The largest double.
LARGEST = math.nextafter(math.inf, 0.0)
UNIT = Fraction(1, 2**53)
# Half the distance of subnormal doubles.
SMALLEST_HALF_STEP = Fraction(1, 2**1075)


class Written(float):
    """A double that does not stand for the decimal that `repr` prints of it.

    Attributes:
        exact: the number it stands for, or None for all numbers that round to it.
    """

    __slots__ = ("exact",)

    exact: Fraction | None

    def __new__(cls, value: float, exact: Fraction | None) -> Self:
        """Keep the exact value beside its nearest double."""
        self = super().__new__(cls, value)
        self.exact = exact
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Say how a copy is made."""
        return type(self), (float(self), self.exact)


def exact(value: float) -> Fraction | None:
    """Return the number that a value of a specification stands for; None where it is many."""
    if isinstance(value, Written):
        return value.exact
    if isinstance(value, int):
        return Fraction(value)
    # The .0 of a whole number is not of its digits.
    text = repr(float(value)).removesuffix(".0")
    return Fraction(text) if significant_digits(text) <= DIGITS else None


def enclosure(value: float) -> tuple[Fraction, Fraction]:
    """Return the least and the largest number that a value may stand for."""
    known = exact(value)
    if known is not None:
        return known, known
    centre = Fraction(value)
    half = max(abs(centre) * UNIT, SMALLEST_HALF_STEP)
    return centre - half, centre + half


def rounding(value: float) -> float:
    """Bound |double - number| / |double| for the number that a value stands for; 0 if they agree.

    The double is the nearest one: 2^-53 relative, and 2^-1075 absolute near the end of the range.
    """
    if value == 0.0 or exact(value) == Fraction(value):
        return 0.0
    return float(max(UNIT, SMALLEST_HALF_STEP / abs(Fraction(value))))


# A double, its relative error, and the number that it stands in for where that is known and not the
# double.
Nearest = tuple[float, float, Fraction | None]


@record
class Enclosed:
    """A number >= 0 between two rationals, which are the same where it is known.

    Products and quotients of written numbers are formed here and rounded once, so that no
    mechanism counts its roundings by hand.
    """

    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, value: float) -> Self:
        """Return what a written value may stand for."""
        return cls(*enclosure(value))

    def __add__(self, other: Enclosed) -> Enclosed:
        """Add another."""
        return Enclosed(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Enclosed | int | Fraction) -> Enclosed:
        """Multiply by a number >= 0."""
        if isinstance(other, Enclosed):
            return Enclosed(self.low * other.low, self.high * other.high)
        return Enclosed(self.low * other, self.high * other)

    def __truediv__(self, other: Enclosed | int | Fraction) -> Enclosed:
        """Divide by a positive number."""
        if isinstance(other, Enclosed):
            return Enclosed(self.low / other.high, self.high / other.low)
        return Enclosed(self.low / other, self.high / other)

    @classmethod
    def probability(cls, value: float) -> Self:
        """Return what a written probability may stand for: 1 at most."""
        low, high = enclosure(value)
        return cls(low, high) if high <= 1 else cls(Fraction(1), Fraction(1))

    @classmethod
    def about(cls, value: float, error: float, known: Fraction | None) -> Enclosed:
        """Return what `nearest` has rounded: no less."""
        centre = Fraction(value)
        if known is not None or not error:
            return cls(known or centre, known or centre)
        half = centre * Fraction(error)
        return cls(centre - half, centre + half)

    def root(self) -> Enclosed:
        """Return the square root, exactly where it is rational, else to 2^-100 of itself."""
        low, high = _root(self.low)[0], _root(self.high)[1]
        return Enclosed(low, high)

    @property
    def exact(self) -> Fraction | None:
        """The number itself, where it is known."""
        return self.low if self.low == self.high else None

    def doubles(self) -> tuple[float, float]:
        """Return the greatest double that is not above it, and the least that is not below."""
        return doubles(self.low)[0], doubles(self.high)[1]

    def nearest(self) -> Nearest:
        """Return the double in the middle, a bound on its relative error, and the number.

        Beyond the range of doubles that is infinity or 0, which every mechanism refuses.
        """
        try:
            value = float((self.low + self.high) / 2)
        except OverflowError:
            return math.inf, math.inf, self.exact
        centre = Fraction(value)
        if self.low == self.high == centre:
            return value, 0.0, None
        if not centre:
            return 0.0, math.inf, self.exact
        error = float(max(centre - self.low, self.high - centre) / centre)
        return value, math.nextafter(error, math.inf), self.exact


def _root(square: Fraction) -> tuple[Fraction, Fraction]:
    """Return rationals below and above the square root of a number >= 0."""
    top, bottom = square.numerator, square.denominator
    # sqrt(top / bottom) = sqrt(top bottom) / bottom.
    product = top * bottom
    shift = max(0, 110 - product.bit_length() // 2)
    floor = math.isqrt(product << (2 * shift))
    unit = bottom << shift
    if floor * floor == product << (2 * shift):
        return Fraction(floor, unit), Fraction(floor, unit)
    return Fraction(floor, unit), Fraction(floor + 1, unit)


def doubles(number: Fraction) -> tuple[float, float]:
    """Return the greatest double that is not above a number, and the least that is not below."""
    try:
        nearest = float(number)
    except OverflowError:
        above = (LARGEST, math.inf)
        return above if number > 0 else (-math.inf, -LARGEST)
    if Fraction(nearest) == number:
        return nearest, nearest
    if nearest > number:
        return math.nextafter(nearest, -math.inf), nearest
    return nearest, math.nextafter(nearest, math.inf)


def decimal_above(number: Fraction) -> float:
    """Return the least double that prints as a decimal that is at least a number >= 0."""
    value = math.nextafter(float(number), 0.0)
    while Fraction(repr(value)) < number:
        value = math.nextafter(value, math.inf)
    return value


def decimal_below(number: Fraction) -> float:
    """Return the greatest double that prints as a decimal that is at most a number >= 0."""
    value = math.nextafter(float(number), math.inf)
    while Fraction(repr(value)) > number:
        value = math.nextafter(value, 0.0)
    return value


def shown(value: float) -> str:
    """Return the digits of a double so that what is read again stands for no other number.

    A double that stands for more, or for something else, than the short decimal that it prints as
    gets 17 digits, which stand for all numbers that round to it.
    """
    text = repr(value)
    if isinstance(value, Written) and significant_digits(text.removesuffix(".0")) <= DIGITS:
        # Zeros at the end count after a point.
        longer = f"{value:.17g}"
        return longer if significant_digits(longer) > DIGITS else f"{value:.16e}"
    return text


def distinct(value: object) -> object:
    """Return a key that tells apart values that compare equal but stand for different numbers."""
    if isinstance(value, float):
        return value, exact(value)
    if isinstance(value, tuple):
        return tuple(map(distinct, value))
    fields = getattr(value, "__record_fields__", None)
    if fields is not None:
        return type(value), *(distinct(getattr(value, name)) for name in fields)
    return value


def standing_for(value: float, number: Fraction | None) -> float:
    """Return the double `value` so that `exact` gives `number`."""
    plain = float(value)
    return plain if exact(plain) == number else Written(plain, number)


def significant_digits(text: str) -> int:
    """Count the significant digits of a decimal; zeros at its end count after a point only."""
    mantissa = Decimal(text).as_tuple()
    found = "".join(map(str, mantissa.digits)).lstrip("0")
    if "." not in text:
        found = found.rstrip("0")
    return len(found)
