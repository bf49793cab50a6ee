"""The constant C of a selection bound: delta_A(epsilon) <= E[K] H_{e^{epsilon - C}}(P || Q) + ...

Let a test accept with probability q under P and q' under Q. phi' does not decrease, so that with
C = sup log phi'(q) / phi'(q') over all tests the law of the selection (Koskela, Redberg, Wang 2024,
Theorem 4.1) gives, for neighbours that (P, Q) dominates and every real epsilon,

    H_{e^epsilon}(A || A') <= E[K] H_{e^{epsilon - C}}(P || Q) + P(K = 0) (1 - e^epsilon)_+.

Here are C for the families whose phi' is a power or an exponential, and the published constants.
Domination carries over: the tests of the dominated pair satisfy q <= a q' + H_a(P || Q), which is
all that is used of them. Every value returned is an upper end, for the upper ends of H that were
asked for at the very place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT, non_negative

if TYPE_CHECKING:
    from privcalc.selection.base import Base

# Smaller products of odds and H_1 are not refined.
LEAST_ODDS = 1e-290
# Points of a round of a search, rounds, and what is sought, relatively.
POINTS, ROUNDS, FINE = 17, 16, 1e-9


def negative_binomial_tight(shape: float, odds: float, backward: Base) -> float:
    """Return C = (eta + 1) log R with R - 1 >= w H_R(Q || P).

    With x = 1 - q and x' = 1 - q', phi'(q) / phi'(q') = ((1 + w x') / (1 + w x))^{eta+1} is at most
    R^{eta+1} if and only if x' - R x <= (R - 1) / w, and x' - R x <= H_R(Q || P) for every test,
    with equality for one: the least R is the root, and the reverse divergence belongs here.

    Args:
        shape: eta > -1.
        odds: upper end of w = (1 - gamma) / gamma; C increases in it.
        backward: the base of (Q, P).
    """
    return (shape + 1.0) * odds_root(backward, odds) * (1.0 + 4.0 * UNIT)


def negative_binomial_paper(shape: float, odds: float, backward: Base) -> tuple[float, float]:
    """Return C of Theorem 5.2 of Koskela, Redberg, Wang 2024, and its epsilon_1 >= 0.

    C = (eta + 1) log(e^{epsilon_1} + w H_{e^{epsilon_1}}(Q || P)) for any epsilon_1 >= 0 (they take
    H as the maximum over both orders). The bracket is convex in e^{epsilon_1}, so that it falls to
    a minimum and rises from there. With V its value at 0, no better epsilon_1 exceeds log V. It
    is computed as log1p of e^x - 1 (off by 8 units) plus w H (off by 2): 20 units.
    """
    best, place = math.inf, 0.0
    places, right = np.zeros(1), 0.0
    for _ in range(ROUNDS):
        values = np.log1p(np.expm1(places) + odds * backward.upper(places))
        i = int(np.argmin(values))
        if values[i] < best:
            best, place = float(values[i]), float(places[i])
        if not 0.0 < best < math.inf:
            break
        if len(places) == 1:
            places = best * np.append(0.0, np.geomspace(0.5**8, 1.0, POINTS))
            continue
        left, right = float(places[max(i - 1, 0)]), float(places[min(i + 1, len(places) - 1)])
        if right - left <= FINE * right:
            break
        places = np.linspace(left, right, POINTS)
    return (shape + 1.0) * best * (1.0 + 24.0 * UNIT), place


def poisson_tight(mean: float, forward: Base) -> float:
    """Return C = m TV(P, Q): log phi'(q) / phi'(q') = m (q - q') <= m H_1(P || Q), attained."""
    return mean * float(forward.upper(np.zeros(1))[0]) * (1.0 + 2.0 * UNIT)


def binomial_tight(trials: float, odds: float, forward: Base) -> tuple[float, float]:
    """Return C = (n - 1) log R with R - 1 >= p / (1 - p) H_R(P || Q), and log R.

    (1 - p + p q) / (1 - p + p q') <= R if and only if q - R q' <= (R - 1) (1 - p) / p, and
    q - R q' <= H_R(P || Q), attained: the forward divergence. At p = 1 (a fixed number of runs) R
    bounds q / q', which no finite R does unless losses are bounded.

    Args:
        trials: n.
        odds: upper end of p / (1 - p), infinite for p = 1; C increases in it.
        forward: the base of (P, Q).
    """
    if trials == 1.0:
        return 0.0, 0.0
    if math.isfinite(odds):
        log_root = odds_root(forward, odds)
    else:
        log_root = math.inf if forward.infinity_mass > 0.0 else non_negative(forward.largest)
    return (trials - 1.0) * log_root * (1.0 + 4.0 * UNIT), log_root


def binomial_paper(trials: float, chance: float, odds: float, forward: Base) -> tuple[float, float]:
    """Return C of Theorem 5.7 of Koskela, Redberg, Wang 2024, and its epsilon_1 >= 0.

    C = (n - 1) log(1 + p (e^x - 1) + p H_{e^x}(P || Q)) for any x = epsilon_1 with
    e^x >= 1 + p / (1 - p) H_{e^x}(P || Q). It does not decrease in x, as H_a has slopes of at least
    -1 in a; so the boundary of the condition is best, which is the root above, where it is the same
    number. The larger of both is returned: what lies between is rounding.
    """
    tight, log_root = binomial_tight(trials, odds, forward)
    if tight == 0.0 or math.isinf(tight) or math.isinf(odds):
        return tight, log_root
    rise = math.expm1(log_root) + float(forward.upper(np.array([log_root]))[0])
    return max(tight, (trials - 1.0) * math.log1p(chance * rise) * (1.0 + 24.0 * UNIT)), log_root


def odds_root(base: Base, odds: float) -> float:
    """Return x >= 0, about the least, with e^x - 1 >= odds H_{e^x} certified.

    The returned x is one at which `upper` was evaluated and the inequality holds, e^x - 1 rounded
    down by 10 units and the product up; or log(1 + odds H_1), because H_a does not increase in a;
    or the largest finite loss, beyond which H is the mass at infinity.

    As H_a has slopes of at least -1, r = e^x - 1 is at least odds H_1 / (1 + odds) at the root,
    where the search begins.
    """
    first = odds * float(base.upper(np.zeros(1))[0])
    if first == 0.0:
        return 0.0
    if not first < math.inf:
        return math.inf
    best = math.log1p(first) * (1.0 + 20.0 * UNIT)
    if first < LEAST_ODDS:
        return best
    top = non_negative(base.largest)
    if top < best and math.expm1(top) * (1.0 - 10.0 * UNIT) >= odds * base.infinity_mass:
        best = top
    right = math.expm1(best)
    left = 0.999 * min(first / (1.0 + odds), right)
    for _ in range(ROUNDS):
        if right - left <= FINE * right:
            break
        logs = np.log1p(np.geomspace(left, right, POINTS)[1:-1])
        height = odds * base.upper(logs) * (1.0 + 2.0 * UNIT)
        enough = np.expm1(logs) * (1.0 - 10.0 * UNIT) >= height
        i = int(np.argmax(enough)) if enough.any() else len(logs)
        if i < len(logs):
            best, right = min(best, float(logs[i])), math.expm1(float(logs[i]))
        if i > 0:
            left = math.expm1(float(logs[i - 1]))
    return best
