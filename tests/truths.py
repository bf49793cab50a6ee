"""What many tests compare with: the profile of Gaussian noise, and how brackets lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_ndtr, ndtr

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.numerics.rounding import Array


def gaussian_deltas(mu: float, epsilons: Any) -> Array:
    """Return the profile of N(mu, 1) and N(0, 1) in doubles (Balle, Wang 2018)."""
    x = np.asarray(epsilons, dtype=float)
    found: Array = ndtr(mu / 2 - x / mu) - np.exp(x + log_ndtr(-mu / 2 - x / mu))
    return found


def holds(bound: Bound, truth: Any, slack: float = 0.0) -> bool:
    """Say whether a bracket has both ends around a number, up to a part of it."""
    low = bound.lower if bound.lower is not None else 0.0
    return bool(low <= truth * (1 + slack)) and bool(truth * (1 - slack) <= bound.upper)


def relative(bound: Bound) -> float:
    """Return the relative width."""
    return bound.width / bound.upper


def meet(one: Bound, other: Bound) -> bool:
    """Say whether two brackets have a number in common."""
    return max(one.lower or 0.0, other.lower or 0.0) <= min(one.upper, other.upper)
