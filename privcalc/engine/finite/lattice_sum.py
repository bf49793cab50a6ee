"""Self-composition of a law whose few values lie on a lattice: an exact power of a polynomial.

The masses are the coefficients; all are non-negative, so that products and sums keep their
relative accuracy, and powers are formed by squaring.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.atoms import LOSS_ULPS, MASS_ULPS
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Convolutions cost the product of the lengths.
MOST_POINTS = 20_000
# The least gap of the values may be this many units of the lattice.
MOST_PARTS = 6
# Coefficients below are left out: products of two stay in the range of doubles.
SMALLEST = 1e-150


@record
class LatticeSum:
    """Values origin + unit k with masses; see `engine/finite/outcomes.py` for the errors.

    Attributes:
        losses: values of the sum.
        masses: P-masses.
        loss_error: absolute error of each value, at most.
        mass_error: relative error of each mass, at most.
        dropped: P-mass left out, at most.
    """

    losses: Array
    masses: Array
    loss_error: float
    mass_error: float
    dropped: float


def lattice_points(losses: tuple[float, ...]) -> tuple[float, list[int]] | None:
    """Return a unit and whole numbers k with losses = least + unit k, up to their own error."""
    values = sorted(losses)
    reach = max(abs(values[0]), abs(values[-1]))
    allowed = LOSS_ULPS * UNIT * reach
    gaps = [b - a for a, b in itertools.pairwise(values)]
    if not gaps or not min(gaps) > 1e3 * allowed:
        return None
    spread = values[-1] - values[0]
    for parts in range(1, MOST_PARTS + 1):
        rough = min(gaps) / parts
        unit = spread / round(spread / rough)
        numbers = [round((loss - values[0]) / unit) for loss in losses]
        if all(
            abs(values[0] + unit * k - loss) <= 2.0 * allowed
            for k, loss in zip(numbers, losses, strict=True)
        ):
            return unit, numbers
    return None


def lattice_power(
    losses: tuple[float, ...], masses: tuple[float, ...], count: int
) -> LatticeSum | None:
    """Return the sum of `count` draws, or None where the values are on no (small) lattice.

    Errors. A convolution of n terms adds n + 2 units to the relative errors of its factors, whose
    multiplicities add up to `count`. What is left out of a factor of mass at most 1 is missing in
    the product at most once for each use. Values are off by twice the error of the losses.
    """
    found = lattice_points(losses)
    if found is None or max(found[1]) * count >= MOST_POINTS:
        return None
    unit, numbers = found
    base: Array = np.zeros(max(numbers) + 1)
    for k, mass in zip(numbers, masses, strict=True):
        base[k] += mass
    square: Array = base
    lost_square, error_square = 0.0, MASS_ULPS * UNIT
    power: Array = np.ones(1)
    lost = error = 0.0
    left = count
    while left:
        if left & 1:
            error += error_square + UNIT * (min(len(power), len(square)) + 2.0)
            power, cut = _trimmed(np.convolve(power, square))
            lost += lost_square + cut
        left >>= 1
        if left:
            error_square = 2.0 * error_square + UNIT * (len(square) + 2.0)
            square, cut = _trimmed(np.convolve(square, square))
            lost_square = 2.0 * lost_square + cut
    least = min(losses)
    values = count * least + unit * np.arange(len(power))
    reach = count * max(abs(loss) for loss in losses)
    kept = power > 0.0
    return LatticeSum(
        values[kept],
        power[kept],
        (3.0 * LOSS_ULPS + 8.0) * UNIT * reach,
        error * (1.0 + 1e-6) + 4.0 * UNIT,
        lost * (1.0 + 1e-6),
    )


def _trimmed(masses: Array) -> tuple[Array, float]:
    """Leave out masses too small to multiply, and return their sum."""
    tiny = masses < SMALLEST
    return np.where(tiny, 0.0, masses), float(masses[tiny].sum()) * (1.0 + 1e-6)
