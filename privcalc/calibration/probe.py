"""What one value of a hole costs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.accounting.answer import Method
    from privcalc.bounds import Bound
    from privcalc.errors import NotCertifiedError

# Which end of the bracket is compared with the budget.
End = Literal["upper", "lower", "middle"]
# Where brackets are wider than this on the scale of the excess, that is enough to know.
WIDEST = 5.0


def log_value(value: float) -> float:
    """Return the log of a value; 0, the one whole number without, stands where 1/2 would."""
    return math.log(value) if value > 0 else math.log(0.5)


@record
class Probe:
    """What one value costs.

    Attributes:
        position: of the value.
        value: t.
        x: its log, turned as the position is.
        bound: the bracket of the quantity, or None where nothing is certified.
        method: how that was obtained.
        excess: for each end of the bracket; positive where it is above the budget.
        error: why nothing is certified.
    """

    position: int
    value: float
    x: float
    bound: Bound | None
    method: Method | None
    excess: dict[End, float]
    error: NotCertifiedError | None = None

    @property
    def width(self) -> float:
        """The width of the bracket on the scale of the excess; 0 where it has no two ends."""
        if self.bound is None or self.bound.lower is None or math.isinf(self.bound.upper):
            return 0.0
        return min(self.excess["upper"] - self.excess["lower"], WIDEST)

    @property
    def open(self) -> float:
        """What the bracket leaves open on the scale of the excess; infinity without two ends."""
        return self.excess["upper"] - self.excess["lower"]
