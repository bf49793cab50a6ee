"""The truncated Laplace mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Mechanism
from privcalc.spec.declare import QUERY, positive, sensitivity
from privcalc.spec.registry import mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw

# Outside, delta is no normal double, or is as good as 0.
SMALLEST_LOSS, LONGEST = 1e-30, 600
# Of the difference of bound and sensitivity, where they have more digits than are known.
WORST_ERROR = 1e-9


@mechanism(
    name="truncated_laplace",
    place=25,
    parameters=(
        # A larger scale lowers the largest loss, and raises delta.
        positive(
            "scale",
            "scale b of the noise, whose density is proportional to exp(-|x|/b)",
            unit=QUERY,
        ),
        # The profile (g + (a - 1) h / 2) / (1 - h), h = exp(-bound/scale), grows with h.
        positive(
            "bound",
            "largest absolute value of the noise, more than the sensitivity",
            "decreases",
            unit=QUERY,
        ),
        sensitivity(),
    ),
    example="truncated-laplace:scale=2,bound=40@10",
)
class TruncatedLaplace(Mechanism):
    """Laplace noise conditioned on an interval, added to a query with one real value.

    The noise has density proportional to exp(-|x|/scale) on [-bound, bound], and `sensitivity`
    bounds |f(x) - f(x')| over neighbouring x, x', whatever the relation in force. With epsilon =
    sensitivity / scale one use is (epsilon, delta)-DP for

        delta = (exp(epsilon) - 1) / (2 (exp(bound/scale) - 1)),

    and for no smaller one: bound = scale log(1 + (exp(epsilon) - 1) / (2 delta)) is that of Geng,
    Ding, Guo, Kumar (2020).

    The pair P = law of the noise, Q = the same moved by the sensitivity dominates in every
    direction. The noise has a log-concave density, so that for a move by s the loss falls with the
    output and the best tests are half-lines: the trade-off function is F(F^-1(1 - a) - s), F the
    distribution function, which falls with s (Dong, Roth, Su 2022, Proposition A.3). Hence no
    smaller move is told apart better, at any level. The density is symmetric, so that the mirror
    image exchanges P and Q: each direction has the same law.

    Attributes:
        step: sensitivity / scale, the largest finite loss.
        reach: bound / scale.
    """

    # One record may move the output up by the sensitivity, and another down by as much.
    opposite_records: ClassVar[bool] = True

    def __init__(self, *, scale: float, bound: float, sensitivity: float = 1.0) -> None:
        """Take the noise and what it hides."""
        unit = Enclosed.of(scale)
        self.step, self.reach = Enclosed.of(sensitivity) / unit, Enclosed.of(bound) / unit
        if self.step.low < SMALLEST_LOSS or self.reach.high > LONGEST:
            raise DomainError(
                f"sensitivity / scale must be at least {SMALLEST_LOSS:g}, and bound / scale at most"
                f" {LONGEST}: beyond, `laplace` without a bound is as good"
            )
        if not self._holds(self.step):
            raise DomainError(f"bound must be more than sensitivity, got {bound!r}")

    def grouped(self, records: int) -> TruncatedLaplace | None:
        """Return the mechanism for a group of records, unless they may leave the interval."""
        step = self.step * records
        return self.changed(step=step) if self._holds(step) else None

    def law(self) -> LossLaw:
        """Return the privacy-loss law, the same in each direction."""
        from privcalc.losses.laplace import LaplaceLaw, TruncatedLaplaceLaw

        room, error, _ = self._room(self.step).nearest()
        return TruncatedLaplaceLaw(LaplaceLaw(*self.step.nearest()), room, error)

    def _room(self, step: Enclosed) -> Enclosed:
        """Return what the interval has beyond a step."""
        return Enclosed(self.reach.low - step.high, self.reach.high - step.low)

    def _holds(self, step: Enclosed) -> bool:
        """Say whether a step stays in the interval, by more than is not known of it."""
        room = self._room(step)
        return room.low > 0 and room.nearest()[1] < WORST_ERROR
