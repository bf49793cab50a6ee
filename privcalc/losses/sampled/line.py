"""A mixture of normal laws against one of them, and K and |phi| of its loss on a vertical line."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.contour import ContourLaw, LineLaw
from privcalc.losses.quadrature import (
    PER_SEARCHED,
    SEARCH,
    NodeSet,
    RemainderSum,
    SearchSums,
    equal_panels,
    on_part,
)
from privcalc.losses.sampled.decay import log_suprema
from privcalc.numerics.arrays import log1p_with_error
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.losses.quadrature import Normal
    from privcalc.losses.sampled.parts import MixturePart, SampledPart
    from privcalc.numerics.arrays import Array, ComplexArray


class TailSplitLaw(LineLaw):
    """A mixture (1 - rate) R + rate W against R, normal in a coordinate x in which 1 + y grows.

    Attributes:
        remove: whether the mixture is P: a = c + 1 + it, and the loss is log(1 + y); else R is P,
            a = -c - it, and the loss minus that.
    """

    __slots__ = ()

    remove: bool

    @property
    @abstractmethod
    def rate(self) -> float:
        """Return the factor of W - R in y."""

    @property
    @abstractmethod
    def normal(self) -> Normal:
        """Return the whole normal density of x under R."""

    @property
    @abstractmethod
    def farthest(self) -> float:
        """Return by how many deviations the farthest part of W lies to the right of R."""

    @property
    def lines(self) -> bool:
        """Whether long phases may be summed on shifted lines."""
        return True

    @property
    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """Return where the law itself is cut."""

    @abstractmethod
    def between(self, low: float, high: float) -> SampledPart | MixturePart:
        """Return the outcomes between two places."""

    @abstractmethod
    def outside(self) -> tuple[float, float]:
        """Return the masses outside of the ends, under R and W."""

    def part(self) -> SampledPart | MixturePart:
        """Return the outcomes between the ends."""
        return self.between(*self.ends)

    def losses(self, x: Array) -> tuple[Array, Array, Array]:
        """Return y, log(1 + y), and a bound on the latter's absolute error."""
        return self.part().losses(x)

    def on_contour(self, c: float, t_max: float, log_error: float) -> QuadratureContour:
        """Build certified nodes for |t| <= t_max.

        Raises:
            NotCertifiedError: M(c) overflows, or the quadrature is too long.
        """
        log_mgf = self.cumulants(c)[0]
        if not math.isfinite(log_mgf):
            raise NotCertifiedError(
                f"the moment generating function overflows at order {c + 1.0:.6g}"
            )
        nodes = NodeSet.placed(
            self.part(),
            (c + 1.0 if self.remove else -c, t_max),
            log_error + log_mgf - math.log(2.0),
            remainder=True,
            out=self.outside(),
            rate=self.rate,
        )
        return QuadratureContour(self, c, nodes)

    @cached_property
    def _search(self) -> SearchSums:
        """Return outcomes on a fixed rule, and what searches ask of them again and again."""
        part = self.part()
        return SearchSums(on_part(part, *equal_panels(part), 0.0))

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Estimate K, K', K'' at c, using E_R y = 0 against cancellation."""
        charge(SEARCH + PER_SEARCHED * self._search.size)
        a, sign = (c + 1.0, 1.0) if self.remove else (-c, -1.0)
        log_mgf, first, second = (float(each) for each in self._search.cumulants(a))
        return log_mgf, sign * first, second

    @abstractmethod
    def tail_of_w(self, x: float, *, right: bool) -> tuple[float, float]:
        """Return the W-mass on one side of a place, and its relative error."""

    @abstractmethod
    def place(self, level: float) -> float:
        """Return about the x at which log(1 + y) is a level > 0."""

    @abstractmethod
    def variance(self, largest: float) -> float:
        """Return about the variance of y under R, exponents cut off at `largest`."""


class QuadratureContour(ContourLaw):
    """A mixture whose loss is log(1 + y), or minus that, from one node set."""

    def __init__(self, law: TailSplitLaw, c: float, nodes: NodeSet) -> None:
        """Take the nodes of M - 1 at c."""
        self.law, self.c = law, c
        self._sum = RemainderSum(c, nodes, remove=law.remove)

    @property
    def size(self) -> int:
        """Return the number of nodes that every t costs."""
        return self._sum.size

    def minus_one_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return the sums over the nodes."""
        return self._sum.minus_one_progression(step, count)

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c + it) and a bound on its error."""
        return log1p_with_error(*self._sum.minus_one(t))

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K and its error at t = k step, k < count."""
        return log1p_with_error(*self.minus_one_progression(step, count))

    @cached_property
    def mgf_range(self) -> tuple[float, float]:
        """Return certified bounds on M(c) > 0."""
        value, error = self._sum.minus_one(np.zeros(1))
        m, slack = 1.0 + float(value[0].real), float(error[0])
        return (m - slack) * (1.0 - 1e-12), (m + slack) * (1.0 + 1e-12)

    def log_decay(self, t: float) -> float:
        """Bound log |phi| beyond t by cells."""
        if not self.mgf_range[0] > 0.0:
            return 0.0
        part, times = self.law.part(), np.array([t])
        return float(log_suprema(part, self._sum.nodes.exponent, self.mgf_range, times)[0])
