"""The largest pair below rational points: of a privacy profile, or of tests.

Points of a profile, the law of all mechanisms that meet them.

Write H(a) for the largest hockey-stick divergence, a = e^epsilon, over neighbours in both orders.
A point says H(a) <= delta. Known besides: H is convex and non-increasing, H(0) = 1,
H(a) >= 1 - a, and, with both orders,

    H(1/a) = 1 - 1/a + H(a)/a,

because (q - p/a)_+ = (p - a q)_+ / a + q - p/a. So each point has a mirror image. The largest
function that meets them all is the lower convex hull of the points, of their images and of
(0, 1), in a (not in epsilon), continued flat to the right: what has no bound there is an infinite
loss. It is a privacy profile, and that of the pair of `piecewise_pair`, which therefore dominates
every such mechanism and is one itself (Zhu, Dong, Wang 2022, Lemma 7).

Points of tests, the law of which they are the best ones.

A test is an event, and the point (y, g) of its probabilities under Q and P. The power function G of
all tests together, the largest P(A) over (randomised) events with Q(A) <= y, is the concave hull of
(0, start), their points and (1, 1). It is that of the pair whose outcomes are its pieces. The
profile max_y G(y) - a y is the largest g - a y of the tests, and composes (Zhu, Dong, Wang 2022,
Lemma 7 and Theorem 10).

All is exact but for the points themselves: sums, the hull, and the masses of its pieces.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from privcalc.errors import DomainError, NotCertifiedError
from privcalc.exact import doubles
from privcalc.losses.atomic.atoms import LARGEST_EPSILON, AtomicLaw
from privcalc.losses.atomic.exact import (
    LARGEST_INVERSE,
    SMALLEST_MASS,
    exact_law,
    merged,
    piecewise_pair,
)
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, remembered, spend
from privcalc.record import field, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from privcalc.losses.atomic.exact import Outcome
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array

Point = tuple[Fraction, Fraction]

ZERO, ONE = Fraction(0), Fraction(1)


class ProfileCorner(NamedTuple):
    """A point of a profile.

    Attributes:
        loss: log a, exactly; None at a = 0.
        a: see the module.
        value: H(a).
    """

    loss: Fraction | None
    a: Fraction
    value: Fraction


START = ProfileCorner(None, ZERO, ONE)


def mirrored(loss: Fraction, a: Fraction, value: Fraction) -> tuple[ProfileCorner, ProfileCorner]:
    """Return the points of a bound H(a) <= value at 1/a and at a."""
    return ProfileCorner(-loss, 1 / a, 1 + (value - 1) / a), ProfileCorner(loss, a, value)


def convex_hull(points: Iterable[ProfileCorner]) -> list[ProfileCorner]:
    """Return the corners of the largest convex, non-increasing function below sorted points."""
    found: list[ProfileCorner] = []
    for point in points:
        if found and point.value >= found[-1].value:
            continue
        while len(found) > 1 and _below(found[-2][1:], point[1:], found[-1][1:]):
            found.pop()
        found.append(point)
    return found


def law_of_corners(corners: list[ProfileCorner]) -> AtomicLaw:
    """Return the law of the pair of `exact.piecewise_pair` for corners of a hull.

    Corners whose masses would be no normal doubles are omitted, which can only raise the function:
    it stays a profile that meets the points, larger by less than 1e-300 (e^700 - 1).

    Raises:
        DomainError: a mass of infinite losses is positive and below 1e-300.
    """
    while True:
        outcomes = piecewise_pair([corner[1:] for corner in corners])
        pairs = zip(corners[1:], outcomes[:-2], strict=True)
        kept = [corner for corner, masses in pairs if min(masses) >= SMALLEST_MASS]
        if len(kept) == len(corners) - 1:
            return exact_law(outcomes, [corner.loss for corner in kept if corner.loss is not None])
        corners = [corners[0], *kept]


MOST_POINTS = 5_000
# Digits that slopes between neighbouring points keep when e^epsilon is rounded.
_DIGITS = 40
# How far a delta may fall below 1 - e^epsilon, which no mechanism does, and count as rounded.
ROUNDING = Fraction(1, 10**9)
# Units of work of a point.
PER_POINT = 500.0


# Both directions of a specification ask for one and the same.
@remembered(300)
def profile_law(points: tuple[tuple[Fraction | float, Fraction], ...]) -> AtomicLaw:
    """Return the law of the largest profile that meets points (epsilon, delta).

    Args:
        points: delta bounds the divergence at e^epsilon for neighbours in both orders. A point at
            infinity is allowed and bounds nothing at a finite epsilon; others are exact.

    Raises:
        DomainError: epsilon above 700 and finite, delta outside [0, 1] or positive and below
            1e-300, a delta below 1 - e^epsilon, too many points, or none with a finite epsilon.
    """
    best: dict[Fraction, Fraction] = {}
    exp = _exponentials([abs(Fraction(x)) for x, _ in points if x < math.inf])
    for epsilon, delta in points:
        part, whole = delta.as_integer_ratio()
        if not 0 <= part <= whole or 0 < part * LARGEST_INVERSE < whole:
            raise DomainError(
                f"delta must be in [0, 1], and 0 or at least 1e-300, got {float(delta)!r}"
            )
        if epsilon == math.inf:
            continue
        epsilon = Fraction(epsilon)  # noqa: PLW2901
        if not abs(epsilon) <= LARGEST_EPSILON:
            raise DomainError(
                f"epsilon must be within {LARGEST_EPSILON:g} of 0, or inf, got {float(epsilon)!r}"
            )
        value = delta if epsilon >= 0 else _mirrored(-epsilon, delta, exp(-epsilon)[0])
        best[abs(epsilon)] = min(value, best.get(abs(epsilon), value))
    if not best:
        raise DomainError("a profile needs a point with a finite epsilon")
    if len(best) > MOST_POINTS:
        raise DomainError(
            f"at most {MOST_POINTS} points of a profile are supported, got {len(best)}; any part of"
            " them is a valid profile too"
        )
    charge(PER_POINT * len(best))
    pairs = [mirrored(each, exp(each)[1], best[each]) for each in sorted(best)]
    return law_of_corners(
        convex_hull([START, *(low for low, _ in reversed(pairs)), *(up for _, up in pairs)])
    )


def one_order_law(
    points: Sequence[tuple[Fraction, Fraction]], others: Sequence[tuple[Fraction, Fraction]]
) -> AtomicLaw:
    """Return the law of the largest profile of (P, Q) that meets points of it, and of (Q, P).

    With H for (P, Q) and R for (Q, P), H(1/a) = 1 - 1/a + R(a)/a, as above: each point of R is one
    of H at 1/a.

    Args:
        points: increasing epsilon > 0, with bounds on H at e^epsilon.
        others: the same of R.
    """
    spend(PER_POINT * (len(points) + len(others)))
    exp = _exponentials([epsilon for epsilon, _ in (*points, *others)])
    above = [mirrored(epsilon, exp(epsilon)[1], value)[1] for epsilon, value in points]
    below = [mirrored(epsilon, exp(epsilon)[1], value)[0] for epsilon, value in reversed(others)]
    return law_of_corners(convex_hull([START, *below, *above]))


def _exponentials(epsilons: Sequence[Fraction]) -> Callable[[Fraction], tuple[Fraction, Fraction]]:
    """Return a function that gives e^epsilon rounded down and up.

    The digits suffice for the nearest two of the given epsilons, and 0. epsilon <= 700 is divided
    with six digits more, which is off by less than a hundredth of the last place of e^epsilon;
    `Decimal.exp` and rounding are off by half of it, and 1 is exact.
    """
    nearest = min((b - a for a, b in pairwise(sorted({Fraction(0), *epsilons}))), default=1)
    # The logarithm of a fraction that may be no double.
    digits = math.log10(nearest.denominator) - math.log10(nearest.numerator)
    context = Context(prec=_DIGITS + max(0, math.ceil(digits)))
    finer = Context(prec=context.prec + 6)

    def exp(epsilon: Fraction) -> tuple[Fraction, Fraction]:
        if epsilon == 0:
            return Fraction(1), Fraction(1)
        exponent = finer.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
        value = context.plus(finer.exp(exponent))
        return Fraction(context.next_minus(value)), Fraction(context.next_plus(value))

    return exp


def _mirrored(epsilon: Fraction, delta: Fraction, a: Fraction) -> Fraction:
    """Return the bound at e^epsilon > 1 that a bound at e^-epsilon implies.

    1 - a + a delta decreases in a, so e^epsilon is rounded down to a.
    """
    if delta < 1 - 1 / a - ROUNDING:
        raise DomainError(
            f"no mechanism has delta {float(delta)!r} at epsilon {-float(epsilon)!r}: it is at"
            " least 1 - e^epsilon"
        )
    value = 1 - a + a * delta
    # What is left of a delta that hardly exceeds 1 - e^-epsilon may be no normal double.
    return max(value, SMALLEST_MASS) if value > 0 else Fraction(0)


# Points nearer to 0 are moved to it, so that masses between points are normal doubles.
NEAREST = Fraction(1, 10**270)
FAINT = 1e-270
# Digits of e^epsilon beyond those that the difference of two masses may lose.
DIGITS = 40
# Relative error of an exact difference of masses that have far more digits.
ROUNDED = Fraction(1, 10**30)
# Stands for a Q-mass that is 0 where outcomes are put in order.
SMALLEST_RATIO = 1e-300


@record
class PolygonLaw(AtomicLaw):
    """A law of finitely many tests, which keeps its masses.

    Attributes:
        exact: masses under P and Q of all outcomes.
        alternative_dominating_pair: another law of the same pair without mass at infinity, or None.
    """

    exact: tuple[Outcome, ...] = field(default=(), compare=False)
    alternative_dominating_pair: LossLaw | None = None

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


def concave_hull(points: Iterable[Point], start: Fraction = ZERO) -> list[Point]:
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


def both_orders(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return a pair that dominates (P, Q) as well as (Q, P), and no more than that.

    Where either order may occur at each step, the least dominating profile is
    max(H_a(P || Q), H_a(Q || P)), which is that of the tests of both orders together.
    """
    finite, first_only, other_only = merged(outcomes)
    points = [(ZERO, first_only), (ZERO, other_only)]
    for start, pieces in ((points[0], finite[::-1]), (points[1], [(q, p) for p, q in finite])):
        y, g = start
        for p, q in pieces:
            y, g = y + q, g + p
            points.append((y, g))
    return outcomes_of(concave_hull(points))


