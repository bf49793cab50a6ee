"""Gaussian differential privacy in closed form: mu of a composition.

It is the root of the sum of squares (Dong, Roth, Su 2022, Corollary 3.3), of upper ends and of
lower ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.engine.composition import Composition
from privcalc.exact import LARGEST
from privcalc.numerics.normal import log_tail_below, tail_quantile
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable

# The smallest double.
SMALLEST = math.ulp(0.0)


def gaussian_cap(composition: Composition) -> float:
    """Return a mu of the whole: the root of the sum of squares of one of each law, rounded up.

    Dong, Roth, Su 2022, Corollary 3.3. Infinity where a part has none.
    """
    if composition.curves:
        return math.inf
    return _root(((law.gaussian_range[1], n) for law, n in composition), 1.0)


def gaussian_floor(composition: Composition) -> float:
    """Return the same of the lower ends (`losses/law.py`), rounded down.

    Laws without one may be ignored: more outputs only help to tell two laws apart.
    """
    return _root(((law.gaussian_range[0], n) for law, n in composition), -1.0)


def _root(terms: Iterable[tuple[float, int]], sign: float) -> float:
    """Return the root of a sum of squares, moved by 8 units, and by one of the smallest doubles.

    Squares of doubles may leave their range: they are of parts of the largest mu. What underflows
    then is negligible against 1, and what overflows only an upper end may be.
    """
    known = list(terms)
    largest = max((mu for mu, _ in known), default=0.0)
    if not 0.0 < largest < math.inf:
        return largest
    root = math.sqrt(math.fsum(n * (mu / largest) ** 2 for mu, n in known))
    moved = largest * root * (1.0 + sign * 8.0 * UNIT) + sign * SMALLEST
    return moved if sign > 0.0 else max(0.0, min(moved, LARGEST))


@record
class LargeEpsilons:
    """What is known of tests at large epsilon.

    Let the unbounded laws be mu-GDP together, and the losses of the others add up to at most M.
    Then delta(epsilon) is at most that of N(mu, 1) at epsilon - M, which is t - e^epsilon f for

        t = P(N > x - mu),    f = e^-M P(N > x),    epsilon = M + mu x - mu^2 / 2.

    As in `tradeoff/mu.py` what (f, t) needs is enough at this epsilon: mu + z - x,
    with P(N > z) = f. It falls as x grows: dz/dx = h(x) / h(z) <= 1 with the hazard h of the normal
    law, which increases, as z >= x.

    Attributes:
        mu: of the unbounded laws; 0 if there are none, infinity if it is not known.
        rest: M.
    """

    mu: float
    rest: float

    @classmethod
    def of(cls, composition: Composition) -> LargeEpsilons:
        """Split a composition."""
        unbounded = [
            (law, n)
            for law, n in composition
            if law.max_loss == math.inf or law.infinity_mass > 0.0
        ]
        bounded = [each for each in composition if each not in unbounded]
        rest = Composition(tuple(bounded), composition.curves).max_loss().upper
        return cls(gaussian_cap(Composition(tuple(unbounded))), max(0.0, rest))

    @property
    def start(self) -> float:
        """Return the least x, where epsilon is at least 0."""
        return max(0.0, 0.5 * self.mu - self.rest / self.mu)

    def epsilon(self, x: float) -> float:
        """Return the epsilon of x."""
        if self.mu == 0.0:
            return self.rest
        return max(0.0, self.rest + self.mu * (x - 0.5 * self.mu))

    def needed(self, epsilon: float) -> float:
        """Return a mu that is enough at all epsilons from this one on."""
        if self.mu == 0.0:
            return 0.0 if epsilon >= self.rest else math.inf
        if math.isinf(self.mu):
            return math.inf
        x = (epsilon - self.rest) / self.mu + 0.5 * self.mu
        x -= 8.0 * UNIT * ((epsilon + self.rest) / self.mu + self.mu)
        if x < 0.0:
            return math.inf
        log_f = (log_tail_below(x) - self.rest) * (1.0 + 4.0 * UNIT)
        return (self.mu + max(0.0, tail_quantile(log_f)[1] - x)) * (1.0 + 8.0 * UNIT)
