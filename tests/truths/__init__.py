"""What many tests compare with: profiles in closed form, sums over few outcomes, how brackets lie.

Formulas of their own, at the digits that mpmath has; nothing of the product but the type `Bound`.
What takes more has a file of its own here: all outcomes of a composition (`brute`), arrangements of
batches and of reports, pairs of two vectors as bases of a selection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import mp
from scipy.special import log_ndtr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privcalc.bounds import Bound
    from privcalc.numerics.rounding import Array


def tail(x: Any) -> Any:
    """Return P(N > x)."""
    return mp.erfc(x / mp.sqrt(2)) / 2


def normal_delta(mu: Any, epsilon: Any) -> Any:
    """Return delta of N(mu, 1) against N(0, 1) (Balle, Wang 2018, Theorem 8)."""
    m, e = mp.mpf(mu), mp.mpf(epsilon)
    if not m:
        return max(mp.zero, -mp.expm1(e))
    return tail(e / m - m / 2) - mp.exp(e) * tail(e / m + m / 2)


def sampled_delta(mu: Any, q: Any, epsilon: Any, *, remove: bool = True) -> Any:
    """Return that of one Poisson sample, a = e^epsilon.

    remove: (1-q) N0 + q N1 - a N0 is positive where q (N1 - (1 + (a-1)/q) N0) is, hence q times
    delta at a' = 1 + (a-1)/q. add: N0 - a ((1-q) N0 + q N1) is positive where
    N1/N0 = e^{mu x - mu^2/2} is below (1/a - (1-q))/q.
    """
    m, q, e = mp.mpf(mu), mp.mpf(q), mp.mpf(epsilon)
    if remove:
        return q * normal_delta(m, mp.log1p(mp.expm1(e) / q))
    a = mp.exp(e)
    ratio = (1 / a - (1 - q)) / q
    if ratio <= 0:
        return mp.zero
    x = mp.log(ratio) / m + m / 2
    return tail(-x) * (1 - a * (1 - q)) - a * q * tail(m - x)


def gaussian_deltas(mu: float, epsilons: Any) -> Array:
    """Return the same in doubles, without cancellation."""
    x = np.asarray(epsilons, dtype=float)
    first, second = log_ndtr(mu / 2 - x / mu), x + log_ndtr(-mu / 2 - x / mu)
    found: Array = np.exp(first) * -np.expm1(second - first)
    return found


def laplace_delta(e: Any, epsilon: Any) -> Any:
    """Return delta of Laplace noise whose centre moves by e scales."""
    e, x = mp.mpf(e), mp.mpf(epsilon)
    return -mp.expm1(x) if x <= -e else max(mp.zero, -mp.expm1((x - e) / 2))


def pure_delta(eta: Any, count: int, epsilon: Any) -> Any:
    """Return delta of a pure guarantee used so often (Kairouz, Oh, Viswanath 2015)."""
    p = mp.exp(mp.mpf(eta)) / (1 + mp.exp(mp.mpf(eta)))
    masses = [mp.binomial(count, k) * p**k * (1 - p) ** (count - k) for k in range(count + 1)]
    return hockey_stick(zip(masses, masses[::-1], strict=True), mp.exp(mp.mpf(epsilon)))


def hockey_stick(outcomes: Iterable[tuple[Any, Any]], a: Any) -> Any:
    """Return sum (p - a q)_+ over outcomes (p, q)."""
    return sum((p - a * q for p, q in outcomes if p > a * q), 0 * a)


def epsilon_of(profile: Any, delta: float) -> float:
    """Return the epsilon up to 60 of a decreasing profile by bisection."""
    low, high = mp.mpf(0), mp.mpf(60)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if profile(middle) > delta else (low, middle)
    return float(high)


def renyi_divergence(p: Iterable[Any], q: Iterable[Any], order: Any) -> Any:
    """Return the Renyi divergence of two vectors."""
    return mp.log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)


def screened(sigma: Any, threshold: Any, votes: int) -> list[Any]:
    """Return the probability that 0, 1, ... votes with Gaussian noise are above a threshold."""
    return [tail((mp.mpf(threshold) - t) / mp.mpf(sigma)) for t in range(votes + 1)]


def holds(bound: Bound, truth: Any, slack: float = 0.0) -> bool:
    """Say whether a bracket has both ends around a number, up to a part of it."""
    low = bound.lower if bound.lower is not None else 0.0
    return bool(low <= truth * (1 + slack)) and bool(truth * (1 - slack) <= bound.upper)


def relative(bound: Bound) -> float:
    """Return the relative width; below the floor of delta there is none."""
    return bound.width / bound.upper if bound.upper > 1e-300 else 0.0


def meet(one: Bound, other: Bound) -> bool:
    """Say whether two brackets have a number in common."""
    return max(one.lower or 0.0, other.lower or 0.0) <= min(one.upper, other.upper)
