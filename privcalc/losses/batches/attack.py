"""Shuffled batches from below: all other records pull the other way.

Let every other record be -v in one direction, in units of sigma, and the record be +v. With b
records in each of the t slots, a slot without the record has the mean -b v. The slot of the record,
drawn evenly, has -(b - 2) v with it, and -(b - 1) v where its place is empty. After a shift

    P = (1 / t) sum_i N(2 v e_i, I),  Q = (1 / t) sum_i N(v e_i, I),

for every b >= 1: exactly the outputs on one pair of neighbouring data sets. Independent epochs give
independent outputs. Where the others are 0 this is random allocation, with v and 0 for 2 v and v;
that costs less wherever we looked.

Tests. By a map, which may draw lots, from the output z of a slot to a lattice, the event A that the
sum of all t numbers is positive is a test, whose probabilities are below the curve of all tests.
The map takes z to the number d = (u_2 - alpha u_1)(z), u_a(z) the density of N(a v, 1) over N(0,
1), between two points of the lattice by lot, so that it is nearly the best one: (P - alpha Q)(A)
differs from the profile at alpha to second order. As A is symmetric in the slots, its probabilities
are those of the record in the first slot: with masses p_k and q_k of its number k, and S the sum of
t - 1 numbers under N(0, 1),

    P(A) = sum_k p_k P(S > -k),  Q(A) = sum_k q_k P(S > -k),

the first rounded down and the second up. Where the orders are exchanged, d = u_1 - alpha u_2.

Slots of different sizes. P and Q have weights proportional to these. Whoever draws the order of the
slots anew has even weights: the pair above, of as many slots, is below it. (It is the least of all
such pairs, but in a loop with one smaller batch of many hardly less.)

Records in no slot. With probability rho the record is in none, and P and Q are (1 - rho) times what
they were and rho N(0, I), so that A has rho times its probability under N(0, I) more,

    N(A) = sum_k n_k P(S > -k),

n_k the masses under N(0, 1), and the best d is less by alpha' = (alpha - 1) rho / (1 - rho).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from privcalc.losses.batches.cells import TAIL_ERROR, slot_cells
from privcalc.losses.batches.sums import TiltedSums, plan_sums
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

# Points of a lattice, for each of the root of t: about twenty for one deviation of a number.
POINTS = 500.0
# P - alpha Q is so much smaller than Chernoff's bound, in logs: what is folded counts by it.
DIGITS = 5.0


def best_test(
    steps: int, v: float, epsilon: float, *, remove: bool, skipped: float = 0.0
) -> tuple[float, float]:
    """Return a lower bound on the P-mass, and an upper bound on the Q-mass, of one event.

    What is beyond the cells goes where the nearest cell does.

    Args:
        steps: t >= 2.
        v: 1 / sigma.
        epsilon: log alpha; the event is about that of larger losses.
        remove: whether P has the record.
        skipped: rho < 1, up to three units.
    """
    cells = slot_cells(v)
    alpha = math.exp(epsilon)
    first, other = (2, 1) if remove else (1, 2)
    base, p, q = (cells.masses[i].copy() for i in (0, first, other))
    d = (p - alpha * q) / base - (alpha - 1.0) * skipped / (1.0 - skipped)
    plan = plan_sums((d, base, p), steps - 1, (0.0, 0.0), POINTS, epsilon + DIGITS)
    if plan.faint:
        return 0.0, 0.0
    for masses, a in ((base, 0.0), (q, float(other))):
        masses[0] += ndtr(cells.edges[0] - a * v)
        masses[-1] += ndtr(a * v - cells.edges[-1])
    # The window has to hold all numbers with their signs changed.
    highest = min(plan.cut, -plan.low - 4.0 * plan.step)
    place = np.clip(d, -plan.deep, highest) / plan.step
    index = np.floor(place).astype(np.intp)
    share = place - index
    lowest = int(index.min())
    both = np.concatenate([index, index + 1]) - lowest

    def drawn(masses: Array) -> Array:
        weights = np.concatenate([masses * (1.0 - share), masses * share])
        return np.asarray(np.bincount(both, weights), dtype=np.float64)

    base, p, q = drawn(base), drawn(p), drawn(q)
    error = float(cells.error.max()) + TAIL_ERROR + UNIT * (2.0 * len(cells.edges) + 16.0)
    sums = TiltedSums(plan, lowest, base, error)
    low, high = sums.tails(steps - 1, -np.arange(lowest, lowest + len(base)))
    least, most = float((p * low).sum()), float((q * high).sum())
    if skipped:
        least = (1.0 - skipped) * least + skipped * float((base * low).sum())
        most = (1.0 - skipped) * most + skipped * float((base * high).sum())
        error += UNIT * (8.0 + 4.0 / (1.0 - skipped))
    return least * (1.0 - error), min(1.0, most * (1.0 + error))
