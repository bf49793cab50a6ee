"""The largest sum of entries of a Gram matrix over the steps in which one record may take part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from privcalc.numerics.rounding import Array

    Pattern = NDArray[np.intp]

# Additions of one question.
MOST_WORK = 4e8
# Products of entries below the normal doubles, in a matrix of which the largest is about 1.
TINY = 1e-290


@record
class Gram:
    """X = C^T C of a matrix C whose largest entry is about 1.

    Attributes:
        products: X.
        wrong: bounds on the errors, entry by entry.
    """

    products: Array
    wrong: Array

    @classmethod
    def of(cls, matrix: Array) -> Gram:
        """Form the products of a matrix whose entries are rounded once, to nearest.

        With m rows a product is off by m + 2 units of |C|^T |C| (Higham 2002, section 3.1), and
        that itself by as much.
        """
        size = np.abs(matrix)
        total = size.T @ size
        return cls(matrix.T @ matrix, 1.01 * UNIT * (len(matrix) + 8.0) * total + TINY)

    @property
    def above(self) -> Array:
        """Bounds on |X|."""
        return np.abs(self.products) + self.wrong


@record
class Patterns:
    """In which steps a record may take part.

    Attributes:
        steps: how many there are.
        most: largest number of participations.
        separation: least distance of two of them; the only one, if `fixed`.
        fixed: whether there is a fixed distance.
    """

    steps: int
    most: int
    separation: int
    fixed: bool

    @property
    def free(self) -> bool:
        """Whether there is no room for more than `most` anyway."""
        return -(-self.steps // self.separation) <= self.most

    def even(self) -> Iterator[Pattern]:
        """Yield the largest patterns with equal distances: any other such is part of one."""
        span = (self.most - 1) * self.separation
        for start in range(self.steps):
            if start < self.separation or start + span < self.steps:
                yield np.arange(
                    start, min(self.steps, start + span + 1), self.separation, dtype=np.intp
                )


def largest(gram: Gram, patterns: Patterns) -> tuple[float, float]:
    """Enclose the largest |sum_{i in p} C d_i|^2 over patterns p and vectors |d_i| <= 1.

    For one pattern that is at most the sum of |X_ij|, i, j in p, and equal where X is nonnegative
    there, with equal vectors; in general d_i = +-u prove a lower end. Over patterns with a fixed
    distance the maximum is taken over all of them.

    Otherwise, with v_i the largest sum of |X_ij| over patterns that have i, the sum over p is at
    most sum_{i in p} v_i, of which the maximum is found step by step (Choquette-Choo et al. 2023,
    arXiv:2306.08153, Algorithm 4, where the pattern need not have i). It is the truth where
    columns `separation` or more apart are orthogonal. Lower ends are of the best patterns met:
    evenly spaced ones, and that of the last maximum.

    Sums of n nonnegative numbers, in two stages of at most k, are off by 2 k units.

    Raises:
        DomainError: that is more work than one question may be.
    """
    work = sum(len(each) ** 2 for each in patterns.even())
    bound = gram.above
    if not patterns.fixed:
        work += 3 * (1 if patterns.free else patterns.most) * patterns.steps**2
    if work > MOST_WORK:
        raise DomainError(
            f"{patterns.most} participations in a matrix of {patterns.steps} columns are too many"
            " to go through; state fewer, or a larger separation, or pattern=fixed"
        )
    high, found = -1.0, np.arange(1, dtype=np.intp)
    for each in patterns.even():
        total = _total(bound, each)
        if total > high:
            high, found = total, each
    low = _attained(gram, found)
    if not patterns.fixed:
        rows = _with_each(bound, patterns)
        high, other = _best(rows, patterns)
        low = max(low, _attained(gram, other))
    return low, high * (1.0 + UNIT * (8.0 * patterns.most + 32.0))


def _total(bound: Array, pattern: Pattern) -> float:
    ones = np.ones(len(pattern))
    return float(ones @ (bound[np.ix_(pattern, pattern)] @ ones))


def _attained(gram: Gram, pattern: Pattern) -> float:
    """Return less than |sum_{i in p} s_i C_i|^2 for signs s: all 1, or of an eigenvector."""
    products = gram.products[np.ix_(pattern, pattern)]
    ones = np.ones(len(pattern))
    wrong = ones @ (gram.wrong[np.ix_(pattern, pattern)] @ ones)
    wrong += UNIT * (4.0 * len(pattern) + 16.0) * (ones @ (np.abs(products) @ ones))
    turned = np.where(np.linalg.eigh(products)[1][:, -1] < 0.0, -1.0, 1.0)
    best = max(float(signs @ (products @ signs)) for signs in (ones, turned))
    return best - 1.01 * float(wrong)


def _suffixes(values: Array, patterns: Patterns) -> Iterator[Array]:
    """Yield, for at most 0, 1, ... participations, the best sums from each place on, row by row.

    Where their number is not limited that is the first and the last table only.
    """
    steps, separation = patterns.steps, patterns.separation
    best = np.zeros((len(values), steps + separation))
    yield best
    if patterns.free:
        best = best.copy()
        for place in range(steps - 1, -1, -1):
            best[:, place] = np.maximum(
                best[:, place + 1], values[:, place] + best[:, place + separation]
            )
        yield best
        return
    for _ in range(patterns.most):
        taken = np.zeros_like(best)
        taken[:, :steps] = values + best[:, separation:]
        best = np.maximum.accumulate(taken[:, ::-1], axis=1)[:, ::-1]
        yield best


def _with_each(bound: Array, patterns: Patterns) -> Array:
    """Return v_i, the largest sum of row i over patterns that have i: those after and before it."""
    steps, separation = patterns.steps, patterns.separation
    own = np.arange(steps)
    after = [each[own, own + separation] for each in _suffixes(bound, patterns)]
    turned = bound[::-1, ::-1]
    before = [each[own, own + separation][::-1] for each in _suffixes(turned, patterns)]
    if patterns.free:
        return bound[own, own] + after[-1] + before[-1]
    pairs = [after[m] + before[patterns.most - 1 - m] for m in range(patterns.most)]
    found: Array = bound[own, own] + np.max(pairs, axis=0)
    return found


def _best(rows: Array, patterns: Patterns) -> tuple[float, Pattern]:
    """Return the largest sum of v_i over patterns, and where it is."""
    tables = [each[0] for each in _suffixes(rows[None], patterns)]
    free = patterns.free
    place, left, found = 0, len(tables) - 1, list[int]()
    while place < patterns.steps and (free or left):
        table, then = tables[left], tables[left if free else left - 1]
        if rows[place] + then[place + patterns.separation] >= table[place]:
            found.append(place)
            place += patterns.separation
            left -= not free
        else:
            place += 1
    return float(tables[-1][0]), np.array(found or [0], dtype=np.intp)
