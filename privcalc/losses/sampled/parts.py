"""Outcomes of sampled Gaussians, and of mixtures: on the real line, and on lines above it.

A sampled Gaussian in x = log dW/dR, N(-mu^2 / 2, mu^2) under R: 1 + y = 1 - q + q e^x. On a
rectangle around [x_lo, x_hi] with |Im x| <= d < pi/2:

* |1 + s y| <= max(1, 1 - q + q e^{x_hi}), and |1 + s y| >= Re(1 + s y) >= min(1, 1 - q + q e^{x_lo}
  cos d) > 0 for s in [0, 1]. At s = 1, all that plain powers need, both do without 1.
* 0 <= arg(1 + s y) <= arg(1 - q + q e^{x_hi + i d}) for Im x in [0, d]: the argument of (1 - u) +
  u e^z grows with the ratio u e^{Re z} / (1 - u), and with Im z while the latter is below pi/2.

A mixture of normal laws in the output z, N(0, 1) under R: 1 + y = r = sum_j b_j e^{t_j}, t_j = c_j
z - c_j^2 / 2. On |Im z| <= d, Re z in [low, high]: |r| <= r(high); Re e^{t_j}
is at least e^{t_j(Re z)} cos(c_j d), so that Re r >= p(low) - n(high), p the terms with a positive
cosine and n the others by their moduli. Im r <= sum b_j e^{t_j(high)} sin(min(c_j d, pi / 2)).
Where all cosines are positive, the quotient of the sums with sines and cosines is a mean of tan(c_j
d), whose weights move to larger j as z grows: so tan |arg r| is at most that quotient at `high`.

Plain powers on a line above the real one, where oscillation turns into decay.

    G(t) = int_{low}^{high} f(x) (1 + y)^{e + it} dx,    t in [t1, t2], t1 > 0,

f a normal density. (1 + y)^a of a sampled Gaussian is analytic for |Im x| < pi / 2, so the path may
go up at `low` to low + i th, along to high + i th and down to `high`. Above the axis
|(1 + y)^{it}| = e^{-t arg(1 + y)} decays: the number of nodes no longer grows with t. The conjugate
path gives the conjugate for -t.

Quadrature. On each panel the bound of `numerics/sums.py` with the supremum on the
rectangle around a Bernstein ellipse, Re x in [x_l, x_h], Im x in [v_l, v_h], all |Im x| <= STRIP.
There |f| <= f(Re x) e^{curvature v^2 / 2}; |1 + y| grows with x and falls with
|v|; arg(1 + y) has the sign of v, and its modulus grows with x and |v|. So the least argument lies
at (x_l, v_l) if v_l >= 0, and the sup of e^{-t arg} at t1; else at (x_h, v_l), and at t2.

Rounding. l = log(1 + y) is off by what its ratio says; the rest is charged as in `PowerPart`.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.law import MOST_UNITS
from privcalc.losses.quadrature import (
    MAX_PANELS,
    STRIP,
    WIDEST_PANEL,
    MixtureRange,
    WeightedLosses,
    refined,
)
from privcalc.numerics.fourier import PER_PHASE, PER_PRODUCT, PHASE_ULPS
from privcalc.numerics.normal import short_intervals
from privcalc.numerics.rounding import (
    COMPLEX_TERM,
    MARGIN,
    UNIT,
    expm1_with_error,
    log1p_with_error,
)
from privcalc.numerics.sums import (
    LOG_FACTORS,
    POINTS,
    SEMI_AXES_IMAGINARY,
    SEMI_AXES_REAL,
    composite_rule,
)
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.quadrature import Normal
    from privcalc.numerics.rounding import Array, ComplexArray

# Terms of sums at points that are held at once.
HELD = 1_000_000
# Beyond this an exponential is not formed.
LARGE = FAR = 300.0
NEWTON_STEPS = 60
# Units of work for a term of a mass at a point, and for one of a step of Newton's method.
PER_MASS, PER_STEP = 0.2, 0.06


@record
class Masses:
    """Masses right and left of points, and between neighbours, there of N(0, 1) as well."""

    right: Array
    left: Array
    between: Array
    plain_between: Array
    error: Array
    between_error: Array


@record
class ExponentialSum:
    """r = sum_j b_j e^{t_j}, t_j = c_j x - c_j^2 / 2, 0 = c_0 < c_1 < ..., weights that sum to 1.

    The term j = 0, whose weight may be 0, is always kept.

    Attributes:
        centres: c_j, each off by MOST_UNITS units.
        log_weights: log b_j.
        weight_errors: absolute error of each.
    """

    centres: Array
    log_weights: Array
    weight_errors: Array

    @property
    def log_floor(self) -> float:
        """Return log b_0."""
        return float(self.log_weights[0])

    @cached_property
    def weights(self) -> Array:
        """Return b_0, b_1, ...; 0 where too small."""
        weights: Array = np.exp(self.log_weights)
        return weights

    @cached_property
    def weight_error(self) -> float:
        """Return the largest relative error of a weight."""
        return float(self.weight_errors.max()) * 1.001 + 8.0 * UNIT

    @cached_property
    def _levels(self) -> Array:
        """Return log b_j - c_j^2 / 2."""
        levels: Array = self.log_weights - 0.5 * self.centres * self.centres
        return levels

    def _parts(self, count: int) -> list[slice]:
        """Divide so many points, lest all terms at them are too many at a time."""
        size = max(1, HELD // len(self.centres))
        return [slice(i, i + size) for i in range(0, max(count, 1), size)]

    def losses(self, x: Array, moved: Array) -> tuple[Array, Array]:
        """Return log r with its error, where x is off by `moved`."""
        found = [self._losses(x[part], moved[part]) for part in self._parts(len(x))]
        return np.concatenate([each[0] for each in found]), np.concatenate(
            [each[1] for each in found]
        )

    def _losses(self, x: Array, moved: Array) -> tuple[Array, Array]:
        """Return the same.

        y = sum_{j >= 1} b_j (e^{t_j} - 1), as the weights sum to 1. t_j is off by 16 units of its
        terms and c_j moved, each difference by 10 units and that of b_j. An error d of y is one of
        d / r of log r, by which for y > -1/2 log1p is charged 16 units more. Elsewhere, and where
        e^{t_j} is large, log r is that of a sum of positive terms.
        """
        c, logs, wrong_weights = self.centres[1:], self.log_weights[1:], self.weight_errors[1:]
        t, count = x[:, None] * c - 0.5 * c * c, len(c) + 2.0
        off = 16.0 * UNIT * (np.abs(x)[:, None] * c + 0.5 * c * c) + moved[:, None] * c
        off = np.expm1(np.minimum(off, LARGE))
        top = np.maximum((logs + t).max(axis=1), self.log_floor)
        powers = np.exp(logs + t - top[:, None])
        zero = np.exp(self.log_floor - top)
        total = powers.sum(axis=1) + zero
        plain = top + np.log(total)
        carried = (powers * off).sum(axis=1) / total
        weights = ((powers * wrong_weights).sum(axis=1) + zero * self.weight_errors[0]) / total
        whole = carried + weights + UNIT * (count + 32.0 + 8.0 * (np.abs(top) + np.abs(plain)))
        rises = np.expm1(np.minimum(t, LARGE)) * np.exp(logs)
        y = rises.sum(axis=1)
        near = (t.max(axis=1) < LARGE) & (y > -0.5)
        wrong = (np.abs(rises) * (wrong_weights + UNIT * (count + 16.0))).sum(axis=1)
        safe = np.where(near, y, 0.0)
        direct = np.log1p(safe)
        small = carried + wrong / (1.0 + safe) + 16.0 * UNIT * np.abs(direct)
        return np.where(near, direct, plain), np.where(near, small, whole)

    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Bound |y| by the sum of b_j min(e^{t_j} + 1, |t_j| e^{max(t_j, 0)}), t_j as at `high`."""
        c = self.centres[1:]
        t = high[..., None] * c - 0.5 * c * c
        farthest = np.maximum(np.abs(low[..., None] - 0.5 * c), np.abs(high[..., None] - 0.5 * c))
        with np.errstate(divide="ignore"):
            steep = np.log(c * (farthest + np.asarray(height)[..., None])) + np.maximum(t, 0.0)
        terms = self.log_weights[1:] + np.minimum(np.logaddexp(t, 0.0), steep)
        found: Array = np.logaddexp.reduce(terms, axis=-1) + 1e-9
        return found

    def masses(self, x: Array) -> Masses:
        """Return the masses at increasing points, which may be -inf.

        The argument c_j - x of a tail is off by 2 units of its terms and the MOST_UNITS of c_j,
        which changes the tail by (1 + |c_j - x|) times that, relatively, and a cell likewise
        (`short_intervals` charges 6 units for exact centres); sums of n terms by n units, and all
        by the errors of weights. Weights that are 0 have underflowed.
        """
        from scipy.special import ndtr

        used = (self.weights > 0.0) | (self.centres == 0.0)
        count, inner = (
            float(used.sum()),
            slice(int(np.searchsorted(x, -np.inf, side="right")), None),
        )
        charge(PER_MASS * len(x) * count)
        right, left = np.zeros(len(x)), np.zeros(len(x))
        between, plain = np.zeros(max(len(x) - 1, 0)), np.zeros(max(len(x) - 1, 0))
        between_error = np.full(len(between), np.inf)
        plain[inner], wrong = short_intervals(x[inner], 0.0)
        for c, w in zip(self.centres[used].tolist(), self.weights[used].tolist(), strict=True):
            right += w * ndtr(c - x)
            left += w * ndtr(x - c)
            mass, off = short_intervals(x[inner], c)
            between[inner] += w * mass
            wrong = np.maximum(wrong, 2.0 * off)
        between_error[inner] = wrong + UNIT * (count + 9.0)
        finite = np.where(np.isfinite(x), np.abs(x), 0.0)
        reach = 1.0 + finite + float(self.centres[used][-1])
        error = UNIT * (count + 32.0 + (4.0 + MOST_UNITS) * reach * reach) + self.weight_error
        return Masses(right, left, between, plain, error, between_error + self.weight_error)

    def solve(self, levels: Array) -> tuple[Array, Array]:
        """Return x with g(x) = log sum_{j >= 1} b_j e^{t_j} = level, for increasing levels.

        g is convex and increases, and lies between its largest term and that and the log of their
        number. Newton's method starts right of the solution, where a single term reaches the level,
        and comes down. Whatever it did, the residual g(x) - level and the rounding of g are
        returned as the displacement of the level, 16 units of the terms of the sum by their weights
        in it, and the errors of weights.
        """
        x, displaced = np.empty(len(levels)), np.empty(len(levels))
        for part in self._parts(len(levels)):
            t = levels[part]
            at = ((t[:, None] - self._levels[1:]) / self.centres[1:]).min(axis=1)
            x[part], displaced[part] = self._newton(t, at)
        # Where rounding put a point before the last one, both levels are as far off as those two.
        return np.maximum.accumulate(x), displaced + self.weight_error

    def _newton(self, levels: Array, x: Array) -> tuple[Array, Array]:
        """Improve x until rounding stops it; return it with the displacement of the levels."""
        centres, shifted = self.centres[1:, None], self._levels[1:, None]
        best = math.inf
        for step in range(NEWTON_STEPS):
            charge(PER_STEP * len(x) * len(centres))
            exponents = shifted + x * centres
            top = exponents.max(axis=0)
            powers = np.exp(exponents - top)
            sums = powers.sum(axis=0)
            residual = top + np.log(sums) - levels
            worst = float(np.abs(residual).max(initial=0.0))
            if step == NEWTON_STEPS - 1 or (step > 2 and worst > 0.5 * best) or worst == 0.0:
                break
            best = worst
            x = x - residual * sums / (powers * centres).sum(axis=0)
        sizes = np.abs(shifted) + centres * centres + np.abs(x) * centres
        scale = (powers * sizes).sum(axis=0) / sums + np.abs(top) + np.abs(levels)
        return x, np.abs(residual) + 16.0 * UNIT * (scale + len(centres) + 8.0)


