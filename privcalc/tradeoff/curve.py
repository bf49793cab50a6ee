"""The trade-off function of what is known by its Renyi curve only: an upper end of the power.

Each order of the curve bounds the power at a given type I error by itself, and so does each order
of the curve of the reverse pair (`renyi/conversion/powers.py`). Where outcomes are lost to infinity
a test may reject all of them, besides what it rejects of the others. Where P loses more mass than
it has to, by m' - m, the same test is one of the pair that loses no more: what was moved adds to
one part what it takes from the other, or less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound, Proof
from privcalc.numerics.rounding import UNIT
from privcalc.renyi.conversion.powers import allowed_powers
from privcalc.tradeoff.brackets import Curve, one_minus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.composition import Composition

UPPER_ONLY = "only upper bounds of the privacy profile are known"


def curve_trade_off(composition: Composition, alphas: Sequence[float]) -> Curve:
    """Bound beta from below and the power from above at increasing alphas in (0, 1)."""
    mass = composition.infinity_mass().upper
    found = allowed_powers(
        composition.renyi_curve(), composition.reverse_curve(), np.array(alphas), mass
    )
    betas, powers = [], []
    for alpha, power, beta in zip(alphas, found.power, found.rest, strict=True):
        rest = one_minus(alpha)
        total = (float(power) + mass) * (1.0 + 4.0 * UNIT)
        # A power of alpha is had without looking.
        powers.append(Bound(max(alpha, min(1.0, total))))
        betas.append(Bound(rest, min(rest, max(0.0, float(beta)))))
    return Curve(tuple(betas), tuple(powers), Proof.RENYI, (UPPER_ONLY,))
