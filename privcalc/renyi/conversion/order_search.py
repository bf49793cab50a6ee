"""The best order of a Renyi curve for one conversion, among all real orders above 1.

Curves are often minima of several bounds, or known at a few orders only: they have kinks, and the
objective has several local minima. So a grid comes first, then each of the best local minima is
narrowed down.

`ManyEpsilons` does the same for many epsilons at once. Every order proves a bound at every epsilon,
so that orders that were evaluated once serve for all. They begin with a grid, of which the best are
found at some epsilons; between those the best orders lie between theirs, about. There the grid is
made finer, and near each best order the minimum of a parabola is tried. That the best ones are
found is not certified, what they prove is. `search` finds them to the last digit, for one epsilon
at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.numerics.enclosure import Enclosure, exp, log1mexp
from privcalc.numerics.work import OutOfWorkError, left, spend
from privcalc.record import record, replace

if TYPE_CHECKING:
    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array, Integers, Mask

# Orders minus 1 of the grid: steps of a factor 1.33.
FIRST, LAST = -20.0, 21.0
GRID: Array = 2.0 ** np.linspace(FIRST, LAST, 100)
# The first step from order 2, as a power of 2, where the curve is convex.
START = 2.0
# Points on each side of a minimum, and how often they are narrowed; at first around two minima.
SIDE, NARROWINGS = 8, 6
# The same where there is one minimum only, and an order may cost a millisecond.
NEAR, NEARER = 2, 10
# Orders minus 1 that come first, larger ones only if need be. Sums over whole orders are exact
# there: of those each up to 8, then steps of a factor 1.4.
ROUGH = (
    np.unique(np.append(2.0 ** np.arange(-20.0, 0.0), np.floor(2.0 ** np.arange(0.0, 7.0, 1 / 3)))),
    np.floor(2.0 ** np.arange(7.0, 12.0, 0.5)),
    2.0 ** np.arange(12.0, 21.0, 2.0),
)
# The first step from the best of them, as a power of 2: they are less than half of it apart.
SHORT = 0.5
# What of the work left a whole grid may take, and how far orders are looked for otherwise, in logs.
GRID_PART, AROUND = 0.5, 1.5
# Where a parabola foretells its own minimum so well, relatively, it is at the minimum to about the
# power 4/3 of this: its error is of third order in the width, that of the minimum of fourth.
FORETOLD = 1e-9

# So many orders of the grid are tried where each may cost a millisecond.
FEW = 25
# Orders minus 1 that only bounds without tangents can make use of.
NEAR_ONE = (2.0**-40, 2.0**-30)

MOST_CORNERS = 200
# Work for each of them, in addition to that of the orders.
PER_NARROWING = 1e4

# Maps orders minus 1 and K there to certified epsilons or log deltas.
Conversion: TypeAlias = Callable[["Array", "Array"], "Array"]


@record
class Search:
    """What a search has asked, for other searches on the same curve.

    Attributes:
        c: orders minus 1, increasing.
        k: K there.
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

    About 200 orders, or 30 of a convex curve. Of another where an order takes much fixed orders
    come first, from the best of which the search goes on for as long as there is work left.

    Args:
        curve: the curve.
        convert: what to minimise.
        together: whether orders are used together, so that corners alone may say everything.
    """
    if together and curve.piecewise:
        c = np.array(curve.corners)
        if not c.size:
            return Search(c, c, math.inf, math.inf)
        return Search(c, curve.upper(c), *_least(curve, convert, c))
    if curve.cheap or curve.convex:
        return _searched(curve, convert, None)
    first = _at_fixed(curve, convert)
    if first.value < math.inf and not left() > 0.0:
        return first
    try:
        found = _searched(curve, convert, first if first.value < math.inf else None)
    except OutOfWorkError:
        if first.value < math.inf:
            return first
        raise
    return found if found.value <= first.value else replace(first, c=found.c, k=found.k)


def _at_fixed(curve: RenyiCurve, convert: Conversion) -> Search:
    """Return the best of fixed orders; larger ones where the largest is best."""
    c, k, values = np.empty(0), np.empty(0), np.empty(0)
    for part in ROUGH:
        try:
            new = curve.upper(part)
            found = _values(convert, part, new)
        except OutOfWorkError:
            break
        c, k, values = np.append(c, part), np.append(k, new), np.append(values, found)
        if np.isfinite(values).any() and int(np.argmin(values)) < len(c) - 1:
            break
    if not (values < math.inf).any():
        return Search(c, k, math.inf, math.inf)
    position = int(np.argmin(values))
    return Search(c, k, float(values[position]), float(c[position]))


def _searched(curve: RenyiCurve, convert: Conversion, first: Search | None) -> Search:
    """Return the best order, beginning near the best that is known."""
    if curve.convex:
        c, k, values = _descent(curve, convert, first)
    else:
        c, k, values = _on_grid(curve, convert, first)
    side, narrowings = (NEAR, NEARER) if curve.convex else (SIDE, NARROWINGS)
    for narrowing in range(narrowings):
        if left() <= 0.0:
            break
        spend(PER_NARROWING)
        vertex, foretold = _parabola(c, values)
        new = between(c, values, 1 if narrowing or curve.convex else 2, side)
        new = np.unique(np.append(new, vertex[np.isfinite(vertex)]))
        new = new[~np.isin(new, c)]
        if not new.size:
            break
        new_k = bounds(curve, new)
        new_values = _values(convert, new, new_k)
        position = np.argsort(np.concatenate([c, new]), kind="stable")
        c = np.concatenate([c, new])[position]
        k = np.concatenate([k, new_k])[position]
        values = np.concatenate([values, new_values])[position]
        found = new_values[new == vertex]
        if found.size and abs(found[0] - foretold) <= FORETOLD * (1e-3 + abs(foretold)):
            break
    place = int(np.argmin(values))
    value, best = min((float(values[place]), float(c[place])), _at_round(curve, convert, c[place]))
    return Search(c, k, value, best)


def _on_grid(
    curve: RenyiCurve, convert: Conversion, first: Search | None
) -> tuple[Array, Array, Array]:
    """Return the orders minus 1 of the grid, K and values there.

    Where the whole grid would take more than a part of the work that is left, only its orders
    around the best that is known.
    """
    c = grid(curve)
    if first is not None:
        before = left()
        bounds(curve, np.array([first.order_less_one]))
        if (before - left()) * len(c) > GRID_PART * left():
            c = c[np.abs(np.log(c / first.order_less_one)) < AROUND]
            c = np.union1d(c, first.order_less_one)
    k = bounds(curve, c)
    return c, k, _values(convert, c, k)


def bounds(curve: RenyiCurve, c: Array) -> Array:
    """Return bounds on K; infinity where there is none."""
    k = curve.upper(c)
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


def _descent(
    curve: RenyiCurve, convert: Conversion, first: Search | None
) -> tuple[Array, Array, Array]:
    """Return orders minus 1 around the minimum, K and values there.

    (K(c) + convex(c)) / c falls and then rises where K is convex, so steps that grow lead from
    anywhere to either side of the minimum: from 1, or from the best that is known. Where K
    is infinite the minimum lies to the left.
    """
    found: dict[float, tuple[float, float]] = {}

    def value(position: float) -> float:
        c = np.array([2.0**position])
        k = bounds(curve, c)
        found[position] = float(k[0]), float(_values(convert, c, k)[0])
        return found[position][1]

    origin, step = (0.0, START) if first is None else (math.log2(first.order_less_one), SHORT)
    here, before = value(origin), value(origin - step)
    down = before < here or here == math.inf
    position, best, step = (origin - step, before, -step) if down else (origin, here, step)
    while FIRST < position < LAST and (first is None or left() > 0.0):
        position = min(max(position + step, FIRST), LAST)
        new = value(position)
        if new >= best < math.inf:
            break
        best, step = new, step * 1.5
    positions = sorted(found)
    k, values = np.array([found[each] for each in positions]).T
    return 2.0 ** np.array(positions), k, values


def between(c: Array, values: Array, wanted: int, side: int) -> Array:
    """Return new points around the best local minima, evenly spread over the logarithm.

    Each neighbouring interval is divided into `side` + 1, so that the bracket shrinks by as much.
    """
    padded = np.concatenate([[np.inf], values, [np.inf]])
    local = (values <= padded[:-2]) & (values <= padded[2:]) & (values < np.inf)
    positions = np.flatnonzero(local)
    positions = positions[np.argsort(values[positions], kind="stable")][:wanted]
    fractions = np.arange(1, side + 1) / (side + 1.0)
    new = []
    for position in positions:
        if position > 0:
            new.append(c[position - 1] * (c[position] / c[position - 1]) ** fractions)
        if position + 1 < len(c):
            new.append(c[position] * (c[position + 1] / c[position]) ** fractions)
    return np.concatenate(new) if new else np.empty(0)


def _parabola(c: Array, values: Array) -> tuple[Array, float]:
    """Return the minimum of the parabola through the best three points, and the value foretold.

    The parabola is in log c. An array of one number; nan where there is no such minimum.
    """
    position = int(np.argmin(values))
    nothing = np.array([np.nan]), math.nan
    if position in {0, len(c) - 1}:
        return nothing
    left, middle, right = (float(each) for each in values[position - 1 : position + 2])
    if not max(left, right) < math.inf:
        return nothing
    down = math.log(c[position] / c[position - 1])
    up = math.log(c[position + 1] / c[position])
    fall, rise = (left - middle) / down, (right - middle) / up
    curvature = (fall + rise) / (down + up)
    slope = (rise * down - fall * up) / (down + up)
    if not curvature > 0.0:
        return nothing
    move = -0.5 * slope / curvature
    return np.array([c[position] * math.exp(move)]), middle + 0.5 * slope * move


def _at_round(curve: RenyiCurve, convert: Conversion, best: float) -> tuple[float, float]:
    """Return the least value at round orders next to the best, and its order minus 1.

    Curves that are given at single orders have their kinks there.
    """
    places = math.floor(best), math.ceil(best), *(round(best, digits) for digits in (1, 2, 3))
    return _least(curve, convert, np.array([c for c in set(places) if c > 0.0]))


def _least(curve: RenyiCurve, convert: Conversion, c: Array) -> tuple[float, float]:
    values = _values(convert, c, bounds(curve, c))
    position = int(np.argmin(values))
    return float(values[position]), float(c[position])


# Maps orders minus 1, K there and epsilons, of one shape, to certified log deltas.
ManyConversion: TypeAlias = Callable[["Array", "Array", "Array"], "Array"]

# Of so many epsilons one is looked at with the whole grid; for the others so many steps of the grid
# beyond the best of its neighbours are.
STRIDE, MORE = 8, 1.5
# Steps of the grid are divided by this where it holds a best order.
FINER = 6
STEP = float(GRID[1] / GRID[0])
# Epsilons that are worked on at once.
CHUNK = 256
# What a positive delta below the range of doubles is raised to.
TINY = 1e-300


class ManyEpsilons:
    """Upper ends of delta from one curve."""

    def __init__(self, curve: RenyiCurve, convert: ManyConversion) -> None:
        """Take the curve and a conversion that goes element by element."""
        self._curve, self._convert = curve, convert
        corners = np.array(curve.corners)
        self._c = np.union1d(GRID, corners[corners > 0.0]) if len(corners) else GRID
        self._k = curve.upper(self._c)
        self._grid = self._c

    @np.errstate(all="ignore")
    def deltas(self, epsilons: Array) -> Array:
        """Return proved upper ends of the finite part of delta, shape (n,); at most 1."""
        logs = self.log_deltas(epsilons)
        deltas = np.clip(exp(logs).upper(), TINY, 1.0)
        return np.where(logs == -np.inf, 0.0, deltas)

    @np.errstate(all="ignore")
    def log_deltas(self, epsilons: Array) -> Array:
        """Return proved upper ends of the log of the finite part of delta, shape (n,)."""
        order = np.argsort(epsilons)
        found = np.empty(len(epsilons))
        for i in range(0, len(order), CHUNK):
            found[order[i : i + CHUNK]] = self._part(epsilons[order[i : i + CHUNK]])
        least: Array = np.minimum(np.minimum(found, self._at_infinity(epsilons)), 0.0)
        return least

    def _part(self, epsilons: Array) -> Array:
        """Return what the best orders prove at increasing epsilons."""
        some = np.unique(np.append(np.arange(0, len(epsilons), STRIDE), len(epsilons) - 1))
        on_grid = np.isin(self._c, self._grid)
        values = self._values(epsilons[some], np.broadcast_to(on_grid, (len(some), len(self._c))))
        anchors, at_anchors = self._c[values.argmin(axis=1)], values.min(axis=1)
        after = np.minimum(np.searchsorted(some, np.arange(len(epsilons))), len(some) - 1)
        before = np.maximum(after - 1, 0)
        low = np.minimum(anchors[before], anchors[after]) / STEP**MORE
        high = np.maximum(anchors[before], anchors[after]) * STEP**MORE
        self._refine(float(low.min()), float(high.max()))
        near: Mask = (self._c >= low[:, None]) & (self._c <= high[:, None])
        values = self._values(epsilons, near)
        best: Array = values.min(axis=1)
        best[some] = np.fmin(best[some], at_anchors)
        c = self._vertices(values)
        good = np.flatnonzero(np.isfinite(c))
        if len(good):
            new = self._convert(c[good], self._curve.upper(c[good]), epsilons[good])
            best[good] = np.fmin(best[good], new)
        return best

    def _values(self, epsilons: Array, wanted: Mask) -> Array:
        """Return what orders prove at each epsilon, shape (n, m); infinity where not wanted."""
        shape = (len(epsilons), len(self._c))
        rows, columns = np.nonzero(np.broadcast_to(wanted, shape) & (self._k < np.inf))
        values = np.full(shape, np.inf)
        found = self._convert(self._c[columns], self._k[columns], epsilons[rows])
        values[rows, columns] = np.where(np.isnan(found), np.inf, found)
        return values

    def _refine(self, low: float, high: float) -> None:
        """Divide the steps of the grid in a range of orders, where it has not been done."""
        starts = self._coarse(low, high)
        if not len(starts):
            return
        share = np.arange(1, FINER) / FINER
        ratio = self._c[starts + 1] / self._c[starts]
        new = (self._c[starts, None] * ratio[:, None] ** share).ravel()
        joined = np.concatenate([self._c, new])
        order = np.argsort(joined, kind="stable")
        self._c = joined[order]
        self._k = np.concatenate([self._k, self._curve.upper(new)])[order]

    def _coarse(self, low: float, high: float) -> Integers:
        """Return where steps begin that are to be divided."""
        coarse = self._c[1:] / self._c[:-1] > STEP ** (1.5 / FINER)
        inside = (self._c[1:] > low) & (self._c[:-1] < high) & (self._k[:-1] < np.inf)
        return np.flatnonzero(coarse & inside)

    def _vertices(self, values: Array) -> Array:
        """Return the minima of parabolas in log c through the best order and both neighbours."""
        best = np.clip(values.argmin(axis=1), 1, len(self._c) - 2)
        rows = np.arange(len(best))
        left, middle, right = (values[rows, best + step] for step in (-1, 0, 1))
        logs = np.log(self._c)
        down, up = logs[best] - logs[best - 1], logs[best + 1] - logs[best]
        fall, rise = (left - middle) / down, (right - middle) / up
        curvature = (fall + rise) / (down + up)
        move = -0.5 * (rise * down - fall * up) / (down + up) / curvature
        inside = (curvature > 0.0) & (move > -down) & (move < up)
        return np.where(inside, np.exp(logs[best] + move), np.nan)

    def _at_infinity(self, epsilons: Array) -> Array:
        """Return log(1 - e^{epsilon - limit}), rounded up; see `log_delta_at_infinity`."""
        limit = self._curve.limit
        if limit == np.inf:
            return np.full(len(epsilons), np.inf)
        return np.where(epsilons >= limit, -np.inf, log1mexp(Enclosure(limit) - epsilons).upper())
