"""M - 1 of a mixture by certified quadrature: density ratios, and panels in the output.

Density ratios r = 1 + y of a mixture to one of its parts are functions of a real variable x. Each
is known on the real line, with its rounding, and by bounds near panels of it: on rectangles
low <= Re x <= high, |Im x| <= height, given as lines in Re x. These are what certified quadrature
of functions of r needs.

Let R have the density f(x), the exponential of a concave quadratic, let r = 1 + y be the ratio of
a mixture M to R, E_R y = 0, and alpha = c + 1. Then

    (M, R):  e^K - 1 = E_R[g],   g = r^alpha - 1 - alpha y = r h_c(log r)    ("remove"),
    (R, M):  e^K - 1 = E_R[g],   g = r^-c - 1 + c y        = h_c(-log r)     ("add"),

with h_c >= 0 of `numerics/log_sums.py`: nothing cancels, at any order, and all of it is summed
as logarithms, so that nothing overflows. Outcomes far out are left to the caller.

The rule and its error bound are those of `numerics/gauss_legendre.py`: it needs sup |f g| on an
ellipse around each panel. There |f| <= f(Re x) e^{curvature height^2 / 2}, and g, which is analytic
where Re r > 0, is bounded in two ways:

* by |r|^alpha + 1 + alpha |y|, or (Re r)^-c + 1 + c |y|;
* as a (a - 1) y^2 int_0^1 (1 - s) (1 + s y)^{a - 2} ds with a = alpha or -c, by
  |a (a - 1)| / 2 sup |y|^2 sup |1 + s y|^{a - 2}, and min(1, Re r) <= |1 + s y| <= max(1, |r|).

Powers of r are bounded by exponentials of lines, so that their product with f is one of a concave
quadratic, and its supremum is exact. A panel may also be omitted, at its width times sup f g.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.gauss_legendre import (
    LOG_FACTORS,
    POINTS,
    SEMI_AXES_IMAGINARY,
    SEMI_AXES_REAL,
    composite_rule,
)
from privcalc.numerics.log_sums import excess_slope, log_loss_excess
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.law import Density
    from privcalc.numerics.arrays import Array

# Arguments of r beyond this are given no lower bound on Re r; just below pi / 2.
WIDEST_ANGLE = 1.5
# Beyond this e^X is not formed.
LARGE = 300.0

# Values at the two ends of an interval; what they belong to is the line through them.
Line = tuple["Array", "Array"]


class DensityRatio(Protocol):
    """A ratio r(x) = 1 + y(x) > 0."""

    @property
    def size(self) -> int:
        """Return the number of exponentials that one value costs."""
        ...

    @property
    def log_floor(self) -> float:
        """Return the log of a positive lower bound on r."""
        ...

    def losses(self, x: Array, moved: Array) -> tuple[Array, Array]:
        """Return log r and a bound on its absolute error, where x is off by `moved`."""
        ...

    def rise(self, low: Array, high: Array, height: Array) -> Line:
        """Return a line that is at least log |r| on each rectangle."""
        ...

    def fall(self, low: Array, high: Array, height: Array) -> Line:
        """Return a line that is at most log Re r; -inf where Re r may fail to be positive."""
        ...

    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Return an upper bound on log |y| on each rectangle."""
        ...


