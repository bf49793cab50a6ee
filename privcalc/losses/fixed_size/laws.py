"""All uses of one kind of fixed-size step together: what they cost at most, and what is attained.

`FixedSizeUses` is above: the value of the game (`game.py`) is the profile of a pair that dominates
all uses together. Others may come in between, or be games themselves: let W(a) be the mean of V_k
(a e^-l) over the loss l of a pair that dominates the others. The next of the k uses leaves at most
the supremum over triples of a mean of V_{k-1} over both losses, hence at most the mean over l of
the supremum, which is W; the next of the others leaves at most W, as V_k is convex. By induction
the product of the pairs dominates, in any order of the uses. Of other parts in a sum it is listed:
its profile at points is above, and the chords between them are the profile of finitely many losses.

`AttainedUses` is below (`strategies.py`): at each epsilon by itself, by uses after all others.
Listed, V is at least its lower bound at the next point, so that chords of values moved by one point
are below it.

One game serves a range of epsilons around that of its tilt. It is played once for each, and kept as
long as the law.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.choices.range_laws import masses_of, profile_of
from privcalc.losses.fixed_size.game import Game
from privcalc.losses.fixed_size.scale import COARSE, Choice, graded
from privcalc.losses.fixed_size.strategies import Strategies, law_below
from privcalc.losses.fixed_size.triples import time_values
from privcalc.losses.law import LawProperties, LossLaw, rough_variance
from privcalc.losses.term import Members
from privcalc.numerics.hull import lower_hull
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import OutOfWorkError, remembered
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from privcalc.losses.fixed_size.scale import Scale
    from privcalc.losses.law import Tails
    from privcalc.numerics.arrays import Array

# Distances, rates and numbers of uses of which games are played.
LEAST_MU, LARGEST_MU = 0.02, 2.0
LEAST_Q, LARGEST_Q = 1e-6, 0.9
FEWEST, MOST_USES = 2, 200_000
# log 1 / delta of games for given epsilons, and of those for sums.
LEVELS = (0.5, 2.0, 5.0, 9.0, 14.0, 20.0, 28.0, 38.0, 50.0, 70.0, 100.0, 150.0, 230.0, 340.0)
USUAL, NEAR = 14.0, 6.0
# For a tolerance: the step in deviations of one use, points at most, and intervals of tau.
ROUGH = 5e-3
ROUGH_ABOVE, FINE_ABOVE = (0.15, 4000, 8), (0.06, 14_000, 14)
ROUGH_BELOW, FINE_BELOW = (0.08, 10_000), (0.02, 40_000)
# Relative rounding of a value that is read.
READ = 1e-11
# No game goes so far.
FARTHEST = 1e5
# Losses of a listed law on either side of 0, and deviations beyond the epsilon of its game.
LISTED, BEYOND = 3000, 3.0


@record
class Played:
    """What a game came to: w on a circle.

    Attributes:
        scale: the circle's.
        step: its step.
        values: w, or what is below it.
        turns: pairs of a rate and a logarithm that bound other turns (`Strategies.turns`).
        left_out: from above, what is not in w.
    """

    scale: Scale
    step: float
    values: Array
    turns: tuple[tuple[float, float], ...] = ()
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
        other += min(
            (math.exp(min(log - rate * at, 700.0)) for rate, log in self.turns), default=math.inf
        )
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
class Uses(LossLaw):
    """So many uses of one kind of step.

    Attributes:
        pair: glued of R and A, of one use.
        step: what it is.
        uses: how many.
        rough: whether few digits will do.
    """

    pair: LossLaw
    step: Step
    uses: int
    rough: bool = False

    max_loss = math.inf
    properties = LawProperties(game=True, exact_profile=True, one_sided=True)

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
        if log_delta is not None:
            return (self.bound(0.5 * round(-2.0 * log_delta), epsilon),) * 2
        levels = self._levels(epsilon)
        for level in levels[:-1]:
            # Where no work is left for the game near it, others that were played say something.
            with suppress(OutOfWorkError):
                return (self.bound(level, epsilon),) * 2
        return (self.bound(levels[-1], epsilon),) * 2

    def bound(self, level: float, epsilon: float) -> float:
        """Return the bound of the game of one level."""
        game = self.played(level)
        return self.trivial if game is None else self.read(game, epsilon)

    def about(self, epsilon: float, log_delta: float | None) -> float:
        """Return about delta; see `bounds`."""
        near = self._levels(epsilon)[0] if log_delta is None else 0.5 * round(-2.0 * log_delta)
        game = self.played(near)
        return self.trivial if game is None else game.about(epsilon)

    def guess(self, log_delta: float) -> float:
        """Return about the epsilon of a delta."""
        scale = choice_of(*self.step.ends(0.0), self.uses).scale(log_delta, 1.0, 100)
        return 0.0 if scale is None else scale.epsilon

    trivial: ClassVar[float]

    def played(self, level: float) -> Played | None:
        """Return the game of a level; None where it is out of reach."""
        raise NotImplementedError

    def read(self, game: Played, epsilon: float) -> float:
        """Return what a game says of delta."""
        raise NotImplementedError

    def _levels(self, epsilon: float) -> list[float]:
        """Return the levels of games, first those that are best near an epsilon."""
        choice = choice_of(*self.step.ends(0.0), self.uses)
        # A rough game serves twice as many epsilons.
        levels = LEVELS[1::2] if self.rough else LEVELS
        found = [(choice.scale(-level, 1.0, 100), level) for level in levels]
        known = [(abs(scale.epsilon - epsilon), level) for scale, level in found if scale]
        return [level for _, level in sorted(known)] or [USUAL]

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by that of glued pairs, which the game is below, and by 0."""
        upper = self.uses * self.pair.renyi(c)[1]
        return np.zeros(c.shape), upper * (1.0 + 4.0 * UNIT)

    def concentration(self, c: Array) -> Array:
        """Return that of glued pairs."""
        found: Array = self.uses * self.pair.concentration(c) * (1.0 + 4.0 * UNIT)
        return found


