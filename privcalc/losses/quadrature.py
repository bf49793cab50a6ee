"""Laws of mixtures with densities, by certified quadrature of M on a vertical line.

The loss is log(1 + y), or minus that, where 1 + y is a ratio of mixtures to a law R, and
M(s) = E_R (1 + y)^a with a = s + 1, or a = -s. The outcomes come in parts with a density, and
atoms (`quadrature_nodes.py`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.contour import ContourLaw, far_point, steps_bound
from privcalc.losses.law import LossLaw
from privcalc.losses.quadrature_nodes import NO_OUTCOMES, NodeSet, search_outcomes, tilted_variation
from privcalc.numerics.arrays import log1p_with_error, vertical
from privcalc.numerics.phases import (
    PHASE_ULPS,
    phase_rows,
    phase_sums,
    progression_rows,
    progression_sums,
    run_sums,
    sum_units,
)
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.quadrature_nodes import DensityPart, WeightedLosses
    from privcalc.numerics.arrays import Array, ComplexArray, Mask

# Sums of tilted weights stay finite below this; K beyond it is reported as infinite.
LARGEST_LOG_MGF = 600.0
# More than rounding makes of a mean that is 0.
UNBALANCED = 1e-9


class QuadratureLaw(LossLaw):
    """A law that is known by certified quadrature.

    Attributes:
        remove: whether a = c + 1 + it, and the loss log(1 + y); else a = -c - it, and minus that.
    """

    remove: bool

    @property
    def rate(self) -> float:
        """The factor of W - R in y; 1 where nothing is sampled with one rate."""
        return 1.0

    @abstractmethod
    def parts(self, below: float = math.inf) -> tuple[DensityPart, ...]:
        """Return the outcomes with a density and y <= below."""

    def atom_outcomes(self, exponent: float, below: float = math.inf) -> WeightedLosses:
        """Return the atoms with y <= below; their errors cover powers (1 + y)^exponent."""
        del exponent, below
        return NO_OUTCOMES

    def outside(self) -> tuple[float, float]:
        """Return the masses outside of the parts, under R and W."""
        return 0.0, 0.0

    @cached_property
    def _search_outcomes(self) -> WeightedLosses:
        """Return outcomes on a fixed rule, for searches only."""
        return search_outcomes(self.parts(), self.atom_outcomes(0.0))

    def nodes(
        self,
        c: float,
        t_max: float,
        log_error: float,
        *,
        remainder: bool = True,
        below: float = math.inf,
    ) -> NodeSet:
        """Return certified nodes of the outcomes with y <= below; the error is relative to M(c).

        Raises:
            NotCertifiedError: M(c) overflows, or the quadrature is too long.
        """
        log_mgf = self.cumulants(c)[0]
        if not math.isfinite(log_mgf):
            raise NotCertifiedError(
                f"the moment generating function overflows at order {c + 1.0:.6g}"
            )
        exponent, parts = c + 1.0 if self.remove else -c, self.parts(below)
        return NodeSet.placed(
            parts,
            self.atom_outcomes(exponent, below),
            (exponent, t_max),
            log_error + log_mgf - math.log(len(parts) + 1.0),
            remainder=remainder,
            out=self.outside(),
            rate=self.rate,
        )

    @cached_property
    def _search_sums(self) -> SearchSums:
        """Return what a search asks for again and again."""
        return SearchSums(self._search_outcomes)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Estimate K, K', K'' at c, using E_R y = 0 against cancellation."""
        outcomes = self._search_outcomes
        charge(SEARCH + PER_SEARCHED * len(outcomes.loss))
        a, sign = (c + 1.0, 1.0) if self.remove else (-c, -1.0)
        log_mgf, first, second = (float(each) for each in self._search_sums.cumulants(a))
        return log_mgf, sign * first, second

    def variation(self, exponent: float) -> float:
        """Bound the total variation of the tilted density of the loss, not yet divided by M."""
        return tilted_variation(self.parts(), exponent)

    def log_mgf_estimate(self, z: ComplexArray) -> ComplexArray:
        """Return K at any complex points from the fixed rule of the searches."""
        log_w, _, loss, *_ = self._search_outcomes
        a = z + 1.0 if self.remove else -z
        value: ComplexArray = np.log(np.exp(np.outer(a, loss) + log_w).sum(axis=1))
        return value


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
        self._size = np.abs(self._loss)

    def cumulants(self, a: float) -> tuple[Array, Array, Array]:
        """Estimate log E (1 + y)^a and its first two derivatives; a number for each row.

        Most arrays are short, and what takes time is how many operations there are.
        """
        loss, wy = self._loss, self._wy
        with np.errstate(over="ignore", invalid="ignore"):
            exponent = a * loss
            log_tilted = self._log_w + exponent
            shift = log_tilted.max(axis=-1, keepdims=True)
            far = shift > 300.0
            any_far = far.any()
            if any_far:
                shift = np.where(far, shift, 0.0)
                log_tilted = log_tilted - shift
            tilted = np.exp(log_tilted)
            excess = tilted - self._w - a * wy
            near = (np.abs(exponent) + self._size < 1e-3) & self._balanced
            if near.any():
                square = 0.5 * a * (a - 1.0) * loss**2 * (1.0 + (a + 1.0) * loss / 3.0)
                excess = np.where(near, self._w * square, excess)
            m1 = excess.sum(axis=-1)
            mass, log_mgf, moment = 1.0 + m1, np.log1p(m1), tilted * loss
            if any_far:
                far, total = far[..., 0], tilted.sum(axis=-1)
                mass = np.where(far, total, mass)
                log_mgf = np.where(far, shift[..., 0] + np.log(total), log_mgf)
                wy = np.where(shift > 0.0, 0.0, wy)
            first = (moment - wy).sum(axis=-1) / mass
            second = (moment * loss).sum(axis=-1) / mass - first * first
            if any_far:
                centred = (tilted * (loss - first[..., None]) ** 2).sum(axis=-1) / mass
                second = np.where(far, centred, second)
            log_mgf = np.where(log_mgf > LARGEST_LOG_MGF, np.inf, log_mgf)
        return log_mgf, first, second


