"""Renyi curves of Poisson-sampled mechanisms from the curve of what is sampled.

mu0 is the law of the outputs without a record, mu1 with it, r = mu1 / mu0, and s = 1 - q + q r:
each record is in the sample with probability q. Averaging over the other records, by joint
convexity of x^a y^{1-a}, the divergences of order a of the sampled mechanism are at most those of
the pairs (s mu0, mu0) (removing a record) and (mu0, s mu0) (adding it): log A1 and log A2 by
a - 1, with

    A1 = E_mu0 s^a,   A2 = E_mu0 s^{1-a}.

All curves here are those of whole distributions: **no masses at infinity**. A mass that mu1 lacks
has an infinite loss in the base pair and a finite one, log(1 / (1 - q)), in the sampled pair; a
curve that leaves it out bounds nothing here.

Sources: Zhu, Wang 2019, "Poisson subsampled Renyi differential privacy"; Zhu 2023, chapter 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.numerics.binomials import LEAST_PROBABILITY, log_probabilities
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.sums import log_expm1
from privcalc.record import record
from privcalc.renyi.curve import DerivedCurve
from privcalc.renyi.sampled_sums import (
    SampledCurve,
    capped,
    checked,
    cumulants_at_integers,
    divided,
    log_series,
    lower_between,
    upper_between,
)

if TYPE_CHECKING:
    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array, Integers
    from privcalc.numerics.sums import Bracket

# Maps q and a length to the logs of the weights of the terms.
_Weights: TypeAlias = Callable[[float, int], "Array"]


def lower_bound(base: RenyiCurve, q: float, orders: Array) -> Array | None:
    """Return lower bounds on the divergences of (s mu0, mu0), the pair where a record is removed.

    At integer orders n, A1 = sum_l B(l) E_mu0 r^l, and E_mu0 r^l = e^{K(l-1)} (Zhu, Wang 2019,
    Theorem 6): no bound from the curve alone can be smaller. Between, see `lower_between`; and
    A1 >= q^a e^{K(a-1)}, as s >= q r.

    Args:
        base: the curve of (mu1, mu0) for one pair; its `lower` is used, and its `upper` between
            integer orders.
        q: sampling probability in [0, 1].
        orders: real orders above 1, of shape (n,).

    Returns:
        Divergences rounded down; None where the base has no lower bounds.

    Raises:
        DomainError: q or an order is out of range.
    """
    orders = checked(q, orders)
    at_once = base.lower(orders - 1.0)
    if at_once is None:
        return None
    if q < LEAST_PROBABILITY:
        return np.zeros(len(orders))
    if q == 1.0:
        return divided(np.maximum(at_once, 0.0), orders, -1.0)

    fractional = bool((orders != np.floor(orders)).any())

    def bounds(whole: Integers) -> Bracket:
        lower = cumulants_at_integers(base, whole, upper=False)
        upper = cumulants_at_integers(base, whole, upper=True) if fractional else lower
        if upper is None or lower is None:
            raise AssertionError("the curve had lower bounds")
        none = np.zeros(len(lower))
        below, above = _sums(lower, none, q, whole)
        return below, _sums(upper, none, q, whole)[1] if fractional else above

    log_power = orders * math.log(q)
    slack = 16.0 * UNIT * np.where(np.isfinite(at_once), np.abs(at_once) - log_power, 0.0)
    last = at_once + log_power - slack
    return divided(np.maximum(lower_between(orders, bounds), last), orders, -1.0)


def tight_bound(base: RenyiCurve, q: float, orders: Array) -> Array:
    """Return upper bounds by the sum of `lower_bound`: valid for SYMMETRIC pairs.

    A pair is symmetric if log(mu1/mu0) under mu1 has the law of log(mu0/mu1) under mu0. Then A2 <=
    A1 at every real order a >= 1 (for densities that are mirror images: Mironov, Talwar, Zhang
    2019, Theorem 5; the condition (2.2) of Zhu, Wang 2019 is not needed):

        The law of 1/r under mu0 is r times that of r, so E_mu0 f(r) is an integral over r > 1 of
        f(r) + r f(1/r), and what r = 1 adds. With f(r) = s(r)^a - s(r)^{1-a}
        = 2 s^{1/2} sinh(b log s), b = a - 1/2, f(r) + r f(1/r) >= 0 says

            s(r)^{1/2} sinh(b u) >= r s(1/r)^{1/2} sinh(b v),  u = log s(r), v = -log s(1/r).

        u >= v >= 0, because s(r) s(1/r) = 1 + q (1-q) (r-1)^2 / r >= 1. At b = 1/2 both sides are
        equal: s(r) - 1 = q (r-1) = r (1 - s(1/r)). And sinh(b u) / sinh(b v) does not decrease in
        b: its logarithmic derivative is u coth(b u) - v coth(b v), and x coth x increases.

    The caps hold too. Between integer orders chords (`upper_between`). Arguments and errors as in
    `general_bound`; every pair of neighbours must be symmetric, or dominated by one that is.
    """
    return _upper(base, q, orders, _no_weights)


def general_bound(base: RenyiCurve, q: float, orders: Array) -> Array:
    """Return upper bounds for any mechanism: weights on the terms, and caps.

    max(A1, A2) <= sum_l B(l) w_l e^{K(l-1)} at integer orders n, with w_0 = w_1 = w_2 = 1 and
    w_l = q + (1-q) c_l, c_l = 2 for odd l and 3 for even l >= 4. Theorem 5 of Zhu, Wang 2019 has
    w_l = 3; their proof needs the following repair at odd n, and then gives these weights.

        A1 = sum B(l) E_mu0 r^l. For A2, (x, y) -> x_+^n y^{1-n} is jointly convex, and
        (mu0, s mu0) = q ((1-q) mu1 + q mu0, mu1) + (1-q) ((1+q) mu0 - q mu1, mu0), so that
        A2 <= q E_mu1 (1 - q + q/r)^n + (1-q) E_mu0 t_+^n, t = 1 - q + q (2-r). The first part has
        weight 1. For even n, t_+^n <= t^n = sum B(l) (2-r)^l. For odd n, t_+^n = t^n + (-t)_+^n,
        and (-t)_+ <= q (r-2)_+, which turns the last term q^n (2-r)^n into q^n (2-r)_+^n at most.
        Odd l: E_mu0 (2-r)^l <= E_mu0 (2-r)_+^l <= 2 E_mu0 (2-r)_+^{l-1} <= 2 E_mu0 r^{-(l-1)}
        = 2 E_mu1 (1/r)^l, as 2 - r <= 1/r. Even l: the same plus E_mu0 (r-2)_+^l <= E_mu0 r^l.
        l = 0, 1, 2 exactly: 1, 1 and E (2-r)^2 = E r^2.

    The caps are in `renyi/sampled_sums.py`; between integer orders chords (`upper_between`).

    Args:
        base: its `upper` and `limit` bound both directions, (mu1, mu0) and
            (mu0, mu1).
        q: sampling probability in [0, 1].
        orders: real orders above 1, of shape (n,).

    Returns:
        Divergences, rounded up; infinity where nothing is proved.

    Raises:
        DomainError: q or an order is out of range.
    """
    return _upper(base, q, orders, _general_weights)


def _upper(base: RenyiCurve, q: float, orders: Array, weights: _Weights) -> Array:
    """Return the smallest of sum and caps.

    Sampled divergences are convex in q (joint convexity again) and 0 at q = 0, so they do not
    decrease in q, and a q that is too small for the sums may be raised.
    """
    orders = checked(q, orders)
    if q == 0.0:
        return np.zeros(len(orders))
    raised = max(q, LEAST_PROBABILITY)

    def bound(whole: Integers) -> Array:
        upper = cumulants_at_integers(base, whole, upper=True)
        if upper is None:
            raise AssertionError("every curve has upper bounds")
        return _sums(upper, weights(raised, len(upper)), raised, whole)[1]

    return capped(base, raised, orders, divided(upper_between(orders, bound), orders, 1.0))


def _sums(cumulants: Array, log_weights: Array, q: float, whole: Integers) -> Bracket:
    """Return bounds on K' at integers for exact K(l - 1) and the weights' logs, indexed by l.

    The weights' logs are off by 10 units, the sum with K by 1 unit more.
    """
    factors = log_expm1(cumulants + log_weights, 12.0)
    return log_series(whole, lambda n, index: log_probabilities(n, index, q), factors)


def _no_weights(q: float, length: int) -> Array:
    del q
    return np.zeros(length)


def _general_weights(q: float, length: int) -> Array:
    """Return log(q + (1-q) c_l) = log1p((1-q) (c_l - 1)) by l."""
    result = np.zeros(length)
    result[3::2] = math.log1p(1.0 - q)
    result[4::2] = math.log1p(2.0 * (1.0 - q))
    return result


@record
class PoissonCurve(SampledCurve):
    """Upper bound on the curve of a Poisson-sampled event.

    Attributes:
        symmetric: whether the event has one privacy loss for adding and removing, so that the
            tight sum holds (`tight_bound`), and not only the general one.
    """

    symmetric: bool

    def _sum(self, orders: Array) -> Array:
        bound = tight_bound if self.symmetric else general_bound
        return bound(self.event, self.q, orders)

    def _beyond(self, orders: Array) -> Array:
        nothing = np.full(len(orders), np.inf)
        return capped(self.event, max(self.q, LEAST_PROBABILITY), orders, nothing)


@record
class CoinCurve(DerivedCurve):
    """K of an event that takes place with probability q, as everybody may see: log(1 - q + q e^k).

    That is at most k, so that a line above the event's divergences is above these. Of a pair that
    is attained it is K of what attains the coin's.

    Attributes:
        q: the probability, or a little more; or a little less for lower bounds.
    """

    q: float

    def line(self, c: Array) -> tuple[float, Array]:
        """Return that of the event."""
        return self.base.line(c)

    def bound(self, c: Array, k: Array) -> Array:
        """Return the bound from k >= 0, of which a larger one has a larger bound."""
        del c
        return self._of(k, 1.0)

    def lower(self, c: Array) -> Array | None:
        """Return that of lower bounds of the event, if it has any."""
        k = self.base.lower(c)
        return None if k is None else np.fmax(self._of(k, -1.0), 0.0)

    def _of(self, k: Array, sign: float) -> Array:
        """Return log(1 - q + q e^k), moved by 32 units, and by 4 |log q|, as e^(log q + k) is."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            near = np.log1p(self.q * np.expm1(np.minimum(k, 1.0)))
            far = np.logaddexp(np.log1p(-self.q), np.log(self.q) + k)
        units = 32.0 - 4.0 * math.log(self.q)
        found: Array = np.where(k < 1.0, near, far) * (1.0 + sign * units * UNIT)
        return found
