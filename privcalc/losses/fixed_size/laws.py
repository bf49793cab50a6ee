"""All uses of one kind of fixed-size step together: what they cost at most, and what is attained.

Above, the value of the game (`game.py`) is the profile of a pair that dominates
all uses together. Others may come in between, or be games themselves: let W(a) be the mean of V_k
(a e^-l) over the loss l of a pair that dominates the others. The next of the k uses leaves at most
the supremum over triples of a mean of V_{k-1} over both losses, hence at most the mean over l of
the supremum, which is W; the next of the others leaves at most W, as V_k is convex. By induction
the product of the pairs dominates, in any order of the uses. Of other parts in a sum it is listed:
its profile at points is above, and the largest convex one that meets them is that of finitely many
losses (`atomic/profiles.py`).

Below (`strategies.py`) are uses after all others, at each epsilon by itself. Listed, V is at least
its lower bound at the next point, so that chords of values moved by one point are below it.

One game serves a range of epsilons around that of its tilt. Nothing is proved of tilt, step and
length of its circle, and nothing has to be: any give a bound.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atoms import AtomicLaw, nothing
from privcalc.losses.fixed_size.game import Game, Scale, chord_weights, graded
from privcalc.losses.fixed_size.strategies import COARSE, MOST_TILT, Strategies, law_below
from privcalc.losses.fixed_size.triples import poisson_values, time_values
from privcalc.losses.law import LawProperties, LossLaw, Members, rough_variance
from privcalc.losses.profiles import profile_law
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import OutOfWorkError, remembered
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from privcalc.losses.law import Tails
    from privcalc.numerics.rounding import Array

# Distances, rates and numbers of uses of which games are played.
LEAST_MU, LARGEST_MU = 0.02, 2.0
LEAST_Q, LARGEST_Q = 1e-6, 0.9
FEWEST, MOST_USES = 2, 200_000
# log 1 / delta of games for given epsilons, and of those for sums.
LEVELS = (0.5, 2.0, 5.0, 9.0, 14.0, 20.0, 28.0, 38.0, 50.0, 70.0, 100.0, 150.0, 230.0, 340.0)
USUAL = 14.0
# From this tolerance on games are rough. Steps in deviations of one use and points at most, of fine
# and of rough ones: above, and below; widths of cells of log E, and intervals of tau.
ROUGH = 5e-3
GRIDS = {True: ((0.055, 15_000), (0.15, 4000)), False: ((0.015, 54_000), (0.08, 10_000))}
CELLS, INTERVALS = (0.025, 0.05), (12, 8)
# Relative rounding of a value that is read.
READ = 1e-11
# No game goes so far.
FARTHEST = 1e5
# Losses of a listed law on either side of 0, and deviations beyond the epsilon of its game; values
# below LEAST are left out.
LISTED, BEYOND, LEAST = 3000, 3.0, 1e-60
# Lengths of the circle in deviations of the tilted loss of all steps.
SPAN = 8.5
# A rough look at a step.
LOOK, LOOK_FINE, LOOK_GROWTH = 0.1, 0.06, 0.05
ORDERS = np.geomspace(0.3, 6000.0, 210)
# Of few uses, steps are so many times the least.
SHORTEST = 4.0
# log delta of which no epsilon above 0 may be seen roughly.
LARGE = -9.0
# Tilted mass that single losses beyond half of the cut may have in all uses: where they take over a
# circle that is long enough for usual losses is too short, and losses vary so many times more.
MOST_FAR, LITTLE_MORE = 1e-4, 1.1
# So much larger may the epsilon be that a less steep tilt proves by itself.
MOST_LOSS = 1.25
# Log of what is cut off of all uses, beside delta.
CUT = -25.0


class Choice:
    """What is chosen for one kind of step and one number of uses."""

    @np.errstate(all="ignore")
    def __init__(self, q: float, mu: float, count: int) -> None:
        """Look at E and at R, roughly."""
        self._q, self._mu, self._count = q, mu, count
        self._log_q = math.log(q)
        square = math.exp(0.5 * mu * mu)
        spread = math.sqrt(2.0 * square * (square - 1.0)) * q
        last = math.log1p(q * math.exp(10.0 * mu + mu * mu))
        self._points = graded(math.ceil(last / (LOOK * spread)), LOOK_GROWTH) * (LOOK * spread)
        equal = time_values(q, mu, 1.0, self._points, fine=LOOK_FINE, under=COARSE)[1]
        single = poisson_values(q, mu, self._points)[1]
        self._laws = [
            np.maximum(chord_weights(self._points, values), 0.0) for values in (equal, single)
        ]
        self._plain = max(float(weights @ self._points**2) for weights in self._laws)

    def scale(self, log_delta: float, part: float, most: int) -> Scale | None:
        """Choose for a delta, or for a smaller one where that is large; None where out of reach.

        Args:
            log_delta: the delta.
            part: the step in deviations of one step.
            most: points.
        """
        found = self._scale(log_delta, part, most)
        while found is None and log_delta > LARGE:
            log_delta -= 1.0
            found = self._scale(log_delta, part, most)
        return found

    @np.errstate(all="ignore")
    def _scale(self, log_delta: float, part: float, most: int) -> Scale | None:
        best = []
        reach = self._reach(min(log_delta, LARGE) + CUT)
        if not reach < math.inf:
            return None
        within = self._points <= reach
        orders = ORDERS[(ORDERS + 2.0) * reach <= MOST_TILT]
        if not len(orders):
            return None
        powers = np.exp(np.outer(orders + 1.0, self._points[within]))
        for law in self._laws:
            tilted = law[within] * powers
            moments = tilted.sum(axis=1)
            # (x - a)_+ is at most x^{lam + 1} times a number that makes them touch.
            logs = self._count * np.log(moments) - log_delta - np.log1p(orders)
            epsilons = logs / orders - np.log1p(1.0 / orders)
            epsilons = np.where(np.isfinite(epsilons), epsilons, np.inf)
            mean, square = (tilted @ self._points[within] ** k / moments for k in (1, 2))
            variances = square - mean * mean
            far = self._count * tilted @ (self._points[within] > 0.5 * reach)
            steep = (far > MOST_FAR) & (variances > LITTLE_MORE * variances[0])
            best_place = int(np.argmin(epsilons))
            least = float(epsilons[best_place])
            if not math.isfinite(least):
                return None
            # The steepest that is not too steep, but for a part of what the tilt is for.
            place = min(int(np.argmax(np.append(steep, True))) - 1, best_place)
            place = max(place, int(np.argmax(epsilons <= MOST_LOSS * least)))
            lam, variance = float(orders[place]), float(variances[place])
            # About what the saddle point says of delta.
            width = math.log(max(2.0 * math.pi * self._count * variance, 1e-300))
            closer = float(logs[place]) - math.log(lam) - 0.5 * width
            best.append((min(float(epsilons[place]), closer / lam), lam, variance))
        epsilon, lam, variance = max(best)
        if not (epsilon > 0.0 and variance > 0.0):
            return None
        deviation = math.sqrt(self._count * variance)
        length = max(SPAN * deviation, 2.0 * deviation + epsilon + 8.0 / lam)
        length = max(length, (8.0 - log_delta) / lam)
        # Large losses that the tilt brings up need no finer lattice than usual ones.
        fine = part * math.sqrt(min(variance, self._plain))
        step = max(min(fine, SHORTEST * length / most), length / most)
        return Scale(lam, step, length, epsilon, deviation, reach)

    def _reach(self, log_mass: float) -> float:
        """Return about the loss of R beyond which all uses have this mass."""
        log_tail = log_mass - math.log(self._count) - self._log_q
        # P(N > z) is about e^(-z^2/2) / (z (2 pi)^(1/2)).
        z = math.sqrt(max(1.0, -2.0 * log_tail))
        z = math.sqrt(max(1.0, -2.0 * (log_tail + math.log(z * math.sqrt(2.0 * math.pi)))))
        exponent = z * self._mu + 0.5 * self._mu * self._mu
        return math.log1p(self._q * math.exp(exponent)) if exponent < MOST_TILT else math.inf


@record
class Played:
    """What a game came to: w on a circle.

    Attributes:
        scale: the circle's.
        step: its step.
        values: w, or what is below it.
        turns: a rate and a logarithm that bound other turns (`Strategies.turns`).
        left_out: from above, what is not in w.
    """

    scale: Scale
    step: float
    values: Array
    turns: tuple[float, float] = (0.0, math.inf)
    left_out: float = 0.0

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def above(self, epsilon: float) -> float:
        """Return an upper bound on delta: V is below its chord, and delta is V(1/a) a.

        Beyond FARTHEST delta is at most what it is there.
        """
        epsilon = min(epsilon, FARTHEST)
        place = -epsilon / self.step
        first = math.floor(place)
        share = math.expm1((place - first) * self.step) / math.expm1(self.step)
        here, there = (self._value(at, epsilon) for at in (first, first + 1))
        found = ((1.0 - share) * here + share * there) * (1.0 + READ * (1.0 + epsilon))
        return min(1.0, found + self.left_out)

    def below(self, epsilon: float) -> float:
        """Return a lower bound on delta: that of the next point of the lattice."""
        if epsilon > FARTHEST:
            return 0.0
        place = -math.ceil(epsilon / self.step * (1.0 + 4.0 * UNIT))
        at = -place * self.step
        length = self.step * len(self.values)
        if at >= length:
            return 0.0
        lam = self.scale.lam
        other = math.exp(-lam * (length - at)) / -math.expm1(-lam * length)
        other += math.exp(min(self.turns[1] - self.turns[0] * at, 700.0))
        w = float(self.values[place]) - other * (1.0 + 1e-6)
        return max(0.0, w * math.exp(-lam * at) * (1.0 - READ * (1.0 + lam * at)))

    def about(self, epsilon: float) -> float:
        """Return about delta: other turns are not taken off, which far from the game's epsilon are
        more than it.
        """
        epsilon = min(epsilon, FARTHEST)
        place = -epsilon / self.step
        first = math.floor(place)
        size = len(self.values)
        logs = [math.log(max(float(self.values[i % size]), 1e-300)) for i in (first, first + 1)]
        log_w = logs[0] + (place - first) * (logs[1] - logs[0])
        return math.exp(min(log_w - self.scale.lam * epsilon, 0.0))

    def _value(self, place: int, epsilon: float) -> float:
        w = float(self.values[place % len(self.values)])
        exponent = (self.scale.lam + 1.0) * place * self.step + epsilon
        return w * math.exp(min(exponent, 700.0)) * (1.0 + READ * (1.0 + abs(exponent)))


@record
class Step:
    """One kind of step.

    Attributes:
        q: sampling probability, off by a few units.
        mu: distance of two outputs.
        error: its relative error.
    """

    q: float
    mu: float
    error: float

    def ends(self, sign: float) -> tuple[float, float]:
        """Return q and mu, raised or lowered by their errors."""
        q = self.q * (1.0 + sign * 4.0 * UNIT)
        return q, self.mu * (1.0 + sign * (self.error + 4.0 * UNIT))

    def in_reach(self, uses: int) -> bool:
        """Say whether a game of so many uses is played."""
        fits = LEAST_MU <= self.mu <= LARGEST_MU and LEAST_Q <= self.q <= LARGEST_Q
        return fits and FEWEST <= uses <= MOST_USES


@record
class FixedSizeUses(LossLaw):
    """So many uses of one kind of step, from above, or from below after all others.

    Attributes:
        pair: glued of R and A, of one use.
        step: what it is.
        uses: how many.
        rough: whether few digits will do.
        upper: from which side.
    """

    max_loss = math.inf
    properties = LawProperties(game=True, exact_profile=True, one_sided=True)
    pair: LossLaw
    step: Step
    uses: int
    rough: bool = False
    upper: bool = True

    def resolved(self, tolerance: float) -> Self:
        """Return the same for a tolerance."""
        return replace(self, rough=tolerance >= ROUGH)

    def profile(self, epsilon: float) -> tuple[float, float]:
        """Return the profile, on the side of this law."""
        return self.bounds(epsilon)

    def bounds(self, epsilon: float, log_delta: float | None = None) -> tuple[float, float]:
        """Return one bound on delta, twice.

        Args:
            epsilon: where.
            log_delta: about that delta, if known.
        """
        levels = self._levels(epsilon, log_delta)
        for level in levels[:-1]:
            # Where no work is left for the game near it, others that were played say something.
            with suppress(OutOfWorkError):
                return (self._bound(level, epsilon),) * 2
        return (self._bound(levels[-1], epsilon),) * 2

    def _bound(self, level: float, epsilon: float) -> float:
        game = played(self, level)
        if game is None:
            return float(self.upper)
        return game.above(epsilon) if self.upper else game.below(epsilon)

    def about(self, epsilon: float, log_delta: float | None) -> float:
        """Return about delta; see `bounds`."""
        game = played(self, self._levels(epsilon, log_delta)[0])
        return float(self.upper) if game is None else game.about(epsilon)

    def guess(self, log_delta: float) -> float:
        """Return about the epsilon of a delta."""
        scale = choice_of(*self.step.ends(0.0), self.uses).scale(log_delta, 1.0, 100)
        return 0.0 if scale is None else scale.epsilon

    def _levels(self, epsilon: float, log_delta: float | None) -> list[float]:
        """Return the level of a delta, or those of games, first that which is best near epsilon."""
        if log_delta is not None:
            return [0.5 * round(-2.0 * log_delta)]
        choice = choice_of(*self.step.ends(0.0), self.uses)
        # A rough game serves twice as many epsilons.
        levels = LEVELS[1::2] if self.rough else LEVELS
        found = [(choice.scale(-level, 1.0, 100), level) for level in levels]
        known = [(abs(scale.epsilon - epsilon), level) for scale, level in found if scale]
        return [level for _, level in sorted(known)] or [USUAL]

    @cached_property
    def listed(self) -> AtomicLaw | None:
        """A law with finitely many losses whose profile is above, or below; None for none.

        From below V is at least its bound at the next point: chords of values that are moved by one
        point are below.
        """
        game = played(self, USUAL)
        if game is None:
            return None if self.upper else NOTHING
        last = min(
            1.3 * game.scale.epsilon + BEYOND * game.scale.deviation, 0.95 * game.scale.length
        )
        stride = max(1, math.ceil(last / game.step / LISTED))
        points = (game.step * np.arange(0.0, last / game.step, stride)).tolist()
        if self.upper:
            known = [(x, game.above(x)) for x in points]
        else:
            # V falls: what is known farther out is known here.
            values = np.maximum.accumulate([game.below(x) for x in points[:0:-1]])[::-1].tolist()
            known = [(x, y) for x, y in zip(points, values, strict=False) if y > LEAST]
            known.append((points[len(known)], 0.0))
        return profile_law(tuple((Fraction(x), Fraction(y)) for x, y in known))

    def tails(self, losses: Array) -> Tails:
        """Return those of the listed law."""
        if self.listed is None:
            raise NotCertifiedError("the game of a step is out of reach")
        return self.listed.tails(losses)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Return those of the listed law below; above bound K by that of glued pairs, and by 0."""
        if not self.upper and self.listed is not None:
            return self.listed.renyi(c)
        upper = self.uses * self.pair.renyi(c)[1]
        return np.zeros(c.shape), upper * (1.0 + 4.0 * UNIT)

    def concentration(self, c: Array) -> Array:
        """Return that of glued pairs."""
        found: Array = self.uses * self.pair.concentration(c) * (1.0 + 4.0 * UNIT)
        return found


