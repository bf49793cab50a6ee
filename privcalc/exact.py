"""What a written number stands for: itself, as a rational, whatever its length.

0.1 is one tenth and not the double next to it, 256/60000 is that ratio, and a decimal of 30 digits
is that decimal. Engines work at doubles; whoever hands a number to one says by how much the double
is off (`Enclosed.nearest`) or takes the double on the safe side (`Enclosed.doubles`). A plain float
stands for the decimal that `repr` prints of it, which is the shortest that rounds to it; every
other number is a `Written`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

from privcalc.record import record

# The most digits of a decimal that is read: more than any double has, written out.
MOST_DIGITS = 800
_LONG = Context(prec=2000)
LARGEST = math.nextafter(math.inf, 0.0)


class Written(float):
    """A double that stands for another number than the decimal that `repr` prints of it.

    Its text is how it was written, or "" where it was computed.
    """

    __slots__ = ("exact", "text")

    exact: Fraction
    text: str

    def __new__(cls, value: float, exact: Fraction, text: str = "") -> Self:
        """Keep the exact value with its nearest double."""
        self = super().__new__(cls, value)
        self.exact, self.text = exact, text
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Say how a copy is made."""
        return type(self), (float(self), self.exact, self.text)


class Spelled(float):
    """A double that keeps how it was written, and is printed by specifications as any other."""

    __slots__ = ("text",)

    text: str

    def __new__(cls, value: float, text: str) -> Self:
        """Keep the text with the number."""
        self = super().__new__(cls, value)
        self.text = text
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Say how a copy is made."""
        return type(self), (float(self), self.text)


def exact(value: float) -> Fraction:
    """Return the number that a value of a specification stands for."""
    if isinstance(value, Written):
        return value.exact
    return Fraction(value) if isinstance(value, int) else _decimal(float(value))


@lru_cache(8192)
def _decimal(value: float) -> Fraction:
    # Twice as fast as reading the text at once, and the same.
    return Fraction(Decimal(repr(value)))


# A double, its relative error, and the number it stands in for where another is known.
Nearest = tuple[float, float, Fraction | None]
_Operation = Callable[[Fraction, Fraction], Fraction]


@record
class Enclosed:
    """A number >= 0 between two rationals, which are the same where it is known.

    Products and quotients of written numbers are formed here and rounded once, so that no
    mechanism counts its roundings by hand. Its square may be known where it is no rational.
    """

    low: Fraction
    high: Fraction
    square: Fraction | None = None

    @classmethod
    def of(cls, value: float) -> Self:
        """Return the number that a written value stands for."""
        number = exact(value)
        return cls(number, number)

    def __add__(self, other: Enclosed) -> Enclosed:
        """Add another."""
        return Enclosed(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Enclosed | int | Fraction) -> Enclosed:
        """Multiply by a number >= 0."""
        return self._with(other, operator.mul)

    def __truediv__(self, other: Enclosed | int | Fraction) -> Enclosed:
        """Divide by a positive number."""
        return self._with(other, operator.truediv)

    def _with(self, other: Enclosed | int | Fraction, form: _Operation) -> Enclosed:
        if not isinstance(other, Enclosed):
            other = Enclosed(Fraction(other), Fraction(other))
        own, its = self.exact, other.exact
        if own is not None and its is not None:
            number = form(own, its)
            return Enclosed(number, number)
        square = None
        if self.squared is not None and other.squared is not None:
            square = form(self.squared, other.squared)
        ends = other.low, other.high
        low, high = ends if form is operator.mul else ends[::-1]
        return Enclosed(form(self.low, low), form(self.high, high), square)

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
        return Enclosed(low, high, self.exact if low < high else None)

    @property
    def squared(self) -> Fraction | None:
        """The square of the number, where it is known."""
        return self.square if self.low < self.high else self.low * self.low

    @property
    def exact(self) -> Fraction | None:
        """The number itself, where it is known."""
        return self.low if self.low is self.high or self.low == self.high else None

    def doubles(self) -> tuple[float, float]:
        """Return the greatest double that is not above it, and the least that is not below."""
        return doubles(self.low)[0], doubles(self.high)[1]

    def nearest(self) -> Nearest:
        """Return the double in the middle, a bound on its relative error, and the number.

        Beyond the range of doubles that is infinity or 0, which every mechanism refuses.
        """
        return self._nearest

    @cached_property
    def _nearest(self) -> Nearest:
        known = self.exact
        try:
            value = float((self.low + self.high) / 2 if known is None else known)
        except OverflowError:
            return math.inf, math.inf, known
        # In integers: fractions take longer.
        top, bottom = value.as_integer_ratio()
        pairs = [(top * end.denominator, end.numerator * bottom) for end in (self.low, self.high)]
        if known is not None and pairs[0][0] == pairs[0][1]:
            return value, 0.0, None
        if not top:
            return 0.0, math.inf, known
        error = max(abs(own - its) / own for own, its in pairs)
        return value, math.nextafter(error, math.inf), known


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
        return (LARGEST, math.inf) if number > 0 else (-math.inf, -LARGEST)
    top, bottom = nearest.as_integer_ratio()
    off = top * number.denominator - number.numerator * bottom
    if not off:
        return nearest, nearest
    if off > 0:
        return math.nextafter(nearest, -math.inf), nearest
    return nearest, math.nextafter(nearest, math.inf)


def decimal_above(number: Fraction) -> float:
    """Return the least double, or infinity, that prints as a decimal that is >= a number >= 0."""
    value = math.nextafter(float(number), 0.0)
    while value < math.inf and Fraction(repr(value)) < number:
        value = math.nextafter(value, math.inf)
    return value


def decimal_below(number: Fraction) -> float:
    """Return the greatest double that prints as a decimal that is at most a number >= 0."""
    value = min(math.nextafter(float(number), math.inf), LARGEST)
    while Fraction(repr(value)) > number:
        value = math.nextafter(value, 0.0)
    return value


def shown(value: float) -> str:
    """Return a text that is read as the number that a value stands for: a decimal or a ratio."""
    if not isinstance(value, Written):
        return repr(value)
    return value.text or decimal_text(value.exact) or str(value.exact)


def decimal_text(number: Fraction) -> str | None:
    """Return a rational as a decimal with all its digits; None where none of 2,000 is equal."""
    if pow(10, _LONG.prec, number.denominator):
        return None
    decimal = _LONG.normalize(_LONG.divide(Decimal(number.numerator), Decimal(number.denominator)))
    if Fraction(decimal) != number:
        return None
    plain = -6 < decimal.adjusted() < 22
    return f"{decimal:f}" if plain else f"{decimal:e}".replace("e+", "e")


def distinct(value: object) -> object:
    """Return a key that tells apart values that compare equal but stand for different numbers.

    A plain double stands for one decimal, and is in a tuple, as no whole number is.
    """
    if isinstance(value, float):
        return (value, value.exact) if isinstance(value, Written) else (value,)
    if isinstance(value, tuple):
        return tuple(map(distinct, value))
    fields = getattr(value, "__record_fields__", None)
    if fields is not None:
        return type(value), *(distinct(getattr(value, name)) for name in fields)
    return value


def standing_for(value: float, number: Fraction, text: str = "") -> float:
    """Return the double `value` so that `exact` gives `number`."""
    plain = float(value)
    return plain if exact(plain) == number else Written(plain, number, text)
