"""What a Renyi curve proves of delta at many epsilons at once, each at one of the best orders.

Every order proves a bound at every epsilon, so that orders that were worked out once serve for all.
They begin with a grid; where it holds the best orders it is made finer, and near each best order
the minimum of a parabola is tried. That the best ones are found is not certified, what they prove
is. `order_search.py` finds them to the last digit, for one epsilon at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.renyi.order_search import GRID

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve

# Maps orders minus 1, K there and epsilons, of one shape, to certified log deltas.
ManyConversion: TypeAlias = Callable[["Array", "Array", "Array"], "Array"]

# Steps of the grid are divided by this where it holds a best order, by the second one where no
# minimum of a parabola is tried; of the finer ones those are left out whose rough bound is worse by
# so much, in logs.
FINER, FINEST, WORSE = 6, 24, 8.0
# Pairs of an order and an epsilon that are worked on at once.
CHUNK = 60_000
# What a positive delta below the range of doubles is raised to.
TINY = 1e-300


class ManyEpsilons:
    """Upper ends of log delta from one curve."""

    def __init__(self, curve: RenyiCurve, rough: ManyConversion, convert: ManyConversion) -> None:
        """Take the curve and two conversions.

        Args:
            curve: the curve.
            rough: a quick conversion, which says where good orders are.
            convert: the one to use, never above the rough one.
        """
        self._curve, self._rough, self._convert = curve, rough, convert
        self._c = np.union1d(GRID, np.array(curve.corners)) if curve.corners else GRID
        self._k = curve.upper(self._c)
        self._parts = FINER if curve.cheap else FINEST

    @np.errstate(all="ignore")
    def deltas(self, epsilons: Array) -> Array:
        """Return proved upper ends of the finite part of delta, shape (n,); at most 1.

        The exponential is off by 8 units.
        """
        logs = self.log_deltas(epsilons)
        found = np.maximum(np.exp(logs) * (1.0 + 12.0 * UNIT), TINY)
        return np.where(logs == -np.inf, 0.0, np.minimum(found, 1.0))

    @np.errstate(all="ignore")
    def log_deltas(self, epsilons: Array) -> Array:
        """Return proved upper ends of the log of the finite part of delta, shape (n,)."""
        rows = max(1, CHUNK // max(len(self._c), 1))
        parts = [self._part(epsilons[i : i + rows]) for i in range(0, len(epsilons), rows)]
        found = np.concatenate([*parts, np.zeros(0)])
        least: Array = np.minimum(np.minimum(found, self._at_infinity(epsilons)), 0.0)
        return least

    def _part(self, epsilons: Array) -> Array:
        values = self._values(epsilons)
        if self._refine(values.argmin(axis=1)):
            values = self._values(epsilons)
        best: Array = values.min(axis=1)
        if not self._curve.cheap:
            return best
        c = self._vertices(values)
        good = np.flatnonzero(np.isfinite(c))
        if len(good):
            k = self._curve.upper(c[good])
            new = self._convert(c[good], k, epsilons[good])
            best[good] = np.fmin(best[good], new)
        return best

    def _values(self, epsilons: Array) -> Array:
        """Return what the orders prove at each epsilon, shape (n, m); infinity for poor ones."""
        shape = (len(epsilons), len(self._c))
        c, k = (np.broadcast_to(each, shape) for each in (self._c, self._k))
        x = np.broadcast_to(epsilons[:, None], shape)
        rough = self._rough(c, k, x)
        if self._rough is self._convert:
            return np.where(np.isnan(rough), np.inf, rough)
        good = rough <= rough.min(axis=1, keepdims=True) + WORSE
        # The grid itself is looked at everywhere: near epsilon 0 the rough bound misleads.
        good |= np.isin(self._c, GRID) & np.isfinite(rough)
        values = np.full(shape, np.inf)
        values[good] = self._convert(c[good], k[good], x[good])
        return np.where(np.isnan(values), np.inf, values)

    def _refine(self, best: Array) -> bool:
        """Divide the steps of the grid about the best orders; say whether there were new ones."""
        places = np.unique(np.concatenate([best - 1, best]))
        places = places[(places >= 0) & (places < len(self._c) - 1)]
        starts = [int(i) for i in places if self._is_coarse(int(i))]
        if not starts:
            return False
        share = np.arange(1, self._parts) / self._parts
        new = np.concatenate([self._c[i] * (self._c[i + 1] / self._c[i]) ** share for i in starts])
        place = np.argsort(np.concatenate([self._c, new]), kind="stable")
        self._c, self._k = (
            np.concatenate([self._c, new])[place],
            np.concatenate([self._k, self._curve.upper(new)])[place],
        )
        return True

    def _is_coarse(self, start: int) -> bool:
        ratio = self._c[start + 1] / self._c[start]
        finite = self._k[start] < np.inf
        return bool(finite and ratio > (GRID[1] / GRID[0]) ** (1.5 / self._parts))

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
        value = np.log(-np.expm1(np.minimum(epsilons - limit, 0.0)))
        value = value + UNIT * (16.0 + 16.0 * np.abs(value))
        return np.where(epsilons >= limit, -np.inf, value)
