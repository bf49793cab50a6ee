"""One ordered pair (P, Q) of neighbours: H_a(P || Q) at every a > 0, with both ends.

Privacy profiles are known at epsilon >= 0, which is a = e^epsilon >= 1. For a < 1,

    H_a(P || Q) = 1 - a + a H_{1/a}(Q || P),

and (Q, P) is the pair of the reverse direction: (P, Q) dominates for adding a record if and only
if (Q, P) does for removing one (Zhu, Dong, Wang 2022). What is asked of it is how low a convex
function of a gets between points at which it is known by brackets only (`least`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound, Proof
from privcalc.engine.certified import CLOSED, Certified
from privcalc.engine.profile import PrivacyProfile
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import OutOfWorkError
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privcalc.engine.composition import Composition
    from privcalc.engine.terms import Realized
    from privcalc.numerics.rounding import Array

# Relative error of a ratio of distances: a unit for each difference of logs (which the size of
# the difference may multiply, and that is below 1500), and some for each expm1.
RATIO_ERROR = 1e-12

# Logs of a that lie farther apart are not connected by a line: e^gap overflows, and a ratio of
# distances would be rounded to 0, which proves too much.
LARGEST_GAP = 700.0
# What underflow may hide of a product.
TINY = 1e-307


@record
class Brackets:
    """Brackets of a convex function g on (0, infinity).

    Attributes:
        logs: log a of points a, distinct and increasing, shape (n,).
        low: lower ends of g(a).
        high: upper ends.
    """

    logs: Array
    low: Array
    high: Array


@np.errstate(all="ignore")
def least(known: Brackets, left: float, right: float) -> float:
    """Return a lower bound on the infimum of g.

    Convexity: for x < y < z, g(z) >= g(y) - T (g(x) - g(y)) with T = (z - y) / (y - x), for g lies
    above the line through x and y beyond y; with brackets, g(z) >= low(y) - T (high(x) - low(y)).
    Between neighbouring points y and z this bounds g from below by a line L from each point x on
    the left, with L(y) = low(y), and likewise by a line R from each point on the right. g is at
    least every mean w L + (1 - w) R, 0 <= w <= 1, whose least value is at y or at z.

    If low(y) >= high(z) for some y < z, g does not increase up to y, so that g >= low(y) there; and
    likewise on the right. Only what lies between two such points has to be looked at. Where there
    is none, `left` and `right` bound g before the first and beyond the last point.

    Rounding: each end of a mean is charged 16 units of all of its terms.
    """
    logs, low, high = known.logs, known.low, known.high
    count = len(logs)
    bottom = int(np.argmin(high))
    enough = np.flatnonzero(low >= high[bottom])
    before, after = enough[enough < bottom], enough[enough > bottom]
    first = int(before[-1]) if len(before) else 0
    last = int(after[0]) if len(after) else count - 1
    found = [float(low[first]), float(low[last])]
    if not len(before):
        found.append(left)
    if not len(after):
        found.append(right)
    found += [_between(known, i) for i in range(first, last)]
    return -math.inf if any(math.isnan(value) for value in found) else min(found)


def _between(known: Brackets, i: int) -> float:
    """Return a lower bound on g between the points i and i + 1; see `least`."""
    logs, low, high = known.logs, known.low, known.high
    gap = float(logs[i + 1] - logs[i])
    here, there = float(low[i]), float(low[i + 1])
    forward = backward = -math.inf
    if i > 0 and gap < LARGEST_GAP:
        distance = -np.expm1(logs[:i] - logs[i])
        forward = _extended(here, high[:i], math.expm1(gap) / distance)
    beyond = int(np.searchsorted(logs, logs[i + 1] + LARGEST_GAP))
    if i + 2 < beyond:
        distance = np.expm1(logs[i + 2 : beyond] - logs[i + 1])
        backward = _extended(there, high[i + 2 : beyond], -math.expm1(-gap) / distance)
    candidates = []
    if forward > -math.inf:
        candidates.append(1.0)
    if backward > -math.inf:
        candidates.append(0.0)
    if len(candidates) == 2 and here > forward and there > backward:
        candidates.append((there - backward) / ((here - forward) + (there - backward)))
    return max(
        (_mean(w, (here, forward), (backward, there)) for w in candidates), default=-math.inf
    )


def _extended(base: float, others: Array, ratios: Array) -> float:
    """Return the best of base - T (other - base), with T enlarged or reduced by its error.

    Rounded down: terms may be much larger than their difference. Those of `rise` are charged 4
    units of both, times T.
    """
    size = np.abs(others) + abs(base)
    rise = others - base
    worst = ratios * rise + RATIO_ERROR * np.abs(ratios * rise) + 4.0 * UNIT * ratios * size + TINY
    fall = float(worst.min())
    return base - fall - 4.0 * UNIT * (abs(base) + abs(fall))


def _mean(w: float, one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the lower end of w one + (1 - w) other, less its rounding."""
    ends = []
    for a, b in zip(one, other, strict=True):
        # A line of no weight may not be known at all.
        x = w * a if w > 0.0 else 0.0
        y = (1.0 - w) * b if w < 1.0 else 0.0
        ends.append(x + y - 16.0 * UNIT * (abs(x) + abs(y)))
    return min(ends)


