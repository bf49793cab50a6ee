"""Tails where a record of a Poisson sample is replaced under Gaussian noise (`pair.py`).

Gaussian noise, and the integers' version of it: X = u - h with h = D^2 / (2 v), where u is D / v
times the noise under R, whose law is symmetric. The opposite record has X' = -u - h. With A(u) =
1 - q + q e^{u - h} the loss is L = log A(u) - log A(-u), odd and increasing in u, and

    L = l   at   u = l / 2 + asinh((1 - q) e^h / q sinh(l / 2)):

e^l = (1 - q + b e^u) / (1 - q + b e^-u), b = q e^-h, is b (w - 1/w) = 2 (1 - q) sinh(l / 2) for
e^u = e^{l / 2} w.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.losses.atomic.atoms import MOST_ANCHORS
from privcalc.losses.closed.gaussian import GaussianLaw
from privcalc.losses.lattice.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.law import LossLaw
from privcalc.losses.replaced.mixtures import Mixtures
from privcalc.losses.sampled.law import sampled
from privcalc.losses.tails import Tails
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# asinh(x) is log(2 x) to less than a unit beyond e^25.
LARGE_LOG = 25.0
# No displacement is reported as 0: an atom at a tested loss may be counted on either side.
LEAST_SHIFT = 1e-300


@record
class ReplacedLinearLaw(LossLaw):
    """The pair for noise whose log-ratio is linear in it; subclasses bring the masses.

    Attributes:
        base: the event's law for adding a record.
        q: sampling probability, 0 < q < 1.
    """

    base: GaussianLaw | DiscreteGaussianLaw
    q: float

    max_loss: ClassVar[float] = math.inf

    @cached_property
    def half(self) -> float:
        """Return h, off by 12 units."""
        if isinstance(self.base, GaussianLaw):
            return 0.5 * self.base.mu * self.base.mu
        return float(self.base.shift**2 / (2 * self.base.variance))

    @property
    def anchors(self) -> tuple[float, ...]:
        """Return 0, next to which a rare sample stays, and the losses of the event's anchors."""
        u = np.array([self.half - anchor for anchor in self.base.anchors])
        if not len(u):
            return (0.0,)
        found = Mixtures(self.q, self.half).logs(u, mirrored=True)[0]
        return tuple(sorted({0.0, *map(float, found)})[:MOST_ANCHORS])

    def places(self, losses: Array) -> tuple[Array, float]:
        """Return u of each loss, and by how much the loss of the rounded u may differ from it.

        The logs of the argument x of asinh are off by 20 units of their terms, which moves asinh by
        x / sqrt(1 + x^2) <= min(1, x) times that, and its own rounding by 8 units of itself. The
        slope of the loss in u is r(u) + r(-u) with r = q e^{u - h} / A(u), at most 2; a tenth is
        added for the way.
        """
        q, h = self.q, self.half
        size = np.abs(losses)
        with np.errstate(divide="ignore"):
            log_sinh = 0.5 * size + np.log(-np.expm1(-size)) - math.log(2.0)
        shift = math.log1p(-q) - math.log(q) + h
        log_x = shift + log_sinh
        x = np.exp(np.minimum(log_x, LARGE_LOG + 1.0))
        rise = np.where(log_x > LARGE_LOG, log_x + math.log(2.0), np.arcsinh(x))
        places = np.sign(losses) * (0.5 * size + rise)
        terms = abs(math.log1p(-q)) + abs(math.log(q)) + h + size
        terms = terms + np.where(size > 0.0, np.abs(log_sinh), 0.0)
        moved = 20.0 * (terms + 1.0) * np.minimum(x, 1.0) + 8.0 * np.abs(places)
        slope = np.exp(self._log_share(places)) + np.exp(self._log_share(-places))
        shifted = 1.1 * UNIT * float((moved * slope).max(initial=0.0))
        return np.maximum.accumulate(places), shifted

    def _log_share(self, u: Array) -> Array:
        """Return log of r(u) = q e^{u - h} / (1 - q + q e^{u - h})."""
        log_w = math.log(self.q) + (u - self.half)
        share: Array = log_w - np.logaddexp(math.log1p(-self.q), log_w)
        return share

    def concentration(self, c: Array) -> Array:
        """Return four times the event's: the divergence is convex, and W from W' twice as far."""
        return 4.0 * self.base.concentration(c)

    @property
    def _double(self) -> GaussianLaw | DiscreteGaussianLaw:
        """Return the law of W against W'."""
        if isinstance(self.base, GaussianLaw):
            return GaussianLaw(2.0 * self.base.mu, self.base.error)
        return DiscreteGaussianLaw(self.base.variance, 2 * self.base.shift)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by that of W against W', and of removing a record."""
        alone = sampled(self.base, self.q, remove=True)
        return replaced_convexity(c, self._double.renyi(c)[1], alone.renyi(c), self.q)


def replaced_convexity(
    c: Array, double: Array, alone: tuple[Array, Array], q: float
) -> tuple[Array, Array]:
    """Return bounds on K from that of W against W', and from the sampled event's for removing.

    By joint convexity M <= 1 - q + q e^{K of W against W'}. With 1 + y = dP/dR, and dQ/dR at least
    1 - q, M <= (1 - q)^-c E_R (1 + y)^{c + 1}. Where dP/dR > 1 it is above dQ/dR, which is below 1
    there, so that M >= E_R (1 + y)^{c + 1} - 1; and M >= 1.
    """
    log_q, floor = math.log(q), -c * math.log1p(-q)
    convex = np.logaddexp(math.log1p(-q), log_q + double)
    above = np.minimum(convex, alone[1] + floor)
    size = np.where(np.isfinite(above), np.abs(above) + floor + abs(log_q), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = alone[0] + np.log(-np.expm1(-alone[0]))
        below = below - 16.0 * UNIT * (1.0 + np.abs(below) + alone[0])
    # An infinite lower end is as certain as it was.
    below = np.where(alone[0] > 1.0, np.where(np.isinf(alone[0]), np.inf, below), 0.0)
    return np.maximum(below, 0.0), above + 16.0 * UNIT * (1.0 + size)


@record
class ReplacedLatticeLaw(ReplacedLinearLaw):
    """The pair for Gaussian noise on the integers."""

    base: DiscreteGaussianLaw

    def tails(self, losses: Array) -> Tails:
        """Return the masses of the integers beyond D / v times which u(l) is.

        P and Q are about one set of integers, whatever the rounding of its end, by 16 units of its
        terms: that moves u by as much, and the loss by the slope, at most 2. Masses
        (1 - q) r + q w are off by 8 units.
        """
        q, base = self.q, self.base
        u, moved = self.places(losses)
        ends = np.floor(u * (base.v / base.shift)) + 1.0
        parts = [base.masses_around(ends, centre) for centre in (0, base.shift, -base.shift)]
        r, p, opposite = parts
        rest = 1.0 - q
        error = np.max([part.error for part in parts], axis=0)
        between_error = np.max([part.between_error for part in parts], axis=0)
        size = float(np.abs(u).max(initial=0.0)) + self.half
        return Tails(
            above_p=rest * r.above + q * p.above,
            above_q=rest * r.above + q * opposite.above,
            below_p=rest * r.below + q * p.below,
            below_q=rest * r.below + q * opposite.below,
            error=error + 12.0 * UNIT,
            shift=(moved + 32.0 * UNIT * size) * MARGIN + LEAST_SHIFT,
            between_p=rest * r.between + q * p.between,
            between_q=rest * r.between + q * opposite.between,
            between_error=between_error + 8.0 * UNIT,
        )
