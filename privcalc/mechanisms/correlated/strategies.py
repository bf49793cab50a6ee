"""Squared sensitivities of named strategies: in whole numbers, so that errors are counted.

X = C^T C is nonnegative for all of them. A record that takes part in the steps of a pattern p, with
vectors d_i of norm at most 1, moves C G by sum_{i, j in p} X_ij <d_i, d_j>, squared, and that is at
most sum_{i, j in p} X_ij, which equal vectors attain. It grows with p: the most participations that
there is room for are the worst.
"""

from __future__ import annotations

from fractions import Fraction

from privcalc.exact import Enclosed

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