# Brackets of delta are asked for at this part of the tolerance of a trade-off, and will do at that.
TARGET, ENOUGH = 0.1, 0.25
# Points farther out are not looked at: e^log overflows.
LARGEST_LOG = 700.0
# Which of all known points beyond a question's own are looked at, too, counted outward.
OUTWARD = np.array([0, 1, 4, 16, 64, 256])
UNKNOWN = Certified(Bound(1.0, 0.0), CLOSED)


class Profile:
    """The brackets of delta of one direction that have been asked for so far."""

    def __init__(self, laws: Realized, tolerance: float, engine: str) -> None:
        """Take the laws of a direction; tolerances are relative widths."""
        laws = laws.for_curves
        self.upper = _many(laws.upper, tolerance, engine)
        self.both = laws.lower is not None
        self._lower: PrivacyProfile | None = self.upper
        if laws.lower is not laws.upper:
            self._lower = None
            if laws.lower is not None:
                self._lower = _many(laws.lower, tolerance, engine)
        self.mass: Bound = laws.upper.infinity_mass()
        self.lower_mass = 0.0 if laws.lower is None else laws.lower.infinity_mass().lower or 0.0
        self.largest = laws.upper.max_loss().upper
        self.kinks = _kinks(laws.upper)
        self._uppers: dict[float, Certified] = {}
        self._lowers: dict[float, float] = {}

    def ask(self, epsilons: Iterable[float], *, above: bool = False) -> None:
        """Bracket delta at epsilons >= 0 that are not known yet.

        Args:
            epsilons: where.
            above: whether upper ends alone are wanted: lower ones that take as long by themselves,
                and cost others nothing when they are asked late, are left out then.
        """
        asked = {float(epsilon) for epsilon in epsilons}
        new = sorted(asked.difference(self._uppers))
        if new:
            self._uppers.update(zip(new, _brackets(self.upper, new), strict=True))
        new = sorted(asked.difference(self._lowers))
        if not new or (above and self._lower and self._lower.exact):
            return
        found = [self._uppers[epsilon] for epsilon in new]
        if self._lower is not self.upper:
            found = _brackets(self._lower, new) if self._lower else [UNKNOWN] * len(new)
        for epsilon, below in zip(new, found, strict=True):
            lower = below.bound.lower or 0.0
            self._lowers[epsilon] = min(lower, self._uppers[epsilon].bound.upper)

    @property
    def given_up(self) -> bool:
        """Whether some brackets were left wide, for they would have been expensive."""
        return self.upper.given_up or (self._lower is not None and self._lower.given_up)

    def proof(self, epsilon: float) -> Proof:
        """Return what proved the upper end at an epsilon that was asked for."""
        return self._uppers[float(epsilon)].proof

    def known(self) -> list[float]:
        """Return the epsilons that were asked for, in any order."""
        return list(self._lowers)

    def ends(self, epsilons: Iterable[float]) -> tuple[Array, Array]:
        """Return both ends of delta at epsilons that were asked for."""
        asked = list(map(float, epsilons))
        lowers = np.array([self._lowers.get(epsilon, 0.0) for epsilon in asked])
        return lowers, np.array([self._uppers[epsilon].bound.upper for epsilon in asked])


def _kinks(composition: Composition) -> tuple[float, ...]:
    """Return the losses of one use at which delta has its kinks, if they are few."""
    if [count for _, count in composition] != [1]:
        return ()
    ((law, _),) = composition
    return tuple(x for x in law.atom_locations if 0.0 < x <= LARGEST_LOG)


