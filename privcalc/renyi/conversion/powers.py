"""The power of tests that all orders of a Renyi curve allow, in both orders of the neighbours.

At a type I error q each order and either side allows a power by itself (`boundary.py`); the
least of them holds. Whatever order is tried is proved, so that the search for the best needs no
certificate: a grid, then the neighbourhood of the best of it for each q and either side.

Between the known orders of a curve that is known at some only, K is linear. K of the pair (p, q)
is convex and at most the curve's at both ends, so that the orders between add nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.work import left
from privcalc.renyi.conversion.boundary import Powers, Sides, largest_powers, powers
from privcalc.renyi.conversion.order_search import wide_grid

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve

# The best order is searched for at so many type I errors at most; others interpolate.
MOST_SEARCHED = 128
# Orders between, and how often they are narrowed; then one step to the vertex of a parabola.
BETWEEN, NARROWINGS = 5, 3
# log y is looked for so far below and above that of the best order of the grid.
ROOM = 1.0, 0.5
# The same where orders are expensive: all type I errors share them.
SHARED_NARROWINGS, MOST_SHARED = 6, 16


@np.errstate(all="ignore")
def allowed_powers(
    curve: RenyiCurve, reverse: RenyiCurve | None, q: Array, infinite_mass: float = 0.0
) -> Powers:
    """Bound the power of tests of the finite losses, at type I errors q in (0, 1), increasing.

    Args:
        curve: bounds D(P||Q).
        reverse: bounds D(Q||P); None where that is not known.
        q: type I errors.
        infinite_mass: upper bound on P(L = infinity), which the curve leaves out. Where it is
            above 0, the reverse curve is not used.
    """
    curves = [curve] if reverse is None or infinite_mass > 0.0 else [curve, reverse]
    best = np.full(len(q), np.inf)
    for place, each in enumerate(curves):
        side = _Side(each, infinite_mass, back=place == 1)
        best = np.minimum(best, side.least(q))
    return powers(best, q, infinite_mass)


class _Side:
    """One order of the neighbours: its curve, and the orders that are tried."""

    def __init__(self, curve: RenyiCurve, infinite_mass: float, *, back: bool) -> None:
        self._curve, self._back, self._mass = curve, back, infinite_mass

    def least(self, q: Array) -> Array:
        """Return the least log y that any order allows."""
        if self._curve.piecewise:
            c = np.append(self._curve.corners, np.inf)
            return _less(np.full(len(q), np.inf), self._solved(c[:, None], q))
        found: Array = self._solved(np.array([[np.inf]]), q)[0]
        some = np.unique(np.linspace(0, len(q) - 1, MOST_SEARCHED).astype(int))
        if not self._curve.cheap:
            c = self._shared(q[some])
            return _less(found, self._solved(c[:, None], q))
        values, logs = self._searched(q[some])
        found[some] = np.minimum(found[some], values)
        if len(some) < len(q):
            place = np.searchsorted(some, np.arange(len(q)))
            middle = np.interp(q, q[some], logs)
            orders = np.exp([logs[np.maximum(place - 1, 0)], middle, logs[place]])
            found = _less(found, self._solved(orders, q))
        return found

    def _solved(self, c: Array, q: Array, near: Array | None = None) -> Array:
        """Return log y for orders, of shape (n, 1) or (n, len(q)), at each q; `near` about best."""
        flat = c.ravel()
        finite = np.where(np.isfinite(flat), flat, 1.0)
        k = np.where(np.isfinite(flat), self._curve.upper(finite), self._curve.limit)
        sides = Sides(c, k.reshape(c.shape), np.full(c.shape, self._back), self._mass)
        if near is None:
            return largest_powers(sides, q)
        return largest_powers(sides, q, near - ROOM[0], near + ROOM[1])

    def _searched(self, q: Array) -> tuple[Array, Array]:
        """Return the least log y at each q, and the log of c that allows it."""
        c = wide_grid(self._curve)
        values = self._solved(c[:, None], q)
        place, columns = np.argmin(values, axis=0), np.arange(len(q))
        best = values.min(axis=0)
        near = np.where(np.isfinite(best), best, 0.0)
        logs = np.log(c)
        at = logs[place]
        low, high = logs[np.maximum(place - 1, 0)], logs[np.minimum(place + 1, len(c) - 1)]
        shares = np.linspace(0.0, 1.0, BETWEEN + 2)[:, None]
        move: Array = np.zeros(len(q))
        for narrowing in range(NARROWINGS + 1):
            if not left() > 0.0:
                break
            tried = low + shares * (high - low)
            if narrowing == NARROWINGS:
                tried = (0.5 * (low + high) + move * (high - low))[None]
            values = self._solved(np.exp(tried), q, near)
            lowest = np.argmin(values, axis=0)
            better = values[lowest, columns] < best
            best = np.where(better, values[lowest, columns], best)
            at = np.where(better, tried[lowest, columns], at)
            if narrowing < NARROWINGS:
                middle = np.clip(lowest, 1, BETWEEN)
                low, high = tried[middle - 1, columns], tried[middle + 1, columns]
                fall, rise = (
                    values[middle + k, columns] - values[middle, columns] for k in (-1, 1)
                )
                move = np.nan_to_num(np.clip(0.25 * (fall - rise) / (fall + rise), -0.5, 0.5))
        return best, at

    def _shared(self, q: Array) -> Array:
        """Return the orders that are best for some q, of the grid and around them."""
        c = wide_grid(self._curve)
        values = self._solved(c[:, None], q)
        for _ in range(SHARED_NARROWINGS):
            if not left() > 0.0:
                break
            best = np.unique(np.argmin(values, axis=0))[:MOST_SHARED]
            logs = np.log(c)
            inner = best[(best > 0) & (best < len(c) - 1)]
            near = [0.5 * (logs[inner] + logs[inner + step]) for step in (-1, 1)]
            new = np.setdiff1d(np.exp(np.concatenate(near)), c)
            place = np.argsort(np.append(c, new), kind="stable")
            values = np.concatenate([values, self._solved(new[:, None], q)])[place]
            c = np.append(c, new)[place]
        kept: Array = c[np.unique(np.argmin(values, axis=0))]
        return kept


def _less(found: Array, values: Array) -> Array:
    """Return the least of what was found and of each row."""
    least: Array = np.minimum(found, values.min(axis=0, initial=np.inf))
    return least
