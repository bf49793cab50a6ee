"""Squared sensitivities of named strategies: in whole numbers, so that errors are counted.

X = C^T C is nonnegative for all of them. A record that takes part in the steps of a pattern p, with
vectors d_i of norm at most 1, moves C G by sum_{i, j in p} X_ij <d_i, d_j>, squared, and that is at
most sum_{i, j in p} X_ij, which equal vectors attain. It grows with p: the most participations that
there is room for are the worst.

In a binary tree the node of size s = 2^h with number a has the steps [a s, (a + 1) s). It is
published once its last step is over: without completion the nodes with (a + 1) s <= steps.
Completion adds virtual steps, in which no record takes part, until the number of steps is a power
of 2: then every node that has a step is published (the tree completion of DP-FTRL, Kairouz et al.
2021, before a restart).

There X counts the nodes that two steps have in common: with m_v participations in the node v the
sum over a pattern is that of m_v^2.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from privcalc.exact import Enclosed

if TYPE_CHECKING:
    from collections.abc import Iterator

# Binary digits of a coefficient of the square root.
DIGITS = 128


def most_participations(steps: int, participations: int, separation: int) -> int:
    """Return how many participations there is room for."""
    return min(participations, -(-steps // separation))


def identity(steps: int, participations: int, separation: int) -> Enclosed:
    """Return the squared sensitivity of independent noise: X is the unit matrix."""
    return Enclosed.of(most_participations(steps, participations, separation))


def square_root(steps: int, bands: int, participations: int, separation: int) -> Enclosed:
    """Return the squared sensitivity of the banded square root of the matrix of prefix sums.

    C_ij = c_{i-j} for 0 <= i - j < bands, c_0 = 1, c_j = c_{j-1} (2 j - 1) / (2 j). With i < j,
    X_ij = sum_{u <= steps-1-j} c_u c_{u+j-i} falls with j for a fixed distance j - i, and with the
    distance for a fixed j, as c is nonnegative and does not grow. The l-th step of a pattern is at
    least l separation, and any two are at least as far apart as those of the pattern 0, separation,
    2 separation, ..., which is therefore the worst, term by term (Kalinin, Lampert 2024,
    arXiv:2405.13763, Theorem 2). What it adds up to at step t is y_t = y_{t-separation} + c_t, less
    c_{t - participations separation}.

    c_j, in units of 2^-DIGITS, is rounded down at every j, which costs less than a unit each time
    and shrinks with the factors: c_j is at most j units more, and y_t at most all of those.
    """
    bands = min(bands, steps)
    count = most_participations(steps, participations, separation)
    coefficients = [1 << DIGITS]
    for j in range(1, bands):
        coefficients.append(coefficients[-1] * (2 * j - 1) // (2 * j))
    missing = count * (bands - 1)
    if count == 1:
        sums = coefficients
    else:
        c = coefficients + [0] * (steps - bands)
        sums = c
        for t in range(separation, steps):
            sums[t] += sums[t - separation]
        # From the end: what is subtracted is not yet changed.
        for t in range(steps - 1, count * separation - 1, -1):
            sums[t] -= sums[t - count * separation]
    low = sum(y * y for y in sums)
    high = low + 2 * missing * sum(sums) + len(sums) * missing * missing
    unit = 1 << (2 * DIGITS)
    return Enclosed(Fraction(low, unit), Fraction(high, unit))


@lru_cache(maxsize=32)
def tree(
    steps: int, participations: int, separation: int, *, fixed: bool, completion: bool
) -> Enclosed:
    """Return the squared sensitivity of the sums of the nodes of a binary tree.

    That of one participation is the number of nodes with the first step. With a fixed distance it
    is the largest of all starts. Otherwise that is the lower end, and above it for every size of
    nodes: at most c = ceil(s / separation) participations are in a node, and m_v^2 is convex, so
    that the sum over nodes of one size is at most what as many full nodes as there can be have, and
    one with the rest. Where the separation is a power of 2 and the end of the tree does not cut
    them, the two agree.
    """
    low = largest_even(steps, participations, separation, completion=completion)
    count = most_participations(steps, participations, separation)
    if fixed or count == 1:
        return Enclosed.of(low)
    high = 0
    for size, end in published(steps, completion=completion):
        nodes, most = -(-end // size), min(count, -(-size // separation))
        full = min(nodes, count // most)
        high += full * most * most
        if full < nodes:
            high += (count - full * most) ** 2
    return Enclosed(Fraction(low), Fraction(max(low, high)))


def published(steps: int, *, completion: bool) -> Iterator[tuple[int, int]]:
    """Yield the sizes of nodes, and where the last published one of each size ends.

    At the end of the run, if it ends later than that.
    """
    top = (steps - 1).bit_length() if completion else steps.bit_length() - 1
    for h in range(top + 1):
        yield 1 << h, steps if completion else steps >> h << h


def largest_even(steps: int, participations: int, separation: int, *, completion: bool) -> int:
    """Return the largest sum of m_v^2 over patterns start, start + separation, ...

    They have `participations` steps, or less where the run ends. Of those that it cuts the ones
    that start before `separation` are enough: others are part of them.

    Let a node have f of them, the first of which is step `start` or the first of its residue in
    the node. There m_v^2 = 1 + 3 + ... + (2 f - 1), where a step is worth 2 r + 1 if the node has r
    steps of its residue before it. That is right for every node but the one with the start i, in
    which the r steps before i are none of the pattern: there each of the f is 2 r too much. So the
    sum of m_v^2 is a sum of worths, which differences of running sums give for all starts, less
    2 r f for every size.
    """
    import numpy as np

    # No two steps are further apart, and tables are as long as the separation.
    separation = min(separation, steps)
    rows = -(-steps // separation)
    count = min(participations, rows)
    place = np.arange(steps, dtype=np.int64)
    worth = np.zeros(rows * separation, dtype=np.int64)
    extra = np.zeros(steps, dtype=np.int64)
    for size, end in published(steps, completion=completion):
        if size <= separation:
            worth[:end] += 1
            continue
        before = (place[:end] & (size - 1)) // separation
        worth[:end] += 2 * before + 1
        left = np.minimum(size - (place[:end] & (size - 1)), steps - place[:end])
        extra[:end] += 2 * before * np.minimum(-(-left // separation), count)
    sums = np.zeros((rows + 1, separation), dtype=np.int64)
    np.cumsum(worth.reshape(rows, separation), axis=0, out=sums[1:])
    last = np.minimum(np.arange(rows) + count, rows)
    totals = (sums[last] - sums[:-1]).ravel()[:steps] - extra
    starts = max(min(separation, steps), steps - (count - 1) * separation)
    return int(totals[:starts].max())
