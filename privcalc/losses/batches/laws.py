"""The laws of one epoch of shuffled batches, above and below, at one use and composed."""

from __future__ import annotations

import math
from bisect import bisect_right
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.allocated import ROUGH_SIZE, ROUGHEST_SIZE, allocated_laws
from privcalc.losses.atomic.atoms import ProvedLaw
from privcalc.losses.atomic.profiles import one_order_law, polygon_law
from privcalc.losses.batches.attack import best_test
from privcalc.losses.batches.swap import SwapBound
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.numerics.normal import gaussian_profile
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import left, remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.batches.slots import Slots
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array

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
MOST_VALUES = 40
PER_VALUE = 6e4
PER_TEST = 1.5e4
# For such v random allocation may have to be known well, if so much work is left.
LITTLE, PLENTY = 0.2, 1e7


def law_above(slots: Slots, v: float, *, remove: bool) -> ProvedLaw:
    """Return a law above one epoch; see `swap.py`.

    Profiles are convex in a = e^epsilon, so that between two points they are below the chord.
    """
    steps = slots.steps
    bound, last = _bound(slots, v), _last(v)
    _kinds().add((slots, v))
    lost = bound.at(last, remove=remove)

    def proved(epsilons: Array) -> tuple[Array, Array]:
        places = _places(steps, v, upper=True)
        found = np.array([_value(bound, places, x, remove=remove) for x in epsilons.tolist()])
        return found, found

    def joined() -> AtomicLaw:
        places = _places(steps, v, upper=True)
        if len(places) < LEAST_POINTS:
            # Of very many kinds none has work enough, and no sampling is above each.
            plain = [(x, gaussian_profile(v, x).upper) for x in _spread(steps, v, POINTS)[:-1]]
            ends = [[*plain, (last, bound.at(last, remove=each))] for each in (remove, not remove)]
        else:
            ends = [
                [(x, bound.at(x, remove=each)) for x in places] for each in (remove, not remove)
            ]
        points, others = ([(Fraction(x), Fraction(y)) for x, y in each] for each in ends)
        return one_order_law(points, others)

    name = "batches above", slots, v, remove
    return ProvedLaw(lost, last, name, proved, joined, GaussianLaw(v), one_sided=True)


def _value(bound: SwapBound, places: Sequence[float], epsilon: float, *, remove: bool) -> float:
    """Return an upper bound at one epsilon: the bound itself, or a chord of it."""
    last = places[-1]
    if epsilon >= last:
        return bound.at(last, remove=remove)
    known = bound.known(remove=remove)
    if epsilon < places[0]:
        return min(
            bound.at(epsilon, remove=remove), _about_zero(bound, places[0], epsilon, remove=remove)
        )
    if epsilon in known or len(known) < MOST_VALUES:
        return bound.at(epsilon, remove=remove)
    points = sorted({*known, *places})
    i = bisect_right(points, epsilon)
    x, y = points[i - 1], points[i]
    share = math.expm1(epsilon - x) / math.expm1(y - x)
    low, high = (bound.at(each, remove=remove) for each in (y, x))
    return high * (1.0 - share) + low * share + 64.0 * UNIT * high


def _about_zero(bound: SwapBound, x: float, epsilon: float, *, remove: bool) -> float:
    """Return the chord from 1 / a to a = e^x, at e^epsilon, the first from the other order.

    H(1 / a) = 1 - 1 / a + R(a) / a. A value that is off by a few units is raised by more.
    """
    after, fall = bound.at(x, remove=remove), math.exp(-x)
    before = -math.expm1(-x) + fall * bound.at(x, remove=not remove)
    share = (math.expm1(epsilon) - math.expm1(-x)) / (math.expm1(x) - math.expm1(-x))
    return before * (1.0 - share) + after * share + 64.0 * UNIT * (before + after)


def law_below(slots: Slots, v: float, *, remove: bool) -> ProvedLaw:
    """Return a law below one epoch; see `attack.py`.

    The alternative is random allocation, which hardly ever costs more: on a coarse lattice, but
    where there is so much noise that both cost about the same. There is none where records may be
    in no slot.

    Args:
        slots: t of them, of any sizes, of which the record is in one.
        v: 1 / sigma, or less.
        remove: whether P has the record.
    """
    steps, skipped = slots.steps, slots.skipped
    other: LossLaw | None = None
    size = ROUGH_SIZE if v <= LITTLE and left() >= PLENTY else ROUGHEST_SIZE
    if not skipped:
        with suppress(NotCertifiedError):
            laws = allocated_laws(steps, v, lower=True, size=size)
            other = laws["remove" if remove else "add"]
    last = _last(v)

    def proved(epsilons: Array) -> tuple[Array, Array]:
        ends = [_tested(steps, v, x, remove=remove, skipped=skipped) for x in epsilons.tolist()]
        found = np.array(ends).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def joined() -> AtomicLaw:
        places = _places(steps, v, upper=False)
        points = []
        for x in places:
            p, q = _test(steps, v, x, remove=remove, skipped=skipped)
            points.append((Fraction(q), Fraction(p)))
            p, q = _test(steps, v, x, remove=not remove, skipped=skipped)
            points.append((1 - Fraction(p), 1 - Fraction(q)))
        return polygon_law(points, above=False)

    name = "batches below", steps, skipped, v, remove
    return ProvedLaw(0.0, last, name, proved, joined, other, one_sided=True)


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


@remembered(1)
def _kinds() -> set[tuple[Slots, float]]:
    """Return what is asked about in one question, between which work is divided."""
    return set()


@remembered(2)
def _served(*, upper: bool) -> set[tuple[int, float]]:
    """Return which of them have had their part."""
    del upper
    return set()


# Both orders of the data sets have the same, although one is asked before the other.
@remembered(1000)
def _places(steps: int, v: float, *, upper: bool) -> tuple[float, ...]:
    """Return epsilons up to the last, as many as there is work for."""
    most, cost = (POINTS, PER_VALUE) if upper else (TESTS, PER_TEST)
    done = _served(upper=upper)
    cost *= 2.0 * max(0.6, (steps / 1000.0) ** 0.3) * max(1, len(_kinds()) - len(done))
    done.add((steps, v))
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
