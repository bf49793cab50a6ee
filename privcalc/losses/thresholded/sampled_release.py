"""Noisy counts above a threshold, of people who are sampled: what keys with n others cost.

Of n people with a key N ~ Bin(n, q) are in the sample. With R_n for what is published of the key,
the people who are asked about, k with this key, make R_{n+k} of it: they are sampled as the others
are. A noisy count of at least c, c >= threshold, has the probability

    S_n(c) = sum over j >= 1 of P(N = j) P(noise >= c - j),

as a key that is not in the sample is never published. That is a test of the two, for each n and c;
larger counts are the likelier with more people. New keys, of nobody else, show with probability
1 - (1 - q + q (1 - p)^K)^k where all of each person's K keys are of that kind.

These are lower ends. The upper end is that of the release without a sample, sampled: it would be
attained if keys with n others had a count of n in every sample. For an n that makes a key likely to
be published N varies by more than (n q (1 - q))^{1/2}, noise that is not in the upper end.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.profiles import concave_hull, polygon_law
from privcalc.losses.term import Term
from privcalc.losses.thresholded.sampled_counts import SampledCountMembers, binomial_chances
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.atomic.profiles import Point
    from privcalc.numerics.arrays import Array

# Numbers of others, and thresholds of tests; deviations of noise that these reach.
PEOPLE, TESTS, FARTHEST = 300, 160, 30.0
# Larger counts of a sample are not looked at, and numbers beyond these are not counted.
MOST_COUNTS, MOST_PEOPLE = 4000, 2.0**30
# Slopes, by their logarithms, for which the best tests are kept.
SLOPES = np.concatenate([[0.0], np.geomspace(1e-4, 40.0, 160)])
# What is added to upper bounds for what underflows.
TINY = 1e-280


def sampled_release(
    noise: tuple[Callable[[Array], tuple[Array, float]], float],
    threshold: float,
    new: Fraction,
    k: int,
    rate: tuple[float, bool],
    *,
    remove: bool,
) -> Term:
    """Return the lower ends of a release that sees a Poisson sample.

    Args:
        noise: bounds P(noise >= x), with a relative error; and about its deviation.
        threshold: the least count that is published, or more.
        new: a lower bound on the probability that new keys alone show.
        k: people who come or go together.
        rate: the sampling probability, and whether it is exact.
        remove: whether P has them.
    """
    points: list[Point] = [(Fraction(0), new)]
    tail, deviation = noise
    most = threshold + FARTHEST * deviation
    if most <= MOST_COUNTS and most / rate[0] <= MOST_PEOPLE:
        points += _tests(tail, (threshold, deviation), k, rate)
    tests = [(y, g) for y, g in concave_hull(points) if 0 < g < 1]
    ends = tests if remove else [(1 - g, 1 - y) for y, g in tests]
    pairs = tuple((g, y) for y, g in [points[0], *tests])
    return Term(lower=polygon_law(ends, above=False), members=SampledCountMembers(pairs, remove))


def _tests(
    tail: Callable[[Array], tuple[Array, float]],
    setting: tuple[float, float],
    k: int,
    rate: tuple[float, bool],
) -> list[Point]:
    """Return points (S_n(c), S_{n+k}(c)), moved to the right and down by their errors.

    Counts of the sample beyond the last of `counts` are left out below, and taken to be above c
    with certainty above.
    """
    threshold, deviation = setting
    q, exact = rate
    last = math.ceil(threshold + FARTHEST * deviation) + 1
    top = threshold + 0.5 * FARTHEST * deviation
    n = np.unique(np.geomspace(1.0, max(2.0, 2.0 * top / q), PEOPLE).round())
    n = np.unique(np.concatenate([[0.0], np.arange(1.0, 9.0), n]))
    counts = np.arange(0.0, 3.0 * last + 200.0)
    steps = np.concatenate([[0.0], np.geomspace(0.02, 0.5 * FARTHEST, TESTS)])
    at = threshold + deviation * steps
    shown, wrong = tail(at[None, :] - counts[1:, None])
    found = []
    for people in (n, n + k):
        chances, off = binomial_chances(people, counts, q, exact=exact)
        error = (wrong + off + UNIT * (2.0 * len(counts) + 16.0)) * 1.01
        sums = chances[:, 1:] @ shown
        # Quotients of chances fall.
        falls = np.maximum(people - counts[-1], 0.0) * q / (counts[-1] * (1.0 - q))
        rest = chances[:, -1] * falls / np.maximum(1.0 - falls, TINY)
        beyond = np.where(falls < 1.0, rest, 1.0)
        found.append((sums, error, beyond[:, None]))
    (before, before_error, beyond), (after, after_error, _) = found
    right = np.minimum(before * (1.0 + before_error) + beyond + TINY, 1.0)
    down = np.maximum(after * (1.0 - after_error), 0.0)
    useful = (down > right) & (right < 1.0)
    if not useful.any():
        return []
    y, g = right[useful], down[useful]
    best = {int(np.argmax(g - math.exp(a) * y)) for a in SLOPES.tolist()}
    best |= {int(np.argmax(g * math.exp(-a) - y)) for a in SLOPES.tolist()}
    # Without the people, what is less likely with them is the complement.
    best |= {int(np.argmax((1.0 - y) - math.exp(a) * (1.0 - g))) for a in SLOPES.tolist()}
    return [(Fraction(float(y[i])), Fraction(float(g[i]))) for i in best]
