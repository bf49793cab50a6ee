"""All uses of one kind of fixed-size step together: what they cost at most, and what is attained.

`FixedSizeUses` is above: the value of the game (`game.py`) is the profile of a pair that dominates
all uses together. Others may come in between, or be games themselves: let W(a) be the mean of V_k
(a e^-l) over the loss l of a pair that dominates the others. The next of the k uses leaves at most
the supremum over triples of a mean of V_{k-1} over both losses, hence at most the mean over l of
the supremum, which is W; the next of the others leaves at most W, as V_k is convex. By induction
the product of the pairs dominates, in any order of the uses. Of other parts in a sum it is listed:
its profile at points is above, and the largest convex one that meets them is that of finitely many
losses (`atomic/profiles.py`).

`AttainedUses` is below (`strategies.py`): at each epsilon by itself, by uses after all others.
Listed, V is at least its lower bound at the next point, so that chords of values moved by one point
are below it.

One game serves a range of epsilons around that of its tilt. It is played once for each, and kept as
long as the law.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.profiles import profile_law
from privcalc.losses.fixed_size.game import Game
from privcalc.losses.fixed_size.scale import COARSE, Choice, graded
from privcalc.losses.fixed_size.strategies import Strategies, law_below
from privcalc.losses.fixed_size.triples import time_values
from privcalc.losses.law import LawProperties, LossLaw, rough_variance
from privcalc.losses.term import Members
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import OutOfWorkError, remembered
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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
USUAL = 14.0
# From this tolerance on games are rough. Intervals of tau.
ROUGH = 5e-3
FINE_INTERVALS, ROUGH_INTERVALS = 14, 8
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
    properties = LawProperties(game=True)

    def resolved(self, tolerance: float) -> Self:
        """Return the same for a tolerance."""
        return replace(self, rough=tolerance >= ROUGH)

    @property
    def exact_single_use_profile(self) -> Callable[[float], tuple[float, float]]:
        """Return the profile, on the side of this law."""
        return self.bounds

    @property
    def one_sided(self) -> bool:
        """Say that both ends of the profile are on the side of this law."""
        return True

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
        game = played(self, level)
        return self.trivial if game is None else self.read(game, epsilon)

    def about(self, epsilon: float, log_delta: float | None) -> float:
        """Return about delta; see `bounds`."""
        near = self._levels(epsilon)[0] if log_delta is None else 0.5 * round(-2.0 * log_delta)
        game = played(self, near)
        return self.trivial if game is None else game.about(epsilon)

    def guess(self, log_delta: float) -> float:
        """Return about the epsilon of a delta."""
        scale = choice_of(*self.step.ends(0.0), self.uses).scale(log_delta, 1.0, 100)
        return 0.0 if scale is None else scale.epsilon

    # What is known without a game; for fine and rough ones, steps in deviations of one use and
    # points at most.
    trivial: ClassVar[float]
    grids: ClassVar[tuple[tuple[float, int], tuple[float, int]]]

    def play(self, scale: Scale) -> Played:
        """Play the game on a circle."""
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
    grids: ClassVar[tuple[tuple[float, int], tuple[float, int]]] = (0.06, 14_000), (0.15, 4000)

    def play(self, scale: Scale) -> Played:
        """Play from above."""
        intervals = ROUGH_INTERVALS if self.rough else FINE_INTERVALS
        game = Game(*self.step.ends(1.0), scale, intervals, rough=self.rough)
        values = game.value(self.uses, rough=self.rough)
        return Played(scale, game.circle.step, values, left_out=game.left_out(self.uses))

    def read(self, game: Played, epsilon: float) -> float:
        """Return an upper bound on delta."""
        return game.above(epsilon)

    def tails(self, losses: Array) -> Tails:
        """Return those of the listed law."""
        law = self.listed()
        return self.pair.tails(losses) if law is None else law.tails(losses)

    def listed(self) -> AtomicLaw | None:
        """Return a law with finitely many losses whose profile is above; None for none."""
        game = played(self, USUAL, listed=True)
        return None if game is None else law_of_profile([(x, game.above(x)) for x in _points(game)])


@record
class AttainedUses(Uses):
    """All uses after all others, from below."""

    trivial: ClassVar[float] = 0.0
    grids: ClassVar[tuple[tuple[float, int], tuple[float, int]]] = (0.02, 40_000), (0.08, 10_000)

    def play(self, scale: Scale) -> Played:
        """Play from below."""
        game = Strategies(*self.step.ends(-1.0), scale, rough=self.rough)
        values = game.value(self.uses, rough=self.rough)
        return Played(scale, game.circle.step, values, game.turns(self.uses))

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
        one point are below.
        """
        game = played(self, USUAL, listed=True)
        if game is None:
            return AtomicLaw((0.0,), (1.0,), loss_units=0.0, lower_masses=(1.0,))
        points = _points(game)
        # V falls: what is known farther out is known here.
        values = np.maximum.accumulate([game.below(x) for x in points[:0:-1]])[::-1].tolist()
        known = [(x, y) for x, y in zip(points, values, strict=False) if y > LEAST]
        return law_of_profile([*known, (points[len(known)], 0.0)])


# Values below are left out.
LEAST = 1e-60


def _points(game: Played) -> list[float]:
    """Return 0 and further losses at which a law is listed."""
    last = min(1.3 * game.scale.epsilon + BEYOND * game.scale.deviation, 0.95 * game.scale.length)
    stride = max(1, math.ceil(last / game.step / LISTED))
    found: list[float] = (game.step * np.arange(0.0, last / game.step, stride)).tolist()
    return found


def law_of_profile(points: Sequence[tuple[float, float]]) -> AtomicLaw:
    """Return the law of the largest convex profile that meets points, the same in both orders."""
    return profile_law(tuple((Fraction(x), Fraction(y)) for x, y in points))


@remembered(8)
def choice_of(q: float, mu: float, uses: int) -> Choice:
    """Return what is chosen for the uses."""
    return Choice(q, mu, uses)


@remembered(16)
def played(law: Uses, level: float, *, listed: bool = False) -> Played | None:
    """Play near the epsilon of e^-level, or also far from there; None where it is out of reach."""
    choice = choice_of(*law.step.ends(0.0), law.uses)
    scale = choice.scale(-level, *law.grids[law.rough], listed=listed)
    return None if scale is None else law.play(scale)


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
    p, losses = masses[up] * np.exp(places[up]) * (1.0 - 1e-12), places[up]
    losses, p = losses[p > 0.0], p[p > 0.0]
    mirrored = p * np.exp(-losses)
    rest = 1.0 - math.fsum(p) - math.fsum(mirrored)
    if not rest > 0.0:
        return None
    upward = (*mirrored[::-1].tolist(), rest, *p.tolist())
    losses = np.concatenate([-losses[::-1], [0.0], losses])
    return AtomicLaw(tuple(losses.tolist()), upward, loss_units=0.0, lower_masses=upward[::-1])
