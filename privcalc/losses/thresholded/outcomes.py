"""The same maximum for pairs of finitely many outcomes, exactly."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

from privcalc.losses.atomic.exact import exact_law, merged
from privcalc.losses.atomic.profiles import with_masses
from privcalc.record import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from privcalc.losses.atomic.exact import Outcome
    from privcalc.losses.atomic.profiles import PolygonLaw

# Logarithms have so many digits, far more than a double.
DIGITS = 60


def law_of(
    outcomes: Sequence[Outcome], *, remove: bool, largest: Fraction | None = None
) -> PolygonLaw:
    """Return the law of a pair, or of the other order, with losses that are rounded once.

    Args:
        outcomes: masses with and without the record, as `exact_law` takes them.
        remove: whether P has the record.
        largest: the largest finite loss, where it is a rational number.
    """
    ordered = outcomes if remove else [(q, p) for p, q in outcomes]
    with localcontext(Context(prec=DIGITS)):
        ratios = [p / q for p, q in merged(ordered)[0]]
        losses = [Fraction((Decimal(r.numerator) / Decimal(r.denominator)).ln()) for r in ratios]
    law = replace(exact_law(ordered, losses), known_loss=largest)
    return with_masses(law, ordered)


def at_least(outcomes: Iterable[Outcome], mass: Fraction) -> list[Outcome]:
    """Return the pair whose profile is the larger of that of a pair and of a probability.

    The outcomes of the largest ratios become one, of the ratio a with H(a) = p, as
    `losses/thresholded/law.py` has it: with all ratios above a, of masses A and B, it is
    (A - p) / B.

    Args:
        outcomes: masses under P and Q, none of them 0.
        mass: p in (0, 1).
    """
    kept = sorted(outcomes, key=lambda each: each[0] / each[1])
    p = q = Fraction(0)
    while kept:
        p, q = p + kept[-1][0], q + kept[-1][1]
        kept.pop()
        # H at the next smaller ratio is p - ratio q.
        following = kept[-1][0] / kept[-1][1] if kept else Fraction(0)
        if p - following * q >= mass:
            break
    return [*kept, (p - mass, q), (mass, Fraction(0))]


def several(p: Fraction, q: Fraction, uses: int) -> list[Outcome]:
    """Return how many of some independent events happen, with probability p or q each."""
    return [
        (
            comb(uses, k) * p**k * (1 - p) ** (uses - k),
            comb(uses, k) * q**k * (1 - q) ** (uses - k),
        )
        for k in range(uses + 1)
    ]
