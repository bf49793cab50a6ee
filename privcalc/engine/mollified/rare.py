"""Uses of which one at least is beyond a cut, as `engine/mollified/blocks.py` wants them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.mollified.blocks import SMALLEST, at_abscissa
from privcalc.numerics.phases import PHASE_ULPS
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.rare import RareContour
    from privcalc.numerics.arrays import Array, ComplexArray


@record
class RareBlocks:
    """M^n - N^n over its value at c; see `losses/rare.py`. It is used once."""

    law: RareContour

    cell_work = 2.0

    @property
    def log_mgf_at(self) -> tuple[float, float]:
        """Return log(M^n - N^n) at c."""
        return at_abscissa(self.law)

    @property
    def centre(self) -> float:
        """Return n times the tilted mean of the near losses."""
        return self.law.law.count * self.law.near[3]

    @property
    def work(self) -> float:
        """Return the products of a node."""
        terms = len(self.law.near[0].losses) + len(self.law.far[0].losses)
        return 2.0 + 0.01 * terms

    def powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return ((y + d)^n - y^n) / S, and a bound on its error.

        With |y' - y| <= a, |d' - d| <= b, u = |y| + a and v = |d| + b, the slope in d is at most
        n (u + v)^(n - 1), that in y n (u + v)^(n - 1) - n u^(n - 1) <= n (n - 1) v (u + v)^(n - 2).
        """
        if count != 1:
            raise AssertionError("a measure of several uses is used once")
        near, far = self.law.near, self.law.far
        r, ratio_error = self.law.ratio
        n, scale = self.law.law.count, math.exp(-self.law.log_grown)
        offsets = step * np.arange(size)
        t = starts[:, None] + offsets
        y, y_error = near[0].blocks(starts, step, size), near[0].error(t)
        away = far[3] - near[3]
        turned = np.exp(1j * away * starts)[:, None] * np.exp(1j * away * offsets)
        d = r * turned * far[0].blocks(starts, step, size)
        # The difference of the means is off by a unit of each.
        angles = UNIT * (8.0 * abs(away) + abs(far[3]) + abs(near[3])) * t
        d_error = far[0].error(t) + ratio_error + angles + UNIT * (2.0 * PHASE_ULPS + 16.0)
        d_error = r * np.where(d_error < 1e-6, d_error * (1.0 + 1e-5), 4.0)
        found = _difference(y, d, n) * scale
        v = np.abs(d) + d_error
        most = np.abs(y) + y_error + v + SMALLEST
        grown = n * np.exp((n - 1.0) * np.log(most)) * scale
        units = (n - 1.0) * y_error / most + 8.0 * n * UNIT
        error = grown * (d_error + v * units) * (1.0 + 1e-5)
        return found, error + 8.0 * UNIT * np.abs(found) + SMALLEST

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return log of n r (y + r)^(n - 1) / S, at most 0, with the bound on y of the cell.

        A relative error of r makes one of 1 + (n - 1) r / (|y| + r) + n r (1 + r)^(n - 1) / S <= 2n
        times that, as S >= r (1 + r)^(n - 1).
        """
        near = self.law.near[0].cell_bounds(starts, width, uniform=uniform)
        n, (r, wrong) = self.law.law.count, self.law.ratio
        size = np.exp(near) + r
        bounds = math.log(n) + math.log(r) + (n - 1.0) * np.log(size) - self.law.log_grown
        slack = 2.0 * n * (wrong + 16.0 * UNIT) + 1e-12 * (1.0 + abs(self.law.log_grown))
        found: Array = np.minimum(0.0, bounds + slack)
        return found

    def beyond(self, t: Array) -> Array:
        """Return 0: the rare losses come back."""
        return np.zeros(len(t))


def _difference(y: ComplexArray, d: ComplexArray, n: int) -> ComplexArray:
    """Return (y + d)^n - y^n without cancellation, off by 8 n units of (|y| + |d|)^n - |y|^n.

    With y_k = y^k and e_k = (y + d)^k - y^k: e_2k = e_k (2 y_k + e_k), and e_(k+1) = e_k (y + d) +
    y_k d. In units of the same with moduli, where all is positive, y_k is off by 4k and e_k by
    8k - 4: doubling makes that 2 (8k - 4) + 4 at most, and one more max(8k, 4k + 3) + 1, as sums
    are off by a unit, and products by 3.
    """
    total = y + d
    power, difference = y, d
    for bit in bin(n)[3:]:
        difference = difference * (2.0 * power + difference)
        power = power * power
        if bit == "1":
            difference = difference * total + power * d
            power = power * y
    return difference
