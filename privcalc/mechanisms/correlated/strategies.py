"""Squared sensitivities of named strategies: in whole numbers, so that errors are counted.

X = C^T C is nonnegative for all of them. A record that takes part in the steps of a pattern p, with
vectors d_i of norm at most 1, moves C G by sum_{i, j in p} X_ij <d_i, d_j>, squared, and that is at
most sum_{i, j in p} X_ij, which equal vectors attain. It grows with p: the most participations that
there is room for are the worst.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from privcalc.exact import Enclosed

# Binary digits of a coefficient of the square root.
DIGITS = 128
# Places that are looked at for patterns on a tree.
MOST_TRIED = 100_000


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


def tree(steps: int, participations: int, separation: int) -> Enclosed:
    """Return the squared sensitivity of the sums of all complete nodes of a binary tree.

    The nodes of size s = 2^h are the steps [a s, (a + 1) s) with (a + 1) s <= steps, so that a step
    is in floor(log2 steps) + 1 of them at most, and step 0 is. Of several participations m_v in the
    node v the sum of m_v^2 counts. In a node of size s there are at most c = ceil(s / separation)
    of them, and m_v^2 is convex: for each size that is at most what as many full nodes as there can
    be have, and one with the rest. Patterns with equal gaps prove the lower end; where the
    separation is a power of 2 and the end of the tree does not cut them, the two agree.
    """
    count = most_participations(steps, participations, separation)
    high = 0
    for h in range(steps.bit_length()):
        nodes, most = steps >> h, min(count, -(-(1 << h) // separation))
        full = min(nodes, count // most)
        high += full * most * most
        if full < nodes:
            high += (count - full * most) ** 2
    low = 0
    last = min(separation, steps - (count - 1) * separation)
    for start in range(min(last, max(1, MOST_TRIED // (count * steps.bit_length())))):
        low = max(low, _tree_norm(steps, start, count, separation))
    return Enclosed(Fraction(low), Fraction(high))


def _tree_norm(steps: int, start: int, count: int, separation: int) -> int:
    """Return the sum over complete nodes of the squared number of participations inside."""

    def before(place: int) -> int:
        """Count participations before a step."""
        return min(count, max(0, -(-(place - start) // separation)))

    total = 0
    # No node that begins there or later has any.
    past = start + (count - 1) * separation + 1
    for h in range(steps.bit_length()):
        size, end = 1 << h, steps >> h << h
        if size <= separation:
            total += before(end)
            continue
        stop = min(end, -(-past // size) * size)
        marks = [before(place) for place in range(0, stop + 1, size)]
        total += sum((b - a) ** 2 for a, b in pairwise(marks))
    return total
