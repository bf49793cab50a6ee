"""Shuffled batches of Gaussian noise: a permuted data set in t batches of b records.

Until now such batches were between random allocation, as if the other records were zero, and no
sampling (Chua et al. 2024, arXiv:2411.04205). New, as far as we know, are the pair in which the
others pull the other way, with the exact profile by one convolution, and an upper end below no
sampling that holds for adaptive steps, by a swap from the first slot (`batches_swap.py`).

From below: all other records pull the other way.

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
from bisect import bisect_right
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from privcalc.losses.atoms import ProvedLaw
from privcalc.losses.batches_swap import Slots, SwapBound
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.lattice_sums import TAIL_ERROR, LatticeSums, plan_sums, slot_cells
from privcalc.losses.profiles import law_of_tests, one_order_law
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import left, remembered

if TYPE_CHECKING:
    from privcalc.losses.atoms import AtomicLaw
    from privcalc.numerics.rounding import Array


# Points of a lattice, for each of the root of t: about twenty for one deviation of a number.
LATTICE_POINTS = 500.0
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
    plan = plan_sums((d, base, p), steps - 1, (0.0, 0.0), LATTICE_POINTS, epsilon + DIGITS)
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
    sums = LatticeSums.planned(plan, lowest, base, error)
    low, high = sums.tails(steps - 1, -np.arange(lowest, lowest + len(base)))
    least, most = float((p * low).sum()), float((q * high).sum())
    if skipped:
        least = (1.0 - skipped) * least + skipped * float((base * low).sum())
        most = (1.0 - skipped) * most + skipped * float((base * high).sum())
        error += UNIT * (8.0 + 4.0 / (1.0 - skipped))
    return least * (1.0 - error), min(1.0, most * (1.0 + error))


# A profile of one use is known up to where no sampling leaves delta about Phi(-REACH).
REACH = 9.3
# Points of a law, in each order: of bounds, of tests, and of either at least.
POINTS, TESTS, FEWEST = 42, 90, 2
# Points are evenly spread for so many deviations of the loss, then geometrically; this part of them
# lies beyond FAR, where there is hardly any mass (with none, upper ends are 2 to 4 % higher).
SPREADS, FAR, BEYOND = 3.0, 15.0, 0.36
# What part of the work that is left points may take.
PART = 0.8
# Values of one use that are worked out; more are read off between these.
MOST_VALUES = 200
PER_VALUE = 6e4
PER_TEST = 1.5e4


def law_above(slots: Slots, v: float, *, remove: bool) -> ProvedLaw:
    """Return a law above one epoch; see `batches_swap.py`.

    Profiles are convex in a = e^epsilon, so that they are below that of the law through points.
    """
    bound, last = _bound(slots, v), _last(v)

    def value(epsilon: float) -> float:
        """Return the bound, or a chord where many were worked out."""
        if epsilon >= last:
            return bound.at(last, remove=remove)
        places = _places(slots.steps, v, upper=True)
        i = bisect_right(places, epsilon)
        if not i or (epsilon, remove) in bound.known or len(bound.known) < MOST_VALUES:
            return bound.at(epsilon, remove=remove)
        x, y = places[i - 1], places[i]
        high, low = (bound.at(each, remove=remove) for each in (x, y))
        share = math.expm1(epsilon - x) / math.expm1(y - x)
        return (high * (1.0 - share) + low * share) * (1.0 + 64.0 * UNIT)

    def proved(epsilons: Array) -> tuple[Array, Array]:
        found = np.array([value(x) for x in epsilons.tolist()])
        return found, found

    def joined() -> AtomicLaw:
        places = _places(slots.steps, v, upper=True)
        points, others = (
            [(Fraction(x), Fraction(bound.at(x, remove=each))) for x in places]
            for each in (remove, not remove)
        )
        return one_order_law(points, others)

    lost = bound.at(last, remove=remove)
    name = "batches above", slots, v, remove
    return ProvedLaw(lost, last, name, proved, joined, GaussianLaw(v), one_sided=True)


def law_below(slots: Slots, v: float, *, remove: bool) -> ProvedLaw:
    """Return a law below one epoch.

    Args:
        slots: t of them, of any sizes, of which the record is in one.
        v: 1 / sigma, or less.
        remove: whether P has the record.
    """
    steps, skipped = slots.steps, slots.skipped

    def proved(epsilons: Array) -> tuple[Array, Array]:
        """Return what the test for each epsilon proves, or the best of those for the places."""
        known = _known_tests(steps, v, remove=remove, skipped=skipped)
        ends = np.empty((2, len(epsilons)))
        for i, epsilon in enumerate(epsilons.tolist()):
            if epsilon not in known and len(known) < MOST_VALUES:
                known[epsilon] = _test(steps, v, epsilon, remove=remove, skipped=skipped)
            one = known.get(epsilon)
            p, q = tests(remove=remove) if one is None else np.array([one]).T
            other = math.exp(epsilon) * q
            wrong = 8.0 * UNIT * (p + other * (1.0 + epsilon))
            ends[:, i] = [max(0.0, float((p - other + x).max())) for x in (-wrong, wrong)]
        return ends[0], ends[1]

    def tests(*, remove: bool) -> Array:
        return _tests(steps, v, remove=remove, skipped=skipped)

    def joined() -> AtomicLaw:
        (p, q), (back_p, back_q) = (tests(remove=each) for each in (True, False))
        # In the other order a test is one that the event does not happen.
        p, q = np.append(p, (1.0 - back_q) * (1.0 - UNIT)), np.append(q, 1.0 - back_p + UNIT)
        return law_of_tests(p, q, both=False, reverse=not remove)

    name = "batches below", steps, skipped, v, remove
    return ProvedLaw(0.0, _last(v), name, proved, joined, one_sided=True)


# Each is a test at every epsilon.
@remembered(40)
def _known_tests(
    steps: int, v: float, *, remove: bool, skipped: float
) -> dict[float, tuple[float, float]]:
    """Return the tests that single epsilons were asked for with."""
    del steps, v, remove, skipped
    return {}


@remembered(40)
def _tests(steps: int, v: float, *, remove: bool, skipped: float) -> Array:
    """Return probabilities of tests that serve all epsilons, of shape (2, n)."""
    places = _places(steps, v, upper=False)
    return np.array([_test(steps, v, x, remove=remove, skipped=skipped) for x in places]).T


@remembered(10_000)
def _test(
    steps: int, v: float, epsilon: float, *, remove: bool, skipped: float
) -> tuple[float, float]:
    return best_test(steps, v, epsilon, remove=remove, skipped=skipped)


# Both directions share it, and all kinds are asked in one direction before the other.
@remembered(40)
def _bound(slots: Slots, v: float) -> SwapBound:
    return SwapBound(slots, v)


def _last(v: float) -> float:
    return v * (0.5 * v + REACH)


# Both orders of the data sets have the same, although one is asked before the other.
@remembered(1000)
def _places(steps: int, v: float, *, upper: bool) -> tuple[float, ...]:
    """Return epsilons up to the last, as many as there is work for.

    They are evenly spread about 0 and geometrically beyond; the spread of the loss is about that of
    the pair above, by its chi-square divergence.
    """
    most, cost = (POINTS, PER_VALUE) if upper else (TESTS, PER_TEST)
    cost *= 2.0 * max(0.6, (steps / 1000.0) ** 0.3)
    count = int(min(most, max(FEWEST, PART * left() / cost)))
    square, last = v * v, _last(v)
    spread = math.exp(4.0 * square) - 2.0 * math.exp(2.0 * square) + math.exp(square)
    spread = math.sqrt(spread / steps)
    near, middle = min(SPREADS * spread, 0.3 * last), min(FAR * spread, last)
    beyond = int(count * BEYOND) if middle < last else 0
    parts = np.arange(1, count - beyond + 1) / (count - beyond)
    places = near * np.sinh(math.asinh(middle / near) * parts)
    further = np.geomspace(middle, last, beyond + 1)[1:]
    return (*np.append(places, further)[:-1].tolist(), last)
