"""Certified quadrature of powers of 1 + y over outcomes with a normal density: panels, nodes, sums.

1 + y is the ratio of a mixture of normal laws to a law R, and M(s) = E_R (1 + y)^a with a = s + 1
where the mixture is P, or a = -s where it is Q. With y = rate (W - R) / R, and what is cut "out",

    M - 1 = E_R[(1 + y)^a - 1 - a y; in] - R(out) + a rate (R(out) - W(out)),

because R is a probability and E_R y = rate (W - R)(everything) = 0. The first term is a sum over
nodes of non-negative weight and has no cancellation: M - 1 keeps its relative accuracy when it is
1e-20, which a count of 1e9 needs.

Panels. Every integral is int f(x) g(x) dx with a normal density f, and g(x) = (1 + y)^a or the
remainder (1 + y)^a - 1 - a y, where a = exponent + i t, |t| <= t_max. The bound of
`numerics/sums.py` needs the supremum of |f g| on a Bernstein ellipse around each panel:
real part of x in [x_lo, x_hi], |Im x| <= d < pi/2. There

* |f(x)| <= f(Re x) e^{curvature d^2 / 2}, and log f(Re x) is a concave quadratic.
* |1 + s y|, s in [0, 1], is bounded from above and away from 0, and so is its argument
  (`DensityPart.range`): no branch point is met, and |(1 + s y)^{b + i t}| <= |1 + s y|^b
  e^{|t| arg}.
* (1 + y)^a - 1 - a y = a (a - 1) y^2 int_0^1 (1 - s) (1 + s y)^{a - 2} ds, hence the remainder is
  at most |a| |a - 1| |y|^2 / 2 times the supremum of |(1 + s y)^{a - 2}|.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.fourier import PHASE_ULPS, phase_sums, progression_sums, run_sums, sum_units
from privcalc.numerics.rounding import MARGIN, UNIT, vertical
from privcalc.numerics.sums import (
    LOG_FACTORS,
    POINTS,
    SEMI_AXES_IMAGINARY,
    SEMI_AXES_REAL,
    composite_rule,
)
from privcalc.numerics.work import charge
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.rounding import Array, ComplexArray, Integers, Mask

    # Outcomes between two ends, of one normal density: of one of the classes of `sampled/parts.py`.
    DensityPart: TypeAlias = Any

Points = TypeVar("Points", "Array", "ComplexArray")
# Half-height of the strip: below pi/2, where the argument bound stops being monotone.
STRIP = 1.5
# Sums of more nodes than these panels have take seconds for each t.
MAX_PANELS = 20_000
# On wider panels no ellipse stays inside the strip and gains digits.
WIDEST_PANEL = 2.2


@record
class Normal:
    """The density exp(constant + slope x - curvature x^2 / 2) of N(mean, deviation^2)."""

    constant: float
    slope: float
    curvature: float
    mean: float
    deviation: float

    @classmethod
    def of(cls, mean: float, deviation: float) -> Normal:
        """Return that of a mean and a deviation."""
        precision = 1.0 / (deviation * deviation)
        constant = -0.5 * mean * mean * precision - math.log(deviation * math.sqrt(2.0 * math.pi))
        return cls(constant, mean * precision, precision, mean, deviation)

    def log_density(self, x: Array) -> Array:
        """Return the log of the density."""
        log: Array = self.constant + (self.slope - 0.5 * self.curvature * x) * x
        return log

    def log_slope(self, x: Array) -> Array:
        """Return the slope of that."""
        return self.slope - self.curvature * x

    def terms(self, x: Array) -> Array:
        """Return the moduli of the terms of the log, added up."""
        size = np.abs(x)
        total: Array = abs(self.constant) + (abs(self.slope) + self.curvature * size) * size
        return total

    def peak(self, low: Array, high: Array) -> Array:
        """Return the largest log density between two places."""
        return self.log_density(np.clip(self.slope / self.curvature, low, high))


class WeightedLosses(NamedTuple):
    """Weights and losses of nodes, l = log(1 + y), in arrays of one length; or rows of many laws.

    Attributes:
        log_w: log of rule weight times density.
        y: the density ratio less 1.
        loss: l = log(1 + y).
        jitter: relative change of weight times integrand that the rounding of the place, of the
            log weight and of y can make, in units (multiples of UNIT).
        moved: absolute error of l, in units.
    """

    log_w: Array
    y: Array
    loss: Array
    jitter: Array
    moved: Array


class MixtureRange(NamedTuple):
    """Bounds on rectangles for 1 + s y, s = 1, or all s in [0, 1].

    Attributes:
        log_largest: of log |1 + s y| from above; for all s at least 0.
        log_smallest: from below; for all s at most 0.
        turn: of the modulus of its argument.
    """

    log_largest: Array
    log_smallest: Array
    turn: Array


@record
class Integrand:
    """f(x) g(x) on one part; `remainder` chooses which g (see the module)."""

    part: DensityPart
    exponent: float
    t_max: float
    remainder: bool

    def log_errors(self, centres: Array, halves: Array) -> Array:
        """Return, for each panel, the log of a bound on the quadrature error."""
        bounds = self.on_ellipses(centres[:, None], halves[:, None], slice(None))
        result: Array = bounds.min(axis=1)
        return result

    def on_ellipses(self, centres: Array, halves: Array, chosen: slice | Integers) -> Array:
        """Return the logs of the bounds of some of the ellipses; infinite beyond the strip."""
        height = halves * SEMI_AXES_IMAGINARY[chosen]
        usable = height <= STRIP
        height, real = np.where(usable, height, 0.0), halves * SEMI_AXES_REAL[chosen]
        bounds = LOG_FACTORS[chosen] + self.log_supremum(centres - real, centres + real, height)
        result: Array = np.where(usable, bounds, np.inf) + np.log(halves)
        return result

    def log_supremum(self, low: Array, high: Array, height: Array) -> Array:
        """Return the log of a bound on |f g| on rectangles."""
        part, density = self.part, self.part.density
        log_f = density.peak(low, high) + 0.5 * density.curvature * height * height
        mixture = part.range(low, high, height, path=self.remainder)
        power = self.exponent - 2.0 if self.remainder else self.exponent
        size = mixture.log_largest if power >= 0.0 else mixture.log_smallest
        log_g = power * size + self.t_max * mixture.turn
        if self.remainder:
            log_g = log_g + 2.0 * part.log_distance(low, high, height)
            log_g = log_g + log_half_product(self.exponent, self.t_max)
        result: Array = log_f + log_g
        return result


def log_half_product(exponent: float, t_max: float) -> float:
    """Return the log of a bound on |a| |a - 1| / 2."""
    modulus = math.hypot(exponent, t_max) * math.hypot(exponent - 1.0, t_max)
    return math.log(0.5 * modulus + 1e-300)


def equal_panels(part: DensityPart) -> tuple[Array, Array]:
    """Return centres and half-widths of the widest panels; where deviations are below 1, in these.

    Raises:
        NotCertifiedError: too many, as where the noise is tiny and the loss huge.
    """
    low, high = part.low, part.high
    wide = (high - low) / (WIDEST_PANEL * min(1.0, part.density.deviation))
    if not wide < MAX_PANELS:
        raise NotCertifiedError(f"losses from {low:.3g} to {high:.3g} are too far apart for sums")
    count = max(1, math.ceil(wide))
    halves = np.full(count, (high - low) / (2.0 * count))
    return low + halves * (2.0 * np.arange(count) + 1.0), halves


def refined(
    panels: tuple[Points, Points],
    log_errors: Callable[[Points, Points], Array],
    log_error: float,
    refusal: str,
    most: int = MAX_PANELS,
) -> tuple[Points, Points, float]:
    """Halve panels until their errors add up to at most exp(log_error).

    Args:
        panels: centres and half-widths to begin with, which may have directions.
        log_errors: for each panel, the log of a bound on its error.
        log_error: see above.
        refusal: what to say where too many panels would be needed.
        most: panels.

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
        if math.isnan(total) or len(centres) > most:
            raise NotCertifiedError(refusal)
        split = errors > 0.5 / len(errors)
        quarter = halves[split] / 2.0
        centres = np.concatenate(
            [centres[~split], centres[split] - quarter, centres[split] + quarter]
        )
        halves = np.concatenate([halves[~split], quarter, quarter])


