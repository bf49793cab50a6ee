"""The power of tests that Renyi divergences allow, in both directions: P(A) at a given Q(A).

Each order of a curve of (P, Q) bounds p - a q at every a > 0, p = P(A) and q = Q(A): by H_a, the
largest value over the pairs (p, q) that the order allows (`one_order.py`). These form a convex set,
so that the least of H_a + a q over all a is the largest power at q. A curve of (Q, P) says the same
of complements, (1 - q) - b (1 - p) <= H_b at every b > 0, so that

    p <= H_a(P || Q) + a q,        1 - p >= ((1 - q) - H_b(Q || P)) / b.

Every order and every a or b proves a bound, so that the search for the best needs no certificate:
a grid, then the neighbourhood of the best of it for each q. Pairs (p, q) that all orders of both
curves allow are those of a mechanism of two outcomes: nothing better follows (Asoodeh et al. 2021).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import left
from privcalc.record import record
from privcalc.renyi.best_order import ManyEpsilons, vertices
from privcalc.renyi.one_order import joint_log_delta

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array

    # Maps logs of a and the H_a there to what is to be least, for each q in a row of its own.
    Form = Callable[[Array, Array], Array]

# Where a search begins: logs of a, on either side of 0. What is least over orders is not convex: of
# 360 random curves of few points one had 60 % more power from 128 steps than from 256.
_STEPS: Array = np.geomspace(1e-9, 690.0, 256)
GRID: Array = np.concatenate([-_STEPS[::-1], [0.0], _STEPS])
# How often the neighbourhood of the best is halved at most, and at least, that of how many, and the
# relative gain for which it goes on.
NARROWINGS, FEWEST, MOST_BEST, GAIN = 18, 9, 64, 1e-8


@record
class Powers:
    """Bounds on the power of tests.

    Attributes:
        power: upper bounds on p.
        rest: lower bounds on w - p, w the mass of finite losses under P.
    """

    power: Array
    rest: Array


@np.errstate(all="ignore")
def allowed_powers(
    curve: RenyiCurve, reverse: RenyiCurve | None, q: Array, infinite_mass: float = 0.0
) -> Powers:
    """Bound the power of tests of the finite losses, at type I errors q in (0, 1), increasing.

    An exponential is off by 8 units, 1 - q and w by one, products, quotients and sums by one each.
    w is below 1, and so off by no more than UNIT.

    Args:
        curve: bounds D(P||Q).
        reverse: bounds D(Q||P); None where that is not known.
        q: type I errors.
        infinite_mass: upper bound on P(L = infinity), which the curve excludes. Where it is
            above 0, the reverse curve is not used.
    """
    column, room, w = q[:, None], 32.0 * UNIT, 1.0 - infinite_mass
    convert = partial(joint_log_delta, infinite_mass=infinite_mass)
    power = _least(ManyEpsilons(curve, convert), curve.limit, lambda x, h: h + np.exp(x) * column)
    power = np.minimum(power * (1.0 + room), w + UNIT)
    rest = np.maximum(w - power - room, 0.0)
    if reverse is not None and infinite_mass == 0.0:
        back = ManyEpsilons(reverse, joint_log_delta)
        # The difference is off by as many units of both of its terms.
        found = -_least(
            back,
            reverse.limit,
            lambda x, h: (h * (1.0 + room) - (1.0 - column) * (1.0 - room)) * np.exp(-x),
        )
        rest = np.maximum(rest, found * (1.0 - room))
        power = np.minimum(power, 1.0 - rest + UNIT)
    return Powers(power, rest)


def _least(profile: ManyEpsilons, largest: float, form: Form) -> Array:
    """Return the least that any a proves, of those tried, for each q."""
    # The largest loss is a corner.
    x = np.union1d(GRID, [largest, -largest]) if largest < GRID[-1] else GRID
    h = profile.deltas(x)
    values = form(x, h)
    for narrowing in range(NARROWINGS if left() > 0.0 else 0):
        best = values.argmin(axis=1)
        inner = np.unique(best[(best > 0) & (best < len(x) - 1)])[:MOST_BEST]
        middles = [0.5 * (x[inner] + x[inner + step]) for step in (-1, 1)]
        new = np.concatenate([*middles, vertices(x, values)])
        new = np.setdiff1d(new[np.isfinite(new)], x)
        order = np.argsort(np.append(x, new), kind="stable")
        x, h = np.append(x, new)[order], np.append(h, profile.deltas(new))[order]
        before, values = values.min(axis=1), form(x, h)
        gains = values.min(axis=1) < before - GAIN * np.abs(before)
        if narrowing >= FEWEST and not gains.any():
            break
    least: Array = values.min(axis=1)
    return least
