"""Published bounds on private selection, and plain composition: baselines of which one may be best.

The law of the truncated negative binomial numbers of runs has a shape eta and a gamma. Whoever sees
all of a bounded number of runs can select the best, so that composition bounds selection.

Closed forms from a base mechanism whose loss is bounded: f bounds the loss log dQ/dQ' from above,
and b that of the reverse pair, log dQ'/dQ. Of all pairs with these bounds, one with two outcomes
maximises H_R for every R at once: r = dQ'/dQ lies in [e^-f, e^b] and has mean 1 under Q, and (r -
R)_+ lies below its chord (for f = b: Kairouz, Oh, Viswanath 2015). Its outcome of loss b has the
Q'-probability

    t = (e^f - 1) / (e^f - e^-b),      so that H_R(Q' || Q) <= t (1 - R e^-b) for R <= e^b.

The bound of Liu and Talwar 2019 is for a geometric number of runs. Theorem 3.4 there (3.5 in other
citations), restated by Redberg, Zhu, Wang 2023, Theorem 4.6 (where T has slipped under the root):
if the base mechanism is (epsilon_1, delta_1)-differentially private, then the best of min(T, G)
runs, G geometric with parameter gamma and T = log(1 / delta_2) / gamma for any delta_2 > 0, is

    (3 epsilon_1 + 3 (2 delta_1)^{1/2}, (2 delta_1)^{1/2} T + delta_2)-differentially private.

Here the runs are not capped, so the theorem is not relied upon. That its numbers hold without a
cap follows from a later one: with w = (1 - gamma) / gamma, selection is

    (epsilon_1 + 2 max(epsilon_1, log(1 + w delta_1)), delta_1 / gamma)-differentially private

(Koskela, Redberg, Wang 2024, Theorem 5.2, with the root R = 1 + w H_R in the place of its sum: it
is at most e^epsilon_1, or else H_R <= delta_1). Write r = (2 delta_1)^{1/2}, D for the second
number above, and l = log(1 / delta_2); let D < 1, as otherwise nothing is claimed.

* If log(1 + w delta_1) > epsilon_1 + 3 r / 2, then delta_1 / gamma > 3 r / 2, that is
  r / gamma > 3, and D > 3 l + e^-l >= 1: excluded. So the first number is large enough.
* delta_1 / gamma = r^2 / (2 gamma) <= D: this is clear for l >= r / 2, as r l / gamma is part of D.
  Else r < gamma, because D >= (r / gamma) l + 1 - l would be at least 1 otherwise; and
  D >= 1 - l > 1 - r / 2 >= 1/2 > r / 2 > r^2 / (2 gamma).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.errors import UnsupportedError
from privcalc.numerics.enclosure import Enclosure, exp, expm1, log1p
from privcalc.numerics.rounding import UNIT, non_negative

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array
    from privcalc.selection.base import Base
    from privcalc.selection.runs.protocol import Runs

# Families of the truncated negative binomial law D(eta, gamma).
SHAPED = ("geometric", "logarithmic", "tnb")
_SHAPES = {"geometric": 1.0, "logarithmic": 0.0}


def shape(runs: Runs) -> float:
    """Return eta.

    Raises:
        UnsupportedError: the number of runs is of another family.
    """
    if runs.family not in SHAPED:
        raise UnsupportedError(f"{runs.family} numbers of runs have no shape")
    known = _SHAPES.get(runs.family)
    return float(runs.parameters["shape"]) if known is None else known


def log_gamma_cost(runs: Runs) -> float:
    """Return an upper bound on log(1 / gamma).

    phi'(q) = E[K] (gamma / (gamma + (1 - gamma) (1 - q)))^{eta+1}, so that the quotient of
    phi'(1) and phi'(0) is gamma^-{eta+1}, whatever parameter was given or solved for.
    """
    _, high = runs.log_derivative(np.ones(1), np.zeros(1))
    low, _ = runs.log_derivative(np.zeros(1), np.ones(1))
    return float(((Enclosure(high) - low) / (1.0 + Enclosure(shape(runs)))).upper()[0])


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


# Relative room for some tens of roundings.
ROOM = 256.0 * UNIT
# delta_1 is divided by this as long as that pays: it does where the base is (nearly) pure.
STEP, MOST_STEPS = 16.0, 300
# Parts of (2 delta_1)^{1/2} by which epsilon_1 stays below epsilon / 3.
GAPS = np.array([0.0, 1.0, 1.0 + 1e-9, 1.0 + 1e-6, 1.001, 1.01, 1.1, 1.5, 2.0, 4.0, 16.0])


def liu_talwar_epsilon(runs: Runs, forward: Base, backward: Base, delta: float) -> float:
    """Return 3 epsilon_1 + 3 (2 delta_1)^{1/2} at the best split of delta; infinity without one.

    The base mechanism must be (epsilon_1, delta_1)-differentially private in both directions. Of
    all delta_2, that of the largest delta_1 is taken; a smaller delta_1 where it is better.

    Args:
        runs: the number of runs; anything but geometric gives infinity.
        forward: the base mechanism of (Q, Q').
        backward: that of (Q', Q).
        delta: in [0, 1].
    """
    if delta >= 1.0:
        return 0.0
    if runs.family != "geometric":
        return math.inf
    delta_1 = largest_delta_1(delta, log_gamma_cost(runs))
    best = _epsilon(forward, backward, delta_1)
    floor = max(forward.infinity_mass, backward.infinity_mass)
    for _ in range(MOST_STEPS):
        # A smaller delta_1 cannot save more than 3 (2 delta_1)^{1/2}.
        if not 3.0 * math.sqrt(2.0 * delta_1) > 1e-12 * best:
            break
        delta_1 = max(floor, delta_1 / STEP) if delta_1 > floor else 0.0
        new = _epsilon(forward, backward, delta_1)
        if not new < best:
            break
        best = new
    return best


def liu_talwar_delta(runs: Runs, forward: Base, backward: Base, epsilon: float) -> float:
    """Return (2 delta_1)^{1/2} T + delta_2 at the best split of epsilon; at most 1.

    Of the epsilon_1 tried, those with 3 epsilon_1 + 3 (2 delta_1)^{1/2} <= epsilon count. With
    c = (2 delta_1)^{1/2} / gamma the best delta_2 is c, which gives c (1 + log(1 / c)).
    """
    cost = log_gamma_cost(runs) if runs.family == "geometric" else math.inf
    if cost > LARGE:
        return 1.0
    third = epsilon / 3.0 * (1.0 - 4.0 * UNIT)
    first = float(_profile(forward, backward, np.array([third]))[0])
    places = np.unique(np.maximum(0.0, third - GAPS * math.sqrt(2.0 * first) * (1.0 + ROOM)))
    profile = _profile(forward, backward, places)
    root = np.sqrt(2.0 * profile) * (1.0 + 8.0 * UNIT)
    root = root[places + root <= third]
    c = float(root.min(initial=math.inf)) * math.exp(cost) * (1.0 + ROOM)
    if not 0.0 < c < 1.0:
        return 0.0 if c == 0.0 else 1.0
    return min(1.0, c * (1.0 - math.log(c)) * (1.0 + ROOM))


def largest_delta_1(delta: float, cost: float) -> float:
    """Return the largest delta_1 with (2 delta_1)^{1/2} log(1/delta_2) / gamma + delta_2 <= delta.

    (delta - delta_2) / log(1 / delta_2) is largest where delta_2 (1 + log(1 / delta_2)) = delta,
    which a fixed point finds. Any delta_2 is allowed, so only the last line is rounded down.

    Args:
        delta: in [0, 1).
        cost: upper bound on log(1 / gamma).
    """
    if delta <= 0.0 or cost > LARGE:
        return 0.0
    delta_2 = delta
    for _ in range(64):
        delta_2 = delta / (1.0 - math.log(delta_2))
    root = (delta - delta_2) / -math.log(delta_2) * math.exp(-cost) * (1.0 - ROOM)
    return 0.5 * root * root * (1.0 - ROOM)


def _epsilon(forward: Base, backward: Base, delta_1: float) -> float:
    """Return 3 epsilon_1 + 3 (2 delta_1)^{1/2}, rounded up."""
    epsilon_1 = non_negative(forward.epsilon(delta_1))
    if backward is not forward and math.isfinite(epsilon_1):
        epsilon_1 = max(epsilon_1, backward.epsilon(delta_1))
    return 3.0 * (epsilon_1 + math.sqrt(2.0 * delta_1)) * (1.0 + 16.0 * UNIT)


def _profile(forward: Base, backward: Base, places: Array) -> Array:
    """Return the larger profile of both directions."""
    profile = forward.upper(places)
    return profile if backward is forward else np.maximum(profile, backward.upper(places))


# Maps a count and a delta to a certified epsilon of so many runs; infinity if there is none.
ComposedEpsilon: TypeAlias = Callable[[int, float], float]

# Parts of delta that pay for runs beyond the count.
SHARES = (0.5, 0.1)
# More runs are never the best answer, and take time.
MOST_RUNS = 10_000


def composition_epsilon(
    runs: Runs, composed_epsilon: ComposedEpsilon, delta: float, *, most: int = MOST_RUNS
) -> float:
    """Return an epsilon that composing the base mechanism proves; infinity where none is.

    K does not depend on the data. So by joint convexity H_a(A || A') is at most the mean over K of
    that of K runs, which is at most P(K > n) + (1 - P(K > n)) H_a of n runs: selecting is
    post-processing, and so is leaving runs out. For a = e^epsilon, epsilon >= 0, K = 0 adds
    nothing. The n tried are the largest K and two that are seldom exceeded; none if any K may be.

    Args:
        runs: the number of runs.
        composed_epsilon: certified epsilon of a number of runs >= 1 at a delta in [0, 1), of the
            direction in question.
        delta: in [0, 1].
        most: larger counts are not tried.
    """
    if delta >= 1.0:
        return 0.0
    best = math.inf
    for count, left in counts(runs, delta):
        if count <= most:
            best = min(best, non_negative(composed_epsilon(int(count), left)))
    return best


def counts(runs: Runs, delta: float) -> list[tuple[float, float]]:
    """Return pairs of a count n and the delta that is left for n runs, rounded down."""
    if math.isinf(runs.largest):
        return []
    found = {runs.largest: delta}
    for share in SHARES if delta > 0.0 else ():
        count = _least_count(runs, share * delta)
        if count not in found:
            found[count] = (delta - runs.more_than(count)) * (1.0 - 2.0 * UNIT)
    return sorted(found.items())


def _least_count(runs: Runs, beyond: float) -> float:
    """Return the least n >= 1, of those that a bisection meets, with P(K > n) at most this."""
    left, right = 0.0, runs.largest
    while right - left > 1.0:
        middle = math.floor(0.5 * (left + right))
        if runs.more_than(middle) <= beyond:
            right = float(middle)
        else:
            left = float(middle)
    return right
