"""A mechanism with normal outputs of given means and deviations."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.exact import Enclosed, enclosure
from privcalc.mechanisms.base import Mechanism
from privcalc.mechanisms.files.vague import UNIT
from privcalc.relation import Adjacency, Relation
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw


# Outside, squares and exponentials of the loss leave the range of doubles.
SMALLEST_DISTANCE, LARGEST_DISTANCE = 1e-30, 1e8
LARGEST_RATIO = 1e6
# More than these and the laws have no digits left.
MOST_UNITS = 1e6
FEWER = "write at most 15 significant digits, or a ratio such as 1/3"


@mechanism(
    name="gaussian_pair",
    place=160,
    plain=(
        "A program that publishes a number with the spread of a bell curve, of which it is known "
        "where the curve lies and how wide it is, without the record that is to be protected and "
        "with it."
    ),
    parameters=(
        Parameter("mean", "mean of the output without the record"),
        Parameter(
            "deviation",
            "its standard deviation",
            minimum=0.0,
            open_minimum=True,
        ),
        Parameter("other_mean", "mean of the output with the record"),
        Parameter(
            "other_deviation",
            "its standard deviation",
            minimum=0.0,
            open_minimum=True,
        ),
    ),
    # For replacing a record either order may occur at each step, and the larger of the two profiles
    # at each epsilon belongs to no pair of normal laws.
    relations=frozenset({Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_SPECIAL}),
    example="gaussian-pair:mean=0,deviation=1.1,other_mean=1,other_deviation=1@10",
)
class GaussianPair(Mechanism):
    """A mechanism with a normal output whose mean and deviation depend on the record.

    The output is N(mean, deviation^2) without the record and N(other_mean, other_deviation^2) with
    it. This is the pair, in this order for adding a record and in the other for removing one. The
    four numbers have to be the worst there are: the pair says nothing of other neighbours. With
    equal deviations the loss is that of `gaussian`. Otherwise it is a quadratic function of the
    output: epsilon is finite in both directions, though from some
    order on the Renyi divergence of the wider law from the narrower one is infinite, for variances
    2 and 1 from order 2 on (Gil, Alajaji, Linder 2013).

    Attributes:
        first: mean and deviation without the record.
        other: the same with it.
    """

    def __init__(
        self, *, mean: float, deviation: float, other_mean: float, other_deviation: float
    ) -> None:
        """Take the two normal laws."""
        self.first = _enclosed(mean), Enclosed.of(deviation)
        self.other = _enclosed(other_mean), Enclosed.of(other_deviation)
        deviations = [each[1].nearest()[0] for each in (self.first, self.other)]
        if max(deviations) > LARGEST_RATIO * min(deviations):
            raise DomainError(
                "deviation and other_deviation must be within a factor of"
                f" {LARGEST_RATIO:g}, got {deviation!r} and {other_deviation!r}"
            )
        gap = abs(mean - other_mean)
        if gap and not (
            SMALLEST_DISTANCE * max(deviations) <= gap <= LARGEST_DISTANCE * min(deviations)
        ):
            raise DomainError(
                "the means must be equal, or differ by"
                f" {SMALLEST_DISTANCE:g} to {LARGEST_DISTANCE:g} deviations,"
                f" got {mean!r} and {other_mean!r}"
            )

    def grouped(self, records: int) -> GaussianPair | None:
        """Return the pair of a group where the deviations are equal: tests compose to k distances.

        The power function Phi(Phi^-1(y) + mu) composed k times is that with k mu, and a mechanism
        whose mean moves by as much with every record attains it. Of others the chain is all.
        """
        (mean, deviation), (moved, same) = self.first, self.other
        if deviation != same:
            return None
        low, high = records * (moved.low - mean.high), records * (moved.high - mean.low)
        if max(-low, high) > LARGEST_DISTANCE * deviation.low:
            return None
        other = copy(self)
        other.first, other.other = (Enclosed.of(0), deviation), (Enclosed(low, high), deviation)
        return other

    def laws(self, adjacency: Adjacency) -> LossLaw:
        """Return the privacy-loss law of one direction."""
        from privcalc.losses.atomic.atoms import AtomicLaw
        from privcalc.losses.closed.gaussian import GaussianLaw
        from privcalc.losses.closed.unequal_gaussians import UnequalGaussiansLaw

        first, other = self.first, self.other
        if adjacency is Adjacency.REMOVE:
            first, other = other, first
        low, high = first[0].low - other[0].high, first[0].high - other[0].low
        if low <= 0 <= high and low < high:
            raise DomainError(f"whether the means are equal is not known; {FEWER}")
        distance, wrong, known = (
            Enclosed(min(abs(low), abs(high)), max(abs(low), abs(high))) / other[1]
        ).nearest()
        ratio = (first[1] / other[1]) * (first[1] / other[1])
        if self.first[1] == self.other[1]:
            # The same number, if one of many.
            if distance == 0.0:
                return AtomicLaw((0.0,), (1.0,), loss_units=0.0, lower_masses=(1.0,))
            return GaussianLaw(distance, wrong, known)
        if ratio.low <= 1 <= ratio.high:
            raise DomainError(f"whether the deviations are equal is not known; {FEWER}")
        sign = 1 if ratio.low > 1 else -1
        excess = sorted((sign * (ratio.low - 1), sign * (ratio.high - 1)))
        square, square_error, _ = ratio.nearest()
        rho, rho_error, _ = Enclosed(excess[0], excess[1]).nearest()
        units = max(wrong / 4.0, square_error, rho_error) / UNIT
        if units > MOST_UNITS:
            raise DomainError(f"the deviations are too close for their digits; {FEWER}")
        return UnequalGaussiansLaw(distance, square, sign * rho, max(1.0, units))


def _enclosed(mean: float) -> Enclosed:
    low, high = enclosure(mean)
    return Enclosed(low, high)
