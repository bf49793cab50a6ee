"""Numbers of more digits than are known: each stands for all that round to one double."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.exact import Enclosed, exact

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.term import Term

UNIT = 2.0**-53
# Probabilities e^-epsilon are off by epsilon units where epsilon is off by one.
WIDEST_EPSILON = 6


def spread(epsilon: Enclosed, law: Callable[[Enclosed], AtomicLaw]) -> AtomicLaw | Term:
    """Return the law of a mechanism that costs the more the larger its largest loss is.

    An epsilon that is one of many numbers moves the masses by epsilon units. Where these are more
    than a law has room for, it is enclosed by those of the ends.
    """
    if epsilon.exact is not None or epsilon.high <= WIDEST_EPSILON:
        return law(epsilon)
    from privcalc.losses.term import Term

    low, high = (law(Enclosed(end, end)) for end in (epsilon.low, epsilon.high))
    return Term(high, low)


def known(name: str, value: float) -> Fraction:
    """Return the number of a parameter that a mechanism needs exactly.

    Raises:
        DomainError: it is one of many.
    """
    number = exact(value)
    if number is None:
        raise DomainError(
            f"{name} is needed exactly, and {float(value)!r} has more digits than are known: write"
            " at most 15 significant digits, or a ratio such as 1/3"
        )
    return number
