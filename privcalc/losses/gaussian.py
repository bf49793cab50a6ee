"""Loss between two normal laws, of one variance or of two.

The Gaussian mechanism: L ~ N(mu^2/2, mu^2) under P, in both directions.

K(s) = s (s + 1) mu^2 / 2 (Mironov 2017, Proposition 7, with order s + 1), and on a vertical line
|M(c + it)| / M(c) = exp(-mu^2 t^2 / 2).

Two variances: a quadratic of a normal variable.

In units of Q's deviation, Q = N(0, 1) and P = N(theta, r^2). With rho = r^2 - 1,
kappa = rho / 2 and nu = theta r / rho, completing the square in log dP/dQ gives

    L = low + kappa (Z + nu)^2,    low = -log r - theta^2 / (2 rho),

where Z is standard normal under P; under Q the same with kappa / r^2 and nu / r. For rho > 0 the
loss is bounded below by `low` and has an exponential upper tail, for rho < 0 it is bounded above.
By the moment generating function of the square of a normal variable, with u = 1 - rho s,

    K(s) = -s log r - log(u) / 2 + theta^2 s (s + 1) / (2 u),    Re u > 0.

Under rho > 0 it is infinite from s = 1 / rho on: no Renyi divergence of order 1 + 1/rho or more.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

import numpy as np

from privcalc.exact import Enclosed
from privcalc.losses.law import ContourLaw, LawProperties, LineLaw, LossLaw, Tails
from privcalc.numerics.normal import lower_tails, short_intervals
from privcalc.numerics.rounding import TINIEST, UNIT, vertical
from privcalc.record import record

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.numerics.rounding import Array, ComplexArray


@record
class GaussianLaw(LineLaw):
    """Loss between N(0, 1) and N(mu, 1); mu > 0 is sensitivity / standard deviation.

    Attributes:
        mu: the distance, a double.
        error: its relative error.
        known: the distance itself, where it is known but no double.
        square: its square, where that is known but the distance is no rational.
    """

    mu: float
    error: float = 0.0
    known: Fraction | None = None
    square: Fraction | None = None

    max_loss = math.inf
    properties = LawProperties(line=True, symmetric=True, renyi_in_closed_form=True)

    @classmethod
    def of(cls, mu: Enclosed) -> Self:
        """Return the law at a distance that is known between two rationals."""
        return cls(*mu.nearest(), mu.square)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K and its first two derivatives at c."""
        variance = self.mu * self.mu
        return c * (c + 1.0) * variance / 2.0, (2.0 * c + 1.0) * variance / 2.0, variance

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Return K = c (c + 1) mu^2 / 2 less and more 12 units and twice the error of mu."""
        relative = 12.0 * UNIT + 2.01 * self.error
        from privcalc.numerics.sums import around

        return around(c * (c + 1.0) * (self.mu * self.mu / 2.0), relative)

    def concentration(self, c: Array) -> Array:
        """Return mu^2 / 2, raised: D_a = a mu^2 / 2."""
        relative = 12.0 * UNIT + 2.01 * self.error
        return np.full(c.shape, 0.5 * self.mu * self.mu * (1.0 + relative) + TINIEST)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return mu, less and more its error."""
        relative = 4.0 * UNIT + self.error if self.error else 0.0
        return self.mu * (1.0 - relative), self.mu * (1.0 + relative)

    @property
    def enclosure(self) -> Enclosed:
        """Return what is known of mu."""
        known = Enclosed.about(self.mu, self.error, self.known)
        return Enclosed(known.low, known.high, self.square)

    @property
    def twice_rho(self) -> Enclosed:
        """Return mu^2, which is 2 D_a / a at every order a."""
        mu = self.enclosure
        return mu * mu if mu.squared is None else Enclosed(mu.squared, mu.squared)

    @property
    def ends(self) -> tuple[GaussianLaw, GaussianLaw]:
        """Return the laws at doubles that are at most, and at least, mu."""
        low, high = self.enclosure.doubles()
        return GaussianLaw(low), GaussianLaw(high)

    def on_contour(self, c: float, t_max: float, log_error: float) -> GaussianContour:
        """Fix the abscissa; closed forms hold for every t."""
        del t_max, log_error
        return GaussianContour(self.mu, c, self.error)

    def tails(self, losses: Array) -> Tails:
        """Return the masses of N(mu/2, 1) under P and N(-mu/2, 1) under Q beyond t = l / mu.

        L = mu t holds up to the rounding of the quotient and the error of mu. The arguments
        mu/2 -+ t are off by that of mu/2 and a unit of themselves, which changes a tail, or the
        mass of a cell, by at most (1 + |x|) times that, relatively.
        """
        t = losses / self.mu
        half = 0.5 * self.mu
        size = 1.0 + half + np.abs(t)
        between_p, p_error = short_intervals(t, half)
        between_q, q_error = short_intervals(t, -half)
        moved = 1.1 * self.error * half * size
        return Tails(
            above_p=lower_tails(half - t),
            above_q=lower_tails(-half - t),
            below_p=lower_tails(t - half),
            below_q=lower_tails(t + half),
            error=UNIT * (8.0 + 6.0 * size * size) + moved,
            shift=(2.0 * UNIT + 1.01 * self.error) * float(np.abs(losses).max(initial=0.0)),
            between_p=between_p,
            between_q=between_q,
            between_error=np.maximum(p_error, q_error) + np.maximum(moved[1:], moved[:-1]),
        )


