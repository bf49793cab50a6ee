"""Poisson sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.errors import UnsupportedError
from privcalc.exact import Enclosed
from privcalc.relation import Adjacency, Relation
from privcalc.spec.registry import Parameter, wrapper

if TYPE_CHECKING:
    from privcalc.losses.bracket import LawBracket
    from privcalc.losses.law import LossLaw
    from privcalc.renyi.curve import RenyiCurve


@wrapper(
    name="poisson_sampled",
    plain=(
        "Each record takes part only if its own toss of a coin says so, anew in every "
        "step; records that are left out of a step are not touched by it."
    ),
    short="poisson",
    parameters=(
        Parameter(
            "sampling_probability",
            "probability with which each record is in the sample",
            short="q",
            minimum=0.0,
            maximum=1.0,
            # A sample at a lower rate is a mixture of one at the higher rate and of none.
            cost="increases",
        ),
    ),
    inner_relation=Relation.ADD_OR_REMOVE_ONE,
    example="gaussian:sigma=1.1@poisson:q=256/60000@14063",
)
class PoissonSampled:
    """Poisson sampling: each record is in the sample independently, with the same probability.

    What is wrapped sees the sample only, and the size of the sample is not published. This is not
    shuffling, nor batches of a fixed size. Let (P, Q) dominate the event for adding a record, P
    without it and Q with it. Then the sampled event is dominated by (P, (1 - q) P + q Q) for
    adding and by ((1 - q) P + q Q, P) for removing (Zhu, Dong, Wang 2022, Theorem 11; with these
    roles of P and Q it holds for every pair). Each direction is composed by itself.

    The event is read under add-or-remove-one, whatever relation the result is asked for: its
    sensitivity is that of one record added. Where a record is replaced and its place is in the
    sample, the outputs of both values may lie on opposite sides of the output without them, twice
    as far apart. That is the worst, for every mechanism: with R and W for the event without and
    with the record, the sampled event is dominated by (1 - q) R + q W against (1 - q) R + q W',
    W' the mirror image of W (proved in `losses/replaced.py`). Gaussian, Laplace and other
    noise, and bare guarantees, attain it.

    An event that has no privacy loss of its own (a composition, or what is known by its Renyi
    curve) is answered from above by its Renyi curve: a tight sum where adding and removing have the
    same loss, and the bound of Zhu, Wang 2019 with smaller constants otherwise.

    Attributes:
        sampling_probability: q.
        exact: what was written.
    """

    def __init__(self, *, sampling_probability: float) -> None:
        """Take the sampling probability."""
        self.sampling_probability = sampling_probability
        self.exact = Enclosed.probability(sampling_probability)

    def law(
        self, event: LossLaw, reverse: LossLaw, adjacency: Adjacency, *, exact: bool = True
    ) -> LossLaw:
        """Return the privacy-loss law of the sampled event in one direction.

        Args:
            event: the law of the event for adding a record; both directions derive from it.
            reverse: its law for removing one; where the pair is symmetric, the same.
            adjacency: ADD or REMOVE; `replaced` is for replacing a record.
            exact: whether the sampling probability is exact, and not a rounded product.
        """
        from privcalc.losses.sampled import sampled

        if adjacency is Adjacency.REPLACE:
            raise AssertionError("a replaced record has a law of its own")
        remove = adjacency is Adjacency.REMOVE
        q = self.sampling_probability
        return sampled(event, q, remove=remove, exact=exact, reverse=reverse)

    def replaced(
        self, event: LossLaw, reverse: LossLaw, *, opposite: bool, exact: bool = True
    ) -> LossLaw | LawBracket:
        """Return the privacy-loss law of the sampled event for replacing a record.

        Args:
            event: the law of the event for adding a record.
            reverse: its law for removing one.
            opposite: whether two records of the event may pull in opposite directions.
            exact: whether the sampling probability is exact.
        """
        from privcalc.losses.replaced import replaced

        return replaced(event, reverse, self.sampling_probability, exact=exact, opposite=opposite)

    def curve(
        self, event: RenyiCurve, adjacency: Adjacency, *, symmetric: bool, attained: bool
    ) -> RenyiCurve:
        """Return an upper bound on the Renyi curve of the sampled event, in both directions.

        Args:
            event: bounds the event's divergences in both directions.
            adjacency: ADD or REMOVE; no curve is known for replacing a record.
            symmetric: whether the event has one privacy loss for both.
            attained: whether one pair attains the event's curve.

        Raises:
            UnsupportedError: a record is replaced.
        """
        if adjacency is Adjacency.REPLACE:
            raise UnsupportedError(
                "replacing a record of a Poisson sample is not available for a composition, or for"
                " what is known by bounds or by its Renyi curve only; sample each part, or pass"
                " --relation add-or-remove-one"
            )
        del attained
        from privcalc.renyi.amplified import PoissonCurve

        return PoissonCurve(event, self.sampling_probability, symmetric)