NOTHING = nothing()


@remembered(8)
def choice_of(q: float, mu: float, uses: int) -> Choice:
    """Return what is chosen for the uses."""
    return Choice(q, mu, uses)


@remembered(16)
def played(law: FixedSizeUses, level: float) -> Played | None:
    """Play near the epsilon of e^-level; None where that is out of reach."""
    choice = choice_of(*law.step.ends(0.0), law.uses)
    scale = choice.scale(-level, *GRIDS[law.upper][law.rough])
    if scale is None:
        return None
    if law.upper:
        game = Game(*law.step.ends(1.0), scale, INTERVALS[law.rough], CELLS[law.rough])
        left_out = game.left_out(law.uses)
        return Played(scale, game.circle.step, game.value(law.uses), left_out=left_out)
    plays = Strategies(*law.step.ends(-1.0), scale, CELLS[law.rough])
    return Played(scale, plays.circle.step, plays.value(law.uses), plays.turns(law.uses))


# What is asked of an infinite order is asked of this one.
LARGEST_ORDER = 1e6


@record
class FixedSizePairs(Members):
    """R, A and E of one step, of which a strategy plays one after the other.

    Attributes:
        pair: glued of R and A.
        step: what it is.
        single: R.
        other: A.
        turned: whether P and Q exchange their roles.
    """

    # Of E there are finitely many losses, which end before those of R.
    both: ClassVar[bool] = True
    adaptive: ClassVar[bool] = True
    pair: LossLaw
    step: Step
    single: LossLaw
    other: LossLaw
    turned: bool = False

    @classmethod
    def together(
        cls, uses: Sequence[tuple[Self, int]]
    ) -> tuple[LossLaw, Sequence[tuple[Self, int]]] | None:
        """Return the law of a game after all others: of the kind whose losses vary most."""
        known = [i for i, (members, count) in enumerate(uses) if members.step.in_reach(count)]
        if not known:
            return None
        place = max(known, key=lambda i: uses[i][1] * rough_variance(uses[i][0].pair))
        rest = [each for i, each in enumerate(uses) if i != place]
        last, count = uses[place]
        return FixedSizeUses(last.pair, last.step, count, upper=False), rest

    def member(self, c: float | None) -> LossLaw:
        """Return R, or with c the one of the three of the largest divergence of order |c| + 1."""
        laws = [self.single, self.other]
        if self.turned == (c is None or c >= 0.0):
            laws.reverse()
        if c is None:
            return laws[0]
        # Any will do where no work is left.
        with suppress(NotCertifiedError):
            equal = equal_law(self.step)
            laws += [] if equal is None else [equal]
            order = np.array([min(abs(c), LARGEST_ORDER)])
            return max(laws, key=lambda law: float(law.renyi(order)[0][0]))
        return laws[0]


