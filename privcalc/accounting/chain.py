"""Guarantees along chains of neighbours: replacing a record, and groups, where no pair is known.

H_{ab}(P || R) <= H_a(P || Q) + a H_b(Q || R) for all a, b > 0: P(A) <= a Q(A) + H_a(P || Q), and
Q(A) <= b R(A) + H_b(Q || R). So two steps with profiles d1 and d2 have, at every split of epsilon,

    delta(e1 + e2) <= d1(e1) + e^{e1} d2(e2),

and k equal steps delta(k e) <= d(e) (1 + e^e + ... + e^{(k-1) e}). These bounds hold for
every mechanism; nothing attains them in general.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.arrays import Array

# Splits of epsilon that are tried for two different steps.
SPLITS = 400
# What the few roundings of a sum and its exponentials may add, relatively.
SLACK = 1.0 + 1e-12
BISECTIONS = 200


@record
class Steps:
    """Upper bounds on a profile at some epsilons, and what follows between them.

    A profile does not increase, and is convex in e^epsilon: between two points it is at most its
    chord there, and beyond the last at most its value there.

    Attributes:
        epsilons: increasing, from 0.
        deltas: proved upper bounds there.
    """

    epsilons: Array
    deltas: Array

    def upper(self, epsilons: Array) -> Array:
        """Return upper bounds at epsilons >= 0.

        The weights of a chord are formed from differences of exponentials relative to its ends,
        off by a few units of 1 + |epsilon|.
        """
        index = np.searchsorted(self.epsilons, epsilons, side="right") - 1
        left = np.clip(index, 0, len(self.epsilons) - 2)
        start, end = self.epsilons[left], self.epsilons[left + 1]
        # Beyond the last point the value there holds.
        ahead = np.minimum(np.maximum(epsilons - start, 0.0), end - start)
        gap = end - start
        # (e^ahead - 1) / (e^gap - 1), without exponentials that are no doubles.
        share = np.exp(ahead - gap) * np.expm1(-ahead) / np.expm1(-gap)
        share = np.clip(share, 0.0, 1.0)
        chord: Array = self.deltas[left] + share * (self.deltas[left + 1] - self.deltas[left])
        room = 1e-12 * (1.0 + epsilons) * self.deltas[left]
        return np.minimum(self.deltas[left], chord + room)


def replaced_delta(first: Steps, second: Steps, epsilon: float) -> float:
    """Return an upper bound on delta where two steps follow one another, at the best split.

    Args:
        first: from the first data set to the one between.
        second: from there to the last.
        epsilon: where delta is asked, >= 0.
    """
    parts = np.linspace(0.0, epsilon, SPLITS)
    # The two parts add up to at most epsilon; what rounding loses is lost on the safe side.
    rest = np.maximum(np.nextafter(epsilon - parts, -np.inf), 0.0)
    total = first.upper(parts) + np.exp(np.minimum(parts, 700.0)) * second.upper(rest)
    return min(1.0, float(total.min()) * SLACK)


def grouped_delta(step: Steps, records: int, epsilon: float) -> float:
    """Return an upper bound on delta for a group of records, along a chain of equal steps.

    Args:
        step: the profile for one record, in the worse direction.
        records: size of the group.
        epsilon: where delta is asked, >= 0.
    """
    last = max(0.0, math.nextafter(epsilon / records, 0.0))
    # delta does not increase: what holds at a smaller epsilon holds here.
    parts = np.append(step.epsilons[step.epsilons < last], last)
    deltas = step.upper(parts)
    if deltas[-1] == 0.0:
        return 0.0
    pairs = zip(deltas.tolist(), parts.tolist(), strict=True)
    least: float = min(d * geometric(e, records) for d, e in pairs if d > 0.0)
    return min(1.0, least * SLACK)


def geometric(epsilon: float, terms: int) -> float:
    """Return 1 + e^epsilon + ... + e^{(terms - 1) epsilon} to about 1e-14; it may be infinite."""
    if terms * epsilon > 700.0:
        return math.inf
    if epsilon == 0.0:
        return float(terms)
    return math.expm1(terms * epsilon) / math.expm1(epsilon)


def least_epsilon(delta_at: Callable[[float], float], delta: float, start: float) -> float:
    """Return an epsilon with a proved delta_at(epsilon) <= delta, near the least one.

    Args:
        delta_at: upper bounds on delta; need not be monotone where rounding shows.
        delta: the target.
        start: a first guess above 0.

    Returns:
        Infinity if no epsilon up to 1e6 is proved.
    """
    if delta_at(0.0) <= delta:
        return 0.0
    high = start
    while not delta_at(high) <= delta:
        high *= 2.0
        if high > 1e6:
            return math.inf
    low = 0.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if high - low <= 1e-10 * high:
            break
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high
