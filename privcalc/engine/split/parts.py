"""A composition as the split sees it: laws that are cut, and laws that go into both sides whole."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.sampled.cut import CutLaw
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.losses.law import LossLaw
    from privcalc.losses.sampled.cut import TailSplitLaw
    from privcalc.numerics.arrays import Array

# P-mass of one use that a whole law may leave out.
LOG_DROPPED = -100.0
# Losses of outcomes so many deviations above the mean under W are the largest that are looked at.
FARTHEST = 14.0


@record
class Parts:
    """Sampled Gaussians, of one record or a group, and laws that tilt by themselves, with counts.

    Attributes:
        sampled: laws that are cut, all of one direction.
        others: laws that stay whole, with their pairs in the other order.
        remove: the direction. For adding a record no large loss is rare: nothing is split, and the
            right side alone, cut where nothing is left, is all there is.
    """

    sampled: tuple[tuple[TailSplitLaw, int], ...]
    others: tuple[tuple[LossLaw, LossLaw, int], ...]
    remove: bool

    @classmethod
    def of(cls, composition: Composition) -> Parts | None:
        """Tell the laws apart; None where one can neither be cut nor stay whole.

        A whole law has a pair in the other order, which the adding side needs.
        """
        if composition.curves:
            return None
        sampled: list[tuple[TailSplitLaw, int]] = []
        others: list[tuple[LossLaw, LossLaw, int]] = []
        for law, count in composition:
            if law.properties.supports_tail_split:
                sampled.append((cast("TailSplitLaw", law), count))
                continue
            whole = law.truncated(LOG_DROPPED)
            backward = whole.reverse_direction
            if backward is None:
                return None
            others.append((whole, backward, count))
        directions = {law.remove for law, _ in sampled}
        if len(directions) != 1:
            return None
        return cls(tuple(sampled), tuple(others), remove=directions.pop())

    @property
    def uses(self) -> int:
        """Return how often sampled laws are used."""
        return sum(count for _, count in self.sampled)

    @property
    def samples(self) -> float:
        """Return the expected number of samples that hold a record."""
        return sum(count * law.rate for law, count in self.sampled)

    @property
    def variance(self) -> float:
        """Return about the variance of the loss, overflow cut off."""
        total = sum(n * law.cumulants(0.0)[2] for law, _, n in self.others)
        for law, n in self.sampled:
            # Adding, large outcomes hardly count.
            total += n * law.variance(500.0 if self.remove else 0.2)
        return total

    @property
    def largest_loss(self) -> float:
        """Return the largest loss that is looked at."""
        found = 0.0
        for law, _ in self.sampled:
            x = law.normal.mean + law.normal.deviation * (law.farthest + FARTHEST)
            found = max(found, float(law.losses(np.array([x]))[1][0]))
        return found

    def whole(self, *, right: bool) -> list[tuple[LossLaw, int]]:
        """Return the other laws as one side has them."""
        return [(law if right else backward, count) for law, backward, count in self.others]

    def other_cumulants(self, orders: Array, *, right: bool) -> Array:
        """Return K of the other laws together at each order of one side."""
        total = np.zeros(len(orders))
        for law, count in self.whole(right=right):
            total += count * np.array([law.cumulants(float(c))[0] for c in orders])
        return total

    def cut(self, level: float, log_rare: float) -> tuple[tuple[CutLaw, int], ...]:
        """Cut every law at a loss.

        Args:
            level: the loss.
            log_rare: log of the R-mass, of one use, that may be left out at either end.
        """
        z = math.sqrt(max(-2.0 * log_rare, 1.0))
        cuts = []
        for law, count in self.sampled:
            piece = law.normal
            low, far = piece.mean - z * piece.deviation, piece.mean + z * piece.deviation
            top = law.place(level) if self.remove else far
            if not low < top - 0.1 * piece.deviation:
                raise NotCertifiedError("the split lies below all that the samples do")
            if top >= far:
                # Its large losses are too rare to matter; what is left out is of P, not of R.
                top = far = max(far, law.truncated(log_rare).ends[1])
            cuts.append((CutLaw(law, low, top, far), count))
        return tuple(cuts)