# Points of E as a law by itself, in deviations of a step, how they grow, how far they go; cells.
POINT, POINT_GROWTH, POINT_REACH, POINT_FINE = 0.04, 0.03, 9.0, 0.05


@remembered(8)
def equal_law(step: Step) -> AtomicLaw | None:
    """Return a law below E, with finitely many losses; None where that is out of reach."""
    if not step.in_reach(FEWEST):
        return None
    q, mu = step.ends(-1.0)
    square = math.exp(0.5 * mu * mu)
    spacing = POINT * q * math.sqrt(2.0 * square * (square - 1.0))
    reach = math.log1p(q * math.exp(POINT_REACH * mu))
    places = spacing * graded(math.ceil(reach / spacing), POINT_GROWTH)
    points = np.empty(2 * len(places) - 1)
    points[::2], points[1::2] = places, 0.5 * (places[:-1] + places[1:])
    masses = law_below(points, time_values(q, mu, 1.0, points, fine=COARSE, under=POINT_FINE)[0])
    up = places > 0.0
    # A unit for each product, in favour of no loss.
    p, losses = masses[up] * np.exp(places[up]) * (1.0 - 1e-12), places[up]
    losses, p = losses[p > 0.0], p[p > 0.0]
    mirrored = p * np.exp(-losses)
    rest = 1.0 - math.fsum(p) - math.fsum(mirrored)
    if not rest > 0.0:
        return None
    upward = (*mirrored[::-1].tolist(), rest, *p.tolist())
    losses = np.concatenate([-losses[::-1], [0.0], losses])
    return AtomicLaw(tuple(losses.tolist()), upward, loss_units=0.0, lower_masses=upward[::-1])
