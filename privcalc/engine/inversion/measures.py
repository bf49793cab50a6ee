"""Delta as a sum over measures: each has a source of its own, or a bound where it is negligible.

A part says a lower bound that is known anyway (`least`: 0, but for differences), how fast its
logarithm changes with epsilon at most, about (`fastest`), and its brackets and estimates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.engine.certified import PAD
from privcalc.engine.inversion.line_sum import SLACK, exp_bounds
from privcalc.engine.lists.factor import ListLaw
from privcalc.engine.source import Deltas, displaced
from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import MASS_ULPS
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.bounds import Proof
    from privcalc.engine.certified import SplitLines, WholeLine
    from privcalc.engine.inversion.line_sum import LineSum
    from privcalc.losses.contour import LineLaw
    from privcalc.losses.sampled.cut import CutLaw
    from privcalc.numerics.arrays import Array


# e^epsilon, and masses over a scale, stay doubles.
LARGEST = 600.0


@record
class Exponential:
    """A bound e^{log_size + rate epsilon}: Chernoff's, with rate -c; that of a mass, with 0 or 1.

    Of a measure with transform M(c) at c > 0, delta is at most M(c) e^{-c epsilon}, as
    (1 - e^{epsilon - l})_+ <= e^{c (l - epsilon)}.
    """

    log_size: float
    rate: float = 0.0

    def at(self, epsilons: Array, log_scale: float) -> Array:
        """Return upper bounds in units of e^{log_scale}."""
        if self.log_size == -math.inf:
            return np.zeros(len(epsilons))
        exponents = self.log_size + self.rate * epsilons - log_scale
        sizes = abs(self.log_size) + abs(self.rate) * np.abs(epsilons) + abs(log_scale)
        return exp_bounds(exponents + SLACK + 8.0 * UNIT * sizes)


@record
class Reversed:
    """e^epsilon times delta at -epsilon of a measure of the reversed pair: what a put has of it."""

    inner: LineSum

    least: ClassVar[float] = 0.0

    @property
    def fastest(self) -> float:
        """Return that of the measure, and 1 for e^epsilon."""
        return self.inner.fastest + 1.0

    def deltas(self, epsilons: Array, log_scale: float) -> Deltas:
        """Bracket; e^epsilon is in the units."""
        found = self.inner.deltas(-epsilons, log_scale - epsilons)
        scales: Array = np.full(len(epsilons), log_scale)
        return Deltas(scales, found.lower, found.upper, found.value, found.terms)

    def estimates(self, epsilons: Array, log_scale: float) -> tuple[Array, Array]:
        """Return e^epsilon f(-epsilon), and itself less its slope: e^epsilon f'(-epsilon)."""
        value, above = self.inner.estimates(-epsilons, log_scale - epsilons)
        return value, value - above


@record
class Closed:
    """P(B) and Q(B) with their relative error.

    Tails are off by their errors, p by 4 units more and log1p(-p) by 8, relatively, if p <= 1/2:
    there p / ((1 - p) |log1p(-p)|) <= 1.5. A relative error of S = sum n log1p(-p) is at most one
    of 1 - e^S, as |S| e^S <= 1 - e^S; expm1 adds 8 units, the sum one a law.
    """

    p: float
    q: float
    error: float

    least: ClassVar[float] = -math.inf
    fastest: ClassVar[float] = 1.0

    @classmethod
    def of(cls, cuts: Sequence[tuple[CutLaw, int]], whole: Sequence[tuple[LineLaw, int]]) -> Closed:
        """Add up the tails of all laws; laws that stay whole bring the masses of finite losses.

        With the truncated mass, at most e^{log_truncated_mass} of each, log(1 - m) of a mass m at
        infinity is off by that over 1 - m, by the error of m, and by 4 units.

        Raises:
            NotCertifiedError: a tail is more than half of a law, or beyond the doubles.
        """
        log_p = log_q = error = 0.0
        for cut, count in cuts:
            if cut.whole:
                continue
            r, w, relative = cut.tails
            rate = cut.law.rate
            p = (1.0 - rate) * r + rate * w
            if not max(p, r) <= 0.5:
                raise NotCertifiedError("the split leaves out half of a law")
            log_p += count * math.log1p(-p)
            log_q += count * math.log1p(-r)
            error = max(error, 1.5 * relative)
        error += (24.0 + 2.0 * len(cuts)) * UNIT
        finite_p = finite_q = 0.0
        for law, count in whole:
            if isinstance(law, ListLaw):
                mass_p, mass_q, wrong = law.masses
                finite_p += count * math.log(mass_p)
                finite_q += count * math.log(mass_q)
                error += count * (2.0 * wrong + 8.0 * UNIT)
                continue
            m, n = law.infinity_mass, law.lower_infinity_mass
            if not max(m, n) <= 0.5:
                raise NotCertifiedError("the split leaves out half of a law")
            finite_p += count * math.log1p(-m)
            finite_q += count * math.log1p(-n)
            wrong = 2.0 * max(m, n) * (law.infinity_mass_error + MASS_ULPS * UNIT)
            error += count * (wrong + 2.0 * math.exp(law.log_truncated_mass))
        error += 8.0 * UNIT * (1.0 + abs(finite_p) + abs(finite_q))
        p, q = -math.expm1(log_p) * math.exp(finite_p), -math.expm1(log_q) * math.exp(finite_q)
        return cls(p, q, error * MARGIN)

    @property
    def log_q(self) -> float:
        """Return an upper bound on log Q(B)."""
        return math.log(self.q) + self.error + 1e-12 if self.q > 0.0 else -math.inf

    def deltas(self, epsilons: Array, log_scale: float) -> Deltas:
        """Return the term over e^{log_scale}, with a bound on its error.

        exp of epsilon and of the scale are off by 4 units and a unit of their exponents; the scale
        stands for a number that is off by 2 units of log_scale.
        """
        p, q = self._terms(epsilons, log_scale)
        relative = self.error + UNIT * (16.0 + 4.0 * abs(log_scale) + np.abs(epsilons))
        wrong = (p + q) * relative * MARGIN
        wrong = np.where(np.maximum(epsilons, -log_scale) < LARGEST, wrong, np.inf)
        scales: Array = np.full(len(epsilons), log_scale)
        return Deltas(scales, p - q - wrong, p - q + wrong, p - q, {"rounding": wrong})

    def estimates(self, epsilons: Array, log_scale: float) -> tuple[Array, Array]:
        """Return the term, and itself less its slope."""
        p, q = self._terms(epsilons, log_scale)
        return p - q, p

    def _terms(self, epsilons: Array, log_scale: float) -> tuple[Array, Array]:
        unit = math.exp(min(-log_scale, LARGEST))
        grown: Array = np.exp(np.minimum(epsilons, LARGEST)) * unit
        return np.full(len(epsilons), self.p * unit), self.q * grown


