"""A noisy test of a count that sees a Poisson sample: all counts together, exactly.

A(t) is the probability of yes at the count t, which grows with t. The records that are asked about
are r, each in the sample with probability q; the count of the others is t. One record changes a
count by at most 1, up or down: with j of them in the sample it is from t - j to t + j, and within 0
and k. With up(t) and down(t) for the means of A(t + j) and A(t - j), counts beyond 0 and k moved
back to these, the tests of a sample are

    records added or removed:   up(t) and 1 - down(t) with them against A(t) and 1 - A(t) without;
    records replaced:           up(t) against down(t), and 1 - down(t) against 1 - up(t).

Each is the best of its count: of two laws of a yes and a no the one with the larger yes tells more
apart where it is farther from the other law, and the old and the new values of records may pull in
opposite directions. Whatever the sample of the others, the count is one of these t; and mixtures
over it cost no more than the worst (the profile is jointly convex). Counts t + (old records in the
sample) - (new records in the sample) attain them, for all j at once.

So the power function is the concave hull of their points (`losses/atomic/profiles.py`), and a
profile of several tests composes. Probabilities have DIGITS digits: tails are sums of their own.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.exact import log_ratio
from privcalc.losses.atomic.profiles import polygon_law
from privcalc.losses.members import threshold_tests
from privcalc.losses.screening.chances import DIGITS, tail
from privcalc.losses.screening.curve import ScreeningCurve
from privcalc.losses.term import Term
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record, replace
from privcalc.relation import Adjacency

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from privcalc.losses.atomic.profiles import Point
    from privcalc.losses.law import LossLaw
    from privcalc.losses.screening.curve import Test

# In deviations. Beyond, probabilities are hardly doubles, and are taken to be FAINT or 1 - FAINT.
FARTHEST = 34
FAINT, HALF = Fraction(1, 10**250), Fraction(1, 2)
# Relative error of probabilities and their means; bits of chances.
WRONG, BITS = Fraction(1, 10**38), 160
# Products of the chances of the records in a sample and of counts.
MOST_PRODUCTS, MOST_RECORDS = 400_000, 500
# Work for one tail of DIGITS digits, and for one product.
PER_TAIL, PER_PRODUCT = 600.0, 40.0
# What the doubles of members may be off.
ROOM = 4.0 * UNIT


@remembered(32)
def sampled_screening(
    setting: tuple[Fraction, Fraction, int],
    records: int,
    rate: tuple[float, bool],
    adjacency: Adjacency,
    simpler: LossLaw | None = None,
) -> Term | None:
    """Return the term of a noisy test that sees a sample.

    A rate that is rounded is off by a unit, and profiles grow with it.

    Args:
        setting: the deviation of the noise, the threshold, and the largest count.
        records: r.
        rate: the sampling probability below 1, and whether it is exact.
        adjacency: the direction.
        simpler: a law above that of all counts, for where some are too far from the threshold.

    Returns:
        The term; None where there is too much to add up.
    """
    votes, (q, exact) = setting[2], rate
    if records > MOST_RECORDS or (votes + 1) * (records + 1) > MOST_PRODUCTS:
        return None
    charge(PER_TAIL * (votes + 1) + PER_PRODUCT * (votes + 1) * records)
    low, high = _counts(*setting)
    unit = 0 if exact else 2 * Fraction(UNIT)
    above = _points(low, high, _binomial(records, Fraction(q) * (1 + unit)), adjacency)
    below = _points(high, low, _binomial(records, Fraction(q) * (1 - unit)), adjacency)
    above = [(_moved(y, -WRONG), _moved(g, WRONG)) for y, g in above]
    below = [(_moved(y, WRONG), _moved(g, -WRONG)) for y, g in below]
    upper = polygon_law(above, above=True)
    if upper.infinity_mass:
        upper = replace(upper, simpler=simpler)
    elif adjacency is Adjacency.REPLACE:
        upper = replace(upper, sharper_curve=ScreeningCurve(tuple(map(_test, above))))
    y, g = np.array([(float(a), float(b)) for a, b in below]).T
    members = threshold_tests(g * (1.0 - ROOM), y * (1.0 + ROOM))
    return Term(upper, polygon_law(below, above=False), members=members)


def _test(point: Point) -> Test:
    """Return the probabilities and losses of a yes and a no; old and new values may change."""
    q, p = point
    return float(p), float(1 - p), float(q), float(1 - q), log_ratio(p, q), log_ratio(1 - p, 1 - q)


@record
class Counts:
    """Bounds on the probabilities of one answer at all counts, all of them on the same side.

    Attributes:
        chances: the bounds.
        rest: 1 less each of them.
    """

    chances: tuple[Fraction, ...]
    rest: tuple[Fraction, ...]

    @classmethod
    def of(cls, chances: Iterable[Fraction]) -> Self:
        """Add what they miss to 1."""
        kept = tuple(chances)
        return cls(kept, tuple(1 - x for x in kept))

    def mean(self, weights: list[Fraction], counts: list[int]) -> Fraction:
        """Return the mean over some counts; 1 less that of the rest where this is smaller.

        Weights are rounded, and do not add up to 1: what a number misses to 1 would be lost.
        """
        if len(counts) == 1:
            return self.chances[counts[0]]
        found = _sum(weights, [self.chances[t] for t in counts])
        return found if found <= HALF else 1 - _sum(weights, [self.rest[t] for t in counts])


def _counts(
    sigma: Fraction, threshold: Fraction, votes: int
) -> tuple[tuple[Counts, Counts], tuple[Counts, Counts]]:
    """Return bounds on yes and no, below and above."""
    known: dict[Fraction, Fraction] = {}
    lower: list[Fraction] = []
    upper: list[Fraction] = []
    for t in range(votes + 1):
        x = (threshold - t) / sigma
        size = abs(x)
        if size > FARTHEST:
            low, high = Fraction(0), FAINT
        else:
            if size not in known:
                with localcontext(Context(prec=DIGITS)):
                    place = Decimal(size.numerator) / Decimal(size.denominator)
                    known[size] = Fraction(tail(place))
            low = high = known[size]
        lower.append(low if x >= 0 else 1 - high)
        upper.append(high if x >= 0 else 1 - low)
    below, above = Counts.of(lower), Counts.of(upper)
    return (below, Counts.of(above.rest)), (above, Counts.of(below.rest))


def _binomial(records: int, q: Fraction) -> list[Fraction]:
    """Return the chances of all numbers, to BITS bits."""
    return [
        _rounded(comb(records, j) * q**j * (1 - q) ** (records - j)) for j in range(records + 1)
    ]


def _rounded(value: Fraction) -> Fraction:
    shift = BITS + value.denominator.bit_length() - value.numerator.bit_length()
    return Fraction(int(value * 2**shift), 2**shift) if value else value


def _points(
    y_side: tuple[Counts, Counts],
    g_side: tuple[Counts, Counts],
    weights: list[Fraction],
    adjacency: Adjacency,
) -> list[Point]:
    """Return the points of all tests, of probabilities under Q and P.

    Args:
        y_side: bounds on yes and no for those under Q.
        g_side: bounds on yes and no for those under P.
        weights: chances of the numbers of records in the sample.
        adjacency: the direction.
    """
    last = len(y_side[0].chances) - 1
    found: list[Point] = []
    for t in range(last + 1):
        here = [t]
        more = [min(t + j, last) for j in range(len(weights))]
        less = [max(t - j, 0) for j in range(len(weights))]
        if adjacency is Adjacency.REPLACE:
            tests = (less, more), (more, less)
        elif adjacency is Adjacency.REMOVE:
            tests = (here, more), (here, less)
        else:
            # What is more likely without the records is the complement.
            tests = (less, here), (more, here)
        for y, g, (under_q, under_p) in zip(y_side, g_side, tests, strict=True):
            found.append((y.mean(weights, under_q), g.mean(weights, under_p)))
    return found


def _sum(chances: list[Fraction], values: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(chances, values, strict=True)), Fraction(0))


def _moved(value: Fraction, error: Fraction) -> Fraction:
    """Return a probability moved by that part of it, or of what it misses to 1."""
    moved = value * (1 + error) if value <= HALF else 1 - (1 - value) * (1 - error)
    return min(max(moved, Fraction(0)), Fraction(1))