@record
class GaussianContour(ContourLaw):
    """The Gaussian law on Re s = c."""

    mu: float
    c: float
    error: float = 0.0

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K = z (z + 1) mu^2 / 2 with its rounding error.

        Squaring doubles the error of mu; the complex product is off by at most sqrt(8) units of
        |z| |z + 1|; twelve units cover the chain.
        """
        z = vertical(self.c, t)
        half_variance = self.mu * self.mu / 2.0
        scale = np.abs(z) * np.abs(z + 1.0) * half_variance
        product: ComplexArray = np.multiply(z, z + 1.0)
        return product * half_variance, (12.0 * UNIT + 2.01 * self.error) * scale

    def log_decay(self, t: float) -> float:
        """Return -mu^2 t^2 / 2, which decreases in t."""
        return -0.5 * self.mu * self.mu * t * t * (1.0 - 2.01 * self.error - 16.0 * UNIT)


# Phi(-FAR) is no double.
FAR = 39.0


def quadratic_tails(
    losses: Array, *, theta: float, ratio: float, excess: float, log_r: float, unit: float
) -> Tails:
    """Return the masses inside and outside of the two outcomes that have a loss l.

    These are Z + nu = -y and y with (kappa y)^2 = D = kappa (l + log r) + theta^2 / 4 under P;
    under Q y, nu, kappa become y r, nu / r, kappa / r^2. With n = |nu| the inside is
    -X <= Z <= x, x = y - n, X = y + n. For small rho, x would cancel; it is formed from l - C,
    with C = theta^2 / 2 - log r the loss at Z = 0: |kappa| x X = |l - C|.

    All four masses have to be those of one set of outcomes and of its complement. Its near end
    is x as it is rounded under P, and under Q the image r x + theta, for rho < 0 r x - theta;
    its far end is X as it is rounded under the narrower law, from which the other follows by a
    sum. Next to the vertex, where masses come from y (`_inside_outside`), the set is
    |Z + nu| <= y as y is rounded. What rounding displaces the set by is reported as a shift of
    l, in units of the last place, with k = |kappa|:

    * in l - C, and in the first term of D: some 30 of |l|, |log r|, theta^2 (1 + 1/r^2). (D
      enters x through X = (l - C) / (k x) only, and d log X = dl / (2 k y X) moves x as
      dl |x| / X <= dl does.)
    * e = 14 units of x or X themselves: |dl| = 2 k y |x| e <= 2 e |l - C|, because
      |l - C| = k |x| X; and 2 k y X e <= e (3 |l - C| + 4 k n^2), because k y^2 <= |l - C| +
      k n^2.
    * in the second term of D: 12 units of theta^2 / (4 k). Where |rho| >= 1/2 this, like k n^2,
      is at most 2 theta^2 (1 + 1/r^2). Where |rho| < 1/2, k n^2 <= 2 theta^2 / (4 k), and
      both matter only while theta / |rho| <= 160. Beyond, X >= n > 113 and Phi(-X) is no
      double; if D >= theta^2 / 64, 12 units of theta^2 / 4 are 96 units of y, at most as many
      of X and x, and |dl| is bounded as above; otherwise y < 0.36 n, x < -72, and Phi(x) is no
      double either.

    What is left are relative errors of the masses: 96 units; those of the image, which is off
    by 8 units of r x and theta (next to the vertex 16 of y and n), as `_moved` has it; and next
    to the vertex 20 units of n^2.
    """
    rho, root = excess, math.sqrt(ratio)
    kappa, square = 0.5 * rho, theta * theta
    k = abs(kappa)
    discriminant = np.maximum(kappa * (losses + log_r) + 0.25 * square, 0.0)
    y = np.sqrt(discriminant) / k
    y_q, n, n_q = y * root, 0.5 * theta * root / k, 0.5 * theta / k
    sign = math.copysign(1.0, kappa)
    vertex = (n * y <= 2.0) & (np.minimum(y, y_q) <= 1.0)
    total, total_q = y + n, y_q + n_q
    # P: k (y + n) (y - n) = sign (l - C).
    product = sign * (losses - (0.5 * square - log_r)) / k
    x = np.divide(product, total, out=np.zeros_like(total), where=total > 0.0)
    x_q = np.where(vertex, y_q - n_q, root * x + sign * theta)
    error_q = unit * np.where(vertex, 16.0 * total_q, 8.0 * (root * np.abs(x) + theta))
    x = np.where(vertex, y - n, x)
    inner_p, outer_p = _inside_outside(x, y, n)
    inner_q, outer_q = _inside_outside(x_q, y_q, n_q)
    error = 96.0 * unit + _moved(x_q, total_q, error_q, inner_q, outer_q)
    error_p = unit * np.where(vertex, 16.0 * total, 0.0)
    error = error + _moved(x, total, error_p, inner_p, outer_p)
    error = error + np.where(vertex, 20.0 * unit * min(max(n, n_q), FAR) ** 2, 0.0)
    near = 0.25 * square / k if abs(rho) < 0.5 and theta <= 160.0 * abs(rho) else 0.0
    width = 1.0 + 1.0 / ratio
    scale = float(np.abs(losses).max(initial=0.0)) + abs(log_r) + (square + k) * width + near
    up = rho > 0.0
    return Tails(
        above_p=outer_p if up else inner_p,
        above_q=outer_q if up else inner_q,
        below_p=inner_p if up else outer_p,
        below_q=inner_q if up else outer_q,
        error=error,
        shift=512.0 * unit * scale,
    )


def _inside_outside(x: Array, y: Array, n: float) -> tuple[Array, Array]:
    """Return P(-X <= Z <= x) and the rest, given x = y - n, X = y + n; y >= 0, n >= 0.

    The outer mass is Phi(-x) + Phi(-X). The inner one is Phi(x) - Phi(-X); where n y > 2, or y > 1
    and n < 2, the second is at most 0.2 of the first (for x < 0 at most e^{-2ny}, as Mills' ratio
    decreases), which costs a factor 1.5 of the 10 units. Elsewhere it is the integral of a positive
    function,

        2 phi(n) int_0^y e^{-z^2/2} cosh(n z) dz,    y <= 1, n y <= 2,

    by the Gauss rule. On the ellipse with parameter 8 around [0, y], |z| <= 2.53 y and
    |Im z| <= 1.97 y, so that the integrand is at most e^2 e^{5.1} and the rule off by
    4.1 e^{7.1} 8^{-40} < 1e-30 of an integral that is at least e^{-1/2} y. The sum is off by 90
    units, and phi(n) by 10 n^2 units, n being off by 10.
    """
    from scipy.special import ndtr

    total = y + n
    outer = ndtr(-x) + ndtr(-total)
    inner = ndtr(x) - ndtr(-total)
    near = (y <= 1.0) & (n * y <= 2.0)
    if near.any():
        half = 0.5 * y[near]
        from privcalc.numerics.sums import ABSCISSAS, WEIGHTS

        z = half[:, None] * (1.0 + ABSCISSAS)
        integral = (np.exp(-0.5 * z * z) * np.cosh(n * z)) @ WEIGHTS * half
        inner[near] = math.exp(-0.5 * n * n) * math.sqrt(2.0 / math.pi) * integral
    return inner, outer


def _moved(x: Array, total: Array, displaced: Array, inner: Array, outer: Array) -> Array:
    """Bound the relative change of both masses, x being `displaced`, X off by 16 units of itself.

    phi(x) / Phi(-x) <= 1 + max(x, 0), and the inner mass is at least 0.8 Phi(x) where it is not an
    integral over y, which x has no part in. So the first costs at most 1.25 (1 + |x|) times
    `displaced`, and nothing where the smaller mass is no double; the second at most
    (1 + X) X Phi(-X) times 16 units of the smaller mass, and that mass is at least Phi(-X) if it
    is the outer one, 4 Phi(-X) if the inner one.
    """
    from scipy.special import ndtr

    first = np.where(np.abs(x) < FAR, 1.25 * (1.0 + np.abs(x)) * displaced, 0.0)
    far = ndtr(-total)
    smaller = np.maximum(np.minimum(inner, outer), far)
    share = np.divide(far, smaller, out=np.zeros_like(far), where=smaller > 0.0)
    # Of the inner mass next to the vertex X has no part either.
    second: Array = 16.0 * UNIT * (1.0 + total) * np.minimum(total, FAR) * share
    return first + np.where(total < FAR, second, 0.0)


@record
class UnequalGaussiansLaw(LossLaw):
    """Loss of N(theta, r^2) against N(0, 1).

    Attributes:
        theta: distance of the means, >= 0, in deviations of Q; correct to 4 units.
        ratio: r^2, not 1; correct to 1 unit.
        excess: rho = r^2 - 1, correct to 1 unit by itself.
        units: these errors are so many times as large, and all that follow from them.
    """

    theta: float
    ratio: float
    excess: float
    units: float = 1.0

    properties = LawProperties(renyi_in_closed_form=True)

    # Far out, the wider law is further than any mu from the other.
    gaussian_range = (math.inf, math.inf)

    @property
    def reverse_direction(self) -> UnequalGaussiansLaw:
        """Return the law for N(0, 1) against N(theta, r^2), in units of the latter.

        theta / r is off by 8 units, 1 / r^2 by 3, 1 / r^2 - 1 = -rho / r^2 by 4 of itself.
        """
        theta = self.theta / math.sqrt(self.ratio)
        ratio, excess = 1.0 / self.ratio, -self.excess / self.ratio
        return UnequalGaussiansLaw(theta, ratio, excess, 4.0 * self.units)

    @property
    def unit(self) -> float:
        """Return what a unit is in all error bounds: they are linear in the parameters'."""
        return self.units * UNIT

    @property
    def max_loss_error(self) -> float:
        """Return 32 units: log r and theta^2 / (2 rho) have one sign where `low` is the largest."""
        return 32.0 * self.unit

    @property
    def max_loss(self) -> float:
        """Return infinity, or for the smaller variance the value at the vertex."""
        if self.excess > 0.0:
            return math.inf
        return -self.log_r - 0.5 * self.theta * self.theta / self.excess

    @property
    def log_r(self) -> float:
        """Return log r to 10 units, also where r is near 1."""
        if abs(self.excess) < 0.5:
            return 0.5 * math.log1p(self.excess)
        return 0.5 * math.log(self.ratio)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K; infinite where u = 1 - rho c is certainly not positive.

        K falls in u, so that the two ends of what u may be, 4 units of rho c away, bound K.
        For each end, the quotient theta^2 c (c + 1) / (2u) is off by 20 units, and
        -(c log r) - log(u) / 2 by 24 units of its terms.
        """
        rho, product = self.excess, c * (c + 1.0)
        slack = 4.0 * self.unit * np.abs(rho * c)
        ends = []
        for sign in (-1.0, 1.0):
            # The lower end of K belongs to the upper end of u.
            moved = -rho * c - sign * slack
            u = 1.0 + moved
            with np.errstate(divide="ignore", invalid="ignore"):
                quotient = 0.5 * self.theta * self.theta * product / u
                log_u = np.log1p(moved)
                rest = -c * self.log_r - 0.5 * log_u
                units = 24.0 * (np.abs(c * self.log_r) + np.abs(log_u)) + 20.0 * quotient
                end = rest + quotient + sign * self.unit * (units + 2.0 * np.abs(rest + quotient))
            ends.append(np.where(u > 0.0, end, np.inf))
        return np.maximum(ends[0] - TINIEST, 0.0), ends[1] + TINIEST

    def tails(self, losses: Array) -> Tails:
        """Return the masses inside and outside of the two outcomes that have a loss l."""
        return quadratic_tails(
            losses,
            theta=self.theta,
            ratio=self.ratio,
            excess=self.excess,
            log_r=self.log_r,
            unit=self.unit,
        )
