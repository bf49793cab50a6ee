"""A Poisson sample with a cap among records that pull the other way: a lower end.

Of the n records of the larger data set each is drawn with probability q, and of more than B that
are drawn a random B are kept; the sum of what is kept is published with N(0, 1). The record in
question adds +mu, each of the others -mu. Let s ~ Binomial(n - 1, q) of the others be drawn.
Without the record the output is N(-mu min(s, B), 1). With it, and s < B, it is that, or with
probability q N(-mu (s - 1), 1); with it, and s >= B, with probability q B / (s + 1) the record
takes the place of another, N(-mu (B - 2), 1). So both laws are mixtures of unit normals at
multiples of mu.

Which of finitely many intervals the output is in is post-processing. The events of the most likely
intervals together, in the order of their likelihood ratios, are tests, whose pair is dominated by
the two mixtures (`likeliest_law`), and composes. Where the cap nearly always binds this is about
the upper end that is proved of all data sets; where it does not, s itself is noise, and others that
add nothing cost more.

Rounding. Places are counted from -mu B, so that those that matter are small multiples. Edges are
the same numbers for all of them; z = mu place - edge is off by 3 units of its terms, which moves
the log of a normal tail by (|z| + 1) times that. The mass between two edges is the difference of
the tails on its own side, of which the larger exceeds the smaller by a factor of at least 1 +
SPACED / 2, so that relative errors grow by 2 / SPACED + 1 at most. Sums are of positive terms. All
of it is far below SLACK, by which masses under P are lowered and those under Q raised; what the
window of s truncates is added to the latter. The double for q is off by 2 units, which moves
q^s (1 - q)^(n - 1 - s) by s of these and by n - 1 - s times those of 1 - q, that is 2 q / (1 - q)
units, and the chance of no change by as much once: that is added to SLACK, and refused beyond
MOST_OFF.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.profiles import likeliest_law
from privcalc.losses.shuffled import TRUNCATED, window
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge, remembered

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array

# How far apart edges of intervals are, and how far beyond the outermost places that matter they go.
SPACED, BEYOND = 0.05, 9.0
# Relative error that is allowed for probabilities.
SLACK = 1e-8
# The most that the double for q may move them.
MOST_OFF = 1e-6
# Of more different sums, or where the cap binds less often than this, others that add nothing cost
# more in all that was tried.
MOST_SUMS, LEAST_BINDING = 400, 0.05
MOST_EDGES, FARTHEST = 4_000, 1e4
# Work of a normal tail.
PER_TAIL = 0.3


@remembered(30)
def opposite_law(
    mu: float, sample: tuple[float, int, int], other: LossLaw, *, remove: bool
) -> LossLaw | None:
    """Return a law below that of the sample whose other records pull the other way.

    Args:
        mu: what one record adds, in deviations of the noise; or a little less.
        sample: q in (0, 1] to 2 units, B < n, and n.
        other: the law of a record among others that add nothing, which is below as well.
        remove: whether P has the record.

    Returns:
        The law, with `other` beside it; None where it would prove less for certain.
    """
    q, most, size = sample
    if not 0.0 < q <= 1.0:
        return None
    everybody: tuple[Array, Array, float] = np.array([size - 1.0]), np.ones(1), 0.0
    drawn, masses, wrong = window(size - 1, q, 1.0 - q) if q < 1.0 else everybody
    free = drawn < most
    binding = float(masses[~free].sum())
    off = 0.0
    if q < 1.0:
        rest = size - 1.0 - float(drawn[0])
        off = 2.0 * UNIT * (float(drawn[-1]) + 1.0 + (rest + 2.0) * q / (1.0 - q)) * MARGIN
    if not off < MOST_OFF:
        return None
    if binding < LEAST_BINDING or int(free.sum()) > MOST_SUMS or not wrong < 1e-9:
        return None
    # Places are counted from B others, in multiples of mu, upward.
    places, without, with_it = _mixtures(drawn, masses, (q, most))
    last = 2.0 if not free.any() else min(float(places.max()), 3.0 + BEYOND / mu)
    edges = np.arange(-BEYOND, last * mu + BEYOND, SPACED)
    charge(PER_TAIL * len(edges) * len(places) * 2.0)
    if len(edges) > MOST_EDGES or not mu * float(places.max()) < FARTHEST:
        return None
    between = _between(mu * places[:, None] - edges)
    have: Array = with_it @ between
    have_not: Array = without @ between
    pair = (have, have_not) if remove else (have_not, have)
    return likeliest_law(pair, SLACK + off, 2.0 * TRUNCATED, other)


def _between(z: Array) -> Array:
    """Return the masses that normals have before, between and beyond edges; a row for each.

    Args:
        z: how far each mean is above each of the increasing edges.
    """
    from scipy.special import ndtr

    below, above = ndtr(-z), ndtr(z)
    inner = np.where(z[:, 1:] > 0.0, np.diff(below, axis=1), -np.diff(above, axis=1))
    return np.concatenate([below[:, :1], inner, above[:, -1:]], axis=1)


def _mixtures(drawn: Array, masses: Array, sample: tuple[float, int]) -> tuple[Array, Array, Array]:
    """Return the places of normals, and their weights without the record and with it."""
    q, most = sample
    kept = np.minimum(drawn, most)
    free = drawn < most
    chance = np.where(free, q, q * most / (drawn + 1.0))
    moved = np.where(free, 1.0, 2.0)
    places = most - kept
    low, high = int(places.min()), int((places + moved).max())
    without, with_it = np.zeros(high - low + 1), np.zeros(high - low + 1)
    at = (places - low).astype(np.intp)
    np.add.at(without, at, masses)
    np.add.at(with_it, at, masses * (1.0 - chance))
    np.add.at(with_it, at + moved.astype(np.intp), masses * chance)
    return np.arange(low, high + 1.0), without, with_it
