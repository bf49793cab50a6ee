"""What a Renyi curve proves of delta at many epsilons at once, each at one of the best orders.

Every order proves a bound at every epsilon, so that orders that were worked out once serve for all.
They begin with a grid, of which the best are found at some epsilons; between those the best orders
lie between theirs, about. There the grid is made finer, and near each best order the minimum of a
parabola is tried. That the best ones are found is not certified, what they prove is.
`renyi/conversion/order_search.py` finds them to the last digit, for one epsilon at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.numerics.enclosure import Enclosure, exp, log1mexp
from privcalc.renyi.conversion.order_search import GRID

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers, Mask
    from privcalc.renyi.curve import RenyiCurve

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
