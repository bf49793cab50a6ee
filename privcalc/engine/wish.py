"""What will do as an answer: a bracket as narrow as was wished, or one that decides a budget."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privcalc.bounds import Bound

# The first bracket of a question about a budget is asked for with this tolerance: most budgets are
# decided by it.
COARSE = 1e-3


@dataclass(frozen=True, slots=True)
class Stop:
    """When a bracket will do that is wider than the tolerance.

    Attributes:
        budget: what the number is compared with; None where it is asked for its own sake.
        ceiling: a number at most this large is of no interest.
        first: whether the first bracket will do.
        shift: bracket of a number that is added before any comparison.
    """

    budget: float | None = None
    ceiling: float | None = None
    first: bool = False
    shift: Bound | None = None

    def beyond(self, shift: Bound) -> Stop:
        """Return the same for a number to which another one is still to be added."""
        return replace(self, shift=shift)

    def enough(self, upper: float) -> bool:
        """Say whether an upper end is so low that nothing else matters."""
        limits = [limit for limit in (self.budget, self.ceiling) if limit is not None]
        return self.first or any(upper <= limit for limit in limits)

    def decided(self, bound: Bound) -> bool:
        """Say whether nothing narrower is needed."""
        upper, lower = bound.upper, bound.lower
        if self.shift is not None and self.shift.upper > 0.0:
            # Rounded outward, as the sum itself is: a nearer decision is left to the tolerance.
            upper = (upper + self.shift.upper) * ABOVE
            lower = ((lower or 0.0) + (self.shift.lower or 0.0)) * BELOW
        above = self.budget is not None and lower is not None and lower > self.budget
        return above or self.enough(upper)

    @property
    def words(self) -> str:
        """Say why nothing narrower was asked for."""
        if self.budget is None:
            return "so much is enough, as another direction costs more"
        return "decides the budget, so that nothing narrower was asked for"


# A few units outward.
ABOVE, BELOW = 1.0 + 1e-15, 1.0 - 1e-15


@dataclass(frozen=True, slots=True)
class Wish:
    """The tolerance of one question, and when less will do.

    Attributes:
        tolerance: relative width wished for.
        floor: absolute width below which that of the tolerance does not matter.
        stop: when a wider bracket will do.
    """

    tolerance: float
    floor: float
    stop: Stop = field(default_factory=Stop)

    @property
    def rough(self) -> bool:
        """Say whether a rough bracket is worth asking for first."""
        return self.tolerance < COARSE and (self.stop.budget is not None or self.stop.first)

    def met(self, bound: Bound) -> bool:
        """Say whether the bracket is as narrow as was wished."""
        return bound.within_tolerance(self.tolerance, self.floor)
