"""Small discrete mechanisms as lists of outcome probabilities, written from their definitions.

Each function returns pairs (without, with): the probability of an outcome without the record and
with it. The numbers are the doubles that a specification holds, everything else is worked out at
the precision of `brute`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mpmath import mp

from tests.oracles.brute import DIGITS

if TYPE_CHECKING:
    from tests.oracles.brute import Pair

__all__ = [
    "approx",
    "bernoulli",
    "discrete_gaussian",
    "discrete_laplace",
    "glued",
    "pure",
    "randomized_response",
    "removal",
    "sampled",
    "staircase",
]

# What lies further out has a probability below 10^-CUT in all.
CUT = 75


def removal(pair: Pair) -> Pair:
    """Exchange the neighbours: P is then the output with the record."""
    return [(with_it, without) for without, with_it in pair]


def sampled(pair: Pair, q: float | Fraction) -> Pair:
    """Poisson sampling: the record is there with probability q, and otherwise it is not."""
    with mp.workdps(DIGITS):
        part = mp.mpf(Fraction(q).numerator) / Fraction(q).denominator
        return [(mp.mpf(a), (1 - part) * a + part * b) for a, b in pair]


def glued(pair: Pair, q: float | Fraction) -> Pair:
    """Sampling without replacement under replace-one, for a pair that is the same in both orders.

    H_a is at most that of (q P + (1-q) Q, Q) for a >= 1 and that of (P, (1-q) P + q Q) for a < 1
    (Zhu, Dong and Wang 2022, Corollary 31). Both are piecewise linear in a; the pair is that of the
    lower convex hull of their corners: where the slope changes by d at a, (P, Q) has (a d, d).
    """
    with mp.workdps(DIGITS):
        above = sampled(removal(pair), q)  # (Q, mixture); read the other way round below
        below = sampled(pair, q)
        corners = {mp.zero, mp.one}
        corners |= {b / a for a, b in above if a and b > a}
        corners |= {a / b for a, b in below if b and a < b}
        upper = [(b, a) for a, b in above]

        def height(a: Any) -> Any:
            outcomes = upper if a >= 1 else below
            return mp.fsum(max(mp.zero, p - a * other) for p, other in outcomes)

        hull: list[tuple[Any, Any]] = []
        for a in sorted(corners):
            point = a, height(a)
            while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-1], point):
                hull.pop()
            hull.append(point)
        slopes = [-mp.one, *(_slope(one, other) for one, other in pairwise(hull)), mp.zero]
        found = [
            (a * (after - before), after - before)
            for (a, _), before, after in zip(hull, slopes, slopes[1:], strict=False)
        ]
        return [*found, (hull[-1][1], mp.zero)]


def _slope(one: tuple[Any, Any], other: tuple[Any, Any]) -> Any:
    return (other[1] - one[1]) / (other[0] - one[0])


def pure(epsilon: float) -> Pair:
    """Two outcomes whose probabilities differ by the factor e^epsilon (randomised response)."""
    return approx(epsilon, 0.0)


def approx(epsilon: float, delta: float) -> Pair:
    """The worst (epsilon, delta)-DP mechanism (Kairouz, Oh and Viswanath 2015, section 2)."""
    with mp.workdps(DIGITS):
        lost, e = mp.mpf(delta), mp.exp(mp.mpf(epsilon))
        high, low = (1 - lost) * e / (1 + e), (1 - lost) / (1 + e)
        return [(lost, mp.zero), (high, low), (low, high), (mp.zero, lost)]


def randomized_response(
    *, p: float | None = None, epsilon: float | None = None, categories: int = 2
) -> Pair:
    """The true category changes from the first to the second; every category is an outcome."""
    with mp.workdps(DIGITS):
        others = categories - 1
        if p is not None:
            true = mp.mpf(p)
        else:
            true = mp.exp(mp.mpf(epsilon)) / (mp.exp(mp.mpf(epsilon)) + others)
        false = (1 - true) / others
        return [(true, false), (false, true), *[(false, false)] * (categories - 2)]


def bernoulli(p: float, other: float) -> Pair:
    """Yes with probability p without the record and `other` with it."""
    with mp.workdps(DIGITS):
        a, b = mp.mpf(p), mp.mpf(other)
        return [(a, b), (1 - a, 1 - b)]


def _shifted(weight: Any, reach: int, sensitivity: int) -> Pair:
    """Integer noise proportional to `weight`, cut at `reach`, at 0 and at the sensitivity."""
    weights = {k: weight(k) for k in range(-reach - sensitivity, reach + sensitivity + 1)}
    total = mp.fsum(weights.values())
    return [
        (weights[k] / total, weights[k - sensitivity] / total)
        for k in range(-reach, reach + sensitivity + 1)
    ]


def discrete_laplace(
    *, scale: float | None = None, epsilon: float | None = None, sensitivity: int = 1
) -> Pair:
    """Integer noise with probabilities proportional to e^(-|k| / scale)."""
    with mp.workdps(DIGITS):
        step = 1 / mp.mpf(scale) if scale is not None else mp.mpf(epsilon) / sensitivity
        reach = int(mp.ceil(CUT * mp.log(10) / step))
        if reach > 20_000:
            raise ValueError("too flat a law to be written out")
        return _shifted(lambda k: mp.exp(-abs(k) * step), reach, sensitivity)


def discrete_gaussian(sigma: float, sensitivity: int = 1) -> Pair:
    """Integer noise with probabilities proportional to e^(-k^2 / (2 sigma^2))."""
    with mp.workdps(DIGITS):
        variance = mp.mpf(sigma) ** 2
        reach = int(mp.ceil(sigma * mp.sqrt(2 * CUT * mp.log(10)))) + 2
        return _shifted(lambda k: mp.exp(-k * k / (2 * variance)), reach, sensitivity)


def staircase(epsilon: float, gamma: float | None = None) -> Pair:
    """Noise with a density of equal steps on [0, gamma), [gamma, 1 + gamma), ...; shift by 1.

    The density is constant between neighbouring points of the integers and +-gamma plus the
    integers, so those intervals are the outcomes.
    """
    with mp.workdps(DIGITS):
        e = mp.mpf(epsilon)
        corner = mp.mpf(gamma) if gamma is not None else 1 / (1 + mp.exp(e / 2))
        reach = int(mp.ceil(CUT * mp.log(10) / e)) + 2
        if reach > 20_000:
            raise ValueError("too flat a law to be written out")

        def density(x: Any) -> Any:
            return mp.exp(-e * mp.floor(abs(x) + 1 - corner))

        points = sorted(
            {k + shift for k in range(-reach, reach + 2) for shift in (mp.zero, corner, -corner)}
        )
        pieces = [
            ((right - left) * density((left + right) / 2), (left + right) / 2, right - left)
            for left, right in pairwise(points)
        ]
        total = mp.fsum(mass for mass, _, _ in pieces)
        return [
            (mass / total, width * density(middle - 1) / total) for mass, middle, width in pieces
        ]
