"""A noisy test whether a count reaches a threshold: the worst count at every test and order.

A noisy test of a count: what all counts together reveal, as the law of a normal pair in cells.

A count t is an integer from 0 to k that differs by at most r between neighbours, and what is
published is whether t + N(0, sigma^2) >= T. Write A(t) for the probability of yes. Neighbours with
the counts t and t + r have the pairs (A(t + r), 1 - A(t + r)) against (A(t), 1 - A(t)) in one order
and the reverse in the other. Either order may occur in either direction of the neighbours: one
more record may raise a count or, as the nearest vote takes the place of another, lower it. Counts
that differ by less are told apart less: among the tests with P(yes) = A(u) the best has the
smallest A(t), and t >= u - r; and a count u < r is below r.

Theorem. All of them together have the profile of N(r, sigma^2) against N(0, sigma^2) of which only
the cell is told, between the places x = T - t and r - (T - t), t = 0 ... k - r.

Proof. A(t) = P(N(0, sigma^2) > T - t) and A(t + r) = P(N(r, sigma^2) > T - t): yes is the test of
the place x = T - t, and no, in the other order, that of r - x, by reflection. So the tests are
points of the curve of the normal pair. It is strictly concave: each point is a corner of the hull
of all, and the hull is that of the pair whose outcomes are the cells between neighbouring points.
The largest of several profiles is a profile, and composes (Zhu, Dong, Wang 2022, Lemma 7 and
Theorem 10).

In particular the law costs no more than Gaussian noise of this sigma, of which the cells tell less.
The profile falls with sigma where 0 <= T <= k, so that places are at most 1 apart, and where all
|x| are at most sigma^2 - 1/2, for r = 1. At each a it is P - a Q at some place x. Let l be the
ratio of densities there: a lies between e^{-1/sigma^2} l and e^{1/sigma^2} l, as the ratios of the
cells on either side do (beyond the outermost places a may be farther out, which only helps). Its
derivative in sigma has the sign of -(l (1 - x) + a x), and this is not positive: for 0 <= x <= 1 no
term is negative; for x > 1, a / l >= e^{-1/x} >= 1 - 1/x; and for x < 0, a / l - 1 is at most
e^{1/sigma^2} - 1 <= 1 / (sigma^2 - 1/2) <= 1 / |x|.

(The pairs that Zhu 2023, Theorem 4.3.1, omits, with t < k / c for c classes, are those of
samples with fewer than k votes.)

A noisy test of a count that sees a Poisson sample: all counts together, exactly.

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

Normal probabilities between many places, with far more digits than doubles have.

The place x stands for the test N > x of N(0, 1), Q, against N(m, 1), P. Places are symmetric about
m / 2, where the normal densities change places. All work is in decimals of DIGITS digits: losses of
neighbouring places differ by little, and doubles would lose what they differ by.

The largest Renyi divergence of a noisy test of a count, order by order.

At each order one count or another is the worst (Zhu 2023, Theorem 4.3.1, with all counts). No one
pair has this curve, but divergences add up under adaptive composition order by order (Mironov 2017,
Proposition 1), so that it composes as it stands; many uses cost less by it than the law does, which
has the worst of all counts in every use.

In a Poisson sample the other records have a count t, and with the record it is at most r away: with
R and W for the tests without and with it the divergences of one order are

    remove: A1 = E_R (1 - q + q W/R)^(c+1),    add: A2 = E_R (1 - q + q W/R)^-c,

because (x, y) -> x^(c+1) y^-c is jointly convex and the other records are sampled in the same way
in both. The largest over all t, with the roles of R and W either way, bounds the sample.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.losses.atomic.atoms import AtomicLaw, two_point
from privcalc.losses.atomic.exact import log_ratio
from privcalc.losses.atomic.profiles import polygon_law
from privcalc.losses.members import DirectedTests, threshold_tests
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.term import Term
from privcalc.numerics.log_sums import log1p_bracket, log_loss_excess
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record, replace
from privcalc.relation import Adjacency

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from privcalc.losses.atomic.profiles import Point
    from privcalc.losses.law import LossLaw
    from privcalc.losses.members import ThresholdTests
    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve

DIGITS = 50
# A cell is integrated by its Taylor series about the middle, in parts of at most twice this.
WIDEST = Decimal("0.25")
# Relative size of what is omitted.
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
    d^2) the larger of two neighbours falls to a quarter in two steps, so that what is omitted is
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


# Probabilities of yes and no under P and Q, and the losses of yes and no.
Test = tuple[float, float, float, float, float, float]

# Errors of the probabilities and losses that are given, in units.
MASS_ULPS, CURVE_LOSS_ULPS = 1.0, 8.0
# Orders times outcomes that are worked on at once; work for one.
CHUNK, PER_OUTCOME = 500_000, 1.0


@record
class ScreeningCurve:
    """The largest divergence of several tests, in either order, at each order by itself.

    Attributes:
        tests: each in one of its orders.
        q: probability that the record is in the sample; 1 where there is none.
        remove: whether P is the sample that may hold the record.
    """

    tests: tuple[Test, ...]
    q: float = 1.0
    remove: bool = True

    cheap = False
    convex = True
    piecewise = False
    corners = ()

    @property
    def limit(self) -> float:
        """Return the largest loss, rounded up."""
        _, losses, errors = _outcomes(self)
        return float((losses + errors).max())

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the constant line at the largest loss."""
        return self.limit, np.zeros(c.shape)

    def upper(self, c: Array) -> Array:
        """Return the largest K, rounded up.

        M - 1 is the sum of p h_c(l) over both outcomes (`numerics/log_sums.py`), none of them
        negative. A loss that is off by a part d of itself moves log h_c by at most 2 + c l or
        2 + |l| times d.
        """
        masses, losses, errors = _outcomes(self)
        charge(PER_OUTCOME * len(c) * masses.size)
        rows = max(1, CHUNK // masses.size)
        return np.concatenate(
            [
                self._largest(c[i : i + rows], masses, losses, errors)
                for i in range(0, max(1, len(c)), rows)
            ]
        )

    def _largest(self, c: Array, masses: Array, losses: Array, errors: Array) -> Array:
        column = c[:, None]
        logs = []
        for outcome in range(2):
            loss, log_mass = losses[:, outcome], np.log(masses[:, outcome])
            value, wrong = log_loss_excess(column, np.broadcast_to(loss, (len(c), len(loss))))
            steep = 2.0 + np.where(loss > 0.0, column * loss, np.abs(loss))
            wrong = wrong + steep * (errors[:, outcome] / np.abs(loss))
            wrong = wrong + UNIT * (4.0 + MASS_ULPS + 12.0 * np.abs(log_mass) + 2.0 * np.abs(value))
            logs.append(value + log_mass + wrong * MARGIN)
        top = np.logaddexp(*logs).max(axis=1)
        top = top + 8.0 * UNIT * (1.0 + np.abs(top))
        return log1p_bracket(top, top)[1]

    def lower(self, c: Array) -> Array | None:
        """Return None: no one pair attains all orders."""
        del c
        return None

    def estimate(self, c: Array) -> Array:
        """Return the upper bound."""
        return self.upper(c)

    def rough(self, c: Array) -> Array:
        """Return the upper bound: a sum over two outcomes of each test."""
        return self.upper(c)


@remembered(32)
def _outcomes(curve: ScreeningCurve) -> tuple[Array, Array, Array]:
    """Return P-masses, losses and bounds on their errors, of yes and no of each test and order.

    With x = log(W/R) and y = q (e^x - 1) the sampled loss is log(1 + y), or its negative. y is off
    by 8 + LOSS_ULPS (1 + |x|) units, and by 2 for a rounded difference, log(1 + y) by
    that times |y| / (1 + y) and 4 of itself. Mixtures of masses are off by 4 units.
    """
    rows = np.array(curve.tests)
    first, second, loss = rows[:, 0:2], rows[:, 2:4], rows[:, 4:6]
    w, r = np.concatenate([first, second]), np.concatenate([second, first])
    x = np.concatenate([loss, -loss])
    q = curve.q
    if q == 1.0:
        return w, x, CURVE_LOSS_ULPS * UNIT * np.abs(x)
    y = q * np.expm1(x)
    sampled = np.log1p(y)
    wrong = (10.0 + CURVE_LOSS_ULPS * (1.0 + np.abs(x))) * np.abs(y) / (1.0 + y)
    errors = UNIT * (wrong + 4.0 * np.abs(sampled)) * MARGIN
    if curve.remove:
        return ((1.0 - q) * r + q * w) * (1.0 + 8.0 * UNIT), sampled, errors
    return r, -sampled, errors


# In deviations. Beyond, probabilities are hardly doubles.
FARTHEST = 36
# The quotient of two decimals rounded once, and its logarithm.
LOSS_ULPS = 8.0
# Work for one cell.
PER_CELL = 600.0


@record
class ScreeningLaw(AtomicLaw):
    """The law of the cells; its sharper curve has the divergences of single counts."""

    def sampled_curve(self, q: float, *, remove: bool) -> RenyiCurve | None:
        """Return the divergences of single counts in a Poisson sample."""
        curve = self.mechanism_rdp_curve
        if not isinstance(curve, ScreeningCurve):
            return None
        return replace(curve, q=q, remove=remove)


@remembered(32)
def screening(sigma: Fraction, threshold: Fraction, votes: int, records: int) -> Term:
    """Return the term of a noisy test; it is the same in both orders.

    Where a count is farther from the threshold than FARTHEST the upper end is that of Gaussian
    noise, and the lower end that of the other counts. Where all are, each test has a probability of
    at most e^{-x^2/2}, x = FARTHEST - r / sigma, under both of its laws, or a complement of that:
    no event tells them apart by more.

    Args:
        sigma: standard deviation of the noise.
        threshold: T.
        votes: k.
        records: r >= 1.
    """
    step = min(records, votes)
    moved, half = step / sigma, Fraction(step, 2)
    right = {half + abs(threshold - t - half) for t in range(votes - step + 1)}
    near = sorted(x / sigma for x in right if x <= FARTHEST * sigma)
    pair = GaussianLaw.of(Enclosed(moved, moved))
    if not near:
        coin = AtomicLaw((0.0,), (1.0,), loss_units=0.0, lower_masses=(1.0,))
        room = Fraction(math.exp(-0.5 * (FARTHEST - float(moved)) ** 2 * (1.0 - 64.0 * UNIT)))
        nothing = two_point(Enclosed.of(0), Enclosed(room, room))
        return Term(nothing, coin)
    charge(PER_CELL * len(near))
    law, tests = _law(chances(near, moved), whole=len(near) == len(right))
    return Term(law if law.mechanism_rdp_curve else pair, law, members=tests)


def screening_of(sigma: Fraction, threshold: Fraction, votes: int, count: int) -> Term:
    """Return the curve of one count, that of the worst of the two next to it in either order.

    Raises:
        DomainError: the count is farther from the threshold than FARTHEST.
    """
    half = Fraction(1, 2)
    # The pair of t and t + 1 has the place T - t or its mirror image.
    lower = [t for t in (count - 1, count) if 0 <= t < votes]
    places = sorted({(half + abs(threshold - t - half)) / sigma for t in lower})
    if places[-1] > FARTHEST:
        raise DomainError(f"the count {count} is more than {FARTHEST} sigma from the threshold")
    law, _ = _law(chances(places, 1 / sigma), whole=True)
    return Term(curve=law.mechanism_rdp_curve)


def _law(found: Chances, *, whole: bool) -> tuple[ScreeningLaw, ThresholdTests]:
    """Return the law and its tests; the curve where these are all.

    The loss of "no" is that of (1 - p) / (1 - q), whose difference from 1 is (p - q) / (1 - q):
    far out it is as small as p, and 1 - p has none of its digits.
    """
    right = [(_loss(p, q), float(p), float(q)) for p, q in found.cells]
    left = [(-loss, q, p) for loss, p, q in right]
    middle = [(0.0, float(found.middle), float(found.middle))] if found.middle else []
    losses, masses, others = zip(*right, *left, *middle, strict=True)
    tests = tuple(
        (float(p), float(1 - p), float(q), float(1 - q), _loss(p, q), -_log1p((p - q) / (1 - p)))
        for p, q in found.tails
    )
    law = ScreeningLaw(
        losses,
        masses,
        loss_units=LOSS_ULPS,
        lower_masses=others,
        mechanism_rdp_curve=ScreeningCurve(tests) if whole else None,
    )
    yes, no, other_yes, other_no = np.array(tests).T[:4]
    room = 2.0 * UNIT
    return law, threshold_tests(
        np.concatenate([yes, other_no]) * (1.0 - room),
        np.concatenate([other_yes, no]) * (1.0 + room),
    )


def _loss(p: Decimal, q: Decimal) -> float:
    """Return log(p / q) for p > q, to LOSS_ULPS units: below 2 as log1p of the excess."""
    return _log1p((p - q) / q)


def _log1p(excess: Decimal) -> float:
    return math.log1p(float(excess)) if excess < 1 else math.log(float(1 + excess))


# In deviations. Beyond, probabilities are hardly doubles, and are taken to be FAINT or 1 - FAINT.
FARTHEST_SAMPLED = 34
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
    alternative: LossLaw | None = None,
) -> Term | None:
    """Return the term of a noisy test that sees a sample.

    A rate that is rounded is off by a unit, and profiles grow with it.

    Args:
        setting: the deviation of the noise, the threshold, and the largest count.
        records: r.
        rate: the sampling probability below 1, and whether it is exact.
        adjacency: the direction.
        alternative: a law above that of all counts, for where some are too far from the threshold.

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
        upper = replace(upper, alternative_dominating_pair=alternative)
    elif adjacency is Adjacency.REPLACE:
        upper = replace(upper, mechanism_rdp_curve=ScreeningCurve(tuple(map(_test, above))))
    y, g = np.array([(float(a), float(b)) for a, b in below]).T
    tests, lower = (
        threshold_tests(g * (1.0 - ROOM), y * (1.0 + ROOM)),
        polygon_law(below, above=False),
    )
    if adjacency is Adjacency.REPLACE:
        return Term(upper, lower, members=tests)
    remove = adjacency is Adjacency.REMOVE
    members, back = (DirectedTests(tests, remove, way) for way in (remove, not remove))
    return Term(upper, lower, members=members, back=back)


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
        if size > FARTHEST_SAMPLED:
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
