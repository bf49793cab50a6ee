"""A noisy test whether a count reaches a threshold: the worst count at every test and order.

A count t is an integer from 0 to k, and what is published is whether t + N(0, sigma^2) >= T. Write
A(t) for the probability of yes, which grows with t. The records that are asked about are r, each in
the sample with probability q, or 1; the count of the others is t. One record changes a count by at
most 1, up or down (one more may raise a count or, as the nearest vote takes the place of another,
lower it): with j of them in the sample it is from t - j to t + j, and within 0 and k. With up(t)
and down(t) for the means of A(t + j) and A(t - j), counts beyond 0 and k moved back to these, the
tests are

    records added or removed:   up(t) and 1 - down(t) with them against A(t) and 1 - A(t) without;
    records replaced:           up(t) against down(t), and 1 - down(t) against 1 - up(t).

Each is the best of its count: of two laws of a yes and a no the one with the larger yes tells more
apart where it is farther from the other law. Whatever the sample of the others, the count is one of
these t; and mixtures over it cost no more than the worst (the profile is jointly convex). Counts
t + (old records in the sample) - (new records in the sample) attain them, for all j at once. At
q = 1 the tests of both orders of neighbours t and t + r are those of either direction.

So the power function is the concave hull of their points (`losses/profiles.py`), and a
profile of several tests composes (Zhu, Dong, Wang 2022, Lemma 7 and Theorem 10). Points above and
below are moved by the error of their doubles.

At q = 1 these are points of the curve of N(r, sigma^2) against N(0, sigma^2): yes is the test of
the place x = T - t, and no, in the other order, that of r - x, by reflection. So the law costs no
more than Gaussian noise of this sigma, of which it tells the cell between such places only. The
profile falls with sigma where 0 <= T <= k, so that places are at most 1 apart, and where all |x|
are at most sigma^2 - 1/2, for r = 1: at each a it is P - a Q at some x, a lies between
e^{-1/sigma^2} l and e^{1/sigma^2} l for the ratio l of densities there, or farther out, which only
helps, and the derivative in sigma has the sign of -(l (1 - x) + a x). For 0 <= x <= 1 no term is
negative; for x > 1, a / l >= e^{-1/x} >= 1 - 1/x; and for x < 0, a / l - 1 is at most
e^{1/sigma^2} - 1 <= 1 / (sigma^2 - 1/2) <= 1 / |x|.

Orders. At each one count or another is the worst (Zhu 2023, Theorem 4.3.1, with all counts; the
pairs that are omitted there, with t < k / c for c classes, are those of samples with fewer than k
votes). No one pair has this curve, but divergences add up under adaptive composition order by order
(Mironov 2017, Proposition 1), and many uses cost less by it than the law does, which has the worst
of all counts in every use. In a sample (x, y) -> x^(c+1) y^-c is jointly convex, so that the
largest divergence of all tests bounds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.law import RenyiCurve, Term
from privcalc.losses.members import DirectedTests, threshold_tests
from privcalc.losses.profiles import polygon_law
from privcalc.losses.sampled.law import sampled
from privcalc.losses.thresholds.sampled_counts import binomial_chances, moved
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.sums import log1p_bracket, log_loss_excess
from privcalc.numerics.work import charge, remembered
from privcalc.record import record, replace
from privcalc.relation import Adjacency

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array

# Counts times numbers of records in the sample; work for one of these, and for one count.
MOST_PRODUCTS, PER_PRODUCT, PER_COUNT = 4_000_000, 4.0, 600.0
# Orders times outcomes that are worked on at once; work for one.
CHUNK, PER_OUTCOME = 500_000, 1.0
# Above it FAINT is nothing.
CLEAR = 1e-258
# One count in deviations from the threshold: beyond, probabilities are hardly doubles.
FARTHEST = 34


@record
class ScreeningCurve(RenyiCurve):
    """The largest divergence of several tests at each order by itself.

    Attributes:
        masses: upper bounds on the P-masses of yes and no, of shape (tests, 2).
        losses: their losses.
        errors: how much these may be off.
    """

    masses: Array
    losses: Array
    errors: Array

    # Arrays have no hash: a curve is itself only.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def limit(self) -> float:
        """Return the largest loss, rounded up."""
        return float((self.losses + self.errors).max())

    def upper(self, c: Array) -> Array:
        """Return the largest K, rounded up.

        M - 1 is the sum of p h_c(l) over both outcomes (`numerics/sums.py`), none of them
        negative. h_c grows away from 0, and h_c(-x) <= e^x h_c(x) for x > 0: so a loss is taken
        farther out by its error, and up where that may change its sign.
        """
        charge(PER_OUTCOME * len(c) * self.masses.size)
        rows = max(1, CHUNK // self.masses.size)
        parts = [self._largest(c[i : i + rows, None]) for i in range(0, max(1, len(c)), rows)]
        return np.concatenate(parts)

    def _largest(self, c: Array) -> Array:
        size = np.abs(self.losses) + self.errors
        outward = np.where(self.losses < -self.errors, -size, size)
        logs = []
        for loss, error, mass in zip(outward.T, self.errors.T, np.log(self.masses).T, strict=True):
            value, wrong = log_loss_excess(c, np.broadcast_to(loss, (len(c), len(loss))))
            wrong = wrong + 2.0 * error + UNIT * (8.0 + 4.0 * np.abs(mass) + 2.0 * np.abs(value))
            logs.append(value + mass + wrong * MARGIN)
        top = np.logaddexp(*logs).max(axis=1)
        top = top + 8.0 * UNIT * (1.0 + np.abs(top))
        return log1p_bracket(top, top)[1]


@remembered(32)
def screening(
    setting: tuple[Fraction, Fraction, int],
    records: int,
    rate: tuple[float, bool] = (1.0, True),
    adjacency: Adjacency = Adjacency.REMOVE,
) -> Term | None:
    """Return the term of a noisy test; without a sample it is the same in both orders.

    Args:
        setting: the deviation of the noise, the threshold, and the largest count.
        records: r.
        rate: the sampling probability, or 1, and whether it is exact.
        adjacency: the direction.

    Returns:
        The term; None where there is too much to add up.
    """
    sigma, _, votes = setting
    whole = rate[0] == 1.0
    if (votes + 1) * (1 if whole else records + 1) > MOST_PRODUCTS:
        return None
    yes, no, error = _means(setting, records, rate, adjacency)
    upper = polygon_law(_points(yes, no, error, above=True), above=True)
    below = _points(yes, no, error, above=False)
    if min(yes.min(), no.min()) > CLEAR:
        upper = replace(upper, mechanism_rdp_curve=_curve(yes, no, error))
    elif whole or (records == 1 and adjacency is not Adjacency.REPLACE):
        # Counts so far away are told apart no better than by the noise.
        step = min(records, votes) / sigma
        noise: LossLaw = GaussianLaw.of(Enclosed(step, step))
        if not whole:
            remove = adjacency is Adjacency.REMOVE
            noise = sampled(noise, rate[0], remove=remove, exact=rate[1], reverse=noise)
        upper = replace(upper, alternative_dominating_pair=noise)
    y, g = np.array(below, dtype=float).T
    tests = threshold_tests(g * (1.0 - 4.0 * UNIT), y * (1.0 + 4.0 * UNIT))
    lower = polygon_law(below, above=False)
    if whole or adjacency is Adjacency.REPLACE:
        return Term(upper, lower, members=tests)
    remove = adjacency is Adjacency.REMOVE
    members, back = (DirectedTests(tests, remove, way) for way in (remove, not remove))
    return Term(upper, lower, members=members, back=back)


def screening_of(sigma: Fraction, threshold: Fraction, votes: int, count: int) -> Term:
    """Return the curve of one count, that of the worst of the two next to it in either order.

    Raises:
        DomainError: the count is farther from the threshold than FARTHEST.
    """
    low, high = max(count - 1, 0), min(count + 1, votes)
    if max(abs(threshold - low), abs(threshold - high)) > FARTHEST * sigma:
        raise DomainError(f"the count {count} is more than {FARTHEST} sigma from the threshold")
    yes, no, error = _means((sigma, threshold - low, high - low), 1, (1.0, True), Adjacency.REMOVE)
    return Term(curve=_curve(yes, no, error))


def _means(
    setting: tuple[Fraction, Fraction, int],
    records: int,
    rate: tuple[float, bool],
    adjacency: Adjacency,
) -> tuple[Array, Array, float]:
    """Return the probabilities of all tests, of what they leave to 1, and their relative error.

    An argument x is off by a unit, which changes a tail by (1 + |x|)^2 of them at most, and a tail
    itself by 16 and five such. Chances have their own error, and sums a unit of each term.

    Returns:
        Arrays with a row under Q and one under P.
    """
    from scipy.special import ndtr

    sigma, threshold, votes = setting
    moves, chances, wrong = np.array([records]), np.ones(1), 0.0
    if rate[0] < 1.0:
        moves = np.arange(records + 1)
        each, wrong = binomial_chances(
            np.array([float(records)]), moves.astype(float), rate[0], exact=rate[1]
        )
        chances = each[0]
    charge(PER_COUNT * (votes + 1) + PER_PRODUCT * (votes + 1) * len(moves))
    # Larger quotients are no doubles.
    far = 10**300 * sigma
    x = np.array([float(max(-far, min(t - threshold, far)) / sigma) for t in range(votes + 1)])
    # Beyond, one of both tails is FAINT.
    size = min(float(np.abs(x).max()), 38.0)
    error = UNIT * (16.0 + 6.0 * (1.0 + size) ** 2 + 2.0 * len(moves)) + wrong
    t = np.arange(votes + 1)[:, None]
    found = []
    for tails in (ndtr(x), ndtr(-x)):
        up, down = (tails[np.clip(t + way * moves, 0, votes)] @ chances for way in (1, -1))
        found.append((tails, up, down))
    (here, up, down), (no_here, no_up, no_down) = found
    if adjacency is Adjacency.REPLACE:
        q, p, no_q, no_p = (down, no_up), (up, no_down), (no_down, up), (no_up, down)
    elif adjacency is Adjacency.REMOVE:
        q, p, no_q, no_p = (here, no_here), (up, no_down), (no_here, here), (no_up, down)
    else:
        # What is more likely without the records is the complement.
        q, p, no_q, no_p = (down, no_up), (here, no_here), (no_down, up), (no_here, here)
    yes, no = (np.array([np.concatenate(side) for side in both]) for both in ((q, p), (no_q, no_p)))
    return yes, no, error


def _points(yes: Array, no: Array, error: float, *, above: bool) -> list[tuple[Fraction, Fraction]]:
    """Return the points of all tests, of probabilities under Q and P, moved to one side."""
    y = moved(yes[0], no[0], error, up=not above)
    g = moved(yes[1], no[1], error, up=above)
    return list(zip(y, g, strict=True))


def _curve(yes: Array, no: Array, error: float) -> ScreeningCurve:
    """Return the curve of all tests, whose probabilities are all above CLEAR.

    The logarithm of a quotient is off by the errors of both masses, which may be more than itself
    where hardly anything is hidden: such an outcome counts for nothing beside the other one.
    """
    columns = [
        (
            p * (1.0 + error + 4.0 * UNIT),
            np.log(p / q),
            (2.0 * error + 8.0 * UNIT) * np.ones(p.shape),
        )
        for q, p in (yes, no)
    ]
    masses, losses, errors = (np.stack(each, axis=1) for each in zip(*columns, strict=True))
    return ScreeningCurve(masses, losses, (errors + 16.0 * UNIT * np.abs(losses)) * MARGIN)
