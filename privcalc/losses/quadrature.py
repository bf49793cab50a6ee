"""Panels on which Gauss-Legendre quadrature of a sampled law is certified.

Every integral has the form  int f(x) g(x) dx  with a density piece f (log-quadratic) and
g(x) = (1 + y)^a, or the remainder g(x) = (1 + y)^a - 1 - a y, where y = q (e^x - 1) and
a = exponent + i t, |t| <= t_max. The bound of `numerics/gauss_legendre.py` needs the supremum of
|f g| on a Bernstein ellipse around each panel: real part of x in [x_lo, x_hi], |Im x| <= d < pi/2.
There, with q in [0, 1]:

* |f(x)| <= f(Re x) e^{curvature d^2 / 2}, and log f(Re x) is a concave quadratic.
* For s in [0, 1], |1 + s y| <= max(1, 1 - q + q e^{x_hi}), and |1 + s y| >= Re(1 + s y) >=
  min(1, 1 - q + q e^{x_lo} cos d) > 0. So no branch point is met, and |1 + s y|^b is bounded by
  one of the two to the power b.
* 0 <= arg(1 + s y) <= arg(1 - q + q e^{x_hi + i d}) for Im x in [0, d]: the argument of
  (1 - u) + u e^{z} grows with the ratio u e^{Re z} / (1 - u), and with Im z while the latter is
  below pi/2. So |(1 + s y)^{b + i t}| <= |1 + s y|^b e^{|t| arg}.
* (1 + y)^a - 1 - a y = a (a - 1) y^2 int_0^1 (1 - s) (1 + s y)^{a - 2} ds, hence the remainder is
  at most |a| |a - 1| |y|^2 / 2 times the supremum of |(1 + s y)^{a - 2}|; and
  |y| <= q min(e^{x_hi} + 1, |x| e^{max(x_hi, 0)}).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.gauss_legendre import (
    LOG_FACTORS,
    SEMI_AXES_IMAGINARY,
    SEMI_AXES_REAL,
)
from privcalc.numerics.rounding import MARGIN

if TYPE_CHECKING:
    from privcalc.losses.log_ratio import Piece
    from privcalc.numerics.arrays import Array

# Half-height of the strip: below pi/2, where the argument bound stops being monotone.
STRIP = 1.5
MAX_PANELS = 20_000
WIDEST_PANEL = 2.2


@dataclass(frozen=True, slots=True)
class Integrand:
    """f(x) g(x) on one density piece; `remainder` chooses which g (see the module)."""

    piece: Piece
    q: float
    exponent: float
    t_max: float
    remainder: bool

    def log_errors(self, centres: Array, halves: Array) -> Array:
        """Return, for each panel, the log of a bound on the quadrature error."""
        real = halves[:, None] * SEMI_AXES_REAL
        height = halves[:, None] * SEMI_AXES_IMAGINARY
        usable = height <= STRIP
        height = np.where(usable, height, 0.0)
        low, high = centres[:, None] - real, centres[:, None] + real
        bounds = LOG_FACTORS + self._log_supremum(low, high, height)
        best = np.where(usable, bounds, np.inf).min(axis=1)
        result: Array = best + np.log(halves)
        return result

    def _log_supremum(self, low: Array, high: Array, height: Array) -> Array:
        log_f = log_density_supremum(self.piece, low, high, height)
        log_largest, log_smallest, turn = mixture_range(self.q, low, high, height)
        power = self.exponent - 2.0 if self.remainder else self.exponent
        log_g = power * (log_largest if power >= 0.0 else log_smallest) + self.t_max * turn
        if self.remainder:
            modulus = math.hypot(self.exponent, self.t_max) * math.hypot(
                self.exponent - 1.0, self.t_max
            )
            radius = np.maximum(np.abs(low), np.abs(high)) + height
            positive = np.maximum(high, 0.0)
            log_y = math.log(self.q) + np.minimum(
                np.logaddexp(high, 0.0), np.log(radius) + positive
            )
            log_g = log_g + 2.0 * log_y + math.log(0.5 * modulus + 1e-300)
        result: Array = log_f + log_g
        return result


def first_panels(low: float, high: float, width: float) -> int:
    """Return how many panels of a width cover an interval.

    Raises:
        NotCertifiedError: too many, as where the noise is tiny and the loss huge.
    """
    count = (high - low) / width
    if not count < MAX_PANELS:
        raise NotCertifiedError(f"losses from {low:.3g} to {high:.3g} are too far apart for sums")
    return max(1, math.ceil(count))


def log_density_supremum(piece: Piece, low: Array, high: Array, height: Array) -> Array:
    """Return the log of a bound on |f| on rectangles."""
    vertex = np.clip(piece.slope / piece.curvature, low, high) if piece.curvature > 0 else high
    if piece.curvature == 0.0 and piece.slope < 0.0:
        vertex = low
    log_f = piece.constant + (piece.slope - 0.5 * piece.curvature * vertex) * vertex
    result: Array = log_f + 0.5 * piece.curvature * height * height
    return result


def mixture_range(q: float, low: Array, high: Array, height: Array) -> tuple[Array, Array, Array]:
    """Return bounds on log |1 + s y|, at least 0 and at most 0, and on its argument."""
    log_q = math.log(q)
    log_rest = math.log1p(-q) if q < 1.0 else -math.inf
    cosine = np.cos(height)
    log_largest = np.maximum(0.0, np.logaddexp(log_rest, log_q + high))
    log_smallest = np.minimum(0.0, np.logaddexp(log_rest, log_q + low + np.log(cosine)))
    # Divided by e^{x_hi}, which may overflow.
    rest = (1.0 - q) * np.exp(np.minimum(-high, 700.0))
    turn = np.arctan2(q * np.sin(height), rest + q * cosine)
    return log_largest, log_smallest, turn


def certified_panels(
    integrand: Integrand, low: float, high: float, log_error: float
) -> tuple[Array, Array, float]:
    """Split [low, high] until the proved error of the composite rule is at most exp(log_error).

    Returns centres and half-widths of the panels, and the bound on the total error.

    Raises:
        NotCertifiedError: too many panels would be needed.
    """
    width = WIDEST_PANEL
    if integrand.piece.curvature > 0.0:
        width = min(width, 2.2 / math.sqrt(integrand.piece.curvature))
    count = first_panels(low, high, width)
    halves = np.full(count, (high - low) / (2.0 * count))
    centres = low + halves * (2.0 * np.arange(count) + 1.0)
    while True:
        with np.errstate(over="ignore"):
            errors = np.exp(integrand.log_errors(centres, halves) - log_error)
        total = float(errors.sum())
        if total <= 1.0:
            return centres, halves, total * math.exp(log_error) * MARGIN
        if math.isnan(total) or len(centres) > MAX_PANELS:
            raise NotCertifiedError(
                f"the characteristic function oscillates too fast (|t| up to {integrand.t_max:.3g})"
                " for certified quadrature"
            )
        split = errors > 0.5 / len(errors)
        kept = ~split
        quarter = halves[split] / 2.0
        centres = np.concatenate(
            [centres[kept], centres[split] - quarter, centres[split] + quarter]
        )
        halves = np.concatenate([halves[kept], quarter, quarter])
