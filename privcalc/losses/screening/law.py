"""A noisy test of a count: what all counts together reveal, as the law of a normal pair in cells.

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

(The pairs that Zhu 2023, Theorem 4.3.1, leaves out, with t < k / c for c classes, are those of
samples with fewer than k votes.)
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.losses.atomic.atoms import AtomicLaw, two_point
from privcalc.losses.closed.gaussian import GaussianLaw
from privcalc.losses.members import threshold_tests
from privcalc.losses.screening.chances import chances
from privcalc.losses.screening.curve import ScreeningCurve
from privcalc.losses.term import Term
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record, replace

if TYPE_CHECKING:
    from decimal import Decimal

    from privcalc.losses.members import ThresholdTests
    from privcalc.losses.screening.chances import Chances
    from privcalc.renyi.curve import RenyiCurve

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
        curve = self.sharper_curve
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
    return Term(law if law.sharper_curve else pair, law, members=tests)


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
    return Term(curve=law.sharper_curve)


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
        sharper_curve=ScreeningCurve(tests) if whole else None,
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
