"""The power of tests that Renyi divergences allow, in both directions: P(A) at a given Q(A).

Let c = alpha - 1 > 0 and K = c D_alpha(P||Q). By data processing the event A alone obeys the bound:
with p = P(A), q = Q(A), m = P(L = infinity) and only finite losses in A and in its complement,

    F(p) = p (p/q)^c + (w - p) ((w - p)/(1 - q))^c <= e^K,    w = 1 - m.

With l = log(p/q) inside A, l' = log((w - p)/(1 - q)) outside, and the excess
h(l) = e^{cl} - 1 + c (e^{-l} - 1) >= 0 of `numerics/sums.py` this is

    p h(l) + (w - p) h(l') <= e^K - 1 + (1 + c) m,

sums of non-negative terms. F is convex in p and least at p = w q, so that a p >= w q at which the
left side is not less than the right is an upper bound on P(A). A bound on D_alpha(Q||P) does the
same with the roles exchanged (m = 0 there): q h(-l) + (1 - q) h(-l') <= e^K - 1 bounds a convex
function of p that is least at p = q. A largest loss X is the order infinity: l <= X, or -l' <= X.

Each order and either direction bounds P(A) by itself, so all of them do, and for the pairs (p, q)
that satisfy all there is a mechanism of two outcomes that has all the divergences: nothing better
follows from the divergences alone. Whatever order is tried is proved, so that the search for the
best needs no certificate: a grid, then the neighbourhood of the best of it for each q and either
direction. Between the known orders of a curve that is known at some only, K is linear. K of the
pair (p, q) is convex and at most the curve's at both ends, so that the orders between add nothing.

Everything is a function of y > 0, the odds of p/w over those of q, less 1. With Z = 1 + q y,

    p = w q (1 + y) / Z,    w - p = w (1 - q) / Z,
    l = log w + log(1 + (1 - q) y / Z),    l' = log w - log Z,

which keeps the relative accuracy of all of them, of the losses and of 1 - p (for w = 1).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privcalc.numerics.enclosure import Enclosure, exp, expm1, log, log1p, maximum, where
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.search import halved
from privcalc.numerics.sums import excess_slope, log_loss_excess
from privcalc.numerics.work import left, spend
from privcalc.record import record
from privcalc.renyi.best_order import vertices, wide_grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array, Mask

# log y is searched in this range; 1 - p is then as small as e^-690 (1 - q).
LEAST_LOG, LARGEST_LOG = -690.0, 690.0
# Bisections, which leave 5e-12 of y; work of one, however few its values.
BISECTIONS, PER_TRIAL = 48, 1500.0


@record
class Sides:
    """Constraints, of shapes that fit together.

    Attributes:
        c: orders minus 1; infinity for a largest loss.
        k: upper bounds on K; for order infinity on the loss itself. Infinity where none is known.
        back: whether it is (Q, P) that is bounded.
        infinite_mass: m, which must be 0 where `back` is set.
    """

    c: Array
    k: Array
    back: Mask
    infinite_mass: float = 0.0


@record
class Powers:
    """Upper bounds on P(A) and what they say.

    Attributes:
        log_y: log of y; infinity where nothing is proved.
        power: upper bounds on p.
        rest: lower bounds on w - p.
    """

    log_y: Array
    power: Array
    rest: Array


def largest_powers(
    sides: Sides, q: Array, low: Array | float = LEAST_LOG, high: Array | float = LARGEST_LOG
) -> Array:
    """Return log y of the pairs (p, q) that each constraint allows at most, rounded up.

    Args:
        sides: constraints; their shapes and that of q are broadcast.
        q: Q(A), in (0, 1).
        low: where log y is looked for; nothing depends on this but how narrow the result is.
        high: from where on it is given up.
    """

    def proved(log_y: Array) -> Array:
        return _excess(sides, q, log_y)

    shape = np.broadcast_shapes(sides.c.shape, q.shape)
    with np.errstate(all="ignore"):
        ends = (np.broadcast_to(np.asarray(each, dtype=float), shape) for each in (low, high))
        return crossing(proved, *ends)


def powers(log_y: Array, q: Array, infinite_mass: float) -> Powers:
    """Return p, rounded up, and w - p, rounded down, of given pairs.

    1 - q and w are off by a unit, e^{log y} by 8, sums and quotients by one each.
    """
    with np.errstate(all="ignore"):
        y = np.exp(log_y)
        w = 1.0 - infinite_mass
        z = 1.0 + q * y
        power = np.where(log_y < np.inf, w * q * (1.0 + y) / z * (1.0 + 32.0 * UNIT), w)
        rest = np.where(log_y < np.inf, w * (1.0 - q) / z * (1.0 - 32.0 * UNIT), 0.0)
    return Powers(log_y, np.minimum(power, 1.0), rest)


def _excess(sides: Sides, q: Array, log_y: Array) -> Array:
    """Return a lower bound on log(left side) less the logarithm of the right one.

    y = e^{log y} is taken as exact, as in `powers`. Each loss is the log1p of a number that is off
    by 8 units, and so by 16 relatively; log w adds 16 units of itself, absolutely.
    """
    if sides.infinite_mass >= 1.0:
        # No finite loss has mass, and no set has another power.
        return np.full(np.broadcast_shapes(sides.c.shape, q.shape, log_y.shape), -np.inf)
    y = np.exp(log_y)
    log_w = math.log1p(-sides.infinite_mass)
    inside = np.log1p((1.0 - q) * y / (1.0 + q * y))
    outside = -np.log1p(q * y)
    log_q, log_away = np.log(q), np.log1p(-q)
    log_p, log_rest = log_q + inside + log_w, log_away + outside + log_w
    sign = np.where(sides.back, -1.0, 1.0)
    far, near = np.abs(inside) - log_w, -outside - log_w
    terms = [
        Term(np.where(sides.back, log_q, log_p), far - log_q, sign * (inside + log_w), far),
        Term(
            np.where(sides.back, log_away, log_rest),
            near - log_away,
            sign * (outside + log_w),
            near,
        ),
    ]
    left = log_moment_below(sides.c, terms)
    # The order infinity: the loss itself, rounded down.
    largest = np.where(sides.back, -outside, inside + 1.02 * log_w) * (1.0 - 32.0 * UNIT)
    largest = np.log(np.maximum(largest, 0.0))
    value = np.where(np.isposinf(sides.c), largest, left) - log_right_side(sides)
    return np.where(np.isnan(value), -np.inf, value)


class Term(NamedTuple):
    """One outcome.

    Attributes:
        weight: log of its probability.
        weight_size: what 24 units of which the weight may be off by.
        loss: its loss.
        loss_size: what 16 units of which the loss may be off by.
    """

    weight: Array
    weight_size: Array
    loss: Array
    loss_size: Array


def log_moment_below(c: Array, terms: list[Term]) -> Array:
    """Return a lower bound on the log of the sum of e^weight h(loss); no more at c = infinity.

    The logarithms of h are off by what `log_loss_excess` says, and by the slope of log h times the
    error of the loss. Of the sum of logarithms 4 units are lost, of logaddexp 16 and as many of 1.
    """
    finite = np.where(np.isfinite(c), c, 1.0)
    total: Array = np.asarray(-np.inf)
    for term in terms:
        value, error = log_loss_excess(finite, term.loss)
        error = error + excess_slope(finite, term.loss) * (16.0 * UNIT * term.loss_size)
        error = error + UNIT * (24.0 * term.weight_size + 4.0 * np.abs(value))
        part = term.weight + value - MARGIN * error
        total = np.logaddexp(total, np.where(np.isnan(part), -np.inf, part))
    result: Array = total - UNIT * (32.0 + 16.0 * np.abs(total))
    return result


def log_right_side(sides: Sides) -> Array:
    """Return an upper bound on log(e^K - 1 + (1 + c) m), or on the log of the largest loss.

    Of large K it is at most K + log(1 + (1 + c) m e^{-K}).
    """
    k, last = sides.k, np.isposinf(sides.c)
    extra = (1.0 + Enclosure(np.where(last, 0.0, sides.c))) * sides.infinite_mass
    moderate = log(maximum(expm1(np.minimum(k, 40.0)) + extra, 1e-300))
    value = where(k > 40.0, k + log1p(extra * exp(-k)), moderate)
    return where(last, log(np.maximum(k, 1e-300)), value).upper()


def crossing(proved: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Return about the least log y that is proved; infinity where none is."""
    spend((PER_TRIAL + 4.0 * low.size) * BISECTIONS)
    found = halved(lambda log_y: proved(log_y) >= 0.0, low, high, BISECTIONS)[1]
    return np.where(proved(found) >= 0.0, found, np.inf)


