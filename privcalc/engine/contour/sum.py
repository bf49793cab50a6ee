"""The analytical Fourier accountant on the saddle contour, with a proof of its error.

For a loss of moment generating function e^{K(s)} (finite part) and any c > 0 with K(c) finite,

    delta(epsilon) = P(L = inf) + (1 / 2 pi i) int_{Re s = c} e^{K(s) - s epsilon} / (s (s + 1)) ds,

since int_0^inf (1 - e^{-x}) e^{-sx} dx = 1 / (s (s + 1)). The trapezoid rule of step h in t,
s = c + it, has an exact error (Poisson summation of delta(x) e^{cx}, which is continuous and
integrable; both sides converge absolutely):

    S_h = sum over j in Z of delta(epsilon + 2 pi j / h) e^{2 pi j c / h}.

Every term is non-negative, so S_h is an upper bound, and S_h - delta is at most the sum over
j < 0, where delta <= 1, plus that over j > 0, where delta(x) <= C(c') e^{K(c') - c' x} for every
c' > c with C(c') = sup_x (1 - e^{-x}) e^{-c' x} = c'^c' / (1 + c')^(1 + c'):

    S_h - delta <= 1 / (e^{2 pi c / h} - 1) + C(c') e^{K(c') - c' epsilon} r / (1 - r),
    r = e^{-2 pi (c' - c) / h}.

The sum is cut at |t| = t1 = (n + 1/2) h. There |F(c + it)| <= e^{K(c) - c epsilon} p / t^2 with
p = prod sup_{t >= t1} |phi_i|^count_i, and h sum_{k > n} (kh)^-2 <= 1 / t1 because 1/t^2 is convex:
what is cut is at most e^{K(c) - c epsilon} p / (pi t1) in absolute value.

The certificate holds at every epsilon; only its errors grow, relative to delta, with the distance
from the epsilon whose saddle the contour runs through: about like e^{z^2 / 2} at z standard
deviations of the tilted loss. A contour that is made a little finer thus serves all epsilons within
a few of these, and the nodes, which are what costs, are evaluated once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.certified import PAD
from privcalc.engine.contour.aliasing import log_cut, log_left, log_right
from privcalc.engine.source import Deltas
from privcalc.numerics.arrays import vertical
from privcalc.numerics.rounding import COMPLEX_TERM, MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.engine.contour.plan import Plan
    from privcalc.numerics.arrays import Array, ComplexArray

# Complex numbers that one matrix of nodes times epsilons may have.
MOST_ELEMENTS = 50_000
# Work for each node and epsilon of a sum.
PER_TERM = 0.6
# Work for a node, and there for an outcome of a law: products of matrices.
PER_NODE, PER_OUTCOME = 10.0, 0.03
# Slack of exponents for everything of order 1.
SLACK = 1e-9
LARGEST_EXPONENT = 700.0


@record
class Nodes:
    """What the nodes c + ikh, k = 0 .. n, of one contour tell; those of -k are mirror images.

    Attributes:
        c: the abscissa.
        step: h.
        log_mgf: K at the nodes.
        error: absolute error of each; at least 1, infinite or not a number where nothing is known.
        right: the c' of the right aliasing term, and an upper bound on K(c').
        left_out: bound on the terms of all other nodes, relative to e^{K(c) - c epsilon}.
        log_dropped: log of the P-mass of outcomes that the laws leave out.
    """

    c: float
    step: float
    log_mgf: ComplexArray
    error: Array
    right: tuple[float, float]
    left_out: float
    log_dropped: float = -math.inf


def evaluated(composition: Composition, plan: Plan) -> Nodes:
    """Evaluate K and its error at the nodes of a plan.

    Args:
        composition: what is accounted for, already truncated.
        plan: where the nodes are.
    """
    count = plan.nodes + 1
    total, error = np.zeros(count, np.complex128), np.zeros(count)
    charge(count * (PER_NODE + PER_OUTCOME * sum(law.size for law in plan.laws)))
    for (_, uses), law in zip(composition, plan.laws, strict=True):
        value, slack = law.log_mgf_progression(plan.step, count)
        total = total + uses * value
        error = error + uses * slack + (2.0 + len(plan.laws)) * UNIT * uses * np.abs(value)
    return Nodes(
        plan.c,
        plan.step,
        total,
        error,
        (plan.c_right, plan.log_mgf_right),
        exp_bound(log_cut(plan.log_decay, plan.cut) + SLACK),
        composition.log_truncated_mass(),
    )


class ContourSum:
    """The source of a composition on one contour: the sum over its nodes, which are known."""

    proof = Proof.INVERSION
    pad = PAD

    def __init__(self, nodes: Nodes, deviation: float = 0.0) -> None:
        """Take the nodes, and the standard deviation of the tilted loss, about, for searches."""
        self.nodes = nodes
        self.deviation = deviation
        noise = nodes.error + UNIT * (4.0 * np.abs(nodes.log_mgf) + COMPLEX_TERM * len(nodes.error))
        self._noise: Array = np.where(np.isfinite(noise), noise, np.inf)
        self._z, self._kernel = trapezoid(nodes.c, nodes.step, len(noise) - 1)
        self._size: Array = np.abs(self._kernel)

    # Overflow and invalid operations give infinite errors or failed comparisons, never a bound.
    @np.errstate(all="ignore")
    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Bracket the finite part of delta at each epsilon, with its error terms.

        The units are e^{log_scale}, or else about the saddle-point value at each epsilon, so that
        nothing under- or overflows near it.
        """
        c = self.nodes.c
        scales: Array = np.full(len(epsilons), log_scale)
        if log_scale is None:
            peak = float(self.nodes.log_mgf[0].real)
            scales = np.minimum(0.0, peak - c * epsilons - math.log(c) - math.log1p(c))
        log_peaks = self._log_peaks(epsilons, scales)
        rows = max(1, MOST_ELEMENTS // len(self._noise))
        parts = [
            self._sums(*(each[i : i + rows] for each in (epsilons, scales, log_peaks)))
            for i in range(0, len(epsilons), rows)
        ]
        value, rounding = (np.concatenate(column) for column in zip(*parts, strict=True))
        aliasing = self._aliasings(epsilons, scales)
        cut = self.nodes.left_out * exp_bounds(log_peaks) * MARGIN
        dropped: Array = np.zeros(len(epsilons))
        if self.nodes.log_dropped > -math.inf:
            dropped = exp_bounds(self.nodes.log_dropped - scales + SLACK)
        terms = {
            "aliasing": aliasing,
            "truncation": cut,
            "dropped": dropped,
            "rounding": rounding,
        }
        # The sum is too large by the aliasing terms, and too small by what was dropped.
        below, above = aliasing + cut + rounding, cut + rounding + dropped
        return Deltas(scales, value - below, value + above, value, terms)

    @np.errstate(all="ignore")
    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf) = delta - d delta / d epsilon, without bound."""
        rows = max(1, MOST_ELEMENTS // len(self._noise))
        parts = [
            self._values(epsilons[i : i + rows], log_scale) for i in range(0, len(epsilons), rows)
        ]
        value, slope = (np.concatenate(column) for column in zip(*parts, strict=True))
        return value, value - slope

    def _values(self, epsilons: Array, log_scale: float) -> tuple[Array, Array]:
        """Return the sums and their slopes, without error bound."""
        charge(PER_TERM * len(epsilons) * len(self._noise))
        powers = np.exp(self._exponents(epsilons) - log_scale)
        powers[:, self._noise >= 1.0] = 0.0
        return (powers @ self._kernel).real, -(powers @ (self._z * self._kernel)).real

    def _sums(self, epsilons: Array, scales: Array, log_peaks: Array) -> tuple[Array, Array]:
        """Return the sums over the nodes, and a bound on their rounding errors.

        The exponent is off by w = the error of K, 4 units of each of its terms, 16 of the kernel
        and the product, and those of a sum of n products, in whatever order; so that a term of
        modulus m is off by at most m (e^w - 1) <= m w (1 + w) for w <= 1. Where w exceeds 1 the
        term is left out: its modulus is at most that at t = 0.
        """
        charge(PER_TERM * len(epsilons) * len(self._noise))
        exponents = self._exponents(epsilons)
        powers = np.exp(exponents - scales[:, None])
        wrong = np.abs(exponents - self.nodes.log_mgf) + np.abs(scales)[:, None]
        wrong = self._noise + UNIT * (4.0 * wrong + 16.0)
        good = wrong < 1.0
        rounding = np.zeros(len(epsilons))
        if not good.all():
            powers = np.where(good, powers, 0.0)
            wrong = np.where(good, wrong, 0.0)
            majorant = exp_bounds(log_peaks)[:, None]
            rounding = np.where(good, 0.0, majorant * self._size).sum(axis=1)
        value = (powers @ self._kernel).real
        lost = (np.abs(powers) * (wrong * (1.0 + wrong))) @ self._size
        return value, (rounding + lost) * MARGIN

    def _exponents(self, epsilons: Array) -> ComplexArray:
        """Return K(s) - s epsilon: a row for each epsilon, a column for each node."""
        found: ComplexArray = np.multiply.outer(-epsilons, self._z) + self.nodes.log_mgf
        return found

    def _log_peaks(self, epsilons: Array, scales: Array) -> Array:
        """Return upper bounds on K(c) - c epsilon - log_scale (quadrature error included)."""
        c = self.nodes.c
        peak = float(self.nodes.log_mgf[0].real) + float(self.nodes.error[0])
        slack = UNIT * (abs(peak) + c * np.abs(epsilons) + np.abs(scales))
        return peak - c * epsilons - scales + 8.0 * slack

    def _aliasings(self, epsilons: Array, scales: Array) -> Array:
        line = self.nodes.c, self.nodes.step
        return aliasings(line, self.nodes.right, epsilons, scales)


def trapezoid(c: float, step: float, nodes: int) -> tuple[ComplexArray, ComplexArray]:
    """Return the nodes z = c + ikh, k = 0 .. n, and what the real part of F there counts."""
    t = step * np.arange(nodes + 1)
    z = vertical(c, t)
    weight = np.where(t == 0.0, 0.5, 1.0)
    product: ComplexArray = np.multiply(z, z + 1.0)
    kernel: ComplexArray = np.divide(step / math.pi * weight, product)
    return z, kernel


def aliasings(
    line: tuple[float, float],
    right: tuple[float, float],
    epsilons: Array,
    scales: Array,
    log_mass: float = 0.0,
) -> Array:
    """Bound the aliasing errors of sums at c + ikh in units of e^{scales}.

    Rounding: 16 units of the largest exponent, and 1e-9 for everything of order 1.

    Args:
        line: c and h.
        right: c' and an upper bound on K(c').
        epsilons: where.
        scales: of each epsilon.
        log_mass: upper bound on the log of the mass of the measure.
    """
    c, step = line
    c_right, log_mgf_right = right
    left = log_left(c, step) + log_mass - scales
    above = log_right(c, c_right, log_mgf_right, epsilons, step) - scales
    largest = 2.0 * math.pi * c_right / step + abs(log_mgf_right) + abs(log_mass)
    slack = SLACK + 16.0 * UNIT * (largest + c_right * np.abs(epsilons) + np.abs(scales))
    return (exp_bounds(left + slack) + exp_bounds(above + slack)) * MARGIN


def exp_bounds(exponents: Array) -> Array:
    """Return upper bounds on e^x; see `exp_bound`."""
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.exp(np.minimum(exponents, LARGEST_EXPONENT)) * (1.0 + 8.0 * UNIT)
    # Not a number counts as infinite.
    return np.where(exponents <= LARGEST_EXPONENT, np.nextafter(powers, np.inf), np.inf)
