"""Several uses of a mechanism of bounded range together: the best offsets, chosen as they go.

The t of a use may depend on what came out before (`mechanisms/exponential.py`), so that the largest
profile V_k(a) of k uses, a = e^epsilon, is

    V_k(a) = max over 0 <= t <= eta of p_t V_{k-1}(a e^-t) + (1 - p_t) V_{k-1}(a e^{eta - t}),

V_0(a) = (1 - a)_+: whatever the first outcome, of loss l, the rest costs at most V_{k-1}(a e^-l),
which is convex in e^-l, and the pair of losses t and t - eta is the worst (Dong, Durfee, Rogers
2020, on the adaptive case). V_k is a supremum of profiles, hence the profile of a pair.

That pair also stands for the k uses where others come in between. Let W(a) be the mean of V_k
(a e^-l) over the losses l of the pairs that dominate all others. The next of them, whatever it is,
leaves at most W, as V_k is convex; the next of the k leaves at most the maximum over t of a mean of
V_{k-1} over l and t, and so at most the mean over l of the maximum, which is W. By induction the
product of the pairs dominates, in any order of the uses.

Here V_k is bounded from above on a lattice of step h = eta / m, by chords between its points: a
chord is above a convex function. On a cell j h <= t <= (j + 1) h the mean of two chords is
const - u e^t - v e^-t with u, v >= 0, a concave function of t: at any t0 it is at most its value
there and what its slope there gains up to the ends of the cell. V(1/a) = 1 - 1/a + V(a)/a, as
reversed pairs have the range, too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Not to be called 0 where it may be rounded to it.
LEAST = 1e-290
# Relative rounding of one step, in units.
STEP_UNITS = 160.0
# And of a slope, relative to the terms that it is a difference of.
SLOPE_UNITS = 32.0


def adaptive_profiles(step: float, parts: int, uses: int) -> tuple[Array, Array]:
    """Return upper bounds on V_{k-1} and V_k at epsilon = 0, h, ..., k m h.

    Args:
        step: h, of few bits, so that multiples of it are exact.
        parts: m; the range is m h.
        uses: k >= 1.
    """
    cells = _Cells(step, parts)
    value = before = np.zeros(uses * parts + 1)
    for used in range(1, uses + 1):
        reach = used * parts
        before, value = value, np.zeros(uses * parts + 1)
        value[:reach] = np.maximum(cells.maximum(before, reach), LEAST)
    return before, value


class _Cells:
    """The cells of t, one in a row; and the points of the lattice of epsilon, one in a column."""

    def __init__(self, step: float, parts: int) -> None:
        """Take h and m."""
        self.step, self.parts = step, parts
        self.grow = math.expm1(step)
        self.ratio, self.gap = math.exp(-parts * step), -math.expm1(-parts * step)
        self.start = np.arange(parts)[:, None] * step
        self.left = np.arange(parts, 0, -1) * step

    def maximum(self, value: Array, count: int) -> Array:
        """Return the maximum over t of the means of chords at the first points, rounded up.

        With D = (V(lo) - V(hi)) / (e^h - 1) for each cell of the lattice, the chord is
        V(lo) + D - D a / a_lo, so that u = r (A1 - A2) / (1 - r) and v = (B1 - B2) / (1 - r) with
        A = V(lo) + D, B = D a / a_lo, in the cells of a e^-t and of a e^{eta - t}. Their errors,
        few units of A and B, count by the width of the cell; so does the slope at the t that was
        found. Where rounding makes u or v negative, that part is not concave, and is charged. The
        value itself is a sum of positive terms: t counts from the start of its cell, so that
        p, 1 - p and the shares of both ends are accurate relatively.
        """
        h, m, r, gap = self.step, self.parts, self.ratio, self.gap
        here = np.concatenate([value, np.zeros(m)])[: count + m + 1]
        mirrored = -np.expm1(-self.left) + np.exp(-self.left) * here[m:0:-1]
        known = np.concatenate([mirrored, here])
        fall = (known[:-1] - known[1:]) / self.grow
        low1, low2 = _shifted(known[:-1], count, m)
        high1, high2 = _shifted(known[1:], count, m)
        fall1, fall2 = _shifted(fall, count, m)
        last = np.exp(self.start + h)
        top1, top2 = low1 + fall1, low2 + fall2
        down1, down2 = fall1 * last, fall2 * last * r
        u, v = (top1 - top2) * (r / gap), (down1 - down2) / gap
        with np.errstate(divide="ignore", invalid="ignore"):
            best = 0.5 * np.log(np.maximum(v, 0.0) / np.maximum(u, 0.0)) - self.start
        inside = np.clip(np.where(np.isnan(best), 0.5 * h, best), 0.0, h)
        t = self.start + inside
        rest = (m * h - self.start - h) + (h - inside)
        p, other = -np.expm1(-rest) / gap, np.exp(-rest) * -np.expm1(-t) / gap
        upper = np.expm1(h - inside) / self.grow
        lower = -np.expm1(-inside) * (math.exp(h) / self.grow)
        mean = p * (low1 * lower + high1 * upper) + other * (low2 * lower + high2 * upper)
        growth = np.exp(t)
        slope = np.maximum(v, 0.0) / growth - np.maximum(u, 0.0) * growth
        gain = np.maximum(np.maximum(slope * (h - inside), -slope * inside), 0.0)
        sizes = (top1 + top2) * (r / gap) * growth + (down1 + down2) / gap / growth
        bent = np.maximum(-u, 0.0) * last + np.maximum(-v, 0.0) * np.exp(-self.start)
        found: Array = (mean + gain + bent + SLOPE_UNITS * UNIT * h * sizes).max(axis=0)
        return found * (1.0 + STEP_UNITS * UNIT)


def _shifted(values: Array, count: int, m: int) -> tuple[Array, Array]:
    """Return the values in the cells of a e^-t, and of a e^{eta - t}, for each cell of t."""
    windows = np.lib.stride_tricks.sliding_window_view(values, count)
    return windows[:m][::-1], windows[m : 2 * m][::-1]
