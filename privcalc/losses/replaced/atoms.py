"""The pair of two opposite records for an event with finitely many losses, in exact arithmetic.

G of `pair.py` is concave and piecewise linear: its corners are the sums of the masses
under R and W of the outcomes in falling order of X, and it starts at the mass of W alone. The
doubles of a law are off by `MASS_ULPS` units. Corners are moved by as much, up and to the left for
the upper law, down and to the right for the lower one; a corner is counted from the end of [0, 1]
that is nearer, on either axis, so that small masses keep their digits.

Moved up and to the left, each corner is above the straight piece of G on either side, so that the
polygon through all is above G; moved the other way it is below, because G is concave; and so is
its concave hull, which adds points of chords only. Everything else is exact: the rational masses
of the cells of [0, 1] between the corners and their mirror images.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from privcalc.errors import UnsupportedError
from privcalc.losses.atomic.atoms import MASS_ULPS, AtomicLaw
from privcalc.losses.atomic.exact import exact_law
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.atomic.exact import Outcome

Point = tuple[Fraction, Fraction]

# Relative error of a mass, and of the probability where it is a rounded product.
MASS_ERROR = Fraction(MASS_ULPS) * Fraction(UNIT)
RATE_ERROR = 2 * Fraction(UNIT)
ZERO, ONE = Fraction(0), Fraction(1)


def replaced_atoms(event: AtomicLaw, q: float, *, exact: bool, above: bool) -> AtomicLaw:
    """Return the law of a pair whose profile is no smaller, or no larger, than the true one.

    The profile increases with q: a sample at a lower rate is a mixture of one at the higher rate
    and of none.

    Args:
        event: the event's law for adding a record, with its masses under Q.
        q: sampling probability, 0 < q < 1.
        exact: whether q is exact.
        above: whether the upper law is asked for.
    """
    rate = Fraction(q)
    if not exact:
        rate *= 1 + RATE_ERROR if above else 1 - RATE_ERROR
    return exact_law(opposite_outcomes(_corners(event, above=above), rate))


def opposite_outcomes(corners: Sequence[Point], q: Fraction) -> list[Outcome]:
    """Return the masses under P and Q of the cells of [0, 1], for a concave G with such corners.

    Args:
        corners: points (y, G(y)) from y = 0, where G may be positive, to (1, 1).
        q: sampling probability.
    """
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(corners)]
    cuts = sorted({y for y, _ in corners} | {1 - y for y, _ in corners})
    jump = q * corners[0][1]
    outcomes = [(jump, ZERO), (ZERO, jump)]
    up, down = 0, len(slopes) - 1
    for left, right in pairwise(cuts):
        while corners[up + 1][0] <= left:
            up += 1
        while 1 - corners[down][0] <= left:
            down -= 1
        width, rest = right - left, (1 - q) * (right - left)
        outcomes.append((rest + q * width * slopes[up], rest + q * width * slopes[down]))
    return outcomes


def _corners(event: AtomicLaw, *, above: bool) -> list[Point]:
    """Return corners of a concave function that is no smaller, or no larger, than G."""
    ratio = event.log_ratio()
    if ratio is None:
        raise UnsupportedError("this privacy loss is known under one of its two laws only")
    atoms = sorted(ratio.atoms, reverse=True)
    plain = [Fraction(r) for _, r, _ in atoms] + [Fraction(ratio.without_only)]
    other = [Fraction(w) for _, _, w in atoms]
    alone = Fraction(ratio.with_only)
    # Sums up to each corner, and of what is beyond it.
    under_r = [ZERO, *accumulate(plain[:-1])]
    under_w = list(accumulate(other, initial=alone))
    beyond_r = list(accumulate(plain[::-1]))[::-1]
    beyond_w = [*list(accumulate(other[::-1]))[::-1], ZERO]
    if not plain[-1]:
        under_r[-1], under_w[-1], beyond_r[-1] = ONE, ONE, ZERO
    error = MASS_ERROR if above else -MASS_ERROR
    # Smaller y and larger G for the upper law.
    points = {
        (_moved(y, rest, -error), _moved(g, left, error))
        for y, rest, g, left in zip(under_r, beyond_r, under_w, beyond_w, strict=True)
    }
    points |= {(ONE, ONE)}
    return _hull(sorted(points), start=_moved(alone, 1 - alone, error))


def _moved(value: Fraction, rest: Fraction, error: Fraction) -> Fraction:
    """Return a number in [0, 1], known with what it misses to 1, changed by that relative error."""
    if value in (ZERO, ONE):
        return value
    moved = value * (1 + error) if value <= rest else 1 - rest * (1 - error)
    return min(max(moved, ZERO), ONE)


def _hull(points: Sequence[Point], *, start: Fraction) -> list[Point]:
    """Return the corners of the upper concave hull from (0, start) on, with distinct y."""
    highest: dict[Fraction, Fraction] = {ZERO: start}
    for y, g in points:
        highest[y] = max(g, highest.get(y, ZERO))
    kept: list[Point] = []
    for y, g in sorted(highest.items()):
        while len(kept) > 1 and _below(kept[-2], kept[-1], (y, g)):
            kept.pop()
        kept.append((y, g))
    return kept


def _below(a: Point, b: Point, c: Point) -> bool:
    """Say whether b is on or below the line from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])
