"""One contour for many epsilons.

The certificate of a contour sum (`engine/contour.py`) holds at every epsilon; only its errors
grow, relative to delta, with the distance from the epsilon whose saddle the contour runs through:
about like e^{z^2 / 2} at z standard deviations of the tilted loss. A contour that is made a little
finer thus serves all epsilons within a few of these, and the nodes, which are what costs, are
evaluated once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.aliasing import log_left, log_payoff_supremum
from privcalc.engine.certified import PAD, Certified
from privcalc.engine.contour import ContourSum
from privcalc.engine.fourier import (
    FIRST_LOG_DELTA,
    LEAST_ERROR,
    MOST_ERROR,
    REFINEMENTS,
    SHARE,
    SMALLEST_NORMAL,
)
from privcalc.engine.plan import make_plan
from privcalc.engine.saddle import log_delta_at, saddle_for_epsilon
from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.engine.plan import Plan
    from privcalc.numerics.arrays import Array

# Complex numbers that one matrix of nodes times epsilons may have.
MOST_ELEMENTS = 400_000
# Slack of exponents for everything of order 1, as in `engine/contour.py`.
SLACK = 1e-9
LARGEST_EXPONENT = 700.0
NAME = "contour"


@dataclass(frozen=True, slots=True)
class Estimates:
    """delta at several epsilons, each in units of e^{log_scale}, of the finite, truncated part.

    Each truth lies in [value - below, value + above]; `slope` is d value / d epsilon (no bound).
    """

    log_scale: Array
    value: Array
    above: Array
    below: Array
    slope: Array
    terms: dict[str, Array]

    def certified(self, tolerance: float) -> list[Certified | None]:
        """Return the brackets, None where one is not a number."""
        return [self._certified(index, tolerance) for index in range(len(self.value))]

    def plain(self) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf) = delta - d delta / d epsilon, without bound."""
        scale = np.exp(self.log_scale)
        return self.value * scale, (self.value - self.slope) * scale

    def _certified(self, index: int, tolerance: float) -> Certified | None:
        """Return one bracket.

        The pad and the slacks for exp, the product and subnormal results are those of
        `contour_delta` in `engine/fourier.py`.
        """
        value, above = float(self.value[index]), float(self.above[index])
        below, log_scale = float(self.below[index]), float(self.log_scale[index])
        if not math.isfinite(value + above + below):
            return None
        pad, scale = PAD * tolerance * abs(value), math.exp(log_scale)
        slack = 1e-15 * (4.0 + abs(log_scale))
        upper = (value + above + pad) * (scale * (1.0 + slack) + 1e-323) + 1e-323
        lower = (value - below - pad) * scale * (1.0 - slack)
        lower = 0.0 if lower < SMALLEST_NORMAL else min(lower, 1.0)
        terms = {}
        if value * scale > 0.0:
            terms = {name: float(each[index]) / value for name, each in self.terms.items()}
        bound = Bound(max(min(1.0, upper), lower), lower)
        return Certified(bound, NAME, terms, strained=above + below > pad)


