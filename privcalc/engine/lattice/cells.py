"""Cells of a loss law: the masses between points of a lattice, with their errors."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.lattice.law import WindowError
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.lattice.sketch import Sketch
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array, Integers

# What underflow can hide in one mass.
TINY = 1e-300
# As long as a law has no more points than this, all are used.
MOST_CELLS = 2**18
# Indices are whole doubles; and no more points than this are tried.
LARGEST_INDEX, MOST_NEAR = 2**50, 2**23
SPREAD = 0.02
# Tilted weights are formed as products below this exponent, beyond it from logs.
LARGEST_EXPONENT = 650.0
SMALLEST_PEAK = 1e-200


@record
class Grid:
    """Points origin + step k of a lattice, k in `indices`; where the law is thin, not all."""

    origin: Fraction
    step: Fraction
    indices: Integers

    def points(self) -> Array:
        """Return the points, each off by at most `error`."""
        return float(self.origin) + float(self.step) * self.indices

    @property
    def error(self) -> float:
        """Bound the rounding of `points`."""
        reach = float(np.abs(self.indices).max(initial=0)) * float(self.step)
        return 4.0 * UNIT * (abs(float(self.origin)) + reach)


def make_grid(origin: Fraction, step: Fraction, seen: Sketch, scale: float, c: float) -> Grid:
    """Cover the range of a law: with every lattice point, or with fewer far out if these are many.

    Then a cell at distance x from the median, or from the mean of the law tilted by c, may have the
    width x step / (50 scale): within fifty scales that is no more than one step.
    """
    spacing = float(step)
    low = math.floor((Fraction(seen.low) - origin) / step) - 1
    high = math.ceil((Fraction(seen.high) - origin) / step) + 1
    if max(abs(low), abs(high)) > LARGEST_INDEX:
        raise WindowError("the range of a law is too wide for its lattice")
    if high - low <= MOST_CELLS:
        return Grid(origin, step, np.arange(low, high + 1))
    growth = min(SPREAD, SPREAD * spacing / max(scale, spacing))
    near = math.ceil(1.0 / growth)
    if min(near, high - low) > MOST_NEAR:
        raise WindowError("the range of a law is too wide for its lattice")
    parts = []
    for loss in (seen.median, seen.tilted(c)[1]):
        centre = min(max(round((Fraction(loss) - origin) / step), low), high)
        for sign, reach in ((-1, centre - low), (1, high - centre)):
            parts.append(centre + sign * np.arange(min(near, reach) + 1))
            if reach > near:
                steps = math.ceil(math.log(reach / near) / math.log1p(growth))
                far = np.rint(near * np.exp(np.linspace(0.0, math.log(reach / near), steps + 1)))
                parts.append(centre + sign * np.minimum(far.astype(np.int64), reach))
                parts.append(np.array([centre + sign * reach]))
    merged = np.sort(np.concatenate(parts)).astype(np.int64)
    return Grid(origin, step, merged[np.concatenate([[True], np.diff(merged) > 0])])


@record
class Cells:
    """P- and Q-masses of outcomes with losses between neighbouring points; up and down."""

    p: Array
    q: Array
    p_error: Array
    q_error: Array
    below: float
    above: float
    shift: float


def cells(law: LossLaw, points: Array) -> Cells:
    """Subtract whichever tail is smaller; each mass is off by the errors of the two it comes from.

    `below` and `above` are upper bounds of the P-masses outside the points.
    """
    charge(0.5 * len(points))
    tails = law.tails(points)
    error = np.broadcast_to(np.asarray(tails.error, dtype=float), points.shape) + 2.0 * UNIT
    p, p_error = _between(tails.above_p, tails.below_p, error)
    q, q_error = _between(tails.above_q, tails.below_q, error)
    direct = tails.between_error
    if direct is not None and tails.between_p is not None and tails.between_q is not None:
        p, p_error = _better(p, p_error, tails.between_p, direct)
        q, q_error = _better(q, q_error, tails.between_q, direct)
    return Cells(
        p,
        q,
        p_error,
        q_error,
        float(tails.below_p[0] * (1.0 + error[0])) * MARGIN + TINY,
        float(tails.above_p[-1] * (1.0 + error[-1])) * MARGIN + TINY,
        tails.shift,
    )


def _between(above: Array, below: Array, error: Array) -> tuple[Array, Array]:
    use_above = above[:-1] < below[1:]
    mass = np.where(use_above, above[:-1] - above[1:], below[1:] - below[:-1])
    lost_above, lost_below = above * error, below * error
    wrong = np.where(use_above, lost_above[:-1] + lost_above[1:], lost_below[:-1] + lost_below[1:])
    return np.maximum(mass, 0.0), wrong * MARGIN + TINY


def _better(mass: Array, wrong: Array, direct: Array, error: Array) -> tuple[Array, Array]:
    """Take the directly known masses where their errors are smaller."""
    with np.errstate(invalid="ignore"):
        other = np.where(np.isfinite(error), direct * error * MARGIN + TINY, np.inf)
    take = other < wrong
    return np.where(take, direct, mass), np.where(take, other, wrong)


def tilt(p: Array, points: Array, c: float, log_scale: float) -> tuple[Array, Array, float]:
    """Return p e^{c l - log_scale}, its relative error, and the log_scale that was used.

    The scale that is passed is a guess: where it would make weights overflow, or all of them
    vanish, that of the largest weight takes its place.
    """
    exponent = c * points - log_scale
    size = np.abs(c * points)
    if float(np.abs(exponent).max(initial=0.0)) < LARGEST_EXPONENT:
        weights = p * np.exp(exponent)
        if float(weights.max(initial=0.0)) > SMALLEST_PEAK:
            return weights, UNIT * (16.0 + 6.0 * (size + abs(log_scale))), log_scale
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    total = logs + c * points
    top = float(total.max(initial=-np.inf))
    if not math.isfinite(top):
        return np.zeros(len(p)), np.zeros(len(p)), log_scale
    error = 16.0 + 6.0 * (size + abs(top)) + 8.0 * np.where(p > 0.0, np.abs(logs), 0.0)
    return np.exp(total - top), UNIT * error, top
