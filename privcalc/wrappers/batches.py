"""Batches of fixed size over a permuted data set: what a shuffling data loader does."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcalc.relation import Relation
from privcalc.spec.registry import Parameter, wrapper
from privcalc.wrappers.allocation import MOST_STEPS, allocated, one_step, rough
from privcalc.wrappers.base import Wrapper

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.relation import Adjacency
    from privcalc.spec.tree import Wrapped
    from privcalc.wrappers.base import Walk


@wrapper(
    name="shuffled_batches",
    place=24,
    plain=(
        "One pass over a permuted data set in batches of a fixed size. A record that is missing"
        " leaves its place empty, as if it were zero."
    ),
    short="batches",
    parameters=(
        Parameter(
            "steps",
            "number of batches of a pass",
            short="t",
            kind="integer",
            minimum=1.0,
            maximum=float(MOST_STEPS),
        ),
    ),
    relations=frozenset({Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_SPECIAL}),
    inner_relation=Relation.ADD_OR_REMOVE_ONE,
    example="gaussian:sigma=1@batches:t=1000@10",
)
class ShuffledBatches(Wrapper):
    """Shuffled batches: one pass in t batches over a data set that is permuted anew for each.

    Upper end: whatever the permutation, even one that an adversary chooses, the record takes part
    in one step of a pass. Given the permutation the pass costs at most what one step does without
    any sampling, and profiles are jointly convex in mixtures over permutations, which are drawn
    alike for both data sets. Lower end: a data set whose other records are all zero. The step that
    has the record is drawn evenly, and only that matters: this is random allocation, exactly, which
    is below the truth in every direction and under composition. What other records add to that,
    and with it the truth between the ends, is not known.

    Both ends are for a record that is zeroed out, or whose place in the permutation is left empty.
    Where a missing record lets all later ones move up, each batch after it changes too, and
    neither end is proved.
    """

    sampling: ClassVar[str] = "shuffled batches"

    def __init__(self, *, steps: int) -> None:
        """Take the number of batches."""
        self.steps = steps

    def terms(self, tree: Wrapped, adjacency: Adjacency, records: int, walk: Walk) -> Terms:
        """Return the event without sampling as the law above, and allocation as the law below."""
        from privcalc.losses.term import Term

        if self.steps == 1:
            return walk.terms(tree.event, adjacency, records)
        law = one_step(tree, adjacency, records, walk)
        return [(Term(law, allocated(self.steps, law, adjacency, walk).lower), 1)]

    @property
    def splits(self) -> bool:
        """Return True: a record that is left out leaves its place in the permutation."""
        return True

    def rough_divergence(self, inner: float) -> float:
        """Say what a record in one step costs, between its ends."""
        return 0.5 * (inner + rough(self.steps, inner))
