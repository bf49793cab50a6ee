"""The base of a private selection: ordered pairs of neighbours, normal or as engines prove them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from privcalc.engine.terms import one_law, reverse_of
from privcalc.errors import DomainError, NotCertifiedError
from privcalc.losses.gaussian import GaussianLaw
from privcalc.numerics import search
from privcalc.numerics.normal import SMALLEST_MU, gaussian_profiles
from privcalc.numerics.rounding import UNIT, non_negative
from privcalc.record import record
from privcalc.renyi.curve import LinearCurve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from privcalc.engine.composition import Composition
    from privcalc.engine.terms import Realized
    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array
    from privcalc.tradeoff.ordered_pair import Profile

# Maps logs x of thresholds to certified upper ends of H_{e^x}.
Upper: TypeAlias = Callable[["Array"], "Array"]

# The first distance from log(1 - delta) that is tried, and the last; the inverse is sought to this
# part of itself.
NEAREST, FARTHEST, FINE = 2.0**-30, 2.0**51, 1e-10


class Base(Protocol):
    """One ordered direction of a base mechanism: the pair (P, Q) dominates (Q_X, Q_X').

    That is, H_a(Q_X || Q_X') <= H_a(P || Q) for all a > 0, with H_a(P || Q) = sup over events A of
    P(A) - a Q(A) and a = e^x.
    """

    @property
    def reverse(self) -> Base:
        """Return the base of (Q, P); its own reverse is this one. A symmetric pair is its own."""
        ...

    @property
    def infinity_mass(self) -> float:
        """Return an upper bound on P(L = infinity), the limit of H_a for large a."""
        return 0.0

    @property
    def largest(self) -> float:
        """Return a bound on the finite losses, or infinity: H there is the infinity mass."""
        return math.inf

    @property
    def renyi(self) -> RenyiCurve | None:
        """Return a curve that bounds K(c) = log E_P[e^{cL}; L finite] from above, or None."""
        return None

    def upper(self, logs: Array) -> Array:
        """Return certified upper ends of H_{e^x}(P || Q) at any real x, of the same shape (n,)."""
        ...

    def lower(self, logs: Array) -> Array | None:
        """Return certified lower ends of the same; None where only upper ends are known."""
        del logs
        return None

    def epsilon(self, delta: float) -> float:
        """Return a real x, about the least, with H_{e^x} <= delta certified.

        It may be negative; -infinity for delta >= 1, infinity where there is none.
        """
        return least_log(self.upper, delta, infinity_mass=self.infinity_mass, largest=self.largest)


def least_log(
    upper: Upper, delta: float, *, infinity_mass: float = 0.0, largest: float = math.inf
) -> float:
    """Return a real x, about the least, at which upper(x) <= delta.

    What is returned is certified, because `upper` was evaluated there (or x = `largest`); that it
    is about the least rests on `upper` falling. As H_{e^x} >= 1 - e^x, no x below log(1 - delta)
    will do, and the search begins there.

    Args:
        upper: certified upper ends of H_{e^x}.
        delta: -infinity is returned from 1 on.
        infinity_mass: upper bound on the limit of H at infinity.
        largest: where that is reached, or infinity.
    """
    if delta >= 1.0:
        return -math.inf
    if not delta >= infinity_mass or delta < 0.0:
        return math.inf
    if delta in (0.0, infinity_mass):
        return largest

    def enough(x: float) -> bool:
        return bool(upper(np.array([x]))[0] <= delta)

    start, step = math.log1p(-delta), NEAREST
    left = start
    # What is far out may be expensive.
    while step < FARTHEST and start + step < largest and not enough(start + step):
        left, step = start + step, 2.0 * step
    if step >= FARTHEST:
        return largest
    return search.first(enough, left, min(start + step, largest), width=FINE)[1]


class WorseBase(Base):
    """A symmetric base that bounds both orders: H_a is the larger of H_a(P || Q), H_a(Q || P).

    Its own reverse, because an upper bound on both is one on either. Only upper ends are known.
    From the larger bound on the losses on both profiles are their masses at infinity.
    """

    def __init__(self, base: Base) -> None:
        """Take either order."""
        self._bases = base, base.reverse

    reverse = property(lambda self: self)
    infinity_mass = property(lambda self: max(base.infinity_mass for base in self._bases))
    largest = property(lambda self: max(base.largest for base in self._bases))

    def upper(self, logs: Array) -> Array:
        """Return certified upper ends of both."""
        first, second = (base.upper(logs) for base in self._bases)
        return np.maximum(first, second)

    def epsilon(self, delta: float) -> float:
        """Return the larger x of both orders, beyond which neither is above delta."""
        return max(base.epsilon(delta) for base in self._bases)


LARGEST_MU = 1e12


@record
class GaussianBase(Base):
    """The pair (N(mu, 1), N(0, 1)), which is its own reverse; its loss is a normal variable.

    Attributes:
        mu: distance, > 0.
        error: its relative error.
    """

    mu: float
    error: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no distance.

        Raises:
            DomainError: mu is not in [1e-290, 1e12].
        """
        if not SMALLEST_MU <= self.mu <= LARGEST_MU:
            raise DomainError(f"mu must be >= 1e-290 and <= 1e12, got {self.mu!r}")

    @property
    def reverse(self) -> GaussianBase:
        """Return the pair itself: mirrored about mu / 2 it is (Q, P)."""
        return self

    @cached_property
    def renyi(self) -> LinearCurve:
        """Return D_a = a mu^2 / 2 (Mironov 2017, Proposition 7).

        Of the 8 units that the curve allows for 5 roundings, mu^2 takes another.
        """
        return LinearCurve(0.5 * self.mu * self.mu, attained=True, error=2.01 * self.error)

    def upper(self, logs: Array) -> Array:
        """Return upper ends of H_{e^x}."""
        return self._bracket(logs)[1]

    def lower(self, logs: Array) -> Array:
        """Return lower ends of H_{e^x}."""
        return self._bracket(logs)[0]

    def _bracket(self, logs: Array) -> tuple[Array, Array]:
        """Bracket H at x of any sign.

        For x < 0, H_{e^x}(P || Q) = 1 - e^x + e^x H_{e^-x}(Q || P), a sum of non-negative terms,
        each of which is off by less than 12 units. H grows with mu, which may be off.
        """
        with np.errstate(all="ignore"):
            low, high = gaussian_profiles(self.mu, np.abs(logs))
            if self.error:
                error = self.error + 2.0 * UNIT
                low = gaussian_profiles(self.mu * (1.0 - error), np.abs(logs))[0]
                high = gaussian_profiles(self.mu * (1.0 + error), np.abs(logs))[1]
            below = logs < 0.0
            if below.any():
                x = logs[below]
                gap, factor = -np.expm1(x), np.exp(x)
                room = 32.0 * UNIT
                low[below] = (gap + factor * low[below]) * (1.0 - room)
                high[below] = (gap + factor * high[below]) * (1.0 + room)
        return low, np.minimum(high, 1.0)


TOLERANCE = 1e-7
# Roundings of 1 - a + a H, relative to the sum of its terms.
ROUNDING = 8.0 * UNIT


class CurveProfile:
    """The profile of what is known by its Renyi curve only, at many epsilons at once.

    Of the trade-off route (`renyi/best_order.py`) this is the best single order at each
    epsilon. That the profile is convex in e^epsilon is made use of by whoever joins its points.
    """

    both = False

    def __init__(self, composition: Composition) -> None:
        """Take the composition."""
        from privcalc.renyi.best_order import ManyEpsilons
        from privcalc.renyi.one_order import joint_log_delta

        self._mass = composition.infinity_mass().upper
        self._largest = composition.max_loss().upper
        convert = partial(joint_log_delta, infinite_mass=self._mass)
        self._orders = ManyEpsilons(composition.renyi_curve(), convert)
        self._known: dict[float, float] = {}

    def ask(self, epsilons: Iterable[float], *, above: bool = False) -> None:
        """Bound delta at epsilons >= 0 that are not known yet."""
        del above
        new = np.array(sorted({float(epsilon) for epsilon in epsilons}.difference(self._known)))
        if not len(new):
            return
        deltas = (self._orders.deltas(new) + self._mass) * (1.0 + 4.0 * UNIT)
        deltas = np.where(new >= self._largest, self._mass, np.minimum(1.0, deltas))
        self._known.update(zip(new.tolist(), deltas.tolist(), strict=True))

    def ends(self, epsilons: Iterable[float]) -> tuple[Array, Array]:
        """Return 0, and the upper ends, at epsilons that were asked for."""
        found = np.array([self._known[float(epsilon)] for epsilon in epsilons])
        return np.zeros(len(found)), found


class EngineBase(Base):
    """One ordered direction whose profile the engines bracket, point by point.

    For x < 0, H_{e^x}(P || Q) = 1 - e^x + e^x H_{e^-x}(Q || P), which is known from the reverse
    direction: (P, Q) dominates for adding a record if and only if (Q, P) does for removing one
    (Zhu, Dong, Wang 2022).
    """

    def __init__(self, laws: Realized, profile: Profile | CurveProfile) -> None:
        """Take the laws of the direction and what is to be asked for its profile."""
        self._laws = laws
        self.profile = profile
        self.back: EngineBase = self
        self._epsilon = cache(self._solved)

    @classmethod
    def pair(
        cls, laws: Realized, back: Realized, tolerance: float, engine: str
    ) -> tuple[EngineBase, EngineBase]:
        """Return both orders, the same one twice where both have one law."""
        # The engines are heavy, and a Gaussian base needs none.
        from privcalc.tradeoff.ordered_pair import Profile

        def profile(each: Realized) -> Profile | CurveProfile:
            if each.upper.curves:
                return CurveProfile(each.upper)
            return Profile(each, tolerance, engine)

        first = cls(laws, profile(laws))
        if back is laws:
            back = laws.reversed
        if back is laws:
            return first, first
        second = cls(back, profile(back))
        first.back, second.back = second, first
        return first, second

    @property
    def reverse(self) -> EngineBase:
        """Return the base of (Q, P)."""
        return self.back

    @property
    def infinity_mass(self) -> float:
        """Return an upper bound on P(L = infinity)."""
        return self._laws.upper.infinity_mass().upper

    @property
    def largest(self) -> float:
        """Return a bound on the finite losses, or infinity."""
        return non_negative(self._laws.upper.max_loss().upper)

    @property
    def renyi(self) -> RenyiCurve | None:
        """Return the Renyi curve of the direction."""
        return self._laws.upper.renyi_curve()

    def upper(self, logs: Array) -> Array:
        """Return certified upper ends of H_{e^x}(P || Q) at any real x."""
        return np.minimum(1.0, self._ends(logs, 1))

    def lower(self, logs: Array) -> Array | None:
        """Return certified lower ends; None where only upper ends are known."""
        if not (self.profile.both and self.back.profile.both):
            return None
        return np.maximum(0.0, self._ends(logs, 0))

    def epsilon(self, delta: float) -> float:
        """Return a real x, about the least, with H_{e^x} <= delta certified.

        The engine inverts the profile, where it is positive, with fewer points than a search.
        """
        if 0.0 < delta < 1.0:
            found = self._epsilon(delta)
            if found > 0.0:
                return found
        return super().epsilon(delta)

    def _solved(self, delta: float) -> float:
        from privcalc.engine.planner import certified_epsilon

        try:
            return certified_epsilon(self._laws.upper, delta, TOLERANCE).bound.upper
        except NotCertifiedError:
            return math.inf

    def _ends(self, logs: Array, end: int) -> Array:
        """Return one end of H_{e^x}(P || Q): for x < 0 of 1 - a + a H_{e^-x}(Q || P).

        1 - a is formed by expm1.
        """
        found = np.empty(len(logs))
        behind = logs < 0.0
        for part, base in ((~behind, self), (behind, self.back)):
            if part.any():
                epsilons = np.abs(logs[part])
                base.profile.ask(epsilons, above=end == 1)
                found[part] = base.profile.ends(epsilons)[end]
        x = np.minimum(logs, 0.0)
        whole = (np.exp(x) * found - np.expm1(x)) * (1.0 + (2 * end - 1) * ROUNDING)
        return np.where(behind, whole, found)


def bases(
    directions: Mapping[str, Realized], tolerance: float, engine: str
) -> dict[str, tuple[Base, Base]]:
    """Return, for each direction, its base and that of the reverse order."""
    made: dict[str, tuple[Base, Base]] = {}
    for name, laws in directions.items():
        back = reverse_of(name)
        if back in made:
            made[name] = made[back][::-1]
            continue
        gaussian = one_law(list(laws.upper)) if laws.lower is laws.upper else None
        if isinstance(gaussian, GaussianLaw):
            base = GaussianBase(gaussian.mu, gaussian.error)
            made[name] = base, base
        else:
            made[name] = EngineBase.pair(laws, directions[back], tolerance, engine)
    return made
