"""What a law knows exactly, as rationals: the largest loss, and the mass of infinite losses.

Optional members of a law, `exact_max_loss` and `exact_infinity_mass`; where a law has none, its
double is the number if it says that it has no error, which is relative: 0 has none.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw


def largest_loss(law: LossLaw) -> Fraction | None:
    """Return the supremum of the finite losses, where it is finite and known exactly."""
    if math.isinf(law.max_loss):
        return None
    found: Fraction | None = getattr(law, "exact_max_loss", None)
    if found is None and (law.max_loss_error == 0.0 or law.max_loss == 0.0):
        return Fraction(law.max_loss)
    return found


def infinite_mass(law: LossLaw) -> Fraction | None:
    """Return P(L = +inf), where it is known exactly."""
    found: Fraction | None = getattr(law, "exact_infinity_mass", None)
    if found is None and law.infinity_mass_error == 0.0:
        return Fraction(law.infinity_mass)
    return found
