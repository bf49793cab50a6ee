"""Upper bounds on the sparse vector technique, as loss laws (see the package for the notation)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.from_profile import profile_law
from privcalc.losses.winner.law import WinnerLaw
from privcalc.losses.winner.pieces import Chord, Normal, Pieces
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, remembered

if TYPE_CHECKING:
    from privcalc.losses.atomic.atoms import AtomicLaw

# Distance of the points of the profile of Laplace noise, and their number.
STEP, FEWEST, MOST = 0.01, 60, 600
# Work for one point.
PER_POINT = 1500.0
# The profile of normal noise begins where both of its tails together are 1, or a little beyond.
BEYOND = 1e-6


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
