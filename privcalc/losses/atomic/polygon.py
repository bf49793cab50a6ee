"""Laws of tests: the pair of which the given tests are the best ones.

A test is an event, and the point (y, g) of its probabilities under Q and P. The power function G of
all tests together, the largest P(A) over (randomised) events with Q(A) <= y, is the concave hull of
(0, start), their points and (1, 1). It is that of the pair whose outcomes are its pieces. The
profile max_y G(y) - a y is the largest g - a y of the tests, and composes (Zhu, Dong, Wang 2022,
Lemma 7 and Theorem 10).

All is exact but for the points themselves: sums, the hull, and the masses of its pieces.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from privcalc.exact import doubles
from privcalc.losses.atomic.atoms import LARGEST_EPSILON, AtomicLaw
from privcalc.losses.atomic.exact import exact_law
from privcalc.record import field, record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from privcalc.losses.atomic.exact import Outcome
    from privcalc.losses.law import LossLaw

Point = tuple[Fraction, Fraction]

ZERO, ONE = Fraction(0), Fraction(1)
# Points nearer to 0 are moved to it, so that masses between points are normal doubles.
NEAREST = Fraction(1, 10**270)
# Digits of e^epsilon beyond those that the difference of two masses may lose.
DIGITS = 40
# Relative error of an exact difference of masses that have far more digits.
ROUNDED = Fraction(1, 10**30)


@record
class PolygonLaw(AtomicLaw):
    """A law of finitely many tests, which keeps its masses.

    Attributes:
        exact: masses under P and Q of all outcomes.
        simpler: another law of the same pair that leaves nothing to infinity, or None.
    """

    exact: tuple[Outcome, ...] = field(default=(), compare=False)
    simpler: LossLaw | None = None

    def delta_at(self, epsilon: Fraction) -> tuple[float, float] | None:
        """Return the largest g - e^epsilon y, at the very number epsilon >= 0.

        Where an outcome counts, e^epsilon Q is at most 1, so that the rounded power moves it by no
        more than 10^-DIGITS of the smallest mass.
        """
        if not self.exact or epsilon > LARGEST_EPSILON:
            return None
        least = min(mass for outcome in self.exact for mass in outcome if mass)
        context = Context(prec=DIGITS + len(str(int(1 / least))))
        number = context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
        a = Fraction(context.exp(number))
        value = sum((max(ZERO, p - a * q) for p, q in self.exact), ZERO)
        return doubles(value * (1 - ROUNDED))[0], doubles(min(ONE, value * (1 + ROUNDED)))[1]


def hull(points: Iterable[Point], start: Fraction = ZERO) -> list[Point]:
    """Return the corners of the concave hull of points, (0, start) and (1, 1), with distinct y."""
    highest: dict[Fraction, Fraction] = {ZERO: start}
    for y, g in (*points, (ONE, ONE)):
        highest[y] = max(g, highest.get(y, ZERO))
    kept: list[Point] = []
    for y, g in sorted(highest.items()):
        while len(kept) > 1 and _below(kept[-2], kept[-1], (y, g)):
            kept.pop()
        # What rises no further is joined to (1, 1) by one flat piece.
        if not kept or g > kept[-1][1] or y == 1:
            kept.append((y, g))
    return kept


def outcomes_of(corners: Sequence[Point]) -> list[Outcome]:
    """Return the masses under P and Q of the pieces between corners, from y = 0 to (1, 1)."""
    pieces = [(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(corners)]
    return [(corners[0][1], ZERO), *pieces]


def polygon_law(
    points: Iterable[Point],
    start: Fraction = ZERO,
    *,
    above: bool | None = None,
    simpler: LossLaw | None = None,
) -> PolygonLaw:
    """Return the law of tests.

    Args:
        points: their probabilities under Q and P.
        start: the P-mass of what is impossible under Q.
        above: whether no smaller profile is wanted where masses are no doubles, or no larger one;
            None where all of them are.
        simpler: see `PolygonLaw`.
    """
    kept = list(points)
    if above is not None:
        kept = [(_clear(y, above=not above), _clear(g, above=above)) for y, g in kept]
        start = max([start, *(g for y, g in kept if y == 0)]) if above else start
    outcomes = [each for each in outcomes_of(hull(kept, start)) if each != (ZERO, ZERO)]
    return with_masses(exact_law(outcomes), outcomes, simpler)


def with_masses(
    law: AtomicLaw, outcomes: Sequence[Outcome], simpler: LossLaw | None = None
) -> PolygonLaw:
    """Return a law that keeps the masses of its outcomes."""
    fields = {name: getattr(law, name) for name in vars(AtomicLaw)["__record_fields__"]}
    return PolygonLaw(**fields, exact=tuple(outcomes), simpler=simpler)


def _clear(value: Fraction, *, above: bool) -> Fraction:
    """Move a probability that is no safe double away from 0 and 1, or onto them."""
    if value < NEAREST:
        return (NEAREST if value else ZERO) if above else ZERO
    if 1 - value < NEAREST:
        return ONE if above else (1 - NEAREST if value < 1 else ONE)
    return value


def _below(a: Point, b: Point, c: Point) -> bool:
    """Say whether b is on or below the line from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])