# Relative error of what was cut where it is negligible.
OUT_ERROR = 1e-9
# Work for an outcome, of one law, and of many in one array.
PER_OUTCOME, PER_OUTCOME_OF_MANY = 4.0, 0.7


@record
class NodeSet:
    """Outcomes that stand for a law in all integrals over |t| <= t_max.

    Or those of several laws, a row for each: then other numbers than the first two of the integrals
    may be arrays, one number for each law.

    Attributes:
        outcomes: nodes.
        exponent: real part of a.
        t_max: largest |t| for which `quadrature` holds.
        quadrature: absolute bound on the quadrature error of M, for every |t| <= t_max.
        out: R(out) and W(out).
        rate: the factor of W - R in y.
        out_error: relative error of `out`.
    """

    outcomes: WeightedLosses
    exponent: float
    t_max: float
    quadrature: Any
    out: tuple[Any, Any]
    rate: Any
    out_error: float = OUT_ERROR

    @classmethod
    def placed(
        cls,
        part: DensityPart,
        integrals: tuple[float, float],
        log_target: float,
        *,
        remainder: bool,
        out: tuple[float, float] = (0.0, 0.0),
        rate: float = 1.0,
        out_error: float = OUT_ERROR,
    ) -> NodeSet:
        """Place nodes on a part.

        Args:
            part: what is integrated.
            integrals: exponent and t_max.
            log_target: log of the error that the rule may make; a tenth of it for faint nodes.
            remainder: whether M - 1 is integrated, or M.
            out: see the class.
            rate: see the class.
            out_error: see the class.

        Raises:
            NotCertifiedError: too many panels would be needed, or nothing is left.
        """
        if not part.high > part.low:
            raise NotCertifiedError("nothing is left to integrate")
        exponent, t_max = integrals
        bounds = Integrand(part, exponent, t_max, remainder).log_errors
        refusal = (
            f"the characteristic function oscillates too fast (|t| up to {t_max:.3g})"
            " for certified quadrature"
        )
        centres, halves, error = refined(equal_panels(part), bounds, log_target, refusal)
        outcomes = on_part(part, centres, halves, exponent)
        nodes = cls(outcomes, exponent, t_max, error, out, rate, out_error)
        return nodes.pruned(math.exp(log_target) * 0.1, remainder=remainder)

    def pruned(self, allowance: float | Array, *, remainder: bool) -> NodeSet:
        """Leave out nodes whose terms are negligible at every |t| <= t_max, and charge them.

        A term's modulus is at most its weight times the real-x bounds of the module.
        """
        log_w, y, loss, *_ = self.outcomes
        with np.errstate(over="ignore", divide="ignore"):
            log_size = log_w + self.exponent * loss
            if remainder:
                power = (self.exponent - 2.0) * loss
                log_size = log_w + np.maximum(power, 0.0) + 2.0 * np.log(np.abs(y))
                log_size = log_size + log_half_product(self.exponent, self.t_max)
            size = np.exp(np.minimum(log_size, 700.0))
        faint = size < np.asarray(allowance)[..., None] / size.shape[-1]
        dropped = np.where(faint, size, 0.0).sum(axis=-1) * MARGIN
        return replace(self, outcomes=self.only(~faint), quadrature=self.quadrature + dropped)

    def only(self, chosen: Mask) -> WeightedLosses:
        """Return some of the outcomes; of several laws all that one of them keeps, of weight 0."""
        if chosen.ndim == 1:
            return WeightedLosses(*(column[chosen] for column in self.outcomes))
        log_w = np.where(chosen, self.outcomes.log_w, -np.inf)
        kept = chosen.any(axis=0)
        return WeightedLosses(*(each[:, kept] for each in (log_w, *self.outcomes[1:])))

    @cached_property
    def tilted(self) -> Array:
        """Return weight times (1 + y)^exponent."""
        values: Array = np.exp(self.outcomes.log_w + self.exponent * self.outcomes.loss)
        return values


