"""What will do as an answer: a bracket as narrow as was wished, or one that decides a budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Verdict
from privcalc.numerics.work import left
from privcalc.record import field, record, replace

if TYPE_CHECKING:
    from collections.abc import Callable

# The first bracket of a question about a budget is asked for with this tolerance: most budgets are
# decided by it.
COARSE = 1e-3
# The points of one transform of the FFT engine, and what it can reach with so many: a tenth of a
# second of work, one second, some seconds.
ROUGH_LATTICES = ((1e-3, 2**15), (1e-5, 2**18))
POINTS = 2**20
FEWEST_POINTS = 2**11
# What the FFT engine does for each point, and for each point of each law, in units of work.
PER_POINT, PER_LAW = 2.0, 6.0
# A few units outward.
ABOVE, BELOW = 1.0 + 1e-15, 1.0 - 1e-15


def affordable(points: int, laws: float) -> int:
    """Return the points of a transform, at most so many, that the work that is left pays for."""
    while points > FEWEST_POINTS and points * (PER_POINT + PER_LAW * laws) > left():
        points //= 2
    return points


@record
class Stop:
    """When a bracket will do that is wider than the tolerance.

    Attributes:
        budget: what the number is compared with; None where it is asked for its own sake.
        ceiling: a number at most this large is of no interest.
        first: whether the first bracket will do.
        quick: whether this is one question of many, none of which may take seconds.
        shift: bracket of a number that is added before any comparison.
    """

    budget: float | None = None
    ceiling: float | None = None
    first: bool = False
    quick: bool = False
    shift: Bound | None = None

    def beyond(self, shift: Bound) -> Stop:
        """Return the same for a number to which another one is still to be added."""
        return replace(self, shift=shift)

    def under(self, ceiling: float) -> Stop:
        """Return the same where numbers up to another ceiling are of no interest, either."""
        if not -math.inf < ceiling < math.inf:
            return self
        return replace(
            self, ceiling=ceiling if self.ceiling is None else max(ceiling, self.ceiling)
        )

    def enough(self, upper: float) -> bool:
        """Say whether an upper end is so low that nothing else matters."""
        return self._beneath(Bound(upper)) or self.first

    def within(self, bound: Bound) -> bool:
        """Say whether an upper end keeps the budget."""
        return self.budget is not None and self._verdict(bound) is Verdict.WITHIN

    def decided(self, bound: Bound) -> bool:
        """Say whether nothing narrower is needed."""
        if self.budget is not None and self._verdict(bound) is not Verdict.UNDECIDED:
            return True
        return self.first or self._beneath(bound)

    def suffices(self, bound: Bound) -> bool:
        """Say whether a rough answer will do: it decides, or it is one of many."""
        return self.quick or self.decided(bound)

    def _beneath(self, bound: Bound) -> bool:
        upper = self._shifted(bound).upper
        return self.within(bound) or (self.ceiling is not None and upper <= self.ceiling)

    def _verdict(self, bound: Bound) -> Verdict:
        return self._shifted(bound).verdict(0.0 if self.budget is None else self.budget)

    def _shifted(self, bound: Bound) -> Bound:
        """Add what is still to be added, rounded outward as the sum itself will be."""
        shift = self.shift
        if shift is None or shift.upper == 0.0:
            return bound
        lower = ((bound.lower or 0.0) + (shift.lower or 0.0)) * BELOW
        return Bound((bound.upper + shift.upper) * ABOVE, lower)

    @property
    def words(self) -> str:
        """Say why nothing narrower was asked for."""
        if self.budget is None:
            return "so much is enough, as another direction costs more"
        return "decides the budget, so that nothing narrower was asked for"


@record
class Wish:
    """The tolerance of one question, and when less will do.

    Attributes:
        tolerance: relative width wished for.
        floor: absolute width below which that of the tolerance does not matter.
        stop: when a wider bracket will do.
    """

    tolerance: float
    floor: float
    stop: Stop = field(factory=Stop)

    @property
    def rough(self) -> bool:
        """Say whether a rough bracket is worth asking for first.

        One of many questions is asked with the tolerance that its number is worth.
        """
        wanted = self.stop.budget is not None and not self.stop.quick
        return self.tolerance < COARSE and (wanted or self.stop.first)

    def met(self, bound: Bound) -> bool:
        """Say whether the bracket is as narrow as was wished."""
        return bound.within_tolerance(self.tolerance, self.floor)

    def lattices(self, laws: float) -> list[tuple[float, int]]:
        """Return the tolerances and points with which the FFT engine is asked, the rough first.

        Args:
            laws: how many different ones there are, those in closed form for less; each has
                transforms of its own.
        """
        points = affordable(ROUGH_LATTICES[-1][1] if self.stop.quick else POINTS, laws)
        found = [(self.tolerance, points)]
        if self.stop.first or self.stop.budget is not None or self.stop.ceiling is not None:
            rough = [each for each in ROUGH_LATTICES if self.tolerance < each[0]]
            found = [each for each in rough if each[1] < found[0][1]] + found
        return found


@record
class Effort:
    """What the FFT engine may spend: see `fft_epsilon`."""

    tolerance: float
    points: int
    worth: Callable[[float], bool]
