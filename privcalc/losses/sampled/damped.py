"""A tilted measure as a sum of phases that decay: S(t) = sum w_j e^{i t x_j}, Im x_j >= 0, t >= 0.

They are nodes of a path off the real line (`losses/sampled/smooth.py`). What they miss does not
depend on t, so that sum_j |w_j| e^{-t Im x_j} and that bound S at t, and at all larger t.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.phases import PER_PRODUCT, PHASE_ULPS
from privcalc.numerics.rounding import COMPLEX_TERM, MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray, Integers

# The grid of t on which errors and bounds are tabulated, in reciprocals of the deviation of x_j.
FIRST, RATIO, POINTS = 1e-3, 1.25, 160
# Losses all below this have no such reciprocals.
LEAST = 1e-280
# Exponentials of complex numbers that are formed at once.
AT_ONCE = 400_000
# Work for one of them.
PER_PHASE = 0.5


@record
class DampedPhases:
    """Weights at losses around their mean.

    Attributes:
        losses: x_j.
        weights: w_j over the mass.
        ts: increasing, from 0.
        moduli: bounds on |S / W| at each of these and beyond.
        errors: bounds on the error of S / W from each of these to the next.
    """

    losses: ComplexArray
    weights: ComplexArray
    ts: Array
    moduli: Array
    errors: Array

    @classmethod
    def of(
        cls, losses: ComplexArray, weights: ComplexArray, wrong: Array, moved: Array, missed: float
    ) -> DampedPhases:
        """Tabulate.

        A phase is off by PHASE_ULPS units, 8 units of its angle, and by t times what x_j is off by;
        the sum by COMPLEX_TERM units for each term. Beyond the last t, S and its computed value are
        both at most the bound there.

        Args:
            losses: x_j.
            weights: w_j over the mass.
            wrong: absolute errors of the weights.
            moved: the same of the losses, before their mean was taken off them.
            missed: what the nodes miss.

        Raises:
            NotCertifiedError: losses are near the end of the range of doubles.
        """
        moduli, sizes = np.abs(weights), np.abs(losses)
        largest = float(sizes.max())
        if not largest > LEAST:
            raise NotCertifiedError("the losses of a sampled law are below the doubles")
        deviation = largest * float(np.sqrt(moduli @ (sizes / largest) ** 2 / moduli.sum()))
        ts = np.concatenate([[0.0], FIRST / deviation * RATIO ** np.arange(POINTS)])
        decay = np.exp(-np.multiply.outer(ts, losses.imag))
        fixed = UNIT * (PHASE_ULPS + 16.0 + COMPLEX_TERM * len(losses))
        moving = moduli * (8.0 * UNIT * sizes + moved)
        ends = np.append(ts[1:], 0.0)
        bounds = (decay @ (moduli + wrong) + missed) * MARGIN
        errors = (decay @ (fixed * moduli + wrong) + ends * (decay @ moving) + missed) * MARGIN
        errors[-1] = 2.0 * bounds[-1]
        return cls(losses, weights, ts, bounds, errors)

    def error(self, t: Array) -> Array:
        """Bound the absolute error of values computed by `blocks`."""
        found: Array = self.errors[self._index(t)]
        return found

    def beyond(self, t: Array) -> Array:
        """Return the log of a bound on |S / W| at each t and beyond, at most 0."""
        found: Array = np.log(np.minimum(self.moduli[self._index(t)], 1.0))
        return found

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return the same from the starts of cells."""
        del width, uniform
        return self.beyond(starts)

    def blocks(self, starts: Array, step: float, size: int) -> ComplexArray:
        """Return S(t) / W at t = start + k step, k < size; a row for each start."""
        count = len(self.losses)
        fine = np.exp(np.multiply.outer(1j * self.losses, step * np.arange(size)))
        charge(PER_PHASE * count * (size + len(starts)) + PER_PRODUCT * count * size * len(starts))
        table: ComplexArray = np.empty((len(starts), size), np.complex128)
        rows = max(1, AT_ONCE // count)
        for i in range(0, len(starts), rows):
            phases = np.exp(np.multiply.outer(starts[i : i + rows], 1j * self.losses))
            table[i : i + rows] = (phases * self.weights) @ fine
        return table

    def _index(self, t: Array) -> Integers:
        found: Integers = np.searchsorted(self.ts, t, side="right") - 1
        return found
