"""A mechanism with normal outputs of given means and deviations."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.exact import Enclosed, exact
from privcalc.mechanisms.base import Mechanism
from privcalc.relation import Adjacency, Relation
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.exact import Nearest
    from privcalc.losses.law import LossLaw


# Outside, squares and exponentials of the loss leave the range of doubles.
SMALLEST_DISTANCE, LARGEST_DISTANCE = 1e-30, 1e8
LARGEST_RATIO = 1e6


@mechanism(
    name="gaussian_pair",
    line="two bell curves, without the record and with it",
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
        self.first = exact(mean), exact(deviation)
        self.other = exact(other_mean), exact(other_deviation)
        deviations = float(deviation), float(other_deviation)
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
        distance = records * (moved - mean)
        if abs(distance) > LARGEST_DISTANCE * deviation:
            return None
        other = copy(self)
        other.first, other.other = (mean - mean, deviation), (distance, deviation)
        return other

    def laws(self, adjacency: Adjacency) -> LossLaw:
        """Return the privacy-loss law of one direction."""
        from privcalc.losses.atomic.atoms import AtomicLaw
        from privcalc.losses.noise.gaussian import GaussianLaw, UnequalGaussiansLaw
        from privcalc.numerics.rounding import UNIT

        first, other = self.first, self.other
        if adjacency is Adjacency.REMOVE:
            first, other = other, first
        distance, wrong, known = _nearest(abs(first[0] - other[0]) / other[1])
        if first[1] == other[1]:
            if distance == 0.0:
                return AtomicLaw((0.0,), (1.0,), loss_units=0.0, lower_masses=(1.0,))
            return GaussianLaw(distance, wrong, known)
        ratio = (first[1] / other[1]) ** 2
        square, square_error, _ = _nearest(ratio)
        rho, rho_error, _ = _nearest(abs(ratio - 1))
        units = max(wrong / 4.0, square_error, rho_error) / UNIT
        return UnequalGaussiansLaw(distance, square, rho if ratio > 1 else -rho, max(1.0, units))


def _nearest(number: Fraction) -> Nearest:
    return Enclosed(number, number).nearest()
