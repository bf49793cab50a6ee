"""Who has which keys, and who is in a sample with a cap: whole numbers and ratios of them."""

from __future__ import annotations

import math
from fractions import Fraction


def parted(total: int, least: int = 1) -> list[list[int]]:
    """Return the ways to write a number as a sum of increasing ones."""
    found = [[total]]
    for first in range(least, total // 2 + 1):
        found += [[first, *rest] for rest in parted(total - first, first)]
    return found


def exact_odds(rate: Fraction, most: int, size: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return w, q', and how likely the record is in a batch, as rationals."""

    def above(n: int, k: int) -> Fraction:
        terms = (math.comb(n, j) * rate**j * (1 - rate) ** (n - j) for j in range(k, n + 1))
        return sum(terms, Fraction(0))

    w = above(size - 1, most)
    other = Fraction(most, size) * above(size, most + 1) / w
    return w, other, (1 - w) * rate + w * other