def on_part(
    part: DensityPart, centres: Array, halves: Array, exponent: float, off: Array | float = 0.0
) -> WeightedLosses:
    """Return the outcomes at the nodes of panels, whose centres are off by 2 units of `off`."""
    x, log_weights = composite_rule(centres, halves)
    charge((PER_OUTCOME if x.ndim == 1 else PER_OUTCOME_OF_MANY) * x.size)
    reach = np.repeat(np.abs(centres) + halves, POINTS, axis=-1) + off
    found: WeightedLosses = part.outcomes(x, log_weights, reach, exponent)
    return found


# Work of a search of K at one point, and what each outcome adds (28 and 0.024 microseconds).
SEARCH, PER_SEARCHED = 300.0, 0.4
# Sums of tilted weights stay finite below this; K beyond it is reported as infinite.
LARGEST_LOG_MGF = 600.0
# More than rounding makes of a mean that is 0.
UNBALANCED = 1e-9


class SearchSums:
    """Sums over outcomes, for searches; what no exponent changes is formed once."""

    def __init__(self, outcomes: WeightedLosses) -> None:
        """Take the outcomes of one law, or of several in rows."""
        self._log_w, y, self._loss, *_ = outcomes
        with np.errstate(over="ignore", invalid="ignore"):
            self._w = np.exp(self._log_w)
            wy = np.where(self._loss < 300.0, self._w * y, 0.0)
            # Else what makes the mean of y 0 is farther out than the search looks.
            self._balanced = np.abs(wy.sum(axis=-1, keepdims=True)) <= UNBALANCED
            self._wy = np.where(self._balanced, wy, 0.0)
        self.size, self._modulus = self._loss.size, np.abs(self._loss)

    def cumulants(self, a: float) -> tuple[Array, Array, Array]:
        """Estimate log E (1 + y)^a and its first two derivatives; a number for each row.

        All is divided by e^shift where powers would overflow. Most arrays are short, and what takes
        time is how many operations there are.
        """
        loss, wy = self._loss, self._wy
        with np.errstate(over="ignore", invalid="ignore"):
            exponent = a * loss
            log_tilted = self._log_w + exponent
            top = log_tilted.max(axis=-1, keepdims=True)
            shift = np.where(top > 300.0, top, 0.0)
            scale = np.exp(-shift)
            tilted = np.exp(log_tilted - shift)
            excess = tilted - scale * (self._w + a * wy)
            near = (np.abs(exponent) + self._modulus < 1e-3) & self._balanced
            if near.any():
                square = 0.5 * a * (a - 1.0) * loss**2 * (1.0 + (a + 1.0) * loss / 3.0)
                excess = np.where(near, scale * self._w * square, excess)
            m1 = excess.sum(axis=-1)
            mass, moment = scale[..., 0] + m1, tilted * loss
            log_mgf = np.where(scale[..., 0] == 1.0, np.log1p(m1), shift[..., 0] + np.log(mass))
            log_mgf = np.where(log_mgf > LARGEST_LOG_MGF, np.inf, log_mgf)
            first = (moment - scale * wy).sum(axis=-1) / mass
            second = (moment * loss).sum(axis=-1) / mass - first * first
        return log_mgf, first, second


