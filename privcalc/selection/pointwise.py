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
import operator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.numerics import search
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge
from privcalc.numerics.work import left as left_over
from privcalc.selection.mixture import COARSE, ProfileMixture
from privcalc.selection.testing_region import ProfileGrid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.numerics.rounding import Array
    from privcalc.selection.base import Base
    from privcalc.selection.runs.protocol import Runs

# 1 - t of the places that are tried.
LEAST_REST, PLACES = 1e-20, 500
LEAST_PRICE = 1e-280
# A price is sought to this part of itself: no better than the places of its cost.
SAME = 1e-12


class Pricing:
    """Costs of prices for one law of the number of runs."""

    def __init__(self, runs: Runs) -> None:
        """Tabulate phi(t) - phi(0), as a sum of increments."""
        rest = np.geomspace(1.0, LEAST_REST, PLACES)
        steps = runs.increments(1.0 - rest, rest)[1]
        self.mean = runs.mean.upper
        self.below = np.append(0.0, np.cumsum(steps)) * (1.0 + PLACES * UNIT)
        self.rest = rest

    def cost(self, price: float) -> float:
        """Return an upper bound on the integral of min(phi', price)."""
        if price <= 0.0:
            return 0.0
        # Where t counts, up to 1/2, it is exact; elsewhere 1 - t does.
        return float((self.below + self.rest * price * (1.0 + 4.0 * UNIT)).min()) * (
            1.0 + 4.0 * UNIT
        )

    def price(self, budget: float) -> float:
        """Return about the highest price that costs no more than the budget."""
        low, high = LEAST_PRICE, self.mean
        if self.cost(low) > budget:
            return 0.0
        return search.first(lambda price: self.cost(price) > budget, low, high, width=SAME)[0]


