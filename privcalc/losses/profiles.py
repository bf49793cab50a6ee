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
from operator import eq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privcalc.errors import DomainError, NotCertifiedError
from privcalc.losses.atoms import LARGEST_EPSILON, LOSS_ULPS, AtomicLaw
from privcalc.losses.cells import MOVED, gathered, lower_law
from privcalc.losses.cells import merged as merged_masses
from privcalc.losses.composed import rejoined
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.search import falling_hull, lower_hull
from privcalc.numerics.work import charge, remembered, spend
from privcalc.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array

# One outcome: its mass under P and its mass under Q.
Outcome = tuple[Fraction, Fraction]

# Products of two masses, and ratios, stay normal doubles.
LARGEST_INVERSE = 10**300
SMALLEST_MASS = Fraction(1, LARGEST_INVERSE)
# More atoms make every sum over them slow, and an answer no better.
MOST_ATOMS = 10_000


def merged(outcomes: Iterable[Outcome]) -> tuple[list[Outcome], Fraction, Fraction]:
    """Merge outcomes of equal ratio p / q, the finite ones in increasing order of it.

    Merging keeps every hockey-stick divergence: sum (p - a q)_+ is additive over outcomes of one
    ratio.

    Returns:
        The outcomes with p, q > 0; the P-mass of those with q = 0; the Q-mass of those with p = 0.
    """
    finite: dict[Fraction, list[Fraction]] = {}
    first_only = other_only = Fraction(0)
    for p, q in outcomes:
        if q == 0:
            first_only += p
        elif p == 0:
            other_only += q
        else:
            both = finite.setdefault(p / q, [Fraction(0), Fraction(0)])
            both[0] += p
            both[1] += q
    return [(p, q) for _, (p, q) in sorted(finite.items())], first_only, other_only


def exact_law(outcomes: Iterable[Outcome], losses: Sequence[Fraction] | None = None) -> AtomicLaw:
    """Return the law of log p/q under P.

    Args:
        outcomes: masses under P and under Q; each column sums to 1.
        losses: the losses of the finite outcomes in increasing order, where they are known
            exactly and no two outcomes have the same ratio.

    Raises:
        DomainError: a mass is positive but below 1e-300, or there are too many different ratios.
    """
    finite, first_only, other_only = merged(outcomes)
    if len(finite) > MOST_ATOMS:
        raise DomainError(f"at most {MOST_ATOMS} different losses are supported, got {len(finite)}")
    masses = [mass for outcome in finite for mass in outcome] + [first_only, other_only]
    if any(0 < mass < SMALLEST_MASS for mass in masses):
        raise DomainError("probabilities must be 0 or at least 1e-300")
    units = LOSS_ULPS
    if losses is None:
        values = tuple(log_ratio(p, q) for p, q in finite)
        if all(p == q for p, q in finite):
            units = 0.0
    else:
        values = tuple(map(float, losses))
        units = 0.0 if all(map(eq, map(Fraction, values), losses)) else 1.0
    known_mass = None if Fraction(float(first_only)) == first_only else first_only
    return AtomicLaw(
        losses=values,
        masses=tuple(float(p) for p, _ in finite),
        infinity_mass=float(first_only),
        lower_infinity_mass=float(other_only),
        loss_units=units,
        lower_masses=tuple(float(q) for _, q in finite),
        infinity_mass_error=0.0 if known_mass is None else UNIT,
        known_loss=None if losses is None or units == 0.0 else losses[-1],
        known_mass=known_mass,
    )


def log_ratio(p: Fraction, q: Fraction) -> float:
    """Return log(p / q) to a few units.

    Between 1/2 and 2 as log1p of the exact excess: the rounding of p / q itself would cost
    1 / |log(p / q)| units. Outside it costs less than 1 / log 2.
    """
    ratio = p / q
    if Fraction(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    return math.log(float(ratio))


def piecewise_pair(points: Sequence[tuple[Fraction, Fraction]]) -> list[Outcome]:
    """Return the pair whose profile H joins the given points (a, H(a)) and is flat beyond them.

    The points begin with (0, 1), have increasing a, and lie on a convex, non-increasing function
    with H(a) >= 1 - a. Then, with q_i the change of slope at a_i (the last slope being 0),

        H(a) = sum_i q_i (a_i - a)_+ + H(inf),

    since both sides are linear between the a_i, have the same kinks, and the same slope and value
    to the right. So the masses q_i under Q and a_i q_i under P, the mass H(inf) of P alone and
    what is missing to 1 of Q alone have H_a(P || Q) = H(a) for all a >= 0. P sums to H(0) = 1;
    sum q_i is minus the first slope, at most 1 because H(a) >= 1 - a (Zhu, Dong, Wang 2022,
    Lemma 7, for a piecewise linear profile).
    """
    slopes = [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairwise(points)]
    outcomes = []
    for i, slope in enumerate(slopes):
        a = points[i + 1][0]
        bend = (slopes[i + 1] if i + 1 < len(slopes) else Fraction(0)) - slope
        if bend:
            outcomes.append((a * bend, bend))
    missing = 1 - sum((q for _, q in outcomes), Fraction(0))
    return [*outcomes, (points[-1][1], Fraction(0)), (Fraction(0), missing)]


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
# Stands for a Q-mass that is 0 where outcomes are put in order.
SMALLEST_RATIO = 1e-300


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
    *,
    above: bool | None = None,
    alternative_dominating_pair: LossLaw | None = None,
) -> AtomicLaw:
    """Return the law of tests.

    Args:
        points: their probabilities under Q and P.
        above: whether no smaller profile is wanted where masses are no doubles, or no larger one;
            None where all of them are.
        alternative_dominating_pair: see `LossLaw`.
    """
    kept, start = list(points), ZERO
    if above is not None:
        kept = [(_clear(y, above=not above), _clear(g, above=above)) for y, g in kept]
        start = max([ZERO, *(g for y, g in kept if y == 0)]) if above else ZERO
    outcomes = [each for each in outcomes_of(concave_hull(kept, start)) if each != (ZERO, ZERO)]
    law = exact_law(outcomes)
    return replace(law, alternative_dominating_pair=alternative_dominating_pair)


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


