"""Panels for the integral of a pair: graded towards the end where the integrand is singular.

The rule and its error are those of `numerics/gauss_legendre.py`, with the suprema of `pair.py`. A
panel whose contribution is negligible, by its width times the largest value on it, is left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.gauss_legendre import (
    ABSCISSAS,
    LOG_FACTORS,
    POINTS,
    SEMI_AXES_IMAGINARY,
    SEMI_AXES_REAL,
    WEIGHTS,
)
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.engine.nested.pair import Pair
    from privcalc.numerics.arrays import Array

# Widest panels: in z, in the inner threshold, and as a part of the distance to the end.
WIDEST, THRESHOLDS, PART = 1.6, 1.8, 0.9
MOST_PANELS, MOST_ROUNDS = 3000, 60
# Half-widths below this share of a place are not told from rounding.
NARROWEST = 1e-12

# Work of one sum, however few its panels: for the most part that of choosing them.
PER_SUM = 3000.0


def graded(pair: Pair, low: float, high: float) -> tuple[Array, Array]:
    """Return centres and half-widths of panels between two ends; a choice, no proof.

    From the right: both measures of how fast the integrand changes grow to the right.

    Raises:
        NotCertifiedError: there would be too many.
    """
    edges = [high]
    while edges[-1] > low:
        pace, distance = pair.pace(edges[-1])
        width = min(WIDEST, THRESHOLDS / max(pace, 1e-300), PART * distance)
        width = max(width, NARROWEST * (1.0 + abs(edges[-1])))
        edges.append(edges[-1] - width)
        if len(edges) > MOST_PANELS:
            raise NotCertifiedError("two uses need too many panels")
    edges[-1] = low
    points = np.array(edges[::-1])
    halves = 0.5 * np.diff(points)
    return points[:-1] + halves, halves


def integrate(pair: Pair, panels: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """Return the rule's sums over panels of the integrand and the tail, and their rounding.

    A node is off by 2 units of its panel's reach, weights by 3 units, the sum of its terms by
    POINTS; centres and widths are off by 4 units of the largest place, so that neighbours overlap
    by that, or leave it out.
    """
    centres, halves = panels
    z = (centres[:, None] + halves[:, None] * ABSCISSAS).ravel()
    moved = 2.0 * UNIT * np.repeat(np.abs(centres) + halves, POINTS)
    charge(PER_SUM + POINTS * len(centres))
    found = pair.values(z, moved)
    shape = (len(centres), POINTS)
    value, error, above = (
        (each.reshape(shape) @ WEIGHTS) * halves for each in (found.value, found.error, found.tail)
    )
    reach = float(np.abs(centres).max() + halves.max())
    share = UNIT * (POINTS + 8.0 + 16.0 * reach / halves)
    return value, above, error * MARGIN + np.abs(value) * share


def log_errors(pair: Pair, panels: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the logs of bounds on the rule's error, and on the integral itself."""
    centres, halves = panels
    middle = centres[:, None]
    real, height = halves[:, None] * SEMI_AXES_REAL, halves[:, None] * SEMI_AXES_IMAGINARY
    bounds = LOG_FACTORS + pair.log_supremum(middle - real, middle + real, height)
    whole = pair.log_largest(centres - halves, centres + halves)
    return bounds.min(axis=1) + np.log(halves), whole + np.log(2.0 * halves)


def certified(pair: Pair, panels: tuple[Array, Array], target: float) -> tuple[float, ...]:
    """Return the integral, that of the tail, and a bound on the former's error.

    Panels are halved until what the rule and the omissions may be off by is below the target.

    Raises:
        NotCertifiedError: too many panels would be needed.
    """
    log_target = math.log(target)
    centres, halves = panels
    rule, whole = log_errors(pair, panels)
    for _ in range(MOST_ROUNDS):
        best = np.minimum(rule, whole)
        if float(np.logaddexp.reduce(best)) <= log_target:
            break
        split = best > log_target - math.log(2.0 * len(best))
        quarter = 0.5 * halves[split]
        left, right = centres[split] - quarter, centres[split] + quarter
        new = np.concatenate([left, right]), np.concatenate([quarter, quarter])
        old = np.stack([centres, halves, rule, whole])[:, ~split]
        more = np.stack([*new, *log_errors(pair, new)])
        centres, halves, rule, whole = np.concatenate([old, more], axis=1)
        if len(centres) > MOST_PANELS:
            raise NotCertifiedError("two uses need too many panels")
    else:
        raise NotCertifiedError("two uses need too narrow panels")
    used = whole > np.maximum(rule, log_target - math.log(2.0 * len(whole)) - 3.0)
    left_out = float(np.exp(whole[~used]).sum())
    if not used.any():
        return 0.0, 0.0, left_out * MARGIN
    value, above, error = integrate(pair, (centres[used], halves[used]))
    total = left_out + float(np.exp(rule[used]).sum()) + float(error.sum())
    total += UNIT * len(value) * float(np.abs(value).sum())
    return float(value.sum()), float(above.sum()), total * MARGIN
