"""Steps of lattices, such that losses that carry an atom are on them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.atoms import AtomicLaw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.law import LossLaw


# An atom is on the lattice if it is this near, in steps.
NEAR = 1e-9
# Numbers of so many digits have a common divisor.
ALIKE = Fraction(1, 10**7)


def common_step(laws: Sequence[tuple[LossLaw, int]], least: float) -> Fraction | None:
    """Return the step of lattices that hold all losses, if there is one so large.

    It is the greatest common divisor of the laws' steps, or nearly that of distances of atoms.
    """
    if all(law.lattice is not None for law, _ in laws):
        step = Fraction(0)
        for law, _ in laws:
            other = law.lattice[1] if law.lattice else step
            both = step.denominator * other.denominator
            numerators = step.numerator * other.denominator, other.numerator * step.denominator
            step = Fraction(math.gcd(*numerators), both)
    elif all(isinstance(law, AtomicLaw) for law, _ in laws):
        step = Fraction(0)
        for gap in (gap_of(law) for law, _ in laws):
            step = nearly_common(step, gap) if gap and step else gap or step
        if not step or any(away(law, origin_of(law), step) is None for law, _ in laws):
            return None
    else:
        return None
    return step if float(step) >= least else None


def nearly_common(first: Fraction, second: Fraction) -> Fraction:
    """Return a divisor of the larger that the smaller is nearly a multiple of (Euclid)."""
    a, b = max(first, second), min(first, second)
    while b > ALIKE * max(first, second):
        rest = a - b * round(a / b)
        a, b = b, abs(rest)
    return max(first, second) / round(max(first, second) / a)


def away(law: LossLaw, origin: Fraction, step: Fraction) -> float | None:
    """Return how far losses are from the points next to them, at most; None if they are not near.

    They all are points where a lattice of the law is part of that one.
    """
    if law.lattice is not None:
        start, gap = law.lattice
        whole = (gap / step).denominator == 1
        return 0.0 if whole and ((start - origin) / step).denominator == 1 else None
    if not isinstance(law, AtomicLaw) or not law.losses:
        return None
    places = (np.array(law.losses) - float(origin)) / float(step)
    distance = float(np.abs(places - np.rint(places)).max())
    return distance * float(step) if distance <= NEAR else None


def step_near(laws: Sequence[tuple[LossLaw, int]], wanted: float) -> Fraction:
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
