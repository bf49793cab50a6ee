"""Steps of lattices, such that losses that carry an atom are on them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privcalc.losses.law import LossLaw


def common_step(laws: Iterable[tuple[LossLaw, int]], least: float) -> Fraction | None:
    """Return the step of the lattice that holds all losses exactly, if there is one so large.

    It is the greatest common divisor of the laws' steps.
    """
    step = Fraction(0)
    for law, _ in laws:
        if law.lattice is None:
            return None
        other = law.lattice[1]
        divisor = math.gcd(step.numerator * other.denominator, other.numerator * step.denominator)
        step = Fraction(divisor, step.denominator * other.denominator)
    return step if step and float(step) >= least else None


def step_near(laws: Iterable[tuple[LossLaw, int]], wanted: float) -> Fraction:
    """Return a step of about that size with which the law with atoms that is used most has them."""
    gaps = [(count, gap_of(law)) for law, count in laws]
    found = [(count, gap) for count, gap in gaps if gap is not None and gap > wanted]
    if not found:
        return Fraction(wanted)
    gap = max(found)[1]
    return gap / math.ceil(gap / Fraction(wanted))


def origin_of(law: LossLaw) -> Fraction:
    """Return a point of the lattice of a law: one of its losses, or 0."""
    if law.lattice is not None:
        return law.lattice[0]
    return Fraction(law.atom_locations[0]) if law.atom_locations else Fraction(0)


def gap_of(law: LossLaw) -> Fraction | None:
    """Return the distance of two atoms that divides the distances of all, if there is one."""
    if law.lattice is not None:
        return law.lattice[1]
    # Different numbers may be the same doubles.
    exact = sorted({Fraction(loss) for loss in law.atom_locations})
    if len(exact) < 2:
        return None
    gaps = [b - a for a, b in itertools.pairwise(exact)]
    least = min(gaps)
    spread = exact[-1] - exact[0]
    for parts in range(1, 5):
        unit = least / parts
        if all(abs(gap / unit - round(gap / unit)) * unit <= abs(spread) / 2**44 for gap in gaps):
            # The whole spread over a whole number, so that the last atom is met, too.
            return spread / round(spread / unit)
    return spread


def fast_length(least: int) -> int:
    """Return 1, 3, 5, 9 or 15 times a power of two that is at least so large."""
    odd = (1, 3, 5, 9, 15)
    return min(each * 2 ** max(0, math.ceil(math.log2(least / each))) for each in odd)
