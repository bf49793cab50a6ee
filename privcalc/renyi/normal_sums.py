"""Compositions of normal laws, discrete ones too, whose mu and rho are sums of what was written.

Gaussian guarantees add up as squares of mu (Dong, Roth, Su 2022, Corollary 3.3), and a Gaussian of
mu has D_a = a mu^2 / 2 at every order a, so that it is the worst mechanism that is mu^2/2-zCDP; rho
adds up (Bun, Steinke 2016, Lemma 1.7). Sums of such mechanisms attain what they promise, and so do
those with discrete Gaussian noise: with D and v its sensitivity and variance D_a <= a D^2 / (2 v)
at every order, with equality at order 2 (Canonne, Kamath, Steinke 2020, Theorem 4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.exact import Enclosed
from privcalc.losses.closed.gaussian import GaussianLaw
from privcalc.losses.lattice.discrete_gaussian import DiscreteGaussianLaw
from privcalc.renyi.known import LinearCurve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privcalc.engine.terms import Realized


def normal_mu(parts: Iterable[Realized]) -> Bound | None:
    """Return mu of the worst of compositions of normal laws; None where one has other parts."""
    found = []
    for part in parts:
        square = _square(part)
        if square is None or part.upper.curves or part.lower is not part.upper:
            return None
        found.append(square.root())
    return _worst(found)


def normal_rho(parts: Iterable[Realized]) -> Bound | None:
    """Return rho of the worst of compositions of normal laws and of bare guarantees of zCDP."""
    found = []
    for part in parts:
        if part.lower not in (part.upper, None):
            return None
        rho = Enclosed.of(0)
        for law, count in part.upper:
            if not isinstance(law, GaussianLaw | DiscreteGaussianLaw):
                return None
            rho = rho + law.twice_rho * count / 2
        for curve, count in part.upper.curves:
            if not isinstance(curve, LinearCurve) or not curve.attained:
                return None
            rho = rho + curve.enclosure * count
        found.append(rho)
    return _worst(found)


def _square(part: Realized) -> Enclosed | None:
    """Return the sum of squares of mu of the laws, if all are normal and known."""
    total = Enclosed.of(0)
    for law, count in part.upper:
        if not isinstance(law, GaussianLaw):
            return None
        total = total + law.twice_rho * count
    return total


def _worst(numbers: list[Enclosed]) -> Bound | None:
    bounds = []
    for number in numbers:
        low, high = number.doubles()
        bounds.append(Bound(high, low) if number.exact is None else Bound.of(number.exact))
    return max(bounds, key=lambda bound: bound.upper, default=None)
