"""Points of a certified privacy profile of selection, for use inside compositions.

The privacy profile of selection is bounded, in both orders of neighbours, by the larger of two
functions delta(epsilon). Finitely many points of it are a guarantee by themselves: the largest
privacy profile through them is the lower convex hull in a = e^epsilon
(`losses/atomic/profiles.py`), which is above every profile that meets the points, and what is
left at the last point is taken for infinite loss. So any choice of points is valid; here it is one
with which the hull is close to the function, relatively, in the body closer than far out in the
tail.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import left
from privcalc.selection.pointwise.refinement import cuts, parts, triangles

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.arrays import Array

# Deltas below this are not resolved; none that is positive may be below 1e-300.
SMALLEST, LEAST = 1e-30, 1e-300
LARGEST_EPSILON = 600.0
# How much a delta may be above what remains at infinity, in parts of that.
NEAR = 1e-3
# Relative errors of delta count by this power of it.
POWER = 0.05
# What they make of epsilon, relatively, is less by the steepness |d log delta / d log epsilon|,
# where that is between these; an epsilon below SMALL_EPSILON counts as that.
STEEPNESS, SMALL_EPSILON = (1.0, 30.0), 0.1
FIRST, ROUNDS = 40, 4
# Where the end is looked for.
FIRST_STEP, GROWTH, STEPS = 1e-3, 1.5, 34


@np.errstate(all="ignore")
def node_points(
    evaluate: Callable[[Array], Array], epsilons: Array, *, smallest: float = 1.0, count: int = 0
) -> tuple[tuple[float, Fraction], ...]:
    """Return points (epsilon, delta) with epsilon >= 0 increasing, for `profile_law`.

    By symmetry of the two orders a point at -epsilon is one at epsilon, too:
    H_{1/a} = 1 - 1/a + H_a / a. Those are used where they are better.

    Args:
        evaluate: certified upper ends of delta at any real epsilon, in both orders, shape (n,).
        epsilons: where to begin, increasing from 0.
        smallest: a delta at which the tail may end.
        count: about how many points; where the hull is farthest from the function there are more.
    """
    deltas = _smoothed(evaluate(epsilons))
    mirrored = _mirrored(evaluate, epsilons)
    # Whether the other sign is of any use is seen here, once and for all.
    both = bool((mirrored < deltas * (1.0 - NEAR)).any())
    deltas = _smoothed(np.minimum(deltas, mirrored))
    rounds = ROUNDS if count > len(epsilons) else 0
    for number in range(1, rounds + 1):
        wanted = len(epsilons) + (count - len(epsilons)) * number / rounds
        heights, tips = triangles(epsilons, deltas)
        size = np.maximum(deltas[:-1], smallest)
        errors = heights / size * size**POWER / _steepness(epsilons, deltas)
        places = np.setdiff1d(_more(epsilons, errors, tips, int(wanted)), epsilons)
        if not len(places) or left() <= 0.0:
            break
        found = evaluate(places)
        if both:
            found = np.minimum(found, _mirrored(evaluate, places))
        order = np.argsort(np.concatenate([epsilons, places]), kind="stable")
        epsilons = np.concatenate([epsilons, places])[order]
        deltas = _smoothed(np.concatenate([deltas, found])[order])
    kept = np.append(True, np.diff(deltas) < 0.0)
    return tuple(
        (float(epsilon), Fraction(float(delta)))
        for epsilon, delta in zip(epsilons[kept], deltas[kept], strict=True)
    )


def _steepness(epsilons: Array, deltas: Array) -> Array:
    """Return about |d log delta / d log epsilon| between points, within STEEPNESS."""
    fall = -np.diff(np.log(np.maximum(deltas, LEAST)))
    steepness: Array = np.maximum(epsilons[1:], SMALL_EPSILON) * fall / np.diff(epsilons)
    return np.clip(steepness, *STEEPNESS)


def _more(epsilons: Array, errors: Array, tips: Array, wanted: int) -> Array:
    """Return new places where errors are largest, for so many places in all."""
    places: Array = np.zeros(0)
    tolerance = float(np.nansum(errors))
    for _ in range(60):
        finer = cuts(epsilons, parts(errors, tolerance), tips)
        if len(finer) + len(epsilons) > wanted:
            break
        places, tolerance = finer, 0.7 * tolerance
    return places


@np.errstate(all="ignore")
def last_point(evaluate: Callable[[Array], Array], floor: float) -> float:
    """Return about the least epsilon from where delta is below a floor.

    Args:
        evaluate: upper ends of delta, rough ones will do.
        floor: where the floor cannot be reached, what is left far out takes its place.

    Raises:
        NotCertifiedError: nothing below 1 is proved up to epsilon 600.
    """
    places = np.append(0.0, FIRST_STEP * GROWTH ** np.arange(STEPS))
    places = np.append(places[places < LARGEST_EPSILON], LARGEST_EPSILON)
    left, right = 0.0, LARGEST_EPSILON
    for _ in range(2):
        values = evaluate(places)
        if not (values < 1.0).any():
            raise NotCertifiedError("no delta below 1 is proved for this selection")
        good = values <= floor
        if good.any():
            first = int(np.argmax(good))
        else:
            # What is left is more than was foretold: the first place that is as good as the last.
            first = int(np.argmax(values <= values[-1] * (1.0 + NEAR)))
        right = float(places[first])
        left = float(places[max(0, first - 1)])
        places = np.linspace(left, right, 17)
    return max(right, FIRST_STEP)


def _mirrored(evaluate: Callable[[Array], Array], epsilons: Array) -> Array:
    """Return what a point at -epsilon proves, for epsilon below 1; infinity elsewhere.

    1 - a + a delta(-epsilon) is off by less than 1e-15 (1 + 2 a), which is added.
    """
    result = np.full(len(epsilons), np.inf)
    near = epsilons < 1.0
    if near.any():
        x = epsilons[near]
        a = np.exp(x)
        other = np.minimum(evaluate(-x[::-1]), 1.0)[::-1]
        value = a * other - np.expm1(x) + 1e-15 * (1.0 + 2.0 * a)
        result[near] = np.maximum(value, 0.0)
    return result


def _smoothed(deltas: Array) -> Array:
    """Return deltas that do not rise, in the range that `profile_law` takes."""
    clipped = np.minimum(deltas, 1.0)
    clipped = np.where((clipped > 0.0) & (clipped < LEAST), LEAST, clipped)
    result: Array = np.minimum.accumulate(clipped)
    return result
