"""Closed forms for private selection from a base mechanism whose loss is bounded.

f bounds the loss log dQ/dQ' from above, and b that of the reverse pair, log dQ'/dQ. Of all pairs
with these bounds, one with two outcomes maximises H_R for every R at once: r = dQ'/dQ lies in
[e^-f, e^b] and has mean 1 under Q, and (r - R)_+ lies below its chord (for f = b: Kairouz, Oh,
Viswanath 2015). Its outcome of loss b has the Q'-probability

    t = (e^f - 1) / (e^f - e^-b),      so that H_R(Q' || Q) <= t (1 - R e^-b) for R <= e^b.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.numerics.enclosure import exp, expm1, log1p
from privcalc.numerics.rounding import UNIT, non_negative
from privcalc.selection.rivals.shape import SHAPED, log_gamma_cost, shape

if TYPE_CHECKING:
    from privcalc.selection.base.pair import Base
    from privcalc.selection.runs.protocol import Runs

# e^x - 1 and e^x are one number, and 1 / e^x no longer counts.
LARGE = 700.0


def pure_epsilon(runs: Runs, forward: Base, backward: Base, delta: float) -> float:
    """Return an epsilon with A(S) <= e^epsilon A'(S) for all S; infinity where none is proved.

    Each selection bound is delta_A(epsilon) <= E[K] H_{e^{epsilon - C}}(Q || Q'), which is 0 at
    epsilon = f + C, C >= log phi'(q) / phi'(q') over all tests (Koskela, Redberg, Wang 2024,
    Section 5, with the constants at their best). With the H above:

        D(eta, gamma): C = (eta + 1) log R, R = 1 + w H_R(Q' || Q), w = (1 - gamma) / gamma,
        binomial:      C = (n - 1) log R,   R = 1 + v H_R(Q || Q'), v = p / (1 - p),
        Poisson:       C = E[K] H_1,
        at most N:     C = (N - 1) f, as q <= e^f q' and phi'(q) = sum_k k P(K = k) q^{k-1}.

    The first is f + (eta + 1) log((1 + E + w E) / (1 + E + w)) for f = b = log E, which is below
    (eta + 2) f. The last is plain composition.

    Args:
        runs: the number of runs.
        forward: the base mechanism of (Q, Q').
        backward: that of (Q', Q).
        delta: from 1 on nothing is asked; below it is not made use of.
    """
    if delta >= 1.0:
        return 0.0
    f, b = loss_bound(forward), loss_bound(backward)
    if f in (0.0, math.inf):
        return f
    constant = (runs.largest - 1.0) * f
    if runs.family in SHAPED:
        gap = _odds_gap(log_gamma_cost(runs), b, f)
        constant = min(constant, (shape(runs) + 1.0) * gap)
    elif runs.family == "poisson":
        constant = min(constant, runs.mean.upper * _weight(b, f) * -math.expm1(-b))
    elif runs.family == "binomial":
        p = runs.mean.upper / runs.largest * (1.0 + 2.0 * UNIT)
        if p < 1.0:
            # 1 + v = 1 / (1 - p) takes the place of 1 + w = 1 / gamma.
            odds = -math.log1p(-p) * (1.0 + 10.0 * UNIT)
            constant = min(constant, (runs.largest - 1.0) * _odds_gap(odds, f, b))
    return _up(f + constant)


def loss_bound(base: Base) -> float:
    """Return an upper bound on all losses, which is at least 0; infinity if there is none."""
    return math.inf if base.infinity_mass > 0.0 else non_negative(base.largest)


def _weight(here: float, other: float) -> float:
    """Return t, the probability of the loss `here` of the two-point pair, rounded up.

    The other loss is -`other`. Both parts of the denominator are positive.
    """
    if other > LARGE:
        return 1.0
    top = expm1(other)
    return min(1.0, float((top / (top - expm1(-here))).upper()))


def _odds_gap(log_odds: float, here: float, other: float) -> float:
    """Return log R for the root of R - 1 = w t (1 - R e^-here), w = e^log_odds - 1, rounded up.

    R - 1 = w t (1 - e^-here) / (1 + w t e^-here), which grows with w t; log R is at most `here`
    for every w.
    """
    if log_odds > LARGE:
        return here
    product = expm1(log_odds) * _weight(here, other)
    excess = product * -expm1(-here) / (1.0 + product * exp(-here))
    return min(here, float(log1p(excess).upper()))


def _up(value: float) -> float:
    return value * (1.0 + 32.0 * UNIT)
