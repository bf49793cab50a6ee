"""Sources with the epsilons they have served: which of them to ask at another epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.inversion.line_sum import LineSum
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.engine.source import Source
    from privcalc.numerics.arrays import Array

# Nodes of earlier contours that are kept for later epsilons: a tenth of a gigabyte.
MOST_HELD = 3_000_000
# A source is tried so far outside the epsilons that it has served, in units of their range.
NEAR = 0.25


@record
class Range:
    """A source with the epsilons it has served and the relative width it was good for."""

    source: Source
    low: float
    high: float
    width: float

    @property
    def held(self) -> int:
        """How many nodes are kept in memory, where they may be millions."""
        return self.source.count if isinstance(self.source, LineSum) else 0

    def near(self, epsilons: Sequence[float]) -> list[float]:
        """Return the epsilons at which it is worth a try."""
        margin = NEAR * (self.high - self.low)
        return [e for e in epsilons if self.low - margin <= e <= self.high + margin]

    def away(self, epsilon: float) -> float:
        """Return the distance of an epsilon from the range."""
        return max(self.low - epsilon, epsilon - self.high, 0.0)


class Ranges:
    """The ranges that are kept, the oldest first."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: list[Range] = []

    def __iter__(self) -> Iterator[Range]:
        """Go through them."""
        return iter(self._kept)

    def add(self, each: Range) -> None:
        """Keep one more, and drop the oldest where memory is short."""
        self._kept.append(each)
        while sum(other.held for other in self._kept[:-1]) > MOST_HELD:
            del self._kept[0]

    def nearest(self, each: Range, epsilons: Sequence[float]) -> list[float]:
        """Return the epsilons from which no other range is less far."""
        others = [other for other in self._kept if other is not each]
        return [e for e in epsilons if all(each.away(e) <= o.away(e) for o in others)]

    def estimates(self, epsilons: Array) -> tuple[Array, Array] | None:
        """Ask the nearest source everywhere; see `ManyDeltas.estimates`. None where none is."""
        if not self._kept:
            return None
        low = np.array([each.low for each in self._kept])[:, None]
        high = np.array([each.high for each in self._kept])[:, None]
        nearest = np.argmin(np.maximum(low - epsilons, epsilons - high), axis=0)
        deltas, above = np.zeros(len(epsilons)), np.zeros(len(epsilons))
        with np.errstate(all="ignore"):
            for index in np.unique(nearest):
                at = nearest == index
                deltas[at], above[at] = self._kept[index].source.estimates(epsilons[at])
        return deltas, above
