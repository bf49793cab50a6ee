"""Upper bounds on the sparse vector technique, as loss laws (see the package for the notation)."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.profiles import profile_law
from privcalc.losses.sparse_vector.kinds import answer_kinds
from privcalc.losses.sparse_vector.outcomes import outcome_profile
from privcalc.losses.winner.law import WinnerLaw
from privcalc.losses.winner.pieces import Chord, Normal, Pieces
from privcalc.numerics.normal import Profile
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import OutOfWorkError, charge, remembered

if TYPE_CHECKING:
    from privcalc.losses.atomic.atoms import AtomicLaw

# Distance of the points of the profile of Laplace noise, and their number.
STEP, FEWEST, MOST = 0.01, 60, 600
# Work for one point.
PER_POINT = 1500.0
# The profile of normal noise begins where both of its tails together are 1, or a little beyond.
BEYOND = 1e-6
# Answers are added up at so many losses, up to where N h is LEAST_DELTA, or LEAST_SHARE of N; the
# law follows N h from at most twice as far.
KNOTS, FAR = 28, 200
LEAST_DELTA, LEAST_SHARE = 1e-19, 1e-20


@remembered(32)
def laplace_bound(threshold: Fraction, queries: Fraction) -> AtomicLaw:
    """Return the law for Laplace noise, of streams of any length.

    Args:
        threshold: e = D / (scale of rho), rounded up.
        queries: f = c 2 D / (scale of nu), rounded up.

    For answers o integrate over n: G_o(r) = P(o | r) and G'_o(r + D) >= e^{-f} G_o(r), as moving at
    most c numbers of the noise nu by at most 2 D changes their density by at most that factor. With
    p the density of rho,

        P(o) - a P'(o) <= int (p(r) - a e^{-f} p(r + D)) G_o(r) dr,

    and the sum over o of G_o(r) is 1. So the profile at epsilon is at most that of rho, Laplace
    noise with largest loss e, at epsilon - f: the profile form of Zhu 2023, Theorem 7.2.1 (7.3). At
    epsilon = e + f it is 0. Both orders have the same bound, and the law is that of the largest
    profile that meets it at some points, and at their mirror images.
    """
    total = threshold + queries
    points: list[tuple[Fraction | float, Fraction]] = [(total, Fraction(0))]
    e, f = (math.nextafter(float(each), math.inf) for each in (threshold, queries))
    count = min(max(math.ceil(float(total) / STEP), FEWEST), MOST)
    charge(PER_POINT * count)
    for k in range(count):
        epsilon = float(total) * k / count
        x = epsilon - f
        if x >= 0.0:
            delta = -math.expm1(min(0.5 * (x - e), 0.0))
        else:
            delta = -math.expm1(x) - math.exp(x) * math.expm1(min(-0.5 * (x + e), 0.0))
        delta = min(1.0, delta * (1.0 + 64.0 * UNIT) + 16.0 * UNIT * (e + f))
        points.append((Fraction(epsilon), Fraction(delta)))
    return profile_law(tuple(points))


@remembered(32)
def gaussian_bound(mu: float, outcomes: int) -> WinnerLaw:
    """Return the law for Gaussian noise, of streams of bounded length.

    Args:
        mu: (D^2 / sigma_rho^2 + 4 c D^2 / sigma_nu^2)^{1/2}, rounded up.
        outcomes: N, the number of possible answers to the whole stream.

    With x = (r, n), phi its density, and w = (D, v), whose length in deviations is at most mu,

        P(o) - a P'(o) <= int (phi(x) - a phi(x + w)) g(x) dx <= h(mu),

    h(mu) the profile of N(mu, 1) and N(0, 1), as 0 <= g <= 1. Summed over the outcomes the profile
    is at most N h(mu). That is below what each order of the Renyi bounds of Zhu 2023, Theorems
    7.2.1 (7.1) and 7.6.6, proves of N h(mu). The law is that of min(1, N h(mu)) with its mirror
    image: it follows N h(mu) from where both tails together are at most 1, and a chord to there.

    Raises:
        NotCertifiedError: rounding hides the shape.
    """
    count = float(outcomes) * (1.0 + 4.0 * UNIT)
    normal = Normal(0.0, count, mu)

    def tails(loss: float) -> float:
        side = normal.side(np.array([loss]))
        return float(side.above_p[0] + side.above_q[0])

    low, high = 0.0, 1.0
    while tails(high) > 1.0 - BEYOND:
        low, high = high, 2.0 * high
        if high > 1e4:
            raise NotCertifiedError("nearly everything may be revealed by so many answers")
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if tails(middle) > 1.0 - BEYOND else (low, middle)
    pieces = Pieces((Chord(0.0, high, None, normal.value(high)), Normal(high, count, mu)))
    return WinnerLaw(outcomes, mu, pieces, math.inf)


@remembered(32)
def answers_bound(
    sizes: tuple[float, float], cutoff: int, length: int, mu: float, outcomes: int
) -> WinnerLaw:
    """Return the law of the least of N h(mu) and of what each answer costs at most, summed.

    Both are upper bounds at every epsilon, and the profile is convex in a: between points it is
    below chords. Points of both are taken, and their largest convex function with its mirror
    image; from the second point on N h beyond the last other corner N h itself.

    Args:
        sizes: s and t, of rho and nu, in units of D.
        cutoff: c.
        length: most queries.
        mu: as for `gaussian_bound`.
        outcomes: N.

    Raises:
        NotCertifiedError: see `gaussian_bound`.
    """
    plain = gaussian_bound(mu, outcomes)
    normal = Normal(0.0, float(outcomes) * (1.0 + 4.0 * UNIT), mu)
    end = _where(normal, max(LEAST_DELTA, outcomes * LEAST_SHARE))
    epsilons = end * np.arange(1, KNOTS + 1) / KNOTS
    try:
        sums = outcome_profile(sizes, answer_kinds(cutoff, length), epsilons)
    except OutOfWorkError:
        return plain
    knots = [(float(x), float(y)) for x, y in zip(epsilons, sums, strict=True)]
    knots = [(x, y) for x, y in knots if y < min(1.0, normal.value(x).lower)]
    if not knots:
        return plain
    # There N h is below all of them.
    end = max(end, _where(normal, 0.1 * min(y for _, y in knots)))
    far = [end * (1.0 + k / FAR) for k in range(1, FAR + 2)]
    tail = [(x, normal.value(x).upper) for x in far]
    try:
        return WinnerLaw(outcomes, mu, _pieces([*knots, *tail], len(tail), normal), math.inf)
    except NotCertifiedError:
        return plain


def _where(normal: Normal, delta: float) -> float:
    """Return about the loss from which a normal profile is below delta."""
    low, high = 0.0, 1.0
    while normal.value(high).upper > delta:
        low, high = high, 2.0 * high
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if normal.value(middle).upper > delta else (low, middle)
    return high


def _pieces(points: list[tuple[float, float]], tail: int, normal: Normal) -> Pieces:
    """Return the pieces of the largest convex symmetric function that meets points.

    Any of them may be left out, which raises it: the hull is found in doubles.

    Args:
        points: losses > 0, increasing, and bounds there; the last ones are of `normal`.
        tail: how many these are.
        normal: what follows.
    """
    hull: list[tuple[float, float, int]] = [(0.0, 1.0, -1)]
    mirrored = [(math.exp(-x), -math.expm1(-x) + y * math.exp(-x), -1) for x, y in reversed(points)]
    here = [(math.exp(x), y, k) for k, (x, y) in enumerate(points)]
    for c in [*mirrored, *here]:
        while len(hull) > 1:
            a, b = hull[-2:]
            if (b[1] - a[1]) * (c[0] - b[0]) < (c[1] - b[1]) * (b[0] - a[0]) * (1.0 - 1e-9):
                break
            hull.pop()
        hull.append(c)
    kept = [k for *_, k in hull if k >= 0]
    # The first two of the tail are its corners; nothing else of it is.
    last = next(k for k in kept if k >= len(points) - tail)
    corners = [*(k for k in kept if k < last), last, last + 1]

    def value(k: int) -> Profile:
        y = points[k][1]
        return Profile(y, y, (1.0 - y) * (1.0 - UNIT), (1.0 - y) * (1.0 + UNIT))

    found: list[Chord | Normal] = [Chord(0.0, points[corners[0]][0], None, value(corners[0]))]
    for i, k in pairwise(corners):
        found.append(Chord(points[i][0], points[k][0], value(i), value(k)))
    start = points[corners[-1]][0]
    return Pieces((*found, Normal(start, normal.count, normal.mu)))
