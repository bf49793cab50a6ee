"""Delta as a sum over measures: each has a source of its own, or a bound where it is negligible."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from privcalc.engine.certified import PAD
from privcalc.engine.inversion.certificate import SLACK, exp_bounds
from privcalc.engine.source import Deltas, displaced
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.bounds import Proof
    from privcalc.engine.certified import SplitLines, WholeLine
    from privcalc.engine.inversion.line_sum import LineSum
    from privcalc.numerics.arrays import Array


class Part(Protocol):
    """What one measure contributes."""

    @property
    def least(self) -> float:
        """Return a lower bound that is known anyway: 0, but for differences."""
        ...

    @property
    def fastest(self) -> float:
        """Return how fast its logarithm changes with epsilon, about, at most."""
        ...

    def deltas(self, epsilons: Array, log_scale: float) -> Deltas:
        """Bracket the contribution in units of e^{log_scale}."""
        ...

    def estimates(self, epsilons: Array, log_scale: float) -> tuple[Array, Array]:
        """Return it and itself less its derivative by epsilon, without error bound."""
        ...


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
    parts: tuple[Part, ...]
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
