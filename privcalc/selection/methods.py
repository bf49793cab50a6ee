"""All bounds on a private selection in one direction, side by side; published ones among them."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import UNIT, non_negative
from privcalc.numerics.work import left, share
from privcalc.record import record
from privcalc.selection.base import WorseBase
from privcalc.selection.pointwise import Pointwise
from privcalc.selection.renyi import FAMILIES, best_delta, best_epsilon
from privcalc.selection.runs import NegativeBinomialRuns
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
# Relative width of what composing runs costs; more of them are never the best answer.
COMPOSED, MOST_RUNS = 1e-6, 10_000


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

    def proved(self, quantity: str, at: float) -> tuple[dict[str, float], float | None]:
        """Return what each method proves, and the lower end that an explicit order of results does.

        There is none where the base has no lower ends. Each question has grids of its own, so that
        it does not matter what was asked before.

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
        return found, lower

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
        if runs.family == "geometric" and isinstance(runs, NegativeBinomialRuns):
            published = (liu_talwar_epsilon if solve else liu_talwar_delta)(runs, self.worse, at)
            found["liu_talwar"] = max(published, found["tight"])
        if math.isfinite(loss_bound(self.forward)):
            pure = pure_epsilon(self.constants["tight"], runs, self.forward)
            found["pure"] = pure if solve else 0.0 if at >= pure else 1.0
        bounded = math.isfinite(runs.largest)
        with share(2 if bounded else 1):
            found["pointwise"] = pointwise.epsilon(at) if solve else pointwise.delta(at)
        # Where epsilon is 0 already there is nothing to gain.
        if bounded and min(found.values()) > 0.0:
            found["composition"] = self._composed(quantity, at)
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

    def _composed(self, quantity: str, at: float) -> float:
        """Return what as many runs as there may be cost; infinity, or 1, where that is not known.

        Whoever sees all of them can select the best, and leave some out.
        """
        from privcalc.engine.planner import certified_delta, certified_epsilon

        solve, many = quantity == "epsilon", repeated(self.laws.upper, int(self.runs.largest))
        if self.runs.largest <= MOST_RUNS and not (solve and at >= 1.0):
            certified = certified_epsilon if solve else certified_delta
            with suppress(NotCertifiedError):
                return certified(many, at, COMPOSED, engine=self._cheapest).bound.upper
        return 0.0 if at >= 1.0 and solve else math.inf if solve else 1.0

    @property
    def _cheapest(self) -> str:
        """Return the engine for compositions; once no work is left, that which needs none."""
        return "rdp" if self.engine == "auto" and not left() > 0.0 else self.engine


def repeated(once: Composition, count: int) -> Composition:
    """Return so many uses of a composition."""
    from privcalc.engine.composition import Composition

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


def pure_epsilon(constant: float, runs: Runs, forward: Base) -> float:
    """Return an epsilon with A(S) <= e^epsilon A'(S) for all S; infinity where none is proved.

    delta_A(epsilon) <= E[K] H_{e^{epsilon - C}}(Q || Q') is 0 from epsilon = f + C on, f the
    largest loss of one run (Koskela, Redberg, Wang 2024, Section 5, with C at its best). Of at most
    N runs C = (N - 1) f will do, as q <= e^f q' and phi'(q) = sum_k k P(K = k) q^{k-1}.

    Args:
        constant: C, an upper end.
        runs: the number of runs.
        forward: the base.
    """
    f = loss_bound(forward)
    if f in (0.0, math.inf):
        return f
    return (f + min(constant, (runs.largest - 1.0) * f)) * (1.0 + 8.0 * UNIT)


def loss_bound(base: Base) -> float:
    """Return an upper bound on all losses, which is at least 0; infinity if there is none."""
    return math.inf if base.infinity_mass > 0.0 else non_negative(base.largest)


# 1 / gamma is in the range of doubles up to here.
LARGE = 700.0
# Parts of epsilon / 3 that epsilon_1 stays below it.
GAPS = np.append(0.0, 0.5 ** np.arange(40.0, -1.0, -1.0))


def liu_talwar_epsilon(runs: NegativeBinomialRuns, worse: Base, delta: float) -> float:
    """Return 3 epsilon_1 + 3 (2 delta_1)^{1/2}; infinity where there is none.

    Liu, Talwar 2019, Theorem 3.4 (3.5 in other citations), restated by Redberg, Zhu, Wang 2023,
    Theorem 4.6 (where T has slipped under the root): if the base mechanism is (epsilon_1,
    delta_1)-differentially private, then the best of min(T, G) runs, G geometric with parameter
    gamma and T = log(1 / delta_2) / gamma for any delta_2 > 0, is

        (3 epsilon_1 + 3 (2 delta_1)^{1/2}, (2 delta_1)^{1/2} T + delta_2)-differentially private.

    Here the runs are not capped, so the theorem is not relied upon: its numbers count no less than
    those of the tight constant, which are never above them in exact arithmetic (Koskela, Redberg,
    Wang 2024, Theorem 5.2).

    Of all delta_2, that of the largest delta_1 is taken, and the least delta_1 that the base has.

    Args:
        runs: a geometric number of runs.
        worse: the base, the larger profile of both directions.
        delta: in [0, 1].
    """
    if delta >= 1.0:
        return 0.0
    largest = largest_delta_1(delta, runs.log_gamma_cost)
    totals = [
        non_negative(worse.epsilon(delta_1)) + math.sqrt(2.0 * delta_1)
        for delta_1 in (largest, min(largest, worse.infinity_mass))
    ]
    return 3.0 * min(totals)


def liu_talwar_delta(runs: NegativeBinomialRuns, worse: Base, epsilon: float) -> float:
    """Return (2 delta_1)^{1/2} T + delta_2 at an epsilon; at most 1.

    Of some epsilon_1 the largest with 3 epsilon_1 + 3 (2 delta_1)^{1/2} <= epsilon counts. With
    c = (2 delta_1)^{1/2} / gamma the best delta_2 is c, which gives c (1 + log(1 / c)).
    """
    cost = runs.log_gamma_cost
    if cost > LARGE:
        return 1.0
    third = epsilon / 3.0
    places = np.unique(third * (1.0 - GAPS))
    root = np.sqrt(2.0 * worse.upper(places))
    root = root[places + root <= third]
    c = float(root.min(initial=math.inf)) * math.exp(cost)
    if not 0.0 < c < 1.0:
        return 0.0 if c == 0.0 else 1.0
    return min(1.0, c * (1.0 - math.log(c)))


def largest_delta_1(delta: float, cost: float) -> float:
    """Return the largest delta_1 with (2 delta_1)^{1/2} log(1/delta_2) / gamma + delta_2 <= delta.

    (delta - delta_2) / log(1 / delta_2) is largest where delta_2 (1 + log(1 / delta_2)) = delta,
    which a fixed point finds.

    Args:
        delta: in [0, 1).
        cost: upper bound on log(1 / gamma).
    """
    if delta <= 0.0 or cost > LARGE:
        return 0.0
    delta_2 = delta
    for _ in range(64):
        delta_2 = delta / (1.0 - math.log(delta_2))
    root = (delta - delta_2) / -math.log(delta_2) * math.exp(-cost)
    return 0.5 * root * root
