"""A test of which only is seen whether it passed, and normal noise on what is released then.

Data sets pass with probabilities c (under P) and d (under Q), of which T, normal noise of distance
mu, makes a convex region: the tests. If they pass, M is released, of the profile H. So

    f(c, d) = c H(a d / c) + (1 - c - a (1 - d))_+

is what such a pair costs at a, and the largest f over the region is what all of them cost. f is
convex, as c H(d / c) is the perspective of a convex function: over a polygon it is largest at a
corner. A polygon around the region, of points above tangents of its border, bounds it from above;
points of the border are attained, by a T that passes where the noisy number is above some z.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.polygon import polygon_law
from privcalc.numerics.rounding import UNIT
from privcalc.record import record
from privcalc.selection.base.gaussian import GaussianBase

if TYPE_CHECKING:
    from privcalc.losses.atomic.polygon import PolygonLaw
    from privcalc.losses.closed.gaussian import GaussianLaw
    from privcalc.numerics.arrays import Array

# The border is followed to so many deviations, in such steps; beyond, a corner has all.
REACH, STEP = 9.0, 0.02
# What is charged for normal tails, and differences of some.
ROOM = 1e-11
# So many epsilons of either sign get their best event.
EPSILONS = 250
AT_ONCE = 400_000


@record
class Passing:
    """The bound, for T and M of normal noise.

    Attributes:
        test: T.
        release: M.
    """

    test: GaussianLaw
    release: GaussianLaw

    def upper(self, logs: Array) -> Array:
        """Return upper ends of the largest f at e^x, x >= 0."""
        c, d = _corners(self.test.mu * (1.0 + 2.0 * self.test.error))
        base = GaussianBase(self.release.mu, self.release.error)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.where(c > 0.0, np.log(d) - np.log(c), np.inf)
        found = []
        rows = max(1, AT_ONCE // len(c))
        for i in range(0, len(logs), rows):
            x = logs[i : i + rows, None]
            both = np.clip(x + ratio[None, :], -700.0, 700.0)
            heights = base.upper(both.ravel()).reshape(both.shape)
            with np.errstate(over="ignore"):
                failed = np.maximum((1.0 - c) - np.exp(np.minimum(x, 700.0)) * (1.0 - d), 0.0)
            found.append((c * heights + failed).max(axis=1))
        result: Array = np.minimum(np.concatenate(found) * (1.0 + ROOM) + 1e-18, 1.0)
        return result

    def below(self, failure: float) -> PolygonLaw:
        """Return a law of the best of some such pairs at many a, or that a bad data set passes.

        Of a pair the best event is to pass with a noisy answer above t, where its ratio is a d / c,
        or not to pass if that is the likelier under P.
        """
        from scipy.special import ndtr

        mu, distance = (law.mu * (1.0 - 2.0 * law.error) for law in (self.test, self.release))
        z = np.arange(-REACH, REACH + mu, 2.0 * STEP)
        c, d = np.concatenate([ndtr(mu - z), ndtr(-z)]), np.concatenate([ndtr(-z), ndtr(mu - z)])
        ratio = np.log(d) - np.log(c)
        most = min(REACH * (mu + distance), 40.0)
        losses = np.linspace(0.0, most, EPSILONS)
        kept = []
        for x in np.concatenate([-losses[:0:-1], losses]).tolist():
            t = (x + ratio) / distance + 0.5 * distance
            y, g = d * ndtr(-t), c * ndtr(distance - t)
            failed = (1.0 - c) > math.exp(x) * (1.0 - d)
            y, g = y + np.where(failed, 1.0 - d, 0.0), g + np.where(failed, 1.0 - c, 0.0)
            best = int(np.argmax(g - math.exp(x) * y))
            right = min(float(y[best]) * (1.0 + ROOM) + 1e-30, 1.0)
            kept.append((Fraction(right), Fraction(float(g[best]) * (1.0 - ROOM))))
        return polygon_law(kept, Fraction(failure), above=False)


def _corners(mu: float) -> tuple[Array, Array]:
    """Return probabilities c and d of a polygon around all tests, in either order.

    Tests of the noise are z -> (P(N > z - mu), P(N > z)), with the slope e^{mu z - mu^2 / 2}. At
    a d between two of them a point above both tangents is above the border, and so are the chords
    from it to both. Beyond the last z the corners are at d = 0 and c = 1.
    """
    from scipy.special import ndtr

    z = np.arange(-REACH, REACH + mu + STEP, STEP)
    middle = 0.5 * (z[1:] + z[:-1])
    c, d, slope = ndtr(mu - z), ndtr(-z), np.exp(mu * z - 0.5 * mu * mu)
    between = ndtr(-middle)
    tangents = (
        c[1:] + slope[1:] * (between - d[1:]),
        c[:-1] - slope[:-1] * (d[:-1] - between),
    )
    over = np.minimum(np.maximum(*tangents) * (1.0 + 64.0 * UNIT), 1.0)
    firsts = np.concatenate([c, over, [c[-1], 1.0, 0.0, 1.0]])
    others = np.concatenate([d, between, [0.0, d[0], 0.0, 1.0]])
    return np.concatenate([firsts, others]), np.concatenate([others, firsts])
