"""M(c + it) of a law from certified nodes, with all its errors, and its decay."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.contour import ContourLaw
from privcalc.losses.decay import far_point, steps_bound
from privcalc.numerics.arrays import Array, ComplexArray, Mask, vertical
from privcalc.numerics.complexlog import log1p_with_error
from privcalc.numerics.phases import PHASE_ULPS, phase_sums, progression_sums
from privcalc.numerics.rounding import COMPLEX_TERM, MARGIN, UNIT, exp_bound

if TYPE_CHECKING:
    from privcalc.losses.quadrature.law import QuadratureLaw
    from privcalc.losses.quadrature.nodes import NodeSet

# Nodes with |a l| below this use the power series of the remainder.
SERIES_BELOW = 0.5
SERIES_TERMS = 17
# l = log(1 + y) is off by so many units of itself, beside what outcomes are charged for, and its
# product with an exponent or a t by one more: y = q expm1(x) by 9, which log1p multiplies by at
# most y / ((1 + y) log1p(y)) < 1.45 where y > -1/2, and adds 8; below, 1 - q + q e^x is off by 11,
# and |l| >= log 2.
LOSS_UNITS = 24.0
# Larger node sets are not used for bounds on |phi|: no bound is given.
MAX_STEP_NODES = 30_000
# Nodes times steps that one bound on |phi| may cost.
STEP_WORK = 6_000_000


class QuadratureContour(ContourLaw):
    """M(c + it) of a law from a node set."""

    def __init__(self, law: QuadratureLaw, c: float, nodes: NodeSet) -> None:
        """Split the nodes into those summed by power series and those summed directly."""
        self.law, self.c, self.nodes = law, c, nodes
        self._direction = 1.0 if law.remove else -1.0
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
        term, size = w * loss, w * np.abs(loss) * (64.0 + len(w) + 3.0 * jitter)
        for k in range(2, SERIES_TERMS + 1):
            term, size = term * loss / k, size * np.abs(loss) / k
            moments.append(term.sum())
            sizes.append(size.sum())
        self._series = np.cumsum(np.array(moments)[::-1])
        self._series_noise = np.cumsum(np.array(sizes)[::-1]) * UNIT
        # What the series leaves out: (|a|^k + |a|) |l|^k / k! for k > SERIES_TERMS, below
        # 2.1 (A |l|)^(n + 1) / (n + 1)! with A = max(|a|, 1) and A |l| < 1/2.
        reach = math.hypot(max(abs(nodes.exponent), 1.0), nodes.t_max)
        order = SERIES_TERMS + 1
        self._series_rest = (
            2.1 * float((w * (reach * np.abs(loss)) ** order).sum()) / math.factorial(order)
        )

    def _prepare_direct(self, large: Mask) -> None:
        nodes = self.nodes
        log_w, y, loss, jitter, moved = nodes.only(large)
        self._loss, self._tilted = loss, nodes.tilted[large]
        w = np.exp(log_w)
        # w y in log space: y may be huge where w is tiny.
        wy = np.where(np.abs(y) < 1e200, w * y, np.exp(log_w + np.maximum(loss, 0.0)))
        self._weight, self._weight_y = float(w.sum()), float(wy.sum())
        charge = 16.0 + PHASE_ULPS + COMPLEX_TERM * len(w) + 3.0 * jitter
        exponent = abs(nodes.exponent)
        self._direct_noise = UNIT * float(
            (self._tilted * (charge + LOSS_UNITS * exponent * np.abs(loss))).sum()
            + (w * charge).sum()
        )
        self._direct_noise_y = UNIT * float((np.abs(wy) * (charge + 16.0)).sum())
        # The phase t l: t is off by no unit, x by what `moved` says.
        shaken = LOSS_UNITS * np.abs(loss) + moved
        self._phase_noise = UNIT * float((self._tilted * shaken).sum())

    @property
    def size(self) -> int:
        """Return the number of nodes that every t costs."""
        return len(self._loss) + SERIES_TERMS

    def minus_one(self, t: Array, sums: ComplexArray | None = None) -> tuple[ComplexArray, Array]:
        """Return M(c + it) - 1 and a bound on its absolute error, quadrature included.

        `sums` may give sum of tilted e^{itl} over the direct nodes, where it is known already.
        """
        nodes = self.nodes
        a = vertical(nodes.exponent, self._direction * t)
        modulus = np.abs(a)
        # For remove, a - 1 = c + it exactly; forming it from a would lose digits of a small c.
        a_minus_one = vertical(self.c, t) if self.law.remove else a - 1.0
        product = a * a_minus_one
        value = product * np.polyval(self._series, a)
        error = np.abs(product) * np.polyval(self._series_noise, modulus) + self._series_rest
        if len(self._loss):
            if sums is None:
                sums = phase_sums(t, self._direction * self._loss, self._tilted[:, None])[:, 0]
            value = value + sums - self._weight - a * self._weight_y
            error = error + self._direct_noise + modulus * self._direct_noise_y
            error = error + np.abs(t) * self._phase_noise
        out_r, out_w = nodes.out
        value = value - out_r + a * nodes.rate * (out_r - out_w)
        error = error + nodes.out_error * (out_r + modulus * nodes.rate * (out_r + out_w))
        return value, (error + 8.0 * UNIT * np.abs(value)) * MARGIN + nodes.quadrature * MARGIN

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c + it) and a bound on its error."""
        value, error = self.minus_one(t)
        return log1p_with_error(value, error)

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K and its error at t = k step, k < count."""
        return log1p_with_error(*self.minus_one_progression(step, count))

    def minus_one_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return M - 1 and its error at t = k step, k < count."""
        sums = None
        if len(self._loss):
            signed = self._direction * self._loss
            sums = progression_sums(0.0, step, count, signed, self._tilted[:, None])[:, 0]
        return self.minus_one(step * np.arange(count), sums)

    @cached_property
    def mgf_range(self) -> tuple[float, float]:
        """Return certified bounds on M(c) > 0."""
        value, error = self.minus_one(np.zeros(1))
        m, slack = 1.0 + float(value[0].real), float(error[0])
        return (m - slack) * (1.0 - 1e-12), (m + slack) * (1.0 + 1e-12)

    def modulus_supremum(self, t: float) -> float:
        """Bound |phi| beyond t: steps in ranges [t, 4t], ... and A + V/t at the end.

        In each range a part of the law with the largest losses is set aside (`losses/decay.py`);
        what may be set aside grows as |phi| falls, so that the number of steps in a range stays
        bounded however skewed the loss is.
        """
        lowest, _ = self.mgf_range
        if not lowest > 0.0:
            return 1.0
        logs = self.law.tilted_atoms(self.nodes.exponent).tolist()
        atoms = min(1.0, sum(exp_bound(log_mass) for log_mass in logs) / lowest * MARGIN)
        variation = self.law.variation(self.nodes.exponent) / lowest * MARGIN
        here = min(1.0, float(np.abs(1.0 + self.minus_one(np.array([t]))[0][0])) / lowest)
        stop = max(t, far_point(atoms, variation, here))
        far = atoms + variation / stop
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

        The nodes for the rest B are a discrete law of non-negative weights; on |t| <= right its
        transform is within `quadrature` of that of B. rho, the mass set aside, is M(c) minus the
        mass of B, both certified. All is divided by a lower bound of M(c). For weights of mass m
        and second moment v about any point, g'' <= 2 m v.

        Returns:
            The proved bound, and the largest |phi| seen plus rho.
        """
        lowest, highest = self.mgf_range
        log_error = math.log(min(1e-4, 1e-3 * max(1.0 - goal, 1e-11)))
        part = self.law.nodes(self.c, right, log_error, remainder=False, below=self._quantile(rare))
        weights = part.tilted / lowest
        if not len(weights) or len(weights) > MAX_STEP_NODES:
            return 1.0, 1.0
        _, _, loss, jitter, moved = part.outcomes
        mass = float(weights.sum())
        mean = float((weights * loss).sum()) / mass
        centred = loss - mean
        variance = float((weights * centred * centred).sum()) * max(mass, 1.0) * MARGIN
        absolute = float((weights * np.abs(centred)).sum())
        units = COMPLEX_TERM * len(weights) + PHASE_ULPS + 16.0 + 3.0 * jitter
        units = units + LOSS_UNITS * abs(part.exponent) * np.abs(loss)
        shaken_mass = UNIT * float((weights * units).sum())
        shaken = units + right * (8.0 * np.abs(centred) + LOSS_UNITS * np.abs(loss) + moved)
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

    def _quantile(self, rare: float) -> float:
        """Return about the y above which the tilted law has mass `rare` (a choice, not a bound)."""
        order = np.argsort(self.nodes.outcomes.loss)[::-1]
        above = np.cumsum(self.nodes.tilted[order]) / self.mgf_range[0]
        index = int(np.searchsorted(above, rare))
        if index == 0 or index >= len(order):
            return math.inf
        return float(self.nodes.outcomes.y[order[index]])
