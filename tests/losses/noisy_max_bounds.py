"""Bounds on report noisy max from their formulas, and the law of explicit data sets, for tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from mpmath import mp, mpf
from scipy.special import log_ndtr, ndtr

from privcalc.losses.atomic.atoms import AtomicLaw

mp.dps = 40


def normal_profile(mu: Any, x: Any) -> Any:
    """Return the profile of N(mu, 1) and N(0, 1) at e^x."""
    mu, x = mpf(mu), mpf(x)
    return mp.ncdf(mu / 2 - x / mu) - mp.exp(x) * mp.ncdf(-mu / 2 - x / mu)


def vector_mu(m: int, step: float) -> Any:
    """Return the distance of the vector bound: half of the noise moves up, half down."""
    return mpf(step) * mp.sqrt(mpf((m // 2) * ((m + 1) // 2)) / m)


def union(m: int, step: float, x: float) -> Any:
    """Return the union bound, over all numbers of moved candidates."""
    return max(k * normal_profile(step * mp.sqrt(mpf(m - k) / (m - k + 1)), x) for k in range(1, m))


def largest(k: int, step: float, x: float) -> float:
    """Return the profile of the largest of k normal numbers, over very many half-lines."""
    z = np.linspace(-6.0, 10.0, 100_001)
    return float((_above(k, z) - math.exp(x) * _above(k, z + step)).max())


def _above(k: int, z: Any) -> Any:
    return -np.expm1(k * log_ndtr(z))


def epsilon_of(profile: Any, delta: float) -> float:
    """Return the epsilon of a decreasing profile by bisection."""
    low, high = mpf(0), mpf(60)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if profile(middle) > delta else (low, middle)
    return float(high)


def chances(scores: list[float], density: Any, below: Any, points: int) -> list[float]:
    """Return the probability that each candidate wins, by integrals over its own score."""
    x = np.linspace(-12.0, 28.0, points)
    cdf = [below(x - f) for f in scores]
    found = []
    for i, f in enumerate(scores):
        others = np.prod([c for j, c in enumerate(cdf) if j != i], axis=0)
        found.append(float(np.trapezoid(density(x - f) * others, x)))
    return found


def gaussian_noise() -> tuple[Any, Any]:
    """Return density and distribution function of standard normal noise."""
    return (lambda x: np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)), ndtr


def laplace_noise() -> tuple[Any, Any]:
    """Return those of Laplace noise of scale 1."""
    return (
        lambda x: 0.5 * np.exp(-np.abs(x)),
        lambda x: np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0)), 1 - 0.5 * np.exp(-np.abs(x))),
    )


def exponential_noise() -> tuple[Any, Any]:
    """Return those of exponential noise of scale 1."""
    return (
        lambda x: np.where(x < 0, 0.0, np.exp(-np.abs(x))),
        lambda x: np.where(x < 0, 0.0, -np.expm1(-np.abs(x))),
    )


def gumbel_noise() -> tuple[Any, Any]:
    """Return those of Gumbel noise of scale 1."""
    return (
        lambda x: np.exp(-x - np.exp(-np.maximum(x, -700.0))),
        lambda x: np.exp(-np.exp(-np.maximum(x, -700.0))),
    )


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
