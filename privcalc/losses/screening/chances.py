"""Normal probabilities between many places, with far more digits than doubles have.

The place x stands for the test N > x of N(0, 1), Q, against N(m, 1), P. Places are symmetric about
m / 2, where the normal densities change places. All work is in decimals of DIGITS digits: losses of
neighbouring places differ by little, and doubles would lose what they differ by.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

DIGITS = 50
# A cell is integrated by its Taylor series about the middle, in parts of at most twice this.
WIDEST = Decimal("0.25")
# Relative size of what is left out.
SMALL = Decimal("1e-48")


@record
class Chances:
    """What lies right of the middle; the left is its mirror image, with P and Q exchanged.

    All are relative to 10^-40 and better.

    Attributes:
        cells: masses under P and Q between neighbouring places, the last beyond all; those nearest
            the middle first.
        tails: masses under P and Q beyond each place, in the same order.
        middle: the mass of the cell about m / 2, the same under both; 0 where that is a place.
    """

    cells: tuple[tuple[Decimal, Decimal], ...]
    tails: tuple[tuple[Decimal, Decimal], ...]
    middle: Decimal


def chances(places: Sequence[Fraction], moved: Fraction) -> Chances:
    """Return the masses of the cells between places.

    Args:
        places: different numbers >= m / 2 in increasing order, at most some 40.
        moved: m > 0.

    Masses are sums of positive numbers. Only the middle one is a difference: it lacks 10^-48 of 1.
    """
    # Places are often one step apart, where P has the masses that Q has of the next cells.
    known: dict[tuple[Fraction, Fraction], Decimal] = {}

    def cell(a: Fraction, b: Fraction) -> Decimal:
        if (a, b) not in known:
            known[a, b] = _cell(_decimal(a), _decimal(b))
        return known[a, b]

    with localcontext(Context(prec=DIGITS)):
        cells = [(cell(a - moved, b - moved), cell(a, b)) for a, b in pairwise(places)]
        last = places[-1]
        cells.append((tail(_decimal(last - moved)), tail(_decimal(last))))
        tails = [cells[-1]]
        for p, q in reversed(cells[:-1]):
            tails.append((tails[-1][0] + p, tails[-1][1] + q))
        tails.reverse()
        middle = Decimal(0) if places[0] == moved / 2 else 1 - tails[0][0] - tails[0][1]
    return Chances(tuple(cells), tuple(tails), middle)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _cell(a: Decimal, b: Decimal) -> Decimal:
    """Return the mass of N(0, 1) between a < b.

    With the middle c and half the width d, it is phi(c) times the integral of e^{-cx - x^2/2}, the
    sum of (-1)^n He_n(c) x^n / n!, over |x| < d: twice that of w_n d / (n + 1) over even n, where
    w_n = He_n(c) d^n / n! has (n + 1) w_{n+1} = c d w_n - d^2 w_{n-1}. Where n + 1 >= 4 (|c| d +
    d^2) the larger of two neighbours falls to a quarter in two steps, so that what is left out is
    less than three times it. The terms sum up to at most e^{|c| d + d^2/2} in modulus, the integral
    is at least 2 d e^{-d^2/2}: for d <= 1/4 and |c| < 80 that loses fewer than ten digits.
    """
    width = b - a
    parts = int(width / (2 * WIDEST)) + 1
    d = width / (2 * parts)
    total = Decimal(0)
    for i in range(parts):
        c = a + (2 * i + 1) * d
        size, square = c * d, d * d
        enough = 4 * (abs(size) + square)
        before, here, n = Decimal(0), Decimal(1), 0
        part = Decimal(0)
        while True:
            if n % 2 == 0:
                part += here / (n + 1)
            before, here = here, (size * here - square * before) / (n + 1)
            n += 1
            if n >= enough and max(abs(before), abs(here)) < SMALL:
                break
        total += 2 * d * part * (-c * c / 2).exp()
    return total / _root()


def tail(z: Decimal) -> Decimal:
    """Return P(N > z): 1/2 less phi(z) times the sum of z^{2n+1} / (2n+1)!!, all of one sign.

    What the difference loses, about z^2/2 in the logarithm, is added to the digits. Terms fall by
    half and more where the last one is counted.
    """
    lost = int(z * z / 4) + 10 if z > 0 else 0
    with localcontext(Context(prec=DIGITS + lost)):
        square, term, total, n = z * z, z, z, 1
        least = Decimal(10) ** -(DIGITS + lost + 2)
        while n < 2 * square or abs(term) > least * abs(total):
            n += 2
            term = term * square / n
            total += term
        found = Decimal("0.5") - total * (-square / 2).exp() / _root(DIGITS + lost + 10)
    return +found


@lru_cache(maxsize=8)
def _root(digits: int = DIGITS + 10) -> Decimal:
    """Return (2 pi)^{1/2}; pi by its arcsine series, 3 (1 + (1/2)(1/4)/3 + ...)."""
    with localcontext(Context(prec=digits + 5)):
        least = Decimal(10) ** -(digits + 5)
        term = total = Decimal(3)
        n = 1
        while term > least:
            term = term * n * n / ((n + 1) * (n + 2) * 4)
            total += term
            n += 2
        return (2 * total).sqrt()