# The best order is searched for at so many type I errors at most; others use what was found there.
MOST_SEARCHED = 128
# How often the grid is made finer around the best orders of it, and around how many.
NARROWINGS, MOST_BEST = 6, 16


@np.errstate(all="ignore")
def allowed_powers(
    curve: RenyiCurve, reverse: RenyiCurve | None, q: Array, infinite_mass: float = 0.0
) -> Powers:
    """Bound the power of tests of the finite losses, at type I errors q in (0, 1), increasing.

    Args:
        curve: bounds D(P||Q).
        reverse: bounds D(Q||P); None where that is not known.
        q: type I errors.
        infinite_mass: upper bound on P(L = infinity), which the curve excludes. Where it is
            above 0, the reverse curve is not used.
    """
    curves = [curve] if reverse is None or infinite_mass > 0.0 else [curve, reverse]
    best = np.full(len(q), np.inf)
    for position, each in enumerate(curves):
        side = _Side(each, infinite_mass, back=position == 1)
        best = np.minimum(best, side.least(q))
    return powers(best, q, infinite_mass)


class _Side:
    """One direction: its curve, and the orders that are tried."""

    def __init__(self, curve: RenyiCurve, infinite_mass: float, *, back: bool) -> None:
        self._curve, self._back, self._mass = curve, back, infinite_mass

    def least(self, q: Array) -> Array:
        """Return the least log y that any order allows."""
        some = np.unique(np.linspace(0, len(q) - 1, MOST_SEARCHED).astype(int))
        c = np.append(self._best(q[some]), np.inf)
        least: Array = self._solved(c, q).min(axis=0)
        return least

    def _solved(self, c: Array, q: Array) -> Array:
        """Return log y for each order at each q."""
        finite = np.isfinite(c)
        k = np.where(finite, self._curve.upper(np.where(finite, c, 1.0)), self._curve.limit)
        column = c[:, None]
        sides = Sides(column, k[:, None], np.full(column.shape, self._back), self._mass)
        return largest_powers(sides, q)

    def _best(self, q: Array) -> Array:
        """Return the orders that are best for some q, of the grid and around them."""
        c = wide_grid(self._curve)
        values = self._solved(c, q)
        for narrowing in range(NARROWINGS + 1):
            if not left() > 0.0:
                break
            best = np.unique(np.argmin(values, axis=0))
            logs = np.log(c)
            inner = best[(best > 0) & (best < len(c) - 1)][:MOST_BEST]
            near = [0.5 * (logs[inner] + logs[inner + step]) for step in (-1, 1)]
            if narrowing == NARROWINGS:
                lowest = vertices(logs, values.T)
                near = [lowest[np.isfinite(lowest)]]
            new = np.setdiff1d(np.exp(np.concatenate(near)), c)
            position = np.argsort(np.append(c, new), kind="stable")
            values = np.concatenate([values, self._solved(new, q)])[position]
            c = np.append(c, new)[position]
        kept: Array = c[np.unique(np.argmin(values, axis=0))]
        return kept
