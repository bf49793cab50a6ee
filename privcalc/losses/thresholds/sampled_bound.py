"""An upper law of noisy counts above a threshold, of people who are sampled.

Each of a key's n others is in the sample with probability q; one more is asked about. S_n(c) is the
probability that a noisy count of at least c is published (`sampled_counts.py`). For each n all
tests are corners (S_n(c), S_{n+1}(c)), c >= threshold, and (1, 1): likelihood ratios grow with the
published count, and are least where nothing is published. (N is binomial, of which ratios grow with
the count for one more person; the noise is log-concave, so that what is published given N has
growing ratios, too; and so has the mixture, Karlin 1968, chapter 1, the basic composition formula.
A key that is not in the sample publishes nothing, as the least of all counts.) So the corners of
one n are those of a concave function, which between two neighbours of some of them is below the
chords on either side, extended to where they meet.

All n up to N are listed. With more others the published count is made of the number in the sample
alone, with noise that nobody adds to: the pair costs no more than Bin(n + 1, q) against Bin(n, q),
and this no more than the same at N, to which independent people are added. Besides, no n costs more
than the release without a sample does, sampled. So at some slopes a the largest g - a y, which is
the profile at a, is known from above.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.atoms import LOSS_ULPS
from privcalc.losses.atomic.profiles import (
    ONE,
    START,
    ProfileCorner,
    convex_hull,
    law_of_corners,
)
from privcalc.losses.thresholds.release import at_any
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, left
from privcalc.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.thresholds.release import Heights
    from privcalc.numerics.arrays import Array

# Of the mean count, in units of the threshold and the variance of the noise, what N makes of it.
FAR = 8.0
# Products of others and counts in the sample; tests of each number of others; rows at once.
MOST_PRODUCTS, TESTS, ROWS = 20_000_000, 90, 256
# Slopes on either side of 1: logarithms from this part of the largest that counts on.
SLOPES, NEAREST = 90, 1e-3
# Work for a product, as measured, and the part of what is left that one direction may take.
PER_PRODUCT, PART = 0.4, 0.3
# Counts that are omitted, and tests that are, have less than this.
FAINT = 1e-25
SMALLEST = 1e-280


def sampled_bound(
    noise: tuple[Callable[[Array], tuple[Array, float]], float, Heights],
    threshold: float,
    shown: float,
    q: float,
    *,
    remove: bool,
    discrete: bool,
) -> AtomicLaw | None:
    """Return a law above all pairs of a release that sees a Poisson sample.

    Args:
        noise: P(noise >= x) with a relative error, about its deviation, and bounds on the profile
            of one more count.
        threshold: the least count that is published, or less.
        shown: the probability that a new key is published, or more.
        q: sampling probability, or more.
        remove: whether P has the person.
        discrete: whether noise is a whole number.

    Returns:
        The law; None where there is too much to add up.
    """
    tail, deviation, heights = noise
    mean = FAR * (threshold + 2.0 * deviation * deviation)
    counts = math.ceil(mean + 14.0 * math.sqrt(mean) + 80.0)
    most = min(MOST_PRODUCTS, PART * left() / PER_PRODUCT)
    people = math.ceil(min(mean / q, most / counts))
    if people * q < threshold:
        return None
    charge(PER_PRODUCT * people * counts)
    losses = np.geomspace(NEAREST, 1.0, SLOPES) * _largest(heights, shown, q)
    slopes = np.exp(np.concatenate([-losses[::-1], [0.0], losses]))
    whole = np.array([_sampled(heights, shown, q, a, remove=remove) for a in slopes.tolist()])
    steps = np.geomspace(0.1 * deviation, counts + 32.0 * deviation, TESTS - 1)
    places = threshold + np.concatenate([[0.0], steps])
    at: Array = np.unique(np.ceil(places)) if discrete else places
    found = _gained(tail, at, (people, counts), q, slopes, remove=remove, discrete=discrete)
    return _law(slopes, np.minimum(whole, found))


def _largest(heights: Heights, mass: float, q: float) -> float:
    """Return about the loss from where on new keys cost more than old ones."""
    loss = 1e-3
    while heights(loss)[1] > mass and loss < 600.0:
        loss *= 1.05
    return math.log1p(q * math.expm1(min(loss, 600.0)))


def _sampled(heights: Heights, mass: float, q: float, a: float, *, remove: bool) -> float:
    """Return no less than the profile at a of the release without a sample, sampled.

    With R without the person and W with it, that of (1 - q) R + q W against R is q that of W
    against R at (a - 1 + q) / q; of R against it (1 - a (1 - q)) that of R against W at a q over
    that. Old keys have one profile for both orders, and a new key p + (1 - p - b)_+ and
    (1 - b (1 - p))_+ at b.
    """
    scale, b = (q, (a - 1.0 + q) / q) if remove else (1.0 - a * (1.0 - q), a * q)
    if not remove:
        if scale <= 0.0:
            return max(0.0, 1.0 - a)
        b /= scale
    if b <= SMALLEST:
        # Here a - 1 + q may be a unit instead of 0, and H falls by no more than b.
        return (1.0 - a) * (1.0 + 8.0 * UNIT) + (4.0 * UNIT if remove else 0.0)
    # Differences from 1 are off by units of 1.
    room = 64.0 * UNIT * (1.0 + 1.0 / q + 1.0 / scale)
    new = mass + max(0.0, 1.0 - mass - b) if remove else max(0.0, 1.0 - b * (1.0 - mass))
    loss = math.log(b)
    old = at_any(heights, min(loss - room * (1.0 + abs(loss)), 650.0))[1]
    found = scale * (max(old, new) + (room * (1.0 + b) if b < 2.0 else 0.0)) * (1.0 + room)
    return max(found, 1.0 - a) * (1.0 + 8.0 * UNIT)


def _gained(
    tail: Callable[[Array], tuple[Array, float]],
    at: Array,
    sizes: tuple[int, int],
    q: float,
    slopes: Array,
    *,
    remove: bool,
    discrete: bool,
) -> Array:
    """Return what bounds the largest g - a y at each slope, of any number of others.

    Chances of a number of people are formed from those of one fewer, and are off by 3 units more;
    counts beyond the last are taken to be the last one. Both are in what is added.
    """
    people, counts = sizes
    # A place apart for nobody in the sample, of whom nothing is published.
    parts, wrong = _parts(tail, at, counts, discrete=discrete)
    # Of whole numbers nothing is between neighbours, and of what is not published neither.
    closed = np.append(np.diff(at) <= (1.0 if discrete else 0.0), False)
    room = 8.0 * (wrong + UNIT * (3.0 * people + 2.0 * counts + 64.0))
    chances: Array = np.zeros(counts)
    chances[0] = 1.0
    rows: list[Array] = [chances]
    best: Array = np.zeros(len(slopes))
    for n in range(1, people + 2):
        chances = _one_more(chances, q)
        rows.append(chances)
        if len(rows) > ROWS or n == people + 1:
            masses = np.array(rows) @ parts
            y, g = _above(masses[:-1], masses[1:], room, closed, remove=remove)
            best = np.maximum(best, _largest_gains(y, g, slopes))
            rows = rows[-1:]
    after = _one_more(chances, q)
    p, r = (after, chances) if remove else (chances, after)
    more = np.maximum(p[None, :] - slopes[:, None] * r[None, :], 0.0)
    bound = more.sum(axis=1) + room * (p[None, :] * (more > 0.0)).sum(axis=1)
    largest: Array = np.maximum(best, bound) + FAINT
    return largest


def _largest_gains(y: Array, g: Array, slopes: Array) -> Array:
    """Return the largest g - a y at each slope, rounded up: a y to 2 units, differences to one."""
    less = y * (1.0 - 4.0 * UNIT)
    found = np.array([float(np.max(g - a * less)) for a in slopes.tolist()])
    rounded: Array = np.maximum(found, 0.0) * (1.0 + 4.0 * UNIT)
    return rounded


def _one_more(chances: Array, q: float) -> Array:
    """Return the chances of counts with one person more."""
    more: Array = (1.0 - q) * chances
    more[1:] += q * chances[:-1]
    more[-1] += q * chances[-1]
    return more


def _parts(
    tail: Callable[[Array], tuple[Array, float]], at: Array, counts: int, *, discrete: bool
) -> tuple[Array, float]:
    """Return the probabilities of what is published between places, by count, and their error.

    The first is that of nothing, the last that of what is beyond the last place. Each is the
    difference of two tails of the noise, of the upper or of the lower ones, whichever are smaller,
    which are as much larger as the error says.
    """
    x = at[None, :] - np.arange(1.0, counts)[:, None]
    shown, wrong = tail(x)
    # P(noise < x) of a symmetric law.
    hidden, other = tail(1.0 - np.ceil(x) if discrete else -x)
    few = shown[:, :-1] < hidden[:, 1:]
    larger = np.where(few, shown[:, :-1], hidden[:, 1:])
    between = np.where(few, shown[:, :-1] - shown[:, 1:], hidden[:, 1:] - hidden[:, :-1])
    parts: Array = np.zeros((counts, len(at) + 1))
    parts[0, 0] = 1.0
    parts[1:, 0], parts[1:, -1] = hidden[:, 0], shown[:, -1]
    parts[1:, 1:-1] = np.maximum(between, 0.0)
    used = larger > SMALLEST
    lost = float(np.max(larger[used] / np.maximum(between[used], SMALLEST), initial=1.0))
    return parts, (max(wrong, other) + UNIT) * 2.0 * lost


def _above(
    without: Array, present: Array, room: float, closed: NDArray[np.bool_], *, remove: bool
) -> tuple[Array, Array]:
    """Return points above concave functions: corners, and where chords on either side meet.

    Masses are added up from the largest ratios on, and none is a difference, so that the width and
    the rise of every piece are known but for a part of themselves. Slopes are moved by twice that,
    and a larger part of the heights is charged for all that is off (as a function with G(0) >= 0
    that is y (1 + e) instead of y is at most (1 + e) times as large). Where a piece next to one has
    no masses that are doubles, its slope may be any.

    Args:
        without: masses without the person, for each number of others, of nothing, and then of what
            is published between places, the last beyond all.
        present: those with it.
        room: relative error that is charged.
        closed: between which of the places there is none.
        remove: whether P has the person.
    """
    q, p = (without, present) if remove else (present, without)
    alone = np.concatenate([[True], closed])
    if remove:
        q, p, alone = q[:, ::-1], p[:, ::-1], alone[::-1]
    edge = np.zeros((len(q), 1))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = np.where((q > SMALLEST) & (p > SMALLEST), p / q, np.nan)
        left = np.concatenate([edge + np.inf, slope[:, :-1]], axis=1) * (1.0 + room)
        right = np.concatenate([slope[:, 1:], edge], axis=1) * (1.0 - room)
        left, right = np.where(np.isnan(left), np.inf, left), np.where(np.isnan(right), 0.0, right)
        part = np.clip((p - right * q) / (left - right), 0.0, q)
        part = np.where(np.isfinite(part) & (left > right), part, 0.0)
        rise = np.maximum(np.where(part > 0.0, left * part, 0.0), p - right * (q - part))
    rise = np.where(np.isfinite(rise), np.clip(rise, 0.0, p), p)
    part, rise = np.where(alone, 0.0, part), np.where(alone, 0.0, rise)
    y, g = (np.concatenate([edge, np.cumsum(x, axis=1)], axis=1) for x in (q, p))
    xs = np.concatenate([y, y[:, :-1] + part], axis=1)
    heights = np.concatenate([g, g[:, :-1] + rise], axis=1)
    return xs, np.minimum(heights * (1.0 + room), 1.0)


def _law(slopes: Array, heights: Array) -> AtomicLaw:
    """Return the law of the largest profile with these bounds, of which none is below 1 - a."""
    corners = [START]
    for a, height in zip(slopes.tolist(), heights.tolist(), strict=True):
        value = min(ONE, max(Fraction(height), 1 - Fraction(a)))
        corners.append(ProfileCorner(Fraction(math.log(a)), Fraction(a), value))
    return replace(law_of_corners(convex_hull(corners)), loss_units=LOSS_ULPS)
