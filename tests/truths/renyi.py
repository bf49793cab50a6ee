"""Renyi divergences to 40 digits for tests: K(c) = log E_Q r^alpha from the definitions alone."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mpmath import mp, mpf

from tests.losses.contract.law_densities import rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DIGITS = 40
REMOVE, ADD, GLUED = "remove", "add", "replace"


def density(x: Any) -> Any:
    """Return the standard normal density."""
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def _excess(r: Any, alpha: Any) -> Any:
    """Return r^alpha less its tangent at 1; with 40 digits the cancellation does not matter."""
    return r**alpha - 1 - alpha * (r - 1)


def term(kind: str, r: Any, alpha: Any) -> Any:
    """Return what an outcome adds to e^K - 1 for each unit of its mass under R, r = dM/dR.

    M is the mixture. For removing (M, R), for adding (R, M); for replacing, ratios above 1 come
    from the one, those below 1 from the other.
    """
    if kind == REMOVE:
        return _excess(r, alpha)
    if kind == ADD:
        return r * _excess(1 / r, alpha)
    return _excess(r, alpha) + r * _excess(1 / r, alpha) if r > 1 else mpf(0)


def integrated(
    kind: str,
    c: float,
    weight: Callable[[Any], Any],
    ratio: Callable[[Any], Any],
    points: Iterable[Any],
    *,
    atoms: Iterable[tuple[Any, Any]] = (),
) -> Any:
    """Return K(c) for a ratio r(x) under a density and atoms (place, mass) of R."""
    with mp.workdps(DIGITS):
        alpha = mpf(c) + 1
        places = sorted(mpf(x) for x in points)
        # 48 points of Gauss between two places, where integrands are smooth, are enough.
        total = mp.fsum(
            w * weight(x) * term(kind, ratio(x), alpha)
            for low, high in pairwise(places)
            for x, w in rule(low, high, high - low)
        )
        total += mp.fsum(m * term(kind, ratio(mpf(x)), alpha) for x, m in atoms)
        return mp.log1p(total)


def summed(kind: str, c: float, outcomes: Iterable[tuple[Any, Any]]) -> Any:
    """Return K(c) for outcomes (mass under R, ratio)."""
    with mp.workdps(DIGITS):
        alpha = mpf(c) + 1
        return mp.log1p(mp.fsum(mass * term(kind, r, alpha) for mass, r in outcomes))


def spread(low: Any, high: Any, step: float = 2.0) -> list[Any]:
    """Return points that cut an interval for quadrature, 14 deviations beyond both ends."""
    count = int((high - low + 28) / step) + 1
    return [low - 14 + step * k for k in range(count + 1)]


def sampled_gaussian(mu: float, q: float, order: int) -> Any:
    """Return K for removing at an integer order, by the binomial sum (Mironov et al. 2019)."""
    with mp.workdps(DIGITS):
        m, p = mpf(mu), mpf(q)
        terms = (
            mp.binomial(order, k)
            * p**k
            * (1 - p) ** (order - k)
            * mp.expm1(k * (k - 1) * m * m / 2)
            for k in range(2, order + 1)
        )
        return mp.log1p(mp.fsum(terms))
