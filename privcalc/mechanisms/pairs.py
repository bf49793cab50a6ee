"""Mechanisms given by the laws of their outputs: without a record, and with it.

The numbers have to be the worst there are: a pair says nothing of other neighbours. Under
replace-one either order may occur at each step, and the pair is the least one that dominates both.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.exact import exact as written
from privcalc.mechanisms.base import Mechanism
from privcalc.mechanisms.files import exact, named, read_rows
from privcalc.relation import Adjacency, Relation
from privcalc.spec.entry import positive, share
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.gaussian import UnequalGaussiansLaw
    from privcalc.losses.law import LossLaw, Term

    Outcomes = Sequence[tuple[Fraction, Fraction]]

NAMES = ("first", "other")
# A sum this far from 1 is taken for a rounded 1, and divided out.
TOLERANCE = Fraction(1, 10**9)
# A decimal of 4000 places has 13,300 bits below the line.
MOST_BITS = 16_000


@mechanism(
    name="pmf",
    neighbours="outputs have the probabilities of one column or the other",
    place=150,
    parameters=(Parameter("file", kind="path"),),
    example="pmf:file=./pmf.csv@10",
    example_file="first other\n0.50 0.25\n0.25 0.25\n0.25 0.50\n",
)
class Pmf(Mechanism):
    """A mechanism whose outputs have the probabilities of a file.

    The file has two columns, `first` for the outputs without the record and `other` for the same
    outputs with it: text with two numbers a line and an optional header `first other`, or JSON,
    `{"first": [...], "other": [...]}` or `[[first, other], ...]`. A number may be a ratio such as
    1/3. Numbers are read without rounding; each column has to sum to 1 within 1e-9, and is divided
    by its sum. An output with a zero in one column only is an infinite loss in one direction.

    The pair is that of the two columns, in the order that the direction asks for: (first, other)
    for adding a record, (other, first) for removing one. It says nothing of other neighbours: the
    two columns have to be the worst there are. Under replace-one either order may occur at each
    step, and the pair is the least one that dominates both. Where probabilities are below 1e-300,
    outputs with such are bounded from above, as infinite losses, and from below.
    """

    any_program: ClassVar[bool] = True

    def __init__(self, *, file: str) -> None:
        """Read the probabilities."""
        from privcalc.losses.profiles import MOST_ATOMS

        columns: tuple[list[Fraction], list[Fraction]] = ([], [])
        hint = "; outputs whose two probabilities have one ratio may be added up"
        for place, words in read_rows(file, NAMES, most=MOST_ATOMS, hint=hint):
            for word, column in zip(words, columns, strict=True):
                value = exact(place, word)
                if value < 0:
                    raise DomainError(f"{place}: probabilities must be >= 0, got {word}")
                column.append(value)
        sums = [_sum(file, column) for column in columns]
        for name, total in zip(NAMES, sums, strict=True):
            if abs(total - 1) > TOLERANCE:
                raise DomainError(
                    f'{file}: the column "{name}" must sum to 1 within 1e-9, got'
                    f" {float(total):.12g}"
                )
        self.outcomes: tuple[tuple[Fraction, Fraction], ...] = tuple(
            (p / sums[0], q / sums[1]) for p, q in zip(*columns, strict=True)
        )
        self._file = file

    def laws(self, adjacency: Adjacency) -> LossLaw | Term:
        """Return the privacy-loss law of one direction, or laws on both sides of it.

        Raises:
            DomainError: too many different losses, or only ones beyond doubles.
        """
        from privcalc.losses.law import Term
        from privcalc.losses.members import either_order
        from privcalc.losses.profiles import exact_law

        def found(outcomes: Outcomes) -> Term:
            if adjacency is Adjacency.REPLACE:
                return Term.of(either_order(outcomes))
            remove = adjacency is Adjacency.REMOVE
            return Term.of(exact_law([(q, p) for p, q in outcomes] if remove else outcomes))

        with named(self._file):
            above, below = _in_range(self.outcomes)
            if above is below:
                return found(above)
            upper, lower = found(above), found(below)
            return Term(upper.upper, lower.lower, members=lower.members, back=lower.back)


def _in_range(outcomes: Outcomes) -> tuple[Outcomes, Outcomes]:
    """Return outcomes above and below, without probabilities that are no normal doubles.

    Above, an outcome with a tiny one is split to two, of which each has one of its probabilities
    alone; these are few and come to no more than the next. Below, all of them are merged with the
    likeliest one. A function of the output costs no more, so that the truth is between.
    """
    from privcalc.losses.profiles import SMALLEST_MASS

    tiny = [each for each in outcomes if any(0 < mass < SMALLEST_MASS for mass in each)]
    if not tiny:
        return outcomes, outcomes
    rest = [each for each in outcomes if not any(0 < mass < SMALLEST_MASS for mass in each)]
    p, q = (sum(masses, Fraction(0)) for masses in zip(*tiny, strict=True))
    likeliest = max(rest, key=min, default=(Fraction(0), Fraction(0)))
    if min(likeliest) <= SMALLEST_MASS:
        raise DomainError("probabilities must be 0 or at least 1e-300, but for unlikely outputs")
    rest.remove(likeliest)
    # As much is taken from the likeliest outcome as makes both large enough.
    more_p, more_q = (SMALLEST_MASS if 0 < mass < SMALLEST_MASS else 0 for mass in (p, q))
    split = (p + more_p, Fraction(0)), (Fraction(0), q + more_q)
    above = [*rest, (likeliest[0] - more_p, likeliest[1] - more_q), *split]
    return above, [*rest, (likeliest[0] + p, likeliest[1] + q)]


def _sum(file: str, column: list[Fraction]) -> Fraction:
    """Add up without rounding; ratios of too many kinds have no common denominator of use."""
    total = Fraction(0)
    for value in column:
        total += value
        if total.denominator.bit_length() > MOST_BITS:
            raise DomainError(
                f"{file}: ratios with so many different denominators are not supported; write"
                " decimals"
            )
    return total


@mechanism(
    name="bernoulli_pair",
    neighbours="a yes has probability p or other_p",
    place=170,
    parameters=(
        share("p"),
        share("other_p"),
    ),
    example="bernoulli-pair:p=0.01,other_p=0.02@100",
)
class BernoulliPair(Pmf):
    """A mechanism with two outputs: yes with probability p, and with other_p if the record is in.

    The pair is Bernoulli(p) and Bernoulli(other_p), in this order for adding a record and in the
    other for removing one; unless p = 1 - other_p the two directions differ. Where one of the
    probabilities is 0 or 1 a loss is infinite. The probabilities have to be the worst there are:
    the pair says nothing of other neighbours. Under replace-one either order may occur at each
    step, and the pair is the least one that dominates both.
    """

    def __init__(self, *, p: float, other_p: float) -> None:
        """Take the two probabilities."""
        yes, other = written(p), written(other_p)
        self.outcomes = (yes, other), (1 - yes, 1 - other)
        self._file = ""


# Outside, squares and exponentials of the loss leave the range of doubles.
SMALLEST_DISTANCE, LARGEST_DISTANCE = 1e-30, 1e8
LARGEST_RATIO = 1e6


@mechanism(
    name="gaussian_pair",
    neighbours="outputs have one normal law or the other",
    place=160,
    parameters=(
        Parameter("mean"),
        positive("deviation"),
        Parameter("other_mean"),
        positive("other_deviation"),
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
    """

    def __init__(
        self, *, mean: float, deviation: float, other_mean: float, other_deviation: float
    ) -> None:
        """Take the two normal laws."""
        self.first = written(mean), written(deviation)
        self.other = written(other_mean), written(other_deviation)
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
        return self.changed(first=(mean - mean, deviation), other=(distance, deviation))

    def laws(self, adjacency: Adjacency) -> LossLaw:
        """Return the privacy-loss law of one direction."""
        from privcalc.losses.atoms import nothing
        from privcalc.losses.gaussian import GaussianLaw

        first, other = self.first, self.other
        if adjacency is Adjacency.REMOVE:
            first, other = other, first
        distance = _exactly(abs(first[0] - other[0]) / other[1])
        if first[1] != other[1]:
            return unequal(distance, (first[1] / other[1]) ** 2)
        return GaussianLaw(*distance.nearest()) if distance.high else nothing()


def unequal(distance: Enclosed, ratio: Fraction) -> UnequalGaussiansLaw:
    """Return the law of N(distance, ratio) against N(0, 1); the ratio is not 1."""
    from privcalc.losses.gaussian import UnequalGaussiansLaw
    from privcalc.numerics.rounding import UNIT

    theta, theta_error, _ = distance.nearest()
    square, square_error, _ = _exactly(ratio).nearest()
    rho, rho_error, _ = _exactly(abs(ratio - 1)).nearest()
    units = max(theta_error / 4.0, square_error, rho_error) / UNIT
    return UnequalGaussiansLaw(theta, square, rho if ratio > 1 else -rho, max(1.0, units))


def _exactly(number: Fraction) -> Enclosed:
    return Enclosed(number, number)
