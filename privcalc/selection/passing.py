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

from privcalc.losses.atomic.profiles import polygon_law
from privcalc.record import record
from privcalc.selection.base.gaussian import GaussianBase

if TYPE_CHECKING:
    from privcalc.losses.atomic.profiles import PolygonLaw
    from privcalc.losses.closed.gaussian import GaussianLaw
    from privcalc.numerics.arrays import Array

# The border is followed to so many deviations, in such steps; beyond, a corner has all.
REACH, STEP = 9.0, 0.02
# What is charged for normal tails, and differences of some.
ROOM = 1e-11
# So many epsilons of either sign get their best event.
EPSILONS = 250
AT_ONCE = 400_000
# What underflow hides.
TINY = 1e-300


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
        tests = _corners(self.test.mu * (1.0 + 2.0 * self.test.error))
        c, (not_c, not_d) = tests.passes[0], tests.fails
        base = GaussianBase(self.release.mu, self.release.error)
        found = []
        rows = max(1, AT_ONCE // len(c))
        for i in range(0, len(logs), rows):
            x = logs[i : i + rows, None]
            both = np.clip(x + tests.ratio[None, :], -700.0, 700.0)
            heights = base.upper(both.ravel()).reshape(both.shape)
            with np.errstate(over="ignore"):
                fell = np.exp(np.minimum(x, 700.0)) * not_d * (1.0 - ROOM)
                failed = np.maximum(not_c * (1.0 + ROOM) - fell, 0.0)
            found.append((c * heights + failed).max(axis=1))
        result: Array = np.minimum(np.concatenate(found) * (1.0 + ROOM) + TINY, 1.0)
        return result

    def below(self, failure: float) -> PolygonLaw:
        """Return a law of the best of some such pairs at many a, or that a bad data set passes.

        Of a pair the best event is to pass with a noisy answer above t, where its ratio is a d / c,
        or not to pass if that is the likelier under P.
        """
        from scipy.special import log_ndtr, ndtr

        mu, distance = (law.mu * (1.0 - 2.0 * law.error) for law in (self.test, self.release))
        z = np.arange(-REACH, REACH + mu, 2.0 * STEP)
        passes, fails = (ndtr(mu - z), ndtr(-z)), (ndtr(z - mu), ndtr(z))
        c, d = np.concatenate(passes), np.concatenate(passes[::-1])
        not_c, not_d = np.concatenate(fails), np.concatenate(fails[::-1])
        logs = log_ndtr(-z) - log_ndtr(mu - z)
        ratio = np.concatenate([logs, -logs])
        most = min(REACH * (mu + distance), 40.0)
        losses = np.linspace(0.0, most, EPSILONS)
        kept = []
        for x in np.concatenate([-losses[:0:-1], losses]).tolist():
            t = (x + ratio) / distance + 0.5 * distance
            y, g = d * ndtr(-t), c * ndtr(distance - t)
            failed = not_c > math.exp(x) * not_d
            y, g = y + np.where(failed, not_d, 0.0), g + np.where(failed, not_c, 0.0)
            best = int(np.argmax(g - math.exp(x) * y))
            right = min(float(y[best]) * (1.0 + ROOM) + 1e-30, 1.0)
            kept.append((Fraction(right), Fraction(float(g[best]) * (1.0 - ROOM))))
        return polygon_law(kept, Fraction(failure), above=False)


@record
class _Tests:
    """Corners of a polygon around all tests.

    Attributes:
        passes: c and d; c may be above 1, where f is still convex.
        fails: 1 - c and 1 - d, with digits of their own where they are small.
        ratio: log(d / c), also where either is no double.
    """

    passes: tuple[Array, Array]
    fails: tuple[Array, Array]
    ratio: Array


def _corners(mu: float) -> _Tests:
    """Return probabilities c and d of a polygon around all tests, in either order.

    Tests of the noise are z -> (P(N > z - mu), P(N > z)), with the slope e^{mu z - mu^2 / 2}. At
    a d between two of them a point above both tangents is above the border, and so are the chords
    from it to both. Beyond the last z the corners are at d = 0 and c = 1. All are known to ROOM of
    themselves: differences of d are those of the smaller tails, and what a tangent takes from 1 - c
    is STEP times about |z - mu| of it. Where that is most of it, c = 1 is the corner instead.

    Where mu is large slopes are no doubles, and tails at z neither. With phi the density, and
    h(x) = P(N > x) / phi(x), what the tangent at z adds at x is phi(z - mu) times the difference of
    h(z) and h(x) phi(x) / phi(z), or of those at -z and -x.
    """
    from scipy.special import erfcx, log_ndtr, ndtr

    z = np.arange(-REACH, REACH + mu + STEP, STEP)
    middle = 0.5 * (z[1:] + z[:-1])
    c, d, not_c, not_d = ndtr(mu - z), ndtr(-z), ndtr(z - mu), ndtr(z)
    between, not_between = ndtr(-middle), ndtr(middle)
    side = np.where(middle < 0.0, -1.0, 1.0)

    def moved(place: Array) -> Array:
        """Return what the tangents at the places on one side add to c, up or down."""
        there, here = (
            math.sqrt(0.5 * math.pi) * erfcx(side * x * math.sqrt(0.5)) for x in (middle, place)
        )
        there = there * np.exp(0.5 * (place - middle) * (place + middle))
        density = np.exp(-0.5 * (place - mu) ** 2) / math.sqrt(2.0 * math.pi)
        result: Array = density * (there - here) * side
        return result

    after, before = moved(z[1:]), moved(z[:-1])
    under = np.minimum(not_c[1:] - after, not_c[:-1] - before)
    lost = under < 0.25 * not_c[:-1]
    under = np.where(lost, 0.0, under)
    over = np.where(lost, 1.0, np.maximum(c[1:] + after, c[:-1] + before))
    one = np.array([c[-1], 1.0, 0.0, 1.0]), np.array([0.0, d[0], 0.0, 1.0])
    rest = np.array([not_c[-1], 0.0, 1.0, 0.0]), np.array([1.0, not_d[0], 1.0, 0.0])
    firsts, others = np.concatenate([c, over, one[0]]), np.concatenate([d, between, one[1]])
    not_firsts = np.concatenate([not_c, under, rest[0]])
    not_others = np.concatenate([not_d, not_between, rest[1]])
    # Of (0, 0) any ratio will do.
    ends = np.array([-np.inf, float(log_ndtr(REACH)), 0.0, 0.0])
    ratio = np.concatenate(
        [log_ndtr(-z) - log_ndtr(mu - z), log_ndtr(-middle) - np.log(over), ends]
    )
    return _Tests(
        (np.concatenate([firsts, others]), np.concatenate([others, firsts])),
        (np.concatenate([not_firsts, not_others]), np.concatenate([not_others, not_firsts])),
        np.concatenate([ratio, -ratio]),
    )
