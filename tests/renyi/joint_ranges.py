"""Brute force over the pairs (P(A), Q(A)) that Renyi constraints allow: an oracle for conversions.

Nothing but the definition: a pair (p, q) is allowed by D_alpha <= K / (alpha - 1) if
p^alpha q^(1 - alpha) + (1 - p)^alpha (1 - q)^(1 - alpha) <= e^K.
"""

from __future__ import annotations

import math

from scipy.optimize import minimize_scalar

Constraints = list[tuple[float, float]]


def moment_excess(p: float, q: float, c: float, k: float) -> float:
    """Return the moment of order c + 1 of (p, q) minus e^K, over e^K."""
    inside = math.exp((c + 1.0) * math.log(p) - c * math.log(q) - k)
    rest = (c + 1.0) * math.log1p(-p) - c * math.log1p(-q) - k if p < 1.0 else -math.inf
    return inside - 1.0 + math.exp(rest)


def divergence_excess(p: float, q: float, k: float) -> float:
    """Return the Kullback-Leibler divergence of (p, q) minus k: the limit of order 1."""
    rest = (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0
    return p * math.log(p / q) + rest - k


def largest_p(q: float, constraints: Constraints) -> float:
    """Return the largest p that the constraints (c, K) allow at q; c = 0 stands for order 1."""
    low, high = 0.0, -math.log(q)
    for _ in range(70):
        middle = 0.5 * (low + high)
        p = min(q * math.exp(middle), 1.0)
        try:
            excess = max(
                moment_excess(p, q, c, k) if c > 0.0 else divergence_excess(p, q, k)
                for c, k in constraints
            )
        except OverflowError:
            excess = 1.0
        low, high = (middle, high) if excess <= 0.0 else (low, middle)
    return min(q * math.exp(low), 1.0)


def joint_epsilon(constraints: Constraints, delta: float) -> float:
    """Return log of the largest (p - delta) / q of all allowed pairs."""

    def loss(logit: float) -> float:
        q = 1.0 / (1.0 + math.exp(-logit))
        p = largest_p(q, constraints)
        return -(math.log(p - delta) - math.log(q)) if p > delta else 1e3 - logit

    return -_minimum(loss)


def joint_log_delta(constraints: Constraints, epsilon: float) -> float:
    """Return log of the largest p - e^epsilon q of all allowed pairs."""
    slope = math.exp(epsilon)

    def loss(logit: float) -> float:
        q = 1.0 / (1.0 + math.exp(-logit))
        p = largest_p(q, constraints)
        return -math.log(p - slope * q) if p > slope * q else 1e3 + logit

    return -_minimum(loss)


def _minimum(loss: object) -> float:
    """Minimise a quasi-convex function of a logit, over -600..30."""
    assert callable(loss)
    found = minimize_scalar(loss, bounds=(-600.0, 30.0), method="bounded", options={"xatol": 1e-8})
    return float(found.fun)
