"""What sampling, groups and compositions make of a profile, from above, by their theorems.

With h the largest H_a of neighbours, in either order, G(y) = min over a of a y + h(a) is the most
that an output of one of them may have of a set of which that of the other has y. So

- of j records that are added one by one it is G_j, j times G, of y;
- of k records, each in a Poisson sample or not, the mean of G_j over a binomial j;
- of k records that are replaced in a Poisson sample P has at most that, and Q at least 1 less that
  of 1 - y, where y is of a sample without any of them;
- of a sample of fixed size where records are replaced, Corollary 31 of Zhu, Dong, Wang 2022.

A lower end that is above is false. All is worked out on grids, on the side of too much: G is the
least of fewer lines, and the largest over y of a concave function is below where its chords on
either side would meet.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracles.relations.spaces import Space

Array = Any
GRID = np.exp(np.r_[np.linspace(0.0, 6.0, 500), np.linspace(6.1, 30.0, 40)])
SMALL = np.geomspace(1e-14, 0.5, 200)
SHARES = np.unique(np.r_[SMALL, 1 - SMALL, np.linspace(0.0, 1.0, 800)])


def largest(y: Array, heights: Array) -> Array:
    """Return upper bounds on the largest values of concave functions (rows) known at points y."""
    width = np.diff(y)
    slopes = np.diff(heights, axis=1) / width
    left, right = heights[:, 1:-2], heights[:, 2:-1]
    rise, fall, across = slopes[:, :-2], slopes[:, 2:], width[1:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (right - left - fall * across) / (rise - fall)
    t = np.clip(np.nan_to_num(t, nan=0.0, posinf=0.0, neginf=0.0), 0.0, across)
    meeting = np.maximum(left + rise * t, np.maximum(left, right)).max(axis=1)
    first = heights[:, 1] - slopes[:, 1] * width[0]
    last = heights[:, -2] + slopes[:, -2] * width[-1]
    return np.maximum.reduce([meeting, first, last, heights.max(axis=1), 0.0 * first])


class Ceiling:
    """The largest H_a of one step, and what becomes of it.

    Attributes:
        profile: the largest H_a in either order, at a >= 1.
    """

    def __init__(self, profile: Callable[[Array], Array]) -> None:
        """Take the profile at a >= 1; below, h(a) = 1 - a + a h(1 / a)."""
        self.profile = profile

    def h(self, a: Array) -> Array:
        """Return it at any a > 0."""
        up = np.maximum(a, 1.0)
        down = np.maximum(1.0 / np.maximum(a, 1e-300), 1.0)
        return np.where(a >= 1.0, self.profile(up), 1.0 - a + a * self.profile(down))

    @cached_property
    def _lines(self) -> tuple[Array, Array]:
        a = np.r_[0.0, 1.0 / GRID[::-1], GRID[1:]]
        return a, np.r_[1.0, self.h(a[1:])]

    def most(self, y: Array) -> Array:
        """Return G(y)."""
        a, h = self._lines
        return np.minimum(np.min(a[None, :] * np.asarray(y)[:, None] + h[None, :], axis=1), 1.0)

    def steps(self, y: Array, count: int) -> list[Array]:
        """Return G_0, ..., G_count of y."""
        found = [np.asarray(y, float)]
        for _ in range(count):
            found.append(self.most(found[-1]))
        return found

    def whole(self, space: Space, a: Array) -> tuple[Array, Array]:
        """Return bounds on H_a of the first data set against the second, and of the other order."""
        if space.swap and (space.others + space.records != space.size or space.rate is not None):
            return self._fixed_size(space, a)
        k, y = space.records, SHARES
        if space.rate is None:
            chained = self.steps(y, k)[-1]
            one = largest(y, chained[None, :] - a[:, None] * y[None, :])
            return one, one
        q = space.rate
        weights = [math.comb(k, j) * q**j * (1 - q) ** (k - j) for j in range(k + 1)]
        up = sum(w * g for w, g in zip(weights, self.steps(y, k), strict=True))
        down = 1.0 - sum(w * g for w, g in zip(weights, self.steps(1.0 - y, k), strict=True))
        if space.replaced:
            one = largest(y, up[None, :] - a[:, None] * down[None, :])
            return one, one
        remove = largest(y, up[None, :] - a[:, None] * y[None, :])
        return remove, largest(y, y[None, :] - a[:, None] * down[None, :])

    def _fixed_size(self, space: Space, a: Array) -> tuple[Array, Array]:
        q = space.size / (space.others + space.records)
        with np.errstate(divide="ignore", invalid="ignore"):
            up = q * self.h(np.maximum(1 + (a - 1) / q, 1e-300))
            up = np.where(a <= 1 - q, 1 - a, up)
            left = 1 - a * (1 - q)
            down = np.where(left > 0, left * self.h(a * q / np.where(left > 0, left, 1.0)), 0.0)
        if not space.replaced:
            return up, down
        both = np.where(a >= 1, up, down)
        if space.records == 1:
            return both, both
        sampled = Ceiling(lambda at: q * self.h(1 + (at - 1) / q))
        chained = sampled.steps(SHARES, space.records)[-1]
        one = largest(SHARES, chained[None, :] - a[:, None] * SHARES[None, :])
        return one, one

    def pair(self, space: Space, order: int) -> tuple[Array, Array]:
        """Return outcomes of a pair with no smaller profile: its chords on a grid."""
        a = np.r_[0.0, 1.0 / GRID[::-8], GRID[1::8]]
        height = np.r_[1.0, self.whole(space, a[1:])[order]]
        # The least convex function through no smaller values: chords between kept points.
        slopes = np.r_[-1.0, np.diff(height) / np.diff(a)]
        slopes = np.minimum(np.maximum.accumulate(slopes), 0.0)
        mass = np.r_[np.diff(slopes), -slopes[-1]]
        end = max(0.0, 1.0 - float(np.sum(a * mass)))
        return np.r_[a * mass, end], np.r_[mass, 0.0]
