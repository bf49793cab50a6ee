"""Numbers with a bound on their error, which grows by itself: rounding proved once an operation.

An enclosure stands for every real x with |x - value| <= error, element by element. The result of an
operation holds what exact arithmetic makes of all x and y that its operands hold. With u = UNIT,
|x - a| <= d, |y - b| <= e, and v the double that is computed:

* sums and differences round to nearest: d + e + u |v|. Below the normal range they are exact.
* products: |xy - ab| <= |a| e + |b| d + d e, and u |v| for rounding; TINY for underflow.
* quotients: x/y - a/b = ((x - a) - (a/b) (y - b)) / y, and |y| >= |b| - e: (d + |v| e) / (|b| - e).
  Infinite unless e <= |b| / 2, so that nothing cancels in the denominator.
* functions are off by FUNCTION_UNITS of their result (`rounding.py`), and by what they make of d:
  - exp: e^a (e^d - 1), where e^a is v, or TINY if v underflows;
  - expm1: the same, e^a being v + 1, off by FUNCTION_UNITS of it and of |v| <= v + 2;
  - log: |log(x / a)| <= r / (1 - r) for r = d / a < 1/2, as -log(1 - r) <= r / (1 - r);
  - log1p: the same with r = d / (1 + a);
  - logaddexp: moves by no more than its arguments do. It is formed from exp, log1p and a sum, which
    is charged as 2 FUNCTION_UNITS of 1 and of the result.
* sums of n terms: the sum of the errors, and n u times that of the moduli, in any order.

Errors are computed in doubles themselves. Each is a sum of products of non-negative numbers, off by
a part of less than 1e-9 after a million operations: MARGIN, at the ends. What underflows in them is
below TINY, which is charged with every product.

It takes about three array operations for one: in scalar loops and in the engines errors are counted
by hand, in units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.numerics.rounding import FUNCTION_ULPS, MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array, Mask

    # Operands without an error are exact.
    Operand: TypeAlias = "Enclosure | Array | float"

# An ulp is up to two units of a number.
FUNCTION_UNITS = 2.0 * FUNCTION_ULPS
# The smallest normal double.
TINY = 2.0**-1022


class Enclosure:
    """Values with bounds on their absolute errors.

    What is not a number is not known: its upper end is infinity and its lower end minus infinity.
    Whoever computes turns off the warnings of numpy.

    Attributes:
        value: about the numbers.
        error: at least 0; infinite, or not a number, where nothing is known.
    """

    __slots__ = ("error", "value")

    # Operators of arrays leave the work to those of enclosures.
    __array_ufunc__ = None

    def __init__(self, value: Array | float, error: Array | float = 0.0) -> None:
        """Take a value and the bound on its error; exact without one."""
        self.value = value
        self.error = error

    @classmethod
    def within(cls, value: Array | float, units: Array | float) -> Enclosure:
        """Return a number that is known to so many units of its double."""
        return cls(value, UNIT * units * np.abs(value) + TINY)

    def upper(self) -> Array:
        """Return the upper ends, rounded up."""
        end = self.value + (self.error + 2.0 * UNIT * np.abs(self.value)) * MARGIN
        return np.where(np.isnan(end), np.inf, end)

    def lower(self) -> Array:
        """Return the lower ends, rounded down."""
        end = self.value - (self.error + 2.0 * UNIT * np.abs(self.value)) * MARGIN
        return np.where(np.isnan(end), -np.inf, end)

    def __neg__(self) -> Enclosure:
        """Return the negative numbers."""
        return Enclosure(-self.value, self.error)

    def __add__(self, other: Operand) -> Enclosure:
        """Return the sums."""
        b, e = _parts(other)
        value = self.value + b
        return Enclosure(value, self.error + e + UNIT * np.abs(value))

    def __sub__(self, other: Operand) -> Enclosure:
        """Return the differences."""
        b, e = _parts(other)
        value = self.value - b
        return Enclosure(value, self.error + e + UNIT * np.abs(value))

    def __mul__(self, other: Operand) -> Enclosure:
        """Return the products."""
        b, e = _parts(other)
        value = self.value * b
        error = UNIT * np.abs(value) + TINY
        if not _exact(e):
            error = error + np.abs(self.value) * e
        if not _exact(self.error):
            error = error + (np.abs(b) + e) * self.error
        return Enclosure(value, error)

    def __truediv__(self, other: Operand) -> Enclosure:
        """Return the quotients."""
        b, e = _parts(other)
        value = np.divide(self.value, b)
        size, divisor = np.abs(value), np.abs(b)
        error = UNIT * size + TINY
        if not _exact(e):
            # The product |v| e may underflow where the quotient does not.
            carried = np.divide(self.error, divisor - e) + size * np.divide(e, divisor - e)
            error = error + np.where(e <= 0.5 * divisor, carried, np.inf)
        elif not _exact(self.error):
            error = error + np.divide(self.error, divisor)
        return Enclosure(value, error)

    def __rsub__(self, other: Array | float) -> Enclosure:
        """Return exact numbers less these."""
        return Enclosure(other) - self

    def __rtruediv__(self, other: Array | float) -> Enclosure:
        """Return exact numbers divided by these."""
        return Enclosure(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def sum(self) -> Enclosure:
        """Return the sum over the first axis."""
        value = np.asarray(self.value)
        count = len(value)
        error = np.broadcast_to(self.error, value.shape).sum(axis=0)
        return Enclosure(value.sum(axis=0), error + UNIT * count * np.abs(value).sum(axis=0))


def _parts(operand: Operand) -> tuple[Array | float, Array | float]:
    return (operand.value, operand.error) if isinstance(operand, Enclosure) else (operand, 0.0)


def _exact(error: Array | float) -> bool:
    """Say whether nothing has to be carried on, which saves time."""
    return error.__class__ is float and error == 0.0


def exp(x: Operand) -> Enclosure:
    """Return e^x."""
    a, d = _parts(x)
    value = np.exp(a)
    part = UNIT * FUNCTION_UNITS if _exact(d) else np.expm1(d) + UNIT * FUNCTION_UNITS
    return Enclosure(value, np.maximum(value, TINY) * part + TINY)


def expm1(x: Operand) -> Enclosure:
    """Return e^x - 1."""
    a, d = _parts(x)
    value = np.expm1(a)
    error = UNIT * FUNCTION_UNITS * np.abs(value) + TINY
    if not _exact(d):
        size = value + 1.0 + UNIT * 2.0 * FUNCTION_UNITS * (value + 2.0)
        error = error + size * np.expm1(d)
    return Enclosure(value, error)


def log(x: Operand) -> Enclosure:
    """Return log x of what is known to be positive."""
    a, d = _parts(x)
    return _logarithm(np.log(a), 0.0 if _exact(d) else np.divide(d, a))


def log1p(x: Operand) -> Enclosure:
    """Return log(1 + x) of what is known to be above -1."""
    a, d = _parts(x)
    return _logarithm(np.log1p(a), 0.0 if _exact(d) else np.divide(d, 1.0 + a))


def _logarithm(value: Array | float, part: Array | float) -> Enclosure:
    error = UNIT * FUNCTION_UNITS * np.abs(value) + TINY
    if not _exact(part):
        error = error + np.where(part < 0.5, part / (1.0 - part), np.inf)
    return Enclosure(value, error)


def log1mexp(x: Operand) -> Enclosure:
    """Return log(1 - e^-x) of what is known to be positive."""
    return log(-expm1(-x))


def logaddexp(x: Operand, y: Operand) -> Enclosure:
    """Return log(e^x + e^y)."""
    (a, d), (b, e) = _parts(x), _parts(y)
    value = np.logaddexp(a, b)
    return Enclosure(value, np.maximum(d, e) + UNIT * 2.0 * FUNCTION_UNITS * (1.0 + np.abs(value)))


def maximum(x: Operand, y: Operand) -> Enclosure:
    """Return the larger numbers: they move by no more than their arguments do."""
    (a, d), (b, e) = _parts(x), _parts(y)
    return Enclosure(np.maximum(a, b), np.maximum(d, e))


def where(mask: Mask | np.bool_, x: Operand, y: Operand) -> Enclosure:
    """Return the numbers of x where a mask holds, else those of y."""
    (a, d), (b, e) = _parts(x), _parts(y)
    return Enclosure(np.where(mask, a, b), np.where(mask, d, e))
