"""The law of all mechanisms that meet some points (epsilon, delta) of a privacy profile.

Write H(a) for the largest hockey-stick divergence, a = e^epsilon, over neighbours in both orders.
A point says H(a) <= delta. Known besides: H is convex and non-increasing, H(0) = 1,
H(a) >= 1 - a, and, with both orders,

    H(1/a) = 1 - 1/a + H(a)/a,

because (q - p/a)_+ = (p - a q)_+ / a + q - p/a. So each point has a mirror image. The largest
function that meets them all is the lower convex hull of the points, of their images and of
(0, 1), in a (not in epsilon), continued flat to the right: what has no bound there is an infinite
loss. It is a privacy profile, and that of the pair of `piecewise_pair`, which therefore dominates
every such mechanism and is one itself (Zhu, Dong, Wang 2022, Lemma 7).
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.losses.atomic.corners import START, hull, law_of, mirrored
from privcalc.losses.atomic.exact import LARGEST_INVERSE, SMALLEST_MASS
from privcalc.numerics.work import charge, remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from privcalc.losses.atomic.atoms import AtomicLaw

LARGEST_EPSILON = 700.0
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
    return law_of(hull([START, *(low for low, _ in reversed(pairs)), *(up for _, up in pairs)]))


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
