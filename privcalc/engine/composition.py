"""A composition as the engines see it: laws with counts, all of one adjacency."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from privcalc.losses.law import LossLaw


@dataclass(frozen=True, slots=True)
class Composition:
    """Adaptive composition of independent losses: their sum, with each law used `count` times.

    Dominating pairs compose adaptively (Zhu, Dong, Wang 2022, Theorem 10; paper 003, Theorem 27):
    the product pair dominates, and its loss is the sum.
    """

    terms: tuple[tuple[LossLaw, int], ...]

    @classmethod
    def of(cls, terms: Iterable[tuple[LossLaw, int]]) -> Composition:
        """Gather equal laws, so that the cost grows with the number of distinct ones."""
        counts: dict[LossLaw, int] = {}
        for law, count in terms:
            counts[law] = counts.get(law, 0) + count
        return cls(tuple(counts.items()))

    def __iter__(self) -> Iterator[tuple[LossLaw, int]]:
        return iter(self.terms)

    def max_loss(self) -> Bound:
        """Bracket the supremum of the finite total loss, exactly where the laws' are exact.

        The sum of products is formed in rationals and rounded outward once.
        """
        if any(law.max_loss == math.inf for law, _ in self.terms):
            return Bound(math.inf, math.inf)
        if any(law.max_loss == -math.inf for law, _ in self.terms):
            return Bound(-math.inf, -math.inf)
        exact = sum((count * Fraction(law.max_loss) for law, count in self.terms), Fraction(0))
        error = math.fsum(
            count * abs(law.max_loss) * law.max_loss_error for law, count in self.terms
        )
        nearest = float(exact)
        if error == 0.0 and Fraction(nearest) == exact:
            return Bound(nearest, nearest)
        error *= 1.0 + 1e-9
        return Bound(
            math.nextafter(nearest + error, math.inf), math.nextafter(nearest - error, -math.inf)
        )

    def infinity_mass(self) -> Bound:
        """Bracket P(L = +inf) = 1 - prod (1 - m)^count.

        In logs: each term count log1p(-m) has relative error below 4 units, the sum adds one per
        term, expm1 four more.
        """
        sources = [(law, count) for law, count in self.terms if law.infinity_mass > 0.0]
        if len(sources) == 1 and sources[0][1] == 1:
            exact = sources[0][0].infinity_mass
            return Bound(exact, exact)
        if any(law.infinity_mass >= 1.0 for law, _ in self.terms):
            return Bound(1.0, 1.0)
        log_finite = math.fsum(count * math.log1p(-law.infinity_mass) for law, count in self.terms)
        if log_finite == 0.0:
            return Bound(0.0, 0.0)
        mass = -math.expm1(log_finite)
        slack = (12.0 + len(self.terms)) * UNIT * mass
        return Bound(min(1.0, mass + slack), max(0.0, mass - slack))

    def dropped_mass(self) -> float:
        """Bound the P-mass of everything that truncated laws leave out (union bound)."""
        return math.fsum(count * law.dropped_mass for law, count in self.terms) * (1.0 + 1e-12)

    def truncated(self, log_mass: float) -> Composition:
        """Cut far outcomes of total P-mass at most exp(log_mass)."""
        share = log_mass - math.log(sum(count for _, count in self.terms))
        return Composition(tuple((law.truncated(share), count) for law, count in self.terms))

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K, K', K'' of the sum at c (for searches)."""
        k0 = k1 = k2 = 0.0
        for law, count in self.terms:
            a, b, d = law.cumulants(c)
            k0, k1, k2 = k0 + count * a, k1 + count * b, k2 + count * d
        return k0, k1, k2
