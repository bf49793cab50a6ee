"""Sampling without replacement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.relation import Adjacency, Relation
from privcalc.spec.registry import Parameter, wrapper

if TYPE_CHECKING:
    from privcalc.losses.bracket import LawBracket
    from privcalc.losses.law import LossLaw
    from privcalc.renyi.curve import RenyiCurve


@wrapper(
    name="sampled_without_replacement",
    plain=(
        "A fixed number of records is drawn by lot, anew in every step; records that are not "
        "drawn in a step are not touched by it."
    ),
    short="wor",
    parameters=(
        Parameter(
            "sampling_probability",
            "size of the sample divided by that of the population",
            short="q",
            minimum=0.0,
            maximum=1.0,
            # As for a Poisson sample; only m / n counts.
            cost="increases",
        ),
        Parameter(
            "source_dataset_size",
            "number of records to draw from",
            short="n",
            kind="integer",
            minimum=1.0,
            cost="decreases",
        ),
        Parameter(
            "sample_size",
            "number of records that are drawn",
            short="m",
            kind="integer",
            minimum=0.0,
            cost="increases",
        ),
    ),
    one_of=(("sampling_probability",), ("source_dataset_size", "sample_size")),
    ordered=(("sample_size", "source_dataset_size"),),
    relations=frozenset({Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE}),
    inner_relation=Relation.REPLACE_ONE,
    example="gaussian:sigma=2,sensitivity=2@wor:n=60000,m=256@14063",
)
class SampledWithoutReplacement:
    """Sampling without replacement: a sample of fixed size m out of n, all equally likely.

    What is wrapped sees the sample only, and is read under replace-one, whatever relation the
    result is asked for: drawing another record changes a sample of the same size. Let (P, Q)
    dominate it there, and q = m / n. For adding a record the sampled event is dominated by
    (P, (1 - q) P + q Q), for removing by ((1 - q) P + q Q, P) (Zhu, Dong, Wang 2022,
    Theorem 11; m is public and the same for both data sets, and n the size of the larger
    one); for replacing by the pair glued of two halves (Corollary 31 there).

    A group of k records is covered for replacing only: along a chain of data sets of different
    sizes the rate changes.

    Attributes:
        sampling_probability: q, rounded once.
        exact: what was written.
        sizes: n and m, where they were given.
    """

    def __init__(
        self,
        *,
        sampling_probability: float | None = None,
        source_dataset_size: int | None = None,
        sample_size: int | None = None,
    ) -> None:
        """Take the probability, or the two sizes."""
        self.sizes: tuple[int, int] | None = None
        if sampling_probability is not None:
            self.exact = Enclosed.probability(sampling_probability)
        elif source_dataset_size is not None and sample_size is not None:
            if sample_size > source_dataset_size:
                raise DomainError(
                    f"a sample of {sample_size} cannot come from {source_dataset_size} records"
                )
            self.sizes = source_dataset_size, sample_size
            self.exact = Enclosed.of(sample_size) / source_dataset_size
        else:
            raise DomainError("sampling without replacement needs q, or both n and m")
        self.sampling_probability = self.exact.nearest()[0]

    def law(
        self, event: LossLaw, reverse: LossLaw, adjacency: Adjacency, *, exact: bool = True
    ) -> LossLaw | LawBracket:
        """Return the privacy-loss law of the sampled event in one direction.

        Args:
            event: the law of the event for replacing a record; it covers both orders.
            reverse: the same law.
            adjacency: ADD, REMOVE or REPLACE.
            exact: whether the sampling probability is exact.
        """
        from privcalc.losses.bracket import LawBracket
        from privcalc.losses.glued import glued
        from privcalc.losses.sampled import sampled
        from privcalc.losses.sampled_members import Alone

        q = self.sampling_probability
        if adjacency is Adjacency.REPLACE and q > 0.0:
            pair = glued(event, q, exact=exact)
            halves = [sampled(event, q, remove=way, exact=exact) for way in (True, False)]
            return LawBracket(pair, pair, Alone(halves[0]), Alone(halves[1]))
        return sampled(event, q, remove=adjacency is Adjacency.REMOVE, exact=exact, reverse=reverse)

    def curve(
        self, event: RenyiCurve, adjacency: Adjacency, *, symmetric: bool, attained: bool
    ) -> RenyiCurve:
        """Return an upper bound on the Renyi curve of the sampled event in one direction.

        Adding and removing have the pairs of a Poisson sample, read on what the event costs for
        replacing a record, so they have its bounds.

        Args:
            event: bounds the event's divergences for replacing a record.
            adjacency: ADD, REMOVE or REPLACE.
            symmetric: whether the event has one privacy loss for both orders.
            attained: whether one pair attains the event's curve.
        """
        from privcalc.renyi.amplified import PoissonCurve, WithoutReplacementCurve

        if adjacency is Adjacency.REPLACE:
            return WithoutReplacementCurve(event, self.sampling_probability, attained)
        return PoissonCurve(event, self.sampling_probability, symmetric)
