"""Tilted laws e^{cL} dP / M(c), their first cumulants, and the saddle point of the integrand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpmath import mp

from tests.oracles.exact import gaussian_delta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.laws import Law, Number


@dataclass
class Tilted:
    """The losses of a law with the weights of e^{cL} dP / M(c), at one fineness."""

    losses: list[Number]
    weights: list[Number]
    log_moment: Number

    def phi(self, t: Number) -> Number:
        """M(c + it) / M(c), by the plain sum."""
        pairs = zip(self.losses, self.weights, strict=True)
        return mp.fsum(w * mp.expj(t * loss) for loss, w in pairs)


def tilt(one: Law, c: Number, fineness: float) -> Tilted:
    """Tilt the nodes of a law by c."""
    if one.nodes is None:
        raise ValueError("a closed form has no nodes")
    nodes = one.nodes(c, fineness)
    weights = [w * mp.exp(c * loss) for loss, w in nodes]
    moment = mp.fsum(weights)
    return Tilted([loss for loss, _ in nodes], [w / moment for w in weights], mp.log(moment))


def cumulants(laws: Sequence[Law], c: Number) -> tuple[Number, Number, Number]:
    """Give K, K' and K'' at a real c."""
    total = [mp.zero, mp.zero, mp.zero]
    for one in laws:
        if one.moment is not None:
            step = c * mp.mpf(10) ** (-mp.dps // 4)
            low, mid, high = (mp.log(one.moment(c + j * step)) for j in (-1, 0, 1))
            values = mid, (high - low) / (2 * step), (high - 2 * mid + low) / step**2
        else:
            tilted = tilt(one, c, 1.0)
            mean = mp.fdot(tilted.losses, tilted.weights)
            square = mp.fsum(
                w * (x - mean) ** 2 for x, w in zip(tilted.losses, tilted.weights, strict=True)
            )
            values = tilted.log_moment, mean, square
        total = [a + one.count * b for a, b in zip(total, values, strict=True)]
    return total[0], total[1], total[2]


def saddle_point(laws: Sequence[Law], log_delta: Number | None, epsilon: Number | None) -> Number:
    """Find the saddle of K(s) - s epsilon - log s - log(1+s), for a given epsilon or delta.

    For a delta, epsilon is the one whose saddle c is, and the saddle-point approximation
    tells whether c is too small. A few digits of c are more than enough.
    """

    def too_small(c: Number) -> bool:
        k0, k1, k2 = cumulants(laws, c)
        here = k1 - 1 / c - 1 / (1 + c)
        if epsilon is not None:
            return bool(here < epsilon)
        curvature = k2 + 1 / c**2 + 1 / (1 + c) ** 2
        psi = k0 - c * here - mp.log(c) - mp.log1p(c)
        return bool(psi - mp.log(2 * mp.pi * curvature) / 2 > log_delta)

    low = mp.mpf(1) / 64
    while not too_small(low) and low > mp.mpf(10) ** -9:
        low /= 4
    high = low
    while too_small(high):
        low, high = high, high * 2
    for _ in range(12):
        middle = mp.sqrt(low * high)
        low, high = (middle, high) if too_small(middle) else (low, middle)
    return low


def first_epsilon(laws: Sequence[Law], saddle: Number, log_delta: Number) -> Number:
    """Give an epsilon close enough to start Newton's iteration from.

    It is the one that belongs to the saddle, unless the moments explode while c is still so small
    that the factor 1/(s(s+1)) alone makes the saddle (a tiny variance at a tiny q). Then the sum
    is close to a Gaussian loss with the same variance, and so is epsilon.
    """
    if saddle * mp.sqrt(cumulants(laws, saddle / 2)[2]) > 0.5:
        return cumulants(laws, saddle)[1] - 1 / saddle - 1 / (1 + saddle)
    variance = cumulants(laws, saddle / 64)[2]
    low, high = -20 * mp.sqrt(variance), 20 * mp.sqrt(variance) + variance
    for _ in range(60):
        middle = (low + high) / 2
        above = mp.log(gaussian_delta(variance, middle)) > log_delta
        low, high = (middle, high) if above else (low, middle)
    return low
