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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.aliasing import log_left, log_right
from privcalc.numerics.arrays import vertical
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.engine.plan import Plan
    from privcalc.numerics.arrays import Array, ComplexArray


@dataclass(frozen=True, slots=True)
class DeltaEstimate:
    """delta(epsilon) of the finite, truncated part, in units of e^{log_scale}.

    The truth lies in [value - below, value + above]; `slope` is d value / d epsilon (no bound).
    """

    value: float
    above: float
    below: float
    slope: float
    terms: dict[str, float]


class ContourSum:
    """The nodes of one contour, ready to give delta at any epsilon."""

    def __init__(self, composition: Composition, plan: Plan) -> None:
        """Evaluate K and its error at the nodes c + ikh, k = 0 .. n."""
        self.plan = plan
        self.log_dropped = composition.log_dropped_mass()
        t = plan.step * np.arange(plan.nodes + 1)
        total = np.zeros(len(t), np.complex128)
        error = np.zeros(len(t))
        laws = len(plan.laws)
        charge(len(t) * sum(law.size for law in plan.laws))
        for (_, count), law in zip(composition, plan.laws, strict=True):
            value, slack = law.log_mgf_progression(plan.step, len(t))
            total = total + count * value
            error = error + count * slack + (2.0 + laws) * UNIT * count * np.abs(value)
        self._z: ComplexArray = vertical(plan.c, t)
        self._log_mgf: ComplexArray = total
        self._error: Array = error
        weight = np.where(t == 0.0, 0.5, 1.0)
        product: ComplexArray = np.multiply(self._z, self._z + 1.0)
        self._kernel: ComplexArray = np.divide(plan.step / math.pi * weight, product)

    def delta(self, epsilon: float, log_scale: float) -> DeltaEstimate:
        """Evaluate delta / e^{log_scale} at an epsilon, with its error terms.

        Rounding: the exponent K - z epsilon - log_scale is off by the error of K and 4 units of
        each of its terms; exp, the kernel and the products by 16 units; the sum of n terms by n.
        """
        z = self._z
        exponent = self._log_mgf - z * epsilon - log_scale
        with np.errstate(over="ignore", invalid="ignore"):
            summand = np.exp(exponent) * self._kernel
            size = np.abs(summand)
            wrong = self._error + UNIT * (
                4.0 * (np.abs(self._log_mgf) + np.abs(z) * abs(epsilon) + abs(log_scale))
                + 16.0
                + len(z)
            )
            # Where nothing is known about K, |true| <= e^{K(c) + error(c) - c epsilon} |kernel|.
            known = np.where(wrong < 1.0, np.expm1(np.minimum(wrong, 1.0)) * size, np.inf)
            crude = exp_bound(self._log_peak(epsilon, log_scale)) * np.abs(self._kernel)
            rounding = float(np.minimum(known, crude + size).sum()) * MARGIN
            value, slope = float(summand.real.sum()), -float((summand * z).real.sum())
        aliasing = self._aliasing(epsilon, log_scale)
        cut = self._truncation(epsilon, log_scale)
        dropped = 0.0
        if self.log_dropped > -math.inf:
            dropped = exp_bound(self.log_dropped - log_scale + 1e-9)
        return DeltaEstimate(
            value=value,
            above=cut + rounding + dropped,
            below=aliasing + cut + rounding,
            slope=slope,
            terms={
                "aliasing": aliasing,
                "truncation": cut,
                "dropped": dropped,
                "rounding": rounding,
            },
        )

    def _log_peak(self, epsilon: float, log_scale: float) -> float:
        """Return an upper bound on K(c) - c epsilon - log_scale (quadrature error included)."""
        peak = float(self._log_mgf[0].real) + float(self._error[0])
        value = peak - self.plan.c * epsilon - log_scale
        slack = UNIT * (abs(peak) + self.plan.c * abs(epsilon) + abs(log_scale))
        return value + 8.0 * slack

    def _aliasing(self, epsilon: float, log_scale: float) -> float:
        plan = self.plan
        left = log_left(plan.c, plan.step) - log_scale
        right = log_right(plan.c, plan.c_right, plan.log_mgf_right, epsilon, plan.step) - log_scale
        # Rounding: 16 units of the largest exponent, and 1e-9 for everything of order 1.
        largest = 2.0 * math.pi * plan.c_right / plan.step
        largest += abs(plan.log_mgf_right) + plan.c_right * abs(epsilon) + abs(log_scale)
        slack = 1e-9 + 16.0 * UNIT * largest
        return (exp_bound(left + slack) + exp_bound(right + slack)) * MARGIN

    def _truncation(self, epsilon: float, log_scale: float) -> float:
        plan = self.plan
        log_rest = min(plan.log_decay - math.log(math.pi * plan.cut), plan.log_rest)
        return exp_bound(self._log_peak(epsilon, log_scale) + log_rest + 1e-9) * MARGIN