HEIGHT = 0.75
# Work of a panel: its errors, several times, and its nodes.
PER_PANEL = 100.0


class ShiftedPart:
    """G on an arithmetic progression of t inside [t1, t2]."""

    def __init__(
        self,
        part: SampledPart,
        exponent: float,
        times: tuple[float, float],
        log_error: float,
    ) -> None:
        """Place the nodes, omit what is negligible, and sum up what the errors depend on.

        Raises:
            NotCertifiedError: t1 is not positive, the path is too long, or powers overflow.
        """
        if not 0.0 < times[0] <= times[1]:
            raise NotCertifiedError("the shifted line is for positive times")
        self._part, self._exponent, self._times = part, exponent, times
        centres, halves, error = self._panels(log_error)
        length = np.abs(halves)
        points, log_weights = composite_rule(np.zeros(len(length)), length)
        direction = np.repeat(halves / length, POINTS)
        z = np.repeat(centres, POINTS) + points * direction
        f, e = part.density, exponent
        loss, wrong, growth = part.on_line(z)
        log_f = f.constant + (f.slope - 0.5 * f.curvature * z) * z
        weights = np.exp(log_weights + log_f + e * loss) * direction
        sizes = np.abs(weights) * np.exp(-times[0] * loss.imag)
        keep = ~(sizes < 0.1 * math.exp(log_error) / len(z))
        error += float(sizes[~keep].sum()) * MARGIN
        modulus, wrong = np.abs(z), wrong / UNIT
        moved = 2.0 * np.repeat(np.abs(centres) + length, POINTS)
        steep = np.abs(f.slope - f.curvature * z) + 1.0 + abs(e) * growth
        units = 3.0 * (10.0 * (f.terms(modulus) + np.abs(log_weights) + 1.0) + moved * steep)
        units = units + 32.0 + PHASE_ULPS + COMPLEX_TERM * float(keep.sum()) + abs(e) * wrong
        units = units + times[1] * (wrong + 3.0 * moved * growth)
        rounding = UNIT * float((sizes * units)[keep].sum())
        self._weights, self._loss = weights[keep], loss[keep]
        self.error = (error + 1.01 * rounding) * MARGIN
        if not math.isfinite(self.error):
            raise NotCertifiedError("the shifted line overflows")

    def _panels(self, log_error: float) -> tuple[ComplexArray, ComplexArray, float]:
        """Split the path until the error is at most exp(log_error); the halves have directions.

        th is no more than a deviation, as f grows by e^{th^2 / (2 s^2)}. For e < 0, |1 + y|^e grows
        as well: for small y, |e| cos th + t sin th is largest at tan th = t / |e|.
        """
        part, e = self._part, self._exponent
        best = math.atan2(self._times[0], -e) if e < 0.0 else HEIGHT
        th = min(HEIGHT, best, part.density.deviation)
        low, high = part.low, part.high
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
        usable = np.maximum(np.abs(v - dv), np.abs(v + dv)) <= STRIP
        dx, dv = np.where(usable, dx, 0.0), np.where(usable, dv, 0.0)
        bounds = LOG_FACTORS + self._log_supremum((x - dx, x + dx), (v - dv, v + dv))
        result: Array = np.where(usable, bounds, np.inf).min(axis=1) + np.log(size[:, 0])
        return result

    def _log_supremum(self, x: tuple[Array, Array], v: tuple[Array, Array]) -> Array:
        """Bound the log of the integrand's modulus; log |1 + y| near 0 is off by units of 1."""
        e, part, density = self._exponent, self._part, self._part.density
        most = np.maximum(np.abs(v[0]), np.abs(v[1]))
        least = np.where(v[0] * v[1] < 0.0, 0.0, np.minimum(np.abs(v[0]), np.abs(v[1])))
        log_f = density.peak(*x) + 0.5 * density.curvature * most * most
        largest = part.polar(x[1], least) if e >= 0.0 else part.polar(x[0], most)
        above = self._times[0] * part.polar(x[0], v[0])[1]
        below = self._times[1] * part.polar(x[1], v[0])[1]
        log_power = e * largest[0] + 16.0 * UNIT * abs(e)
        result: Array = log_f + log_power - np.where(v[0] >= 0.0, above, below)
        return result

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


