"""Loss of the discrete Gaussian mechanism: N_Z(0, v) against N_Z(D, v), D a whole number.

L(x) = (D^2 - 2 D x) / (2 v) lies on a lattice of step D / v. The pair is symmetric: x -> D - x
exchanges the two laws, so that (Q, P) has the same loss law.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.exact import Enclosed
from privcalc.losses.cells import between, sums
from privcalc.losses.law import MOST_ANCHORS, LawProperties, LossLaw, Tails
from privcalc.numerics.rounding import TINIEST, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.sampled.renyi import Logs
    from privcalc.numerics.rounding import Array, Integers

# Masses beyond so many standard deviations are below 1e-330.
REACH = 39.0
# Where 2 pi^2 v is larger, sums over the whole numbers are those of a normal density to 6e-20.
SMOOTH_BETA = 45.0
# Units of a running sum (`sums`).
ADDITIONS = 600.0


@record
class LatticeMasses:
    """Masses below and above some ends, and between neighbours, with relative errors."""

    below: Array
    above: Array
    error: Array
    between: Array
    between_error: Array


@record
class LatticeOutcomes:
    """Masses of consecutive integers, and their sums from both ends.

    An exponent E = x^2 / (2 v) is off by 2 units of itself (v and the quotient), a weight e^{-E}
    by 2 E + 8 units. In a sum the errors are averaged. Away from the centre E = E_0 + u with u
    growing from 0 and convex; the mean of u is below 3 / 2, because u e^{-u} <= (2 / e) e^{-u / 2},
    and u_j / 2 >= u_{floor(j / 2)} makes the sum of e^{-u_j / 2} at most twice that of e^{-u_j}.
    So the sum of all weights, by which they are divided, is off by 12 units (by 8 in its closed
    form, Poisson summation), and a tail by 2 E_0 + 24 units and those of adding up; one that holds
    the centre by no more, with E_0 = 0.
    Masses below 1e-300 may underflow: who uses tails charges for that.

    Attributes:
        first: the first outcome.
        masses: their masses.
        exponents: E of each.
        left: sums of the masses of the outcomes with index < k, for all k.
        right: sums of those with index >= k.
    """

    first: int
    masses: Array
    exponents: Array
    left: Array
    right: Array

    @classmethod
    def of_variance(cls, v: float) -> LatticeOutcomes:
        """Return the outcomes of N_Z(0, v) up to REACH."""
        last = math.ceil(REACH * math.sqrt(v)) + 1
        exponents = np.arange(-last, last + 1).astype(float) ** 2 / (2.0 * v)
        weights = np.exp(-exponents)
        smooth = 2.0 * math.pi**2 * v > SMOOTH_BETA
        masses = weights / (math.sqrt(2.0 * math.pi * v) if smooth else math.fsum(weights))
        left = np.concatenate([[0.0], sums(masses)])
        right = np.concatenate([sums(masses[::-1])[::-1], [0.0]])
        return cls(-last, masses, exponents, left, right)

    @property
    def size(self) -> int:
        """Return the number of outcomes."""
        return len(self.masses)

    def masses_around(self, ends: Array) -> LatticeMasses:
        """Return the masses on either side of increasing ends, the first whole numbers above."""
        index = np.clip(ends - self.first, 0, self.size).astype(np.int64)
        # Between two ends lie the outcomes from the first up to the second.
        between, wrong = self.between(index[::-1])
        return LatticeMasses(
            self.left[index], self.right[index], self.error(index), between[::-1], wrong[::-1]
        )

    def error(self, ends: Integers) -> Array:
        """Return the relative error of the sums on either side of an end."""
        return UNIT * (32.0 + ADDITIONS + 2.0 * self._largest(ends - 1, ends))

    def between(self, ends: Integers) -> tuple[Array, Array]:
        """Return the masses of the outcomes from ends[i + 1] up to ends[i], and their errors."""
        low, high = ends[1:], ends[:-1]
        mass = between(self.masses, ends[::-1])[::-1]
        return mass, UNIT * (32.0 + high - low + 2.0 * self._largest(low, high - 1))

    def _largest(self, low: Integers, high: Integers) -> Array:
        """Return the larger exponent of two outcomes: E is convex."""
        last = self.size - 1
        at_low, at_high = np.clip(low, 0, last), np.clip(high, 0, last)
        larger: Array = np.maximum(self.exponents[at_low], self.exponents[at_high])
        return larger


# Atoms above this mass have their locations listed.
ANCHOR_MASS = 1e-18


@record
class DiscreteGaussianLaw(LossLaw):
    """Loss between two discrete Gaussians.

    Attributes:
        variance: v, the variance parameter, a positive rational.
        shift: D, at least 1.
    """

    variance: Fraction
    shift: int

    max_loss = math.inf
    properties = LawProperties(symmetric=True, renyi_in_closed_form=True)

    @cached_property
    def v(self) -> float:
        """Return the variance parameter, rounded once."""
        return float(self.variance)

    @property
    def twice_rho(self) -> Enclosed:
        """Return D^2 / v, the largest 2 D_a / a: attained at order 2, where D (a - 1) is whole."""
        rational = Fraction(self.shift**2) / self.variance
        return Enclosed(rational, rational)

    @property
    def lattice(self) -> tuple[Fraction, Fraction]:
        """Return a loss and the step of the lattice of all losses, exactly."""
        return Fraction(self.shift**2) / (2 * self.variance), self.shift / self.variance

    @cached_property
    def _outcomes(self) -> LatticeOutcomes:
        """Return the outcomes that matter and their masses under N_Z(0, v); under Q they move."""
        return LatticeOutcomes.of_variance(self.v)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K = D^2 c (c + 1) / (2v) + log S(D c) - log S(0) (complete the square).

        S(r) = sum_x e^{-(x - r)^2 / (2v)} has period 1 and is largest at 0 (Poisson summation):
        K is at most that of the Gaussian mechanism, and is that to 6e-20 for large v. Elsewhere S
        is summed, with r the distance of D c from the nearest whole number. D c is rounded once, so
        that an exponent E is off by 4 units of itself and by |x - r| / v units of D c, a weight by
        that and 8 units, the sum by a unit a term; closed terms by 16 units of themselves. What
        lies beyond REACH is below the least double.
        """
        level = self.shift**2 / (2.0 * self.v) * c * (c + 1.0)
        slack = 16.0 * UNIT * level
        if 2.0 * math.pi**2 * self.v > SMOOTH_BETA:
            return np.maximum(level - slack - TINIEST, 0.0), level + slack + TINIEST
        phase = float(self.shift) * c
        rest = phase - np.rint(phase)
        last = math.ceil(REACH * math.sqrt(self.v)) + 2
        away = np.arange(-last, last + 1) - np.append(rest, 0.0)[:, None]
        exponents = away * away / (2.0 * self.v)
        # Relative to the largest, as for narrow noise all may be small.
        least = exponents.min(axis=1)
        weights = np.exp(least[:, None] - exponents)
        total = weights.sum(axis=1)
        logs = np.log(total) - least
        units = 4.0 * exponents + np.abs(away) / self.v * np.append(np.abs(phase), 0.0)[:, None]
        off = UNIT * (
            (weights * (units + 16.0 + 2.0 * last)).sum(axis=1) / total + 8.0 * (1.0 + least)
        )
        value = level + (logs[:-1] - logs[-1])
        error = slack + (off[:-1] + off[-1]) * (1.0 + 1e-6)
        upper = np.minimum(value + error, level + slack)
        return np.maximum(value - error - TINIEST, 0.0), upper + TINIEST

    def concentration(self, c: Array) -> Array:
        """Return D^2 / (2 v): K is at most that of the Gaussian (see `renyi`)."""
        return np.full(c.shape, self.shift**2 / (2.0 * self.v) * (1.0 + 8.0 * UNIT))

    def sampled_excess(self, q: float, c: float, *, remove: bool, positive: bool) -> Logs:
        """Return bounds on log(M(c) - 1) of the sampled law, or on the part of it with X > 0.

        log sum_k e^{-k^2 / (2v)} is that of sqrt(2 pi v) up to 6e-20 for large v.

        Raises:
            NotCertifiedError: too many outcomes matter.
        """
        from privcalc.losses.sampled.renyi import HALF_LOG_TAU, mixture_excess, sampled_ratio

        step = 1.0 / math.sqrt(self.v)
        log_norm = HALF_LOG_TAU - math.log(step)
        if 2.0 * math.pi**2 * self.v <= SMOOTH_BETA:
            log_norm = math.log(math.fsum(np.exp(-self._outcomes.exponents)))
        lattice = step, HALF_LOG_TAU - math.log(step) - log_norm
        ratio = sampled_ratio(self.shift * step, q)
        return mixture_excess(ratio, c, remove=remove, lattice=lattice, positive=positive)

    @cached_property
    def atom_locations(self) -> tuple[float, ...]:
        """Return the losses of the likely outcomes, if they are few."""
        first = self._outcomes.first
        likely = np.flatnonzero(self._outcomes.masses > ANCHOR_MASS)
        if len(likely) > MOST_ANCHORS:
            return ()
        origin, step = self.lattice
        return tuple(float(origin - step * (first + int(i))) for i in likely[::-1])

    def tails(self, losses: Array) -> Tails:
        """Return sums over outcomes: L > l exactly where x < D / 2 - v l / D.

        That threshold is off by 6 units of its terms: an outcome so near may be counted on either
        side. The masses of outcomes are added up from both ends; between two losses lie few
        outcomes, whose masses are added directly. See `_Outcomes` for the errors.
        """
        table = self._outcomes
        threshold = 0.5 * self.shift - losses * (self.v / self.shift)
        # Index of the first outcome that is not below the threshold, under P and under Q.
        end = np.ceil(threshold) - table.first
        under_p = np.clip(end, 0, table.size).astype(np.int64)
        under_q = np.clip(end - self.shift, 0, table.size).astype(np.int64)
        size = self.shift / (2.0 * self.v) * self.shift + np.abs(losses)
        between_p, error_p = table.between(under_p)
        between_q, error_q = table.between(under_q)
        return Tails(
            above_p=table.left[under_p],
            above_q=table.left[under_q],
            below_p=table.right[under_p],
            below_q=table.right[under_q],
            error=np.maximum(table.error(under_p), table.error(under_q)),
            shift=8.0 * UNIT * float(size.max(initial=0.0)),
            between_p=between_p,
            between_q=between_q,
            between_error=np.maximum(error_p, error_q),
        )

    def masses_around(self, ends: Array, centre: int) -> LatticeMasses:
        """Return the masses of N_Z(centre, v) on either side of increasing whole numbers.

        Args:
            ends: the first whole number of those above.
            centre: where the law has its centre.
        """
        return self._outcomes.masses_around(ends - centre)