def polygon_law(
    points: Iterable[Point],
    start: Fraction = ZERO,
    *,
    above: bool | None = None,
    alternative_dominating_pair: LossLaw | None = None,
) -> PolygonLaw:
    """Return the law of tests.

    Args:
        points: their probabilities under Q and P.
        start: the P-mass of what is impossible under Q.
        above: whether no smaller profile is wanted where masses are no doubles, or no larger one;
            None where all of them are.
        alternative_dominating_pair: see `PolygonLaw`.
    """
    kept = list(points)
    if above is not None:
        kept = [(_clear(y, above=not above), _clear(g, above=above)) for y, g in kept]
        start = max([start, *(g for y, g in kept if y == 0)]) if above else start
    outcomes = [each for each in outcomes_of(concave_hull(kept, start)) if each != (ZERO, ZERO)]
    return with_masses(exact_law(outcomes), outcomes, alternative_dominating_pair)


# Masses of points below are next to no normal doubles.
SMALLEST_POINT = 1e-290
# Values that need more than this are no profile.
MOST_EXCESS = 1e-3


def law_of_points(losses: Array, values: Array) -> AtomicLaw:
    """Return a law above each pair, the same in both orders, whose profile has these bounds.

    As the profile is convex in a = e^loss and falls, it is below the chords between any of the
    points, and their mirror images (see above), and after the last one no more than there: what has
    no bound is an infinite loss. The corners are chosen in doubles. With D_i the fall from one to
    the next over the increase of a, in units of a_i, the P-masses at a_1, a_2, ... are D_{i-1} e^x
    less D_i, x the step in loss, and e^-loss times that at the mirror image. The first corner has
    the rest: its mass counts at no loss from there on, and its chord is that to its mirror image.
    Corners are omitted until there is a rest.

    The profile K of the masses is compared with the values, and the masses raised by the largest
    quotient: K_i / a_i is the sum of T_j (1/a_j - 1/a_{j+1}) over j >= i, T_j the P-mass after a_j,
    of positive terms, whose sums are formed of logarithms below 1500, which are off by 3 units.

    Args:
        losses: from 0 up to 700; doubles that are meant exactly.
        values: what bounds the profile at each.

    Raises:
        NotCertifiedError: the values are no profile.
    """
    import numpy as np

    from privcalc.numerics.hull import falling_hull

    order = np.lexsort((values, losses))
    x, h = losses[order], np.minimum.accumulate(np.minimum(values[order], 1.0))
    kept = (np.diff(x, prepend=-1.0) > 0.0) & (h * np.exp(-x) > SMALLEST_POINT)
    # What is beyond the first of the least values is no more than there.
    last = int(np.argmax(h <= h[-1]))
    kept[last] = True
    x, h = x[: last + 1][kept[: last + 1]], h[: last + 1][kept[: last + 1]]
    corners = falling_hull(x, h)
    x, h = x[corners], h[corners]
    infinite = float(h[-1])
    gap = np.diff(x)
    fall = -np.diff(h) / np.expm1(gap)
    p = np.maximum(fall * np.exp(gap) - np.append(fall[1:], 0.0), 0.0)
    p[p * np.exp(-x[1:]) < SMALLEST_POINT] = 0.0
    with np.errstate(divide="ignore"):
        parts = np.log(-np.expm1(-gap) * np.cumsum(p[::-1])[::-1]) - x[:-1]
        profile = np.logaddexp.accumulate(parts[::-1])[::-1] + x[:-1]
        excess = float((np.log(h[:-1] - infinite) - profile).max(initial=0.0))
    if not excess < MOST_EXCESS:
        raise NotCertifiedError("values of a profile are not convex")
    p *= math.exp(excess) * (1.0 + 6000.0 * len(x) * UNIT)
    sides = p * (1.0 + np.exp(-x[1:]))
    rests = 1.0 - infinite - np.append(np.cumsum(sides[::-1])[::-1], 0.0)
    first = int(np.argmax(rests >= 0.0))
    rest = max(0.0, 1.0 - math.fsum([infinite, *sides[first:].tolist()]))
    alone = rest if x[first] == 0.0 else rest / (1.0 + math.exp(-x[first]))
    x, p = x[first:], np.append(alone, p[first:])
    x, p = x[p > 0.0], p[p > 0.0]
    mirrored = x[x > 0.0][::-1], (p * np.exp(-x))[x > 0.0][::-1]
    masses = *mirrored[1].tolist(), *p.tolist()
    return AtomicLaw(
        (*(-mirrored[0]).tolist(), *x.tolist()),
        masses,
        infinite,
        infinite,
        loss_units=0.0,
        lower_masses=masses[::-1],
    )


