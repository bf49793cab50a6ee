"""Atomic laws from masses that are known exactly, as rational numbers.

Everything is exact until the last step: sums, ratios and the decision which ratios are equal. Each
loss and each mass is then one correctly rounded number, or one function of such a number.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from operator import eq
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.losses.atomic.atoms import LOSS_ULPS, AtomicLaw
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
