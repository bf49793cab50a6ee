"""How fast |phi| of a mixture of normal laws falls on a vertical line.

phi(t) = M(c + it) / M(c) is the characteristic function of the tilted loss, h its density over l,
h dl of mass M = M(c). Of these bounds, which all fall with t, the least is taken:

* Layers. A part nu <= h dl whose density falls is a mixture of uniform laws on intervals that begin
  where it does. One of length W and mass m has m - |.| >= m (1 - 2 / (t W))_+, as |sin(u)/u| <=
  1/|u|. Parts that have no cell in common add up: 1 - |phi| is at least the sum of nu(1) - |nu^|
  over them, divided by M. Here they fall on either side of where h is largest.
* Variation. |phi| <= V / (t M), V the total variation of h, both edges included (by parts, once).
* Shifted line. (1 + y)^a is analytic for 0 <= Im x < pi, as 1 - q + q e^x = 0 only at Im x = pi.
  The path low -> low + i th -> top + i th -> top, 0 < th < pi / 2, gives
    |A| <= int |f(x + i th)| |1 + y|^e e^{-t arg(1 + y)} dx + (a vertical at each end),
  |f(x + iv)| = f(x) e^{v^2 / (2 s^2)}. On a vertical |1 + y| falls with v, and arg(1 + y) is
  concave in v for rho = q e^x / (1 - q) <= 1 and convex above: its derivative is (rho^2 + rho
  cos v) / (1 + 2 rho cos v + rho^2), whose derivative by cos v has the sign of rho (1 - rho^2). So
  it is at least v m, m = min(rho / (1 + rho), arg(th) / th), and the vertical is at most
    f e^{th^2 / (2 s^2)} max |1 + y|^e min(th, 1 / (t m)).
  On the line arg and |1 + y| increase with x. All of it falls with t. For -t the path is mirrored.

Cells. In the coordinate x of a part, log h has a slope that is a sum of monotone terms: on a cell
each is bounded by its values at both ends. Where the sign of the sum is certain h lies between its
values at the ends of the cell; elsewhere log h differs from these by at most the width times the
largest modulus of the slope. The line's integrand is bounded alike. SLACK covers the errors of the
cells' lengths and places, and rounding of log h.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.sampled.parts import SampledPart
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.quadrature import DensityPart
    from privcalc.numerics.rounding import Array, Mask

# Sum of the orders of roundings below.
SLACK = 1e-6
# Heights of the shifted line.
HEIGHTS = (0.2, 0.5, 1.0, 1.4)
LEAST_LOG = -700.0
CELLS = 400
# Cells shorter than this part of their losses do not count; densities beyond e^LARGEST_LOG neither.
RESOLVED, LARGEST_LOG = 1e-7, 700.0


@record
class VariationCells:
    """log g on equal cells of x, where it is certainly monotone, and how far it may swing.

    Attributes:
        x: the ends of the cells.
        log_g: there.
        certain: whether g is certainly monotone on a cell.
        swing: bound on how much log g differs from its value at either end of a cell.
    """

    x: Array
    log_g: Array
    certain: Mask
    swing: Array

    @classmethod
    def of(cls, part: DensityPart, exponent: float) -> VariationCells:
        """Divide a part into CELLS cells."""
        x = part.low + (part.high - part.low) * np.linspace(0.0, 1.0, CELLS + 1)
        log_g, terms = part.tilted(x, exponent)
        ends = [(term[..., :-1], term[..., 1:]) for term in terms]
        smallest = sum(np.minimum(left, right) for left, right in ends)
        largest = sum(np.maximum(left, right) for left, right in ends)
        steepest = np.maximum(np.abs(smallest), np.abs(largest))
        # Rounding may hide the sign of a sum of terms that nearly cancel.
        slack = 1e-12 * (1.0 + sum(np.abs(left) + np.abs(right) for left, right in ends))
        certain: Mask = np.logical_or(smallest >= slack, largest <= -slack)
        return cls(x, log_g, certain, (part.high - part.low) / CELLS * steepest)

    def variation(self) -> Array:
        """Bound the variation of g over the whole line, jumps at the ends included."""
        with np.errstate(over="ignore", invalid="ignore"):
            g = np.exp(self.log_g)
            rise = np.abs(np.diff(g))
            wild = self.swing * np.exp(self.log_g[..., :-1] + self.swing)
        total = np.where(self.certain, rise, wild).sum(axis=-1) + g[..., 0] + g[..., -1]
        # 1e-9 covers the rounding of log g, whose terms stay below 1e5.
        found: Array = total * MARGIN * (1.0 + 1e-9)
        return found

    def heights(self, losses: Array, wrong: Array) -> Array:
        """Return, for each cell, what the density of the loss is at least, 0 where not resolved.

        It is bounded by its ends where it is monotone, and by the most that it can swing where not.
        Only cells count that are longer than RESOLVED of their losses, and 1e7 times the error of
        these: their lengths, and their places in units of these, are then right to 1e-7.

        Args:
            losses: at the ends of the cells, increasing.
            wrong: their absolute errors.
        """
        left, right = (slice(None, -1), slice(1, None))
        log_g, size = self.log_g, np.abs(losses)
        least = np.minimum(log_g[..., right], log_g[..., left])
        least = np.where(self.certain, least, least - self.swing)
        width = np.diff(losses)
        long = width > RESOLVED * np.maximum(size[..., right], size[..., left])
        long &= width > 1e7 * np.maximum(wrong[..., right], wrong[..., left])
        with np.errstate(over="ignore", under="ignore"):
            exponent = np.minimum(least, LARGEST_LOG)
            found: Array = np.where(long & (least < LARGEST_LOG), np.exp(exponent), 0.0)
        return found


def log_suprema(part: DensityPart, exponent: float, mass: tuple[float, float], ts: Array) -> Array:
    """Return upper bounds on log sup_{t >= ts_k} |phi(t)|.

    Args:
        part: the outcomes.
        exponent: a.
        mass: bounds on A(a) > 0.
        ts: the times.
    """
    cells = VariationCells.of(part, exponent)
    _, losses, wrong = part.losses(cells.x)
    gain = layers(cells.heights(losses, wrong)[None], losses[None], ts)[:, 0] / mass[1]
    with np.errstate(divide="ignore"):
        bound = np.log1p(-np.minimum(gain * (1.0 - SLACK), 1.0 - UNIT))
        bound = np.minimum(bound, np.log(cells.variation() / (mass[0] * ts)) + SLACK)
        if isinstance(part, SampledPart):
            line = _shifted(part, exponent, ts)
            bound = np.minimum(bound, line - math.log(mass[0]) + SLACK)
    result: Array = np.clip(bound, LEAST_LOG, 0.0)
    return result


def layers(heights: Array, losses: Array, ts: Array) -> Array:
    """Return nu(1) - |nu^| at least at each time, a column for each row of cells.

    Densities, at least `heights` on the cells between `losses`, fall on either side of where that
    of the middle row is largest.
    """
    peak = int(heights[len(heights) // 2].argmax())
    right = heights[:, peak:], losses[:, peak:]
    left = heights[:, :peak][:, ::-1], -losses[:, : peak + 1][:, ::-1]
    found = np.zeros((len(ts), len(heights)))
    for each, ends in (right, left):
        below = np.minimum.accumulate(each, axis=1)
        drop = -np.diff(below, axis=1, append=0.0)
        widths = (ends[:, 1:] - ends[:, :1]) * (1.0 - SLACK)
        found += [(drop * np.maximum(widths - 2.0 / t, 0.0)).sum(axis=1) for t in ts.tolist()]
    return found


def _shifted(part: SampledPart, exponent: float, ts: Array) -> Array:
    """Return the log of the least bound by lines at Im x = HEIGHTS, or 2 s where that is less."""
    density, q = part.density, part.q
    x = np.linspace(part.low, part.high, 2 * CELLS + 1)
    widths = np.diff(x)
    log_f, linear = density.log_density(x), density.log_slope(x)
    stills = part.losses(x[[0, -1]])[1]
    # P-shares of the record at the ends.
    shares = np.exp(-np.logaddexp(0.0, math.log1p(-q) - math.log(q) - x[[0, -1]]))
    found = np.full(ts.shape, np.inf)
    for height in sorted({min(each, 2.0 * density.deviation) for each in HEIGHTS}):
        lift = 0.5 * density.curvature * height * height
        # Both increase with x; the first is off by units of 1 and of itself.
        log_size, turn = part.polar(x, np.full(x.shape, height))
        wrong = 16.0 * UNIT * (1.0 + np.abs(log_size))
        value = log_f + exponent * log_size + abs(exponent) * wrong
        # d log |1 + y| / dx lies between its values at the ends, being increasing in x.
        growth = exponent * _growth(q, x, height)
        small = linear[1:] + np.minimum(growth[1:], growth[:-1])
        large = linear[:-1] + np.maximum(growth[1:], growth[:-1])
        ends = np.maximum(value[1:], value[:-1])
        swing = widths * np.minimum(np.abs(small), np.abs(large))
        top = np.where((small >= 0.0) | (large <= 0.0), ends, ends + swing)
        top = top + np.log(widths) + lift
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            line = np.exp(np.minimum(top - turn[:-1] * ts[:, None], 700.0)).sum(axis=1)
            for end, still, share in ((0, stills[0], shares[0]), (-1, stills[1], shares[1])):
                peak = exponent * (still if exponent >= 0.0 else log_size[end])
                peak += abs(exponent) * wrong[end] + log_f[end] + lift
                line += _vertical(peak, height, min(share, turn[end] / height), ts)
        found = np.minimum(found, np.log(line))
    return found


def _vertical(log_peak: float, height: float, slope: float, ts: Array) -> Array:
    """Bound what the path's end at low, or at top, adds: peak times min(th, 1 / (t m))."""
    with np.errstate(divide="ignore"):
        result: Array = math.exp(min(log_peak, 700.0)) * np.minimum(height, 1.0 / (ts * slope))
    return result


def _growth(q: float, x: Array, height: float) -> Array:
    """Return d log |1 + y| / dx = Re(q e^z / (1 + y)) at z = x + i height."""
    rho = np.exp(np.minimum(math.log(q) - math.log1p(-q) + x, 300.0))
    cosine = math.cos(height)
    result: Array = rho * (rho + cosine) / (1.0 + 2.0 * rho * cosine + rho * rho)
    return result
