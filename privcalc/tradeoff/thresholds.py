"""Where the most powerful tests cut: thresholds of the privacy loss, without any certificate.

The most powerful test of a type I error alpha rejects where the loss exceeds epsilon with
Q(L > epsilon) = alpha. From the other end, for the reverse pair, P(L > epsilon) is 1 - alpha. Both
come from delta and its slope: P(L > e) = delta - delta'(e), Q(L > e) = -e^{-e} delta'(e).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from scipy.interpolate import PchipInterpolator

    from privcalc.numerics.arrays import Array
    from privcalc.tradeoff.ordered_pair import Profile

Mass = Literal["q", "p"]
# Epsilons asked for together, over so many standard deviations of the loss.
CHUNK, CHUNK_DEVIATIONS = 25, 3.0
GROWTH = 1.5
SMALLEST_DEVIATION = 1e-9
MOST_CHUNKS = 60
# Epsilons tried before the search is refined, and rounds of that.
GRID = 65
ROUNDS = 62
SECANTS = 12
SMALLEST = 1e-15
# How near a mass has to come to its target, relatively.
NEAR = 1e-10
LARGEST_EPSILON = 700.0
# Points of a table, where there is nothing to interpolate with but delta itself.
TABLE = 48


class Thresholds:
    """Finds thresholds of one profile."""

    def __init__(self, profile: Profile) -> None:
        """Take the profile; what it has to be asked for is asked at the first question."""
        self._profile = profile
        self._table: PchipInterpolator | None = None
        self._reach = 0.0

    @property
    def largest(self) -> float:
        """Return the largest finite loss, or a bound that it stays below."""
        return self._profile.largest

    @property
    def reach(self) -> float:
        """Return the largest epsilon that was of interest."""
        return self._reach

    def find(self, mass: Mass, targets: Array) -> Array:
        """Return epsilons >= 0 at which a mass crosses the targets; 0 where it never exceeds them.

        Args:
            mass: q for Q(L > epsilon), p for P(L > epsilon), infinite losses included.
            targets: in (0, 1), shape (n,).
        """
        if not len(targets):
            return np.zeros(0)
        self._cover(mass, float(targets.min()))
        grid = np.linspace(0.0, self._reach, GRID)
        values = self._mass(mass, grid)
        falling = np.minimum.accumulate(values)
        index = len(grid) - np.searchsorted(falling[::-1], targets, side="left")
        low = grid[np.clip(index - 1, 0, GRID - 1)]
        high = grid[np.clip(index, 0, GRID - 1)]
        start = falling[np.clip(index - 1, 0, GRID - 1)], falling[np.clip(index, 0, GRID - 1)]
        found = self._refined(mass, targets, (low, high), start)
        return np.where(index == 0, 0.0, found)

    def _refined(
        self, mass: Mass, targets: Array, ends: tuple[Array, Array], values: tuple[Array, Array]
    ) -> Array:
        """Close in on the crossings: by false position in logs, and by halving at a jump."""
        low, high = ends[0].copy(), ends[1].copy()
        goals = np.log(targets)
        above, below = (np.log(np.maximum(value, 1e-320)) for value in values)
        best = 0.5 * (low + high)
        open_ = np.flatnonzero(high > low)
        for trial in range(ROUNDS):
            if not len(open_):
                break
            left, right, goal = low[open_], high[open_], goals[open_]
            middle = 0.5 * (left + right)
            if trial < SECANTS and trial % 3 < 2:
                rise = above[open_] - below[open_]
                share = np.where(rise > 0.0, (above[open_] - goal) / np.maximum(rise, 1e-300), 0.5)
                inside = left + np.clip(share, 0.0, 1.0) * (right - left)
                nudge = 1e-9 * (right - left)
                middle = np.clip(inside, left + nudge, right - nudge)
            value = np.log(np.maximum(self._mass(mass, middle), 1e-320))
            best[open_] = middle
            over = value > goal
            low[open_] = np.where(over, middle, left)
            above[open_] = np.where(over, value, above[open_])
            high[open_] = np.where(over, right, middle)
            below[open_] = np.where(over, below[open_], value)
            wide = high[open_] - low[open_] > SMALLEST * np.maximum(1.0, high[open_])
            open_ = open_[(np.abs(value - goal) > NEAR) & wide]
        return best

    def masses(self, epsilons: Array) -> tuple[Array, Array]:
        """Return delta, with infinite losses, and P(L > epsilon), in any order of epsilons."""
        order = np.argsort(epsilons)
        deltas, above = np.empty(len(epsilons)), np.empty(len(epsilons))
        asked = epsilons[order]
        found = None if self._table is not None else self._profile.upper.estimates(asked)
        if found is None:
            found = self._tabled(asked)
        mass = self._profile.mass.upper
        deltas[order], above[order] = found[0] + mass, found[1] + mass
        return deltas, above

    def _mass(self, mass: Mass, epsilons: Array) -> Array:
        deltas, above = self.masses(epsilons)
        if mass == "p":
            return above
        return np.exp(-epsilons) * np.maximum(above - deltas, 0.0)

    def _cover(self, mass: Mass, target: float) -> None:
        """Go right until the mass is below a target, so that estimates are good up to there."""
        profile = self._profile
        # e^epsilon Q(L > epsilon) is at most 1.
        most = -math.log(target) if mass == "q" else LARGEST_EPSILON
        end = max(min(profile.largest, most, LARGEST_EPSILON), 0.0)
        if self._reach == 0.0:
            profile.ask([0.0])
            if profile.upper.estimates(np.zeros(1)) is None:
                self._make_table(target)
                return
        # Where no contour tells the scale, that of a normal loss of the same delta does.
        deviation = profile.upper.deviation or 2.5 * float(profile.ends([0.0])[1][0])
        step = CHUNK_DEVIATIONS * max(deviation, SMALLEST_DEVIATION)
        for _ in range(MOST_CHUNKS):
            here = min(self._reach, end)
            if self._reach > 0.0 and not self._mass(mass, np.array([here]))[0] > target:
                break
            if here >= end > 0.0 and self._reach > 0.0:
                break
            self._reach = max(min(here + step, end), 1e-300)
            if not profile.upper.exact:
                profile.ask(np.linspace(here, self._reach, CHUNK))
            step *= GROWTH

    def _make_table(self, target: float) -> None:
        """Tabulate delta up to about where e^{-epsilon} delta is below a target."""
        from scipy.interpolate import PchipInterpolator

        profile = self._profile
        most = max(min(profile.largest, LARGEST_EPSILON), 0.0)

        def beyond(epsilon: float) -> bool:
            profile.ask([epsilon])
            return bool(profile.ends([epsilon])[1][0] * math.exp(-epsilon) < target)

        reach = min(1.0, most)
        if beyond(reach):
            while reach > SMALLEST_DEVIATION and beyond(0.5 * reach):
                reach *= 0.5
        else:
            while reach < most and not beyond(reach):
                reach = min(2.0 * reach, most)
        # Where no loss is above 0, any table does.
        self._reach = max(reach, SMALLEST_DEVIATION)
        profile.ask(np.linspace(0.0, self._reach, TABLE))
        epsilons = np.sort(profile.known())
        _, upper = profile.ends(epsilons)
        self._table = PchipInterpolator(epsilons, np.log(np.maximum(upper, 1e-320)))

    def _tabled(self, epsilons: Array) -> tuple[Array, Array]:
        if self._table is None:
            return np.zeros(len(epsilons)), np.zeros(len(epsilons))
        delta = np.exp(self._table(epsilons))
        return delta, delta * (1.0 - self._table(epsilons, 1))
