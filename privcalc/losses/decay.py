"""Proved upper bounds on |phi(t)| = |M(c + it)| / M(c) for all t beyond a point.

phi is the characteristic function of the tilted loss. Two facts are combined.

Far out. If the tilted loss has atoms of total mass A and elsewhere a density of total variation V
(jumps at the ends included), then |phi(t)| <= A + V/t: integrate by parts once.

Between. g = |phi|^2 = E cos(t (L - L')) for two independent tilted losses, so g'' <= E (L - L')^2
= 2 K''. Hence on [t, t + d], g <= max(g(t), g(t) + g'(t) d + K'' d^2), a convex function of the
step that is largest at an end of it. Finitely many evaluations cover any bounded range; cells
whose bound is poor are halved. (Splitting changes nothing in the proof: left + step of a cell is
the left end of the next up to rounding, which the slack of `squared` covers.)
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from privcalc.losses.law import Array
from privcalc.numerics.rounding import MARGIN

# phi (modulus squared) and its derivative at many points, each to within `error` of the squares.
SquaredModulus = Callable[[Array], tuple[Array, Array]]

MAX_STEPS = 40_000
ROUNDS = 12


def far_point(atom_mass: float, variation: float, goal: float) -> float:
    """Return t beyond which A + V/t is at most `goal`, or as near to A as is worth the work."""
    room = max(goal - atom_mass, 0.02 * (1.0 - atom_mass), 1e-6)
    return variation / room


def supremum_by_steps(
    squared: SquaredModulus,
    *,
    variance: float,
    error: float,
    atom_mass: float,
    variation: float,
    start: float,
    stop: float,
    goal: float,
) -> float:
    """Bound sup |phi(t)| over t >= start by steps up to `stop` and by A + V/t beyond.

    Args:
        squared: g and g' of a law whose |phi| is within `error` of the one asked for on
            [start, stop]; that law itself has tilted variance at most `variance`.
        variance: K''(c) of that law, an upper bound.
        error: see `squared`.
        atom_mass: A.
        variation: V.
        start: where the bound is to begin.
        stop: where A + V/t takes over; it is moved in when too many steps would be needed.
        goal: the modulus one hopes for (it sets the step, and has no part in the proof).
    """
    deviation = math.sqrt(variance)
    longest = 0.7 * max(goal, 1e-2) / deviation if deviation > 0.0 else math.inf
    points = _grid(start, stop, longest)
    far = atom_mass + variation / points[-1]
    if len(points) == 1:
        return min(1.0, far * MARGIN)
    left, step = points[:-1], np.diff(points)
    settled = 0.0
    for _ in range(ROUNDS):
        g, slope = squared(left)
        cells = g + np.maximum(0.0, (slope + variance * step) * step)
        # What no refinement can undercut; cells within a tenth of it (in 1 - g) are good enough.
        floor = max(float(g.max()), settled, min(far, 1.0) ** 2, goal**2)
        enough = 1.0 - 0.9 * (1.0 - floor) if floor > 0.1 else 1.3 * floor
        coarse = cells > enough
        settled = max(settled, float(cells[~coarse].max(initial=0.0)))
        if not coarse.any():
            break
        worst = float(cells.max())
        if 2 * int(coarse.sum()) > MAX_STEPS:
            settled = worst
            break
        step = np.repeat(step[coarse] / 2.0, 2)
        left = np.repeat(left[coarse], 2)
        left[1::2] += step[1::2]
    else:
        settled = max(settled, worst)
    between = math.sqrt(settled) + error
    return min(1.0, max(between, far) * MARGIN)


def _grid(start: float, stop: float, longest: float) -> Array:
    """Return points from start to stop: geometric while short steps are needed, then uniform."""
    if stop <= start:
        return np.array([start])
    points = [start]
    while points[-1] < stop and 0.4 * points[-1] < longest:
        points.append(1.4 * points[-1])
    last = points[-1]
    if last >= stop:
        return np.array(points)
    count = min(math.ceil((stop - last) / longest), MAX_STEPS)
    return np.concatenate([np.array(points), last + longest * np.arange(1, count + 1)])
