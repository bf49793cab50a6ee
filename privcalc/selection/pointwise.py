"""The privacy of selection, each outcome of the base at its own worst place in the ranking.

For an ordered pair (P, Q) that dominates the base mechanism, a = e^epsilon and W as in
`envelope.py`,

    H_a(A || A') <= W'(0) + integral of H_{a w}(P || Q) dW'(w) + P(K = 0) (1 - a)_+,

a mixture of the base's profile at shifted epsilon that is found once. It is at most
E[K] H_{a w0}, w0 the largest w with W(w) = 0, so that no bound of that form is better, and none
by Renyi divergences (Papernot, Steinke 2022) with the curve of the same pair. A price for
good positions improves on it for large numbers of runs.

There are only so many good positions. Bounding each outcome at its own worst place forgets that
outcomes compete for places. With an independent uniform tie-breaker, the place q of a random
outcome of the base is uniform on [0, 1], whatever the order. So for every function p with 0 <= p <=
phi',

    integral of (phi'(q) - a phi'(q') dQ'/dQ)_+ dQ <= integral of p over [0, 1]
        + integral of ((phi'(q) - p(q)) - a phi'(q') dQ'/dQ)_+ dQ,

because (u)_+ - p <= (u - p)_+ for p >= 0. With p = min(phi', k) the second term is the bound
with (phi'(q) - k)_+ in place of phi'(q), which is convex and non-decreasing, too; the first one is

    cost(k) <= phi(t) - phi(0) + (1 - t) k        for every t in [0, 1].

This helps where many outcomes want the same few places: large means of light-tailed laws.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics import search
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge
from privcalc.numerics.work import left as left_over
from privcalc.selection.mixture import ProfileMixture
from privcalc.selection.testing_region import ProfileGrid

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array
    from privcalc.selection.base import Base
    from privcalc.selection.runs import Runs

# 1 - t of the places that are tried.
LEAST_REST, PLACES = 1e-20, 1000
# What results of exp below the normal range may be off by.
NOTHING = 1e-300
# Work for a first look with a price.
PER_PRICE = 1e5
# Error of epsilon that refinement aims at, by its own estimates: this part of epsilon, or of 0.1
# where that is more.
TOLERANCE = 2e-6
MOST_PASSES = 7
# Base profiles beyond these do not matter for a first look, times E[K].
SMALL = 1e-12
# Epsilons between which an answer is sought, and those that are as good as infinite.
SMALLEST, LARGEST_EPSILON, FAR = 1e-12, 600.0, 1e5
# Parts of delta to spend on prices: the first is tried, the others if it gains so much of epsilon;
# no price at all is looked at again unless it was left behind.
SHARES, GAIN, CLOSE = (0.1, 0.6, 0.85), 1e-3, 0.8


class Pricing:
    """Costs of prices for one law of the number of runs."""

    def __init__(self, runs: Runs) -> None:
        """Tabulate upper ends of phi(t) - phi(0): phi' is convex, and below its chords.

        Where 1 - t is above 1/2, t is exact. Sums of n terms are off by n units, exp by 8, and
        products and differences by 4.
        """
        rest = np.geomspace(1.0, LEAST_REST, PLACES)
        slopes = np.exp(runs.log_derivative(1.0 - rest, rest)[1]) + NOTHING
        areas = 0.5 * (slopes[1:] + slopes[:-1]) * -np.diff(rest)
        self.below = np.append(0.0, np.cumsum(areas)) * (1.0 + (PLACES + 16.0) * UNIT)
        self.rest = rest

    def cost(self, price: float) -> float:
        """Return an upper bound on the integral of min(phi', price)."""
        # Where t counts, up to 1/2, it is exact; elsewhere 1 - t does.
        return float((self.below + self.rest * price * (1.0 + 4.0 * UNIT)).min()) * (
            1.0 + 4.0 * UNIT
        )

    def price(self, budget: float) -> float:
        """Return about the highest price that costs no more than the budget, or 0."""
        return max(0.0, float(((budget - self.below) / self.rest).max()))


class Pointwise:
    """Certified upper ends of H_{e^epsilon}(A || A') in the direction of `forward`.

    Attributes:
        grid: all that was asked of the base.
    """

    @np.errstate(all="ignore")
    def __init__(self, runs: Runs, forward: Base, tolerance: float = TOLERANCE) -> None:
        """Look at the base coarsely.

        Args:
            runs: the number of runs, which does not depend on the data.
            forward: the pair (P, Q) of this direction.
            tolerance: relative error of epsilon that refinement aims at; the number of points asked
                of the base grows with its square root.
        """
        self.runs, self.tolerance = runs, tolerance
        small = SMALL / max(1.0, runs.mean.upper)
        self.grid = ProfileGrid(forward)
        self.grid.reach(small, 1e-3 * small)
        self._pricing = Pricing(runs)
        self._plain = ProfileMixture(runs, self.grid, tolerance, (0.0, 0.0))
        self._mixtures = [self._plain]

    @np.errstate(all="ignore")
    def delta(self, epsilon: float) -> float:
        """Return an upper end of H_{e^epsilon}(A || A') at any real epsilon, at most 1."""
        place = np.array([epsilon])
        if abs(epsilon) <= LARGEST_EPSILON:
            self._improve(self._plain, epsilon)
            mixture = self._with_price(min(1.0, float(self._bounds(place)[0])), epsilon)
            if mixture is not self._plain:
                self._improve(mixture, epsilon)
        return float(self.present(place)[0])

    @property
    def priced(self) -> bool:
        """Whether some price has been of use."""
        return len(self._mixtures) > 1

    @np.errstate(all="ignore")
    def present(self, epsilons: Array) -> Array:
        """Return upper ends by the grids that there are, of the same shape (n,)."""
        # Far out on the right the bound does not fall any more, and on the left it is 1.
        values = np.minimum(1.0, self._bounds(np.clip(epsilons, -FAR, FAR)))
        return np.where(epsilons < -LARGEST_EPSILON, 1.0, values)

    @np.errstate(all="ignore")
    def epsilon(self, delta: float) -> float:
        """Return about the least epsilon >= 0 at which the bound is at most delta, or infinity."""
        if delta >= 1.0:
            return 0.0
        _, first = self._solve([self._plain], delta)
        priced = self._with_price(delta, first)
        found = self._refined(priced, delta)
        # A first look overestimates.
        if priced is self._plain or found > CLOSE * first:
            found = min(found, self._refined(self._plain, delta))
        return found

    def _refined(self, mixture: ProfileMixture, delta: float) -> float:
        """Return the epsilon that a mixture proves, refined there."""
        found = math.inf
        for _ in range(MOST_PASSES):
            # On the left the bound is not yet below delta, from where it may drop to 0 at once.
            left, right = self._solve([mixture], delta)
            found = min(found, right)
            if mixture.improve(left, delta):
                break
        return min(found, self._solve([mixture], delta)[1])

    def _improve(self, mixture: ProfileMixture, epsilon: float) -> None:
        for _ in range(MOST_PASSES):
            if mixture.improve(epsilon):
                return

    def _with_price(self, delta: float, epsilon: float) -> ProfileMixture:
        """Return a mixture with a price that suits a delta, or the plain one."""
        best, least = self._plain, epsilon
        for part in SHARES:
            price = self._pricing.price(part * delta) if left_over() > 0.0 else 0.0
            if not price > 0.0:
                break
            charge(PER_PRICE)
            pricing = (price, self._pricing.cost(price))
            mixture = ProfileMixture(self.runs, self.grid, self.tolerance, pricing)
            found = self._solve([mixture], delta)[1]
            if best is self._plain and not found < least - GAIN * least:
                break
            if found < least:
                best, least = mixture, found
        if best is not self._plain:
            self._mixtures.append(best)
        return best

    def _solve(self, mixtures: list[ProfileMixture], delta: float) -> tuple[float, float]:
        """Bracket the least epsilon >= 0 at which the present bound is at most delta."""

        def enough(epsilon: float) -> bool:
            return bool(self._least(mixtures, np.array([epsilon]))[0] <= delta)

        if enough(0.0):
            return 0.0, 0.0
        if not enough(LARGEST_EPSILON):
            return LARGEST_EPSILON, math.inf
        return search.first(enough, SMALLEST, LARGEST_EPSILON, width=0.01 * self.tolerance)

    def _bounds(self, epsilons: Array) -> Array:
        return self._least(self._mixtures, epsilons)

    def _least(self, mixtures: list[ProfileMixture], epsilons: Array) -> Array:
        """Return the least bound of some mixtures; P(K = 0) (1 - a)_+ is off by 8 units."""
        values = np.min([mixture.bounds(epsilons) for mixture in mixtures], axis=0)
        none = self.runs.no_runs.upper * np.maximum(0.0, -np.expm1(epsilons))
        total: Array = (values + none) * (1.0 + 16.0 * UNIT)
        return total
