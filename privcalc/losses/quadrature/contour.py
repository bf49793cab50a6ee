"""M(c + it) of a law from certified nodes, and its decay."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.contour import ContourLaw, far_point, steps_bound
from privcalc.losses.quadrature.remainder import LOSS_UNITS, RemainderSum
from privcalc.numerics.arrays import log1p_with_error
from privcalc.numerics.phases import PHASE_ULPS, phase_sums, progression_sums
from privcalc.numerics.rounding import COMPLEX_TERM, MARGIN, UNIT, exp_bound
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.losses.quadrature.law import QuadratureLaw
    from privcalc.losses.quadrature.nodes import NodeSet
    from privcalc.numerics.arrays import Array, ComplexArray

# Larger node sets are not used for bounds on |phi|: no bound is given.
MAX_STEP_NODES = 30_000
# Nodes times steps that one bound on |phi| may cost.
STEP_WORK = 6_000_000


@record
class Weights:
    """Outcomes of a tilted law, or of a part of it, not yet divided by M(c).

    Attributes:
        loss: of each.
        weights: of each, not negative.
        units: relative errors of the weights, in units.
        moved: absolute errors of the losses, in units.
        quadrature: how far the transform is from that of what they stand for, for the t in use.
    """

    loss: Array
    weights: Array
    units: Array
    moved: Array
    quadrature: float

    @classmethod
    def of(cls, nodes: NodeSet, sign: float) -> Weights:
        """Take nodes of plain powers, and the sign that a loss has where y > 0."""
        _, _, loss, jitter, moved = nodes.outcomes
        size = np.abs(loss)
        units = 3.0 * jitter + LOSS_UNITS * abs(nodes.exponent) * size
        return cls(sign * loss, nodes.tilted, units, LOSS_UNITS * size + moved, nodes.quadrature)


class DecayingContour(ContourLaw):
    """A law on a vertical line, known by M - 1 there and by outcomes that stand for it.

    Attributes:
        law: the law.
        c: the abscissa.
    """

    law: LossLaw
    c: float

    @abstractmethod
    def minus_one(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return M(c + it) - 1 and a bound on its absolute error, quadrature included."""

    @abstractmethod
    def minus_one_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return the same at t = k step, k < count."""

    def minus_one_blocks(self, starts: Array, step: float, size: int) -> tuple[ComplexArray, Array]:
        """Return the same at t = start + k step, k < size, a row for each start; few bits all."""
        t = starts[:, None] + step * np.arange(size)
        value, error = self.minus_one(t.ravel())
        return value.reshape(t.shape), error.reshape(t.shape)

    @abstractmethod
    def far(self) -> tuple[float, float]:
        """Bound the mass of atoms and the variation of the density, tilted, not divided by M."""

    @abstractmethod
    def without(self, rare: float, t_max: float, log_error: float) -> Weights:
        """Return the tilted law for |t| <= t_max without largest losses of mass about `rare`."""

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
        """Bound |phi| beyond t: steps in ranges [t, 4t], ... and A + V/t at the end.

        In each range a part of the law with the largest losses is set aside (`losses/contour.py`);
        what may be set aside grows as |phi| falls, so that the number of steps in a range stays
        bounded however skewed the loss is.
        """
        lowest, _ = self.mgf_range
        if not lowest > 0.0:
            return 1.0
        mass, variation = (each / lowest * MARGIN for each in self.far())
        atoms = min(1.0, mass)
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
        mass = float(weights.sum())
        mean = float((weights * loss).sum()) / mass
        centred = loss - mean
        variance = float((weights * centred * centred).sum()) * max(mass, 1.0) * MARGIN
        absolute = float((weights * np.abs(centred)).sum())
        units = COMPLEX_TERM * len(weights) + PHASE_ULPS + 16.0 + part.units
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


class QuadratureContour(DecayingContour):
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

    def minus_one_blocks(self, starts: Array, step: float, size: int) -> tuple[ComplexArray, Array]:
        """Return the sums over the nodes."""
        return self._sum.minus_one_blocks(starts, step, size)

    def far(self) -> tuple[float, float]:
        """Return what the law says."""
        exponent = self._sum.nodes.exponent
        logs = self.law.tilted_atoms(exponent).tolist()
        return sum(exp_bound(log_mass) for log_mass in logs), self.law.variation(exponent)

    def without(self, rare: float, t_max: float, log_error: float) -> Weights:
        """Leave out what lies above a y."""
        below = largest_y(self._sum.nodes, rare * self.mgf_range[0])
        remove = self.law.remove
        nodes = self.law.nodes(
            self.c, t_max, log_error, remove=remove, remainder=False, below=below
        )
        return Weights.of(nodes, 1.0 if remove else -1.0)


def largest_y(nodes: NodeSet, rare: float) -> float:
    """Return about the y above which nodes have a tilted mass (a choice, not a bound)."""
    order = np.argsort(nodes.outcomes.loss)[::-1]
    index = int(np.searchsorted(np.cumsum(nodes.tilted[order]), rare))
    if index == 0 or index >= len(order):
        return math.inf
    return float(nodes.outcomes.y[order[index]])
