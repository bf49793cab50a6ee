"""The trade-off function with both ends: how well any test can tell neighbours apart.

For an ordered pair (P, Q) a test rejects Q on a set A of outcomes; alpha = Q(A) is its type I
error, 1 - P(A) its type II error. The largest power P(A) at a given alpha is, by the lemma of
Neyman and Pearson and Lagrangian duality,

    power(alpha) = min over a >= 0 of g(a),    g(a) = H_a(P || Q) + a alpha,    beta = 1 - power,

with H_a(P || Q) = sup over A of P(A) - a Q(A), the privacy profile at a = e^epsilon. (Randomised
tests are allowed, as always.)

Every a proves an upper end of the power, which is a lower end of beta: g(a) >= power. The other
ends need all a. g is convex, being a supremum of functions that are linear in a, so that brackets
at a few points around the minimum bound it from below everywhere (`tradeoff/ordered_pair.py`):
what is lost is of second order in the spacing, and nothing at a kink of g, where outcomes of one
loss have positive probability. The spacing balances that loss against the width of the brackets.

Where the best a is above 1 the bracket of the power is relatively narrow, and beta follows from
it; where it is below, that of beta, from (H_{1/a}(Q || P) - (1 - alpha)) a, and the power follows.

An attacker tests whether a record is there: P is the output with it (or with its one value), Q
without (or with the other), P(A) the true positive rate and Q(A) the false one. Each rate that
follows here is attained by some attack on the dominating pair, so a mechanism that attains its pair
cannot do better than the bracket says.

One use of an envelope attains its profile at each epsilon, by data sets that differ from one to
another: the convex hull of their trade-off functions is below all of them, and no single attack
comes up to it. There the other ends are those of the best of some members
(`tradeoff/atomic.py`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.terms import Realized, reverse_of
from privcalc.errors import DomainError
from privcalc.record import record, replace
from privcalc.relation import Adjacency
from privcalc.tradeoff.atomic import best_member
from privcalc.tradeoff.brackets import Curve, limit, one_minus, worst_of
from privcalc.tradeoff.ordered_pair import OrderedPair, Profile
from privcalc.tradeoff.pair_solver import PairSolver, Thresholds, curve_trade_off

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # Brackets of delta at epsilon >= 0.
    DeltaAt = Callable[[float], Bound]


@record
class TradeOff:
    """The trade-off function of a relation: the worse of its directions at each alpha.

    Attributes:
        alphas: type I errors.
        worst: smallest beta and largest power over the directions.
        directions: each direction by itself.
    """

    alphas: tuple[float, ...]
    worst: Curve
    directions: dict[str, Curve]


@np.errstate(all="ignore")
def trade_off(
    directions: Mapping[str, Realized],
    alphas: Sequence[float],
    tolerance: float,
    *,
    engine: str = "auto",
) -> TradeOff:
    """Bracket the trade-off function of a relation.

    Args:
        directions: the laws of each direction, as `realize` returns them.
        alphas: type I errors in [0, 1], in any order.
        tolerance: target relative width, of the power where the best a is at least 1, and of
            beta elsewhere.
        engine: auto, or the only one to ask.

    Raises:
        DomainError: an alpha is outside [0, 1].
    """
    for alpha in alphas:
        if not 0.0 <= alpha <= 1.0:
            raise DomainError(f"alpha must be in [0, 1], got {alpha!r}")
    inner = tuple(sorted({float(alpha) for alpha in alphas if 0.0 < alpha < 1.0}))
    solvers = _Solvers(directions, tolerance, engine)
    curves = {
        name: _complete(laws, solvers.curve(name, inner), inner, alphas)
        for name, laws in directions.items()
    }
    return TradeOff(tuple(alphas), worst_of(curves), curves)


class _Solvers:
    """The ways to solve each direction; what they work out is shared between directions."""

    def __init__(self, directions: Mapping[str, Realized], tolerance: float, engine: str) -> None:
        """Take the question; nothing is worked out before it is needed."""
        self._directions = directions
        self._tolerance = tolerance
        self._engine = engine
        self._profiles: dict[str, Profile] = {}
        self._thresholds: dict[str, Thresholds] = {}

    def curve(self, name: str, alphas: Sequence[float]) -> Curve:
        """Bracket one direction at increasing alphas in (0, 1)."""
        laws, back = self._directions[name], reverse_of(name)
        mass = laws.upper.infinity_mass()
        if not alphas or (mass.lower or 0.0) >= 1.0:
            bounds = [limit(alpha, mass, _lower_mass(laws)) for alpha in alphas]
            return Curve(tuple(beta for beta, _ in bounds), tuple(power for _, power in bounds))
        # A test that accepts what Q alone shows makes no type II error.
        free = _lower_mass(self._directions[back]) or 0.0
        count = sum(one_minus(alpha) > free for alpha in alphas)
        rest = len(alphas) - count
        found = self._solved(name, back, alphas[:count]) if count else Curve((), ())
        return Curve(
            (*found.beta, *[Bound(0.0, 0.0)] * rest),
            (*found.power, *[Bound(1.0, 1.0)] * rest),
            found.proof,
            found.notes,
        )

    def _solved(self, name: str, back: str, alphas: Sequence[float]) -> Curve:
        laws = self._directions[name]
        if laws.envelope or (laws.lower is not None and laws.lower is not laws.upper):
            without = {
                each: replace(part, lower=None, choices=(), reverses=(), back=None)
                for each, part in self._directions.items()
            }
            above = _Solvers(without, self._tolerance, self._engine).curve(name, alphas)
            return above.reached(*self._reached(name, back, alphas))
        if laws.upper.curves and self._engine in ("auto", "rdp"):
            return curve_trade_off(laws.upper, alphas)
        reverse = self._directions[back].reversed if back == name else self._directions[back]
        other = back if reverse is self._directions[back] else f"{back}, reversed"
        self._directions = {**self._directions, other: reverse}
        pair = OrderedPair(self._profile(name), self._profile(other))
        solver = PairSolver(pair, self._thresholds[name], self._thresholds[other], self._tolerance)
        return solver.curve(alphas)

    def _reached(
        self, name: str, back: str, alphas: Sequence[float]
    ) -> tuple[list[float], list[float]]:
        """Return powers and betas of tests of one pair of data sets, or of some members."""
        laws = self._directions[name]
        if laws.envelope:
            power, beta = best_member(laws, alphas)
            return power.tolist(), beta.tolist()
        # Values of a lower end may be those of several pairs of data sets, and a curve is of one.
        laws = laws.for_curves
        reverse = laws.reversed if back == name else self._directions[back].for_curves
        pair = {
            each.value: Realized(lower, lower)
            for each, lower in ((Adjacency.REMOVE, laws.lower), (Adjacency.ADD, reverse.lower))
            if lower is not None
        }
        if len(pair) < 2:
            return [0.0] * len(alphas), [1.0] * len(alphas)
        below = _Solvers(pair, self._tolerance, self._engine).curve(Adjacency.REMOVE.value, alphas)
        return [each.lower or 0.0 for each in below.power], [each.upper for each in below.beta]

    def _profile(self, name: str) -> Profile:
        if name not in self._profiles:
            profile = Profile(self._directions[name], self._tolerance, self._engine)
            self._profiles[name], self._thresholds[name] = profile, Thresholds(profile)
        return self._profiles[name]


def _lower_mass(laws: Realized) -> float | None:
    """Return a lower bound on the mass at infinity; None where no lower bounds are known."""
    return None if laws.lower is None else laws.lower.infinity_mass().lower or 0.0


def _complete(
    laws: Realized, curve: Curve, inner: Sequence[float], alphas: Sequence[float]
) -> Curve:
    """Put brackets in the order of the question, with those at alpha 0 and 1."""
    mass, least = laws.upper.infinity_mass(), _lower_mass(laws)
    known = dict(zip(inner, zip(curve.beta, curve.power, strict=True), strict=True))
    known |= {alpha: limit(alpha, mass, least) for alpha in (0.0, 1.0)}
    bounds = [known[float(alpha)] for alpha in alphas]
    return Curve(
        tuple(beta for beta, _ in bounds),
        tuple(power for _, power in bounds),
        curve.proof,
        curve.notes,
    )


# Relative rounding of what is formed from a bracket here.
ROUNDING = 2.0**-50


def bayes_success(present: DeltaAt, absent: DeltaAt, prior: float) -> Bound:
    """Return the largest probability of a right guess whether the record is there.

    With prior probability t that it is, a guess A succeeds with probability t P(A) +
    (1 - t) (1 - Q(A)), which is at most (1 - t) + t H_a(P || Q), a = (1 - t) / t, with equality for
    the likelihood ratio test. For t > 1/2 the same with the roles exchanged.

    epsilon = log a is off by 8 units of itself and 1, and delta falls no faster than epsilon
    grows (its slope is -e^epsilon Q(L > epsilon) >= -P(L > epsilon)).

    Args:
        present: brackets of delta at epsilon >= 0 of P against Q.
        absent: the same of Q against P.
        prior: t, in [0, 1].

    Raises:
        DomainError: the prior is out of range.
    """
    if not 0.0 <= prior <= 1.0:
        raise DomainError(f"a prior must be between 0 and 1, got {prior!r}")
    rare, profile = (prior, present) if prior <= 0.5 else (1.0 - prior, absent)
    if rare == 0.0:
        return Bound(1.0, 1.0)
    epsilon = max(0.0, math.log1p(-rare) - math.log(rare))
    slack = 8.0 * 2.0**-53 * (1.0 + epsilon)
    delta = profile(epsilon)
    upper = (1.0 - rare) + rare * (delta.upper + slack)
    lower = None
    if delta.lower is not None:
        lower = max(1.0 - rare, (1.0 - rare) + rare * (delta.lower - slack))
        lower *= 1.0 - ROUNDING
    return Bound(min(1.0, upper * (1.0 + ROUNDING)), lower)
