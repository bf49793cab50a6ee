"""Compositions of discrete Gaussians by direct summation over their integer outputs.

The noise N_Z(0, sigma^2) has mass exp(-x^2 / (2 sigma^2)) / Z at the integer x, by definition. The
sum S of T draws is convolved with exact integers of DIGITS decimal places: the coefficients are
written one after the other as the digits of one large number, and two such numbers are multiplied.
The neighbour's draws are shifted by D, so that S has loss (T D^2 - 2 D S) / (2 sigma^2), and

    delta(epsilon) = sum_S (p(S) - e^epsilon q(S))_+ = sum_S p(S) (1 - e^{epsilon - loss(S)})_+.

What is rounded or trimmed on the way is counted.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypedDict

from mpmath import mp

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Sum", "Term", "Total", "delta_of", "draws", "shifted_difference", "total_of"]

Number = Any  # mpf; mpmath has no annotations
DIGITS = 90
ONE = 10**DIGITS
# Masses below this, in units of the last place, are trimmed at the ends.
LEAST = 10 ** (DIGITS - 70)
# An exact product of coefficients has twice the digits, and their sum a few more.
SLOT = 2 * DIGITS + 10


class Term(TypedDict):
    """T draws of noise of one kind; sigma is a decimal, to be read exactly."""

    sigma: str
    sensitivity: int
    count: int


@dataclass(frozen=True)
class Sum:
    """Masses of consecutive integers, in units of 10^-DIGITS.

    `error` bounds the sum of what all masses are off by, those left out included, in these units.
    """

    first: int
    masses: list[int]
    error: int

    def __mul__(self, other: Sum) -> Sum:
        """Convolve. Errors add up, as masses sum to about 1; rounding costs 1 for each mass."""
        masses = [mass // ONE for mass in _multiplied(self.masses, other.masses)]
        error = 2 * (self.error + other.error) + len(masses)
        return _trimmed(self.first + other.first, masses, error)


def _multiplied(a: list[int], b: list[int]) -> list[int]:
    """Multiply polynomials of non-negative coefficients, through the digits of large numbers."""
    context = decimal.Context(
        prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, traps=[decimal.Inexact, decimal.Rounded]
    )
    packed = [
        decimal.Decimal("".join(str(mass).zfill(SLOT) for mass in masses)) for masses in (a, b)
    ]
    digits = f"{context.multiply(*packed):f}".zfill(SLOT * (len(a) + len(b) - 1))
    return [int(digits[i : i + SLOT]) for i in range(0, len(digits), SLOT)]


def _trimmed(first: int, masses: list[int], error: int) -> Sum:
    low, high = 0, len(masses)
    while masses[low] < LEAST:
        low += 1
    while masses[high - 1] < LEAST:
        high -= 1
    left_out = sum(masses[:low]) + sum(masses[high:])
    return Sum(first + low, masses[low:high], error + left_out)


def draws(sigma: str, count: int) -> Sum:
    """Return the law of the sum of `count` draws."""
    v = Fraction(sigma) ** 2
    reach = int(20 * float(sigma)) + 20
    with mp.workdps(DIGITS + 20):
        weights = [
            mp.exp(-mp.mpf(x * x * v.denominator) / (2 * v.numerator))
            for x in range(-reach, reach + 1)
        ]
        whole = mp.fsum(weights)
        masses = [int(mp.floor(weight / whole * ONE)) for weight in weights]
    # What is beyond the reach is less than twice the last mass, and rounded down to 0 or 1.
    one = _trimmed(-reach, masses, 2 * len(masses) + 4)
    result = None
    for bit in f"{count:b}":
        if result is not None:
            result = result * result
        if bit == "1":
            result = one if result is None else result * one
    assert result is not None
    return result


@dataclass(frozen=True)
class Total:
    """The law of the total loss: losses n / denominator with masses in units of 10^-DIGITS."""

    numerators: list[int]
    masses: list[int]
    denominator: int
    error: int


def total_of(terms: Iterable[Term]) -> Total:
    """Return the exact total loss of a composition, equal losses gathered."""
    losses: dict[Fraction, int] = {Fraction(0): ONE}
    error = 0
    for term in terms:
        v, shift, count = Fraction(term["sigma"]) ** 2, term["sensitivity"], term["count"]
        part = draws(term["sigma"], count)
        own = {
            Fraction(count * shift**2 - 2 * shift * (part.first + i)) / (2 * v): mass
            for i, mass in enumerate(part.masses)
        }
        error = 2 * (error + part.error) + len(losses) * len(own)
        losses = own if len(losses) == 1 else _gathered(losses, own)
    denominator = math.lcm(*(loss.denominator for loss in losses))
    ordered = sorted((int(loss * denominator), mass) for loss, mass in losses.items())
    return Total([n for n, _ in ordered], [mass for _, mass in ordered], denominator, error)


def _gathered(a: dict[Fraction, int], b: dict[Fraction, int]) -> dict[Fraction, int]:
    """Return the law of the sum of two independent losses."""
    scale = math.lcm(*(loss.denominator for loss in (*a, *b)))
    left = [(int(loss * scale), mass) for loss, mass in a.items()]
    right = [(int(loss * scale), mass) for loss, mass in b.items()]
    sums: dict[int, int] = {}
    for x, p in left:
        for y, q in right:
            sums[x + y] = sums.get(x + y, 0) + p * q
    return {Fraction(n, scale): mass // ONE for n, mass in sums.items()}


def delta_of(total: Total, epsilon: Number) -> tuple[Number, Number]:
    """Return sum p (1 - e^{epsilon - loss})_+ and a bound on its absolute error."""
    with mp.workdps(DIGITS):
        value = mp.zero
        for n, mass in zip(reversed(total.numerators), reversed(total.masses), strict=True):
            gap = mp.mpf(n) / total.denominator - epsilon
            if gap <= 0:
                break
            value += mass * -mp.expm1(-gap)
        return value / ONE, (mp.mpf(total.error) + value * mp.mpf(10) ** -80) / ONE


def shifted_difference(sigma: str, sensitivity: int, count: int, epsilon: Number) -> Number:
    """Return sum over S of (p(S) - e^epsilon p(S - T D))_+: no formula for the loss is used."""
    law = draws(sigma, count)
    mass = {law.first + i: one for i, one in enumerate(law.masses)}
    with mp.workdps(DIGITS):
        scale = mp.exp(epsilon)
        value = mp.zero
        for s, p in mass.items():
            value += max(p - scale * mass.get(s - count * sensitivity, 0), 0)
        return value / ONE