def estimated_cumulants(outcomes: WeightedLosses, a: float) -> tuple[Array, Array, Array]:
    """Estimate log E (1 + y)^a and its first two derivatives; a number for each row of outcomes."""
    return SearchSums(outcomes).cumulants(a)


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
                signed = self._direction * self._loss
                if signed.ndim == 1:
                    sums = phase_sums(t, signed, self._tilted[:, None])[:, 0]
                else:
                    sums = phase_rows(t, signed, self._tilted)
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
            signed = self._direction * self._loss
            if signed.ndim == 1:
                sums = progression_sums(0.0, step, count, signed, self._tilted[:, None])[:, 0]
            else:
                sums = progression_rows(step, count, signed, self._tilted)
        return self.minus_one(step * np.arange(count), sums)


# Work of a search of K at one point, and what each outcome adds (28 and 0.024 microseconds).
SEARCH, PER_SEARCHED = 300.0, 0.4
# Larger node sets are not used for bounds on |phi|: no bound is given.
MAX_STEP_NODES = 30_000
# Nodes times steps that one bound on |phi| may cost.
STEP_WORK = 6_000_000


@record
class NodeWeights:
    """Outcomes of a tilted law, or of a part of it, not yet divided by M(c).

    Attributes:
        loss: of each.
        weights: of each, not negative.
        units: relative errors of the weights, in units.
        moved: absolute errors of the losses, in units.
        quadrature: how far the transform is from that of what they stand for, for the t in use.

    Of many laws there is a row for each, and a quadrature error.
    """

    loss: Array
    weights: Array
    units: Array
    moved: Array
    quadrature: Any

    @classmethod
    def of(cls, nodes: NodeSet, sign: float) -> NodeWeights:
        """Take nodes of plain powers, and the sign that a loss has where y > 0."""
        _, _, loss, jitter, moved = nodes.outcomes
        size = np.abs(loss)
        units = 3.0 * jitter + LOSS_UNITS * abs(nodes.exponent) * size
        return cls(sign * loss, nodes.tilted, units, LOSS_UNITS * size + moved, nodes.quadrature)


