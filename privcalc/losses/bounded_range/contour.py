"""A law on a long lattice, with perhaps one atom beyond, on a vertical line Re s = c.

With point b R + r of the lattice, e^{itl} is a product of one of the first R phases and one of
every R-th, so that a sum over N points takes N products and about 2 N^{1/2} exponentials.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.contour import ContourLaw
from privcalc.numerics.complexlog import log1p_with_error
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray

# Points in a row.
ROW = 32
# Exponentials that are held at once.
AT_ONCE = 2**20


@record
class LatticeContour(ContourLaw):
    """Tilted masses w = p e^{cl} / M on a lattice.

    Attributes:
        least: the least loss.
        step: of the lattice.
        weights: w by rows, zeros at the end.
        beyond: a loss that is on no lattice.
        weight: its w.
        log_mgf_at: log M(c).
        mean: the sum of w |l|.
        error: of log M(c).
    """

    least: float
    step: float
    weights: Array
    beyond: float
    weight: float
    log_mgf_at: float
    mean: float
    error: float

    @classmethod
    def of(cls, losses: Array, masses: Array, step: float, c: float) -> LatticeContour:
        """Tilt a law at points of a lattice; the last may be beyond.

        Exponents are off by 2 units, masses by 32, exponentials by 8.
        """
        exponents = np.log(masses) + c * losses
        top = float(exponents.max())
        terms = np.exp(exponents - top)
        total = float(terms.sum())
        w = terms / total
        places = np.rint((losses - losses[0]) / step).astype(np.int64)
        off = bool(abs(losses[0] + step * float(places[-1]) - losses[-1]) > 0.0)
        inside = len(losses) - 1 if off else len(losses)
        rows = -(-(int(places[inside - 1]) + 1) // ROW)
        table = np.zeros(rows * ROW)
        table[places[:inside]] = w[:inside]
        sizes = np.abs(np.log(masses)) + np.abs(c * losses) + abs(top)
        error = UNIT * float((w * (8.0 * sizes + 64.0)).sum()) + UNIT * (len(losses) + 16.0)
        return cls(
            float(losses[0]),
            step,
            table.reshape(rows, ROW),
            float(losses[-1]),
            float(w[-1]) if off else 0.0,
            top + math.log(total),
            float((w * np.abs(losses - losses[0])).sum()),
            error * MARGIN + 8.0 * UNIT * (abs(top) + abs(math.log(total))),
        )

    @property
    def size(self) -> int:
        """Return the number of exponentials, and some for the products."""
        return ROW + len(self.weights) + self.weights.size // 16

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c + it): log M(c), the phase of the least loss, and the log of the mean phase.

        A phase is off by the rounding of its angle, 4 units of |t| (l - least), and 16 units; a sum
        of non-negative weights by as many units as there are terms in its two parts.
        """
        size = max(1, AT_ONCE // (ROW + 2 * len(self.weights)))
        value = np.empty(len(t), np.complex128)
        for start in range(0, len(t), size):
            part = slice(start, start + size)
            few = np.exp(1j * np.outer(t[part], self.step * np.arange(ROW)))
            many = np.exp(1j * np.outer(t[part], self.step * ROW * np.arange(len(self.weights))))
            value[part] = ((few @ self.weights.T) * many).sum(axis=1)
        value = value + self.weight * np.exp(1j * t * (self.beyond - self.least))
        units = 64.0 + ROW + len(self.weights) + 8.0 * np.abs(t) * self.mean
        log_value, log_error = log1p_with_error(value - 1.0, UNIT * units + self.error)
        angle = t * self.least
        error = log_error + UNIT * (4.0 * np.abs(angle) + 4.0 * abs(self.log_mgf_at))
        return self.log_mgf_at + 1j * angle + log_value, error
