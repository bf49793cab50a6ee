"""The source of two uses, one of them at least a sampled Gaussian; see `ends.py` for the ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.certified import PAD
from privcalc.engine.nested.ends import Ends
from privcalc.engine.nested.pair import Pair, Use
from privcalc.engine.nested.panels import certified, graded, integrate
from privcalc.engine.source import Deltas
from privcalc.engine.terms import one_law
from privcalc.errors import NotCertifiedError
from privcalc.losses.law import MOST_UNITS
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.sampled.law import SampledLaw
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.numerics.arrays import Array

# Beyond this density and tails underflow.
FARTHEST = 38.0
# What quadrature may be of delta.
RELATIVE = 1e-13
# Larger epsilons, and smaller deltas, are left to others.
LARGEST = 300.0
SMALLEST = 1e-280
TINY = 1e-300
# log delta, if nobody says.
USUAL = -30.0


@record
class TwoUses:
    """Delta of an outer sampled Gaussian and an inner law, at any epsilon.

    Attributes:
        outer: the sampled Gaussian.
        inner: the other use.
        remove: direction.
    """

    outer: Use
    inner: Use
    remove: bool

    proof: ClassVar[Proof] = Proof.CLOSED_FORM
    pad: ClassVar[float] = PAD

    @np.errstate(all="ignore")
    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Bracket delta at each epsilon, in absolute units; `log_scale` says about how small."""
        found = [self._bracket(float(epsilon), log_scale) for epsilon in epsilons]
        value, error, dropped = (np.array(column) for column in zip(*found, strict=True))
        terms = {"quadrature": error, "dropped": dropped}
        upper = value + error + dropped
        return Deltas(np.zeros(len(found)), value - error, upper, value, terms)

    @np.errstate(all="ignore")
    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound."""
        found = [self._rough(float(epsilon), log_scale) for epsilon in epsilons]
        unit = math.exp(-log_scale)
        value, tail = (np.array(column) for column in zip(*found, strict=True))
        return value * unit, (value + tail) * unit

    def _rough(self, epsilon: float, log_scale: float | None) -> tuple[float, float]:
        """Return delta, and P(epsilon < L) less delta, about."""
        if not epsilon < LARGEST:
            return 0.0, 0.0
        pair = Pair(self.outer, self.inner, self.remove, epsilon)
        least = min(log_scale or USUAL, USUAL)
        value, above = self._sum(pair, _reach(least))
        if value < math.exp(least) and least > -LARGEST:
            value, above = self._sum(pair, FARTHEST)
        return value, above

    def _sum(self, pair: Pair, reach: float) -> tuple[float, float]:
        """Add up the closed form and the rule on graded panels."""
        ends = Ends.of(pair, reach)
        closed, above, _ = ends.closed_form()
        if ends.low < ends.high:
            value, tail, _ = integrate(pair, graded(pair, ends.low, ends.high))
            closed, above = closed + float(value.sum()), above + float(tail.sum())
        return closed, above

    def _bracket(self, epsilon: float, log_scale: float | None) -> tuple[float, float, float]:
        """Return delta, its error on either side, and what may be added to that above."""
        try:
            about = self._rough(epsilon, log_scale)[0]
            if not SMALLEST < about < math.inf:
                return math.nan, math.inf, math.inf
            pair = Pair(self.outer, self.inner, self.remove, epsilon)
            ends = Ends.of(pair, _reach(math.log(about)))
            value, _, error = ends.closed_form()
            if ends.low < ends.high:
                panels = graded(pair, ends.low, ends.high)
                inside, _, wrong = certified(pair, panels, RELATIVE * about)
                value, error = value + inside, error + wrong
        except NotCertifiedError:
            return math.nan, math.inf, math.inf
        return value, (error + 2.0 * UNIT * abs(value)) * MARGIN + TINY, ends.dropped()


def _reach(log_delta: float) -> float:
    """Return so many deviations that what is rarer is nothing beside such a delta."""
    return min(FARTHEST, math.sqrt(2.0 * (40.0 - min(log_delta, 0.0))))


def two_uses(composition: Composition) -> TwoUses | None:
    """Return the source, where there are two uses of sampled Gaussians, or one and a Gaussian."""
    if composition.curves:
        return None
    sampled = [
        (law, n)
        for law, n in composition
        if isinstance(law, SampledLaw) and law.properties.supports_tail_split
    ]
    others = [(law, n) for law, n in composition if (law, n) not in sampled]
    uses = [_sampled(law) for law, n in sampled for _ in range(min(n, 3))]
    if not (len(uses) == 2 and not others) and not (len(uses) == 1 and others):
        return None
    remove = {law.remove for law, _ in sampled}
    if len(remove) != 1:
        return None
    if others:
        whole = one_law(others)
        if not isinstance(whole, GaussianLaw):
            return None
        uses.append(Use(1.0, whole.mu, whole.error + 2.0 * UNIT))
    elif uses[0].mu > uses[1].mu:
        # Fewer digits cancel in the inner delta where its mu is large.
        uses.reverse()
    return TwoUses(uses[0], uses[1], remove.pop())


def _sampled(law: SampledLaw) -> Use:
    return Use(law.q, law.ratio.pieces[0].deviation, MOST_UNITS * UNIT)
