"""Compositions whose delta(epsilon) is a closed form."""

from __future__ import annotations

from functools import lru_cache
from operator import mul
from typing import TYPE_CHECKING

from mpmath import mp

from tests.truths import normal_delta, sampled_delta

if TYPE_CHECKING:
    from tests.oracles.laws import Direction, Leaf, Number


def gaussian_delta(precision: Number, epsilon: Number) -> Number:
    """Delta of N(mu, 1) against N(0, 1), mu^2 = precision (Balle and Wang 2018, Theorem 8)."""
    return normal_delta(mp.sqrt(precision), epsilon)


def one_sampled_gaussian_delta(leaf: Leaf, direction: Direction, epsilon: Number) -> Number:
    """One use of a Poisson-sampled Gaussian."""
    return sampled_delta(
        1 / mp.mpf(leaf["sigma"]), leaf["q"], epsilon, remove=direction == "remove"
    )


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
