"""Loss of the discrete Gaussian mechanism: N_Z(0, v) against N_Z(D, v), D a whole number.

L(x) = (D^2 - 2 D x) / (2 v) lies on a lattice of step D / v. With s = z and a = D z,

    M(z) = e^{D^2 z (z + 1) / (2 v)} theta(z) / theta(0),
    theta(z) = sum_k e^{-2 pi^2 v k^2 + 2 pi i k D z}

(complete the square; Poisson summation of sum_x e^{-(x + a)^2 / (2 v)}). On Re z = c the terms
have the moduli e^{-beta (k + t / p)^2} times a common factor, beta = 2 pi^2 v and p = 2 pi v / D,
so that |phi| comes back at every multiple of p, and summing around k = -t / p loses no digits.
The pair is symmetric: x -> D - x exchanges the two laws, so that (Q, P) has the same loss law.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.exact import Enclosed
from privcalc.losses.atomic.atoms import MOST_ANCHORS
from privcalc.losses.contour import ContourLaw
from privcalc.losses.lattice.normal import DIRECT_BELOW
from privcalc.losses.lattice.outcomes import SMOOTH_BETA, LatticeMasses, Outcomes
from privcalc.losses.lattice.renyi import lattice_excess
from privcalc.losses.lattice.revival import Revival
from privcalc.losses.law import LossLaw
from privcalc.losses.tails import Tails
from privcalc.numerics.arrays import vertical
from privcalc.numerics.log_sums import TINIEST
from privcalc.numerics.phases import LEAST_BETA, log_theta, log_theta_constant
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.sampled.renyi import Logs
    from privcalc.numerics.arrays import Array, ComplexArray

# Atoms above this mass are anchors.
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
    cheap_orders = True
    everywhere = True
    comes_back = True
    symmetric = True

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
    def _outcomes(self) -> Outcomes:
        """Return the outcomes that matter and their masses under N_Z(0, v); under Q they move."""
        return Outcomes.of_variance(self.v)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K, K' and K''."""
        d2 = self.shift**2 / self.v
        if 2.0 * math.pi**2 * self.v > SMOOTH_BETA:
            return c * (c + 1.0) * d2 / 2.0, (2.0 * c + 1.0) * d2 / 2.0, d2
        # Around the tilted centre, x = -c D, the weights are those of a shifted lattice.
        centre = float(round(-c * self.shift))
        reach = math.ceil(12.0 * math.sqrt(self.v)) + 3
        offsets = np.arange(-reach, reach + 1.0)
        x = centre + offsets
        weights = np.exp(-((offsets + (centre + c * self.shift)) ** 2) / (2.0 * self.v))
        total = float(weights.sum())
        whole = np.exp(-(offsets**2) / (2.0 * self.v)).sum()
        loss = (self.shift**2 - 2.0 * self.shift * x) / (2.0 * self.v)
        mean = float((weights * loss).sum()) / total
        variance = float((weights * (loss - mean) ** 2).sum()) / total
        return c * (c + 1.0) * d2 / 2.0 + math.log(total / whole), mean, variance

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K = D^2 c (c + 1) / (2v) + log theta(c) - log theta(0) (see the module).

        At whole D c the two are equal, and K is that of the Gaussian mechanism. Elsewhere, with
        r = D c - y0 the distance from the nearest whole number,

            theta(c) = sum_k e^{-beta k^2 + 2 pi i k r},                         beta = 2 pi^2 v,

        or where that converges slowly, with b = 1 / (2v),

            K = b (D^2 c (c + 1) - r^2) + log sum_j e^{-b (j^2 - 2 j r)} - log sum_j e^{-b j^2}.

        D c is rounded once, so that r is off by a unit of D c, absolutely; the closed terms by 16
        units of themselves. Also, K >= 0, and it is at most that of the Gaussian: theta is largest
        at 0.
        """
        d, half = float(self.shift), self.shift**2 / (2.0 * self.v)
        level = half * c * (c + 1.0)
        phase = d * c
        rest = phase - np.rint(phase)
        # A product that is a whole number after rounding need not have been one before.
        whole = rest == 0.0
        for i in np.flatnonzero(whole & (np.rint(c) != c)):
            whole[i] = (Fraction(float(c[i])) * self.shift).denominator == 1
        zero, moved = np.zeros(c.shape), UNIT * np.abs(phase)
        direct = self.v < DIRECT_BELOW
        beta = 0.5 / self.v if direct else 2.0 * math.pi**2 * self.v
        if direct:
            series, error = log_theta(beta, -rest, zero, moved)
            square = beta * rest * rest
            error = error + 2.0 * beta * (np.abs(rest) + moved) * moved
        else:
            series, error = log_theta(beta, zero, rest, moved)
            square = zero
        constant, wrong = log_theta_constant(beta)
        value = level - square + (series.real - constant)
        error = error + wrong + 16.0 * UNIT * (level + square + np.abs(series.real) + constant)
        slack = 16.0 * UNIT * level
        lower = np.where(whole, level - slack, value - error)
        upper = np.where(whole, level, np.minimum(value + error, level)) + slack
        return np.maximum(lower - TINIEST, 0.0), upper + TINIEST

    def concentration(self, c: Array) -> Array:
        """Return D^2 / (2 v): K is at most that of the Gaussian (see `renyi`)."""
        return np.full(c.shape, self.shift**2 / (2.0 * self.v) * (1.0 + 8.0 * UNIT))

    def on_contour(self, c: float, t_max: float, log_error: float) -> DiscreteGaussianContour:
        """Fix the abscissa; the series holds for every t.

        Raises:
            NotCertifiedError: the variance is so small that the series has too many terms.
        """
        del t_max, log_error
        if 2.0 * math.pi**2 * self.v < LEAST_BETA:
            raise NotCertifiedError("the series of a discrete Gaussian this narrow is too long")
        return DiscreteGaussianContour(self, c)

    def sampled_excess(self, q: float, c: float, *, remove: bool, positive: bool) -> Logs:
        """Return bounds on log(M(c) - 1) of the sampled law, or on the part of it with X > 0.

        log sum_k e^{-k^2 / (2v)} is that of sqrt(2 pi v) up to 6e-20 for large v.

        Raises:
            NotCertifiedError: too many outcomes matter.
        """
        if 2.0 * math.pi**2 * self.v > SMOOTH_BETA:
            log_norm = 0.5 * math.log(2.0 * math.pi * self.v)
        else:
            log_norm = log_theta_constant(0.5 / self.v)[0]
        normal = (self.v, self.shift, log_norm)
        return lattice_excess(normal, q, c, remove=remove, positive=positive)

    def log_mgf_estimate(self, z: ComplexArray) -> ComplexArray:
        """Return K at any complex points."""
        value: ComplexArray = np.empty(z.shape, np.complex128)
        for i, point in enumerate(z.ravel()):
            contour = DiscreteGaussianContour(self, float(point.real))
            value.ravel()[i] = contour.log_mgf(np.array([float(point.imag)]))[0][0]
        return value

    @cached_property
    def anchors(self) -> tuple[float, ...]:
        """Return the losses of the likely outcomes, if they are few."""
        first = self._outcomes.first
        likely = np.flatnonzero(self._outcomes.masses > ANCHOR_MASS)
        if len(likely) > MOST_ANCHORS:
            return ()
        origin, step = self.lattice
        return tuple(float(origin - step * (first + int(i))) for i in likely[::-1])

    def sampled_atoms(self, q: float, log_mass: float, *, remove: bool) -> LossLaw | None:
        """Return the sampled law without far outcomes; None where too many matter."""
        from privcalc.losses.lattice.sampled_atoms import sampled_atoms

        return sampled_atoms(self.variance, self.shift, q, log_mass, remove=remove)

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


@record
class DiscreteGaussianContour(ContourLaw):
    """The law on Re z = c."""

    law: DiscreteGaussianLaw
    c: float

    @property
    def size(self) -> int:
        """Return the work: a few exponentials."""
        return 4

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c + it) with its error.

        Around k = -round(t / p), with f = t / p + k in [-1/2, 1/2],

            K = D^2 c (c + 1) / (2 v) - beta f^2 + i (D^2 t (2 c + 1) / (2 v) + 2 pi k D c)
                + log sum_j e^{-beta (j^2 + 2 j f) + 2 pi i j D c} - log sum_j e^{-beta j^2}.

        t / p is off by 6 units of itself, and so is f, absolutely; the other terms by 16 units
        of the product of their moduli. D c is exact, and so is its distance from a whole number.
        """
        v, d, c = self.law.v, float(self.law.shift), self.c
        beta = 2.0 * math.pi**2 * v
        turns = t * (d / (2.0 * math.pi * v))
        k = -np.rint(turns)
        f = turns + k
        moved = 6.0 * UNIT * np.abs(turns)
        phase = d * c
        b = np.full(t.shape, phase - round(phase))
        series, series_error = log_theta(beta, f, b, moved + UNIT * abs(phase))
        constant, constant_error = log_theta_constant(beta)
        half = d * d / (2.0 * v)
        level, linear, whole = half * c * (c + 1.0), half * t * (2.0 * c + 1.0), 2.0 * math.pi * k
        value = series + (level - beta * f * f - constant)
        value = value + vertical(0.0, linear + whole * phase)
        sizes = abs(level) + beta * f * f + np.abs(linear) + np.abs(whole * phase)
        error = series_error + constant_error + beta * moved * (2.0 * np.abs(f) + moved)
        return value, error + 16.0 * UNIT * (sizes + np.abs(series) + abs(constant))

    @property
    def revival(self) -> Revival:
        """Return where |phi| comes back."""
        return Revival.of_lattice_normal(self.law.v, self.law.shift)
