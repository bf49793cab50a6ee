"""Loss of the discrete Gaussian mechanism: N_Z(0, v) against N_Z(D, v), D a whole number.

L(x) = (D^2 - 2 D x) / (2 v) lies on a lattice of step D / v. With s = z and a = D z,

    M(z) = e^{D^2 z (z + 1) / (2 v)} theta(z) / theta(0),
    theta(z) = sum_k e^{-2 pi^2 v k^2 + 2 pi i k D z}

(complete the square; Poisson summation of sum_x e^{-(x + a)^2 / (2 v)}). On Re z = c the terms
have the moduli e^{-beta (k + t / p)^2} times a common factor, beta = 2 pi^2 v and p = 2 pi v / D,
so that |phi| comes back at every multiple of p, and summing around k = -t / p loses no digits. The pair is
symmetric: x -> D - x exchanges the two laws and keeps L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atoms import MOST_ANCHORS
from privcalc.losses.revival import Revival
from privcalc.losses.tails import Tails
from privcalc.numerics.arrays import vertical
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.theta import LEAST_BETA, log_theta, log_theta_constant

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray, Integers

# Masses beyond so many standard deviations are below 1e-330.
REACH = 39.0
# Where beta is larger, theta sums are 1 to all digits, and cumulants those of a normal loss.
SMOOTH_BETA = 45.0
# Atoms above this mass are anchors.
ANCHOR_MASS = 1e-18


@dataclass(frozen=True)
class DiscreteGaussianLaw:
    """Loss between two discrete Gaussians.

    Attributes:
        variance: v, the variance parameter, a positive rational.
        shift: D, at least 1.
    """

    variance: Fraction
    shift: int

    infinity_mass = 0.0
    lower_infinity_mass = 0.0
    infinity_mass_error = 0.0
    log_dropped_mass = -math.inf
    max_loss = math.inf
    max_loss_error = 0.0

    @cached_property
    def v(self) -> float:
        """Return the variance parameter, rounded once."""
        return float(self.variance)

    @property
    def lattice(self) -> tuple[Fraction, Fraction]:
        """Return a loss and the step of the lattice of all losses, exactly."""
        return Fraction(self.shift**2) / (2 * self.variance), self.shift / self.variance

    def profile(self, epsilon: float) -> None:
        """Return None: the tails know it."""
        del epsilon

    def truncated(self, log_mass: float) -> DiscreteGaussianLaw:
        """Return the law itself: a closed form needs no truncation."""
        del log_mass
        return self

    @cached_property
    def _outcomes(self) -> tuple[int, Array, Array]:
        """Return the first outcome, and the masses of all under N_Z(0, v) up to REACH.

        The exponent is off by 3 units of itself, and the sum, correctly rounded, by little more.
        """
        last = math.ceil(REACH * math.sqrt(self.v)) + 1
        x = np.arange(-last, last + self.shift + 1)
        exponent = (x.astype(float) ** 2) / (2.0 * self.v)
        weights = np.exp(-np.minimum(exponent, 745.0))
        return -last, weights / math.fsum(weights), exponent

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K, K' and K''."""
        d2 = self.shift**2 / self.v
        if 2.0 * math.pi**2 * self.v > SMOOTH_BETA:
            return c * (c + 1.0) * d2 / 2.0, (2.0 * c + 1.0) * d2 / 2.0, d2
        # Around the tilted centre, x = -c D, the weights are those of a shifted lattice.
        centre = round(-c * self.shift)
        reach = math.ceil(12.0 * math.sqrt(self.v)) + 3
        x = np.arange(centre - reach, centre + reach + 1)
        weights = np.exp(-((x + c * self.shift) ** 2) / (2.0 * self.v))
        total = float(weights.sum())
        whole = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2.0 * self.v)).sum()
        loss = (self.shift**2 - 2.0 * self.shift * x) / (2.0 * self.v)
        mean = float((weights * loss).sum()) / total
        variance = float((weights * (loss - mean) ** 2).sum()) / total
        return c * (c + 1.0) * d2 / 2.0 + math.log(total / whole), mean, variance

    def on_contour(self, c: float, t_max: float, log_error: float) -> DiscreteGaussianContour:
        """Fix the abscissa; the series holds for every t.

        Raises:
            NotCertifiedError: the variance is so small that the series has too many terms.
        """
        del t_max, log_error
        if 2.0 * math.pi**2 * self.v < LEAST_BETA:
            raise NotCertifiedError("the series of a discrete Gaussian this narrow is too long")
        return DiscreteGaussianContour(self, c)

    def log_mgf_estimate(self, z: ComplexArray) -> ComplexArray:
        """Return K at any complex points."""
        value: ComplexArray = np.empty(z.shape, np.complex128)
        for i, point in enumerate(z.ravel()):
            contour = DiscreteGaussianContour(self, float(point.real))
            value.ravel()[i] = contour.log_mgf(np.array([float(point.imag)]))[0][0]
        return value

    def log_ratio(self) -> None:
        """Return None: sampling goes by the tails."""
        return

    @cached_property
    def anchors(self) -> tuple[float, ...]:
        """Return the losses of the likely outcomes, if they are few."""
        first, masses, _ = self._outcomes
        likely = np.flatnonzero(masses > ANCHOR_MASS)
        if len(likely) > MOST_ANCHORS:
            return ()
        origin, step = self.lattice
        return tuple(float(origin - step * (first + int(i))) for i in likely[::-1])

    def tails(self, losses: Array) -> Tails:
        """Return sums over outcomes: L > l exactly where x < D / 2 - v l / D.

        An outcome within 6 units of the terms of that threshold may be counted on either side.
        Sums of n terms are off by n units, and masses by 4 units of 2 and their exponents; between
        two losses lie few outcomes, whose masses are added directly.
        """
        first, masses, exponent = self._outcomes
        n = len(masses)
        threshold = 0.5 * self.shift - losses * (self.v / self.shift)
        # Index of the first outcome that is not below the threshold, under P and under Q.
        end = np.ceil(threshold) - first
        under_p = np.clip(end, 0, n).astype(np.int64)
        under_q = np.clip(end - self.shift, 0, n).astype(np.int64)
        left = np.concatenate([[0.0], np.cumsum(masses)])
        right = np.concatenate([np.cumsum(masses[::-1])[::-1], [0.0]])
        wrong = 8.0 + 4.0 * np.concatenate([exponent, [745.0]])
        size = self.shift / (2.0 * self.v) * self.shift + np.abs(losses)
        between_p, error_p = _between(masses, exponent, under_p)
        between_q, error_q = _between(masses, exponent, under_q)
        return Tails(
            above_p=left[under_p],
            above_q=left[under_q],
            below_p=right[under_p],
            below_q=right[under_q],
            error=UNIT * (n + np.maximum(wrong[under_p], wrong[under_q])),
            shift=8.0 * UNIT * float(size.max(initial=0.0)),
            between_p=between_p,
            between_q=between_q,
            between_error=np.maximum(error_p, error_q),
        )