@record
class FixedSizeUses(Uses):
    """All uses, from above."""

    trivial: ClassVar[float] = 1.0

    def played(self, level: float) -> Played | None:
        """Play from above."""
        return played_above(self, level)

    def read(self, game: Played, epsilon: float) -> float:
        """Return an upper bound on delta."""
        return game.above(epsilon)

    def tails(self, losses: Array) -> Tails:
        """Return those of the listed law."""
        law = self.listed()
        return self.pair.tails(losses) if law is None else law.tails(losses)

    def listed(self) -> AtomicLaw | None:
        """Return a law with finitely many losses whose profile is above; None for none.

        What is beyond the last point, where the profile is the last value at most, is infinite.
        Masses are raised until their profile is proved to be above the values.
        """
        near = replace(self, rough=True)
        known = (
            played_above(self, USUAL, listed=True),
            played_above(near, NEAR, listed=True),
        )
        games = [game for game in known if game]
        if not games:
            return None
        points, spacing = _points(games[0])
        found = [min(game.above(float(each)) for game in games) for each in points]
        # The profile is convex, and so below the largest convex function that is below all of them.
        x, values = np.exp(points), np.minimum.accumulate(found)
        kept = lower_hull(x, values)
        values = np.interp(x, x[kept], values[kept]) * (1.0 + 8.0 * UNIT)
        # Of a symmetric pair the slope in a at 1 is (1 - V(1)) / 2 at most.
        steepest = 0.5 * (1.0 - values[0]) * (1.0 - STEEPEST)
        values = np.maximum(values, values[0] - np.expm1(points) * steepest)
        p = masses_of(values, spacing)
        short = float(((values[:-1] - values[-1]) / profile_of(p, spacing)).max())
        p = p * (max(1.0, short) + 8.0 * len(p) * UNIT)
        return _symmetric(points[1:], p, float(values[-1]))


