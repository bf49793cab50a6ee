"""A law with finitely many losses, cut in two at one of them (`losses/rare.py`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import MASS_ULPS, AtomicLaw
from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Mask


def parted(law: AtomicLaw, cut: float) -> tuple[AtomicLaw, AtomicLaw]:
    """Return the losses up to a cut, and those beyond; what is missing to 1 is `infinity_mass`.

    That is off by as many units as the masses and their sum, by the error of the mass at infinity,
    and by what was left out.
    """
    losses, masses = law.columns
    near = losses <= cut

    def part(chosen: Mask, others: Mask) -> AtomicLaw:
        rest = float(masses[others].sum())
        missing = rest + law.infinity_mass
        wrong = rest * UNIT * (MASS_ULPS + len(losses)) + math.exp(law.log_truncated_mass)
        wrong += law.infinity_mass * (law.infinity_mass_error + 2.0 * UNIT)
        return AtomicLaw(
            tuple(losses[chosen].tolist()),
            tuple(masses[chosen].tolist()),
            missing,
            loss_units=law.loss_units,
            infinity_mass_error=wrong * MARGIN / missing if missing > 0.0 else 0.0,
        )

    if near.all() or not near.any():
        raise NotCertifiedError("a cut has losses on both sides")
    return part(near, ~near), part(~near, near)
