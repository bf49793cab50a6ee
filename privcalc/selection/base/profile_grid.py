"""Upper ends of the privacy profile of a base mechanism on a grid, and everything between.

For an ordered pair (P, Q) let H_s = sup over events A of P(A) - s Q(A). It is convex and
non-increasing in s, H_0 = 1, and

    H_s(P || Q) = 1 - s + s H_{1/s}(Q || P).

The profile is asked for s >= 1, and that of the reversed pair for 1 / s >= 1, so that both corners
of the testing region are resolved. A chord of a convex function lies above it: upper ends at
points prove one at every place between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.selection.base.pair import Base

# No threshold beyond e^+-LAST is asked for.
LAST = 690.0
# The first steps from log s = 0: this part of the total variation, then longer by a factor.
FIRST_STEP, GROWTH = 1e-2, 1.5
SMALLEST_STEP = 1e-12


class ProfileGrid:
    """Certified upper ends of H_s at finitely many s, those of the reversed pair included.

    Attributes:
        ahead: logs of s >= 1, increasing from 0, shape (n,).
        high: upper ends of H_s(P || Q) there, non-increasing.
        behind: logs of 1 / s >= 1, increasing from 0, shape (m,).
        back: upper ends of H_{1/s}(Q || P) there, non-increasing.
        depths: how small both profiles are beyond their last points (but one).
        asked: how many values were asked of the base.
    """

    def __init__(self, base: Base) -> None:
        """Ask for the total variation; `reach` and `add` ask for more."""
        self.base = base
        start = np.zeros(1)
        variation = min(1.0, float(base.upper(start)[0]), float(base.reverse.upper(start)[0]))
        self.ahead, self.high = _ended(base, start, np.full(1, variation))
        self.behind, self.back = _ended(base.reverse, start, np.full(1, variation))
        self.asked = 1
        self.frontiers = [0.0, 0.0]
        self.depths = (np.inf, np.inf)
        self._refresh()

    def reach(self, forward: float, backward: float) -> None:
        """Extend both sides in growing steps until the profiles are that small beyond.

        Beyond means: above the mass at infinity, which is all that is left behind the last point.
        """
        self.depths = (min(forward, self.depths[0]), min(backward, self.depths[1]))
        forward, backward = self.depths
        while True:
            steps = [
                _steps(self.frontiers[0], (self.ahead, self.high), self.base, forward),
                _steps(self.frontiers[1], (self.behind, self.back), self.base.reverse, backward),
            ]
            if not len(steps[0]) and not len(steps[1]):
                return
            self.add(*steps)
            for side in (0, 1):
                self.frontiers[side] = max([self.frontiers[side], *steps[side]])

    def add(self, ahead: Array, behind: Array) -> None:
        """Ask for the profiles at more places: logs of s >= 1, and of 1 / s >= 1."""
        base = self.base
        ahead = _new(ahead, self.ahead)
        behind = _new(behind, self.behind)
        if base.reverse is base:
            places = np.unique(np.concatenate([ahead, behind]))
            values = base.upper(places) if len(places) else places
            found = values[np.searchsorted(places, ahead)]
            back = values[np.searchsorted(places, behind)]
            self.asked += len(places)
        else:
            found = base.upper(ahead) if len(ahead) else ahead
            back = base.reverse.upper(behind) if len(behind) else behind
            self.asked += len(ahead) + len(behind)
        self.ahead, self.high = _merged(self.ahead, self.high, ahead, found)
        self.behind, self.back = _merged(self.behind, self.back, behind, back)
        self._refresh()

    def upper(self, logs: Array) -> Array:
        """Return upper ends of H_s(P || Q) at any log s, each of which may be off by two units.

        Between neighbours x < y of the grid the chord is H(y) + w (H(x) - H(y)), with
        w = (e^y - s) / (e^y - e^x). Differences of logs are off by one unit of themselves,
        which expm1 passes on times 1 + |difference| at most; where that is large w is 1 or is
        charged for it. As H falls, s is rounded down.
        """
        places = logs - 3.0 * UNIT * np.abs(logs)
        i = np.clip(np.searchsorted(self.logs, places, side="right") - 1, 0, len(self.logs) - 2)
        gap = places - self.logs[i + 1]
        weight = np.expm1(np.minimum(gap, 0.0)) / self._widths[i]
        weight *= 1.0 + UNIT * (24.0 + 4.0 * np.abs(self._gaps[i]))
        values: Array = self.values[i + 1] + np.clip(weight, 0.0, 1.0) * self._falls[i]
        values = np.where(places < self.logs[0], 1.0, values)
        result: Array = np.minimum(1.0, values * (1.0 + 4.0 * UNIT))
        return result

    def _refresh(self) -> None:
        """Join both sides into one grid in log s, as H_s = 1 - s + s H_{1/s}(Q || P) for s < 1.

        Both terms are positive; 1 - s and s are off by 8 units.
        """
        x = -self.behind[:0:-1]
        below = (-np.expm1(x) + np.exp(x) * self.back[:0:-1]) * (1.0 + 12.0 * UNIT)
        self.logs = np.concatenate([x, self.ahead])
        values = np.minimum(1.0, np.concatenate([below, self.high]))
        self.values = np.minimum.accumulate(values)
        if len(self.logs) == 1:
            self.logs = np.concatenate([self.logs, self.logs + 1.0])
            self.values = np.repeat(self.values, 2)
        self._gaps = np.diff(self.logs)
        self._widths = np.expm1(-self._gaps)
        self._falls = -np.diff(self.values)


def _steps(last: float, known: tuple[Array, Array], base: Base, small: float) -> Array:
    """Return some logs beyond the last one, or none if it is enough."""
    logs, values = known
    end = min(LAST, max(base.largest, 0.0))
    value = float(values[np.searchsorted(logs, last)])
    if last >= end or value - base.infinity_mass <= small:
        return np.zeros(0)
    first = max(SMALLEST_STEP, FIRST_STEP * float(values[0]))
    steps = max(last, first) * GROWTH ** np.arange(0.0 if last < first else 1.0, 9.0)
    steps = steps[steps < end]
    return steps if len(steps) else np.full(1, end)


def _new(places: Array, old: Array) -> Array:
    places = np.unique(places[(places > 0.0) & (places <= LAST)])
    fresh: Array = places[~np.isin(places, old)]
    return fresh


def _ended(base: Base, logs: Array, values: Array) -> tuple[Array, Array]:
    """Add the largest finite loss, at which the mass at infinity alone is left."""
    end = max(base.largest, 0.0)
    mass = min(1.0, base.infinity_mass)
    if end == 0.0:
        return logs, np.minimum(values, mass)
    if end > LAST:
        return logs, values
    return _merged(logs, values, np.full(1, end), np.full(1, mass))


def _merged(logs: Array, values: Array, places: Array, found: Array) -> tuple[Array, Array]:
    """Return both grids as one; where H fails to fall, an earlier upper end is one too."""
    joined = np.concatenate([logs, places])
    order = np.argsort(joined, kind="stable")
    both = np.concatenate([values, found])[order]
    return joined[order], np.minimum.accumulate(np.minimum(both, 1.0))
