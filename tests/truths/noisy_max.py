"""Bounds on report noisy max from their formulas, for tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from mpmath import mp, mpf
from scipy.special import log_ndtr

from privcalc.losses.atoms import AtomicLaw
from tests.truths import normal_delta

mp.dps = 40


def vector_mu(m: int, step: float) -> Any:
    """Return the distance of the vector bound: half of the noise moves up, half down."""
    return mpf(step) * mp.sqrt(mpf((m // 2) * ((m + 1) // 2)) / m)


def union(m: int, step: float, x: float) -> Any:
    """Return the union bound, over all numbers of moved candidates."""
    return max(k * normal_delta(step * mp.sqrt(mpf(m - k) / (m - k + 1)), x) for k in range(1, m))


def largest(k: int, step: float, x: float) -> float:
    """Return the profile of the largest of k normal numbers, over very many half-lines."""
    z = np.linspace(-6.0, 10.0, 100_001)
    return float((_above(k, z) - math.exp(x) * _above(k, z + step)).max())


def _above(k: int, z: Any) -> Any:
    return -np.expm1(k * log_ndtr(z))


def upper_delta(law: Any, x: float) -> float:
    """Return an upper end of the profile of one law: of a list the sum over its outcomes."""
    direct = law.profile(x)
    if direct is not None:
        return float(direct[1])
    if isinstance(law, AtomicLaw):
        losses, masses = law.columns
        over = losses > x
        return float(masses[over] @ -np.expm1(x - losses[over])) + law.infinity_mass
    tails = law.tails(np.array([x]))
    return float(tails.above_p[0] - math.exp(x) * tails.above_q[0]) + 1e-13