class QuadratureContour(ContourLaw):
    """A law whose loss is log(1 + y), or minus that, from one node set."""

    law: QuadratureLaw

    def __init__(self, law: QuadratureLaw, c: float, nodes: NodeSet) -> None:
        """Take the nodes of M - 1 at c."""
        self.law, self.c = law, c
        self._sum = RemainderSum(c, nodes, remove=law.remove)

    @property
    def size(self) -> int:
        """Return the number of nodes that every t costs."""
        return self._sum.size

    def minus_one(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return the sum over the nodes."""
        return self._sum.minus_one(t)

    def minus_one_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return the sums over the nodes."""
        return self._sum.minus_one_progression(step, count)

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c + it) and a bound on its error."""
        return log1p_with_error(*self.minus_one(t))

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K and its error at t = k step, k < count."""
        return log1p_with_error(*self.minus_one_progression(step, count))

    @cached_property
    def mgf_range(self) -> tuple[float, float]:
        """Return certified bounds on M(c) > 0."""
        value, error = self.minus_one(np.zeros(1))
        m, slack = 1.0 + float(value[0].real), float(error[0])
        return (m - slack) * (1.0 - 1e-12), (m + slack) * (1.0 + 1e-12)

    def modulus_supremum(self, t: float) -> float:
        """Bound |phi| beyond t: steps in ranges [t, 4t], ... and V/t at the end.

        In each range a part of the law with the largest losses is set aside (`losses/contour.py`);
        what may be set aside grows as |phi| falls, so that the number of steps in a range stays
        bounded however skewed the loss is.
        """
        lowest, _ = self.mgf_range
        if not lowest > 0.0:
            return 1.0
        variation = self.law.variation(self._sum.nodes.exponent) / lowest * MARGIN
        here = min(1.0, float(np.abs(1.0 + self.minus_one(np.array([t]))[0][0])) / lowest)
        stop = max(t, far_point(variation, here))
        far = variation / stop
        if not math.isfinite(far):
            return 1.0
        goal = max(here, min(far, 1.0))
        worst, left, rare = far, t, 0.02 * (1.0 - here)
        while left < stop and worst < 1.0:
            right = min(4.0 * left, stop)
            bound, level = self._range_bound(left, right, goal, rare)
            if math.isnan(bound):
                return 1.0
            worst = max(worst, bound)
            rare = max(rare, 0.25 * (goal - level))
            left = right
        return min(1.0, worst * MARGIN)

    def _range_bound(
        self, left: float, right: float, goal: float, rare: float
    ) -> tuple[float, float]:
        """Bound |phi| on [left, right], setting aside about the tilted mass `rare`.

        The outcomes for the rest B have non-negative weights; on |t| <= right their transform is
        within `quadrature` of that of B. rho, the mass set aside, is M(c) minus the mass of B, both
        certified. All is divided by a lower bound of M(c). For weights of mass m and second moment
        v about any point, g'' <= 2 m v.

        Returns:
            The proved bound, and the largest |phi| seen plus rho.
        """
        lowest, highest = self.mgf_range
        log_error = math.log(min(1e-4, 1e-3 * max(1.0 - goal, 1e-11)))
        try:
            part = self.without(rare, right, log_error)
        except NotCertifiedError:
            return 1.0, 1.0
        weights, loss = part.weights / lowest, part.loss
        if not len(weights) or len(weights) > MAX_STEP_NODES:
            return 1.0, 1.0
        mass = float(run_sums(weights)[0])
        mean = float((weights * loss).sum()) / mass
        centred = loss - mean
        variance = float((weights * centred * centred).sum()) * max(mass, 1.0) * MARGIN
        absolute = float((weights * np.abs(centred)).sum())
        units = sum_units(len(weights)) + PHASE_ULPS + 16.0 + part.units
        shaken_mass = UNIT * float((weights * units).sum())
        shaken = units + right * (8.0 * np.abs(centred) + part.moved)
        noise = UNIT * float((weights * shaken).sum())
        slope_noise = UNIT * float((weights * np.abs(centred) * shaken).sum()) + noise * absolute
        quadrature = part.quadrature / lowest
        rho = max(0.0, highest / lowest - mass + shaken_mass + quadrature)
        columns = np.stack([weights, weights * centred], axis=1)

        def squared(points: Array, step: float | None) -> tuple[Array, Array]:
            if step is None:
                sums = phase_sums(points, centred, columns)
            else:
                sums = progression_sums(points[0], step, len(points), centred, columns)
            phi, derivative = sums[:, 0], 1j * sums[:, 1]
            g = np.abs(phi) ** 2
            slope = 2.0 * np.real(np.conj(phi) * derivative)
            return g + 4.0 * noise, slope + 4.0 * slope_noise

        bound, seen = steps_bound(
            squared,
            variance=variance,
            start=left,
            stop=right,
            goal=max(goal - rho, 0.5 * goal),
            most_steps=max(64, STEP_WORK // len(weights)),
        )
        return bound + rho + quadrature, seen + rho + quadrature

    def without(self, rare: float, t_max: float, log_error: float) -> NodeWeights:
        """Return the tilted law for |t| <= t_max without largest losses of mass about `rare`."""
        below = largest_y(self._sum.nodes, rare * self.mgf_range[0])
        nodes = self.law.nodes(self.c, t_max, log_error, remainder=False, below=below)
        return NodeWeights.of(nodes, 1.0 if self.law.remove else -1.0)


def largest_y(nodes: NodeSet, rare: float) -> float:
    """Return about the y above which nodes have a tilted mass (a choice, not a bound)."""
    order = np.argsort(nodes.outcomes.loss)[::-1]
    index = int(np.searchsorted(np.cumsum(nodes.tilted[order]), rare))
    if index == 0 or index >= len(order):
        return math.inf
    return float(nodes.outcomes.y[order[index]])