def _many(composition: Composition, tolerance: float, engine: str) -> PrivacyProfile:
    return PrivacyProfile(
        composition, TARGET * tolerance, engine=engine, width=ENOUGH * tolerance, of_mass=True
    )


def _brackets(curve: PrivacyProfile, epsilons: list[float]) -> list[Certified]:
    """Return brackets of delta; where nothing is proved, 0 and 1."""
    try:
        return curve.brackets(epsilons)
    except OutOfWorkError:
        return [UNKNOWN] * len(epsilons)
    except NotCertifiedError:
        if len(epsilons) == 1:
            return [UNKNOWN]
    return [_brackets(curve, [epsilon])[0] for epsilon in epsilons]


class OrderedPair:
    """(P, Q), known by the profile of (P, Q) and that of (Q, P)."""

    def __init__(self, forward: Profile, reverse: Profile) -> None:
        """Take both profiles; they may be the same."""
        self.forward = forward
        self.reverse = reverse
        self.logs: Array = np.zeros(0)

    def ask(self, logs: Iterable[float]) -> None:
        """Bracket H_a at log a, of any sign."""
        points = [x for x in logs if abs(x) <= LARGEST_LOG]
        self.forward.ask(x for x in points if x >= 0.0)
        self.reverse.ask(-x for x in points if x < 0.0)
        known = [x for x in self.forward.known() if x <= LARGEST_LOG]
        known += [-x for x in self.reverse.known() if 0.0 < x <= LARGEST_LOG]
        self.logs = np.sort(known)

    def proof(self, log: float) -> Proof:
        """Return what proved the upper end at a log that was asked for."""
        return self.forward.proof(log) if log >= 0.0 else self.reverse.proof(-log)

    @property
    def given_up(self) -> bool:
        """Whether some brackets were left wide, for they would have been expensive."""
        return self.forward.given_up or self.reverse.given_up

    def around(self, points: Iterable[float]) -> Array:
        """Return points that were asked for, with some of those known on either side of them."""
        own = np.array(sorted({x for x in points if abs(x) <= LARGEST_LOG}))
        before = int(np.searchsorted(self.logs, own[0])) - 1 - OUTWARD
        after = int(np.searchsorted(self.logs, own[-1], side="right")) + OUTWARD
        left = self.logs[before[before >= 0]]
        right = self.logs[after[after < len(self.logs)]]
        return np.concatenate([left[::-1], own, right])

    def power_form(self, alpha: float, logs: Array) -> Brackets:
        """Bracket g(a) = H_a + a alpha, whose infimum is the power at alpha.

        Rounding: an exponential is off by 4 units, and each sum of positive terms by a few; 1 - a
        is formed by expm1. The ends are moved by 16 units.
        """
        low, high = self._deltas(logs)
        behind = logs < 0.0
        a = np.exp(logs)
        rest = np.where(behind, -np.expm1(np.minimum(logs, 0.0)), 0.0)
        factor = np.where(behind, a, 1.0)
        low = rest + factor * low + a * alpha
        high = rest + factor * high + a * alpha
        return Brackets(logs, low * (1.0 - 16.0 * UNIT), high * (1.0 + 16.0 * UNIT))

    def error_form(self, alpha: float, logs: Array) -> Brackets:
        """Bracket g(a) - 1 = H_a - 1 + a alpha, whose infimum is minus the type II error.

        For a < 1 this is a (H_{1/a}(Q || P) - (1 - alpha)), which has no cancellation but that of
        the difference. The ends are moved by 16 units of all terms.
        """
        low, high = self._deltas(logs)
        behind = logs < 0.0
        a = np.exp(logs)
        factor = np.where(behind, a, 1.0)
        minus = np.where(behind, a * (1.0 - alpha), 1.0)
        plus = np.where(behind, 0.0, a * alpha)
        slack = 16.0 * UNIT * (factor * high + minus + plus)
        return Brackets(
            logs, factor * low - minus + plus - slack, factor * high - minus + plus + slack
        )

    def _deltas(self, logs: Array) -> tuple[Array, Array]:
        """Return both ends of H_a(P || Q) for a >= 1, and of H_{1/a}(Q || P) for a < 1."""
        behind = logs < 0.0
        low, high = np.empty(len(logs)), np.empty(len(logs))
        low[behind], high[behind] = self.reverse.ends(-logs[behind])
        low[~behind], high[~behind] = self.forward.ends(logs[~behind])
        return low, high