# Work for a first look with a price.
PER_PRICE = 1e5
# Error of epsilon that refinement aims at, by its own estimates: this part of epsilon, or of 0.1
# where that is more.
TOLERANCE = 2e-6
MOST_PASSES = 7
# Base profiles beyond these do not matter for a first look, times E[K].
SMALL = 1e-12
LARGEST_EPSILON, FAR = 600.0, 1e5
# Of many epsilons so many are looked at when grids are refined.
SAMPLE = 12
# Parts of delta to spend on prices: the first is tried, the others if it gains so much of epsilon;
# no price at all is looked at again unless it was left behind.
SHARES, GAIN, CLOSE = (0.1, 0.02, 0.3, 0.6, 0.85), 1e-3, 0.8
# Of many epsilons so many get a price of their own.
PRICED = 3
# A range of epsilons need not be looked at again within one that is wider by up to this factor.
WIDER = 3.0
# Between prices that are of use, and up to FARTHER beyond them while that is so, costs are such
# factors apart: for deltas above LARGE, where epsilon depends on them most, and below.
LARGE, CLOSER, APART, FARTHER = 1e-3, 1.2, 1.5, 16.0
# Parts of each gap at whose ends the bound without a price is looked at, where it is not above the
# least by more than this factor.
STEPS, COMPETES = 4, 1.1
# What a price costs, as parts of the deltas that it is likely to suit; what it is compared with.
SUITED, NEIGHBOURS = (0.85, 0.4), 2


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
        self._ranges: list[tuple[float, float]] = []

    def delta(self, epsilon: float) -> float:
        """Return an upper end of H_{e^epsilon}(A || A') at any real epsilon, at most 1."""
        return float(self.deltas([epsilon])[0])

    @np.errstate(all="ignore")
    def deltas(self, epsilons: Sequence[float] | Array) -> Array:
        """Return upper ends at many epsilons, of the same shape (n,).

        Raises:
            DomainError: an epsilon is not a number.
        """
        places = np.asarray(epsilons, dtype=np.float64)
        if np.isnan(places).any():
            raise DomainError("epsilon must be a number")
        inside = np.unique(places[np.abs(places) <= LARGEST_EPSILON])
        if len(inside) and not self._covered(float(inside[0]), float(inside[-1])):
            ranks = np.linspace(0, len(inside) - 1, min(SAMPLE, len(inside)))
            some = inside[np.rint(ranks).astype(np.int64)]
            self._improve(self._plain, some, None)
            for epsilon in np.unique(some[:: max(1, len(some) // PRICED)]):
                delta = min(1.0, float(self._bounds(np.array([epsilon]))[0]))
                mixture = self._priced(delta, float(epsilon))
                if mixture is not self._plain:
                    self._improve(mixture, np.array([epsilon]), None)
        return self.present(places)

    @np.errstate(all="ignore")
    def present(self, epsilons: Array) -> Array:
        """Return upper ends by the grids that there are, of the same shape (n,)."""
        # Far out on the right the bound does not fall any more, and on the left it is 1.
        values = np.minimum(1.0, self._bounds(np.clip(epsilons, -FAR, FAR)))
        return np.where(epsilons < -LARGEST_EPSILON, 1.0, values)

    def _covered(self, first: float, last: float) -> bool:
        """Say whether grids are good from one epsilon to another; remember that they will be."""
        for left, right in self._ranges:
            if left <= first and last <= right and right - left <= WIDER * (last - first):
                return True
        self._ranges.append((first, last))
        return False

    @np.errstate(all="ignore")
    def refine(self, epsilons: Sequence[float]) -> None:
        """Make the bound without a price as good between some epsilons as it is there.

        Where one with a price is clearly better it does not matter.
        """
        places = np.unique(np.minimum(epsilons, LARGEST_EPSILON))
        steps = np.arange(len(places) - 1.0 + 1.0 / STEPS, step=1.0 / STEPS)
        some = np.interp(steps, np.arange(float(len(places))), places)
        some = some[self._least([self._plain], some) <= COMPETES * self._bounds(some)]
        if len(some):
            self._improve(self._plain, some, None)

    @np.errstate(all="ignore")
    def fill(self) -> list[float]:
        """Add prices for all the deltas between, and just beyond, those that have one of use.

        They take the refined grids of the base as they are, and are improved once each.

        Returns:
            Epsilons at which they are good.
        """
        costs = sorted(mixture.cost for mixture in self._mixtures[1:])
        if not costs:
            return []
        found = [
            epsilon
            for first, last in pairwise(costs)
            for cost in _steps(first, last)[:-1]
            for epsilon in self._added(cost)
        ]
        for first, last in (
            (costs[0], costs[0] / FARTHER),
            (costs[-1], min(1.0, FARTHER * costs[-1])),
        ):
            for cost in _steps(first, last):
                good = self._added(cost)
                if not good:
                    break
                found += good
        return found

    def _added(self, budget: float) -> list[float]:
        """Add the price that costs so much, if it is of use; return an epsilon where it is good."""
        if left_over() <= 0.0:
            return []
        charge(PER_PRICE)
        price = self._pricing.price(budget)
        if not price > 0.0:
            return []
        mixture = ProfileMixture(
            self.runs, self.grid, self.tolerance, (price, self._pricing.cost(price))
        )
        deltas = [mixture.cost / part for part in SUITED]
        places = [self._solve([mixture], delta)[0] for delta in deltas]
        mixture.improve(np.array(places), deltas[0])
        found = [self._solve([mixture], delta)[1] for delta in deltas]
        others = [self._plain, *self._mixtures[-NEIGHBOURS:]]
        before = [self._solve(others, delta)[1] for delta in deltas]
        if not any(map(operator.lt, found, before)):
            return []
        self._mixtures.append(mixture)
        return found[:1]

    @np.errstate(all="ignore")
    def epsilon(self, delta: float) -> float:
        """Return about the least epsilon >= 0 at which the bound is at most delta, or infinity.

        Raises:
            DomainError: delta is not in [0, 1].
        """
        if not 0.0 <= delta <= 1.0:
            raise DomainError(f"delta must be in [0, 1], got {delta!r}")
        if delta == 1.0:
            return 0.0
        _, first = self._solve([self._plain], delta)
        priced = self._priced(delta, first)
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
            if mixture.improve(np.array([left]), delta):
                break
        return min(found, self._solve([mixture], delta)[1])

    def _improve(self, mixture: ProfileMixture, epsilons: Array, delta: float | None) -> None:
        for _ in range(MOST_PASSES):
            if mixture.improve(epsilons, delta):
                return

    def _priced(self, delta: float, epsilon: float) -> ProfileMixture:
        """Return a mixture with a price that suits a delta, or the plain one."""
        best, least = self._plain, epsilon
        for i, share in enumerate(SHARES):
            if left_over() <= 0.0:
                return best
            charge(PER_PRICE)
            price = self._pricing.price(share * delta)
            if not price > 0.0:
                return best
            pricing = (price, self._pricing.cost(price))
            mixture = ProfileMixture(self.runs, self.grid, self.tolerance, pricing)
            found = self._solve([mixture], delta)[1]
            if found < least - GAIN * least or (i > 0 and found < least):
                best, least = mixture, found
            elif i == 0:
                return best
        if best is not self._plain:
            self._mixtures.append(best)
        return best

    def _solve(self, mixtures: list[ProfileMixture], delta: float) -> tuple[float, float]:
        """Bracket the least epsilon >= 0 at which the present bound is at most delta."""
        places = np.append(0.0, 1e-3 * 1.6 ** np.arange(29.0))
        places = np.append(places[places < LARGEST_EPSILON], LARGEST_EPSILON)
        left, right = 0.0, math.inf
        while True:
            good = self._least(mixtures, places) <= delta
            first = int(np.argmax(good)) if good.any() else len(places)
            if first < len(places):
                right = float(places[first])
            if first > 0:
                left = float(places[first - 1])
            if right == math.inf or right - left <= 0.01 * self.tolerance * max(right, COARSE):
                return left, right
            places = left + (right - left) * np.arange(1.0, 16.0) / 16.0
            places = places[(places > left) & (places < right)]
            if not len(places):
                return left, right

    def _bounds(self, epsilons: Array) -> Array:
        return self._least(self._mixtures, epsilons)

    def _least(self, mixtures: list[ProfileMixture], epsilons: Array) -> Array:
        """Return the least bound of some mixtures; P(K = 0) (1 - a)_+ is off by 8 units."""
        values = np.min([mixture.bounds(epsilons) for mixture in mixtures], axis=0)
        none = self.runs.no_runs.upper * np.maximum(0.0, -np.expm1(epsilons))
        total: Array = (values + none) * (1.0 + 16.0 * UNIT)
        return total


def _steps(first: float, last: float) -> list[float]:
    """Return costs from one, without it, to another."""
    apart = math.log(CLOSER if max(first, last) > LARGE else APART)
    count = math.ceil(abs(math.log(last / first)) / apart)
    return np.geomspace(first, last, count + 1)[1:].tolist() if count else []
