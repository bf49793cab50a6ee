"""A composition as the engines see it: laws with counts, all of one adjacency."""

from __future__ import annotations

import math
from dataclasses import dataclass
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

    @property
    def max_loss(self) -> float:
        """Return an upper bound on the finite total loss."""
        return math.fsum(count * law.max_loss for law, count in self.terms) + 0.0

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
