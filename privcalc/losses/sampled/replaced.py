"""Poisson sampling where a record is replaced: two opposite records, for any noise.

The largest profile is that of (1 - q) R + q W against (1 - q) R + q W', with R and W for the event
without and with the record, and W' the mirror image of W (`opposite` in `losses/cells.py`, where it
is proved). Where noise of a symmetric density is added to a number, and a larger output never has a
smaller ratio of W to R, that is W = R + 1 against W' = R - 1: two records that pull as far as they
may in opposite directions, which exist. (Lebeda, Regehr, Kamath, Steinke 2024 leave open whether
the opposite pair is the worst for Gaussian noise in several dimensions; the argument needs no
dimension, since W and W' are bounded by their tests against R alone.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.cells import listed, lower_law, opposite, upper_law
from privcalc.losses.law import MOST_UNITS, LossLaw, Tails
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.sampled.law import sampled
from privcalc.losses.sampled.normal_excess import opposite_excess
from privcalc.losses.sampled.renyi import from_excess
from privcalc.losses.term import Term
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array


@record
class ReplacedNoise(LossLaw):
    """What is known of the divergences of opposite records without outcomes.

    Attributes:
        base: the event's law for adding a record, that of noise of a symmetric density.
        q: sampling probability, 0 < q < 1.
    """

    base: GaussianLaw | DiscreteGaussianLaw
    q: float

    max_loss: ClassVar[float] = math.inf

    def tails(self, losses: Array) -> Tails:
        """Refuse: lists have them."""
        raise NotImplementedError

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by that of W against W', and by the sampled event's for removing.

        By joint convexity M <= 1 - q + q e^{K of W against W'}. With 1 + y = dP/dR, and dQ/dR at
        least 1 - q, M <= (1 - q)^-c E_R (1 + y)^{c + 1}. Where dP/dR > 1 it is above dQ/dR, which
        is below 1 there, so that M >= E_R (1 + y)^{c + 1} - 1. Of Gaussian noise it is known by
        cells.
        """
        base, q = self.base, self.q
        double: LossLaw
        if isinstance(base, GaussianLaw):
            double = GaussianLaw(2.0 * base.mu, base.error)
        else:
            double = DiscreteGaussianLaw(base.variance, 2 * base.shift)
        alone = sampled(base, q, remove=True).renyi(c)
        floor = -c * math.log1p(-q)
        convex = np.logaddexp(math.log1p(-q), math.log(q) + double.renyi(c)[1])
        above = np.minimum(convex, alone[1] + floor)
        size = np.where(np.isfinite(above), np.abs(above) + floor + abs(math.log(q)), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            below = alone[0] + np.log(-np.expm1(-alone[0]))
            below = below - 16.0 * UNIT * (1.0 + np.abs(below) + alone[0])
        # An infinite lower end is as certain as it was.
        below = np.where(alone[0] > 1.0, np.where(np.isinf(alone[0]), np.inf, below), 0.0)
        ends = np.maximum(below, 0.0), above + 16.0 * UNIT * (1.0 + size)
        if not isinstance(base, GaussianLaw) or base.error > MOST_UNITS * UNIT:
            return ends
        return from_excess(lambda each: opposite_excess(q, base.mu, each), c, *ends)

    def concentration(self, c: Array) -> Array:
        """Return four times the event's: the divergence is convex, and W from W' twice as far."""
        return 4.0 * self.base.concentration(c)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return mu and 2 mu: by convexity the pair is no worse than W and W'.

        The tests z > x have P(z > x) >= q P(N > x - mu) and Q(z > x) <= P(N > x); in compositions
        the same is true of sums of the z, as under Q each is stochastically smaller than under R.
        That is what a lower end has to say (`losses/law.py`).
        """
        if not isinstance(self.base, GaussianLaw):
            return 0.0, math.inf
        return self.base.mu * (1.0 - 8.0 * UNIT), 2.0 * self.base.mu * (1.0 + 8.0 * UNIT)


def replaced(
    event: LossLaw, reverse: LossLaw, q: float, *, exact: bool, opposite_records: bool
) -> LossLaw | Term:
    """Return what is known of a Poisson-sampled event for replacing a record.

    A record that has no influence may be replaced, too: then (P, Q) is the pair for removing one,
    which a mechanism attains where no more is known. The profile grows with q: a sample at a lower
    rate is a mixture of one at the higher rate and of none.

    Args:
        event: the event's law for adding a record.
        reverse: its law for removing one.
        q: sampling probability, 0 <= q < 1.
        exact: whether q is exact, and not rounded (then at most 1/2).
        opposite_records: whether a mechanism that fits the event's description has two records
            whose outputs are W and W'.
    """
    if q == 0.0:
        return AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
    below, above = reverse, reverse
    if isinstance(reverse, GaussianLaw | LaplaceLaw) and reverse.error > MOST_UNITS * UNIT:
        below, above = reverse.ends
    low, high = (q, q) if exact else (q * (1.0 - 2.0 * UNIT), q * (1.0 + 2.0 * UNIT))
    upper = upper_law(opposite(listed(above, above=True), high, above=True))
    if opposite_records:
        return Term(upper, lower_law(opposite(listed(below, above=False), low, above=False)))
    return Term(upper, sampled(event, q, remove=True, exact=exact, reverse=reverse))