@record
class SampledDensityRatio:
    """r = 1 - q + q e^X with X = x0 + x1 x + x2 x^2.

    Attributes:
        q: sampling probability, 0 < q < 1, off by 2 units.
        x0: see above; each coefficient is off by 12 units.
        x1: see above.
        x2: see above.
        x0_terms: sum of the moduli of the terms of x0, where it has more than one.
    """

    q: float
    x0: float
    x1: float
    x2: float = 0.0
    x0_terms: float = 0.0

    size = 1

    @property
    def log_floor(self) -> float:
        """Return log(1 - q)."""
        return math.log1p(-self.q)

    def exponent(self, x: Array) -> Array:
        """Return X."""
        return self.x0 + (self.x1 + self.x2 * x) * x

    def slope(self, x: Array) -> Array:
        """Return dX/dx."""
        return self.x1 + 2.0 * self.x2 * x

    def softplus(self, exponent: Array, cosine: Array | float = 1.0) -> Array:
        """Return log(1 - q + q cosine e^X)."""
        return np.logaddexp(math.log1p(-self.q), math.log(self.q) + np.log(cosine) + exponent)

    def losses(self, x: Array, moved: Array) -> tuple[Array, Array]:
        """Return log r with its error.

        X is off by 16 units of its terms and |dX/dx| moved, and log r by q e^X / r < 1 times that.
        y = q expm1(X) is off by 12 units with q; for y > -1/2, log1p multiplies that by
        y / ((1 + y) log1p(y)) < 1.45, so that 28 units of the loss cover it; elsewhere 1 - q +
        q e^X is a sum of positive terms off by 16 units (1 - q, as q > 1/2, by 2 units of q: it is
        the weight of what happens else, and counts as exact), with a logarithm of at least
        log 2 in modulus. For large X the sum X + log q + log1p(...) is off by 12 units of its
        terms.
        """
        q, exponent = self.q, self.exponent(x)
        terms = max(abs(self.x0), self.x0_terms) + np.abs(self.x1 * x) + abs(self.x2) * x * x
        off = 16.0 * UNIT * terms + moved * (np.abs(self.slope(x)) + abs(self.x2) * moved)
        large = exponent > LARGE
        bounded = np.where(large, 0.0, exponent)
        y = q * np.expm1(bounded)
        with np.errstate(divide="ignore", invalid="ignore"):
            direct = np.where(
                y > -0.5, np.log1p(np.maximum(y, -0.5)), np.log((1.0 - q) + q * np.exp(bounded))
            )
        far = exponent + math.log(q)
        far = far + np.log1p((1.0 - q) * np.exp(-np.where(large, far, LARGE)))
        loss = np.where(large, far, direct)
        share = np.exp(np.minimum(math.log(q) + exponent - loss, 0.0))
        own = np.where(large, 12.0 * (np.abs(exponent) + abs(math.log(q))), 32.0 * np.abs(loss))
        return loss, off * (share * np.exp(np.minimum(off, LARGE))) + UNIT * own

    def rise(self, low: Array, high: Array, height: Array) -> Line:
        """Return the chord of log(1 - q + q e^T), T a line above Re X.

        |r| <= 1 - q + q e^{Re X}, Re X(x + iy) = X(x) - x2 y^2. X(x) is below its chord if x2 >= 0,
        else below its tangent. log(1 - q + q e^T) is convex in x.
        """
        if self.x2 >= 0.0:
            left, right = self.exponent(low), self.exponent(high)
        else:
            left, right = self._tangent(low, high)
            bent = -self.x2 * height * height
            left, right = left + bent, right + bent
        return self.softplus(left), self.softplus(right)

    def fall(self, low: Array, high: Array, height: Array) -> Line:
        """Return the tangent in the middle of log(1 - q + q cos(omega) e^T), T a line below Re X.

        omega = height max |dX/dx| >= |Im X|: Im X(x + iy) = y dX/dx at the real x.
        """
        steepest = np.maximum(np.abs(self.slope(low)), np.abs(self.slope(high)))
        angle = height * steepest
        known = angle <= WIDEST_ANGLE
        cosine = np.cos(np.where(known, angle, 0.0))
        if self.x2 >= 0.0:
            left, right = self._tangent(low, high)
            bent = self.x2 * height * height
            left, right = left - bent, right - bent
        else:
            left, right = self.exponent(low), self.exponent(high)
        middle = 0.5 * (left + right)
        value = self.softplus(middle, cosine)
        share = np.exp(np.minimum(math.log(self.q) + np.log(cosine) + middle - value, 0.0))
        half = 0.5 * share * (right - left)
        return np.where(known, value - half, -np.inf), np.where(known, value + half, -np.inf)

    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Bound q |e^X - 1| by q (e^{Re X} + 1) and q |X| e^{max(Re X, 0)}."""
        ends = np.maximum(self.exponent(low), self.exponent(high))
        size = np.maximum(np.abs(self.exponent(low)), np.abs(self.exponent(high)))
        if self.x2 != 0.0:
            vertex = -0.5 * self.x1 / self.x2
            inside = (low < vertex) & (vertex < high)
            peak = self.exponent(np.array(vertex))
            size = np.maximum(size, np.where(inside, np.abs(peak), 0.0))
            if self.x2 < 0.0:
                ends = np.where(inside, peak, ends) - self.x2 * height * height
        steepest = np.maximum(np.abs(self.slope(low)), np.abs(self.slope(high)))
        size = size + height * steepest + abs(self.x2) * height * height
        with np.errstate(divide="ignore"):
            small = np.log(size) + np.maximum(ends, 0.0)
        result: Array = math.log(self.q) + np.minimum(np.logaddexp(ends, 0.0), small)
        return result

    def _tangent(self, low: Array, high: Array) -> Line:
        middle = 0.5 * (low + high)
        value, half = self.exponent(middle), 0.5 * (high - low) * self.slope(middle)
        return value - half, value + half


# The quadrature error aimed at, relative to the result: e^-37 < 1e-16.
LOG_RELATIVE = -37.0
# Panels of a short interval before any is split.
FEWEST_PANELS = 4
# And of a long one: those where the integrand lives are split.
MOST_FIRST_PANELS = 128
# No order is worth more panels.
MOST_PANELS = 6000
# Halvings of one panel: after 53 it is a rounding of the interval.
MOST_ROUNDS = 80
# Panels times terms of the ratio that are bounded at once.
CHUNK = 100_000
# On wider panels no ellipse stays where r is bounded and gains digits.
WIDEST_PANEL = 2.2


@record
class Excess:
    """The integrand f g for one direction and one order."""

    weight: Density
    ratio: DensityRatio
    c: float
    remove: bool

    def log_values(self, x: Array, moved: Array) -> tuple[Array, Array]:
        """Return log f g at real points that are off by `moved`, and its absolute error."""
        loss, wrong = self.ratio.losses(x, moved)
        log_g, error = log_excess(self.c, loss, wrong, remove=self.remove)
        value = log_g + self.weight.log_density(x)
        error = error + self.weight.error(x, moved)
        return value, error + 2.0 * UNIT * np.where(np.isfinite(value), np.abs(value), 0.0)

    def log_supremum(self, low: Array, high: Array, height: Array) -> Array:
        """Bound log |f g| on rectangles; infinity where Re r > 0 is not proved.

        Lines are off by 32 units of themselves and 128 of 1, other terms by 32 units of themselves.
        """
        alpha, c, weight = self.c + 1.0, self.c, self.weight
        rise = self.ratio.rise(low, high, height)
        fall = self.ratio.fall(low, high, height)
        known = np.isfinite(fall[0])
        fall = (np.where(known, fall[0], 0.0), np.where(known, fall[1], 0.0))
        log_y = self.ratio.log_distance(low, high, height)
        flat = weight.peak(low, high)
        if self.remove:
            factor = math.log(alpha)
            power = self._peak(low, high, rise, alpha)
            modulus = math.log(0.5 * alpha) + math.log(c)
            if alpha >= 2.0:
                inner = np.maximum(flat, self._peak(low, high, rise, alpha - 2.0))
            else:
                inner = np.maximum(flat, self._peak(low, high, fall, alpha - 2.0))
        else:
            factor = math.log(c)
            power = self._peak(low, high, fall, -c)
            modulus = math.log(0.5 * alpha) + math.log(c)
            inner = np.maximum(flat, self._peak(low, high, fall, -c - 2.0))
        plain = np.logaddexp(power, flat + np.logaddexp(0.0, factor + log_y))
        remainder = inner + modulus + 2.0 * log_y
        bound = np.minimum(plain, remainder) + 0.5 * weight.curvature * height * height
        size = np.maximum(np.abs(rise[0]), np.abs(rise[1])) + np.maximum(
            np.abs(fall[0]), np.abs(fall[1])
        )
        reach = np.maximum(np.abs(low), np.abs(high))
        terms = (alpha + 2.0) * (size + 4.0) + weight.curvature * reach * reach
        terms = terms + np.abs(weight.slope) * reach + np.abs(bound) + abs(weight.constant)
        return np.where(known, bound + 1e-12 + 32.0 * UNIT * terms, np.inf)

    def _peak(self, low: Array, high: Array, line: Line, factor: float) -> Array:
        """Return max over [low, high] of the log density plus factor times the line."""
        left, right = factor * line[0], factor * line[1]
        return left + self.weight.peak(low, high, (right - left) / (high - low))

    def log_errors(self, centres: Array, halves: Array) -> tuple[Array, Array]:
        """Return for each panel the logs of bounds on the rule's error and on the integral."""
        rule, whole = np.empty(centres.shape), np.empty(centres.shape)
        rows = max(1, CHUNK // self.ratio.size)
        for i in range(0, len(centres), rows):
            part = slice(i, i + rows)
            rule[part], whole[part] = self._log_errors(centres[part], halves[part])
        return rule, whole

    def _log_errors(self, centres: Array, halves: Array) -> tuple[Array, Array]:
        real, height = halves[:, None] * SEMI_AXES_REAL, halves[:, None] * SEMI_AXES_IMAGINARY
        usable = height <= WIDEST_ANGLE if self.weight.curvature == 0.0 else height < 40.0
        height = np.where(usable, height, 0.0)
        middle = centres[:, None]
        bounds = LOG_FACTORS + self.log_supremum(middle - real, middle + real, height)
        rule: Array = np.where(usable, bounds, np.inf).min(axis=1) + np.log(halves)
        whole = self.log_supremum(centres - halves, centres + halves, np.zeros_like(centres))
        return rule, whole + np.log(2.0 * halves) + 1e-12


def log_excess(c: float, loss: Array, wrong: Array, *, remove: bool) -> tuple[Array, Array]:
    """Return log g and its absolute error, where log r is off by `wrong`.

    log r is moved away from 0 to the size of its error, which counts once more then. A slope of
    2 / |l| is that of a square: where l is off by a share t of itself, l^2 is by (1 -+ t)^2, which
    is within 1 -+ (e^{2t} - 1).
    """
    sign = 1.0 if remove else -1.0
    close = np.abs(loss) < wrong
    used = np.where(close, np.copysign(wrong, loss), loss)
    off = np.where(close, 2.0 * wrong, wrong)
    value, error = log_loss_excess(c, sign * used)
    with np.errstate(invalid="ignore"):
        steep = excess_slope(c, sign * used) + (1.0 if remove else 0.0)
        error = error + np.where(off > 0.0, off * steep, 0.0)
    if remove:
        value = value + used
        error = error + 2.0 * UNIT * np.abs(used)
    return value, error


def log_sum_bounds(values: Array, errors: Array) -> tuple[float, float]:
    """Return bounds on log sum e^x, terms being within 1 -+ (e^error - 1) of the true ones."""
    known = values > -np.inf
    values, errors = values[known], errors[known]
    if not len(values):
        return -math.inf, -math.inf
    top = float(values.max())
    terms = np.exp(values - top)
    wrong = errors + UNIT * (10.0 + np.abs(values) + abs(top))
    shares = terms * np.expm1(np.minimum(wrong, 700.0))
    total, off = math.fsum(terms), float(shares.sum()) * MARGIN
    # Terms that underflow are below e^-700.
    off += 4.0 * UNIT * total + len(terms) * 1e-300
    slack = 16.0 * UNIT * (abs(top) + 1.0)
    low = top + math.log(total - off) - slack if total > off else -math.inf
    return low, top + math.log(total + off) + slack if off < math.inf else math.inf


# Work for each round of panels, and for each of them and exponential of the ratio.
PER_ROUND, PER_PANEL = 8e3, 60.0


def integrate(excess: Excess, low: float, high: float) -> tuple[float, float]:
    """Return bounds on the log of the integral of f g over [low, high].

    Panels are split until the proved errors of all, by the rule or by leaving them out, are small
    next to the sum of the values in their middles.

    Raises:
        NotCertifiedError: too many panels would be needed.
    """
    if not low < high:
        return -math.inf, -math.inf
    width = WIDEST_PANEL
    if excess.weight.curvature > 0.0:
        width = min(width, 2.2 / math.sqrt(excess.weight.curvature))
    count = int(min(max(math.ceil((high - low) / width), FEWEST_PANELS), MOST_FIRST_PANELS))
    halves = np.full(count, (high - low) / (2.0 * count))
    centres = low + halves * (2.0 * np.arange(count) + 1.0)
    table = _columns(excess, centres, halves)
    for _ in range(MOST_ROUNDS):
        best = np.minimum(table[2], table[3])
        target = float(np.logaddexp.reduce(table[4])) + LOG_RELATIVE
        if float(np.logaddexp.reduce(best)) <= target or table.shape[1] > MOST_PANELS:
            break
        split = best > target - math.log(2.0 * table.shape[1])
        quarter = table[1, split] / 2.0
        centres = np.concatenate([table[0, split] - quarter, table[0, split] + quarter])
        new = _columns(excess, centres, np.concatenate([quarter, quarter]))
        table = np.concatenate([table[:, ~split], new], axis=1)
    else:
        raise NotCertifiedError("a Renyi divergence needs too fine a quadrature")
    if table.shape[1] > MOST_PANELS:
        raise NotCertifiedError("a Renyi divergence needs too fine a quadrature")
    faint = table[3] <= target - math.log(2.0 * table.shape[1])
    out = faint | (table[3] <= table[2])
    inside = _sum_of_panels(excess, table[0, ~out], table[1, ~out], max(abs(low), abs(high)))
    rule = float(np.logaddexp.reduce(table[2, ~out], initial=-np.inf))
    left_out = float(np.logaddexp.reduce(table[3, out], initial=-np.inf))
    return log_difference(inside[0], rule), log_total([inside[1], rule, left_out])


def log_total(logs: list[float]) -> float:
    """Return log sum e^x, rounded up."""
    total = float(np.logaddexp.reduce(logs, initial=-math.inf))
    return total + 8.0 * UNIT * (1.0 + abs(total)) if math.isfinite(total) else total


def log_difference(first: float, second: float) -> float:
    """Return log(e^first - e^second), rounded down; -inf where that is not positive."""
    if second == -math.inf:
        return first
    if not first > second:
        return -math.inf
    share = math.exp(second - first) * (1.0 + 1e-9)
    if not share < 1.0:
        return -math.inf
    return first + math.log1p(-share) - 8.0 * UNIT * (1.0 + abs(first))


def _columns(excess: Excess, centres: Array, halves: Array) -> Array:
    """Return centres, halves, the two log errors and a rough log of the integral, as rows."""
    charge(PER_ROUND + PER_PANEL * len(centres) * excess.ratio.size)
    rule, whole = excess.log_errors(centres, halves)
    value, _ = excess.log_values(centres, np.zeros_like(centres))
    return np.stack([centres, halves, rule, whole, value + np.log(2.0 * halves)])


def _sum_of_panels(
    excess: Excess, centres: Array, halves: Array, reach: float
) -> tuple[float, float]:
    """Return bounds on the log of the rule's sum.

    A node is off by 2 units of |centre| + half from where the rule has it. Centres and widths are
    off by 4 units of the largest |x|: neighbouring panels overlap by that, or leave it out, which
    is that share of a panel.
    """
    if not len(centres):
        return -math.inf, -math.inf
    charge(PER_PANEL * len(centres) * excess.ratio.size)
    x, log_weights = composite_rule(centres, halves)
    moved = 2.0 * UNIT * np.repeat(np.abs(centres) + halves, POINTS)
    value, error = excess.log_values(x, moved)
    error = error + UNIT * (16.0 + 8.0 * np.abs(log_weights))
    error = error + np.repeat(16.0 * UNIT * reach / halves, POINTS)
    return log_sum_bounds(value + log_weights, error)
