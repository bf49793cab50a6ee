"""Both ends of the trade-off function of one ordered pair; the proof is in `function.py`.

The search begins where the most powerful tests cut (`Thresholds`). A pair that is known by its
Renyi curve only has an upper end of the power (`curve_trade_off`).
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from privcalc.bounds import Bound, Proof
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.search import halved
from privcalc.record import field, mutable
from privcalc.renyi.powers import allowed_powers
from privcalc.tradeoff.brackets import Curve, complement, one_minus
from privcalc.tradeoff.ordered_pair import ENOUGH, least

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scipy.interpolate import PchipInterpolator

    from privcalc.engine.composition import Composition
    from privcalc.numerics.rounding import Array
    from privcalc.tradeoff.ordered_pair import Brackets, OrderedPair, Profile

Mass = Literal["q", "p"]
# Epsilons asked for together, over so many standard deviations of the loss.
CHUNK, CHUNK_DEVIATIONS = 25, 3.0
GROWTH = 1.5
SMALLEST_DEVIATION = 1e-9
MOST_CHUNKS = 60
# Epsilons tried first, and how often the interval between two of them is halved.
GRID, HALVINGS = 65, 50
LARGEST_EPSILON = 700.0
# Points of a table, where there is nothing to interpolate with but delta itself.
TABLE = 48


class Thresholds:
    """Finds thresholds of one profile, where the most powerful tests cut, without any certificate.

    The most powerful test of a type I error alpha rejects where the loss exceeds epsilon with
    Q(L > epsilon) = alpha. From the other end, for the reverse pair, P(L > epsilon) is 1 - alpha.
    Both come from delta and its slope: P(L > e) = delta - delta'(e), Q(L > e) = -e^{-e} delta'(e).
    """

    def __init__(self, profile: Profile) -> None:
        """Take the profile; what it has to be asked for is asked at the first question."""
        self._profile = profile
        self._table: PchipInterpolator | None = None
        # The largest finite loss or a bound on it, kinks of delta above 0, and the largest epsilon
        # that was of interest.
        self.largest, self.kinks, self.reach = profile.largest, profile.kinks, 0.0

    def find(self, mass: Mass, targets: Array) -> Array:
        """Return epsilons >= 0 at which a mass crosses the targets; 0 where it never exceeds them.

        Args:
            mass: q for Q(L > epsilon), p for P(L > epsilon), infinite losses included.
            targets: in (0, 1), shape (n,).
        """
        if not len(targets):
            return np.zeros(0)
        self._cover(mass, float(targets.min()))
        grid = np.linspace(0.0, self.reach, GRID)
        values = self._mass(mass, grid)
        falling = np.minimum.accumulate(values)
        index = len(grid) - np.searchsorted(falling[::-1], targets, side="left")
        low = grid[np.clip(index - 1, 0, GRID - 1)]
        high = grid[np.clip(index, 0, GRID - 1)]
        found = halved(lambda x: ~(self._mass(mass, x) > targets), low, high, HALVINGS)[1]
        return np.where(index == 0, 0.0, found)

    def masses(self, epsilons: Array) -> tuple[Array, Array]:
        """Return delta, with infinite losses, and P(L > epsilon), in any order of epsilons."""
        order = np.argsort(epsilons)
        deltas, above = np.empty(len(epsilons)), np.empty(len(epsilons))
        asked = epsilons[order]
        found = None if self._table is not None else self._profile.upper.estimates(asked)
        if found is None:
            found = self._tabled(asked)
        mass = self._profile.mass.upper
        deltas[order], above[order] = found[0] + mass, found[1] + mass
        return deltas, above

    def _mass(self, mass: Mass, epsilons: Array) -> Array:
        deltas, above = self.masses(epsilons)
        if mass == "p":
            return above
        return np.exp(-epsilons) * np.maximum(above - deltas, 0.0)

    def _cover(self, mass: Mass, target: float) -> None:
        """Go right until the mass is below a target, so that estimates are good up to there."""
        profile = self._profile
        # e^epsilon Q(L > epsilon) is at most 1.
        most = -math.log(target) if mass == "q" else LARGEST_EPSILON
        end = max(min(profile.largest, most, LARGEST_EPSILON), 0.0)
        if self.reach == 0.0:
            profile.ask([0.0])
            if profile.upper.estimates(np.zeros(1)) is None:
                self._make_table(target)
                return
        # Where no contour tells the scale, that of a normal loss of the same delta does.
        deviation = profile.upper.deviation or 2.5 * float(profile.ends([0.0])[1][0])
        step = CHUNK_DEVIATIONS * max(deviation, SMALLEST_DEVIATION)
        for _ in range(MOST_CHUNKS):
            here = min(self.reach, end)
            if self.reach > 0.0 and not self._mass(mass, np.array([here]))[0] > target:
                break
            if here >= end > 0.0 and self.reach > 0.0:
                break
            self.reach = max(min(here + step, end), 1e-300)
            if not profile.upper.exact:
                profile.ask(np.linspace(here, self.reach, CHUNK))
            step *= GROWTH

    def _make_table(self, target: float) -> None:
        """Tabulate delta up to about where e^{-epsilon} delta is below a target."""
        from scipy.interpolate import PchipInterpolator

        profile = self._profile
        most = max(min(profile.largest, LARGEST_EPSILON), 0.0)

        def beyond(epsilon: float) -> bool:
            profile.ask([epsilon])
            return bool(profile.ends([epsilon])[1][0] * math.exp(-epsilon) < target)

        reach = min(1.0, most)
        if beyond(reach):
            while reach > SMALLEST_DEVIATION and beyond(0.5 * reach):
                reach *= 0.5
        else:
            while reach < most and not beyond(reach):
                reach = min(2.0 * reach, most)
        # Where no loss is above 0, any table does.
        self.reach = max(reach, SMALLEST_DEVIATION)
        profile.ask(np.linspace(0.0, self.reach, TABLE))
        epsilons = np.sort(profile.known())
        _, upper = profile.ends(epsilons)
        self._table = PchipInterpolator(epsilons, np.log(np.maximum(upper, 1e-320)))

    def _tabled(self, epsilons: Array) -> tuple[Array, Array]:
        if self._table is None:
            return np.zeros(len(epsilons)), np.zeros(len(epsilons))
        delta = np.exp(self._table(epsilons))
        return delta, delta * (1.0 - self._table(epsilons, 1))


UPPER_ONLY = "only upper bounds of the privacy profile are known"


def curve_trade_off(composition: Composition, alphas: Sequence[float]) -> Curve:
    """Bound beta from below and the power from above at increasing alphas in (0, 1).

    Each order of the curve bounds the power at a given type I error by itself, and so does each
    order of the curve of the reverse pair (`renyi/powers.py`). Where outcomes are lost
    to infinity a test may reject all of them, in addition to what it rejects of the others. Where P
    loses more mass than it has to, by m' - m, the same test is one of the pair that loses no more:
    what was moved adds to one part what it takes from the other, or less.
    """
    mass = composition.infinity_mass().upper
    found = allowed_powers(
        composition.renyi_curve(), composition.reverse_curve(), np.array(alphas), mass
    )
    betas, powers = [], []
    for alpha, power, beta in zip(alphas, found.power, found.rest, strict=True):
        rest = one_minus(alpha)
        total = (float(power) + mass) * (1.0 + 4.0 * UNIT)
        # A power of alpha is had without looking.
        powers.append(Bound(max(alpha, min(1.0, total))))
        betas.append(Bound(rest, min(rest, max(0.0, float(beta)))))
    return Curve(tuple(betas), tuple(powers), Proof.RENYI, (UPPER_ONLY,))


# Part of the tolerance that is aimed at: what is looked for is a power or a type II error, and the
# other of the two may be smaller.
AIM = 0.25
# Part of the tolerance that the curvature of g may cost over the nearest spacing.
CURVATURE = 0.1
# The outer points lie so many spacings away.
OUTER = 4.0
# How often points are asked for, where the first do not do.
ROUNDS, ROUNDS_ABOVE = 8, 3
# For an upper end alone, the relative gain that another round has to bring.
GAIN = 1e-6
# The slope of the masses is measured over this part of the scale on which delta changes.
SLOPE_STEP = 1e-3
LEAST_SPACING = 1e-14
NEAR_LARGEST = 1e-9


@mutable
class Query:
    """One alpha in (0, 1), with what is known about it.

    Attributes:
        alpha: type I error.
        log: log of about the best a.
        low: lower end of the infimum of g, or of g - 1 for a < 1.
        high: upper end of the same.
        left: spacing of points on the left of it.
        right: on the right.
        noise: width of the bracket of g at its lowest, relative to what is asked for.
        proof: what proved the widest bracket of g at its lowest and next to that.
        before: what the upper end was in the round before.
        asked: logs of a that were asked for on its account.
    """

    alpha: float
    log: float
    low: float = -math.inf
    high: float = math.inf
    left: float = 0.0
    right: float = 0.0
    noise: float = 0.0
    proof: Proof = Proof.CLOSED_FORM
    before: float = math.inf
    asked: list[float] = field(factory=list)

    def points(self) -> list[float]:
        """Return logs of a to ask for."""
        found = []
        for spacing in (-self.left, self.right):
            size = math.copysign(max(abs(spacing), self.least), spacing)
            found += [self.log + size, self.log + OUTER * size]
        return [self.log, *found]

    def gains(self) -> bool:
        """Return whether the upper end fell by much in the last round, and begin another."""
        gain, self.before = self.before - self.high, self.high
        return gain > GAIN * abs(self.high)

    @property
    def least(self) -> float:
        """Return the least spacing that doubles and brackets can tell from nothing."""
        return LEAST_SPACING * max(1.0, abs(self.log))


class PairSolver:
    """Brackets the trade-off function of one ordered pair."""

    def __init__(
        self, pair: OrderedPair, forward: Thresholds, reverse: Thresholds, tolerance: float
    ) -> None:
        """Take the pair, where its tests and those of its reverse cut, and the tolerance."""
        self._pair = pair
        self._forward = forward
        self._reverse = reverse
        self._asked, self._tolerance = tolerance, AIM * tolerance

    def curve(self, alphas: Sequence[float]) -> Curve:
        """Bracket beta and the power at each of several increasing alphas in (0, 1)."""
        queries = self._solved(list(alphas))
        found = [self._result(query) for query in queries]
        served = Counter(query.proof for query in queries)
        return Curve(
            tuple(beta for beta, _ in found),
            tuple(power for _, power in found),
            served.most_common(1)[0][0],
            self._notes(queries),
        )

    def _notes(self, queries: list[Query]) -> tuple[str, ...]:
        if not self._both:
            return (UPPER_ONLY,)
        wide = [query for query in queries if not _width(query) <= self._asked]
        if not wide:
            return ()
        worst = max(_width(query) for query in wide)
        note = (
            f"{len(wide)} of {len(queries)} brackets are wider than asked, the widest by"
            f" {worst:.0e} of the power or of the type II error"
        )
        if not self._pair.given_up:
            return (note,)
        return note, "the work that lattices may take was used up before all brackets were narrow"

    def _solved(self, alphas: list[float]) -> list[Query]:
        """Ask for points around the best a of each alpha, and for more where they do not do.

        For an upper end alone a point at the best a is enough.
        """
        queries = self._located(alphas)
        pending = queries
        # g is linear between its kinks, and the infimum may be attained all along one of the lines.
        kinks = sorted({*self._forward.kinks, *(-x for x in self._reverse.kinks)})
        for query in queries if self._both else ():
            query.asked += [*kinks, *(0.5 * (x + y) for x, y in pairwise(kinks))]
        for trial in range(ROUNDS if self._both else ROUNDS_ABOVE):
            for query in pending:
                query.asked += query.points() if self._both else [query.log]
            self._pair.ask(point for query in pending for point in query.asked)
            for query in pending:
                self._bracket(query)
            pending = [query for query in pending if not self._met(query)]
            if self._both:
                # Wide brackets of delta are not asked for again.
                pending = [query for query in pending if trial == 0 or not self._noisy(query)]
            else:
                pending = [query for query in pending if query.gains()]
            if not pending:
                break
            for query in pending:
                self._improve(query, trial)
        return queries

    def _noisy(self, query: Query) -> bool:
        return query.noise > ENOUGH * self._asked

    def _improve(self, query: Query, trial: int) -> None:
        """Choose other points: at another distance, or around another position.

        The position is the vertex of a parabola, or in every other round the crossing of two
        secants, through points around the lowest one.
        """
        if self._both and self._noisy(query):
            factor = math.sqrt(10.0 * query.noise / self._tolerance)
            query.left, query.right = factor * query.left, factor * query.right
            return
        logs = self._pair.logs
        known = self._form(query)(query.alpha, logs)
        values = 0.5 * (known.low + known.high) if self._both else known.high
        lowest = min(max(int(np.argmin(values)), 2), len(logs) - 3)
        if lowest < 2:
            return
        x = logs[lowest - 2 : lowest + 3]
        y = values[lowest - 2 : lowest + 3]
        parabola = not self._both or trial % 2 == 0
        found = _vertex(x[1:4], y[1:4]) if parabola else _crossing(x, y)
        span = float(x[3] - x[1])
        position = min(max(found, float(x[1])), float(x[3]))
        if (position < 0.0) != (query.log < 0.0):
            query.low, query.high = -math.inf, math.inf
        query.log = position
        rise = max(float(max(y[1], y[3]) - y[2]), 1e-300)
        spacing = span * math.sqrt(CURVATURE * self._tolerance * abs(float(y[2])) / rise)
        query.left = query.right = min(spacing, 0.25 * span)
        query.asked += [float(each) for each in x]

    @property
    def _both(self) -> bool:
        return self._pair.forward.both and self._pair.reverse.both

    def _located(self, alphas: list[float]) -> list[Query]:
        """Find the best a of each alpha, and the spacing of points around it.

        Near e^x a the function g exceeds its minimum by about x^2 / 2 times the slope of the mass
        that is to be alpha, or 1 - alpha.
        """
        values = np.array(alphas)
        logs = self._forward.find("q", values)
        behind = np.flatnonzero(logs <= 0.0)
        logs[behind] = -self._reverse.find("p", 1.0 - values[behind])
        queries = [Query(a, float(x)) for a, x in zip(alphas, logs, strict=True)]
        for search, sign in ((self._forward, 1.0), (self._reverse, -1.0)):
            some = [query for query in queries if (query.log < 0.0) == (sign < 0.0)]
            if some:
                self._space(search, sign, some)
        return queries

    def _space(self, search: Thresholds, sign: float, queries: list[Query]) -> None:
        at = np.array([abs(query.log) for query in queries])
        alphas = np.array([query.alpha for query in queries])
        delta, above = search.masses(at)
        scale = np.clip(delta / np.maximum(above - delta, 1e-300), 1e-3 * search.reach, 1.0)
        wide, near = SLOPE_STEP * scale, 1e-12 * np.maximum(1.0, at)
        goal = (
            delta + np.exp(at) * alphas if sign > 0.0 else np.maximum((1.0 - alphas) - delta, 0.0)
        )
        spacings = []
        for side in (-1.0, 1.0):
            here = self._steep(search, sign, np.maximum(at + side * near, 0.0), at)
            there = self._steep(search, sign, np.maximum(at + side * wide, 0.0), at)
            slope = np.abs(there - here) / wide
            spacing = np.sqrt(CURVATURE * self._tolerance * goal / np.maximum(slope, 1e-300))
            spacings.append(np.minimum(np.nan_to_num(spacing, nan=0.0), 10.0 * wide))
        # The largest loss is a kink, beyond which delta is known exactly.
        largest = search.largest
        for query, below, beyond in zip(queries, *spacings, strict=True):
            if abs(abs(query.log) - largest) < NEAR_LARGEST * (1.0 + largest):
                query.asked.append(sign * largest)
            near, far = float(below), float(beyond)
            query.left, query.right = (near, far) if sign > 0.0 else (far, near)

    @staticmethod
    def _steep(search: Thresholds, sign: float, points: Array, at: Array) -> Array:
        """Return e^{at} Q(L > point), or P(L > point) for the reverse pair."""
        delta, above = search.masses(points)
        return np.exp(at - points) * (above - delta) if sign > 0.0 else above

    def _bracket(self, query: Query) -> None:
        """Bound the infimum of g from both sides by all that is known near the best a.

        Up to the first point, g(a) >= 1 - a (1 - alpha), as H_a >= 1 - a; from the last point on,
        g(a) >= P(Q = 0) + a alpha.
        """
        logs = self._pair.around(query.asked)
        known = self._form(query)(query.alpha, logs)
        lowest = int(np.argmin(known.high))
        near = slice(max(lowest - 1, 0), lowest + 2)
        widest = int(np.argmax((known.high - known.low)[near]))
        query.proof = self._pair.proof(float(logs[near][widest]))
        query.high = min(query.high, float(known.high[lowest]))
        query.noise = float(known.high[lowest] - known.low[lowest]) / max(abs(query.high), 1e-300)
        if not self._both:
            return
        base = 1.0 if query.log >= 0.0 else 0.0
        left = math.exp(float(logs[0])) * (1.0 - query.alpha)
        left = base - left * (1.0 + 16.0 * UNIT) - UNIT * base
        right = math.exp(min(float(logs[-1]), 700.0)) * query.alpha
        right += self._pair.forward.lower_mass - (1.0 - base)
        right -= 16.0 * UNIT * (1.0 + abs(right))
        query.low = max(query.low, least(known, left, right))

    def _form(self, query: Query) -> Callable[[float, Array], Brackets]:
        return self._pair.power_form if query.log >= 0.0 else self._pair.error_form

    def _met(self, query: Query) -> bool:
        return _width(query) <= self._tolerance

    def _result(self, query: Query) -> tuple[Bound, Bound]:
        """Return beta and power, within alpha <= power <= 1, which every pair obeys."""
        alpha, rest = query.alpha, one_minus(query.alpha)
        if query.log >= 0.0:
            upper = max(min(1.0, query.high), alpha)
            power = Bound(upper, min(max(query.low, alpha), upper) if self._both else None)
            beta = complement(power)
            return Bound(min(beta.upper, rest), min(beta.lower or 0.0, rest)), power
        upper = max(0.0, -query.low) if self._both else rest
        upper = min(upper, rest)
        beta = Bound(upper, min(max(0.0, -query.high), upper))
        power = complement(beta)
        lower = max(power.lower or 0.0, alpha)
        return beta, Bound(max(power.upper, lower), lower if self._both else None)


def _width(query: Query) -> float:
    """Return the width of a bracket relative to the power, or beta, itself; 0 for an exact one."""
    size = abs(query.high if query.log >= 0.0 else query.low)
    if not math.isfinite(query.high - query.low):
        return math.inf
    return (query.high - query.low) / size if query.high > query.low else 0.0


def _vertex(x: Array, y: Array) -> float:
    """Return where the parabola through three points has its vertex."""
    left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    bend = right - left
    if not bend > 0.0:
        return float(x[1])
    return float(0.5 * (x[0] + x[1]) - left * 0.5 * (x[2] - x[0]) / bend)


def _crossing(x: Array, y: Array) -> float:
    """Return where the lines through the first two and the last two of five points cross."""
    left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[4] - y[3]) / (x[4] - x[3])
    if not right > left:
        return float(x[2])
    return float((y[1] - y[3] + right * x[3] - left * x[1]) / (right - left))
