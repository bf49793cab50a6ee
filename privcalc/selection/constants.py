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
    from collections.abc import Callable

    from privcalc.numerics.rounding import Array
    from privcalc.selection.base import Base

MOST_ROUNDS = 14
# R - 1 is sought to so many units of itself.
ENOUGH = 16.0 * UNIT
# Brackets of a larger ratio are narrowed on a logarithmic scale.
STEEP = 16.0
# Smaller roots are not refined.
LEAST_ODDS = 1e-290
# Parts of the bracket that are tried.
_PARTS = np.array([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
_NUDGES: Array = np.array([-1e-13, -4e-15, 4e-15, 2e-14, 1e-13])
# Points of a round of the search for the best epsilon_1, rounds, and what it is sought to.
_POINTS, _ROUNDS, _FINE = 17, 10, 3e-9
# Where it begins, in halves of the largest place; and how many are asked together in first rounds.
_HALVINGS, _TOGETHER = 8.0, 4


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

    def values_at(places: Array) -> Array:
        values: Array = np.log1p(np.expm1(places) + odds * backward.upper(places))
        return values

    best, place = float(values_at(np.zeros(1))[0]), 0.0
    if best == 0.0:
        return 0.0, 0.0
    if not best < math.inf:
        return math.inf, 0.0
    places: Array = best * np.append(0.0, 0.5 ** np.arange(_HALVINGS, -1.0, -1.0))
    # Beyond the minimum H is of no interest, and may be dear.
    places, values = _until(values_at, places, lambda found: min(found) < found[-1])
    for _ in range(_ROUNDS):
        i = int(np.argmin(values))
        if values[i] < best:
            best, place = float(values[i]), float(places[i])
        left, right = float(places[max(i - 1, 0)]), float(places[min(i + 1, len(places) - 1)])
        if right - left <= _FINE * right:
            break
        places = np.linspace(left, right, _POINTS)
        values = values_at(places)
    corner = _corner(places, values)
    if corner is not None and (value := float(values_at(np.array([corner]))[0])) < best:
        best, place = value, corner
    return (shape + 1.0) * best * (1.0 + 24.0 * UNIT), place


def _corner(places: Array, values: Array) -> float | None:
    """Return where the lines on both sides of the least of evenly spaced values meet.

    Points of a profile are corners of H, at which the least value may be: no smooth minimum, where
    a search gains twice the digits that its places have.
    """
    i = int(np.argmin(values))
    if not 2 <= i < len(places) - 2:
        return None
    step = float(places[i + 1] - places[i])
    fall, rise = float(values[i - 1] - values[i - 2]), float(values[i + 2] - values[i + 1])
    if not rise > fall:
        return None
    gap = float(values[i - 1] - values[i + 1]) + 2.0 * rise
    found = float(places[i - 1]) + step * gap / (rise - fall)
    return found if float(places[i - 1]) < found < float(places[i + 1]) else None


def _until(
    ask: Callable[[Array], Array], places: Array, enough: Callable[[list[float]], bool]
) -> tuple[Array, Array]:
    """Ask from left to right, some places at a time, until enough is known; return those asked."""
    found: list[float] = []
    for some in np.array_split(places, math.ceil(len(places) / _TOGETHER)):
        found += ask(some).tolist()
        if enough(found):
            break
    return places[: len(found)], np.array(found)


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

    The search is in r = e^x - 1. odds H - r is convex and falls: where it is positive at two
    points, their secant has its zero before the root, and the chord across the root behind it. As
    H_a has slopes of at least -1, the root is at least odds H_1 / (1 + odds).
    """
    first = odds * float(base.upper(np.zeros(1))[0])
    if first == 0.0:
        return 0.0
    if first < LEAST_ODDS:
        # log(1 + x) < x; nothing is to be gained where powers of doubles end.
        return math.log1p(first) * (1.0 + 20.0 * UNIT)
    best = math.log1p(first) * (1.0 + 20.0 * UNIT)
    if math.isfinite(base.largest):
        top = non_negative(base.largest)
        if top < best and math.expm1(top) * (1.0 - 10.0 * UNIT) >= odds * base.infinity_mass:
            best = top

    def heights_at(logs: Array) -> Array:
        risen: Array = np.expm1(logs) * (1.0 - 10.0 * UNIT)
        return odds * base.upper(logs) * (1.0 + 2.0 * UNIT) - risen

    # Pairs (r, odds H - r), before and behind the root.
    before: list[tuple[float, float]] = []
    behind = (math.expm1(best), -math.inf)
    least = min(first / (1.0 + odds), behind[0])
    places: Array = np.unique(np.log1p(np.geomspace(0.999 * least, behind[0], 12)))
    # Beyond the root H is of no interest, and may be dear.
    logs, heights = _until(heights_at, places, lambda found: min(found) <= 0.0)
    for _ in range(MOST_ROUNDS):
        r = np.expm1(logs)
        enough = np.flatnonzero(heights <= 0.0)
        stop = int(enough[0]) if len(enough) else len(r)
        if len(enough) and logs[stop] <= best:
            best, behind = float(logs[stop]), (float(r[stop]), float(heights[stop]))
        before += [(float(r[i]), float(heights[i])) for i in range(stop) if r[i] < behind[0]]
        before = sorted(before)[-2:]
        if not before or behind[0] - before[-1][0] <= ENOUGH * behind[0]:
            break
        logs = np.unique(np.log1p(_places(before, behind)))
        if not len(logs):
            break
        heights = heights_at(logs)
    return best


def _places(before: list[tuple[float, float]], behind: tuple[float, float]) -> Array:
    """Return points of the bracket, most of them about the zeros of the secant and the chord."""
    left, height = before[-1]
    right, depth = behind
    if right > STEEP * left:
        return np.geomspace(left, right, 14)[1:-1]
    chord = right
    if math.isfinite(depth) and height > depth:
        chord = left + (right - left) * (height / (height - depth))
    secant = left
    if len(before) > 1 and before[0][1] > height:
        secant = left + height * ((left - before[0][0]) / (before[0][1] - height))
    secant = min(max(secant, left), chord)
    places = np.concatenate(
        [
            secant + (chord - secant) * _PARTS,
            secant * (1.0 + _NUDGES),
            chord * (1.0 + _NUDGES),
            [0.5 * (left + right), secant, chord],
        ]
    )
    return places[(places > left) & (places < right)]
