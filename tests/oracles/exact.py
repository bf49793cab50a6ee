"""Compositions whose delta(epsilon) is a closed form or a finite sum."""

from __future__ import annotations

from functools import lru_cache
from operator import mul
from typing import TYPE_CHECKING

from mpmath import mp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.oracles.laws import Direction, Leaf, Number

__all__ = [
    "Enumerated",
    "gaussian_delta",
    "laplace_delta",
    "normal_delta",
    "one_sampled_gaussian_delta",
]


def gaussian_delta(precision: Number, epsilon: Number) -> Number:
    """Delta of N(mu, 1) against N(0, 1), mu^2 = precision (Balle and Wang 2018, Theorem 8)."""
    mu = mp.sqrt(precision)

    def upper_tail(z: Number) -> Number:
        return mp.erfc(z / mp.sqrt(2)) / 2

    z = epsilon / mu - mu / 2
    return upper_tail(z) - mp.exp(epsilon) * upper_tail(z + mu)


def normal_delta(mu: Number, epsilon: Number) -> Number:
    """Delta of N(mu, 1) against N(0, 1), also at mu = 0 and at negative epsilons."""
    if not mu:
        return max(mp.zero, -mp.expm1(mp.mpf(epsilon)))
    return gaussian_delta(mp.mpf(mu) ** 2, mp.mpf(epsilon))


def one_sampled_gaussian_delta(leaf: Leaf, direction: Direction, epsilon: Number) -> Number:
    """One use of a Poisson-sampled Gaussian: P(L > epsilon) - e^epsilon Q(L > epsilon).

    remove: (1-q) N0 + q N1 - a N0 is positive where q (N1 - (1 + (a-1)/q) N0) is, hence q times
    the Gaussian's delta at a' = 1 + (a-1)/q. add: N0 - a ((1-q) N0 + q N1) is positive where
    N1/N0 = e^{(2x-1)/(2 sigma^2)} is below (1/a - (1-q))/q.
    """
    q, sigma, a = mp.mpf(leaf["q"]), mp.mpf(leaf["sigma"]), mp.exp(epsilon)
    if direction == "remove":
        return q * gaussian_delta(sigma**-2, mp.log(1 + (a - 1) / q))
    ratio = (1 / a - (1 - q)) / q
    if ratio <= 0:
        return mp.zero
    x = sigma**2 * mp.log(ratio) + mp.mpf(1) / 2
    return mp.ncdf(x / sigma) * (1 - a * (1 - q)) - a * q * mp.ncdf((x - 1) / sigma)


@lru_cache(maxsize=2)
def _laplace_coefficients(count: int, first: int) -> list[list[int]]:
    """Coefficients in v, from v^{count-1} downwards, of (v+1)^{k-1} (v-1)^{count-k-1}.

    One list for each k = first..count; for k = count the last factor is the series
    -(1 + v + v^2 + ...).
    """
    row = [1]  # upwards
    for sign in (1,) * (first - 1) + (-1,) * (count - first - 1):
        row = [sign * a + b for a, b in zip([*row, 0], [0, *row], strict=True)]
    rows = []
    for k in range(first, count + 1):
        if k == count:
            # (v+1)^{count-1} / (v-1): minus the running sums
            row = [1]
            for _ in range(count - 1):
                row = [a + b for a, b in zip([*row, 0], [0, *row], strict=True)]
            total, sums = 0, []
            for a in row:
                total -= a
                sums.append(total)
            row = sums
        full = row + [0] * (count - len(row))
        rows.append(full[::-1])
        if k < count - 1:
            product = [a + b for a, b in zip([*row, 0], [0, *row], strict=True)]
            row, carry = [], 0
            for a in product[:0:-1]:  # synthetic division by v - 1
                carry += a
                row.append(carry)
            row.reverse()
    return rows


def laplace_delta(scale: Number, count: int, epsilon: Number) -> Number:
    """Delta of `count` Laplace mechanisms for 0 <= epsilon, by residues.

    With a = 1/scale the moment is ((s+1) e^{sa} + s e^{-(s+1)a}) / (2s+1). Multiplied out,
    delta = sum_k C(T,k) e^{-(T-k)a} (1/2 pi i) int e^{sd} (s+1)^{k-1} s^{T-k-1} / (2s+1)^T ds,
    d = (2k-T) a - epsilon. Where d <= 0 the line can be moved to +infinity: no contribution.
    Where d > 0 it is moved to -infinity over the poles: s = -1/2 (order T; v = 2s+1) and, for
    k = T, s = 0 with residue 1. The sums alternate, hence exact integers and fixed point.
    """
    a = 1 / scale
    first = count // 2 + 1
    rows = _laplace_coefficients(count, first)
    bits = mp.prec + count + count // 10 + 100  # the sums cancel from 2^count at most
    total = mp.zero
    with mp.workprec(bits):
        for k, row in zip(range(first, count + 1), rows, strict=True):
            d = (2 * k - count) * a - epsilon
            if d <= 0:
                continue
            power, powers = mp.ldexp(1, bits), []
            for j in range(count):
                powers.append(int(power))
                power = power * d / (2 * (j + 1))
            value = mp.ldexp(mp.mpf(sum(map(mul, row, powers))), -bits - count + 1)
            value = value * mp.exp(-d / 2) + (1 if k == count else 0)
            total += mp.binomial(count, k) * mp.exp(-(count - k) * a) * value
    return +total


def _multinomial(
    atoms: Sequence[tuple[Number, Number]], count: int
) -> Iterator[tuple[Number, Number]]:
    """Yield loss and probability of every way to draw `count` times from the atoms."""
    loss, probability = atoms[-1]
    if len(atoms) == 1:
        yield count * loss, probability**count
        return
    weight = mp.one
    for i in range(count + 1):
        for other_loss, other in _multinomial(atoms[:-1], count - i):
            yield i * loss + other_loss, weight * other
        weight = weight * probability * (count - i) / (i + 1)


class Enumerated:
    """A composition of discrete leaves, all outcomes written out."""

    def __init__(
        self, parts: Sequence[tuple[Sequence[tuple[Number, Number]], int]], infinity_mass: Number
    ) -> None:
        """Enumerate parts, each the atoms of a leaf and its count."""
        points = [(mp.zero, mp.one)]
        for atoms, count in parts:
            own = list(_multinomial(atoms, count))
            points = [(a + b, p * r) for a, p in points for b, r in own]
        self.points = sorted(points, reverse=True)
        self.infinity_mass = infinity_mass

    def delta(self, epsilon: Number) -> Number:
        """Add up P - e^epsilon Q over the outcomes with loss > epsilon."""
        above = ((loss, p) for loss, p in self.points if loss > epsilon)
        return self.infinity_mass + mp.fsum(-p * mp.expm1(epsilon - loss) for loss, p in above)

    def epsilon(self, delta: Number) -> Number:
        """Solve on the piece between two losses on which delta is A - e^epsilon B."""
        target = delta - self.infinity_mass
        if target < 0:
            return mp.inf
        upper = lower = mp.zero
        for i, (loss, p) in enumerate(self.points):
            upper += p
            lower += p * mp.exp(-loss)
            following = self.points[i + 1][0] if i + 1 < len(self.points) else mp.ninf
            if following <= 0 or upper - mp.exp(following) * lower >= target:
                if upper <= target:
                    return mp.zero
                return max(mp.zero, min(loss, mp.log((upper - target) / lower)))
        raise ArithmeticError("no outcomes")
