"""All bounds on a private selection in one direction, side by side."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import UNIT, non_negative
from privcalc.numerics.work import left, share
from privcalc.record import record
from privcalc.selection.base import WorseBase
from privcalc.selection.baselines import (
    MOST_RUNS,
    composition_epsilon,
    liu_talwar_delta,
    liu_talwar_epsilon,
    loss_bound,
    pure_epsilon,
)
from privcalc.selection.pointwise import Pointwise
from privcalc.selection.renyi import FAMILIES, best_delta, best_epsilon
from privcalc.selection.worst_order import WorstOrder

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.engine.terms import Realized
    from privcalc.selection.base import Base
    from privcalc.selection.runs import Runs

# The order, less 1, at which the member of an envelope is chosen that stands for all.
TYPICAL = 3.0
# Relative error of epsilon that the pointwise bound aims at: less than the gap to the lower end.
TOLERANCE = 3e-5
# The bounds by Renyi orders, which are seldom the best, may take one of so many parts of the work.
RIVALS = 4
# Relative width of what composing runs costs.
COMPOSED = 1e-6


@record
class Proved:
    """What is proved of one question in one direction.

    Attributes:
        methods: an upper end by each method.
        lower: the cost of an explicit order of results; None where the base has no lower ends.
        pointwise: the pointwise bound, on grids that suit the question.
    """

    methods: dict[str, float]
    lower: float | None
    pointwise: Pointwise


@record
class Methods:
    """What can be proved of a selection in one direction.

    Attributes:
        runs: the number of runs.
        laws: of one run.
        forward: the base in this direction.
        backward: its reverse.
        engine: the engine for compositions of the base.
        tolerance: relative error of epsilon that will do, TOLERANCE at least.
    """

    runs: Runs
    laws: Realized
    forward: Base
    backward: Base
    engine: str
    tolerance: float = TOLERANCE

    @cached_property
    def constants(self) -> dict[str, float]:
        """Return C of the two methods that have one, the published never below the tight one."""
        tight = self.runs.tight(self.forward, self.backward)
        return {"paper": self.runs.paper(self.worse, self.worse), "tight": tight}

    @cached_property
    def worse(self) -> Base:
        """Return what the published theorems take for the base: the larger of both profiles."""
        return self.forward if self.backward is self.forward else WorseBase(self.forward)

    def tight_epsilon(self, runs: Runs, delta: float) -> float:
        """Return what the tight constant proves for another number of runs."""
        constant = runs.tight(self.forward, self.backward)
        return _sum(constant, self.forward.epsilon(_share(runs, delta)))

    def proved(self, quantity: str, at: float) -> Proved:
        """Return what each method proves, and the lower end that an explicit order of results does.

        Each question has grids of its own, so that it does not matter what was asked before.

        Args:
            quantity: epsilon at a delta, or delta at an epsilon.
            at: the delta or the epsilon.
        """
        pointwise = Pointwise(self.runs, self.forward, self.tolerance)
        found = self._found(quantity, at, pointwise)
        upper = min(found.values())
        order = self._order(quantity, at, pointwise)
        lower = None
        if order.known and quantity == "delta":
            lower = order.delta_lower(at)
        elif order.known and upper < math.inf:
            # At an infinite guess nothing would be found.
            lower = order.epsilon_lower(at, upper)
        return Proved(found, lower, pointwise)

    def _order(self, quantity: str, at: float, pointwise: Pointwise) -> WorstOrder:
        """Return what finds lower ends of the base's pair, or of one that stands for an envelope.

        One use of an envelope has lower ends of different mechanisms at different places; an order
        of results needs all of the profile of one.
        """
        if not self.laws.for_curves.alone:
            return WorstOrder(self.runs, self.forward, pointwise.grid)
        from privcalc.selection.base import EngineBase

        laws, back = self.laws.in_both_orders(TYPICAL)
        member, _ = EngineBase.pair(laws, back, self.tolerance, self.engine)
        looked = Pointwise(self.runs, member, self.tolerance)
        looked.epsilon(at) if quantity == "epsilon" else looked.delta(at)
        return WorstOrder(self.runs, member, looked.grid)

    def _found(self, quantity: str, at: float, pointwise: Pointwise) -> dict[str, float]:
        """Return what each method proves."""
        runs, bases, solve = self.runs, (self.forward, self.backward), quantity == "epsilon"
        found = {name: self._shifted(name, quantity, at) for name in ("paper", "tight")}
        # It is the dearest by far: its place is here, its turn after the others'.
        found["pointwise"] = math.inf if solve else 1.0
        if runs.family in FAMILIES and self.forward.renyi is not None:
            with share(RIVALS):
                found["rdp"] = (best_epsilon if solve else best_delta)(runs, *bases, at)
        if runs.family == "geometric":
            published = (liu_talwar_epsilon if solve else liu_talwar_delta)(runs, self.worse, at)
            found["liu_talwar"] = max(published, found["tight"])
        if math.isfinite(loss_bound(self.forward)):
            pure = pure_epsilon(self.constants["tight"], runs, self.forward)
            found["pure"] = pure if solve else 0.0 if at >= pure else 1.0
        bounded = math.isfinite(runs.largest)
        with share(2 if bounded else 1):
            found["pointwise"] = pointwise.epsilon(at) if solve else pointwise.delta(at)
        if bounded and not solve:
            found["composition"] = self._composed_delta(int(runs.largest), at)
        elif bounded and min(found.values()) > 0.0:
            # Where epsilon is 0 already there is nothing to gain.
            found["composition"] = composition_epsilon(runs, self._composed, at)
        return found

    def _shifted(self, name: str, quantity: str, at: float) -> float:
        """Return what a constant proves: E[K] H at epsilon - C, or C + epsilon, rounded up."""
        constant = self.constants[name]
        base = self.worse if name == "paper" else self.forward
        if quantity == "epsilon":
            return _sum(constant, base.epsilon(_share(self.runs, at)))
        below = math.nextafter(at - constant, -math.inf)
        h = float(base.upper(np.array([below]))[0]) if constant < math.inf else 1.0
        return min(1.0, self.runs.mean.upper * h * (1.0 + 2.0 * UNIT))

    def _composed(self, count: int, delta: float) -> float:
        """Return an epsilon of so many runs of the base; infinity where there is none."""
        from privcalc.engine.planner import certified_epsilon

        many = self._repeated(count)
        try:
            return certified_epsilon(many, delta, COMPOSED, engine=self._cheapest).bound.upper
        except NotCertifiedError:
            return math.inf

    def _composed_delta(self, count: int, epsilon: float) -> float:
        """Return a delta of so many runs of the base; 1 where there is none, or they are many."""
        from privcalc.engine.planner import certified_delta

        if count > MOST_RUNS:
            return 1.0
        many = self._repeated(count)
        try:
            return certified_delta(many, epsilon, COMPOSED, engine=self._cheapest).bound.upper
        except NotCertifiedError:
            return 1.0

    @property
    def _cheapest(self) -> str:
        """Return the engine for compositions; once no work is left, that which needs none."""
        return "rdp" if self.engine == "auto" and not left() > 0.0 else self.engine

    def _repeated(self, count: int) -> Composition:
        from privcalc.engine.composition import Composition

        once = self.laws.upper
        return Composition(
            tuple((law, n * count) for law, n in once.terms),
            tuple((curve, n * count) for curve, n in once.curves),
        )


def _share(runs: Runs, delta: float) -> float:
    """Return delta / E[K], rounded down: E[K] H <= delta where H is at most that, and 1."""
    mean = runs.mean.upper
    share = min(1.0, delta / mean)
    exact = Fraction(share) * Fraction(mean) <= Fraction(delta)
    return share if exact else math.nextafter(share, 0.0)


def _sum(constant: float, base: float) -> float:
    """Return max(0, C + base), rounded up."""
    if math.isinf(constant) or math.isinf(base):
        return 0.0 if base == -math.inf and constant < math.inf else math.inf
    return non_negative(math.nextafter(constant + base, math.inf))
