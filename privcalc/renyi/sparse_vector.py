"""Renyi divergences of the sparse vector technique with Laplace noise, of streams of any length.

Give the threshold's noise rho away: let Z be rho, and rho - D under the neighbour. The pair of Z
is that of Laplace noise moved by D. Given Z, query i is "above" if its noise exceeds a gap x,
or x + y under the neighbour, for some y in [0, 2 D] (`losses/thresholds/sparse_vector_bounds.py`);
gaps may depend on all that came before. In units of its scale let S be the chance that noise
exceeds a number, eta the largest y, p = S(x) and p' = S(x + y).

Let V be the largest moment E_P (P / Q)^{alpha - 1} of answers with at most c "above", and W that
with at most c - 1. One query multiplies: p^alpha p'^{1 - alpha} = A goes on with W, and
(1 - p)^alpha (1 - p')^{1 - alpha} = B with V. By induction over the queries that are left,

    V <= K W,    K = sup A / (1 - B),

as A W + B K W <= K W, and K >= 1 (Jensen: A + B >= 1). So D_alpha of all is at most that of Z and
c log K / (alpha - 1).

The worst gap. The logarithm of A / (1 - B) has the derivative (1 - alpha) / p' + (alpha - 1) B /
((1 - p') (1 - B)) in p', which is at most 0, as B <= 1 - p' for p' <= p: y = eta is worst. And
K - 1 = (A + B - 1) / (1 - B), where A + B - 1 = p' f(p / p') + (1 - p') f((1 - p) / (1 - p')) for
the convex f(r) = r^alpha - 1 - alpha (r - 1). Two ranges of x need not be searched:

* x >= 0: p' = e^-eta p. Both terms over p do not fall with p, since f(s) / (1 - s) falls for s < 1
  and s falls with p; and (1 - B) / p falls, since B is convex in p and 1 at 0. So x = 0 is worst.
* x <= -eta: 1 - p' = e^eta (1 - p). Both terms are convex in 1 - p, and 0 at 0, and B grows with
  it: x = -eta is worst.

In between, p falls with x, and by log-concavity p / p' and (1 - p) / (1 - p') grow: so every factor
has its largest value at an end of a cell. (For Gaussian noise K is infinite, as p -> 0.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.law import RenyiCurve
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.sums import log_loss_excess
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.laplace import LaplaceLaw
    from privcalc.numerics.rounding import Array

# Cells between -eta and 0; orders that are worked on at once.
CELLS, ROWS = 256, 64


@record
class LaplaceStreamCurve(RenyiCurve):
    """The curve of at most `cutoff` answers "above".

    Attributes:
        threshold: law of the threshold's noise, moved by D.
        eta: 2 D over the scale of a query's noise, rounded up.
        cutoff: c.
    """

    threshold: LaplaceLaw
    eta: float
    cutoff: int

    @property
    def limit(self) -> float:
        """Return D / a + 2 c D / b, the largest loss."""
        return (self.threshold.max_loss + self.cutoff * self.eta) * (1.0 + 8.0 * UNIT)

    def upper(self, c: Array) -> Array:
        """Return K of the threshold's noise and c log K, and no more than the largest loss has."""
        found = np.empty(c.shape)
        for i in range(0, len(c), ROWS):
            found[i : i + ROWS] = log_factor(c[i : i + ROWS], self.eta)
        total = self.threshold.renyi(c)[1] + self.cutoff * found
        least: Array = np.minimum(total * (1.0 + 8.0 * UNIT), c * self.limit * (1.0 + 4.0 * UNIT))
        return least


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def log_factor(c: Array, eta: float) -> Array:
    """Return upper bounds on log K of orders c + 1.

    Chances and the logarithms of their ratios are off by units of themselves, h_c by 2 + c times
    as much (`log_loss_excess`): 1e-9 (1 + c) is more, and cells overlap.
    """
    charge(4.0 * len(c) * CELLS)
    # Dense next to 0, where the worst gaps are.
    ends = -eta * np.square(np.linspace(1.0, 0.0, CELLS + 1))
    low, high, column = ends[:-1] - eta * 1e-14, ends[1:] + eta * 1e-14, c[:, None]
    up = _log_ratio(high, eta)
    down = -_log_ratio(-low - eta, eta)
    above, below = _chance(low), _chance(-high)
    # A + B - 1 = p h_c(log p / p') + (1 - p) h_c(log (1 - p) / (1 - p')).
    logs = np.logaddexp(
        np.log(above) + log_loss_excess(column, np.broadcast_to(up, (len(c), CELLS)))[0],
        np.log(below) + log_loss_excess(column, np.broadcast_to(down, (len(c), CELLS)))[0],
    )
    b = below * np.exp(column * -_log_ratio(-high - eta, eta))
    worst = (logs - np.log1p(-np.minimum(b * MARGIN, 1.0))).max(axis=1)
    found: Array = np.logaddexp(0.0, worst + 1e-9 * (1.0 + c)) * (1.0 + 16.0 * UNIT)
    return np.where(np.isnan(found), math.inf, found)


def _chance(x: Array) -> Array:
    """Return the chance that Laplace noise of scale 1 exceeds x."""
    half = 0.5 * np.exp(-np.abs(x))
    return np.where(x >= 0.0, half, 1.0 - half)


def _log_ratio(x: Array, eta: float) -> Array:
    """Return log S(x) / S(x + eta) for -eta <= x <= 0, and next to it, to some units.

    There S(x) = 1 - e^x / 2 and S(x + eta) = e^{-x - eta} / 2: the quotient is e^{x + eta}
    (2 - e^x), of two factors that are at least 1.
    """
    x = np.clip(x, -eta, 0.0)
    return (x + eta) + np.log1p(-np.expm1(x))