def law_of_tests(p: Array, q: Array, *, both: bool = True, reverse: bool = False) -> AtomicLaw:
    """Return a pair below any that has these tests.

    The corners are chosen in doubles, and pieces between them are off by a unit, or, of 1, by two:
    so much lower are their masses under P, and higher under Q. Of a pair that is the same in the
    other order those of an image (1 - q, 1 - p) are the same, exchanged, and what is left between a
    test and its own image has the loss 0.

    Args:
        p: lower bounds on their probabilities under P.
        q: upper bounds under Q.
        both: whether the pair in the other order is the same, so that 1 - q, 1 - p is a test, too.
        reverse: whether the law of the pair in the other order is wanted.
    """
    x, y = q, p
    if both:
        far = p + q > 1.0
        x, y = np.where(far, 1.0 - p + UNIT, q), np.where(far, 1.0 - q - UNIT, p)
    kept = np.flatnonzero((x > FAINT) & (y > x) & (y < 1.0) & (not both or x + y <= 1.0))
    kept = kept[np.lexsort((-y[kept], x[kept]))]
    highest = np.maximum.accumulate(np.append(0.0, y[kept]))
    kept = kept[np.diff(highest) > 0.0]
    x, y = x[kept], y[kept]
    points = [np.append(0.0, x), np.append(0.0, y)]
    images = [1.0 - points[1][::-1], 1.0 - points[0][::-1]] if both else [np.ones(1), np.ones(1)]
    apart = np.append(True, np.diff(np.append(points[0], images[0])) > 0.0)
    ends = [np.append(each, other)[apart] for each, other in zip(points, images, strict=True)]
    corners = lower_hull(ends[0], -ends[1])
    corners = corners[corners <= len(x)]
    x, y = (each[corners] for each in points)
    over, up = np.diff(x), np.diff(y)
    if not both:
        over, up = np.append(over, 1.0 - x[-1]), np.append(up, 1.0 - y[-1])
        if reverse:
            over, up = up, over
        up, over = up * (1.0 - 4.0 * UNIT), over * (1.0 + 4.0 * UNIT)
        return lower_law(rejoined(up, over, 0.0, 0.0))
    losses, masses = gathered(
        merged_masses(up * (1.0 - 4.0 * UNIT), over * (1.0 + 4.0 * UNIT), 0.0, 0.0), above=False
    )
    other = masses * np.exp(-losses)
    middle = max(0.0, 1.0 - math.fsum([*masses.tolist(), *other.tolist()]))
    at_zero = [middle] if middle > 0.0 else []
    every = *other[::-1].tolist(), *at_zero, *masses.tolist()
    return AtomicLaw(
        (*(-losses[::-1]).tolist(), *[0.0] * len(at_zero), *losses.tolist()),
        every,
        loss_units=0.0,
        lower_masses=every[::-1],
        moved=MOVED,
    )


def likeliest_law(
    masses: tuple[Array, Array], error: float, lost: float, other: LossLaw
) -> AtomicLaw:
    """Return a law below a pair whose outcomes have about these masses.

    The tests are events: the likeliest outcomes together, in the order of their likelihood ratios.

    Args:
        masses: under P and under Q, of each outcome.
        error: bounds their relative errors, and those of sums here, a unit for each outcome.
        lost: bounds the Q-mass of outcomes that are not there.
        other: see `LossLaw.alternative_dominating_pair`.
    """
    order = np.argsort(-masses[0] / np.maximum(masses[1], SMALLEST_RATIO))
    p, q = (np.cumsum(each[order]) for each in masses)
    found = law_of_tests(p * (1.0 - error), q * (1.0 + error) + lost, both=False)
    return replace(found, alternative_dominating_pair=other)


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
