"""Private selection by Renyi divergences (Papernot, Steinke 2022), at the best real orders.

The law of the output A has Q(y) phi'(q_y) for its density, with q_y = Q(no better than y) and
phi(z) = E[z^K], and the neighbour's is Q'(y) phi'(q'_y), where (q_y, q'_y) is one test seen by both
(Koskela, Redberg, Wang 2024, Theorem 4.1). So with order = c + 1 and a = e^epsilon >= 1,

    H_a(A || A') <= sum_y [Q phi'(q) - a Q' phi'(q')]_+

to which K = 0 adds P(K = 0) (1 - a)_+ = 0. Of outcomes at infinite loss this sum has at most
E[K] P(L = infinity). Of the others, as [z - a]_+ <= C(c) (z / a)^c z with the constant C(c) of
Canonne, Kamath, Steinke 2020, Proposition 12 (`renyi/conversion.py`),

    at most C(c) a^-c e^{K_A(c)},      K_A(c) = K(c) + log sup phi'(q)^{c+1} phi'(q')^{-c},

the supremum over all tests: Lemma 7 of Papernot and Steinke, with infinite losses left aside. It
holds for a pair (P, Q) that dominates (Q, Q'), because (z phi'(q) - a phi'(q'))_+ is convex in z.
What follows bounds the supremum for each family of numbers of runs; x = 1 - q and x' = 1 - q'
are the tests of the reverse pair (Q', Q), for which x' - R x <= H_R(Q' || Q).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.renyi.order_search import search
from privcalc.renyi.single_order import single_epsilon, single_log_delta
from privcalc.selection.shape import SHAPED, log_gamma_cost, shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve
    from privcalc.selection.base import Base
    from privcalc.selection.runs.protocol import Runs

# Steps of the fixed point for binomial runs; each is a proved bound.
BINOMIAL_STEPS = 6
FAMILIES = (*SHAPED, "poisson", "binomial")


@dataclass(frozen=True)
class SelectedCurve:
    """K_A, the curve of what a selection adds to hockey-stick divergences at epsilon >= 0.

    Attributes:
        base: the curve of the base mechanism.
        log_mean: upper bound on log E[K].
        growth: maps c (and K(c)) to upper bounds on log sup phi'(q)^{c+1} phi'(q')^{-c} / E[K].
        limit: upper bound on the finite losses of A.
        convex: whether K_A is convex.
    """

    base: RenyiCurve
    log_mean: float
    growth: Callable[[Array, Array], Array]
    limit: float
    convex: bool

    @property
    def cheap(self) -> bool:
        """Say no: the base may be slow."""
        return False

    @property
    def corners(self) -> tuple[float, ...]:
        """Return those of the base."""
        return self.base.corners

    def line(self, c: Array) -> tuple[float, Array]:
        """Return a line at infinity: nothing is known at order 1."""
        return math.inf, np.zeros(c.shape)

    def upper(self, c: Array) -> Array:
        """Return K + growth + log mean, rounded up."""
        return self._sum(c, self.base.upper(c))

    def lower(self, c: Array) -> Array | None:
        """Return None: a bound."""
        del c
        return None

    def estimate(self, c: Array) -> Array:
        """Return the same of the estimate of K."""
        return self._sum(c, self.base.estimate(c))

    def _sum(self, c: Array, k: Array) -> Array:
        with np.errstate(all="ignore"):
            growth = self.growth(c, k)
            size = np.abs(k) + growth + abs(self.log_mean)
            total: Array = k + growth + self.log_mean + 8.0 * UNIT * size
        return np.where(np.isnan(total), np.inf, total)


def rdp_epsilon(runs: Runs, forward: Base, backward: Base, delta: float) -> float:
    """Return an epsilon >= 0 with H_{e^epsilon}(A || A') <= delta; infinity where none is proved.

    Args:
        runs: the number of runs.
        forward: the base mechanism of (Q, Q').
        backward: that of (Q', Q).
        delta: in [0, 1].
    """
    if delta >= 1.0:
        return 0.0
    curve = selected_curve(runs, forward, backward)
    if curve is None:
        return math.inf
    lost = runs.mean.upper * forward.infinity_mass * (1.0 + 2.0 * UNIT)
    left = (delta - lost) * (1.0 - 4.0 * UNIT)
    if left <= 0.0:
        return max(0.0, curve.limit) if lost <= delta else math.inf
    try:
        return single_epsilon(curve, left, "balle", 0.0)[0].value
    except NotCertifiedError:
        return math.inf


def rdp_delta(runs: Runs, forward: Base, backward: Base, epsilon: float) -> float:
    """Return a delta with H_{e^epsilon}(A || A') <= delta at epsilon >= 0; at most 1."""
    curve = selected_curve(runs, forward, backward)
    if curve is None:
        return 1.0
    try:
        log_delta = single_log_delta(curve, epsilon, "balle", 0.0)[0].value
    except NotCertifiedError:
        return 1.0
    lost = runs.mean.upper * forward.infinity_mass
    return min(1.0, (exp_bound(log_delta) + lost) * (1.0 + 8.0 * UNIT))


def selected_curve(runs: Runs, forward: Base, backward: Base) -> SelectedCurve | None:
    """Return the curve K_A of one direction; None where there is no theorem or no base curve."""
    base = forward.renyi
    if base is None or runs.family not in FAMILIES:
        return None
    mean = runs.mean.upper
    limit = min(base.limit, forward.largest)
    log_mean = math.log(mean)
    log_mean += 16.0 * UNIT * (1.0 + abs(log_mean))
    if runs.family in SHAPED:
        shift = tnb_shift(runs, backward)
        return SelectedCurve(
            base, log_mean, lambda c, _: c * shift, _up(limit + shift), base.convex
        )
    if runs.family == "poisson":
        total = mean * float(backward.upper(np.zeros(1))[0])
        return SelectedCurve(
            base,
            log_mean,
            lambda c, _: poisson_growth(c, mean, backward),
            _up(limit + total),
            base.convex,
        )
    number = runs.largest
    p = min(1.0, mean / number * (1.0 + 2.0 * UNIT))
    proper = forward.infinity_mass == 0.0
    steepest = (number - 1.0) * float(binomial_rate(np.ones(1), p, backward)[0])
    return SelectedCurve(
        base,
        log_mean,
        lambda c, k: binomial_growth(c, k if proper else None, (number, p), backward),
        _up(limit + steepest),
        convex=False,
    )


def tnb_shift(runs: Runs, backward: Base) -> float:
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
    eta = shape(runs)
    cost = log_gamma_cost(runs)
    best = min(cost, max(0.0, backward.largest))
    curve = backward.renyi
    if curve is not None:

        def convert(c: Array, k: Array) -> Array:
            with np.errstate(all="ignore"):
                slack = 8.0 * UNIT * MARGIN * (np.abs(k) + cost)
                value: Array = (k + cost + slack) / (1.0 + c)
            return value

        best = min(best, max(0.0, search(curve, convert).value))
    mass = backward.infinity_mass
    if mass > 0.0:
        at_infinity = math.log(mass) + cost
        best = float(np.logaddexp(best, at_infinity))
        best += 32.0 * UNIT * (1.0 + abs(math.log(mass)) + cost + abs(best))
    return (eta + 1.0) * min(best, cost) * (1.0 + 4.0 * UNIT)


def poisson_growth(c: Array, mean: float, backward: Base) -> Array:
    """Return c mean H_{1 + 1/c}(Q' || Q): Theorem 6 of Papernot and Steinke 2022, exact delta.

    phi'(q) = m e^{m (q - 1)}, and of phi'(q)^{c+1} phi'(q')^{-c} / m the logarithm is
    m (c x' - (c + 1) x) = m c (x' - (1 + 1/c) x). The point log(1 + 1/c) is rounded down.
    """
    points = np.log1p(1.0 / c) * (1.0 - 16.0 * UNIT)
    growth: Array = c * (mean * backward.upper(points)) * (1.0 + 4.0 * UNIT)
    return growth


def binomial_growth(
    c: Array, k: Array | None, number_and_chance: tuple[float, float], backward: Base
) -> Array:
    """Return the less of two bounds on log sup (phi'(q) / m)^{c+1} (phi'(q') / m)^{-c}.

    phi'(q) = n p (1 - p x)^{n-1}. The first bound is (n - 1) c times `binomial_rate`. The second,
    for mass 0 at infinite loss, is (n - 1) log(1 - p + p e^K): with z = 1 - p + p q,
    z^{c+1} z'^{-c} is jointly convex in (z, z'), hence at most 1 - p + p q^{c+1} q'^{-c}, and
    q^{c+1} q'^{-c} <= e^K by the data processing inequality. Both grow with p, which may be rounded
    up. (Both are Lemma 7; Papernot and Steinke state no theorem for binomial numbers.)
    """
    number, p = number_and_chance
    with np.errstate(all="ignore"):
        ratio = (1.0 + c) / (c + p) * (1.0 - 4.0 * UNIT)
        first = c * binomial_rate(ratio, p, backward)
        if k is not None:
            mixed = np.logaddexp(_log_rest(p), math.log(p) + k)
            mixed = mixed + 32.0 * UNIT * (1.0 + np.abs(k) + abs(math.log(p)))
            near = np.log1p(p * np.expm1(k)) * (1.0 + 40.0 * UNIT)
            first = np.fmin(first, np.maximum(0.0, np.where(k < 1.0, near, mixed)))
        growth: Array = (number - 1.0) * first * (1.0 + 4.0 * UNIT)
    return growth


def binomial_rate(ratio: Array, p: float, backward: Base) -> Array:
    """Return -log(1 - p h), h >= H_R(Q' || Q) for some R with R <= ratio (1 - p h).

    With ratio <= (c + 1) / (c + p), c times it bounds log z^{c+1} z'^{-c}, z = 1 - p x: as
    x' <= R x + h this is at most

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
    rate: Array = -np.log1p(-p * bound)
    return rate * (1.0 + 16.0 * UNIT) + 4.0 * UNIT * p * bound / (1.0 - p * bound)


def _log_threshold(ratio: Array, p: float, bound: Array) -> Array:
    """Return log(ratio (1 - p bound)), rounded down."""
    with np.errstate(all="ignore"):
        rest, log_ratio = np.log1p(-p * bound), np.log(ratio)
        wrong = 12.0 * (np.abs(rest) + np.abs(log_ratio)) + 4.0 * p * bound / (1.0 - p * bound)
        logs: Array = rest + log_ratio - UNIT * (wrong + 4.0)
    return logs


def _log_rest(p: float) -> float:
    return math.log1p(-p) if p < 1.0 else -math.inf


def _up(value: float) -> float:
    return value + 4.0 * UNIT * abs(value) if math.isfinite(value) else value
