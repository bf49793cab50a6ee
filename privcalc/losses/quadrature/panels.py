"""Panels on which Gauss-Legendre quadrature of a mixture is certified.

Every integral has the form  int f(x) g(x) dx  with the density f of a part (log-quadratic) and a
product g of powers of mixtures, exponents being a = exponent + i t, |t| <= t_max. With one mixture
1 + y = 1 - q + q e^x it is g(x) = (1 + y)^a, or the remainder g(x) = (1 + y)^a - 1 - a y; with two
g(x) = (1 + y)^a (1 + y')^{1 - a}, or its remainder (`losses/sampled/opposite.py`). The bound of
`numerics/gauss_legendre.py` needs the supremum of |f g| on a Bernstein ellipse around each panel:
real part of x in [x_lo, x_hi], |Im x| <= d < pi/2. There

* |f(x)| <= f(Re x) e^{curvature d^2 / 2}, and log f(Re x) is a concave quadratic.
* |1 + s y|, s in [0, 1], is bounded from above and away from 0, and so is its argument
  (`mixture_range`): no branch point is met, and |(1 + s y)^{b + i t}| <= |1 + s y|^b e^{|t| arg}.
* (1 + y)^a - 1 - a y = a (a - 1) y^2 int_0^1 (1 - s) (1 + s y)^{a - 2} ds, hence the remainder is
  at most |a| |a - 1| |y|^2 / 2 times the supremum of |(1 + s y)^{a - 2}|; with two mixtures y - y'
  takes the place of y, and both powers are less by 2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.gauss_legendre import (
    LOG_FACTORS,
    SEMI_AXES_IMAGINARY,
    SEMI_AXES_REAL,
)
from privcalc.numerics.rounding import MARGIN
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.quadrature.part import Part
    from privcalc.numerics.arrays import Array, ComplexArray

Points = TypeVar("Points", "Array", "ComplexArray")
# Half-height of the strip: below pi/2, where the argument bound stops being monotone.
STRIP = 1.5
# Sums of more nodes than these panels have take seconds for each t.
MAX_PANELS = 20_000
# On wider panels no ellipse stays inside the strip and gains digits.
WIDEST_PANEL = 2.2


@record
class Integrand:
    """f(x) g(x) on one part; `remainder` chooses which g (see the module)."""

    part: Part
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
        bounds = LOG_FACTORS + self.log_supremum(low, high, height)
        best = np.where(usable, bounds, np.inf).min(axis=1)
        result: Array = best + np.log(halves)
        return result

    def log_supremum(self, low: Array, high: Array, height: Array) -> Array:
        """Return the log of a bound on |f g| on rectangles."""
        density = self.part.density
        log_f = density.peak(low, high) + 0.5 * density.curvature * height * height
        lost = 2.0 if self.remainder else 0.0
        log_g = np.zeros(1)
        factors = self.part.factors(low, high, height, self.exponent, path=self.remainder)
        for power, mixture in factors:
            used = power - lost
            size = mixture.log_largest if used >= 0.0 else mixture.log_smallest
            log_g = log_g + used * size + self.t_max * mixture.turn
        if self.remainder:
            modulus = math.hypot(self.exponent, self.t_max) * math.hypot(
                self.exponent - 1.0, self.t_max
            )
            log_y = self.part.log_distance(low, high, height)
            log_g = log_g + 2.0 * log_y + math.log(0.5 * modulus + 1e-300)
        return log_f + log_g


def equal_panels(part: Part, width: float) -> tuple[Array, Array]:
    """Return centres and half-widths of panels of at most a width, in deviations if f is narrow.

    Raises:
        NotCertifiedError: too many, as where the noise is tiny and the loss huge.
    """
    low, high = part.low, part.high
    if part.density.curvature > 0.0:
        width = min(width, width / math.sqrt(part.density.curvature))
    if not (high - low) / width < MAX_PANELS:
        raise NotCertifiedError(f"losses from {low:.3g} to {high:.3g} are too far apart for sums")
    count = max(1, math.ceil((high - low) / width))
    halves = np.full(count, (high - low) / (2.0 * count))
    return low + halves * (2.0 * np.arange(count) + 1.0), halves


def certified_panels(integrand: Integrand, log_error: float) -> tuple[Array, Array, float]:
    """Split the part until the proved error of the composite rule is at most exp(log_error).

    Returns centres and half-widths of the panels, and the bound on the total error.

    Raises:
        NotCertifiedError: too many panels would be needed.
    """
    refusal = (
        f"the characteristic function oscillates too fast (|t| up to {integrand.t_max:.3g})"
        " for certified quadrature"
    )
    panels = equal_panels(integrand.part, WIDEST_PANEL)
    return refined(panels, integrand.log_errors, log_error, refusal)


def refined(
    panels: tuple[Points, Points],
    log_errors: Callable[[Points, Points], Array],
    log_error: float,
    refusal: str,
) -> tuple[Points, Points, float]:
    """Halve panels until their errors add up to at most exp(log_error).

    Args:
        panels: centres and half-widths to begin with, which may have directions.
        log_errors: for each panel, the log of a bound on its error.
        log_error: see above.
        refusal: what to say where too many panels would be needed.

    Raises:
        NotCertifiedError: the refusal.
    """
    centres, halves = panels
    while True:
        with np.errstate(over="ignore"):
            errors = np.exp(log_errors(centres, halves) - log_error)
        total = float(errors.sum())
        if total <= 1.0:
            return centres, halves, total * math.exp(log_error) * MARGIN
        if math.isnan(total) or len(centres) > MAX_PANELS:
            raise NotCertifiedError(refusal)
        split = errors > 0.5 / len(errors)
        quarter = halves[split] / 2.0
        centres = np.concatenate(
            [centres[~split], centres[split] - quarter, centres[split] + quarter]
        )
        halves = np.concatenate([halves[~split], quarter, quarter])
