"""The convex hull of points of one function, in doubles.

Which points are corners is decided by slopes that are off by a few units, and so is the sign of a
bend: a corner may be left out, or a point kept that is none, where the two differ by rounding. Both
ends and every corner of the result are points that were given. So chords between values of a convex
function hold above it, and every test on a hull of tests is one of them, whatever rounding does;
but slopes may fail to increase by some units. Who needs an exact hull takes that of these few
points in whole numbers (`losses/atomic/profiles.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers


def lower_hull(x: Array, y: Array) -> Integers:
    """Return the indices of the corners of the largest convex function below points.

    A corner is below every chord past it, and is never taken out; of other points between two
    corners some are on or above the chord of their neighbours, and all of these go at once.

    Args:
        x: strictly increasing.
        y: finite.
    """
    kept = np.arange(len(x))
    while True:
        slopes = np.diff(y[kept]) / np.diff(x[kept])
        out = np.flatnonzero(slopes[1:] <= slopes[:-1]) + 1
        if not len(out):
            return kept
        kept = np.delete(kept, out)


def falling_hull(logs: Array, y: Array) -> Integers:
    """Return the indices of the corners of a convex, non-increasing function of s = e^x below y.

    The slopes are taken as logarithms, so that they keep their digits where neighbouring x are next
    to one another and s leaves the range of doubles. Flat pieces before others are taken out.
    """
    kept = np.arange(len(logs))
    with np.errstate(divide="ignore", invalid="ignore"):
        while True:
            x, gap = logs[kept], np.diff(logs[kept])
            slopes = np.log(-np.diff(y[kept])) - x[:-1] - gap - np.log(-np.expm1(-gap))
            # What rises counts as flat.
            slopes[np.isnan(slopes)] = -np.inf
            out = np.flatnonzero(slopes[1:] >= slopes[:-1]) + 1
            if not len(out):
                return kept
            kept = np.delete(kept, out)


def upper_hull(x: Array, y: Array) -> Integers:
    """Return the indices of the corners of the least concave function above points."""
    return lower_hull(x, -y)