# Nodes with |a l| below this use the power series of the remainder.
SERIES_BELOW = 0.5
SERIES_TERMS = 17
# l = log(1 + y) is off by so many units of itself, besides what outcomes are charged for, and its
# product with an exponent or a t by one more: y = q expm1(x) by 9, which log1p multiplies by at
# most y / ((1 + y) log1p(y)) < 1.45 where y > -1/2, and adds 8; below, 1 - q + q e^x is off by 11,
# and |l| >= log 2.
LOSS_UNITS = 24.0


class RemainderSum:
    """M(c + it) - 1 from a node set: of one law, or of several in rows."""

    def __init__(self, c: float, nodes: NodeSet, *, remove: bool) -> None:
        """Split the nodes into those summed by power series and those summed directly.

        Args:
            c: abscissa.
            nodes: of the exponent c + 1, or of -c.
            remove: which of the two.
        """
        self.c, self.nodes, self.remove = c, nodes, remove
        self._direction = 1.0 if remove else -1.0
        largest = math.hypot(max(abs(nodes.exponent), 1.0), nodes.t_max)
        small = largest * np.abs(nodes.outcomes.loss) < SERIES_BELOW
        self._prepare_series(small)
        self._prepare_direct(~small)

    def _prepare_series(self, small: Mask) -> None:
        """Sum sum_{k>=2} (a^k - a) m_k with m_k = sum w l^k / k!, as a (a - 1) sum_j r_j a^j.

        r_j = sum_{k >= j + 2} m_k, since a^k - a = a (a - 1) (1 + a + ... + a^{k - 2}).
        """
        nodes = self.nodes
        log_w, _, loss, jitter, _ = nodes.only(small)
        w = np.exp(log_w)
        moments, sizes = [], []
        term, size = w * loss, w * np.abs(loss) * (64.0 + w.shape[-1] + 3.0 * jitter)
        for k in range(2, SERIES_TERMS + 1):
            term, size = term * loss / k, size * np.abs(loss) / k
            moments.append(term.sum(axis=-1, keepdims=True))
            sizes.append(size.sum(axis=-1, keepdims=True))
        self._series = np.cumsum(np.array(moments)[::-1], axis=0)
        self._series_noise = np.cumsum(np.array(sizes)[::-1], axis=0) * UNIT
        # What the series omits: (|a|^k + |a|) |l|^k / k! for k > SERIES_TERMS, below
        # 2.1 (A |l|)^(n + 1) / (n + 1)! with A = max(|a|, 1) and A |l| < 1/2.
        reach = math.hypot(max(abs(nodes.exponent), 1.0), nodes.t_max)
        order = SERIES_TERMS + 1
        powers = (w * (reach * np.abs(loss)) ** order).sum(axis=-1, keepdims=True)
        self._series_rest = 2.1 * powers / math.factorial(order)

    def _prepare_direct(self, large: Mask) -> None:
        nodes = self.nodes
        log_w, y, loss, jitter, moved = nodes.only(large)
        self._loss, self._tilted = loss, np.exp(log_w + nodes.exponent * loss)
        w = np.exp(log_w)
        # w y in log space: y may be huge where w is tiny.
        wy = np.where(np.abs(y) < 1e200, w * y, np.exp(log_w + np.maximum(loss, 0.0)))
        self._weight, self._weight_y = run_sums(w), run_sums(wy)
        charge = 16.0 + PHASE_ULPS + sum_units(w.shape[-1]) + 3.0 * jitter
        exponent = abs(nodes.exponent)
        noise = self._tilted * (charge + LOSS_UNITS * exponent * np.abs(loss)) + w * charge
        self._direct_noise = UNIT * noise.sum(axis=-1, keepdims=True)
        self._direct_noise_y = UNIT * (np.abs(wy) * (charge + 16.0)).sum(axis=-1, keepdims=True)
        # The phase t l: t is off by no unit, x by what `moved` says.
        shaken = LOSS_UNITS * np.abs(loss) + moved
        self._phase_noise = UNIT * (self._tilted * shaken).sum(axis=-1, keepdims=True)

    @property
    def size(self) -> int:
        """Return the number of nodes that every t costs, of each law."""
        return int(self._loss.shape[-1]) + SERIES_TERMS

    def minus_one(self, t: Array, sums: ComplexArray | None = None) -> tuple[ComplexArray, Array]:
        """Return M(c + it) - 1 and a bound on its absolute error, quadrature included.

        `sums` may give sum of tilted e^{itl} over the direct nodes, where it is known already.
        """
        nodes = self.nodes
        a = vertical(nodes.exponent, self._direction * t)
        modulus = np.abs(a)
        # For remove, a - 1 = c + it exactly; forming it from a would lose digits of a small c.
        a_minus_one = vertical(self.c, t) if self.remove else a - 1.0
        product = a * a_minus_one
        value = product * np.polyval(self._series, a)
        error = np.abs(product) * np.polyval(self._series_noise, modulus) + self._series_rest
        if self._loss.shape[-1]:
            if sums is None:
                sums = phase_sums(t, self._direction * self._loss, self._tilted)
            value = value + sums - self._weight - a * self._weight_y
            error = error + self._direct_noise + modulus * self._direct_noise_y
            error = error + np.abs(t) * self._phase_noise
        out_r, out_w, rate, quadrature = (
            np.asarray(each)[..., None] for each in (*nodes.out, nodes.rate, nodes.quadrature)
        )
        value = value - out_r + a * rate * (out_r - out_w)
        error = error + nodes.out_error * (out_r + modulus * rate * (out_r + out_w))
        return value, (error + 8.0 * UNIT * np.abs(value) + quadrature) * MARGIN

    def minus_one_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return M - 1 and its error at t = k step, k < count."""
        sums = None
        if self._loss.shape[-1]:
            sums = progression_sums(step, count, self._direction * self._loss, self._tilted)
        return self.minus_one(step * np.arange(count), sums)
