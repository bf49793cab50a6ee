"""Sampling without replacement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.errors import DomainError, UnsupportedError
from privcalc.exact import Enclosed
from privcalc.record import replace
from privcalc.relation import Adjacency, Relation
from privcalc.spec.entry import share, whole
from privcalc.spec.registry import Parameter, wrapper
from privcalc.spec.tree import Leaf, Wrapped
from privcalc.wrappers.sampling import Sampling

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.losses.law import LossLaw, RenyiCurve, Term
    from privcalc.spec.tree import Node
    from privcalc.wrappers.base import Walk
    from privcalc.wrappers.sampling import SampledEvent


@wrapper(
    name="sampled_without_replacement",
    place=20,
    short="wor",
    parameters=(
        # As for a Poisson sample; only m / n counts.
        share("sampling_probability", "increases", short="q"),
        whole("source_dataset_size", "decreases", short="n"),
        Parameter("sample_size", short="m", kind="integer", minimum=0.0, cost="increases"),
    ),
    one_of=(("sampling_probability",), ("source_dataset_size", "sample_size")),
    ordered=(("sample_size", "source_dataset_size"),),
    relations=frozenset({Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE}),
    inner_relation=Relation.REPLACE_ONE,
    example="gaussian:sigma=2,sensitivity=2@wor:n=60000,m=256@14063",
)
class SampledWithoutReplacement(Sampling):
    """Sampling without replacement: a sample of fixed size m out of n, all equally likely.

    What is wrapped sees the sample only, and is read under replace-one, whatever relation the
    result is asked for: drawing another record changes a sample of the same size. Let (P, Q)
    dominate it there, and q = m / n. For adding a record the sampled event is dominated by
    (P, (1 - q) P + q Q), for removing by ((1 - q) P + q Q, P) (Zhu, Dong, Wang 2022,
    Theorem 11; m is public and the same for both data sets, and n the size of the larger
    one); for replacing by the substitution pair made of two halves (Corollary 31 there).

    Many steps of Gaussian noise, a record replaced: the largest cost of all adaptive mechanisms is
    the value of a game in which each step is a triple of outputs, without the record, with its
    first value, and with its second, pairwise at most `sensitivity` apart
    (`losses/fixed_size`). Upper end: the game in blocks of steps, for every mechanism of that
    sensitivity. Lower end: strategies that play removing, adding or three outputs equally far
    apart, whichever is best in view of what came out; they exist where batches that differ in one
    record may have any outputs that are no further apart than `sensitivity`. Where records are
    clipped to norm C and a replaced one counts 2 C, three outputs that far apart do not exist, and
    the cost may be lower, though not below that of a Poisson sample for removing. The substitution
    pair, with one of its halves below, is used for other noise, where no more is proved, and where
    sigma is below sensitivity / 2, or q is below 1e-6, or above 0.9.

    A group of k records is covered for replacing only: along a chain of data sets of different
    sizes the rate changes.
    """

    sampling = "fixed size without replacement"
    inside = (Adjacency.REPLACE, Adjacency.REPLACE)

    def __init__(
        self,
        *,
        sampling_probability: float | None = None,
        source_dataset_size: int | None = None,
        sample_size: int | None = None,
    ) -> None:
        """Take the probability, or the two sizes."""
        if sampling_probability is not None:
            self.exact = Enclosed.of(sampling_probability)
        elif source_dataset_size is not None and sample_size is not None:
            if sample_size > source_dataset_size:
                # Of like parts each number may come from another.
                raise DomainError(
                    f"a sample of {sample_size} cannot come from {source_dataset_size} records"
                )
            self.sizes = source_dataset_size, sample_size
            self.exact = Enclosed.of(sample_size) / source_dataset_size

    def refuse(self, adjacency: Adjacency, records: int, *, whole: bool) -> None:
        """Refuse to add or remove a group, or one of the records that are all drawn."""
        if adjacency is Adjacency.REPLACE:
            return
        if whole:
            raise UnsupportedError(
                "a sample of all records is not defined where one of them may be missing;"
                " pass --relation replace-one, or leave out @wor"
            )
        if records > 1:
            raise UnsupportedError(
                "@group on a sample of fixed size is known for replacing records only: where they"
                " are added or removed the sampling probability changes with each; pass --relation"
                " replace-one"
            )

    def unsampled(
        self, tree: Wrapped, event: Node, adjacency: Adjacency, records: int, walk: Walk
    ) -> Terms:
        """Return the event itself, in which a record is replaced whatever the result is asked for.

        Its pair is the same in both orders, and so is that of adding and of removing.
        """
        del tree, adjacency
        return walk.terms(event, Adjacency.REPLACE, records)

    def replaced(self, law: LossLaw, reverse: LossLaw, asked: SampledEvent, *, own: bool) -> Term:
        """Return the glued pair, and what proves lower ends of many steps: a game, or its halves.

        Its pair is the same in both orders.
        """
        del reverse, own
        from privcalc.losses.gaussian import GaussianLaw
        from privcalc.losses.law import Alone, Term
        from privcalc.losses.sampled.law import sampled
        from privcalc.losses.sampled.replaced import GluedDensityLaw, glued

        q, exact = asked.q, asked.exact
        pair = glued(law, q, exact=exact)
        if isinstance(pair, GluedDensityLaw) and isinstance(law, GaussianLaw):
            from privcalc.losses.fixed_size.laws import FixedSizePairs, Step

            alone = isinstance(asked.event, Leaf) and asked.event.name == "gaussian"
            pair = replace(pair, one_release=alone)
            step = Step(q, law.mu, law.error)
            either = [
                FixedSizePairs(pair, step, pair.up, pair.down, turned=way) for way in (False, True)
            ]
            return Term(pair, pair, members=either[0], back=either[1])
        # A list of a symmetric pair has more digits in one of its orders.
        turned = law.reverse_direction or law
        there = Alone(sampled(turned, q, remove=True, exact=exact))
        back = Alone(sampled(law, q, remove=False, exact=exact))
        return Term(pair, pair, members=there, back=back)

    def replaced_curve(self, event: RenyiCurve, q: float, *, attained: bool) -> RenyiCurve:
        """Bound the Renyi curve where a record is replaced."""
        from privcalc.renyi.sampled_without_replacement import WithoutReplacementCurve

        return WithoutReplacementCurve(event, q, attained)
