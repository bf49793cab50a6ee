"""Renyi curves of samples of a fixed size, drawn without replacement, where one record is replaced.

Source: Wang, Balle, Kasiviswanathan 2019, "Subsampled Renyi differential privacy and analytical
moments accountant".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import UnsupportedError
from privcalc.numerics.binomials import LEAST_PROBABILITY, log_coefficients
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.sums import log_difference, log_expm1, log_sums
from privcalc.record import record
from privcalc.renyi.sampled_sums import (
    SampledCurve,
    capped,
    checked,
    cumulants_at_integers,
    divided,
    log_series,
    upper_between,
)

if TYPE_CHECKING:
    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array, Integers
    from privcalc.numerics.sums import Bracket

# Forward differences of a higher order than this cancel, or are larger than what they replace.
LARGEST_DIFFERENCE = 64


def bound(base: RenyiCurve, q: float, orders: Array, *, exact: bool) -> Array:
    """Return upper bounds on the Renyi divergences of the mechanism on the sample.

    With P, Q the outputs where the replaced record is sampled, R where it is not, the two sampled
    outputs are q P + (1-q) R and Q' = q Q + (1-q) R. At an integer order n

        e^{K'(n)} = 1 + sum_{j=2}^n C(n, j) q^j E_Q' ((P - Q) / Q')^j,

    and by joint convexity, with the samples matched so that they differ in one record, the j-th
    mean is at most Z(j), the largest E_r |(p - q) / r|^j over triples p, q, r of neighbours:

    * Z(j) <= 2 e^{K(j-1)}, as |p - q|^j <= p^j + q^j, or (e^limit - 1)^j e^{K(j-1)}, as
      |p - q| <= (e^limit - 1) q (Theorem 9);
    * Z(j) <= 4 max E_b |a / b - 1|^j over pairs a, b of neighbours: where p > q, |p - q| / r is at
      most p/q - 1 in units of q where r >= q, and p/r - 1 elsewhere; so with p and q exchanged
      (Theorem 9 for j = 2, where this is 4 (e^{K(1)} - 1)). For even j that mean is the j-th
      forward difference B(j) = sum_i (-1)^i C(j, i) e^{K(i-1)}, if the curve is that of one pair
      which dominates every pair of neighbours, as it is the mean of a convex function of a / b.
      For odd j it is at most (B(j-1) B(j+1))^{1/2}, by the Cauchy-Schwarz inequality (their
      Theorem 27).

    The smaller one is taken for each j, and the caps of `sums.py` for the whole; between integer
    orders chords (`upper_between`).

    Args:
        base: its `upper` and `limit` bound both directions, one record replaced, of
            whole distributions: no masses at infinity.
        q: size of the sample divided by that of the population, in [0, 1].
        orders: real orders above 1, of shape (n,).
        exact: whether the curve is that of one pair that dominates all neighbours; its `lower` is
            then needed too, because the differences cancel.

    Raises:
        DomainError: q or an order is out of range.
        UnsupportedError: `exact`, and the curve has no lower bounds.
    """
    orders = checked(q, orders)
    if q == 0.0:
        return np.zeros(len(orders))

    def at_integers(whole: Integers) -> Array:
        factors = _log_factors(base, q, whole, exact=exact)
        return log_series(whole, log_coefficients, factors)[1]

    sums = divided(upper_between(orders, at_integers), orders, 1.0)
    return capped(base, max(q, LEAST_PROBABILITY), orders, sums)


def _log_factors(base: RenyiCurve, q: float, whole: Integers, *, exact: bool) -> Bracket:
    """Return log(q^j Z(j)) by j, and bounds on its absolute error.

    j log q and j log(e^limit - 1) are off by 9 units, or by j times the error of the log; the sums
    by 3 units of their moduli. The power 0 of e^limit - 1 is 1, also where there is no loss.
    """
    cumulants = cumulants_at_integers(base, whole, upper=True)
    if cumulants is None:
        raise AssertionError("every curve has upper bounds")
    j = np.arange(len(cumulants), dtype=float)
    ratio, ratio_error = log_expm1(np.array([max(base.limit, 0.0)]), 0.0)
    power = np.zeros(len(j))
    np.multiply(j, float(ratio[0]), out=power, where=j > 0.0)
    power_error = j * float(ratio_error[0]) + UNIT * np.abs(j * np.clip(ratio[0], -1e3, 1e3))
    # log 2 is off by less than a unit.
    bounded = power < math.log(2.0)
    factor = np.where(bounded, np.where(bounded, power, 0.0), math.log(2.0))
    value = cumulants + factor
    error = UNIT * (2.0 + np.where(np.isfinite(value), np.abs(value), 0.0))
    error = error + np.where(bounded, power_error, 0.0)
    pairs, pairs_error = _log_pairs(base, cumulants, exact=exact)
    better = pairs[: len(j)] < value
    value = np.where(better, pairs[: len(j)], value)
    error = np.where(better, pairs_error[: len(j)], error)
    scale = j * math.log(q)
    total = value + scale
    size = np.where(np.isfinite(total), np.abs(total), 0.0)
    return total, (error + UNIT * (10.0 * np.abs(scale) + size)) * MARGIN


def _log_pairs(base: RenyiCurve, cumulants: Array, *, exact: bool) -> Bracket:
    """Return logs of bounds on 4 E_b |a / b - 1|^j by j, and absolute errors; infinite if unknown.

    Exact upper bounds on log B(j) need no error of their own; log 4 and sums cost 4 units.
    """
    log_four = math.log(4.0)
    logs = np.full(len(cumulants), np.inf)
    second, second_error = log_expm1(cumulants[2:3], 0.0)
    errors = np.zeros(len(logs))
    logs[2] = log_four + second[0]
    errors[2] = second_error[0]
    last = len(cumulants) - 1
    if exact and last > 2:
        differences = _log_differences(base, min(LARGEST_DIFFERENCE, last + last % 2))
        for j in range(3, min(last, LARGEST_DIFFERENCE) + 1):
            below, above = differences[j // 2], differences[(j + 1) // 2]
            if math.inf in (below, above):
                continue
            logs[j] = log_four + 0.5 * (below + above)
    size = np.where(np.isfinite(logs), np.abs(logs), 0.0)
    return logs, errors + UNIT * (4.0 + 4.0 * size)


def _log_differences(base: RenyiCurve, largest: int) -> list[float]:
    """Return upper bounds on log B(l) at l = 0, 2, ..., largest, by l / 2.

    sum_i (-1)^i C(l, i) = 0, so that B(l) = sum_{i=2}^l (-1)^i C(l, i) (e^{K(i-1)} - 1): upper
    bounds on K at even i and lower bounds at odd i. What the brackets and rounding leave open
    stays in the result when the terms cancel.
    """
    whole = np.array([largest])
    upper = cumulants_at_integers(base, whole, upper=True)
    lower = cumulants_at_integers(base, whole, upper=False)
    if upper is None or lower is None:
        raise UnsupportedError(
            "forward differences need lower bounds on the base curve, and it has none"
        )
    evens = np.arange(2, largest + 1, 2)
    plus_low, plus_high = _log_alternate(evens, upper)
    # B(2) has no odd term.
    minus_low, minus_high = _log_alternate(evens[1:] - 1, lower)
    minus_low, minus_high = np.append(-np.inf, minus_low), np.append(-np.inf, minus_high)
    ends = zip(plus_low, plus_high, minus_low, minus_high, strict=True)
    return [
        0.0,
        *(log_difference((float(a), float(b)), (float(c), float(d)))[1] for a, b, c, d in ends),
    ]


def _log_alternate(last: Integers, cumulants: Array) -> Bracket:
    """Return bounds on log sum_i C(l, i) (e^{K(i-1)} - 1) over every other i, up to each of `last`.

    Even i >= 2 with l = `last` where that is even; odd i >= 3 with l = `last` + 1 where it is odd.
    """
    if not last.size:
        return np.empty(0), np.empty(0)
    odd = int(last[0]) % 2
    index = [np.arange(2 + odd, stop + 1, 2) for stop in last.tolist()]
    lengths = np.array([len(part) for part in index])
    i = np.concatenate(index)
    order = np.repeat(last + odd, lengths)
    logs, errors = log_coefficients(order.astype(float), i.astype(float))
    means, mean_errors = log_expm1(cumulants[i], 0.0)
    total = logs + means
    rounding = np.where(np.isfinite(total), UNIT * np.abs(total), 0.0)
    return log_sums(total, (errors + mean_errors + rounding) * MARGIN, np.cumsum(lengths) - lengths)


@record
class WithoutReplacementCurve(SampledCurve):
    """Upper bound on the curve of an event on samples of a fixed size, for replacing a record.

    Attributes:
        attained: whether one pair attains the event's curve at every order.
    """

    attained: bool

    def upper(self, c: Array) -> Array:
        """Return that bound, and no more than that of the event.

        The event itself bounds its sampled form, because divergences are jointly convex.
        """
        return np.minimum(super().upper(c), self.event.upper(np.nextafter(c + 1.0, np.inf) - 1.0))

    def _sum(self, orders: Array) -> Array:
        return bound(self.event, self.q, orders, exact=self.attained)

    def _beyond(self, orders: Array) -> Array:
        return np.full(len(orders), np.inf)