# Stands for a bound that is not known: its exponential is infinite, 0 times it is not.
UNKNOWN = 1e300
# Work for each term of r on each ellipse, that of the distance of r from 1 included.
PER_TERM = 2.0


@record
class MixturePart:
    """Outputs between two ends, with their loss log r."""

    density: Normal
    low: float
    high: float
    ratio: ExponentialSum

    def range(self, low: Array, high: Array, height: Array, *, path: bool) -> MixtureRange:
        """Bound r; Re r > 0 makes 1 + s y, s in [0, 1], lie between 1 and r, and turn less."""
        centres = self.ratio.centres
        angle = np.minimum(np.asarray(height)[..., None] * centres, math.pi)
        cosine, sine = np.cos(angle), np.sin(np.minimum(angle, 0.5 * math.pi))
        down, up = self._powers(low), self._powers(high)
        charge(PER_TERM * down.size)
        positive = cosine > 0.0
        smallest = np.where(positive, down * cosine, up * cosine).sum(axis=-1)
        real = np.where(positive.all(axis=-1), (up * cosine).sum(axis=-1), smallest)
        known = smallest > 0.0
        turn = np.where(known, np.arctan2((up * sine).sum(axis=-1), real), UNKNOWN)
        log_largest = np.where(known, np.log(up.sum(axis=-1)), UNKNOWN)
        log_smallest = np.where(known, np.log(np.where(known, smallest, 1.0)), -UNKNOWN)
        if path:
            log_largest, log_smallest = np.maximum(0.0, log_largest), np.minimum(0.0, log_smallest)
        return MixtureRange(log_largest, log_smallest, turn)

    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Bound |r - 1|."""
        return self.ratio.log_distance(low, high, height)

    def losses(self, x: Array) -> tuple[Array, Array, Array]:
        """Return y, log(1 + y), and a bound on the latter's error."""
        loss, wrong = self.ratio.losses(x, np.zeros(x.shape))
        with np.errstate(over="ignore"):
            return np.expm1(loss), loss, wrong

    def outcomes(
        self, x: Array, log_weights: Array, reach: Array, exponent: float
    ) -> WeightedLosses:
        """Return the outcomes at nodes, which are off by 2 units of their reach.

        The error of the loss l includes that. y is off by 1 + 1 / |l| times as much, relatively,
        and l^k in the series of the remainder by k / |l| times: by 3 times 2 / |l| for the first
        few k, which are all that count.
        """
        density = self.density
        loss, wrong = self.ratio.losses(x, 2.0 * UNIT * reach)
        wrong = wrong / UNIT
        jitter = 10.0 * (density.terms(x) + np.abs(log_weights) + 1.0)
        jitter = jitter + 2.0 * reach * np.abs(density.log_slope(x))
        share = abs(exponent) + 1.0 + 2.0 / np.maximum(np.abs(loss), 1e-150)
        with np.errstate(over="ignore"):
            y = np.expm1(loss)
        log_w = log_weights + density.log_density(x)
        return WeightedLosses(log_w, y, loss, jitter + share * wrong, wrong)

    def tilted(self, x: Array, exponent: float) -> tuple[Array, list[Array]]:
        """Return log h, h = f r^a / s with the slope s of log r, and the terms of its slope.

        s is the mean of c_j with the weights b_j e^{t_j}; (log s)' = s' - s with the mean s' by the
        weights c_j b_j e^{t_j}. Both means increase, as the weights move to larger j.
        """
        centres, powers = self.ratio.centres, self._powers(x)
        first = powers @ centres
        slope, second = first / powers.sum(axis=-1), (powers @ centres**2) / first
        loss = self.ratio.losses(x, np.zeros(x.shape))[0]
        log_h = self.density.log_density(x) + exponent * loss - np.log(slope)
        return log_h, [self.density.log_slope(x) - second, (exponent + 1.0) * slope]

    def _powers(self, x: Array) -> Array:
        """Return b_j e^{t_j} at each x, in a last axis."""
        centres = self.ratio.centres
        exponents = np.asarray(x)[..., None] * centres - 0.5 * centres * centres
        powers: Array = np.exp(self.ratio.log_weights + exponents)
        return powers


