"""Curves whose values are expensive: all integer orders from a few of them.

Wang, Balle, Kasiviswanathan 2019 and Zhu, Wang 2019 shorten the sums themselves: the 2 tau outer
terms keep their values, and all others take the divergence at one larger order (`tau_tight`,
`tau_general`: the published forms). Replacing K between known orders by its chords
(`cumulants_at_integers`) is never worse: those forms replace K by the chord from 0, c D with D at
the larger order, and K is convex and 0 at 0, so its chord between two known points lies below. It
serves every sum that increases with each K(l - 1), with any weights.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.numerics.binomials import LEAST_PROBABILITY, log_probabilities
from privcalc.numerics.log_sums import log_difference, log_sum
from privcalc.numerics.rounding import UNIT, non_negative
from privcalc.numerics.work import left
from privcalc.record import record
from privcalc.renyi.sampled.binomial_sums import CHUNK
from privcalc.renyi.sampled.caps import log_mixture

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers
    from privcalc.renyi.curve import RenyiCurve

# Up to this order every integer order is evaluated, however expensive.
DENSE = 512
# Of more orders that are cheap, so many tell what all would take, which may be this part of what is
# left.
PROBE, MOST_PART = 2048, 0.25
# Beyond: every order up to FIRST, then steps of a factor 2^(1/4), and as many below each order.
FIRST = 32


def cumulants_at_integers(base: RenyiCurve, orders: Integers, *, upper: bool) -> Array | None:
    """Return bounds on K(l - 1) at l = 0, 1, ..., the largest order; at least 0, and 0 at l <= 1.

    Args:
        base: the curve.
        orders: integers >= 2, increasing, at which the bounds shall not lose anything.
        upper: upper bounds, or lower bounds (None where the curve has none).

    The curve is that of whole distributions, without masses at infinity, so that K >= 0 and
    K(c) <= c limit. Where orders are expensive, upper bounds between evaluated ones are chords of
    the convex K, of non-negative terms and so off by less than 8 units, and lower bounds are
    continued from the left, as K / c does not decrease.
    """
    largest = int(orders[-1])
    dense = largest <= DENSE or (base.cheap and _affordable(base, largest))
    at: Integers = np.arange(2, largest + 1) if dense else _nodes(orders)
    values = _evaluated(base, at - 1.0, upper=upper)
    if values is None:
        return None
    result = np.zeros(largest + 1)
    if len(at) == largest - 1:
        result[2:] = values
        return result
    if upper:
        # The first corner is K(0) = 0.
        finite = np.isfinite(values)
        known = np.append(1, at[finite])
        index = np.arange(1, int(known[-1]) + 1)
        chords = np.interp(index, known, np.append(0.0, values[finite]))
        result[1 : len(chords) + 1] = chords * (1.0 + 8.0 * UNIT)
        result[len(chords) + 1 :] = np.inf
        result[at[finite]] = values[finite]
        return result
    slopes = np.maximum.accumulate(values / (at - 1.0))
    index = np.arange(2, largest + 1)
    place = np.searchsorted(at, index, side="right") - 1
    result[2:] = slopes[place] * (index - 1.0) * (1.0 - 4.0 * UNIT)
    result[at] = np.maximum(result[at], values)
    return result


def tau_tight(base: RenyiCurve, q: float, order: int, tau: int) -> float:
    """Bound the sampled Renyi divergence by the tight sum with 2 tau terms of its own.

    With e the divergence at order n - tau, the terms l = 2..tau and l = n-tau+1..n have theirs,
    and those between have (l - 1) e, which is larger because divergences do not decrease. As
    sum_l B(l) e^{(l-1) e} = e^{-e} (1 - q + q e^e)^n, that leaves 2 tau terms (Zhu 2023, Theorem
    2.3.7). It bounds what `poisson.tight_bound` bounds.

    The sum is a difference of positive numbers, of which only the upper end is used; where the
    divergence is below 1e-12 rounding is all that is left of it.

    Raises:
        DomainError: q is not in (0, 1), or tau not in [1, order / 2]: beyond, terms count twice.
    """
    if not 1 <= 2 * tau <= order:
        raise DomainError(f"tau must be between 1 and half the order {order}, got {tau}")
    outer = np.unique([*range(2, tau + 1), *range(order - tau + 1, order + 1)])
    ones = np.ones(len(outer))
    return _Shortened(order, order - tau, 1.0, outer, ones, ones).epsilon(base, q)


def tau_general(base: RenyiCurve, q: float, order: int, tau: int) -> float:
    """Bound the sampled Renyi divergence by the general sum as published, with tau terms.

    With e the divergence at the order itself, the terms l = 3..tau have theirs and those above
    (l - 1) e, all with weight 3; l = 0, 1, 2 have weight 1 and their own (Zhu 2023, Theorem 2.5.8).
    It bounds what `poisson.printed_bound` bounds.

    Raises:
        DomainError: q is not in (0, 1), or tau not in [2, order].
    """
    if not 2 <= tau <= order:
        raise DomainError(f"tau must be between 2 and the order {order}, got {tau}")
    own = np.arange(1, tau + 1)
    kept = np.where(own > 2, 3.0, 1.0)
    return _Shortened(order, order, 3.0, own, kept, np.full(tau, 3.0)).epsilon(base, q)


@record
class _Shortened:
    """A sum over l of B(l) w_l e^{K(l-1)}, most of whose terms are summed in closed form.

    Attributes:
        order: n.
        common: order whose divergence e stands for those terms.
        weight: w of the closed form w e^{-e} (1 - q + q e^e)^n.
        own: the other l >= 1, increasing.
        kept: weights of the others.
        replaced: weights which the others have in the closed form.
    """

    order: int
    common: int
    weight: float
    own: Integers
    kept: Array
    replaced: Array

    def epsilon(self, base: RenyiCurve, q: float) -> float:
        """Return an upper bound on the log of the sum by order - 1.

        The term l = 0 is B(0), and w e^{-e} B(0) in the closed form. Any e that is at least the
        divergence will do (any e >= 0 where no term has it), so e is exact; log(1 - q + q e^e) is
        off by 24 units, if not larger. Exponents add up three terms: 4 units of their moduli.
        """
        if not LEAST_PROBABILITY <= q < 1.0:
            raise DomainError(f"the sampling probability must be in (0, 1), got {q!r}")
        n = float(self.order)
        index = self.own.astype(float)
        values = np.maximum(base.upper(np.append(self.common - 1.0, index - 1.0).clip(1.0)), 0.0)
        if not np.isfinite(values).all():
            return math.inf
        rate = float(values[0]) / max(self.common - 1.0, 1.0) * (1.0 + 2.0 * UNIT)
        cumulants = np.where(index > 1.0, values[1:], 0.0)
        logs, errors = log_probabilities(np.full(len(index) + 1, n), np.append(index, 0.0), q)
        mixture = n * float(log_mixture(np.array([rate]), q)[0])
        log_weight = math.log(self.weight)
        # The last entry is l = 0, before and after.
        kept = logs + np.append(np.log(self.kept) + cumulants, 0.0)
        replaced = logs + np.append(np.log(self.replaced) + (index - 1.0) * rate, log_weight - rate)
        sizes = np.abs(logs) + np.append(cumulants + index * rate, rate) + 8.0
        errors = errors + 4.0 * UNIT * sizes
        closed_error = UNIT * (50.0 * mixture + 2.0 * rate + 10.0)
        total = log_sum(
            np.append(kept, mixture - rate + log_weight), np.append(errors, closed_error)
        )
        value = log_difference(total, log_sum(replaced, errors))[1]
        return non_negative(value) / (n - 1.0) * (1.0 + 2.0 * UNIT)


def _evaluated(base: RenyiCurve, c: Array, *, upper: bool) -> Array | None:
    """Evaluate the curve in pieces, within what is known of every curve."""
    parts = []
    for i in range(0, len(c), CHUNK):
        piece = c[i : i + CHUNK]
        if not upper:
            lower = base.lower(piece)
            if lower is None:
                return None
            parts.append(np.maximum(lower, 0.0))
            continue
        values = np.maximum(base.upper(piece), 0.0)
        if math.isfinite(base.limit):
            values = np.minimum(values, piece * max(base.limit, 0.0) * (1.0 + 2.0 * UNIT))
        parts.append(values)
    return np.concatenate(parts)


def _affordable(base: RenyiCurve, largest: int) -> bool:
    """Say whether every order may be evaluated: a cheap one takes a sum over all atoms."""
    if largest <= PROBE:
        return True
    before = left()
    base.upper(np.arange(1.0, PROBE + 1.0))
    return before == math.inf or (before - left()) * largest / PROBE <= MOST_PART * left()


def _nodes(orders: Integers) -> Integers:
    """Return the orders to evaluate: all small ones, a geometric grid, and more below each order.

    The outer terms of the sums decide: the first ones where sampling helps, the last where not.
    """
    largest = int(orders[-1])
    steps = np.floor(2.0 ** np.arange(0.0, math.log2(largest), 0.25)).astype(np.int64)
    parts = [np.arange(2, FIRST + 1), steps + FIRST, orders]
    parts += [n - steps for n in orders.tolist() if n > FIRST]
    nodes = np.unique(np.concatenate(parts))
    result: Integers = nodes[(nodes >= 2) & (nodes <= largest)]
    return result
