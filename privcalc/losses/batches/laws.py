"""The laws of one epoch of shuffled batches, above and below, at one use and composed."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.atoms import ProvedLaw
from privcalc.losses.atomic.profiles import law_of_tests, one_order_law
from privcalc.losses.batches.attack import best_test
from privcalc.losses.batches.swap import SwapBound
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.numerics.normal import gaussian_profile
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import left, remembered

if TYPE_CHECKING:
    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.batches.slots import Slots
    from privcalc.numerics.rounding import Array

# A profile of one use is known up to where no sampling leaves delta about Phi(-REACH).
REACH = 9.3
# Points of a law, in each order: at most, at least, where tests are the points, and at least then.
POINTS, LEAST_POINTS, TESTS, FEWEST = 42, 3, 90, 2
# Points are evenly spread for so many deviations of the loss, then geometrically until FAR of them;
# this part of them lies beyond.
SPREADS, FAR, BEYOND = 3.0, 15.0, 0.36
# What part of the work that is left points may take.
PART = 0.8
# Values of one use that are worked out; more are read off between these.
MOST_VALUES = 100
PER_VALUE = 6e4
PER_TEST = 1.5e4


def law_above(slots: Slots, v: float, *, remove: bool) -> ProvedLaw:
    """Return a law above one epoch; see `swap.py`.

    Profiles are convex in a = e^epsilon, so that they are below that of the law through points.
    """
    bound, last = _bound(slots, v), _last(v)
    known = bound.known(remove=remove)

    def value(epsilon: float) -> float:
        """Return the bound, or a chord: from 1 / a on, H(1 / a) = 1 - 1 / a + R(a) / a."""
        if epsilon >= last:
            return bound.at(last, remove=remove)
        places = _places(slots.steps, v, upper=True)
        i = bisect_right(places, epsilon)
        own = 1.0
        if epsilon in known or len(known) < MOST_VALUES:
            own = bound.at(epsilon, remove=remove)
            if i:
                return own
        x, y = places[i - 1] if i else -places[0], places[i]
        high, low = (bound.at(abs(each), remove=remove == (each > 0.0)) for each in (x, y))
        if not i:
            high = -math.expm1(x) + math.exp(x) * high
        share = math.expm1(epsilon - x) / math.expm1(y - x)
        return min(own, (high * (1.0 - share) + low * share) * (1.0 + 64.0 * UNIT))

    def proved(epsilons: Array) -> tuple[Array, Array]:
        found = np.array([value(x) for x in epsilons.tolist()])
        return found, found

    def joined() -> AtomicLaw:
        places = _places(slots.steps, v, upper=True)
        orders = remove, not remove
        if len(places) < LEAST_POINTS:
            # Of very many kinds none has work enough, and no sampling is above each.
            plain = [(x, gaussian_profile(v, x).upper) for x in _spread(slots.steps, v, POINTS)]
            ends = [[*plain[:-1], (last, bound.at(last, remove=each))] for each in orders]
        else:
            ends = [[(x, bound.at(x, remove=each)) for x in places] for each in orders]
        points, others = ([(Fraction(x), Fraction(y)) for x, y in each] for each in ends)
        return one_order_law(points, others)

    lost = bound.at(last, remove=remove)
    name = "batches above", slots, v, remove
    return ProvedLaw(lost, last, name, proved, joined, GaussianLaw(v), one_sided=True)


def law_below(slots: Slots, v: float, *, remove: bool) -> ProvedLaw:
    """Return a law below one epoch; see `attack.py`.

    Args:
        slots: t of them, of any sizes, of which the record is in one.
        v: 1 / sigma, or less.
        remove: whether P has the record.
    """
    steps, skipped = slots.steps, slots.skipped

    def proved(epsilons: Array) -> tuple[Array, Array]:
        ends = [_tested(steps, v, x, remove=remove, skipped=skipped) for x in epsilons.tolist()]
        found = np.array(ends).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def joined() -> AtomicLaw:
        places = _places(steps, v, upper=False)
        ends = [
            [_test(steps, v, x, remove=each, skipped=skipped) for x in places]
            for each in (True, False)
        ]
        (p, q), (back_p, back_q) = (np.array(each).T for each in ends)
        # In the other order a test is one that the event does not happen.
        p, q = np.append(p, (1.0 - back_q) * (1.0 - UNIT)), np.append(q, 1.0 - back_p + UNIT)
        return law_of_tests(p, q, both=False, reverse=not remove)

    name = "batches below", steps, skipped, v, remove
    return ProvedLaw(0.0, _last(v), name, proved, joined, one_sided=True)


def _tested(
    steps: int, v: float, epsilon: float, *, remove: bool, skipped: float
) -> tuple[float, float]:
    p, q = _test(steps, v, epsilon, remove=remove, skipped=skipped)
    other = math.exp(epsilon) * q
    wrong = 8.0 * UNIT * (p + other * (1.0 + epsilon))
    return max(0.0, p - other - wrong), max(0.0, p - other + wrong)


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
    """Return epsilons up to the last, as many as there is work for."""
    most, cost = (POINTS, PER_VALUE) if upper else (TESTS, PER_TEST)
    cost *= 2.0 * max(0.6, (steps / 1000.0) ** 0.3)
    return _spread(steps, v, int(min(most, max(FEWEST, PART * left() / cost))))


def _spread(steps: int, v: float, count: int) -> tuple[float, ...]:
    """Return so many epsilons, evenly spread about 0 and geometrically beyond.

    The spread of the loss is about that of the pair of `attack.py`, by its chi-square divergence.
    """
    square, last = v * v, _last(v)
    spread = math.exp(4.0 * square) - 2.0 * math.exp(2.0 * square) + math.exp(square)
    spread = math.sqrt(spread / steps)
    near, middle = SPREADS * spread, FAR * spread
    if middle >= 0.7 * last:
        near, middle = min(near, 0.3 * last), last
    beyond = 0 if middle == last else int(count * BEYOND)
    parts = np.arange(1, count - beyond + 1) / (count - beyond)
    places = near * np.sinh(math.asinh(middle / near) * parts)
    if beyond:
        places = np.append(places, np.geomspace(middle, last, beyond + 1)[1:])
    return (*places[:-1].tolist(), last)
