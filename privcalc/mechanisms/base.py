"""What accounting asks of a mechanism, with what holds where a mechanism knows no better."""

from __future__ import annotations

import math
from copy import copy
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.record import record
from privcalc.spec.entry import number_text, word_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction
    from typing import Self

    from privcalc.engine.terms import Terms
    from privcalc.exact import Enclosed
    from privcalc.losses.law import LossLaw, Term
    from privcalc.relation import Adjacency
    from privcalc.spec.tree import Leaf, Node


@record
class LocalReport:
    """What one person reports, where each does so alone.

    Attributes:
        epsilon: the largest privacy loss.
        categories: of randomized response; None of any other report.
    """

    epsilon: Enclosed
    categories: int | None = None


def given(*alternatives: float | None) -> float:
    """Return the one of several parameters that is written, as the registry sees to it."""
    (found,) = [each for each in alternatives if each is not None]
    return found


def noise_size(noise: str, normal: str, deviation: float | None, scale: float | None) -> float:
    """Return the size of noise: the deviation of normal noise, the scale of any other.

    Args:
        noise: the law of the noise.
        normal: the normal one of its kind.
        deviation: as written, or None.
        scale: as written, or None.
    """
    if (noise == normal) == (deviation is not None):
        return given(deviation, scale)
    takes = "sigma (standard_deviation)" if noise == normal else "scale"
    refusal = DomainError(f"noise={word_text(noise)} takes {takes}")
    if scale is not None:
        refusal.hint = "with scale write noise=laplace, or another that takes it"
    if deviation is not None:
        written = f"noise={word_text(normal)},sigma={number_text(deviation)}"
        refusal.hint = f"for Gaussian noise write {written}"
    raise refusal


def decimal_of(number: Fraction) -> Decimal:
    """Return a rational number with the digits of the context."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def noise_tail(t: Enclosed, *, normal: bool) -> tuple[float, float]:
    """Bound P(noise > t) for normal noise of deviation 1, or Laplace noise of scale 1.

    The latter is half of e^{-t}, or 1 less half of e^t for t < 0; `exp` is off by a unit.
    """
    from privcalc.numerics.normal import SMALLEST, SMALLEST_LOG, upper_tail
    from privcalc.numerics.rounding import UNIT

    low, high = t.doubles()
    if normal:
        # Squares of more than 100 may overflow, and such tails are below the smallest double.
        return upper_tail(min(high, 100.0))[0], upper_tail(min(low, 100.0))[1]

    def tail(x: float) -> float:
        return 0.5 * math.exp(-x) if x >= 0.0 else 1.0 - 0.5 * math.exp(x)

    least = tail(high) * (1.0 - 8.0 * UNIT) if high < -SMALLEST_LOG else 0.0
    return least, min(tail(low) * (1.0 + 8.0 * UNIT) + SMALLEST, 1.0)


def within(name: str, value: Enclosed, least: float, most: float) -> Enclosed:
    """Return a number in the range that laws are made for; refuse others."""
    near = value.nearest()[0]
    if not least <= near <= most:
        raise DomainError(f"{name} must be in [{least:g}, {most:g}], got {near!r}")
    return value


class Mechanism:
    """A leaf of a specification: it has `law`, or `laws` where directions differ.

    Attributes:
        opposite_records: whether one record may do to the outputs the mirror image of what another
            does, as `losses/sampled/replaced.py` has it.
        knows_replaced: whether `in_sample` knows what replacing a record costs.
        run: whether it is a run of many steps, of which samples see one each.
        sampling: how the answer names what the mechanism itself draws, whatever is written, or "".
        parts: specifications among its parameters, of which it is made.
        any_program: whether it stands for every program with its pair, or no better one.
        report: what one person reports, where it may be shuffled with what others do; else None.
    """

    opposite_records: ClassVar[bool] = False
    knows_replaced: ClassVar[bool] = False
    run: bool = False
    sampling: ClassVar[str] = ""
    parts: tuple[Node, ...] = ()
    any_program: ClassVar[bool] = False
    report: LocalReport | None = None

    @classmethod
    def sampled_how(cls, leaf: Leaf) -> str:
        """Name what the mechanism that is written there draws by itself, or say ""."""
        del leaf
        return cls.sampling

    def law(self) -> LossLaw | Term:
        """Return the privacy-loss law of every direction, where it is the same in each."""
        raise NotImplementedError

    def laws(self, adjacency: Adjacency) -> LossLaw | Term:
        """Return the law of one direction, or what else is known of it."""
        del adjacency
        return self.law()

    def terms(self, adjacency: Adjacency) -> Terms:
        """Return what is known of one direction, with counts; several where it is a composition."""
        from privcalc.losses.law import Term

        return [(Term.of(self.laws(adjacency)), 1)]

    def changed(self, **values: object) -> Self:
        """Return the same mechanism with other numbers, without what was worked out of the old."""
        other, class_ = copy(self), type(self)
        for name in vars(self):
            if isinstance(getattr(class_, name, None), cached_property):
                del vars(other)[name]
        vars(other).update(values)
        return other

    def grouped(self, records: int) -> Mechanism | None:
        """Return the mechanism for a group of records, where there is one; else None."""
        del records
        return None

    def in_sample(
        self, rate: tuple[float, bool], adjacency: Adjacency, records: int
    ) -> Term | None:
        """Return what is known of a use that sees a Poisson sample, where its law says less.

        Args:
            rate: the sampling probability below 1, and whether it is exact.
            adjacency: the direction in which the sampled use is asked for.
            records: how many records are sampled that come, go or change together.

        Returns:
            None where its law, sampled, says all that is known; without upper law where that is
            to prove upper ends.
        """
        del rate, adjacency, records
        return None

    def rounds(self, records: int) -> list[tuple[Mechanism, int]]:
        """Return what a group of records meets where the steps of a run see samples, with counts.

        Raises:
            UnsupportedError: that is not known.
        """
        raise NotImplementedError

    def on_data(self, file: str, adjacency: Adjacency) -> list[tuple[Term, int]]:
        """Return what uses on the data at hand cost in one direction, by numbers in a file.

        That is about these data and their neighbours, and no guarantee. Only asked of mechanisms
        that have a method of their own.
        """
        raise NotImplementedError

    def of_parts(
        self, parts_of: Callable[[int], tuple[dict[str, Terms], ...]], records: int
    ) -> Term:
        """Return what is known of both orders of the neighbours, where there are `parts`.

        Args:
            parts_of: says for a group of so many records what is known of each of the parts, in
                each order by its name.
            records: size of the group that is asked for.
        """
        raise NotImplementedError


class Noise(Mechanism):
    """Noise on a query: one record may move it up by the sensitivity, another down by as much."""

    opposite_records: ClassVar[bool] = True
