"""The contour sum of discrete Gaussians over chosen nodes: what `NodeSum` needs to know of it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.contour.sum import Nodes, NodeSum, Terms
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.engine.periodic.nodes import Chosen, Uses
    from privcalc.numerics.arrays import Array, ComplexArray

# exp, the kernel and the products, in units of the moduli of the kernel's terms.
TERM_ULPS = 48.0


def evaluate(uses: Uses, chosen: Chosen, right: tuple[float, float]) -> Nodes:
    """Evaluate the cumulant at the nodes, but for the phases i t a of a possible loss a.

    Args:
        uses: laws with counts, on one abscissa.
        chosen: the nodes that matter.
        right: the c' of the right aliasing term, and an upper bound on K(c').
    """
    total: ComplexArray = np.zeros(len(chosen.k), np.complex128)
    error: Array = np.zeros(len(chosen.k))
    for index, (law, count) in enumerate(uses):
        value, slack = law.centred(chosen.grid.places(index, chosen.k))
        total = total + count * value
        error = error + count * slack + (2.0 + len(uses)) * UNIT * count * np.abs(value)
    step = chosen.grid.step * (1.0 + 4.0 * UNIT)
    c = uses[0][0].c
    return Nodes(c, step, total, error, chosen.log_modulus, right, chosen.left_out)


class PeriodSum(NodeSum):
    """The sum over one period of nodes, of losses on a lattice (see `periodic/grid.py`)."""

    def __init__(
        self, nodes: Nodes, chosen: Chosen, offset: Fraction, deviation: float = 0.0
    ) -> None:
        """Take the nodes' values and a possible value a of the composed loss."""
        super().__init__(nodes, deviation)
        grid = chosen.grid
        self._offset = offset
        self._grid = grid
        self._k = chosen.k.astype(np.uint64)
        x, first, second = grid.factors(chosen.k)
        ends = (chosen.k == 0) | (chosen.k == grid.last)
        share: Array = np.where(ends, 0.5, 1.0) * (2.0 / grid.size)
        self._x = np.asarray(x, dtype=np.complex128)
        self._share = np.asarray(share / first / second, dtype=np.complex128)
        self._steepness: ComplexArray = np.divide(-share, second)

    def _terms(self, epsilons: Array) -> Terms:
        """Return the terms of the lattice sum.

        The least lattice point above epsilon, l0 = a + g j0, and its distances from epsilon are
        found exactly; each function of them rounds once. The phase of e^{-s l0} is that of
        e^{-2 pi i k j0 / N}, whose turns are exact, as i t a is not in the centred cumulants.
        x = e^{-sg} is off by 4 units of its exponent. The derivative by epsilon is
        -r sum_j P(L = l0 + g j) e^{-gj}.
        """
        grid = self._grid
        points = [self._above(Fraction(epsilon)) for epsilon in epsilons.tolist()]
        turns = np.array([lowest % grid.size for lowest, _, _, _ in points], np.uint64)
        level, above, below = (np.array([each[i] for each in points])[:, None] for i in (1, 2, 3))
        wrapped = np.multiply.outer(turns, self._k) & np.uint64(grid.size - 1)
        exponent: ComplexArray = np.empty(wrapped.shape, np.complex128)
        exponent.real = self.nodes.log_mgf.real - self.nodes.c * level
        exponent.imag = self.nodes.log_mgf.imag - 2.0 * math.pi * (wrapped / grid.size)
        kernel: ComplexArray = np.multiply(self._share, above + self._x * below)
        size: Array = np.abs(self._share) * (above + np.abs(self._x) * below)
        steepness: ComplexArray = np.multiply(self._steepness, 1.0 - above)
        units = TERM_ULPS + 4.0 * self.nodes.c * grid.gap
        return Terms(exponent, kernel, size, steepness, units)

    def _above(self, epsilon: Fraction) -> tuple[int, float, float, float]:
        """Return j0, l0, 1 - r and r - e^{-g}."""
        grid = self._grid
        gap = grid.exact_gap
        lowest = math.floor((epsilon - self._offset) / gap) + 1
        level = self._offset + gap * lowest
        above = -math.expm1(float(epsilon - level))
        # r (1 - e^{-(epsilon - l0 + g)}), as e^g may be beyond the doubles. With y = l0 - epsilon
        # r = e^{-y} is off by y units more: by 1 for y <= 1, and beyond by y e^{-y} < 1 - r.
        below = -math.exp(float(epsilon - level)) * math.expm1(-float(epsilon - level + gap))
        return lowest, float(level), above, below
