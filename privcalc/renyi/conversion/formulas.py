"""From one Renyi order to (epsilon, delta): the classic bound, the tightened one, the optimal one.

c = order - 1 > 0, K is a proved upper bound on c D_{c+1}(P||Q), and delta stands for the finite
part of the hockey-stick divergence, E_P[(1 - e^{epsilon - L})_+; L finite]: masses at infinite loss
are left out of K, and the caller adds them. Every result is an upper bound, rounded up;
infinity where K is infinite or an input makes no sense. Nothing is clipped: an epsilon below 0
means 0, a log delta above 0 means 0.

Roundings are enclosed (`numerics/enclosure.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.enclosure import Enclosure, log1mexp, log1p
from privcalc.renyi.conversion.joint_range import tangents_for_epsilon, tangents_for_log_delta

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Mask


def classic_epsilon(c: Array, k: Array, log_delta: float) -> Array:
    """Return (K - log delta) / c (Mironov 2017, Proposition 3).

    Proof: delta <= P(L > epsilon) <= E[e^{c (L - epsilon)}] = e^{K - c epsilon}, by Markov.

    Args:
        c: orders minus 1, of any shape.
        k: upper bounds on K there, of the same shape.
        log_delta: log of the delta in question, taken as exact.
    """
    with np.errstate(all="ignore"):
        return _valid(c, k, (Enclosure(k) - log_delta) / c)


def balle_epsilon(c: Array, k: Array, log_delta: float) -> Array:
    """Return (K + log C(c) - log delta) / c, C(c) = c^c / (1 + c)^(1 + c).

    Balle et al. 2020, Theorem 21; Canonne, Kamath, Steinke 2020, Proposition 12. Proof:
    (1 - e^{epsilon - l})_+ <= C(c) e^{c (l - epsilon)} for all l, the ratio being largest where
    e^{epsilon - l} = c / (1 + c); take expectations. Evaluated as
    (K - log delta - log(1 + c)) / c - log(1 + 1/c).
    """
    with np.errstate(all="ignore"):
        value = (Enclosure(k) - log_delta - log1p(c)) / c - log1p(1.0 / Enclosure(c))
        return _valid(c, k, value)


def classic_log_delta(c: Array, k: Array, epsilon: float) -> Array:
    """Return K - c epsilon (Mironov 2017, Proposition 3; proof at `classic_epsilon`)."""
    with np.errstate(all="ignore"):
        return _valid(c, k, k - Enclosure(c) * epsilon)


def balle_log_delta(c: Array, k: Array, epsilon: float | Array) -> Array:
    """Return K - c epsilon + log C(c) (Canonne, Kamath, Steinke 2020; see `balle_epsilon`)."""
    with np.errstate(all="ignore"):
        inverse = 1.0 / Enclosure(c)
        return _valid(c, k, k - Enclosure(c) * epsilon - c * log1p(inverse) - log1p(c))


def joint_epsilon(c: Array, k: Array, log_delta: float, *, infinite_mass: float = 0.0) -> Array:
    """Return the least epsilon that one Renyi order proves (Asoodeh et al. 2021), never below it.

    The proof and the roundings are in `joint_range.py`. Any tangent is valid, so the search
    for the best one need not be certified; r1 = 0 is `balle_epsilon`, which is never exceeded.
    For delta >= 1 / (1 + c) the best is K / c + log(1 - delta), in a closed form.

    Args:
        c: orders minus 1, of any shape; nothing is won outside 1e-9..1e9.
        k: upper bounds on K there, of the same shape.
        log_delta: log of the delta in question, taken as exact.
        infinite_mass: upper bound on P(L = infinity), which K leaves out; it weakens this bound.
    """
    balle = balle_epsilon(c, k, log_delta)
    point = tangents_for_log_delta(c, k, log_delta, infinite_mass)
    best = np.fmin(balle, np.where(np.isfinite(balle), point.epsilon, np.inf))
    with np.errstate(all="ignore"):
        at_end = log1p(c).lower() >= -log_delta
        value = Enclosure(k) / c + (log1mexp(-log_delta) if log_delta < 0.0 else 0.0)
        return np.fmin(best, np.where(at_end, _valid(c, k, value), np.inf))


def joint_log_delta(
    c: Array, k: Array, epsilon: float | Array, *, infinite_mass: float = 0.0
) -> Array:
    """Return the least log delta that one Renyi order proves; the counterpart of `joint_epsilon`.

    epsilon may be negative here: the profile below 0 is wanted by `renyi/conversion/trade_off.py`.
    """
    balle = balle_log_delta(c, k, epsilon)
    point = tangents_for_epsilon(c, k, epsilon, infinite_mass)
    best = np.fmin(balle, np.where(np.isfinite(balle), point.log_delta, np.inf))
    with np.errstate(all="ignore"):
        # The difference of the divergence and epsilon, rounded up; it must exceed log(1 + 1/c).
        gap, least = (Enclosure(k) / c - epsilon).upper(), log1p(1.0 / Enclosure(c)).upper()
        return np.fmin(best, np.where(gap >= least, _valid(c, k, log1mexp(gap)), np.inf))


def _valid(c: Array, k: Array, value: Enclosure) -> Array:
    """Return upper ends, and infinity wherever the inputs or the arithmetic make no sense."""
    sensible: Mask = (c > 0.0) & np.isfinite(c) & (k < np.inf)
    return np.where(sensible, value.upper(), np.inf)
