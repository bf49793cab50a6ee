"""A mechanism given by the probabilities of its outputs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.mechanisms.base import Mechanism
from privcalc.mechanisms.files import exact, read_rows
from privcalc.relation import Adjacency
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.losses.term import Term


NAMES = ("first", "other")
# A sum this far from 1 is taken for a rounded 1, and divided out.
TOLERANCE = Fraction(1, 10**9)
# A decimal of 300 places has 1000 bits below the line.
MOST_BITS = 8_000


@mechanism(
    name="pmf",
    line="outputs whose probabilities stand in a file",
    place=150,
    plain=(
        "A program of which it is known how likely each of its outputs is, once without the "
        "record that is to be protected and once with it."
    ),
    parameters=(Parameter("file", "JSON or text with the columns first and other", kind="path"),),
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
    step, and the pair is the least one that dominates both.

    Attributes:
        outcomes: pairs of probabilities, exact and normalised.
    """

    any_program: ClassVar[bool] = True

    def __init__(self, *, file: str) -> None:
        """Read the probabilities."""
        from privcalc.losses.atomic.profiles import MOST_ATOMS

        columns: tuple[list[Fraction], list[Fraction]] = ([], [])
        hint = "; outputs whose two probabilities have one ratio may be added up"
        for row in read_rows(file, NAMES, most=MOST_ATOMS, hint=hint):
            for word, column in zip(row.entries, columns, strict=True):
                value = exact(row.place, word)
                if value < 0:
                    raise DomainError(f"{row.place}: probabilities must be >= 0, got {word}")
                column.append(value)
        sums = [_sum(file, column) for column in columns]
        for name, total in zip(NAMES, sums, strict=True):
            if abs(total - 1) > TOLERANCE:
                raise DomainError(
                    f'{file}: the column "{name}" must sum to 1 within 1e-9, got'
                    f" {float(total):.12g}"
                )
        self.outcomes = tuple((p / sums[0], q / sums[1]) for p, q in zip(*columns, strict=True))
        self._file = file

    def laws(self, adjacency: Adjacency) -> LossLaw | Term:
        """Return the privacy-loss law of one direction.

        Raises:
            DomainError: probabilities below 1e-300, or too many different losses.
        """
        from privcalc.losses.atomic.profiles import exact_law
        from privcalc.losses.members import either_order

        outcomes = self.outcomes
        if adjacency is Adjacency.REMOVE:
            outcomes = tuple((q, p) for p, q in outcomes)
        try:
            if adjacency is Adjacency.REPLACE:
                return either_order(outcomes)
            return exact_law(outcomes)
        except DomainError as error:
            raise DomainError(f"{self._file}: {error}") from None


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
