"""A private selection as a part of a specification: a law that dominates it, and its curve.

The privacy profile of selection is bounded, in both orders of neighbours, by the larger of two
functions delta(epsilon). Finitely many points of it are a guarantee by themselves: the largest
privacy profile through them is the lower convex hull in a = e^epsilon
(`losses/profiles.py`), which is above every profile that meets the points, and what is
left at the last point is taken for infinite loss. So any choice of points is valid; here it is one
with which the hull is close to the function, relatively, in the body closer than far out in the
tail.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.law import Term
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import left
from privcalc.record import record, replace
from privcalc.renyi.best_order import ManyEpsilons
from privcalc.renyi.curve import LawCurve, LeastCurve, WorseCurve
from privcalc.renyi.one_order import balle_log_delta, joint_log_delta
from privcalc.selection.methods import pure_epsilon
from privcalc.selection.pointwise import Pointwise
from privcalc.selection.renyi import curve_of_best, selected_curve
from privcalc.selection.testing_region import cuts, parts, triangles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from privcalc.engine.terms import Realized
    from privcalc.losses.atoms import AtomicLaw
    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array
    from privcalc.renyi.best_order import ManyConversion
    from privcalc.selection.base import Base
    from privcalc.selection.runs import Runs

# Deltas below this are not resolved; none that is positive may be below 1e-300.
SMALLEST, LEAST = 1e-30, 1e-300
LARGEST_EPSILON = 600.0
# How much a delta may be above what remains at infinity, in parts of that.
NEAR = 1e-3
# Relative errors of delta count by this power of it.
POWER = 0.05
ROUNDS = 4
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
    deltas = _smoothed(_of_both(evaluate, epsilons))
    rounds = ROUNDS if count > len(epsilons) else 0
    for number in range(1, rounds + 1):
        wanted = len(epsilons) + (count - len(epsilons)) * number / rounds
        heights, tips = triangles(epsilons, deltas)
        size = np.maximum(deltas[:-1], smallest)
        errors = heights / size * size**POWER
        places = np.setdiff1d(_more(epsilons, errors, tips, int(wanted)), epsilons)
        if not len(places) or left() <= 0.0:
            break
        found = _of_both(evaluate, places)
        order = np.argsort(np.concatenate([epsilons, places]), kind="stable")
        epsilons = np.concatenate([epsilons, places])[order]
        deltas = _smoothed(np.concatenate([deltas, found])[order])
    kept = np.append(True, np.diff(deltas) < 0.0)
    return tuple(
        (float(epsilon), Fraction(float(delta)))
        for epsilon, delta in zip(epsilons[kept], deltas[kept], strict=True)
    )


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


def _of_both(evaluate: Callable[[Array], Array], epsilons: Array) -> Array:
    """Return what points at epsilon and, below 1, at -epsilon prove.

    1 - a + a delta(-epsilon) is off by less than 1e-15 (1 + 2 a), which is added.
    """
    found = evaluate(epsilons)
    near = epsilons < 1.0
    if near.any():
        x = epsilons[near]
        a = np.exp(x)
        other = np.minimum(evaluate(-x[::-1]), 1.0)[::-1]
        value = a * other - np.expm1(x) + 1e-15 * (1.0 + 2.0 * a)
        found[near] = np.minimum(found[near], np.maximum(value, 0.0))
    return found


def _smoothed(deltas: Array) -> Array:
    """Return deltas that do not rise, in the range that `profile_law` takes."""
    clipped = np.minimum(deltas, 1.0)
    clipped = np.where((clipped > 0.0) & (clipped < LEAST), LEAST, clipped)
    result: Array = np.minimum.accumulate(clipped)
    return result


# Relative widths asked of the base, and relative errors of epsilon that refinement aims at: the
# points of a profile lose more.
TOLERANCE, POINTWISE = 1e-7, 1e-4
# What is lost between points, relatively to epsilon, is not less than this.
ACCURACY = 1e-5
# Points of a profile, and how much a delta may be above what remains at infinity, in parts of that.
FIRST, COUNT, ABOVE = 40, 450, 1e-3
# Deltas at which the pointwise bound is made good, and further ones where it has prices, each of
# which is good for deltas that are about as large only.
PREPARED = (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9, 1e-11, 1e-14)
CLOSER = (0.5, 0.18, 0.06, 0.03, 3e-3, 3e-4, 3e-5, 3e-6, 3e-7, 2e-8, 4e-9, 1e-10)


@np.errstate(all="ignore")
def selection_law(runs: Runs, directions: Mapping[str, Realized]) -> Term:
    """Return a law for both orders of the neighbours: that of the larger of their profiles.

    At each epsilon the least of what all methods prove. The profile of a pair is convex in
    e^epsilon, so that the lower convex hull of upper bounds at finitely many epsilons is one, too,
    and is the profile of a pair, which dominates the selection and composes (Zhu, Dong, Wang 2022,
    Lemma 7 and Theorem 10). The Renyi curve is a bound of its own: what is left of it in a profile
    is less.

    Args:
        runs: the number of runs.
        directions: what one run costs, in each direction.
    """
    from privcalc.losses.atoms import LARGEST_EPSILON
    from privcalc.losses.profiles import profile_law
    from privcalc.selection.base import bases

    pairs = bases(directions, TOLERANCE, "auto")
    parts = [Bounds.of(runs, *pair) for pair in pairs.values()]
    mass = runs.mean.upper * max(part.forward.infinity_mass for part in parts)

    def evaluate(epsilons: Array) -> Array:
        worst: Array = np.maximum.reduce([part.deltas(epsilons) for part in parts])
        return worst

    last = last_point(evaluate, max(SMALLEST, mass * (1.0 + ABOVE)))
    places = np.linspace(0.0, last, FIRST)
    good = [epsilon for part in parts for epsilon in part.prepare(last)]
    places = np.union1d(places, good)
    points = node_points(evaluate, places, smallest=SMALLEST, count=COUNT + len(good))
    end = max(pure_epsilon(part.constant, runs, part.forward) for part in parts)
    if mass == 0.0 and end <= LARGEST_EPSILON:
        points = (*(point for point in points if point[0] < end), (end, Fraction(0)))
    return Term(_with_curve(profile_law(points), parts), accuracy=ACCURACY)


@record
class Bounds:
    """All upper bounds on the profile of a selection in one direction, at any real epsilon.

    Attributes:
        runs: the number of runs.
        forward: the base.
        backward: its reverse.
        constant: C of the tight method.
        pointwise: the pointwise method.
        curve: K of the Renyi method, or None.
    """

    runs: Runs
    forward: Base
    backward: Base
    constant: float
    pointwise: Pointwise
    curve: ManyEpsilons | None

    @classmethod
    def of(cls, runs: Runs, forward: Base, backward: Base) -> Bounds:
        """Prepare what does not depend on epsilon."""
        # A curve of whole results has better conversions than that of a sum over them.
        curve: RenyiCurve | None = curve_of_best(runs, forward, backward)
        convert: ManyConversion = joint_log_delta
        if curve is None:
            curve, convert = selected_curve(runs, forward, backward), balle_log_delta
        return cls(
            runs,
            forward,
            backward,
            runs.tight(forward, backward),
            Pointwise(runs, forward, POINTWISE),
            None if curve is None else ManyEpsilons(curve, convert),
        )

    def prepare(self, last: float) -> list[float]:
        """Make the pointwise bound good where delta matters; return epsilons where it is."""
        found = [self.pointwise.epsilon(delta) for delta in PREPARED]
        if self.pointwise.priced:
            found += [self.pointwise.epsilon(delta) for delta in CLOSER]
        return [epsilon for epsilon in found if epsilon < last]

    def deltas(self, epsilons: Array) -> Array:
        """Return the least bounds, shape (n,)."""
        found = self.pointwise.present(epsilons), self.uniform(epsilons), self.by_orders(epsilons)
        least: Array = np.min(found, axis=0)
        return least

    def uniform(self, epsilons: Array) -> Array:
        """Return E[K] H_{e^{epsilon - C}} + P(K = 0) (1 - e^epsilon)_+, rounded up, at most 1.

        Koskela, Redberg, Wang 2024, Theorem 5.2, with the smallest constant; without runs, outputs
        of neighbours are the same, and (1 - a)_+ is what that costs at a < 1.
        """
        if self.constant == np.inf:
            return np.ones(len(epsilons))
        h = self.forward.upper(np.nextafter(epsilons - self.constant, -np.inf))
        none = self.runs.no_runs.upper * -np.expm1(np.minimum(epsilons, 0.0))
        total: Array = (self.runs.mean.upper * h + none) * (1.0 + 16.0 * UNIT)
        return np.minimum(1.0, total)

    def by_orders(self, epsilons: Array) -> Array:
        """Return what Renyi divergences prove at epsilon >= 0, at many orders; 1 elsewhere."""
        found = np.ones(len(epsilons))
        asked = np.flatnonzero(epsilons >= 0.0)
        if self.curve is None or not len(asked):
            return found
        lost = self.runs.mean.upper * self.forward.infinity_mass
        finite = self.curve.deltas(epsilons[asked])
        found[asked] = np.minimum(1.0, (finite + lost) * (1.0 + 8.0 * UNIT))
        return found


def _with_curve(law: AtomicLaw, parts: list[Bounds]) -> AtomicLaw:
    """Add a bound on the Renyi curve of both orders, the least that is known; if any is."""
    curves = [curve_of_best(part.runs, part.forward, part.backward) for part in parts]
    known = [curve for curve in curves if curve is not None]
    if len(known) < len(curves):
        return law
    whole = known[0] if len(known) == 1 else WorseCurve(known[0], known[1])
    own = (LawCurve(law, attained=False),) if law.infinity_mass == 0.0 else ()
    return replace(law, mechanism_rdp_curve=LeastCurve((whole, *own)))
