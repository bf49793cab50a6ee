"""Two kinds of profile that bound the choice of a noisy maximum, as tails at given losses.

NORMAL: c times the profile of two normal laws at distance mu. With t = l / mu,
P(L > l) = c Phi(mu/2 - t) and Q(L > l) = c Phi(-mu/2 - t).

LARGEST: the profile of the largest of k standard normal numbers, against itself moved down by s.
The density is log-concave, so that the best tests are half-lines z:

    P(L > l) = 1 - Phi(z)^k,    Q(L > l) = 1 - Phi(z + s)^k,
    l = z s + s^2 / 2 - (k - 1) (log Phi(z + s) - log Phi(z)),  increasing in z.

Either is H(a) = P - a Q at a = e^l, -Q is its slope, and P what its tangent has at a = 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.tails import Tails
from privcalc.numerics.gauss_legendre import ABSCISSAS, WEIGHTS
from privcalc.numerics.normal import Profile, gaussian_profile
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# No displacement is reported as 0: an atom at a tested loss may be counted on either side.
LEAST_SHIFT = 1e-300
# Where the table of losses of the largest number begins and ends: Phi^k and 1 - Phi are above
# e^-600 and 1e-40.
LOG_LEAST, FARTHEST, TABLE = 600.0, 13.0, 2000
NEWTON = 6
# Of the search: below this mu by an integral, to so many times its scale.
SMALL, SPREAD = 0.05, 30.0


def normal_side(count: Array, mu: Array, losses: Array) -> Tails:
    """Return the tails of `count` times the normal profile; arrays of one length, losses >= 0.

    t is rounded once, its sum with mu/2 once more: with y = 1 + mu/2 + |t| the arguments are off by
    2 units of y, which changes a tail by at most 2 y^2 units. Masses below, where `count` is not 1,
    are formed as differences.
    """
    from scipy.special import ndtr

    t, half = losses / mu, 0.5 * mu
    size = 1.0 + half + t
    own = UNIT * (16.0 + 6.0 * size * size)
    above_p, above_q = count * ndtr(half - t), count * ndtr(-half - t)
    whole = count == 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        below_p = np.where(whole, ndtr(t - half), 1.0 - above_p)
        below_q = np.where(whole, ndtr(t + half), 1.0 - above_q)
        carried = np.maximum(above_p / below_p, above_q / below_q)
        error = np.where(whole, own, own * (1.0 + np.maximum(carried, 0.0)) + 4.0 * UNIT)
    bad = ~whole & ((below_p <= 0.0) | (below_q <= 0.0))
    return Tails(above_p, above_q, below_p, below_q, np.where(bad, np.inf, error), LEAST_SHIFT)


def log_normal(count: Array | float, mu: Array | float, losses: Array | float) -> Array:
    """Return log of `count` times the normal profile, without certificate.

    With x = l / mu - mu / 2 it is phi(x) times the integral of e^{-xv - v^2/2} (1 - e^{-mu v}) over
    v > 0, which for small mu replaces the difference of two tails.
    """
    from scipy.special import log_ndtr

    mu, losses = np.broadcast_arrays(mu, losses)
    t = losses / mu
    first, second = log_ndtr(0.5 * mu - t), losses + log_ndtr(-0.5 * mu - t)
    value = first + np.log(-np.expm1(np.minimum(second - first, -1e-300)))
    small = mu < SMALL
    if small.any():
        m, x = mu[small][:, None], (t - 0.5 * mu)[small]
        scale = 0.5 * SPREAD / (1.0 + np.abs(x))
        v = scale[:, None] * (1.0 + ABSCISSAS)
        part = np.exp(-(x[:, None] + 0.5 * v) * v) * -np.expm1(-m * v)
        value[small] = np.log((part @ WEIGHTS) * scale / math.sqrt(2.0 * math.pi)) - 0.5 * x * x
    log_value: Array = np.log(count) + value
    return log_value


def normal_value(count: float, mu: float, loss: float) -> Profile:
    """Bound `count` times the normal profile at a loss >= 0."""
    found = gaussian_profile(mu, loss)
    if count == 1.0:
        return found
    lower, upper = found.lower * count * (1.0 - 2.0 * UNIT), found.upper * count * (1 + 2.0 * UNIT)
    return Profile(lower, upper, 1.0 - upper - UNIT, 1.0 - lower + UNIT)


class Largest:
    """The largest of k standard normal numbers, moved by s.

    Attributes:
        count: k, at least 2.
        step: s > 0.
    """

    def __init__(self, count: float, step: float) -> None:
        """Tabulate the losses."""
        from scipy.special import log_ndtr

        self.count, self.step = count, step
        low, high = -40.0, FARTHEST
        while high - low > 1e-3:
            middle = 0.5 * (low + high)
            below = count * float(log_ndtr(middle)) < -LOG_LEAST
            low, high = (middle, high) if below else (low, middle)
        self._points = np.linspace(high, FARTHEST, TABLE)
        self._losses = np.maximum.accumulate(self._loss(self._points)[0])

    def _loss(self, z: Array) -> tuple[Array, Array, Array, Array]:
        """Return l(z), its absolute error, and log Phi at z and z + s.

        log Phi is off by 8 units, and where its argument is, by a unit of z + s, by that times its
        slope r = phi / Phi.
        """
        from scipy.special import log_ndtr

        k, s = self.count - 1.0, self.step
        here, there = log_ndtr(z), log_ndtr(z + s)
        value = z * s + 0.5 * s * s - k * (there - here)
        slope = np.exp(-0.5 * (z + s) ** 2 - there) / math.sqrt(2.0 * math.pi)
        error = 4.0 * (np.abs(z) * s + s * s + np.abs(value))
        error = error + k * (10.0 * (np.abs(here) + np.abs(there)) + 2.0 * np.abs(z + s) * slope)
        return value, UNIT * error, here, there

    def _solve(self, losses: Array) -> tuple[Array, Array, Array, Array]:
        """Return z, a bound on |l(z) - l|, and log Phi at z and z + s.

        A secant step in each table cell, then Newton's steps; what they leave is in the bound.
        """
        k, s = self.count - 1.0, self.step
        z = np.interp(losses, self._losses, self._points)
        value, wrong, here, there = self._loss(z)
        for _ in range(NEWTON):
            rise = np.exp(-0.5 * (z + s) ** 2 - there) - np.exp(-0.5 * z * z - here)
            slope = s - k * rise / math.sqrt(2.0 * math.pi)
            step = np.where(slope > 0.0, (losses - value) / np.maximum(slope, 1e-3 * s), 0.0)
            moved = np.clip(z + np.clip(step, -0.5, 0.5), self._points[0], FARTHEST)
            others = self._loss(moved)
            better = np.abs(others[0] - losses) < np.abs(value - losses)
            if not better.any():
                break
            z = np.where(better, moved, z)
            value, wrong, here, there = (
                np.where(better, new, old)
                for new, old in zip(others, (value, wrong, here, there), strict=True)
            )
        return z, np.abs(value - losses) * (1.0 + 4.0 * UNIT) + wrong, here, there

    def side(self, losses: Array) -> Tails:
        """Return the tails; what the solution of l(z) = l misses is the displacement.

        log Phi^k is off by 10 units of itself and, for z + s, by 2 (1 + y)^2 units, y = |z + s|
        (relative to the smaller tail), which 1 - Phi^k passes on at most as they are.
        """
        z, moved, here, there = self._solve(losses)
        first, second = self.count * here, self.count * there
        size = 1.0 + np.abs(z + self.step)
        error = UNIT * (32.0 + 4.0 * size * size + 16.0 * (np.abs(first) + np.abs(second)))
        return Tails(
            -np.expm1(first),
            -np.expm1(second),
            np.exp(first),
            np.exp(second),
            error,
            float(moved.max(initial=LEAST_SHIFT)),
        )

    def log_value(self, losses: Array) -> Array:
        """Return log H, without certificate; infinity where no digit of it is left."""
        found = self.side(losses)
        with np.errstate(all="ignore"):
            value = found.above_p - np.exp(losses) * found.above_q
            noise = 1e-11 * found.above_p + found.above_p * found.shift
            log_value: Array = np.where(value > noise, np.log(value), np.inf)
        return np.where(losses <= self._losses[-1], log_value, np.inf)

    def value(self, loss: float) -> Profile:
        """Bound H at a loss in [0, 600].

        For any set A, P(A) - a Q(A) is at most H(a). Of the outcomes that A = {X > z} has too many
        or too few the loss is within `shift` of l, so that each adds at most `shift` of its P-mass;
        that is at most P(X > z) and what is missing, together 1.
        """
        found = self.side(np.array([loss]))
        p, q = float(found.above_p[0]), float(found.above_q[0])
        error = float(np.max(found.error))
        scaled = math.exp(loss) * q
        slack = 1.01 * ((error + 8.0 * UNIT) * (p + scaled) + 2.0 * found.shift)
        rest = float(found.below_p[0]) + scaled
        rest_slack = 1.01 * ((error + 8.0 * UNIT) * rest + 2.0 * found.shift)
        return Profile(
            max(0.0, p - scaled - slack),
            p - scaled + slack,
            max(0.0, rest - rest_slack),
            rest + rest_slack,
        )