def _between(masses: Array, exponent: Array, ends: Integers) -> tuple[Array, Array]:
    """Return the masses of the outcomes from ends[i + 1] up to ends[i], and their errors."""
    low, high = ends[1:], ends[:-1]
    count = high - low
    mass = np.zeros(len(low))
    some = np.flatnonzero(count > 0)
    if len(some):
        # Pairs (start, stop) for reduceat, in increasing order of outcomes.
        order = some[::-1]
        bounds = np.stack([low[order], high[order]], axis=1).ravel()
        padded = np.concatenate([masses, [0.0]])
        mass[order] = np.add.reduceat(padded, bounds)[::2]
    largest = np.maximum(
        exponent[np.minimum(low, len(exponent) - 1)],
        exponent[np.clip(high - 1, 0, len(exponent) - 1)],
    )
    return mass, UNIT * (12.0 + count + 4.0 * largest)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianContour:
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

        t / p is off by 6 units of itself, and so is f, absolutely; the other terms by 12 units
        of the product of their moduli.
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
        half = d * d / (2.0 * v)
        linear, whole = half * t * (2.0 * c + 1.0), 2.0 * math.pi * k * phase
        value = series + (half * c * (c + 1.0) - beta * f * f - log_theta_constant(beta))
        value = value + vertical(0.0, linear + whole)
        error = series_error + 2.0 * beta * np.abs(f) * moved + 1e-18
        error = error + UNIT * (
            16.0 * (half * c * (c + 1.0) + beta * f * f) + 16.0 * (np.abs(linear) + np.abs(whole))
        )
        return value, error + 16.0 * UNIT * np.abs(series)

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K and its error at t = k step, k < count."""
        return self.log_mgf(step * np.arange(count))

    def modulus_supremum(self, t: float) -> float:
        """Return 1: |phi| comes back (`revival` says where)."""
        del t
        return 1.0

    @property
    def revival(self) -> Revival:
        """Return where |phi| comes back."""
        return Revival.of_lattice_normal(self.law.v, self.law.shift)
