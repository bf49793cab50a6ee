"""The base of a private selection: both orders of its neighbours, as the engines prove them."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.terms import one_law, reverse_of
from privcalc.errors import NotCertifiedError
from privcalc.losses.closed.gaussian import GaussianLaw
from privcalc.numerics.rounding import UNIT, non_negative
from privcalc.selection.base.gaussian import GaussianBase
from privcalc.selection.base.pair import Base

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from privcalc.engine.composition import Composition
    from privcalc.engine.terms import Realized
    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve
    from privcalc.tradeoff.ordered_pair import Profile

TOLERANCE = 1e-7
# Roundings of 1 - a + a H, relative to the sum of its terms.
ROUNDING = 8.0 * UNIT


class CurveProfile:
    """The profile of what is known by its Renyi curve only, at many epsilons at once.

    Of the trade-off route (`renyi/conversion/optimum.py`) this is the best single order at each
    epsilon. That the profile is convex in e^epsilon is made use of by whoever joins its points.
    """

    both = False

    def __init__(self, composition: Composition) -> None:
        """Take the composition."""
        from privcalc.renyi.conversion.one_order import joint_log_delta
        from privcalc.renyi.conversion.order_search import ManyEpsilons

        self._mass = composition.infinity_mass().upper
        self._largest = composition.max_loss().upper
        convert = partial(joint_log_delta, infinite_mass=self._mass)
        self._orders = ManyEpsilons(composition.renyi_curve(), convert)
        self._known: dict[float, float] = {}

    def ask(self, epsilons: Iterable[float]) -> None:
        """Bound delta at epsilons >= 0 that are not known yet."""
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
        found = self._ends(logs, 1)
        a = np.exp(np.minimum(logs, 0.0))
        return np.minimum(1.0, np.where(logs < 0.0, _behind(a, logs, found, 1.0), found))

    def lower(self, logs: Array) -> Array | None:
        """Return certified lower ends; None where only upper ends are known."""
        if not (self.profile.both and self.back.profile.both):
            return None
        found = self._ends(logs, 0)
        a = np.exp(np.minimum(logs, 0.0))
        return np.maximum(0.0, np.where(logs < 0.0, _behind(a, logs, found, -1.0), found))

    def epsilon(self, delta: float) -> float:
        """Return a real x, about the least, with H_{e^x} <= delta certified.

        Of a Renyi curve every point is a search of its own; there the engine inverts it.
        """
        if self.slow and 0.0 < delta < 1.0:
            found = self._epsilon(delta)
            if found > 0.0:
                return found
        return super().epsilon(delta)

    @property
    def slow(self) -> bool:
        """Whether the base is known by a Renyi curve only."""
        return bool(self._laws.upper.curves)

    def _epsilon(self, delta: float) -> float:
        from privcalc.engine.arbiter import certified_epsilon

        try:
            return certified_epsilon(self._laws.upper, delta, TOLERANCE).bound.upper
        except NotCertifiedError:
            return math.inf

    def _ends(self, logs: Array, end: int) -> Array:
        """Return one end of H_{e^x}(P || Q), or of H_{e^-x}(Q || P) for x < 0."""
        found = np.empty(len(logs))
        behind = logs < 0.0
        for part, base in ((~behind, self), (behind, self.back)):
            if part.any():
                epsilons = np.abs(logs[part])
                base.profile.ask(epsilons)
                found[part] = base.profile.ends(epsilons)[end]
        return found


def _behind(a: Array, logs: Array, found: Array, sign: float) -> Array:
    """Return one end of 1 - a + a H, with 1 - a formed by expm1."""
    rest = -np.expm1(np.minimum(logs, 0.0))
    return rest + a * found + sign * ROUNDING * (rest + a * found)


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
