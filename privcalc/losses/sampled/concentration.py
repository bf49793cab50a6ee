"""What the base of a sampled law says of it at all orders, and of all tests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.concentration import mixed_concentration, pure_mu

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array


def sampled_concentration(base: LossLaw, q: float, c: Array, *, remove: bool) -> Array:
    """Bound D_a / a of a sampled law at orders up to c + 1.

    For removing P = (1 - q) R + q W, and the base is (W, R): the first part has divergence 0 from
    R, the second the base's. For adding, where the base is (R, W), joint convexity gives no more
    than the base's.

    Args:
        base: the base's law of the same direction.
        q: sampling probability, 0 < q < 1.
        c: orders minus 1, possibly infinite.
        remove: direction.
    """
    known = base.concentration(c)
    if not remove:
        return known
    rho = np.stack([np.zeros(c.shape), np.where(np.isfinite(known), known, 1.0)])
    mixed = mixed_concentration(np.array([1.0 - q, q]), rho, c)
    return np.where(np.isfinite(known), mixed, np.inf)


def sampled_range(base: LossLaw, law: LossLaw, reverse: LossLaw) -> tuple[float, float]:
    """Bound the least mu of a sampled law, in either direction: trade-off functions have none.

    The sampled pair has profiles below the base's by joint convexity, so that the base's mu is
    enough; where both directions have bounded losses, so is that of their bound. Where the mixture
    has an infinite loss against R, as W has, the mixture is q W at least.

    Args:
        base: the law of W against R.
        law: the sampled law.
        reverse: the sampled law of the other direction.
    """
    low, high = base.gaussian_range
    if law.infinity_mass > 0.0 or law.lower_infinity_mass > 0.0:
        return 0.0, math.inf
    ends = [(one.max_loss, one.max_loss_error) for one in (law, reverse)]
    largest = max(loss + abs(loss) * error * 1.01 for loss, error in ends)
    if math.isinf(largest):
        return low, high
    return 0.0, min(high, pure_mu(max(0.0, largest)))