# Doubles in [0, 1] are whole multiples of 1 / WHOLE: such numbers are compared and multiplied far
# faster than fractions.
WHOLE = 2**1074
# Smaller masses are no normal doubles.
SMALLEST_WHOLE = math.ceil(SMALLEST_MASS * WHOLE)


def law_of_tests(p: Array, q: Array, *, both: bool = True, reverse: bool = False) -> AtomicLaw:
    """Return the law of tests, as a pair below any that has them.

    The corners are chosen in doubles, and the pair is exactly that of these tests. Those that are
    next to impossible, or certain, are omitted.

    Args:
        p: lower bounds on their probabilities under P.
        q: upper bounds under Q.
        both: whether the pair in the other order is the same, so that 1 - q, 1 - p is a test, too.
        reverse: whether the law of the pair in the other order is wanted.
    """
    import numpy as np

    from privcalc.numerics.hull import upper_hull

    x, y = (q, p) if not both else (np.append(q, 1.0 - p), np.append(p, 1.0 - q))
    kept = np.flatnonzero((x > FAINT) & (x < 1.0) & (y < 1.0))
    kept = kept[np.lexsort((-y[kept], x[kept]))]
    kept = kept[np.diff(x[kept], prepend=0.0) > 0.0]
    ends = (np.concatenate([[0.0], each[kept], [1.0]]) for each in (x, y))
    tests: list[tuple[int, int]] = []
    for k in kept[upper_hull(*ends)[1:-1] - 1].tolist():
        i = k % len(q)
        test = _whole(q[i]), _whole(p[i])
        tests.append(test if k < len(q) else (WHOLE - test[1], WHOLE - test[0]))
    if both:
        # Images next to (1, 1) are no doubles.
        tests = [test for test in tests if sum(test) <= WHOLE]
        tests += [(WHOLE - g, WHOLE - y) for y, g in reversed(tests)]
    hull = [(0, 0)]
    for test in (*tests, (WHOLE, WHOLE)):
        run, rise = test[0] - hull[-1][0], test[1] - hull[-1][1]
        if min(run, rise) < SMALLEST_WHOLE:
            continue
        while len(hull) > 1 and rise * (hull[-1][0] - hull[-2][0]) >= run * (
            hull[-1][1] - hull[-2][1]
        ):
            hull.pop()
            run, rise = test[0] - hull[-1][0], test[1] - hull[-1][1]
        hull.append(test)
    pieces = [(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(hull)]
    if reverse:
        pieces = [(other, mass) for mass, other in pieces]
    else:
        pieces.reverse()
    return AtomicLaw(
        losses=tuple(_log_quotient(*piece) for piece in pieces),
        masses=tuple(mass / WHOLE for mass, _ in pieces),
        lower_masses=tuple(other / WHOLE for _, other in pieces),
    )


def _whole(value: float) -> int:
    """Return a double as a multiple of 1 / WHOLE."""
    above, below = float(value).as_integer_ratio()
    return above * (WHOLE // below)


def _log_quotient(a: int, b: int) -> float:
    """Return log(a / b) to a few units; see `exact.log_ratio`."""
    quotient = a / b
    return math.log1p((a - b) / b) if 0.5 < quotient < 2.0 else math.log(quotient)


def likeliest_law(
    masses: tuple[Array, Array], error: float, lost: float, other: LossLaw
) -> PolygonLaw:
    """Return a law below a pair whose outcomes have about these masses.

    The tests are events: the likeliest outcomes together, in the order of their likelihood ratios.
    Masses under P are lowered by the relative error, which is to cover the sums here, too, of one
    unit for each outcome; those under Q are raised by it, and by what was left out of them.

    Args:
        masses: under P and under Q, of each outcome.
        error: bounds their relative errors.
        lost: bounds the Q-mass of outcomes that are not there.
        other: see `LossLaw.alternative_dominating_pair`.
    """
    import numpy as np

    order = np.argsort(-masses[0] / np.maximum(masses[1], SMALLEST_RATIO))
    p, q = (np.cumsum(each[order]).tolist() for each in masses)
    slack, rest = Fraction(error), Fraction(lost)
    tests = [
        (min(ONE, Fraction(y) * (1 + slack) + rest), Fraction(g) * (1 - slack))
        for y, g in zip(q, p, strict=True)
    ]
    return polygon_law(tests, above=False, alternative_dominating_pair=other)


def with_masses(
    law: AtomicLaw, outcomes: Sequence[Outcome], alternative_dominating_pair: LossLaw | None = None
) -> PolygonLaw:
    """Return a law that keeps the masses of its outcomes."""
    fields = {name: getattr(law, name) for name in vars(AtomicLaw)["__record_fields__"]}
    return PolygonLaw(
        **fields, exact=tuple(outcomes), alternative_dominating_pair=alternative_dominating_pair
    )


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
