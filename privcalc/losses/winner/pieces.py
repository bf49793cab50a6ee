"""A symmetric profile in pieces on losses >= 0: normal profiles, one of a largest number, chords.

H is convex in a = e^l, and of a symmetric pair: H(1/a) = 1 - 1/a + H(a)/a, so that its part with
a >= 1 says everything. A chord between (a_1, H_1) and (a_2, H_2) has no mass: there
Q(L > l) = (H_1 - H_2) / (a_2 - a_1) and P(L > l) = H_1 + a_1 Q(L > l).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.tails import Tails
from privcalc.losses.winner.curves import LEAST_SHIFT, Largest, normal_side, normal_value
from privcalc.numerics.normal import Profile
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.numerics.arrays import Array


@record
class Normal:
    """`count` times the normal profile of distance mu, from a loss on."""

    start: float
    count: float
    mu: float

    def value(self, loss: float) -> Profile:
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

    def value(self, loss: float) -> Profile:
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
    first: Profile | None
    last: Profile

    def value(self, loss: float) -> Profile:
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
        return Profile(low * (1.0 - slack), high * (1.0 + slack), 0.0, 1.0)

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

    def value(self, loss: float) -> Profile:
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
