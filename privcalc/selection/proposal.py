"""Propose-test-release: the profile of a test and of what is released if it passes.

T is a test of whether a mechanism M is as private on the data as is claimed, phi the claim. A data
set is good where the claim holds for it and all its neighbours in both orders, and bad otherwise; a
bad one passes with probability p at most (the false positives). Write H_T and H_TM for the profiles
of the test, and of it composed with M as claimed, of one order of the neighbours.

One good neighbour is enough for H_TM, by composition. Where both are bad, what is published is the
outcome of the test, and something else with probability p at most, so that for all a

    H(a) <= H_T(a) + p                  where the outcome of the test is published, and
    H(a) <= max(p, 1 - a + a p)         where only is whether it passed:

in the latter case both fail with probability 1 - p at least. Hence, at a >= 1,

    max(H_T + p, H_TM)                  for a claim that is fixed before, and
    max(p, H_TM)                        if besides only the outcome itself is seen.

Where the claim is made from what the test publishes, such as a bound that holds with probability
1 - p, let E be its being true for the first data set. On E each release is dominated by M, so that
the sum over E is at most H_TM, and what is left is p at most:

    H_TM + p.

A group of k records changes data sets D_0, ..., D_k one after the other. If the claim holds for
each of the steps, M and T for groups are composed. If it fails for the step from D_i to D_{i+1},
both are bad, and what passes with probability p at most at D_i does so at D_0 with p_i = G_i(p) at
most, where G_i(y) is the largest probability that T gives an event for i records that has y without
them. So p_{k-1} takes the place of p where the claim is fixed before: for where only is seen
whether it passed, D_0 and D_k pass with p_i and p_{k-1-i}, and as above the larger of both is what
they cost at most. Where claims are made from what T publishes, let B_i be what makes one that fails
for that step. It fails for D_i and for D_{i+1}, so that T has B_{i-1} or B_i with probability p at
most at D_i. Two steps at a time, from the last on, T has at D_{i-1} one of those from i - 2 on with
probability p + G_2(m) at most, if it has at D_{i+1} one of those from i on with m; and what comes
out at D_1 for an even k is taken to D_0 by G_1. For noise on a number these are tails: the group
whose first data set is bad in its last step alone attains p_{k-1} (a bad data set tells everything
if it passes, and D_0 is at the distance of the noise that does so most often).

All of this is for both orders, which gives the profiles at a < 1 (`losses/profiles.py`).
(Redberg, Zhu, Wang 2023, Theorem 4.3 and its proof, with profiles for points.) The mass p is at
infinity in the law, and H_TM is not scaled by 1 - p: the mixture that does so is too small by up to
a thirtieth where a statistic is published. Theorem B.5 there, on Renyi divergences, is wrong unless
the test is pure: a Gaussian test of deviation 1, threshold 6, and epsilon 20 in the bad case have
divergence 5.91 of order 2, and not 1.46.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.engine.terms import Realized, one_law
from privcalc.errors import NotCertifiedError
from privcalc.exact import Enclosed
from privcalc.losses.atoms import AtomicLaw, ProvedLaw, two_point
from privcalc.losses.composed import largest_power
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.losses.law import DirectedMembers, Term
from privcalc.losses.profiles import profile_law
from privcalc.losses.thresholds.release import (
    ThresholdedLaw,
    cut,
    heights_of,
)
from privcalc.numerics.rounding import UNIT
from privcalc.record import record, replace
from privcalc.renyi.curve import WorseCurve
from privcalc.selection.base import Base, bases
from privcalc.selection.node import LARGEST_EPSILON, last_point, node_points

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from privcalc.engine.terms import Terms
    from privcalc.losses.law import LossLaw, RenyiCurve
    from privcalc.numerics.rounding import Array

    Parts = Callable[[int], tuple[Mapping[str, Terms], ...]]

MAX, BIT = "max", "bit"
# Of profiles that engines prove: points lose more.
TOLERANCE = 1e-6
# What is lost between points, relatively to epsilon, is not less than this.
ACCURACY = 1e-5
# The last point is where delta is above the rest by this part, or where it is below that.
ABOVE, SMALLEST = 1e-6, 1e-30
# Slopes at which events are bounded.
TRIED = 60
# Points to begin with, evenly spaced, and those at the end.
FIRST, COUNT = 48, 230


def proposed(parts_of: Parts, failure: Enclosed, mode: str, records: int = 1) -> Term:
    """Return the term of both orders of the neighbours.

    Args:
        parts_of: what is known of the test, and of the mechanism as it is claimed to be, for so
            many records, in each order.
        failure: p.
        mode: `max` for a fixed claim, `bit` where only the outcome is seen besides; else any.
        records: size of the group.

    Raises:
        NotCertifiedError: nothing is proved.
    """
    if records > 1:
        failure = _of_group(lambda j: parts_of(j)[0], failure, mode, records)
        if failure.high >= 1:
            from privcalc.engine.terms import chained_term

            return chained_term(proposed(parts_of, failure, mode).above, records)
    test, mechanism = parts_of(records)
    whole = {name: _not_nothing([*test[name], *mechanism[name]]) for name in test}
    first = tuple(next(iter(each.values())) for each in (whole, mechanism, test))
    if failure.high == 0:
        known = {one_law([(term.law, n) for term, n in each]) for each in whole.values()}
        law = known.pop()
        if law is not None and not known:
            return _without_failure(law, first, failure, mode)
    high = failure.doubles()[1]
    parts = [Realized.directions(each) for each in ((whole, test) if mode == MAX else (whole,))]
    found = [_bases(each) for each in parts]
    closed = all(_closed(each) for each in parts)

    shape = Shape(found[0], found[1] if mode == MAX else (), high, mode)
    last = shape.last()
    mass = float(shape.deltas(np.array([last]))[0])
    if mass >= 1.0:
        raise NotCertifiedError("no delta below 1 is proved at any epsilon up to 600")

    def joined() -> AtomicLaw:
        found = profile_law(shape.points(last))
        if failure.high > 0:
            return found
        # Points have an end, but the composition has divergences.
        curves: list[RenyiCurve] = [each.upper.renyi_curve() for each in parts[0].values()]
        return replace(found, mechanism_rdp_curve=reduce(WorseCurve, curves))

    if closed:
        name = (tuple(each.upper for each in parts[0].values()), high, mode)
        law = ProvedLaw(mass, last, name, shape.ends, joined)
    else:
        law = joined()
    return _with_lower_end(law, first, failure, mode)


@record
class Shape:
    """The bound on both orders at any epsilon >= 0.

    Attributes:
        whole: the test and the mechanism, in each order.
        test: the test by itself, where it is needed.
        failure: p.
        mode: as of `proposed`.
    """

    whole: tuple[Base, ...]
    test: tuple[Base, ...]
    failure: float
    mode: str

    def ends(self, epsilons: Array) -> tuple[Array, Array]:
        """Return both ends of the bound at epsilons >= 0; a lower end is 0 where it is not known.

        A sum is off by one unit.
        """
        return self._bound(epsilons, upper=False) * (1.0 - 4.0 * UNIT), self._upper(epsilons)

    def deltas(self, epsilons: Array) -> Array:
        """Return upper ends at epsilons of any sign, which say nothing below 0."""
        found = self._upper(np.maximum(epsilons, 0.0))
        result: Array = np.where(epsilons < 0.0, 1.0, found)
        return result

    def _upper(self, epsilons: Array) -> Array:
        high = self._bound(epsilons, upper=True)
        # What is no number bounds nothing.
        found: Array = np.where(np.isnan(high), 1.0, np.minimum(high * (1.0 + 4.0 * UNIT), 1.0))
        return found

    def _bound(self, epsilons: Array, *, upper: bool) -> Array:
        found = _worst(self.whole, epsilons, upper=upper)
        if self.mode not in (BIT, MAX):
            return found + self.failure
        other = self.failure + (_worst(self.test, epsilons, upper=upper) if self.test else 0.0)
        larger: Array = np.maximum(found, other)
        return larger

    def last(self) -> float:
        """Return where the points end: the largest loss, or about where delta hardly falls."""
        rest = max(base.infinity_mass for base in self.whole)
        if self.mode in (BIT, MAX):
            other = max((base.infinity_mass for base in self.test), default=0.0)
            rest = max(rest, other + self.failure)
        else:
            rest += self.failure
        largest = max(base.largest for base in self.whole)
        floor = rest + max(SMALLEST, rest * ABOVE)
        if largest <= LARGEST_EPSILON and self.deltas(np.array([0.5 * largest]))[0] > floor:
            return largest
        return min(largest, last_point(self.deltas, floor))

    def points(self, last: float) -> tuple[tuple[float, Fraction], ...]:
        """Return points of the bound, more of them where its hull is far from it."""
        places = np.linspace(0.0, last, FIRST)
        return node_points(self.deltas, places, smallest=self.failure, count=COUNT)


def _of_group(
    tests: Callable[[int], Mapping[str, Terms]], failure: Enclosed, mode: str, records: int
) -> Enclosed:
    """Return bounds on the probability that takes the place of p for a group."""
    found = failure.doubles()
    if mode in (BIT, MAX):
        found = _grown(tests(records - 1), found)
    else:
        for _ in range((records - 1) // 2):
            low, high = _grown(tests(2), found)
            p = failure.doubles()
            found = (p[0] + low) * (1.0 - 2.0 * UNIT), (p[1] + high) * (1.0 + 2.0 * UNIT)
        if records % 2 == 0:
            found = _grown(tests(1), found)
        # Which claims fail at once is known of the last step only.
        found = _grown(tests(records - 1), failure.doubles())[0], found[1]
    least, most = (Fraction(min(1.0, max(0.0, each))) for each in found)
    return Enclosed(least, most)


def _grown(test: Mapping[str, Terms], y: tuple[float, float]) -> tuple[float, float]:
    """Return bounds on the largest probability, in either order, of events that have y without.

    By lists for noise. Otherwise no less than y, and at most H(a) + a y for each a.
    """
    if y[1] >= 1.0:
        return y
    laws = [one_law([(term.law, n) for term, n in each]) for each in test.values()]
    closed = [law for law in laws if isinstance(law, GaussianLaw | LaplaceLaw)]
    ends = [largest_power(law, y) for law in closed]
    if len(ends) == len(test):
        return min(low for low, _ in ends), max(high for _, high in ends)
    bases = _bases(Realized.directions(dict(test)))
    furthest = min(max(base.largest for base in bases), LARGEST_EPSILON)
    places = np.concatenate([[0.0], np.geomspace(1e-3, max(furthest, 1.0), TRIED)])
    logs = np.unique(np.append(places, furthest))
    bounds = _worst(bases, logs, upper=True) + np.exp(logs) * y[1]
    return y[0], float(bounds.min()) * (1.0 + 8.0 * UNIT)


def _worst(directions: tuple[Base, ...], epsilons: Array, *, upper: bool) -> Array:
    found = [base.upper(epsilons) if upper else base.lower(epsilons) for base in directions]
    known = [each for each in found if each is not None]
    worst: Array = np.max(known or [np.zeros(len(epsilons))], axis=0)
    return worst


def _not_nothing(terms: Terms) -> Terms:
    """Leave out parts that cost nothing, unless all are such."""
    return [each for each in terms if not _is_nothing(each[0].law)] or terms[:1]


def _is_nothing(law: LossLaw | None) -> bool:
    return isinstance(law, AtomicLaw) and law.losses == (0.0,) and law.infinity_mass == 0.0


def _bases(parts: Mapping[str, Realized]) -> tuple[Base, ...]:
    """Return the profiles of each order; of what several engines prove only the upper ends."""
    above = {
        name: each if each.lower is each.upper else Realized(each.upper, None)
        for name, each in parts.items()
    }
    return tuple(base for base, _ in bases(above, TOLERANCE, "auto").values())


def _closed(parts: Mapping[str, Realized]) -> bool:
    """Say whether each order is one use of a law with a profile in closed form."""
    laws = [one_law(list(each.upper.terms)) for each in parts.values() if not each.upper.curves]
    return len(laws) == len(parts) and all(
        isinstance(law, GaussianLaw)
        or (law is not None and not law.properties.exact_profile and law.profile(1.0) is not None)
        for law in laws
    )


@record
class GoodOrBad(DirectedMembers):
    """Data sets that pass for certain, or bad ones, of which nothing is left secret.

    Attributes:
        good: the law of what is published where both neighbours pass, the same for both orders.
        bad: that where each passes with probability p, and tells everything.
        remove: see `DirectedMembers`; it makes no difference.
    """

    by_order: ClassVar[bool] = False
    sees_one: ClassVar[bool] = True
    good: LossLaw
    bad: LossLaw
    remove: bool = True

    def chosen(self, c: float | None, *, remove: bool) -> LossLaw:
        """Return good data sets at finite orders, and bad ones at the infinite one."""
        del remove
        return self.bad if c == math.inf else self.good


def _without_failure(law: LossLaw, parts: tuple[Terms, ...], failure: Enclosed, mode: str) -> Term:
    """Return the law of the composition itself, as H_T <= H_TM; see `_with_lower_end`."""
    if mode == BIT:
        return replace(_with_lower_end(law, parts, failure, mode), accuracy=0.0)
    return Term.of(law)


def _with_lower_end(law: LossLaw, parts: tuple[Terms, ...], failure: Enclosed, mode: str) -> Term:
    """Add what some data sets cost: good ones, or bad ones of which everything is published.

    Where only the outcome of a test is seen, one that tells most at an epsilon attains what T costs
    there: the profile of a pair at a is attained by one event. Several uses of one do not.

    Args:
        law: proves upper ends.
        parts: the test with the mechanism, the mechanism, and the test.
        failure: p.
        mode: as of `proposed`.
    """
    bad = two_point(failure * 0, failure)
    known = [_known(each) for each in (parts[1:] if mode == BIT else parts)]
    laws = [each for each in known if each is not None]
    # All of them are below the whole.
    once = max(laws, key=_size) if laws else None
    good = (known[0] if mode == BIT else once) or bad
    lower, low = once or bad, failure.doubles()[0]
    if isinstance(lower, GaussianLaw | LaplaceLaw) and low > 0.0:
        with suppress(NotCertifiedError):
            place = cut(heights_of(lower), (low, low))
            lower = ThresholdedLaw(lower, low, 0.0, *place, remove=True)
    accuracy = 0.0 if law.properties.exact_profile else ACCURACY
    return Term(law, lower, members=GoodOrBad(good, bad), accuracy=accuracy)


def _known(terms: Terms) -> LossLaw | None:
    """Return the law of a composition, if it is that of one pair for both orders, and not 0."""
    law = one_law([(term.law, count) for term, count in terms])
    if law is None or law.reverse_direction is not law or _is_nothing(law):
        return None
    return law


def _size(law: LossLaw) -> float:
    return float(law.renyi(np.array([1.0]))[0][0])
