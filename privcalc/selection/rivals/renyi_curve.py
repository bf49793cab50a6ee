"""The Renyi curve of a private selection: what `renyi.py` proves, with K = 0 counted.

The divergence of order c + 1 of the published result is log(P(K = 0) + S) / c with

    S = E_Q[e^{c l} F],    F = phi'(q)^{c+1} phi'(q')^{-c},

where the outcome of loss l = log dQ/dQ' is met by the test (q, q'). F <= M implies S <= M e^K.
Without runs both data sets give the same result, which is the first term; Papernot, Steinke 2022,
Lemma 7, is about S alone, and their bound for Poisson numbers is below 0 for small means.

For Poisson numbers both together cost no more than M e^K - (M - 1), M = m e^{c m h},
h >= H_{1 + 1/c}(Q' || Q). Proof: let s = (c + 1) x - c x', x = 1 - q, x' = 1 - q'. Along the
ranking from the best result to the worst s goes from 0 to 1 with ds = (c + 1) dQ - c dQ', never
below -c h, and F = m e^{-m s} <= M. By weighted means t^c + c / t >= c + 1 for every t > 0, so that
e^{c l} dQ >= (c + 1) dQ - c dQ', also where Q or Q' vanish. Hence

    M e^K - S = E_Q[e^{c l} (M - F)] >= integral of (M - F) ds = M - (1 - e^{-m}),

and P(K = 0) = e^{-m}. With m = 1 and h = 0 selection costs what one run does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.enclosure import exp, expm1, log, log1p, logaddexp, where
from privcalc.numerics.rounding import exp_bound, non_negative
from privcalc.record import record
from privcalc.renyi.conversion.optimum import trade_off_epsilon, trade_off_log_delta
from privcalc.renyi.curve import DerivedCurve, LeastCurve, SumCurve
from privcalc.selection.rivals.renyi import poisson_growth, selected_curve
from privcalc.selection.rivals.shape import SHAPED

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve
    from privcalc.selection.base.pair import Base
    from privcalc.selection.runs.protocol import Runs


def curve_of_best(runs: Runs, forward: Base, backward: Base) -> RenyiCurve | None:
    """Return an upper bound on the Renyi curve of one direction; None where none is known.

    Curves leave masses at infinity out, and a mechanism that a pair with one dominates may have
    finite losses there: so the base must not have any.
    """
    base = forward.renyi
    if base is None or forward.infinity_mass > 0.0 or backward.infinity_mass > 0.0:
        return None
    known: list[RenyiCurve] = []
    if math.isfinite(runs.largest):
        # Whoever sees all runs can select, and leave some out.
        known.append(SumCurve(((base, int(runs.largest)),)))
    curve = selected_curve(runs, forward, backward)
    if curve is not None and runs.family == "poisson":
        known.append(PoissonRunsCurve(base, curve.limit, runs.mean.upper, backward))
    elif curve is not None:
        none = 0.0 if runs.family in SHAPED else runs.no_runs.upper
        known.append(WithNone(curve, non_negative(curve.limit), none))
    return LeastCurve(tuple(known)) if known else None


def best_epsilon(runs: Runs, forward: Base, backward: Base, delta: float) -> float:
    """Return an epsilon >= 0 that the curve proves, by all orders together; infinity for none.

    A curve of whole results, and not of a sum over them, has the conversions of
    `renyi/conversion/optimum.py`.
    """
    if delta >= 1.0:
        return 0.0
    curve = curve_of_best(runs, forward, backward)
    if curve is None:
        return math.inf
    if delta <= 0.0:
        return non_negative(curve.limit)
    try:
        return trade_off_epsilon(curve, delta).value
    except NotCertifiedError:
        return math.inf


def best_delta(runs: Runs, forward: Base, backward: Base, epsilon: float) -> float:
    """Return a delta at epsilon >= 0 that the curve proves; at most 1."""
    curve = curve_of_best(runs, forward, backward)
    if curve is None:
        return 1.0
    try:
        return min(1.0, exp_bound(trade_off_log_delta(curve, epsilon).value))
    except NotCertifiedError:
        return 1.0


@record
class WithNone(DerivedCurve):
    """log(P(K = 0) + S), the base being the curve of log S.

    Attributes:
        none: P(K = 0), or 0.
    """

    none: float

    def bound(self, c: Array, k: Array) -> Array:
        """Return the log of the sum."""
        del c
        if self.none == 0.0:
            return k
        with np.errstate(all="ignore"):
            return logaddexp(log(self.none), k).upper()


@record
class PoissonRunsCurve(DerivedCurve):
    """log(1 + M (e^K - 1)), M = m e^{c m h}; the proof is in the text of this module.

    Attributes:
        mean: upper bound on m; the bound grows with it.
        backward: the base of the reverse pair, for h.
    """

    mean: float
    backward: Base

    def bound(self, c: Array, k: Array) -> Array:
        """Return the bound from K >= 0; large values are at most log(1 + e^{log M + K})."""
        with np.errstate(all="ignore"):
            k = np.maximum(k, 0.0)
            log_factor = log(self.mean) + poisson_growth(c, self.mean, self.backward)
            small = (log_factor.value < LARGE) & (k < LARGE)
            near = log1p(exp(log_factor) * expm1(k))
            return where(small, near, logaddexp(0.0, log_factor + k)).upper()


# Beyond these logs the 1 no longer counts, and products leave the range of doubles.
LARGE = 300.0
