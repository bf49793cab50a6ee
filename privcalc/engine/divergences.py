"""Both ends from Renyi divergences alone, where no other engine proves a narrow bracket.

The upper end is that of the Renyi engine. The lower one has Hoelder's inequality the other way: for
c > 0, p > 1 and any y, with K(c) = log E[e^{cL}; L finite],

    e^{K(c)} <= e^{cy} P(L <= y) + E[e^{cL}; L > y] <= e^{cy} + e^{K(pc) / p} P(L > y)^{1 - 1/p},

so that wherever cy < K(c)

    log P(L > y) >= (p (K(c) + log(1 - e^{cy - K(c)})) - K(pc)) / (p - 1),

and delta(epsilon) >= (1 - e^{-a}) P(L > epsilon + a) for every a > 0. Both ends are some standard
deviations of the loss away from the truth: hardly anything where very many uses cost a very large
epsilon, which is where contours and lattices end. Nothing else is in doubt than the two K, of which
a law proves brackets at every order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.renyi import renyi_delta, renyi_epsilon
from privcalc.errors import DisagreementError
from privcalc.numerics.rounding import UNIT, non_negative

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition
    from privcalc.numerics.arrays import Array

# Powers of 2 that are tried for c: the reciprocal of the deviation of the loss, or more. One use of
# a loss of 1000 wants 2^-12. They are looked at sparsely first, as the best may lie in a narrow
# range that steps would not find.
LEAST_POWER, MOST_POWER, FIRST_STEP, LAST_STEP = -12.0, 20.0, 4.0, 0.5
# Values of p and a: small deltas want a p near 1, deltas near 1 a large a. The first p shows where
# to look.
EXPONENTS = (2.0, 1.1, 1.4, 4.0)
GAPS = (0.1, 1.0, 4.0, 30.0)
# Units of rounding of sums and logarithms, relative to the moduli of their terms.
ROUNDINGS = 64.0 * UNIT
# Ends of the same number cross by less.
CROSSING = 1.0 + 1e-9


def epsilon_bracket(composition: Composition, low: float, high: float) -> Certified:
    """Bracket the least epsilon >= 0 whose finite part of delta is a target in [low, high].

    Raises:
        NotCertifiedError: no order has a finite bound.
    """
    found = renyi_epsilon(composition, low)
    log_targets = np.log(high) - np.log(-np.expm1(-np.array(GAPS)))

    def ends(k: Array, further: Array, c: Array, p: float) -> Array:
        """Return epsilons that the target is proved at: P(L > y) has to be e^target at least."""
        terms = np.abs(k) + np.abs(further) + np.abs(log_targets)
        room = k - ((p - 1.0) * log_targets + further) / p - ROUNDINGS * terms
        rest = np.log(-np.expm1(-np.maximum(room, 0.0)))
        y = (k + rest - ROUNDINGS * (np.abs(k) + np.abs(rest))) / c
        return np.where((room > 0.0) & (log_targets < 0.0), y - GAPS, -np.inf)

    lower = _best(composition, ends)
    # A difference of two doubles, each off by a few units of the larger one.
    lower -= ROUNDINGS * (abs(lower) + GAPS[-1]) if lower > -math.inf else 0.0
    upper = found.bound.upper
    return found.with_bound(_bound(upper, non_negative(lower)))


def delta_bracket(composition: Composition, epsilon: float) -> Certified:
    """Bracket the finite part of delta at an epsilon >= 0.

    Raises:
        NotCertifiedError: no order has a finite bound.
    """
    found = renyi_delta(composition, epsilon)
    y, log_shares = epsilon + np.array(GAPS), np.log(-np.expm1(-np.array(GAPS)))

    def ends(k: Array, further: Array, c: Array, p: float) -> Array:
        """Return logs of proved deltas."""
        room = k - c * y - ROUNDINGS * (np.abs(k) + c * y)
        inside = k + np.log(-np.expm1(-np.maximum(room, 0.0)))
        terms = np.abs(inside) * p + np.abs(further)
        value = (p * inside - further - ROUNDINGS * terms) / (p - 1.0) + log_shares
        return np.where(room > 0.0, value, -np.inf)

    upper = found.bound.upper
    lower = math.exp(min(0.0, _best(composition, ends))) * (1.0 - ROUNDINGS)
    return found.with_bound(_bound(upper, lower))


def _bound(upper: float, lower: float) -> Bound:
    """Return a bracket; ends that cross by more than rounding contradict each other.

    Raises:
        DisagreementError: they do.
    """
    if lower > upper * CROSSING:
        raise DisagreementError(f"divergences prove at least {lower!r} and at most {upper!r}")
    return Bound(upper, min(lower, upper))


@np.errstate(all="ignore")
def _best(composition: Composition, ends: Callable[[Array, Array, Array, float], Array]) -> float:
    """Return the largest lower end of all c, p and a that are tried; -inf where there is none.

    Args:
        composition: laws, with brackets of their K.
        ends: of columns of K(c) rounded down, K(pc) rounded up and c, and of p; for each a.
    """
    curve = composition.renyi_curve(sharp=False)
    known: dict[float, float] = {}

    def look(powers: Array, exponents: tuple[float, ...]) -> None:
        c = 2.0**powers
        k = curve.lower(c)
        if k is None:
            return
        for p in exponents:
            found = ends(k[:, None], curve.upper(p * c)[:, None], c[:, None], p).max(axis=1)
            for power, value in zip(powers.tolist(), found.tolist(), strict=True):
                # What is no number proves nothing.
                known[power] = max(known.get(power, -math.inf), value)

    uses = max(1, sum(count for _, count in composition))
    step, least = FIRST_STEP, LEAST_POWER - 0.5 * math.log2(uses)
    look(np.arange(least, MOST_POWER + step, step), EXPONENTS[:1])
    while known and step > LAST_STEP:
        step /= 2.0
        middle = max(known, key=lambda power: known[power])
        look(middle + step * np.array([-1.0, 0.0, 1.0]), EXPONENTS)
    return max(known.values(), default=-math.inf)
