"""Plain powers on a line above the real one, where oscillation turns into decay.

    G(t) = int_{low}^{high} f(x) (1 + y)^{e + it} dx,    t in [t1, t2], t1 > 0,

f a density piece. (1 + y)^a is analytic for |Im x| < pi / 2 over the ratio's steepness
(`losses/sampled/lines.py`), so the path may go up at `low` to low + i th, along to high + i th and
down to `high`. Above the axis |(1 + y)^{it}| = e^{-t arg(1 + y)} decays: the number of nodes no
longer grows with t. The conjugate path gives the conjugate for -t.

Quadrature. On each panel the bound of `numerics/gauss_legendre.py` with the supremum on the
rectangle around a Bernstein ellipse, Re x in [x_l, x_h], Im x in [v_l, v_h], all |Im x| <= STRIP
over the steepness. There |f| <= f(Re x) e^{curvature v^2 / 2}; |1 + y| grows with x and falls with
|v|; arg(1 + y) has the sign of v, and its modulus grows with x and |v|. So the least argument lies
at (x_l, v_l) if v_l >= 0, and the sup of e^{-t arg} at t1; else at (x_h, v_l), and at t2.

Rounding. l = log(1 + y) is off by what its ratio says; a piece with ends is off by MOST_UNITS of
its places. The rest is charged as in `PowerPart`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.law import MOST_UNITS
from privcalc.losses.quadrature.panels import MAX_PANELS, STRIP, WIDEST_PANEL, refined
from privcalc.numerics.gauss_legendre import (
    LOG_FACTORS,
    POINTS,
    SEMI_AXES_IMAGINARY,
    SEMI_AXES_REAL,
    composite_rule,
)
from privcalc.numerics.phases import PER_PHASE, PER_PRODUCT, PHASE_ULPS
from privcalc.numerics.rounding import COMPLEX_TERM, MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.law import Piece
    from privcalc.losses.sampled.lines import Ratio
    from privcalc.numerics.arrays import Array, ComplexArray

HEIGHT = 0.75
# Work of a panel: its errors, several times, and its nodes.
PER_PANEL = 100.0


@record
class Path:
    """The integrand and the path.

    Attributes:
        piece: the density f.
        ratio: 1 + y.
        exponent: e.
        ends: low and high.
        times: t1 and t2.
    """

    piece: Piece
    ratio: Ratio
    exponent: float
    ends: tuple[float, float]
    times: tuple[float, float]

    @property
    def height(self) -> float:
        """Return th: no more than a deviation, as f grows by e^{th^2 / (2 s^2)}.

        For e < 0, |1 + y|^e grows as well: for small y, |e| cos th + t sin th is largest at t/|e|.
        """
        best = math.atan2(self.times[0], -self.exponent) if self.exponent < 0.0 else HEIGHT
        curvature, steepness = self.piece.curvature, self.ratio.steepness
        most = min(HEIGHT, best) / steepness
        return min(most, 1.0 / math.sqrt(curvature)) if curvature > 0.0 else most

    def panels(self, log_error: float) -> tuple[ComplexArray, ComplexArray, float]:
        """Split the path until the error is at most exp(log_error); the halves have directions."""
        low, high = self.ends
        th = self.height
        wide = (high - low) / min(WIDEST_PANEL, 2.0 * th)
        refusal = "the shifted line needs too many panels"
        if not wide <= MAX_PANELS:
            raise NotCertifiedError(refusal)
        count = max(1, math.ceil(wide))
        charge(PER_PANEL * count)
        half = (high - low) / (2 * count)
        along = low + half * (2.0 * np.arange(count) + 1.0)
        centres = np.concatenate([[low + 0.5j * th], along + 1j * th, [high + 0.5j * th]])
        halves = np.concatenate([[0.5j * th], np.full(count, half + 0j), [-0.5j * th]])
        return refined((centres, halves), self._log_errors, log_error, refusal)

    def _log_errors(self, centres: ComplexArray, halves: ComplexArray) -> Array:
        """Return, for each panel, the log of a bound on the quadrature error."""
        size = np.abs(halves)[:, None]
        upright = (halves.real == 0.0)[:, None]
        dx = size * np.where(upright, SEMI_AXES_IMAGINARY, SEMI_AXES_REAL)
        dv = size * np.where(upright, SEMI_AXES_REAL, SEMI_AXES_IMAGINARY)
        x, v = centres.real[:, None], centres.imag[:, None]
        usable = np.maximum(np.abs(v - dv), np.abs(v + dv)) <= STRIP / self.ratio.steepness
        dx, dv = np.where(usable, dx, 0.0), np.where(usable, dv, 0.0)
        bounds = LOG_FACTORS + self._log_supremum(x - dx, x + dx, v - dv, v + dv)
        result: Array = np.where(usable, bounds, np.inf).min(axis=1) + np.log(size[:, 0])
        return result

    def _log_supremum(self, x_low: Array, x_high: Array, v_low: Array, v_high: Array) -> Array:
        most = np.maximum(np.abs(v_low), np.abs(v_high))
        least = np.where(v_low * v_high < 0.0, 0.0, np.minimum(np.abs(v_low), np.abs(v_high)))
        log_f = self.piece.peak(x_low, x_high) + 0.5 * self.piece.curvature * most * most
        if self.exponent >= 0.0:
            log_power = self.exponent * self.ratio.polar(x_high, least)[0]
        else:
            log_power = self.exponent * self.ratio.polar(x_low, most)[0]
        above = self.times[0] * self.ratio.polar(x_low, v_low)[1]
        below = self.times[1] * self.ratio.polar(x_high, v_low)[1]
        result: Array = log_f + log_power - np.where(v_low >= 0.0, above, below)
        return result


class ShiftedPart:
    """G on an arithmetic progression of t inside [t1, t2]."""

    def __init__(self, path: Path, log_error: float) -> None:
        """Place the nodes, leave out what is negligible, and sum up what the errors depend on."""
        if not 0.0 < path.times[0] <= path.times[1]:
            raise NotCertifiedError("the shifted line is for positive times")
        centres, halves, error = path.panels(log_error)
        length = np.abs(halves)
        points, log_weights = composite_rule(np.zeros(len(length)), length)
        direction = np.repeat(halves / length, POINTS)
        z = np.repeat(centres, POINTS) + points * direction
        piece, e = path.piece, path.exponent
        loss, wrong, growth = path.ratio.on_line(z)
        log_f = piece.constant + (piece.slope - 0.5 * piece.curvature * z) * z
        weights = np.exp(log_weights + log_f + e * loss) * direction
        sizes = np.abs(weights) * np.exp(-path.times[0] * loss.imag)
        keep = ~(sizes < 0.1 * math.exp(log_error) / len(z))
        error += float(sizes[~keep].sum()) * MARGIN
        modulus, wrong = np.abs(z), wrong / UNIT
        terms = abs(piece.constant) + (abs(piece.slope) + piece.curvature * modulus) * modulus
        moved = (2.0 + (MOST_UNITS if piece.bounded else 0.0)) * np.repeat(
            np.abs(centres) + length, POINTS
        )
        steep = np.abs(piece.slope - piece.curvature * z) + 1.0 + abs(e) * growth
        units = 3.0 * (10.0 * (terms + np.abs(log_weights) + 1.0) + moved * steep)
        units = units + 32.0 + PHASE_ULPS + COMPLEX_TERM * float(keep.sum()) + abs(e) * wrong
        units = units + path.times[1] * (wrong + 3.0 * moved * growth)
        rounding = UNIT * float((sizes * units)[keep].sum())
        self._weights, self._loss = weights[keep], loss[keep]
        self.error = (error + 1.01 * rounding) * MARGIN
        if not math.isfinite(self.error):
            raise NotCertifiedError("the shifted line overflows")

    @property
    def size(self) -> int:
        """Return the number of nodes that every t costs."""
        return len(self._loss)

    def progression(self, step: float, first: int, count: int) -> ComplexArray:
        """Return G at t = k step, first <= k < first + count, each off by at most `error`."""
        block = 1 << math.ceil(math.log2(max(2.0, math.sqrt(count))))
        coarse = step * (first + block * np.arange(-(-count // block)))
        return self.blocks(coarse, step, block).ravel()[:count]

    def blocks(self, starts: Array, step: float, size: int) -> ComplexArray:
        """Return G at t = start + k step, k < size, a row for each start, alike."""
        nodes = len(self._loss)
        charge(PER_PHASE * nodes * (len(starts) + size))
        charge(PER_PRODUCT * nodes * len(starts) * size)
        rows = np.exp(1j * np.outer(starts, self._loss)) * self._weights
        columns = np.exp(1j * np.outer(self._loss, step * np.arange(size)))
        result: ComplexArray = rows @ columns
        return result
