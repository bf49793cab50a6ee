"""Private selection by Renyi divergences (Papernot, Steinke 2022), at the best real orders.

The law of the output A has Q(y) phi'(q_y) for its density, with q_y = Q(no better than y) and
phi(z) = E[z^K], and the neighbour's is Q'(y) phi'(q'_y), where (q_y, q'_y) is one test seen by both
(Koskela, Redberg, Wang 2024, Theorem 4.1). So with order = c + 1 and a = e^epsilon >= 1,

    H_a(A || A') <= sum_y [Q phi'(q) - a Q' phi'(q')]_+

to which K = 0 adds P(K = 0) (1 - a)_+ = 0. Of outcomes at infinite loss this sum has at most
E[K] P(L = infinity). Of the others, as [z - a]_+ <= C(c) (z / a)^c z with the constant C(c) of
Canonne, Kamath, Steinke 2020, Proposition 12 (`renyi/one_order.py`),

    at most C(c) a^-c e^{K_A(c)},      K_A(c) = K(c) + log sup phi'(q)^{c+1} phi'(q')^{-c},

the supremum over all tests: Lemma 7 of Papernot and Steinke, with infinite losses left aside. It
holds for a pair (P, Q) that dominates (Q, Q'), because (z phi'(q) - a phi'(q'))_+ is convex in z.
What follows bounds the supremum for each family of numbers of runs; x = 1 - q and x' = 1 - q'
are the tests of the reverse pair (Q', Q), for which x' - R x <= H_R(Q' || Q).

The Renyi curve of a selection counts K = 0, too. The divergence of order c + 1 of the published
result is log(P(K = 0) + S) / c with

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
from privcalc.numerics.enclosure import Enclosure, exp, expm1, log, log1p, logaddexp, where
from privcalc.numerics.rounding import UNIT, exp_bound, non_negative
from privcalc.record import record
from privcalc.renyi.best_order import curve_epsilon, curve_log_delta, search
from privcalc.renyi.curve import DerivedCurve, LeastCurve, SumCurve
from privcalc.selection.runs import NegativeBinomialRuns

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array
    from privcalc.selection.base import Base
    from privcalc.selection.runs import Runs

# Steps of the fixed point for binomial runs; each is a proved bound.
BINOMIAL_STEPS = 6
FAMILIES = ("geometric", "logarithmic", "tnb", "poisson", "binomial")


@record
class SelectedCurve(DerivedCurve):
    """K_A, the curve of what a selection adds to hockey-stick divergences at epsilon >= 0.

    Attributes:
        log_mean: upper bound on log E[K].
        growth: maps c to upper bounds on log sup phi'(q)^{c+1} phi'(q')^{-c} / E[K].
    """

    log_mean: float
    growth: Callable[[Array], Array]

    def line(self, c: Array) -> tuple[float, Array]:
        """Return a line at infinity: nothing is known at order 1."""
        return math.inf, np.zeros(c.shape)

    def bound(self, c: Array, k: Array) -> Array:
        """Return K + growth + log mean, rounded up."""
        with np.errstate(all="ignore"):
            return (Enclosure(k) + self.growth(c) + self.log_mean).upper()


def selected_curve(runs: Runs, forward: Base, backward: Base) -> SelectedCurve | None:
    """Return the curve K_A of one direction; None where there is no theorem or no base curve.

    Nor is there one where one run has no finite loss.
    """
    base = forward.renyi
    if base is None or runs.family not in FAMILIES:
        return None
    mean = runs.mean.upper
    limit = min(base.limit, forward.largest)
    if limit == -math.inf:
        return None
    log_mean = float(log(mean).upper())
    if isinstance(runs, NegativeBinomialRuns):
        shift = tnb_shift(runs, backward)
        return SelectedCurve(base, _up(limit + shift), log_mean, lambda c: c * shift)
    if runs.family == "poisson":
        total = mean * float(backward.upper(np.zeros(1))[0])
        return SelectedCurve(
            base, _up(limit + total), log_mean, lambda c: poisson_growth(c, mean, backward)
        )
    more = runs.largest - 1.0
    if more == 0.0:
        # phi' is constant.
        return SelectedCurve(base, limit, log_mean, lambda c: np.zeros(c.shape))
    p = min(1.0, mean / runs.largest * (1.0 + 2.0 * UNIT))

    def growth(c: Array) -> Array:
        ratio = (1.0 + c) / (c + p) * (1.0 - 4.0 * UNIT)
        found: Array = more * c * binomial_rate(ratio, p, backward) * (1.0 + 8.0 * UNIT)
        return found

    steepest = more * float(binomial_rate(np.ones(1), p, backward)[0])
    return SelectedCurve(base, _up(limit + steepest), log_mean, growth)


def tnb_shift(runs: NegativeBinomialRuns, backward: Base) -> float:
    """Return v with log sup phi'(q)^{c+1} phi'(q')^{-c} <= c v + log E[K], for K ~ D(eta, gamma).

    Theorem 2 of Papernot and Steinke 2022. With s = gamma + (1 - gamma) x and s' likewise,
    phi'(q) = E[K] (gamma / s)^{eta+1}, so that what is wanted is at most E[K] times
    (s' / s)^{(eta+1) c}. s and s' are the probabilities of one event under (Q, Q') and a coin.
    At an order d + 1, with K' the curve of (Q', Q) and m' its mass at infinity,
    s' <= m' + (s e^{K'/d})^{d/(1+d)}: Hoelder's inequality on the outcomes at finite loss. As
    s >= gamma,

        s' / s <= e^{(K' + log 1/gamma) / (1 + d)} + m' / gamma,

    which for d = 0 is 1 / gamma (no divergence enters), and e^largest + m' / gamma in the limit.
    v = (eta + 1) log of the least of these.
    """
    eta, cost = runs.shape, runs.log_gamma_cost
    best = min(cost, non_negative(backward.largest))
    curve = backward.renyi
    if curve is not None:

        def convert(c: Array, k: Array) -> Array:
            with np.errstate(all="ignore"):
                return ((Enclosure(k) + cost) / (1.0 + Enclosure(c))).upper()

        best = min(best, non_negative(search(curve, convert)[0]))
    mass = backward.infinity_mass
    if mass > 0.0:
        best = float(logaddexp(best, log(mass) + cost).upper())
    return (eta + 1.0) * min(best, cost) * (1.0 + 4.0 * UNIT)


def poisson_growth(c: Array, mean: float, backward: Base) -> Array:
    """Return c mean H_{1 + 1/c}(Q' || Q): Theorem 6 of Papernot and Steinke 2022, exact delta.

    phi'(q) = m e^{m (q - 1)}, and of phi'(q)^{c+1} phi'(q')^{-c} / m the logarithm is
    m (c x' - (c + 1) x) = m c (x' - (1 + 1/c) x). The point log(1 + 1/c) is rounded down.
    """
    points = np.log1p(1.0 / c) * (1.0 - 16.0 * UNIT)
    growth: Array = c * (mean * backward.upper(points)) * (1.0 + 4.0 * UNIT)
    return growth


def binomial_rate(ratio: Array, p: float, backward: Base) -> Array:
    """Return -log(1 - p h), h >= H_R(Q' || Q) for some R with R <= ratio (1 - p h).

    phi'(q) = n p (1 - p x)^{n-1}: n - 1 times c times this bounds the logarithm in question (Lemma
    7; Papernot and Steinke state no theorem for binomial numbers). It grows with p, which may be
    rounded up. With ratio <= (c + 1) / (c + p), c times it bounds log z^{c+1} z'^{-c},
    z = 1 - p x: as x' <= R x + h this is at most

        f(x) = (c + 1) log(1 - p x) - c log(1 - p R x - p h),

    whose derivative is at most 0 where c R (1 - p x) <= (c + 1) (1 - p R x - p h); that is linear
    in x, and holds at x = 0 and x = 1 if R (c + p) <= (c + 1) (1 - p h). (Then p R + p h < 1, too.)
    So f is largest at x = 0, where it is -c log(1 - p h). For p -> 0 this is the theorem for
    Poisson numbers.

    h = 1 always bounds H, which allows R = ratio (1 - p); that R gives a smaller h, which allows
    a larger R, and so on. A step that rounding turns back is not taken. The limit c -> infinity,
    ratio = 1, bounds z / z'.
    """
    if p >= 1.0:
        return np.full(ratio.shape, np.inf)
    bound = np.ones(ratio.shape)
    logs = _log_threshold(ratio, p, bound)
    for _ in range(BINOMIAL_STEPS):
        new = backward.upper(logs)
        new_logs = _log_threshold(ratio, p, new)
        # new bounds H also at larger thresholds.
        allowed = (new_logs >= logs) & (new <= bound)
        bound, logs = np.where(allowed, new, bound), np.where(allowed, new_logs, logs)
        if not allowed.any():
            break
    return (-log1p(Enclosure(-p) * bound)).upper()


def _log_threshold(ratio: Array, p: float, bound: Array) -> Array:
    """Return log(ratio (1 - p bound)), rounded down."""
    with np.errstate(all="ignore"):
        return (log1p(Enclosure(-p) * bound) + log(ratio)).lower()


def _up(value: float) -> float:
    return value + 4.0 * UNIT * abs(value) if math.isfinite(value) else value


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
        none = runs.no_runs.upper
        known.append(WithNone(curve, non_negative(curve.limit), none))
    return LeastCurve(tuple(known)) if known else None


def best_epsilon(runs: Runs, forward: Base, backward: Base, delta: float) -> float:
    """Return an epsilon >= 0 that a curve proves, by its best order; infinity for none.

    E[K] P(L = infinity) comes off delta; see the text of this module.
    """
    if delta >= 1.0:
        return 0.0
    curve, conversion = _curve(runs, forward, backward)
    if curve is None:
        return math.inf
    lost = _lost(runs, forward)
    left = (delta - lost) * (1.0 - 4.0 * UNIT) if lost else delta
    if left <= 0.0:
        return non_negative(curve.limit) if lost <= delta else math.inf
    try:
        return curve_epsilon(curve, left, conversion).value
    except NotCertifiedError:
        return math.inf


def best_delta(runs: Runs, forward: Base, backward: Base, epsilon: float) -> float:
    """Return a delta at epsilon >= 0 that a curve proves; at most 1."""
    curve, conversion = _curve(runs, forward, backward)
    if curve is None:
        return 1.0
    try:
        log_delta = curve_log_delta(curve, epsilon, conversion).value
    except NotCertifiedError:
        return 1.0
    return min(1.0, (exp_bound(log_delta) + _lost(runs, forward)) * (1.0 + 4.0 * UNIT))


def _curve(runs: Runs, forward: Base, backward: Base) -> tuple[RenyiCurve | None, str]:
    """Return a curve of whole results, which has better conversions, or else that of a sum."""
    whole = curve_of_best(runs, forward, backward)
    if whole is not None:
        return whole, "trade_off"
    return selected_curve(runs, forward, backward), "balle"


def _lost(runs: Runs, forward: Base) -> float:
    return runs.mean.upper * forward.infinity_mass * (1.0 + 2.0 * UNIT)


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