@record
class Measures:
    """The source: parts, and bounds on what they miss.

    Attributes:
        proof: what they are.
        parts: of the measures that matter.
        above: bounds on what delta may exceed their sum by: measures that are not summed, and
            truncated mass.
        below: bounds on what their sum may exceed delta by.
        epsilon: where they were prepared.
        log_scale: of delta there, about.
        farthest: logarithms by which terms may have changed where something is still claimed.
        slack: displacement of losses.
        tilted: standard deviation of the tilted loss, where it is known.
        alone: the line, where one is all there is: for certificates.
        split: the lines, where it is split in the plain way: for certificates.
    """

    proof: Proof
    parts: tuple[LineSum | Reversed | Closed, ...]
    above: tuple[Exponential, ...]
    below: tuple[Exponential, ...]
    epsilon: float
    log_scale: float
    farthest: float = math.inf
    slack: float = 0.0
    tilted: float = 0.0
    alone: WholeLine | None = None
    split: SplitLines | None = None

    pad: ClassVar[float] = PAD

    @property
    def fastest(self) -> float:
        """Return how fast the largest of the terms changes with epsilon."""
        return max((each.fastest for each in self.parts), default=1.0)

    @property
    def deviation(self) -> float:
        """Return the change of epsilon that is felt."""
        return self.tilted or 2.0 / self.fastest

    @np.errstate(all="ignore")
    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Add up, where losses are."""
        return displaced(lambda at: self._deltas(at, log_scale), epsilons, self.slack)

    def _deltas(self, epsilons: Array, log_scale: float | None) -> Deltas:
        """Add up; sums of few numbers are off by a unit of all moduli for each of them."""
        scale = self.log_scale if log_scale is None else log_scale
        shape = epsilons.shape
        value, lower, upper, sizes = (np.zeros(shape) for _ in range(4))
        terms: dict[str, Array] = {}
        for part in self.parts:
            found = part.deltas(epsilons, scale)
            least = np.maximum(found.lower, part.least)
            value, lower, upper = value + found.value, lower + least, upper + found.upper
            sizes = sizes + np.abs(least) + np.abs(found.upper)
            for name, size in found.terms.items():
                terms[name] = terms.get(name, 0.0) + size
        above, below = (
            sum((each.at(epsilons, scale) for each in bounds), np.zeros(shape)) * MARGIN
            for bounds in (self.above, self.below)
        )
        terms["dropped"] = terms.get("dropped", 0.0) + above + below
        slack = UNIT * (8.0 + len(self.parts)) * (sizes + above + below)
        near = np.abs(epsilons - self.epsilon) * self.fastest <= self.farthest
        # delta is at least 0, whatever is known of its parts.
        lower = np.where(near, np.maximum(lower - below - slack, 0.0), -np.inf)
        upper = np.where(near, upper + above + slack, np.inf)
        return Deltas(np.full(shape, scale), lower, upper, value, terms)

    @np.errstate(all="ignore")
    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound."""
        value, above = np.zeros(len(epsilons)), np.zeros(len(epsilons))
        for part in self.parts:
            more, further = part.estimates(epsilons, log_scale)
            value, above = value + more, above + further
        return value, above
