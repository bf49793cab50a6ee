"""The lower convex hull of rational points of a privacy profile, and the law it belongs to.

A point (a, H) is kept as integers (x, h, w), a = x / w and H = h / w with w > 0: nothing is reduced
to lowest terms on the way, which would take most of the time.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from operator import eq
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.exact import LARGEST_INVERSE, SMALLEST_MASS
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Doubles above this are no faint masses, whatever their last digit is.
PLAIN = 1e-299


@record
class Corner:
    """A point of a profile.

    Attributes:
        loss: log a, exactly; None at a = 0.
        x: numerator of a.
        h: numerator of H.
        w: denominator of both, positive.
    """

    loss: Fraction | None
    x: int
    h: int
    w: int


START = Corner(None, 0, 1, 1)


def mirrored(loss: Fraction, a: Fraction, value: Fraction) -> tuple[Corner, Corner]:
    """Return the points of a bound H(a) <= value at 1/a and at a; see `from_profile.py`."""
    (n, d), (top, bottom) = a.as_integer_ratio(), value.as_integer_ratio()
    below = Corner(-loss, d * bottom, n * bottom - d * bottom + d * top, n * bottom)
    return below, Corner(loss, n * bottom, d * top, d * bottom)


def hull(points: Iterable[Corner]) -> list[Corner]:
    """Return the corners of the largest convex, non-increasing function below sorted points.

    The last corner goes where the turn to the next point is not to the left, which is the sign of a
    determinant.
    """
    found: list[Corner] = []
    for c in points:
        if found and c.h * found[-1].w >= found[-1].h * c.w:
            continue
        while len(found) > 1:
            a, b = found[-2:]
            turn = a.x * (b.h * c.w - c.h * b.w) - a.h * (b.x * c.w - c.x * b.w)
            if turn + a.w * (b.x * c.h - c.x * b.h) > 0:
                break
            found.pop()
        found.append(c)
    return found


def law_of(corners: list[Corner]) -> AtomicLaw:
    """Return the law of the pair of `exact.piecewise_pair` for corners of a hull.

    Corners whose masses would be no normal doubles are left out, which can only raise the function:
    it stays a profile that meets the points, larger by less than 1e-300 (e^700 - 1). Each mass is
    one rounded quotient of integers. The changes of slope sum to minus the first slope, so that
    what is missing to 1 of Q is 1 plus that.

    Raises:
        DomainError: a mass of infinite losses is positive and below 1e-300.
    """
    while True:
        bends = list(_bends(corners))
        kept = [corner for corner, bend in zip(corners[1:], bends, strict=True) if _seen(*bend)]
        if len(kept) == len(bends):
            break
        corners = [corners[0], *kept]
    rise, run = _slope(corners[0], corners[1]) if kept else (0, 1)
    last = Fraction(corners[-1].h, corners[-1].w)
    missing = Fraction(run + rise, run)
    if any(0 < mass < SMALLEST_MASS for mass in (last, missing)):
        raise DomainError("probabilities must be 0 or at least 1e-300")
    losses = [corner.loss for corner in kept if corner.loss is not None]
    values = tuple(map(float, losses))
    exact = all(map(eq, map(Fraction, values), losses))
    known_mass = None if Fraction(float(last)) == last else last
    return AtomicLaw(
        losses=values,
        masses=tuple(p / other for p, other, _, _ in bends),
        infinity_mass=float(last),
        lower_infinity_mass=float(missing),
        loss_units=0.0 if exact else 1.0,
        lower_masses=tuple(q / other for _, _, q, other in bends),
        infinity_mass_error=0.0 if known_mass is None else UNIT,
        known_loss=None if exact else losses[-1],
        known_mass=known_mass,
    )


def _slope(a: Corner, b: Corner) -> tuple[int, int]:
    return b.h * a.w - a.h * b.w, b.x * a.w - a.x * b.w


def _bends(corners: list[Corner]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the P-mass and the Q-mass of all corners but the first, as pairs of integers."""
    slopes = [_slope(a, b) for a, b in pairwise(corners)]
    turns = pairwise([*slopes, (0, 1)])
    for corner, ((n, d), (m, e)) in zip(corners[1:], turns, strict=True):
        q, other = m * d - n * e, d * e
        yield corner.x * q, corner.w * other, q, other


def _seen(p: int, below: int, q: int, other: int) -> bool:
    """Say whether both masses are normal doubles, for certain."""
    if min(p / below, q / other) > PLAIN:
        return True
    return min(p * LARGEST_INVERSE - below, q * LARGEST_INVERSE - other) >= 0
