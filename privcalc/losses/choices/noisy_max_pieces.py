"""A symmetric profile in pieces on losses >= 0: normal profiles, one of a largest number, chords.

H is convex in a = e^l, and of a symmetric pair: H(1/a) = 1 - 1/a + H(a)/a, so that its part with
a >= 1 says everything. A chord between (a_1, H_1) and (a_2, H_2) has no mass: there
Q(L > l) = (H_1 - H_2) / (a_2 - a_1) and P(L > l) = H_1 + a_1 Q(L > l).

Two kinds of profile that bound the choice of a noisy maximum, as tails at given losses.

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

from privcalc.errors import NotCertifiedError
from privcalc.losses.law import Tails
from privcalc.numerics.gauss_legendre import ABSCISSAS, WEIGHTS
from privcalc.numerics.normal import NormalProfile, gaussian_profile
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def normal_value(count: float, mu: float, loss: float) -> NormalProfile:
    """Bound `count` times the normal profile at a loss >= 0."""
    found = gaussian_profile(mu, loss)
    if count == 1.0:
        return found
    lower, upper = found.lower * count * (1.0 - 2.0 * UNIT), found.upper * count * (1 + 2.0 * UNIT)
    return NormalProfile(lower, upper, 1.0 - upper - UNIT, 1.0 - lower + UNIT)


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

    def value(self, loss: float) -> NormalProfile:
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
        return NormalProfile(
            max(0.0, p - scaled - slack),
            p - scaled + slack,
            max(0.0, rest - rest_slack),
            rest + rest_slack,
        )


@record
class Normal:
    """`count` times the normal profile of distance mu, from a loss on."""

    start: float
    count: float
    mu: float

    def value(self, loss: float) -> NormalProfile:
        """Bound H."""
        return normal_value(self.count, self.mu, loss)

    def side(self, losses: Array) -> Tails:
        """Return the tails."""
        return normal_side(np.full(len(losses), self.count), np.full(len(losses), self.mu), losses)


@record
class LargestOf:
    """The profile of the largest of several normal numbers, from a loss on."""

    start: float
    curve: Largest

    def value(self, loss: float) -> NormalProfile:
        """Bound H."""
        return self.curve.value(loss)

    def side(self, losses: Array) -> Tails:
        """Return the tails."""
        return self.curve.side(losses)


@record
class Chord:
    """A chord between two losses, or about loss 0 from the mirror image of its right end.

    Attributes:
        start: its left end; 0 for the one about 0.
        end: its right end.
        first: H at the left end; None for the one about 0.
        last: H at the right end.
    """

    start: float
    end: float
    first: NormalProfile | None
    last: NormalProfile

    def value(self, loss: float) -> NormalProfile:
        """Bound H by weights of non-negative terms.

        Between the ends H = (1 - w) H_1 + w H_2 with w = expm1(l - l_1) / expm1(l_2 - l_1); about 0
        it is (H_2 (1 + a) + a_2 - a) / (1 + a_2). Everything is off by 32 units and those of
        e^{l_2}.
        """
        slack = UNIT * (40.0 + 4.0 * abs(self.end))
        if self.first is None:
            a, last = math.exp(loss - self.end), math.exp(-self.end)
            w = (a + last) / (1.0 + last)
            rest = -math.expm1(loss - self.end) / (1.0 + last)
            low, high = w * self.last.lower + rest, w * self.last.upper + rest
        else:
            w = min(1.0, math.expm1(loss - self.start) / math.expm1(self.end - self.start))
            low = (1.0 - w) * self.first.lower + w * self.last.lower
            high = (1.0 - w) * self.first.upper + w * self.last.upper
        return NormalProfile(low * (1.0 - slack), high * (1.0 + slack), 0.0, 1.0)

    def side(self, losses: Array) -> Tails:
        """Return the tails, the same at every loss."""
        ends = self._about_zero() if self.first is None else self._between()
        middle = [0.5 * (low + high) for low, high in ends]
        if not all(low > 0.0 for low, _ in ends):
            raise NotCertifiedError("rounding hides a chord of the profile of a noisy maximum")
        error = max((high - low) / (2.0 * low) for low, high in ends) + 4.0 * UNIT
        shape = losses.shape
        p, below_p, q, below_q = (np.full(shape, mass) for mass in middle)
        return Tails(p, q, below_p, below_q, np.full(shape, error), LEAST_SHIFT)

    def _about_zero(self) -> list[tuple[float, float]]:
        """Return bounds on P above, P below, Q above, Q below.

        The mirror image of (a, H) is (1/a, 1 - 1/a + H/a): Q(L > l) = (1 - H) / (1 + a), and
        P(L <= l) is the same.
        """
        other = math.exp(-self.end)
        small = [
            rest * other / (1.0 + other) * (1.0 + sign * UNIT * 24.0)
            for sign, rest in ((-1.0, self.last.rest_lower), (1.0, self.last.rest_upper))
        ]
        large = (
            (self.last.lower * other + 1.0) / (1.0 + other) * (1.0 - 24.0 * UNIT),
            (self.last.upper * other + 1.0) / (1.0 + other) * (1.0 + 24.0 * UNIT),
        )
        return [large, (small[0], small[1]), (small[0], small[1]), large]

    def _between(self) -> list[tuple[float, float]]:
        """Return the same; 1 - P as (1 - H_1) - (H_1 - H_2) / expm1(l_2 - l_1)."""
        first, last = self.first, self.last
        if first is None:
            raise AssertionError
        rise = math.expm1(self.end - self.start)
        if first.lower > 0.5:
            low, high = last.rest_lower - first.rest_upper, last.rest_upper - first.rest_lower
        else:
            low, high = first.lower - last.upper, first.upper - last.lower
        low, high = low / rise * (1.0 - 16.0 * UNIT), high / rise * (1.0 + 16.0 * UNIT)
        scale = math.exp(-self.start)
        q = low * scale * (1.0 - 10.0 * UNIT), high * scale * (1.0 + 10.0 * UNIT)
        p = (first.lower + low) * (1.0 - 2.0 * UNIT), (first.upper + high) * (1.0 + 2.0 * UNIT)
        below = first.rest_lower - high - UNIT, first.rest_upper - low + UNIT
        return [p, below, q, (1.0 - q[1] - UNIT, 1.0 - q[0] + UNIT)]


Piece = Normal | LargestOf | Chord

ANY = Normal(0.0, 1.0, 1.0)


class Pieces:
    """A profile on losses >= 0, each piece up to the start of the next.

    Attributes:
        pieces: in increasing order of their starts; the first starts at 0.
        last: the last one, a normal profile.
    """

    def __init__(self, pieces: Sequence[Piece]) -> None:
        """Check that it is convex and symmetric.

        Convex: at each joint the tails fall (both fall together, as H is continuous). Symmetric at
        0: the slope on the left, -1 + H(1) + Q(L > 0), is at most the one on the right, -Q(L > 0),
        which says Q(L > 0) <= P(L <= 0); for a normal profile and a chord about 0 it is an
        equality.

        Raises:
            NotCertifiedError: rounding hides it.
        """
        self.pieces = tuple(pieces)
        self._starts = np.array([piece.start for piece in self.pieces])
        self._normal = np.array([isinstance(piece, Normal) for piece in self.pieces])
        # Of pieces that are not normal nothing is taken from these.
        normal = [piece if isinstance(piece, Normal) else ANY for piece in self.pieces]
        self._counts = np.array([piece.count for piece in normal])
        self._mus = np.array([piece.mu for piece in normal])
        last = self.pieces[-1]
        if not isinstance(last, Normal):
            raise NotCertifiedError("the profile of a noisy maximum has no far end")
        self.last = last
        good = bool((np.diff(self._starts) > 0.0).all()) and self._starts[0] == 0.0
        for left, right in zip(self.pieces, self.pieces[1:], strict=False):
            good = good and _falls(left, right)
        first = self.pieces[0]
        if isinstance(first, LargestOf):
            side = first.side(np.zeros(1))
            good = good and bool(side.above_q[0] * (1.0 + 1e-9) < side.below_p[0])
        elif isinstance(first, Normal):
            good = good and first.count == 1.0
        if not good:
            raise NotCertifiedError("rounding hides that the profile of a noisy maximum is convex")
        self._chords = {
            i: piece.side(np.zeros(1))
            for i, piece in enumerate(self.pieces)
            if isinstance(piece, Chord)
        }

    def value(self, loss: float) -> NormalProfile:
        """Bound H at a loss >= 0."""
        return self.pieces[int(np.searchsorted(self._starts, loss, side="right")) - 1].value(loss)

    def side(self, losses: Array) -> Tails:
        """Return the tails at losses >= 0."""
        index = np.searchsorted(self._starts, losses, side="right") - 1
        tails = normal_side(self._counts[index], self._mus[index], losses)
        columns, shift = _columns(tails), tails.shift
        for i in np.unique(index[~self._normal[index]]):
            here = index == i
            own = self._chords[i] if i in self._chords else self.pieces[i].side(losses[here])
            shift = max(shift, own.shift)
            for column, values in zip(columns, _columns(own), strict=True):
                column[here] = values
        return Tails(*columns, shift)

    @property
    def joints(self) -> Array:
        """The losses at which a piece begins."""
        return self._starts


def _columns(tails: Tails) -> tuple[Array, Array, Array, Array, Array]:
    """Return the masses, and the error as one number for each loss."""
    error = np.asarray(tails.error)
    return tails.above_p, tails.above_q, tails.below_p, tails.below_q, error


def _falls(left: Piece, right: Piece) -> bool:
    """Say whether the tails certainly fall from one piece to the next.

    Those of a piece with displaced losses are taken on the safe side of the displacement.
    """
    sides = []
    for piece, sign in ((left, 1.0), (right, -1.0)):
        joint = np.array([right.start])
        moved = piece.side(joint).shift
        sides.append(piece.side(joint + (sign * 2.0 * moved if moved > 1e-200 else 0.0)))
    before, after = sides
    low, high = 1.0 - float(_columns(before)[4][0]), 1.0 + float(_columns(after)[4][0])
    return bool(
        before.above_p[0] * low >= after.above_p[0] * high
        and before.above_q[0] * low >= after.above_q[0] * high
    )
