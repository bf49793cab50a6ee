"""Batches of fixed size over a permuted data set: what a shuffling data loader does."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.relation import Adjacency, Relation
from privcalc.spec.entry import whole
from privcalc.spec.registry import wrapper, wrappers_in
from privcalc.spec.tree import Leaf
from privcalc.wrappers.allocation import (
    LEAST_NOISE,
    MOST_NOISE,
    MOST_STEPS,
    allocated,
    one_step,
)
from privcalc.wrappers.base import Wrapper, only_part

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.losses.batches_swap import Slots
    from privcalc.losses.gaussian import GaussianLaw
    from privcalc.losses.law import LossLaw, Term
    from privcalc.spec.tree import Wrapped
    from privcalc.wrappers.base import Walk

MOST_RECORDS = 10**9
# Ends of epsilon are about that wide, relative, for what is between the points of laws.
ACCURACY = 1e-7


@wrapper(
    name="shuffled_batches",
    place=24,
    short="batches",
    parameters=(
        whole("steps", most=MOST_STEPS, short="t", default_text="n / b, rounded up"),
        whole(
            "batch_size",
            most=MOST_RECORDS,
            short="b",
            default_text="any number, the same in all; or n / t, rounded up: the first batch has so"
            " many, and none has more",
        ),
        whole("source_dataset_size", most=MOST_RECORDS * MOST_STEPS, short="n", default_text="b t"),
    ),
    enough=(("steps",), ("source_dataset_size", "batch_size")),
    relations=frozenset(Relation),
    inner_relation=Relation.ADD_OR_REMOVE_ONE,
    example="gaussian:sigma=4@batches:n=60000,b=256@10",
)
class ShuffledBatches(Wrapper):
    """Shuffled batches: one pass in t batches over a data set that is permuted anew for each.

    The others may be anything, and steps adaptive. At sigma below 1 shuffling may protect no more
    than no sampling at all: in the attack that is the lower end all others pull the other way, so
    that the record shows in whatever batch it is. At sigma = 4 and 1000 batches of 256 one pass
    costs less than a twentieth of that, and within a factor of two of random allocation. Poisson
    sampling of the same noise is no measure of it.

    Lower end: all other records are at -v, v = 1 / sigma, and the record is at +v, or missing. The
    pass is exactly (1/t) sum N(2 v e_i, I) against (1/t) sum N(v e_i, I), for any size of batches.
    Upper end: the record is swapped from the first batch into another one; what the first output
    tells of the record that it was swapped with is bounded by a cap on likelihood ratios, and one
    batch by the largest law of a difference of them. One pass costs at most the smaller of that and
    no sampling, at each epsilon, and several what the largest pair does whose profile is below
    both. The larger b, the number of records of a batch, the less a cap costs; with t alone the
    bound is that of b = 1, which holds for batches of any one size. Proofs: `losses/batches.py` and
    `batches_swap.py`.

    A last batch that has fewer records: write n and b, as in n=60000,b=256, which is 234 batches
    and one of 96. Upper end: the swap for batches of at most b records, the first of which has b.
    Lower end: that of as many batches of one size, which is the least for any sizes. A loop that
    drops the last batch: write t, n and b, as in t=234,n=60000,b=256. A record is then read
    in a pass with probability b t / n only, at both ends.

    All that is for one gaussian as a step, with sigma from 0.4 to 100; the lower end also for
    several in one step, and for gdp, whose upper end is no sampling: what is mu-GDP need not add
    noise to a sum.

    Both ends are for a record that is zeroed out, or whose place in the permutation is left empty.
    Where a missing record lets all later ones move up, neither end is proved. Where the record is
    replaced, its values may be at +v and -v: below is random allocation with twice the sensitivity
    of one that is added; above is no sampling with that.
    """

    sampling: ClassVar[str] = "shuffled batches"
    needs_others = True
    # A record that is left out leaves its place in the permutation.
    splits = True

    def __init__(
        self,
        *,
        steps: int | None = None,
        batch_size: int | None = None,
        source_dataset_size: int | None = None,
    ) -> None:
        """Take the number of batches, or those of records of a batch and of all."""
        self.slots = _slots(steps, batch_size, source_dataset_size)
        self.steps = self.slots.steps

    def terms(self, tree: Wrapped, adjacency: Adjacency, records: int, walk: Walk) -> Terms:
        """Return the laws above and below; of a replaced record those of twice the distance."""
        from privcalc.losses.gaussian import GaussianLaw
        from privcalc.losses.law import Term

        if adjacency is Adjacency.REPLACE:
            law = one_step(tree, Adjacency.REMOVE, records, walk)
            law = GaussianLaw.of(law.enclosure * 2)
            if self.steps == 1:
                return [(Term(law, law), 1)]
            return [(Term(law, self._allocated(law, Adjacency.REMOVE, walk)), 1)]
        if self.steps == 1:
            return walk.terms(tree.event, adjacency, records)
        law = one_step(tree, adjacency, records, walk)
        return [(self._term(tree, law, adjacency, walk), 1)]

    def _term(self, tree: Wrapped, law: GaussianLaw, adjacency: Adjacency, walk: Walk) -> Term:
        """Return the laws for a record that comes or goes."""
        from privcalc.losses.law import Term

        low, high = (each.mu for each in law.ends)
        known = high * LEAST_NOISE <= 1.0 + 1e-9 and low * MOST_NOISE >= 1.0 - 1e-9
        if not known or wrappers_in(tree.event):
            return Term(law, self._allocated(law, adjacency, walk))
        from privcalc.losses.batches import law_above, law_below

        remove = adjacency is Adjacency.REMOVE
        lower = law_below(self.slots, low, remove=remove)
        step = only_part(tree.event)
        # Of one value with Gaussian noise all that is used is known.
        if not (isinstance(step, Leaf) and step.name == "gaussian"):
            return Term(law, lower)
        above = law_above(self.slots, high, remove=remove)
        return Term(above, lower, accuracy=ACCURACY)

    def _allocated(self, law: GaussianLaw, adjacency: Adjacency, walk: Walk) -> LossLaw | None:
        """Return random allocation below, for any sizes of batches; that of no loss where records
        are left over.
        """
        from privcalc.losses.atoms import nothing

        if self.slots.skipped:
            return nothing()
        return allocated(self.steps, law, adjacency, walk).lower


def _slots(steps: int | None, batch: int | None, records: int | None) -> Slots:
    """Return what the sizes mean that were given; without b all batches are as even as can be."""
    from privcalc.losses.batches_swap import Slots

    if steps is None:
        if batch is None or records is None:
            raise DomainError("batches needs t or n with b")
        steps = -(-records // batch)
        if steps > MOST_STEPS:
            raise DomainError(
                f"n={records} records are {steps} batches of b={batch}:"
                f" at most {MOST_STEPS} are possible"
            )
    if records is None:
        batch = batch or 1
        return Slots(steps, batch, steps * batch)
    if records < steps:
        raise DomainError(f"n={records} records are less than one for each of t={steps} batches")
    most = steps if batch is None else -(-records // batch)
    if steps > most:
        raise DomainError(
            f"n={records} records are no more than {most} batches of b={batch}: leave out t, or b"
        )
    slots = Slots(steps, min(batch or -(-records // steps), records), records)
    if steps == 1 and slots.skipped:
        raise DomainError(
            f"one batch of b={batch} of n={records} records is a sample, as of"
            f" @wor:n={records},m={batch}"
        )
    return slots
