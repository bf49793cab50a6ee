"""A composition cut at a loss near one answer: its transforms, rough and certified."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.inversion.line_sum import added, nothing
from privcalc.engine.inversion.tail_search import far_sums, near_sums
from privcalc.errors import NotCertifiedError
from privcalc.losses.quadrature import DecayingContour, QuadratureContour
from privcalc.numerics.arrays import log1p_with_error
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.inversion.line_sum import Known
    from privcalc.engine.inversion.tail_search import Parts
    from privcalc.losses.contour import ContourLaw
    from privcalc.losses.sampled.cut import CutLaw, JoinedContour, PowerPart
    from privcalc.numerics.arrays import Array


# Work for an exponential by itself, in units of what one costs in a product of matrices.
BY_ITSELF = 16


@record
class Laws:
    """All laws on one line: A, J (not on the right, nor of whole laws), and the others."""

    counts: Sequence[int]
    near: Sequence[QuadratureContour | JoinedContour]
    far: Sequence[PowerPart | None]
    others: Sequence[tuple[ContourLaw, int]]

    @property
    def size(self) -> int:
        """Return the work for one t."""
        near = sum(each.size for each in self.near)
        others = sum(
            each.size * (1 if isinstance(each, DecayingContour) else BY_ITSELF)
            for each, _ in self.others
        )
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
            beyond = self.far[index] if self.far else None
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
    """A cut composition near one answer.

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

    def exponents(self, orders: Array, *, right: bool) -> Array:
        """Return the exponents of 1 + y at orders of one side."""
        return orders + 1.0 if right and self.parts.remove else -orders

    def rough(self, grid: Array, *, right: bool) -> Array:
        """Return about log F on the real axis; infinite where it is no choice."""
        near = self.parts.other_cumulants(grid, right=right)
        rest = np.zeros(len(grid))
        with np.errstate(all="ignore"):
            for cut, n in self.cuts:
                below = near_sums(cut.law, cut.top, self.exponents(grid, right=right))
                near = near + n * np.log1p(below)
                if not (right or cut.whole):
                    rest = rest + n * np.log1p(far_sums(cut.law, cut.top, grid) / (1.0 + below))
            if not right:
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
            size = float(np.log1p(near_sums(cut.law, cut.top, exponent))[0])
            if not math.isfinite(size):
                raise NotCertifiedError("the transform of the cut law overflows")
            counts.append(n)
            error = share - math.log(n) + size
            near.append(cut.contour(c, t_max, error, remove=right and self.parts.remove))
            if cut.whole and not right:
                far.append(None)
            elif not right:
                log_j = math.log(float(far_sums(cut.law, cut.top, np.array([c]))[0]))
                if math.isnan(log_j):
                    raise NotCertifiedError("the transform beyond the split underflows")
                room = share - math.log(n) - self._log_saddle(c)
                far.append(cut.beyond(c, t_max, min(max(room, share + log_j), log_j - 3.0)))
        whole = self.parts.whole(right=right)
        others = [(law.on_contour(c, t_max, share - math.log(n)), n) for law, n in whole]
        return Laws(counts, near, far, others)

    def _log_saddle(self, w: float) -> float:
        """Return about log of e^{near} e^{(w + 1) epsilon} / (w (w + 1)) over delta."""
        near = float(self.parts.other_cumulants(np.array([w]), right=False)[0])
        for cut, n in self.cuts:
            near += n * float(np.log1p(near_sums(cut.law, cut.top, np.array([-w])))[0])
        return near + (w + 1.0) * self.epsilon - math.log(w * (w + 1.0)) - self.log_delta


@record
class Reals:
    """Certified values on the real axis.

    Attributes:
        near: bounds on each A.
        far: upper bounds on each J.
        log_others: upper bound on the others' cumulants.
        log_f: upper bound on log F.
    """

    near: tuple[tuple[float, float], ...]
    far: tuple[float, ...]
    log_others: float
    log_f: float

    @classmethod
    def of(cls, frame: Frame, c: float, *, right: bool) -> Reals:
        """Evaluate all laws at c, or w."""
        laws = frame.laws(c, 0.0, right=right)
        real = [each for each in laws.near if isinstance(each, QuadratureContour)]
        near = tuple(each.mgf_range for each in real)
        far = tuple(each.range[1] if each else 0.0 for each in laws.far)
        if not min(low for low, _ in near) > 0.0:
            raise NotCertifiedError("the transform of the cut law is not known to be positive")
        others = total = rest = 0.0
        for each, n in laws.others:
            value, error = each.log_mgf(np.zeros(1))
            others += n * float(value[0].real + error[0])
        for index, (each, n) in enumerate(zip(real, laws.counts, strict=True)):
            value, error = each.log_mgf(np.zeros(1))
            total += n * float(value[0].real + error[0])
            if not right:
                rest += n * math.log1p(far[index] / near[index][1])
        log_f = others + total + (0.0 if right else _log_expm1(rest))
        slack = 1e-9 + 1e-12 * (abs(others) + abs(total) + abs(rest))
        return cls(near, far, others + slack, log_f + slack)


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x)) if x > 0.0 else -math.inf
