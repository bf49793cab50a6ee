"""Gaussian noise, also on a query that a record changes by a random amount."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Mechanism, Noise, given, within
from privcalc.relation import Adjacency, Relation
from privcalc.spec.entry import EXCLUDES, QUERY, deviation, positive, sensitivity
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from typing import Self

    from privcalc.losses.gaussian import GaussianLaw
    from privcalc.losses.law import LossLaw, Term


# Outside, squares and exponentials of the loss leave the range of doubles.
SMALLEST_MU, LARGEST_MU = 1e-30, 1e8


@mechanism(
    name="gaussian",
    place=10,
    parameters=(
        # More noise is less noise with independent noise added: it hides more.
        deviation(),
        positive("variance", "decreases", unit="square of the unit of the query"),
        # mu^2 / 2, whatever the sensitivity: the noise grows with it.
        positive("rho", "increases"),
        sensitivity(cost_needs=("standard_deviation", "variance")),
        positive("noise_multiplier", "decreases"),
    ),
    one_of=(("standard_deviation",), ("variance",), ("rho",), ("noise_multiplier",)),
    excludes=EXCLUDES,
    example="gaussian:sigma=1.1@1000",
)
class Gaussian(Noise):
    """Gaussian noise added to a query of bounded L2 sensitivity.

    The output is f(x) + N(0, standard_deviation^2 I), and `sensitivity` bounds |f(x) - f(x')| in
    the L2 norm over neighbouring x, x', whatever the relation in force. With
    mu = sensitivity / standard_deviation the pair P = N(mu, 1), Q = N(0, 1) dominates the
    mechanism in every direction (Dong, Roth, Su 2022, Theorem 2.7), and it is attained where two
    neighbours differ by exactly the sensitivity. The privacy loss under P is
    N(mu^2 / 2, mu^2), and its cumulant K(s) = s (s + 1) mu^2 / 2.

    Attributes:
        mu: sensitivity / standard_deviation, that is 1 / noise_multiplier.
    """

    # What mu is called in errors.
    named: ClassVar[str] = "sensitivity / standard_deviation"

    def __init__(
        self,
        *,
        standard_deviation: float | None = None,
        variance: float | None = None,
        rho: float | None = None,
        sensitivity: float = 1.0,
        noise_multiplier: float | None = None,
    ) -> None:
        """Take sigma, its square, the rho of zCDP, or sigma as a multiple of the sensitivity."""
        noise = Enclosed.of(given(standard_deviation, variance, rho, noise_multiplier))
        top = Enclosed.of(1.0 if noise_multiplier is not None else sensitivity)
        if rho is not None:
            mu = (noise * 2).root()
        else:
            mu = top / (noise if variance is None else noise.root())
        self.mu = checked_mu(mu, self.named)

    def grouped(self, records: int) -> Self:
        """Return the mechanism for a group of records: its sensitivity adds up."""
        return self.changed(mu=checked_mu(self.mu * records, self.named))

    def law(self) -> LossLaw | Term:
        """Return the privacy-loss law, the same in each direction."""
        return self._law

    @cached_property
    def _law(self) -> GaussianLaw:
        """One object for all directions: what is worked out of it is so once."""
        from privcalc.losses.gaussian import GaussianLaw

        return GaussianLaw.of(self.mu)


def checked_mu(mu: Enclosed, named: str = Gaussian.named) -> Enclosed:
    """Return mu, which laws take between SMALLEST_MU and LARGEST_MU; refuse others."""
    return within(named, mu, SMALLEST_MU, LARGEST_MU)


# A sum this far from 1 is taken for a rounded 1, and divided out.
TOLERANCE = Fraction(1, 10**9)
# Logs of probabilities below, and sums of more terms, are not what the law is made for.
SMALLEST_PROBABILITY, MOST_TERMS = Fraction(1, 10**250), 1000


@mechanism(
    name="gaussian_mixture",
    place=155,
    parameters=(
        # More noise is less noise with independent noise added.
        deviation(),
        Parameter("sensitivities", kind="numbers", minimum=0.0, unit=QUERY),
        Parameter("probabilities", kind="numbers", minimum=0.0, maximum=1.0),
    ),
    relations=frozenset({Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_SPECIAL}),
    example="gaussian-mixture:sigma=2,sensitivities=0,1,2,probabilities=0.81,0.18,0.01@100",
)
class GaussianMixture(Mechanism):
    """Gaussian noise on a query that a record changes by a random amount.

    The record is in the query with sensitivity s_j with probability p_j, drawn anew in every use
    and independently of the rest: records of a person that are scattered over sampled groups, or
    a record that a sample may hold several times. With N(0, 1) for the output without the record
    and sum_j p_j N(s_j / sigma, 1) with it, this pair dominates for adding a record, and the other
    order of it for removing one, also where the query has many dimensions and every use is chosen
    adaptively (Choquette-Choo, Ganesh, Steinke, Thakurta 2024, Corollary 4.7). It is attained where
    all changes have one direction. Sensitivities 0 and 1 with probabilities 1 - q and q are Poisson
    sampling, and those of a group are binomial (`@group`).

    Probabilities have to add up to 1 within 1e-9, and are divided by their sum.
    """

    sampling: ClassVar[str] = "drawn contributions"

    def __init__(
        self,
        *,
        standard_deviation: float,
        sensitivities: tuple[float, ...],
        probabilities: tuple[float, ...],
    ) -> None:
        """Take the noise, and the amounts with their probabilities."""
        if len(sensitivities) != len(probabilities):
            raise DomainError(
                f"gaussian-mixture has {len(sensitivities)} sensitivities and"
                f" {len(probabilities)} probabilities; write one for each"
            )
        if len(sensitivities) > MOST_TERMS:
            raise DomainError(f"at most {MOST_TERMS} sensitivities are supported")
        # A long decimal stands for many numbers; the one in the middle is within a unit of all.
        chances = [Enclosed.of(each) for each in probabilities]
        total = sum(((each.low + each.high) / 2 for each in chances), Fraction(0))
        if abs(total - 1) > TOLERANCE:
            missing = f"; is {float(1 - total):.6g} that of sensitivity 0?" if total < 1 else ""
            raise DomainError(
                f"probabilities must add up to 1 within 1e-9, got {float(total):.12g}{missing}"
            )
        sigma, amounts = Enclosed.of(standard_deviation), dict[float, Fraction]()
        for size, chance in zip(sensitivities, chances, strict=True):
            mu = (Enclosed.of(size) / sigma).nearest()[0] if size else 0.0
            if mu and not SMALLEST_MU <= mu <= LARGEST_MU:
                raise DomainError(
                    f"sensitivity / standard_deviation must be 0, or in [{SMALLEST_MU:g},"
                    f" {LARGEST_MU:g}], got {mu!r}"
                )
            amounts[mu] = amounts.get(mu, Fraction(0)) + (chance.low + chance.high) / 2 / total
        self.amounts = tuple(sorted((mu, chance) for mu, chance in amounts.items() if chance))
        if min(chance for _, chance in self.amounts) < SMALLEST_PROBABILITY:
            raise DomainError("probabilities must be 0 or at least 1e-250")

    def grouped(self, records: int) -> GaussianMixture | None:
        """Return the mixture for a group: the parts of its records add up, each drawn by itself.

        Given the parts, the group moves the mean by a vector no longer than their sum, so that the
        proof of `ScatteredLaw` holds for the sums. None where they are too many, or too unlikely.
        """
        if math.comb(records + len(self.amounts) - 1, records) > MOST_TERMS:
            return None
        sums: dict[float, Fraction] = {}
        for drawn in combinations_with_replacement(self.amounts, records):
            orders = math.factorial(records)
            for count in Counter(drawn).values():
                orders //= math.factorial(count)
            # Each off by a unit, and the sum by half of one.
            place = math.fsum(mu for mu, _ in drawn)
            sums[place] = sums.get(place, Fraction(0)) + orders * math.prod(p for _, p in drawn)
        if max(sums) > LARGEST_MU or min(sums.values()) < SMALLEST_PROBABILITY:
            return None
        return self.changed(amounts=tuple(sorted(sums.items())))

    def laws(self, adjacency: Adjacency) -> LossLaw:
        """Return the law of one direction; nothing but sensitivity 0 has no loss."""
        from privcalc.losses.atoms import nothing
        from privcalc.losses.gaussian import GaussianLaw
        from privcalc.losses.sampled.mixture import ScatteredLaw
        from privcalc.numerics.rounding import UNIT

        places = [mu for mu, _ in self.amounts if mu]
        if not places:
            return nothing()
        if len(self.amounts) == 1:
            return GaussianLaw(places[0], 4.0 * UNIT, None)
        first = dict(self.amounts).get(0.0, Fraction(0))
        chances = [float(chance) for mu, chance in self.amounts if mu]
        return ScatteredLaw(
            (0.0, *places),
            (float(first), *chances),
            float(1 - first),
            adjacency is Adjacency.REMOVE,
        )