class SharedContour(ContourSum):
    """The nodes of one contour, ready to give delta at many epsilons at once."""

    def __init__(self, composition: Composition, plan: Plan, deviation: float) -> None:
        """Evaluate K at the nodes.

        Args:
            composition: what is accounted for, already truncated.
            plan: where the nodes are.
            deviation: standard deviation of the tilted loss, about.
        """
        super().__init__(composition, plan)
        self.deviation = deviation
        self._modulus: Array = np.abs(self._z)
        self._size: Array = np.abs(self._kernel)
        known = np.where(np.isfinite(self._error), self._error, 1.0)
        self._noise: Array = known + UNIT * (4.0 * np.abs(self._log_mgf) + 16.0 + len(self._z))
        self._peak = float(self._log_mgf[0].real)

    @classmethod
    def around(
        cls, composition: Composition, epsilon: float, tolerance: float, reach: float
    ) -> SharedContour:
        """Make a contour through the saddle of one epsilon that is good `reach` deviations around.

        With the curvature K'' of the tilted loss, log delta falls by about c x + x^2 / (2 K'') on
        the way to epsilon + x: that much smaller have aliasing and dropped mass to be, and the
        errors that grow with the distance from the saddle by e^{reach^2 / 2}.

        Raises:
            NotCertifiedError: there is no such contour.
        """
        relative = min(max(SHARE * PAD * tolerance, LEAST_ERROR), MOST_ERROR)
        log_scale = FIRST_LOG_DELTA
        for _ in range(REFINEMENTS):
            before = log_scale
            cut = composition.truncated(log_scale + math.log(0.1 * relative))
            c = saddle_for_epsilon(cut, epsilon)
            log_scale = min(0.0, log_delta_at(cut, c)[1])
            if abs(log_scale - before) < 1.0:
                break
        deviation = math.sqrt(max(cut.cumulants(c)[2], 0.0))
        if reach == 0.0:
            return cls(cut, make_plan(cut, c, epsilon, log_scale, relative), deviation)
        drop = reach * (c * deviation + 0.5 * reach)
        cut = composition.truncated(log_scale - drop + math.log(0.1 * relative))
        smaller = log_scale - 0.5 * reach * reach
        depth = math.log(4.0 / relative)
        refine = (depth - log_scale + drop) / (depth - smaller)
        plan = make_plan(cut, c, epsilon, smaller, relative, refine=max(1.0, refine))
        return cls(cut, plan, deviation)

    def deltas(self, epsilons: Array, tolerance: float) -> list[Certified | None]:
        """Bracket the finite part of delta at each epsilon, padded for a tolerance."""
        return self.sums(epsilons).certified(tolerance)

    def estimates(self, epsilons: Array) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound."""
        return self.sums(epsilons).plain()

    def sums(self, epsilons: Array) -> Estimates:
        """Evaluate delta at each epsilon, shape (n,), with its error terms.

        The units are about the saddle-point value, so that nothing under- or overflows near it.
        """
        c = self.plan.c
        scales = np.minimum(0.0, self._peak - c * epsilons - math.log(c) - math.log1p(c))
        rows = max(1, MOST_ELEMENTS // len(self._z))
        parts = [
            self._sums(epsilons[i : i + rows], scales[i : i + rows])
            for i in range(0, len(epsilons), rows)
        ]
        value, slope, rounding = (np.concatenate(column) for column in zip(*parts, strict=True))
        log_peak = self._log_peaks(epsilons, scales)
        aliasing, cut = self._aliasings(epsilons, scales), self._truncations(log_peak)
        dropped: Array = np.zeros(len(epsilons))
        if self.log_dropped > -math.inf:
            dropped = exp_bounds(self.log_dropped - scales + SLACK)
        return Estimates(
            scales,
            value,
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

    def _sums(self, epsilons: Array, scales: Array) -> tuple[Array, Array, Array]:
        """Return the sums over the nodes, their slopes, and a bound on their rounding errors.

        As in `ContourSum.delta` every exponent is off by w = the error of K and 4 units of each of
        its terms, and the rest by 16 + n units, so that a term of modulus m is off by at most
        m (e^w - 1) <= m w (1 + w) for w <= 1. Where the largest w of a node exceeds 1 for some
        epsilon, its modulus is bounded by that at t = 0. Sums of products are matrix products,
        whose terms may be added in any order.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            exponent = np.multiply.outer(-epsilons, self._z) + self._log_mgf - scales[:, None]
            powers = np.exp(exponent)
            value = (powers @ self._kernel).real
            slope = -(powers @ (self._kernel * self._z)).real
            moduli = np.abs(powers)
            at, units = np.abs(epsilons), 4.0 * UNIT * np.abs(scales)
            worst = self._noise + float(units.max()) + 4.0 * UNIT * float(at.max()) * self._modulus
            good = worst < 1.0
            weight = np.where(good, self._size * (1.0 + np.minimum(worst, 1.0)), 0.0)
            rounding = moduli @ (weight * self._noise) + units * (moduli @ weight)
            rounding = rounding + 4.0 * UNIT * at * (moduli @ (weight * self._modulus))
            if not good.all():
                peaks = exp_bounds(self._log_peaks(epsilons, scales))
                bad = self._size[~good]
                rounding = rounding + peaks * float(bad.sum()) + moduli[:, ~good] @ bad
        return value, slope, rounding * MARGIN

    def _log_peaks(self, epsilons: Array, scales: Array) -> Array:
        """Return upper bounds on K(c) - c epsilon - log_scale; see `ContourSum`."""
        c, peak = self.plan.c, self._peak + float(self._error[0])
        slack = UNIT * (abs(peak) + c * np.abs(epsilons) + np.abs(scales))
        return peak - c * epsilons - scales + 8.0 * slack

    def _aliasings(self, epsilons: Array, scales: Array) -> Array:
        """Bound the aliasing errors; formulas and slack are those of `ContourSum`."""
        plan = self.plan
        left = log_left(plan.c, plan.step) - scales
        log_r = -2.0 * math.pi * (plan.c_right - plan.c) / plan.step
        chernoff = log_payoff_supremum(plan.c_right) + plan.log_mgf_right
        right = chernoff - plan.c_right * epsilons + log_r - math.log(-math.expm1(log_r)) - scales
        largest = 2.0 * math.pi * plan.c_right / plan.step + abs(plan.log_mgf_right)
        slack = SLACK + 16.0 * UNIT * (largest + plan.c_right * np.abs(epsilons) + np.abs(scales))
        return (exp_bounds(left + slack) + exp_bounds(right + slack)) * MARGIN

    def _truncations(self, log_peaks: Array) -> Array:
        plan = self.plan
        log_rest = min(plan.log_decay - math.log(math.pi * plan.cut), plan.log_rest)
        return exp_bounds(log_peaks + log_rest + SLACK) * MARGIN


def exp_bounds(exponents: Array) -> Array:
    """Return upper bounds on e^x; see `exp_bound`."""
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.exp(np.minimum(exponents, LARGEST_EXPONENT)) * (1.0 + 8.0 * UNIT)
    # Not a number counts as infinite.
    return np.where(exponents <= LARGEST_EXPONENT, np.nextafter(powers, np.inf), np.inf)