LOSS_UNITS = 110.0


@record
class SampledPart:
    """Values of X between two ends, with 1 + y = 1 - q + q e^X."""

    density: Normal
    low: float
    high: float
    q: float

    def polar(self, x: Array, v: Array) -> tuple[Array, Array]:
        """Return log |1 + y| and arg(1 + y) at x + iv, |v| < pi / 2, without overflow.

        |1 + y|^2 = (1 - q)^2 + 2 q (1 - q) e^x cos v + q^2 e^{2x} grows with x and falls with |v|,
        and arg(1 + y) is that of 1 - q + q e^x cos v + i q e^x sin v: it has the sign of v, and its
        modulus grows with x and |v|.
        """
        odds = self.q * np.exp(np.minimum(x, FAR))
        real, imaginary = 1.0 - self.q + odds * np.cos(v), odds * np.sin(v)
        # Beyond, the modulus grows as e^x or less.
        log_modulus = np.log(np.hypot(real, imaginary)) + np.maximum(x - FAR, 0.0)
        return log_modulus, np.arctan2(imaginary, real)

    def on_line(self, z: ComplexArray) -> tuple[ComplexArray, Array, Array]:
        """Return l = log(1 + y), a bound on its error, and |dl / dz|.

        The error includes what products with l and exponentials of them add. y = q expm1(z) is off
        by 40 units of itself (three terms, each by 12 of itself, whose moduli add up to at most 3
        |expm1(z)|). With l = log(1 + y), |y / (1 + y)| = |1 - e^{-l}| is at most |l| max(1, 1 / |1
        + y|). For Re z >= 0 and cos v >= 0, |1 + y|^2 >= (1 - q)^2 + q^2 >= 1/2, and l is off by
        LOSS_UNITS of itself; further left |1 + y| >= 1 - q, and it is off by that over 1 - q.
        """
        y = self.q * expm1_with_error(z, np.zeros(len(z)))[0]
        loss = log1p_with_error(y, np.zeros(len(z)))[0]
        units = np.where(z.real >= 0.0, LOSS_UNITS, LOSS_UNITS / (1.0 - self.q))
        return loss, UNIT * units * np.abs(loss), np.abs(self.q * np.exp(z) / (1.0 + y))

    def range(self, low: Array, high: Array, height: Array, *, path: bool) -> MixtureRange:
        """Bound 1 + s y, whose logs may be much smaller than their terms, but count many times.

        What the argument is of is divided by e^{x_hi}, which may overflow.
        """
        q, log_q, cosine = self.q, np.log(self.q), np.cos(height)
        with np.errstate(divide="ignore"):
            log_rest = np.log1p(-np.asarray(q))
        wrong = 8.0 * UNIT * (1.0 - log_q + np.maximum(np.abs(low), np.abs(high)))
        log_largest = np.logaddexp(log_rest, log_q + high) + wrong
        log_smallest = np.logaddexp(log_rest, log_q + low + np.log(cosine)) - wrong
        if path:
            log_largest, log_smallest = np.maximum(0.0, log_largest), np.minimum(0.0, log_smallest)
        rest = (1.0 - q) * np.exp(np.minimum(-high, 700.0))
        turn = np.arctan2(q * np.sin(height), rest + q * cosine)
        return MixtureRange(log_largest, log_smallest, turn)

    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Bound |y| by q min(e^{x_hi} + 1, |x| e^{max(x_hi, 0)})."""
        radius = np.maximum(np.abs(low), np.abs(high)) + height
        steep = np.log(radius) + np.maximum(high, 0.0)
        log_y: Array = np.log(self.q) + np.minimum(np.logaddexp(high, 0.0), steep)
        return log_y

    def losses(self, x: Array) -> tuple[Array, Array, Array]:
        """Return y and log(1 + y), off by 32 units of itself."""
        y, loss = y_and_loss(x, self.q)
        return y, loss, 32.0 * UNIT * np.abs(loss)

    def outcomes(
        self, x: Array, log_weights: Array, reach: Array, exponent: float
    ) -> WeightedLosses:
        """Return the outcomes at nodes.

        x is off by 2 units of its reach, times the slope of the log density. The log weight is off
        by 10 units of its terms: the deviation carries up to four roundings, and the coefficients
        hold its inverse square. d log (1 + y)^a / dx = a r.
        """
        density, moved = self.density, 2.0 * reach
        steep = np.abs(density.log_slope(x)) + 1.0 + abs(exponent) * np.exp(self._log_share(x))
        jitter = 10.0 * (density.terms(x) + np.abs(log_weights) + 1.0) + moved * steep
        y, loss = y_and_loss(x, self.q)
        return WeightedLosses(log_weights + density.log_density(x), y, loss, jitter, moved)

    def tilted(self, x: Array, exponent: float) -> tuple[Array, list[Array]]:
        """Return log h with h(x) = f(x) (1 + y)^a / r(x), and the terms of its slope.

        (log h)' = slope - curvature x + (a + 1) r(x) - 1: a decreasing term and a logistic one.
        """
        log_r, loss = self._log_share(x), y_and_loss(x, self.q)[1]
        log_h = self.density.log_density(x) + exponent * loss - log_r
        return log_h, [self.density.log_slope(x) - 1.0, (exponent + 1.0) * np.exp(log_r)]

    def _log_share(self, x: Array) -> Array:
        """Return log of r = d log(1 + y) / dx = q e^x / (1 + y)."""
        log_w = np.log(self.q) + x
        share: Array = log_w - np.logaddexp(np.log1p(-self.q), log_w)
        return share


def y_and_loss(x: Array, q: float | Array) -> tuple[Array, Array]:
    """Return y = q (e^x - 1) and log(1 + y), the latter without overflow.

    Below y = -1/2, where q > 1/2, 1 + y is formed as 1 - q + q e^x, whose terms are positive: from
    y it would be off by a unit of 1, which is much of 1 - q as q nears 1.
    """
    with np.errstate(over="ignore", divide="ignore"):
        y = q * np.expm1(x)
        low = np.log((1.0 - q) + q * np.exp(np.minimum(x, 0.0)))
    loss = np.where(y > -0.5, np.log1p(np.clip(y, -0.5, 1e300)), low)
    far = np.logaddexp(np.log1p(-np.asarray(q)), np.log(q) + x)
    return y, np.where(x < 600.0, loss, far)
