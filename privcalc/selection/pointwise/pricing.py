"""A price for good places in the ranking, of which there are only so many.

Bounding each outcome at its own worst place forgets that outcomes compete for places. With an
independent uniform tie-breaker, the place q of a random outcome of the base is uniform on [0, 1],
whatever the order. So for every function p with 0 <= p <= phi',

    integral of (phi'(q) - a phi'(q') dQ'/dQ)_+ dQ <= integral of p over [0, 1]
        + integral of ((phi'(q) - p(q)) - a phi'(q') dQ'/dQ)_+ dQ,

because (u)_+ - p <= (u - p)_+ for p >= 0. With p = min(phi', k) the second term is the bound
with (phi'(q) - k)_+ in place of phi'(q), which is convex and non-decreasing, too; the first one is

    cost(k) <= phi(t) - phi(0) + (1 - t) k        for every t in [0, 1].

This helps where many outcomes want the same few places: large means of light-tailed laws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics import bisection
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
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
        return bisection.first(lambda price: self.cost(price) > budget, low, high, width=SAME)[0]