@record
class AttainedUses(Uses):
    """All uses after all others, from below."""

    trivial: ClassVar[float] = 0.0

    def played(self, level: float) -> Played | None:
        """Play from below."""
        return played_below(self, level)

    def read(self, game: Played, epsilon: float) -> float:
        """Return a lower bound on delta."""
        return game.below(epsilon)

    def tails(self, losses: Array) -> Tails:
        """Return those of the listed law."""
        return self.listed.tails(losses)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Return that of the listed law, which is below."""
        return self.listed.renyi(c)

    @cached_property
    def listed(self) -> AtomicLaw:
        """A law with finitely many losses whose profile is below.

        Between two points V is at least its bound at the second: chords of values that are moved by
        one point are below. Masses are lowered until their profile is proved to be below those.
        """
        known = played_below(self, USUAL, listed=True), played_below(self, NEAR, listed=True)
        games = [game for game in known if game]
        found = None
        if games:
            points, spacing = _points(games[0])
            best = [max(game.below(float(each)) for game in games) for each in points[1:]]
            # V falls: what is known farther out is known here.
            x = np.exp(points[:-1])
            values = np.maximum.accumulate(best[::-1])[::-1]
            kept = lower_hull(x, values)
            values = np.interp(x, x[kept], values[kept])
            # Of a symmetric pair the slope in a at 1 is (1 - V(1)) / 2 at most.
            steepest = 0.5 * (1.0 - float(values[0])) * (1.0 - STEEPEST)
            steep = int(np.count_nonzero(np.diff(values) < -steepest * np.diff(x)))
            values[:steep] = values[steep] + steepest * (x[steep] - x[:steep])
            values = values[: max(2, int(np.count_nonzero(values > LEAST)))]
            p = masses_of(values, spacing)
            over = float((profile_of(p, spacing) / values[:-1]).max())
            p = p / max(over, 1.0) * (1.0 - 8.0 * len(p) * UNIT)
            found = _symmetric(spacing * np.arange(1, len(p) + 1), p, 0.0)
        return found or AtomicLaw((0.0,), (1.0,), loss_units=0.0, lower_masses=(1.0,))


# So that something is left for no loss.
STEEPEST = 1e-4
# Values below are left out.
LEAST = 1e-60


def _points(game: Played) -> tuple[Array, float]:
    """Return 0 and the points of a listed law, multiples of a step."""
    last = min(1.3 * game.scale.epsilon + BEYOND * game.scale.deviation, 0.95 * game.scale.length)
    stride = max(1, math.ceil(last / game.step / LISTED))
    points = game.step * stride * np.arange(int(last / game.step / stride) + 1)
    return points, game.step * stride


def _symmetric(losses: Array, p: Array, infinite: float) -> AtomicLaw | None:
    """Return the law of P-masses p at losses above 0, with their mirror images; the rest is 0."""
    losses, p = losses[p > 0.0], p[p > 0.0]
    mirrored = p * np.exp(-losses)
    rest = 1.0 - math.fsum(p) - math.fsum(mirrored) - infinite
    if not rest > 0.0:
        return None
    upward = (*mirrored[::-1].tolist(), rest, *p.tolist())
    return AtomicLaw(
        (*(-losses[::-1]).tolist(), 0.0, *losses.tolist()),
        upward,
        infinite,
        infinite,
        loss_units=0.0,
        lower_masses=upward[::-1],
        infinity_mass_error=4.0 * UNIT if infinite else 0.0,
    )


@remembered(8)
def choice_of(q: float, mu: float, uses: int) -> Choice:
    """Return what is chosen for the uses."""
    return Choice(q, mu, uses)


@remembered(8)
def played_above(law: Uses, level: float, *, listed: bool = False) -> Played | None:
    """Play from above, near the epsilon of e^-level, or also far from there."""
    q, mu = law.step.ends(1.0)
    part, most, intervals = ROUGH_ABOVE if law.rough else FINE_ABOVE
    scale = choice_of(*law.step.ends(0.0), law.uses).scale(-level, part, most, listed=listed)
    if scale is None:
        return None
    game = Game(q, mu, scale, intervals, rough=law.rough)
    values = game.value(law.uses, rough=law.rough)
    return Played(scale, game.circle.step, values, left_out=game.left_out(law.uses))


@remembered(8)
def played_below(law: Uses, level: float, *, listed: bool = False) -> Played | None:
    """Play from below, near the epsilon of e^-level, or also far from there."""
    q, mu = law.step.ends(-1.0)
    scale = choice_of(*law.step.ends(0.0), law.uses).scale(
        -level, *(ROUGH_BELOW if law.rough else FINE_BELOW), listed=listed
    )
    if scale is None:
        return None
    game = Strategies(q, mu, scale, rough=law.rough)
    values = game.value(law.uses, rough=law.rough)
    return Played(scale, game.circle.step, values, game.turns(law.uses))


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
        return AttainedUses(last.pair, last.step, count), rest

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
            return max(laws, key=lambda law: float(law.renyi(np.array([abs(c)]))[0][0]))
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
    return _symmetric(places[up], masses[up] * np.exp(places[up]) * (1.0 - 1e-12), 0.0)
