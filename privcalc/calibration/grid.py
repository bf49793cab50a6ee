"""The values that a search may return: whole numbers, or decimals of ten significant digits.

Both are numbered by integers in increasing order, so that two of them can be neighbours. A decimal
of ten digits is what a printed value is, and reading it again gives the same double.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Protocol

DIGITS = 10
LEAST_EXPONENT, LARGEST_EXPONENT = -300, 300


class Grid(Protocol):
    """Numbered values."""

    def value(self, index: int) -> float | int:
        """Return the value with a number."""
        ...

    def below(self, value: float) -> int:
        """Return the number of the largest value that is at most a given one."""
        ...

    def above(self, value: float) -> int:
        """Return the number of the least value that is at least a given one."""
        ...


class WholeNumbers:
    """Every integer is its own number."""

    def value(self, index: int) -> int:
        """Return the integer itself."""
        return index

    def below(self, value: float) -> int:
        """Round down."""
        return math.floor(value)

    def above(self, value: float) -> int:
        """Round up."""
        return math.ceil(value)


class Decimals:
    """Positive decimals of at most ten digits: m 10^(e - 9) with 10^9 <= m < 10^10.

    They are numbered by 9 10^9 e + m, which is one more for the next decimal, also where e changes.
    """

    _first: int = 10 ** (DIGITS - 1)
    _each: int = 9 * 10 ** (DIGITS - 1)

    def value(self, index: int) -> float:
        """Return the double that is nearest to the decimal."""
        exponent, rest = divmod(index - self._first, self._each)
        return float(f"{rest + self._first}e{exponent - DIGITS + 1}")

    def below(self, value: float) -> int:
        """Return the number of the largest decimal that is at most a positive number."""
        return self._index(value, ROUND_FLOOR)

    def above(self, value: float) -> int:
        """Return the number of the least decimal that is at least a positive number."""
        return self._index(value, ROUND_CEILING)

    def _index(self, value: float, rounding: str) -> int:
        # A decimal that was read is meant, and not the double that it became.
        decimal = Context(prec=DIGITS, rounding=rounding).create_decimal(repr(float(value)))
        exponent = decimal.adjusted()
        digits = int(decimal.scaleb(DIGITS - 1 - exponent))
        return self._each * exponent + digits


def exact_product(value: float, factor: float) -> float:
    """Return the double nearest to the product of two decimals, as they are written."""
    return float(Decimal(repr(value)) * Decimal(repr(factor)))
