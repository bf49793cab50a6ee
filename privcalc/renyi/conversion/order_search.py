"""The best order of a Renyi curve for one conversion, among all real orders above 1.

Curves are often minima of several bounds, or known at a few orders only: they have kinks, and the
objective has several local minima. So a grid comes first, then each of the best local minima is
narrowed down. The search uses estimates; only what is certified afterwards is returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.numerics.work import charge, left
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve

# Orders minus 1 of the grid: steps of a factor 1.33.
FIRST, LAST = -20.0, 21.0
GRID: Array = 2.0 ** np.linspace(FIRST, LAST, 100)
# The first step from order 2, as a power of 2, where the curve is convex.
START = 2.0
# Points on each side of a minimum, and how often they are narrowed; at first around two minima.
SIDE, NARROWINGS = 8, 6
# The same where there is one minimum only, and an estimate may cost a millisecond.
NEAR, NEARER = 2, 10
# Where a parabola foretells its own minimum so well, relatively, it is at the minimum to about the
# power 4/3 of this: its error is of third order in the width, that of the minimum of fourth.
FORETOLD = 1e-9

# So many orders of the grid are tried where each may cost a millisecond.
FEW = 25
# Orders minus 1 that only bounds without tangents can make use of.
NEAR_ONE = (2.0**-40, 2.0**-30)

MOST_CORNERS = 200
# Work for each of them, beside that of the estimates.
PER_NARROWING = 1e4

# Maps orders minus 1 and K there to certified epsilons or log deltas.
Conversion: TypeAlias = Callable[["Array", "Array"], "Array"]


@record
class Search:
    """The estimates that a search has made, for other searches on the same curve.

    Attributes:
        c: orders minus 1, increasing.
        k: estimates of K there.
        value: the least certified value; infinity if there is none.
        order_less_one: the c at which it is attained.
    """

    c: Array
    k: Array
    value: float
    order_less_one: float

    @property
    def order(self) -> float:
        """Return the order of the least certified value."""
        return self.order_less_one + 1.0


def search(curve: RenyiCurve, convert: Conversion, *, together: bool = False) -> Search:
    """Minimise convert(c, K(c)) over c and certify the minimum.

    About 200 estimates, or 30 of a convex curve, and certified bounds at 8 orders; at 20 more if
    none of these has one.

    Args:
        curve: the curve.
        convert: what to minimise.
        together: whether orders are used together, so that corners alone may say everything.
    """
    if together and curve.piecewise:
        c = np.array(curve.corners)
        if not c.size:
            return Search(c, c, math.inf, math.inf)
        return Search(c, curve.upper(c), *_certified(curve, convert, c))
    if curve.convex:
        c, k, values = _descent(curve, convert)
    else:
        c = grid(curve)
        k = estimates(curve, c)
        values = _values(convert, c, k)
    side, narrowings = (NEAR, NEARER) if curve.convex else (SIDE, NARROWINGS)
    for narrowing in range(narrowings):
        if left() <= 0.0:
            break
        charge(PER_NARROWING)
        vertex, foretold = _parabola(c, values)
        new = between(c, values, 1 if narrowing or curve.convex else 2, side)
        new = np.unique(np.append(new, vertex[np.isfinite(vertex)]))
        new = new[~np.isin(new, c)]
        if not new.size:
            break
        new_k = estimates(curve, new)
        new_values = _values(convert, new, new_k)
        place = np.argsort(np.concatenate([c, new]), kind="stable")
        c = np.concatenate([c, new])[place]
        k = np.concatenate([k, new_k])[place]
        values = np.concatenate([values, new_values])[place]
        found = new_values[new == vertex]
        if found.size and abs(found[0] - foretold) <= FORETOLD * (1e-3 + abs(foretold)):
            break
    value, best = _certified(curve, convert, _candidates(c, values))
    if not value < math.inf:
        # The estimates did not say where a bound can be proved.
        value, best = _certified(curve, convert, GRID[::5])
    return Search(c, k, value, best)


def estimates(curve: RenyiCurve, c: Array) -> Array:
    """Return estimates of K; infinity where there is none."""
    k = curve.estimate(c)
    return np.where(np.isnan(k), np.inf, k)


def _values(convert: Conversion, c: Array, k: Array) -> Array:
    values = convert(c, k)
    return np.where(np.isnan(values), np.inf, values)


def grid(curve: RenyiCurve) -> Array:
    """Return the grid with the corners of a curve; of many, some that are evenly spread."""
    corners = np.array(curve.corners)
    thinned = corners[:: 1 + len(corners) // MOST_CORNERS]
    return np.union1d(GRID, thinned[thinned > 0.0])


def wide_grid(curve: RenyiCurve) -> Array:
    """Return the grid, coarse where orders are expensive, and orders that are as good as 1."""
    fine = grid(curve)
    return np.union1d(fine if curve.cheap else fine[:: 1 + len(fine) // FEW], NEAR_ONE)


def _descent(curve: RenyiCurve, convert: Conversion) -> tuple[Array, Array, Array]:
    """Return orders minus 1 around the minimum, estimates of K and values there.

    (K(c) + convex(c)) / c falls and then rises where K is convex, so steps from 1 that grow lead
    to either side of the minimum. Where K is infinite the minimum lies to the left.
    """
    found: dict[float, tuple[float, float]] = {}

    def value(place: float) -> float:
        c = np.array([2.0**place])
        k = estimates(curve, c)
        found[place] = float(k[0]), float(_values(convert, c, k)[0])
        return found[place][1]

    here, left = value(0.0), value(-START)
    down = left < here or here == math.inf
    place, best, step = (-START, left, -START) if down else (0.0, here, START)
    while FIRST < place < LAST:
        place = min(max(place + step, FIRST), LAST)
        new = value(place)
        if new >= best < math.inf:
            break
        best, step = new, step * 1.5
    places = sorted(found)
    k, values = np.array([found[each] for each in places]).T
    return 2.0 ** np.array(places), k, values


def between(c: Array, values: Array, wanted: int, side: int) -> Array:
    """Return new points around the best local minima, evenly spread over the logarithm.

    Each neighbouring interval is divided into `side` + 1, so that the bracket shrinks by as much.
    """
    padded = np.concatenate([[np.inf], values, [np.inf]])
    local = (values <= padded[:-2]) & (values <= padded[2:]) & (values < np.inf)
    places = np.flatnonzero(local)
    places = places[np.argsort(values[places], kind="stable")][:wanted]
    fractions = np.arange(1, side + 1) / (side + 1.0)
    new = []
    for place in places:
        if place > 0:
            new.append(c[place - 1] * (c[place] / c[place - 1]) ** fractions)
        if place + 1 < len(c):
            new.append(c[place] * (c[place + 1] / c[place]) ** fractions)
    return np.concatenate(new) if new else np.empty(0)


def _parabola(c: Array, values: Array) -> tuple[Array, float]:
    """Return the minimum of the parabola through the best three points, and the value foretold.

    The parabola is in log c. An array of one number; nan where there is no such minimum.
    """
    place = int(np.argmin(values))
    nothing = np.array([np.nan]), math.nan
    if place in {0, len(c) - 1}:
        return nothing
    left, middle, right = (float(each) for each in values[place - 1 : place + 2])
    if not max(left, right) < math.inf:
        return nothing
    down = math.log(c[place] / c[place - 1])
    up = math.log(c[place + 1] / c[place])
    fall, rise = (left - middle) / down, (right - middle) / up
    curvature = (fall + rise) / (down + up)
    slope = (rise * down - fall * up) / (down + up)
    if not curvature > 0.0:
        return nothing
    move = -0.5 * slope / curvature
    return np.array([c[place] * math.exp(move)]), middle + 0.5 * slope * move


def _candidates(c: Array, values: Array) -> Array:
    """Return the best orders minus 1, and round orders near the best.

    Curves that are given at single orders have their kinks at round ones.
    """
    ranking = np.argsort(values, kind="stable")
    best = float(c[ranking[0]])
    points = [best, float(c[ranking[1]])]
    on_grid = np.isin(c, GRID)
    if on_grid.any():
        points.append(float(c[on_grid][np.argmin(values[on_grid])]))
    points += [math.floor(best), math.ceil(best)]
    points += [round(best, digits) for digits in (1, 2, 3)]
    return np.unique([point for point in points if point > 0.0])


def _certified(curve: RenyiCurve, convert: Conversion, c: Array) -> tuple[float, float]:
    values = _values(convert, c, curve.upper(c))
    place = int(np.argmin(values))
    return float(values[place]), float(c[place])
