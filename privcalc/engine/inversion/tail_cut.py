"""A composition cut at a loss near one answer: its transforms, rough and certified."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.inversion.line_sum import added, nothing
from privcalc.engine.inversion.tail_search import far_sums, near_logs
from privcalc.errors import NotCertifiedError
from privcalc.numerics.arrays import log1p_with_error
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.inversion.line_sum import Known
    from privcalc.engine.inversion.tail_search import Parts
    from privcalc.losses.law import ContourLaw
    from privcalc.losses.sampled.cut import CutLaw, PowerPart
    from privcalc.losses.sampled.law import QuadratureContour
    from privcalc.numerics.arrays import Array


# Work for an exponential by itself, in units of what one costs in a product of matrices.
BY_ITSELF = 16


@record
class Laws:
    """All laws on one line: A, J where there is one, and the others."""

    counts: Sequence[int]
    near: Sequence[QuadratureContour | PowerPart]
    far: Sequence[PowerPart | None]
    others: Sequence[tuple[ContourLaw, int]]

    @property
    def size(self) -> int:
        """Return the work for one t."""
        near = sum(each.size for each in self.near)
        others = sum(each.size if each.size > 1 else BY_ITSELF for each, _ in self.others)
        return near + sum(each.size for each in self.far if each) + others

    def values(self, step: float, nodes: int) -> tuple[Known, Known]:
        """Evaluate sum n log A with the others' cumulants, and sum n log(1 + J / A).

        J / A is formed as J e^{-K}, K = log A: off by the error of J, and relatively by that of K,
        4 units of it, 4 for exp's parts each and 3 for the product.
        """
        near, rest = nothing(nodes + 1), nothing(nodes + 1)
        terms = len(self.near) + len(self.others)
        for index, (law, n) in enumerate(zip(self.near, self.counts, strict=True)):
            k, k_error = law.log_mgf_progression(step, nodes + 1)
            near = added(near, n, (k, k_error), terms)
            beyond = self.far[index]
            if beyond is not None:
                j, j_error = beyond.progression(step, nodes + 1)
                ratio = j * np.exp(-k)
                relative = np.expm1(np.minimum(k_error, 1.0)) + UNIT * (16.0 + 4.0 * np.abs(k))
                wrong = (j_error * np.exp(-k.real) * 1.02 + np.abs(ratio) * relative) * MARGIN
                wrong = np.where(k_error < 1e-2, wrong, np.inf)
                rest = added(rest, n, log1p_with_error(ratio, wrong), terms)
        for other, n in self.others:
            near = added(near, n, other.log_mgf_progression(step, nodes + 1), terms)
        return near, rest


@record
class Frame:
    """A cut composition near one answer: a measure with the transform F.

    F = prod (A + J)^n - prod A^n, of the event that some outcome is one of J, where there is a J;
    prod A^n elsewhere.

    Attributes:
        parts: the composition.
        cuts: its sampled laws, cut.
        epsilon: where the answer is, about.
        log_delta: log of delta there.
        relative: error of delta that each term may make.
    """

    parts: Parts
    cuts: tuple[tuple[CutLaw, int], ...]
    epsilon: float
    log_delta: float
    relative: float

    @property
    def log_target(self) -> float:
        """Return the log of the error that is allowed."""
        return self.log_delta + math.log(self.relative)

    @property
    def alone(self) -> bool:
        """Return whether no law has a J."""
        return all(cut.alone for cut, _ in self.cuts)

    @property
    def small(self) -> Frame:
        """Return the event that no outcome is one of J."""
        return replace(self, cuts=tuple((replace(cut, far=cut.top), n) for cut, n in self.cuts))

    def deviation(self, c: float) -> float:
        """Return about the deviation of the loss, tilted by c where nothing is cut."""
        if self.cuts:
            variance = self.parts.variance
        else:
            variance = sum(n * law.cumulants(c)[2] for law, _, n in self.parts.others)
        return math.sqrt(max(variance, 1e-300))

    def exponents(self, orders: Array, *, right: bool) -> Array:
        """Return the exponents of 1 + y at orders of one side."""
        return orders + 1.0 if right else -orders

    def rough(self, grid: Array, *, right: bool) -> Array:
        """Return about log F on the real axis; infinite where it is no choice."""
        near = self.parts.other_cumulants(grid, right=right)
        rest = np.zeros(len(grid))
        with np.errstate(all="ignore"):
            for cut, n in self.cuts:
                exponents = self.exponents(grid, right=right)
                below = near_logs(cut.law, cut.top, exponents)
                near = near + n * below
                if not cut.alone:
                    rest = rest + n * np.log1p(far_sums(cut, exponents) * np.exp(-below))
            if not self.alone:
                log_rest = np.where(rest > 30.0, rest, np.log(np.expm1(np.minimum(rest, 30.0))))
                near = near + log_rest
        return np.where(np.isfinite(near), near, np.inf)

    def shifts(self, grid: Array, *, right: bool) -> Array:
        """Return what epsilon adds to log F."""
        return -grid * self.epsilon if right else (grid + 1.0) * self.epsilon

    def laws(self, c: float, t_max: float, *, right: bool) -> Laws:
        """Prepare all laws for |t| <= t_max.

        Quadrature errors of A are allowed `relative` / 10 of delta together; relative ones carry
        over to F as they are. So are those of J, relative to itself or, where that is more, to
        delta over e^{near} and the kernel at the saddle.
        """
        near, counts = [], []
        far: list[PowerPart | None] = []
        share = math.log(self.relative / (10.0 * (len(self.cuts) + len(self.parts.others))))
        for cut, n in self.cuts:
            exponent = self.exponents(np.array([c]), right=right)
            size = float(near_logs(cut.law, cut.top, exponent)[0])
            if not math.isfinite(size):
                raise NotCertifiedError("the transform of the cut law overflows")
            counts.append(n)
            error = share - math.log(n) + size
            near.append(cut.contour(c, t_max, error, remove=right))
            if cut.alone:
                far.append(None)
                continue
            log_j = math.log(float(far_sums(cut, exponent)[0]))
            if math.isnan(log_j):
                raise NotCertifiedError("the transform beyond the split is out of range")
            room = share - math.log(n) - self._log_saddle(c, right=right)
            error = min(max(room, share + log_j), log_j - 3.0)
            far.append(cut.beyond(c, t_max, error, remove=right))
        whole = self.parts.whole(right=right)
        others = [(law.on_contour(c, t_max, share - math.log(n)), n) for law, n in whole]
        return Laws(counts, near, far, others)

    def _log_saddle(self, c: float, *, right: bool) -> float:
        """Return about log of prod (A + J)^n, what epsilon adds and the kernel, over delta."""
        at = np.array([c])
        size = self.parts.other_cumulants(at, right=right) + self.shifts(at, right=right)
        exponents = self.exponents(at, right=right)
        for cut, n in self.cuts:
            near = near_logs(cut.law, cut.top, exponents)
            far = 0.0 if cut.alone else far_sums(cut, exponents) * np.exp(-near)
            size += n * (near + np.log1p(far))
        return float(size[0]) - math.log(c * (c + 1.0)) - self.log_delta


@record
class Reals:
    """Certified values on the real axis.

    Attributes:
        near: bounds on each A.
        far: upper bounds on each J.
        others: the other laws, known at t = 0 alone.
        log_others: upper bound on their cumulants.
        log_f: upper bound on log F.
    """

    near: tuple[tuple[float, float], ...]
    far: tuple[float, ...]
    others: Sequence[tuple[ContourLaw, int]]
    log_others: float
    log_f: float

    @classmethod
    def of(cls, frame: Frame, c: float, *, right: bool) -> Reals:
        """Evaluate all laws at c, or w."""
        laws = frame.laws(c, 0.0, right=right)
        near = tuple(each.mgf_range for each in laws.near)
        far = tuple(each.mgf_range[1] if each else 0.0 for each in laws.far)
        if not all(low > 0.0 for low, _ in near):
            raise NotCertifiedError("the transform of the cut law is not known to be positive")
        others = total = rest = 0.0
        for each, n in laws.others:
            value, error = each.log_mgf(np.zeros(1))
            others += n * float(value[0].real + error[0])
        for index, (cut, n) in enumerate(zip(laws.near, laws.counts, strict=True)):
            value, error = cut.log_mgf_progression(1.0, 1)
            total += n * float(value[0].real + error[0])
            rest += n * math.log1p(far[index] / near[index][1])
        log_f = others + total + (0.0 if frame.alone else _log_expm1(rest))
        slack = 2e-9 + 2e-9 * abs(rest) + 1e-12 * (abs(others) + abs(total) + abs(rest))
        return cls(near, far, laws.others, others + slack, log_f + slack)


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x)) if x > 0.0 else -math.inf
