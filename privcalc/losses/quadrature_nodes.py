"""Certified quadrature over parts of the outcomes with densities: panels, nodes, variation.

For Poisson sampling, with a = exponent + i t and the cut pieces of `losses/sampled/law.py` ("out"
is what was cut),

    M - 1 = E_R[(1 + y)^a - 1 - a y; in] - R(out) + a q (R(out) - W(out)),

because R is a probability and E_R y = q (W - R)(everything) = 0. The first term is a sum over
nodes of non-negative weight and has no cancellation: M - 1 keeps its relative accuracy when it is
1e-20, which a count of 1e9 needs.

Panels. Every integral has the form  int f(x) g(x) dx  with the density f of a part (log-quadratic)
and a product g of powers of mixtures, exponents being a = exponent + i t, |t| <= t_max. With one
mixture 1 + y = 1 - q + q e^x it is g(x) = (1 + y)^a, or the remainder g(x) = (1 + y)^a - 1 - a y;
with two g(x) = (1 + y)^a (1 + y')^{1 - a}, or its remainder (`losses/sampled/opposite.py`). The
bound of `numerics/gauss_legendre.py` needs the supremum of |f g| on a Bernstein ellipse around each
panel: real part of x in [x_lo, x_hi], |Im x| <= d < pi/2. There

* |f(x)| <= f(Re x) e^{curvature d^2 / 2}, and log f(Re x) is a concave quadratic.
* |1 + s y|, s in [0, 1], is bounded from above and away from 0, and so is its argument
  (`mixture_range`): no branch point is met, and |(1 + s y)^{b + i t}| <= |1 + s y|^b e^{|t| arg}.
* (1 + y)^a - 1 - a y = a (a - 1) y^2 int_0^1 (1 - s) (1 + s y)^{a - 2} ds, hence the remainder is
  at most |a| |a - 1| |y|^2 / 2 times the supremum of |(1 + s y)^{a - 2}|; with two mixtures y - y'
  takes the place of y, and both powers are less by 2.

Variation. A proved upper bound on the total variation of a tilted loss density says how fast |phi|
falls (`losses/contour.py`). In the coordinate x of a part the density of the loss, tilted and not
yet divided by M, is g with (log g)' a sum of monotone terms: on a cell each is bounded by its
values at both ends. Where the sign of the sum is certain the variation is the difference of the two
values of g; elsewhere it is at most the width times max |(log g)'| times max g.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.gauss_legendre import (
    LOG_FACTORS,
    POINTS,
    SEMI_AXES_IMAGINARY,
    SEMI_AXES_REAL,
    composite_rule,
)
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from privcalc.losses.law import Density
    from privcalc.numerics.arrays import Array, ComplexArray, Integers, Mask

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


def equal_panels(part: DensityPart, width: float) -> tuple[Array, Array]:
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

    def variation(self) -> float:
        """Bound the variation of g over the whole line, jumps at the ends included."""
        with np.errstate(over="ignore", invalid="ignore"):
            g = np.exp(self.log_g)
            rise = np.abs(np.diff(g))
            wild = self.swing * np.exp(self.log_g[:-1] + self.swing)
        total = float(np.where(self.certain, rise, wild).sum()) + float(g[0] + g[-1])
        # 1e-9 covers the rounding of log g, whose terms stay below 1e5.
        return total * MARGIN * (1.0 + 1e-9)

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


def tilted_variation(parts: Iterable[DensityPart], exponent: float) -> float:
    """Return a bound on the variation of g over the whole line, jumps at the ends included."""
    cells = (VariationCells.of(part, exponent) for part in parts if part.high > part.low)
    return sum(each.variation() for each in cells)


class WeightedLosses(NamedTuple):
    """Weights and losses of nodes and atoms, l = log(1 + y), in arrays of one length.

    Attributes:
        log_w: log weight (rule weight times density, or an atom's mass).
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


NO_OUTCOMES = WeightedLosses(*(np.zeros(0) for _ in WeightedLosses._fields))


class MixtureRange(NamedTuple):
    """Bounds on rectangles for 1 + s y of one mixture, s = 1, or all s in [0, 1].

    Attributes:
        log_largest: of log |1 + s y| from above; for all s at least 0.
        log_smallest: from below; for all s at most 0.
        turn: of the modulus of its argument.
    """

    log_largest: Array
    log_smallest: Array
    turn: Array


class DensityPart(ABC):
    """Outcomes in a coordinate x between two ends, of one density."""

    __slots__ = ()

    density: Density
    low: float
    high: float

    # Panels of the fixed rule of searches, in x, or in deviations where these are below 1.
    search_width: ClassVar[float] = 2.2

    @abstractmethod
    def factors(
        self, low: Array, high: Array, height: Array, exponent: float, *, path: bool
    ) -> list[tuple[float, MixtureRange]]:
        """Return the mixtures whose powers the integrand is a product of, with their powers.

        Where `path` is set, for all s in [0, 1] (see `MixtureRange`), else for s = 1.
        """

    @abstractmethod
    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Return the log of a bound on the distance of the mixtures, or of one mixture from 1."""

    @abstractmethod
    def outcomes(
        self, x: Array, log_weights: Array, reach: Array, exponent: float
    ) -> WeightedLosses:
        """Return the outcomes at the nodes of a rule.

        Args:
            x: the nodes.
            log_weights: of the rule.
            reach: the nodes are off by 2 units of this.
            exponent: real part of the power of 1 + y that the errors are to cover.
        """

    @abstractmethod
    def tilted(self, x: Array, exponent: float) -> tuple[Array, list[Array]]:
        """Return the log of the density of the loss times (1 + y)^exponent at x.

        And arrays whose sum is the slope of that, each monotone in x.
        """


def mixture_range(q: float, low: Array, high: Array, height: Array, *, path: bool) -> MixtureRange:
    """Bound 1 + s y, s in [0, 1] or s = 1, y = q (e^x - 1), on rectangles around [low, high].

    * |1 + s y| <= max(1, 1 - q + q e^{x_hi}), and |1 + s y| >= Re(1 + s y) >=
      min(1, 1 - q + q e^{x_lo} cos d) > 0 for |Im x| <= d < pi/2. At s = 1, all that plain powers
      need, 1 - q + q e^{x_hi} and 1 - q + q e^{x_lo} cos d do without 1.
    * 0 <= arg(1 + s y) <= arg(1 - q + q e^{x_hi + i d}) for Im x in [0, d]: the argument of
      (1 - u) + u e^{z} grows with the ratio u e^{Re z} / (1 - u), and with Im z while the latter is
      below pi/2.
    """
    log_q = np.log(q)
    with np.errstate(divide="ignore"):
        log_rest = np.log1p(-np.asarray(q))
    cosine = np.cos(height)
    # They may be much smaller than their terms, and are multiplied by large exponents.
    wrong = 8.0 * UNIT * (1.0 - log_q + np.maximum(np.abs(low), np.abs(high)))
    log_largest = np.logaddexp(log_rest, log_q + high) + wrong
    log_smallest = np.logaddexp(log_rest, log_q + low + np.log(cosine)) - wrong
    if path:
        log_largest, log_smallest = np.maximum(0.0, log_largest), np.minimum(0.0, log_smallest)
    # Divided by e^{x_hi}, which may overflow.
    rest = (1.0 - q) * np.exp(np.minimum(-high, 700.0))
    turn = np.arctan2(q * np.sin(height), rest + q * cosine)
    return MixtureRange(log_largest, log_smallest, turn)


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
        outcomes: nodes and atoms.
        exponent: real part of a.
        t_max: largest |t| for which `quadrature` holds.
        quadrature: absolute bound on the quadrature error of M, for every |t| <= t_max.
        out: R(out) and W(out).
        rate: q, the factor of W - R in y.
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
        parts: Iterable[DensityPart],
        atoms: WeightedLosses,
        integrals: tuple[float, float],
        log_target: float,
        *,
        remainder: bool,
        out: tuple[float, float],
        rate: float,
        out_error: float = OUT_ERROR,
    ) -> NodeSet:
        """Place nodes on parts; atoms are there, too.

        Args:
            parts: those that are not empty are integrated.
            atoms: outcomes as they are.
            integrals: exponent and t_max.
            log_target: log of the error that each part, and leaving out faint nodes, may add.
            remainder: whether M - 1 is integrated, or M.
            out: see the class.
            rate: see the class.
            out_error: see the class.

        Raises:
            NotCertifiedError: too many panels would be needed, or nothing is left.
        """
        exponent, t_max = integrals
        rows, error = list[WeightedLosses](), 0.0
        for part in parts:
            if not part.high > part.low:
                continue
            integrand = Integrand(part, exponent, t_max, remainder)
            centres, halves, bound = certified_panels(integrand, log_target)
            rows.append(on_part(part, centres, halves, exponent))
            error += bound
        outcomes = joined([*rows, atoms])
        if not len(outcomes.loss):
            raise NotCertifiedError("nothing is left to integrate")
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
                modulus = math.hypot(self.exponent, self.t_max) * math.hypot(
                    self.exponent - 1.0, self.t_max
                )
                power = (self.exponent - 2.0) * loss
                log_size = log_w + np.maximum(power, 0.0) + 2.0 * np.log(np.abs(y))
                log_size = log_size + math.log(0.5 * modulus + 1e-300)
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


def search_outcomes(parts: Iterable[DensityPart], atoms: WeightedLosses) -> WeightedLosses:
    """Return outcomes on a fixed rule, for searches only."""
    rows = [
        on_part(part, *equal_panels(part, part.search_width), 0.0)
        for part in parts
        if part.high > part.low
    ]
    return joined([*rows, atoms])


def joined(outcomes: list[WeightedLosses]) -> WeightedLosses:
    """Return all outcomes, one after the other."""
    return WeightedLosses(*(np.concatenate(columns) for columns in zip(*outcomes, strict=True)))


def on_part(
    part: DensityPart, centres: Array, halves: Array, exponent: float, off: Array | float = 0.0
) -> WeightedLosses:
    """Return the outcomes at the nodes of panels, whose centres are off by 2 units of `off`."""
    x, log_weights = composite_rule(centres, halves)
    charge((PER_OUTCOME if x.ndim == 1 else PER_OUTCOME_OF_MANY) * x.size)
    reach = np.repeat(np.abs(centres) + halves, POINTS, axis=-1) + off
    return part.outcomes(x, log_weights, reach, exponent)
