"""The contour sum of discrete Gaussians over chosen nodes, with a proof of its error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.aliasing import log_left, log_right
from privcalc.engine.contour import DeltaEstimate
from privcalc.numerics.arrays import vertical
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound

if TYPE_CHECKING:
    from privcalc.engine.periodic.grid import Period
    from privcalc.engine.periodic.nodes import Nodes, Uses
    from privcalc.numerics.arrays import Array, ComplexArray


@dataclass(frozen=True, slots=True)
class Terms:
    """The summands e^{exponent} kernel, one for each node.

    Attributes:
        exponent: K(s) - s epsilon, or the like.
        kernel: what it is multiplied with.
        size: bound on the modulus of the kernel and of the terms it is made of.
        steepness: the derivative of e^{exponent} kernel by epsilon is e^{exponent} times this.
        units: rounding of the kernel beyond the usual, in units.
    """

    exponent: ComplexArray
    kernel: ComplexArray
    size: Array
    steepness: ComplexArray
    units: float = 0.0


class PeriodicSum:
    """The nodes of one contour, ready to give delta at any epsilon."""

    def __init__(
        self, uses: Uses, nodes: Nodes, offset: Fraction, right: tuple[float, float]
    ) -> None:
        """Evaluate the cumulant at the nodes.

        Args:
            uses: laws with counts, on one abscissa.
            nodes: the nodes that matter.
            offset: a, a possible value of the composed loss.
            right: the c' of the right aliasing term, and an upper bound on K(c').
        """
        self._nodes = nodes
        self._c = uses[0][0].c
        self._offset = offset
        self._right = right
        k = nodes.k
        self._value: ComplexArray = np.zeros(len(k), np.complex128)
        self._error: Array = np.zeros(len(k))
        for index, (law, count) in enumerate(uses):
            value, error = law.centred(*nodes.grid.places(index, k))
            self._value = self._value + count * value
            wrong = count * error + (2.0 + len(uses)) * UNIT * count * np.abs(value)
            self._error = self._error + wrong
        peak = float(self._value[0].real) + float(self._error[0])
        self._peak = peak + 4.0 * UNIT * abs(peak)

    def delta(self, epsilon: float, log_scale: float) -> DeltaEstimate:
        """Evaluate delta / e^{log_scale} at an epsilon, with its error terms.

        Rounding: the exponent is off by the error of the cumulant and 4 units of each of its
        terms; exp, the kernel and the products by 48 units of the kernel's moduli, and what else
        the kernel says; the sum of n terms by n. Where the error of a node exceeds 1, its modulus
        is bounded by the majorant.
        """
        terms = self._terms(epsilon)
        exponent, kernel, size = terms.exponent, terms.kernel, terms.size
        wrong = self._error + UNIT * (
            4.0 * (np.abs(self._value) + np.abs(exponent - self._value) + abs(log_scale))
            + 48.0
            + len(kernel)
            + terms.units
        )
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            factor = np.exp(exponent - log_scale)
            summand = np.nan_to_num(factor * kernel, nan=0.0, posinf=0.0, neginf=0.0)
            known = np.expm1(np.minimum(wrong, 1.0)) * np.abs(factor) * size
            log_peak = self._log_peak(epsilon, log_scale)
            crude = np.exp(self._nodes.log_majorant + log_peak) * size + np.abs(summand)
            rounding = float(np.where(wrong < 1.0, known, crude).sum()) * MARGIN
        value = float(summand.real.sum())
        slope = float(np.nan_to_num((factor * terms.steepness).real).sum())
        cut = self._nodes.left_out * exp_bound(log_peak) * MARGIN
        aliasing = self._aliasing(epsilon, log_scale)
        return DeltaEstimate(
            value=value,
            above=cut + rounding,
            below=aliasing + cut + rounding,
            slope=slope,
            terms={
                "aliasing": aliasing,
                "truncation": cut,
                "dropped": 0.0,
                "rounding": rounding,
            },
        )

    def _terms(self, epsilon: float) -> Terms:
        """Return what depends on epsilon and on the grid."""
        raise NotImplementedError

    def _log_peak(self, epsilon: float, log_scale: float) -> float:
        """Return an upper bound on K(c) - c epsilon - log_scale."""
        value = self._peak - self._c * epsilon - log_scale
        return value + 8.0 * UNIT * (abs(self._peak) + self._c * abs(epsilon) + abs(log_scale))

    def _aliasing(self, epsilon: float, log_scale: float) -> float:
        """Bound the aliasing terms of `engine/contour.py`, with slack for rounding."""
        c_right, log_mgf_right = self._right
        step = self._nodes.grid.step * (1.0 + 4.0 * UNIT)
        left = log_left(self._c, step) - log_scale
        right = log_right(self._c, c_right, log_mgf_right, epsilon, step) - log_scale
        largest = 2.0 * math.pi * c_right / step
        largest += abs(log_mgf_right) + c_right * abs(epsilon) + abs(log_scale)
        slack = 1e-9 + 16.0 * UNIT * largest
        return (exp_bound(left + slack) + exp_bound(right + slack)) * MARGIN


class LineSum(PeriodicSum):
    """The sum over nodes of the whole line."""

    def _terms(self, epsilon: float) -> Terms:
        """Return the terms of the integral: all of K but i t a is in the centred cumulants."""
        step, k = self._nodes.grid.step, self._nodes.k
        t = step * k
        z = vertical(self._c, t)
        share = np.where(k == 0, 0.5, 1.0) * (step / math.pi)
        kernel: ComplexArray = np.divide(share, np.multiply(z, z + 1.0))
        rest = float(self._offset - Fraction(epsilon))
        exponent = self._value + vertical(-self._c * epsilon, rest * t)
        return Terms(exponent, kernel, np.abs(kernel), -z * kernel)


class PeriodSum(PeriodicSum):
    """The sum over one period of nodes, of losses on a lattice (see `periodic/grid.py`)."""

    def __init__(
        self, uses: Uses, nodes: Nodes, offset: Fraction, right: tuple[float, float], grid: Period
    ) -> None:
        """Evaluate the cumulant and the kernel's factors at the nodes."""
        super().__init__(uses, nodes, offset, right)
        self._grid = grid
        self._factors = grid.factors(nodes.k)
        ends = (nodes.k == 0) | (nodes.k == grid.last)
        self._share: Array = np.where(ends, 0.5, 1.0) * (2.0 / grid.size)

    def _terms(self, epsilon: float) -> Terms:
        """Return the terms of the lattice sum.

        The least lattice point above epsilon, l0 = a + g j0, and its distances from epsilon are
        found exactly; each function of them rounds once. The phase of e^{-s l0} is that of
        e^{-2 pi i k j0 / N}, whose turns are exact, as i t a is not in the centred cumulants.
        x = e^{-sg} is off by 4 units of its exponent.
        """
        grid, k = self._grid, self._nodes.k
        gap = grid.exact_gap
        lowest = math.floor((Fraction(epsilon) - self._offset) / gap) + 1
        level = self._offset + gap * lowest
        above = -math.expm1(float(Fraction(epsilon) - level))
        below = math.exp(-grid.gap) * math.expm1(float(Fraction(epsilon) - level + gap))
        x, first, second = self._factors
        product = np.multiply(first, second)
        numerator: ComplexArray = np.add(above, x * below)
        kernel: ComplexArray = np.divide(self._share * numerator, product)
        size = self._share * (above + np.abs(x) * below) / np.abs(product)
        wrapped = k.astype(np.uint64) * np.uint64(lowest % grid.size)
        turns = (wrapped & np.uint64(grid.size - 1)).astype(float) / grid.size
        exponent = self._value + vertical(-self._c * float(level), -2.0 * math.pi * turns)
        # d delta / d epsilon = -r sum_j P(L = l0 + g j) e^{-gj}.
        steepness: ComplexArray = np.divide((above - 1.0) * self._share, second)
        return Terms(exponent, kernel, size, steepness, 4.0 * self._c * grid.gap)
