"""Batches of fixed size over a permuted data set: what a shuffling data loader does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.relation import Adjacency, Relation
from privcalc.spec.registry import Parameter, wrapper
from privcalc.spec.tree import Composed, Leaf, Repeated
from privcalc.wrappers.allocation import (
    LEAST_NOISE,
    MOST_NOISE,
    MOST_STEPS,
    allocated,
    one_step,
)
from privcalc.wrappers.base import Wrapper, wrappers_in

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.losses.noise.gaussian import GaussianLaw
    from privcalc.losses.term import Term
    from privcalc.spec.tree import Node, Wrapped
    from privcalc.wrappers.base import Walk

MOST_RECORDS = 10**9
# Ends of epsilon are about that wide, relative, for what is between the points of laws.
ACCURACY = 1e-7
# Where a rough cost is that of no sampling; and how much more than the lower end it is elsewhere.
MOST_ROUGH, BETWEEN = 50.0, 2.0


@wrapper(
    name="shuffled_batches",
    line="a pass over a permuted data set in batches",
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
        Parameter(
            "batch_size",
            "number of records of a batch",
            short="b",
            kind="integer",
            minimum=1.0,
            maximum=float(MOST_RECORDS),
            default_text="any number",
        ),
        Parameter(
            "source_dataset_size",
            "number of records, which t divides",
            short="n",
            kind="integer",
            minimum=1.0,
            maximum=float(MOST_RECORDS * MOST_STEPS),
            default_text="b t",
        ),
    ),
    excludes=(("batch_size", "source_dataset_size"),),
    relations=frozenset(Relation),
    inner_relation=Relation.ADD_OR_REMOVE_ONE,
    between=(
        "what the other records of a batch may add is known between two ends only: all of"
        " them pulling the other way, below, and a cap on what they can do, above"
    ),
    example="gaussian:sigma=4@batches:t=1000,b=256@10",
)
class ShuffledBatches(Wrapper):
    """Shuffled batches: one pass in t batches over a data set that is permuted anew for each.

    The others may be anything, and steps adaptive. At sigma below 1 shuffling may protect no more
    than no sampling at all: in the attack that is the lower end all others pull the other way, so
    that the record shows in whatever batch it is. At sigma = 4 and 1000 batches of 256 one pass
    costs less than a twentieth of that, and within a factor of two of random allocation. Poisson
    sampling of the same noise is no measure of it.

    Lower end: all other records are at -v, v = 1 / sigma, and the record is at +v, or missing. The
    pass is exactly (1/t) sum N(2 v e_i, I) against (1/t) sum N(v e_i, I), for any size of batches;
    its tests are proved, for one pass and several, also sums. Where random allocation, with other
    records that are zero, costs more, that is the lower end. Upper end: the record is swapped from
    the first batch into another one; what the first output tells of the record that it was swapped
    with is bounded by a cap on likelihood ratios, and one batch by the largest law of a difference
    of them. One pass costs at most the smaller of that and no sampling, at each epsilon, and
    several what the largest pair does whose profile is below both. The larger b, the number of
    records of a batch (or n = b t), the less a cap costs; without b or n the bound is that of b =
    1, which holds for every b. Proofs: `losses/batches/attack.py` and `swap.py`.

    All that is for one gaussian as a step, with sigma from 0.4 to 100; the lower end also for
    several in one step, and for gdp, whose upper end is no sampling: what is mu-GDP need not add
    noise to a sum.

    Both ends are for a record that is zeroed out, or whose place in the permutation is left empty.
    Where a missing record lets all later ones move up, each batch after it changes too, and
    neither end is proved. Where the record is replaced, its values may be at +v and -v: with all
    others at -v the pass is (1/t) sum N(2 v e_i, I) against N(0, I), random allocation with twice
    the sensitivity of one that is added, below; above is no sampling with that.
    """

    sampling: ClassVar[str] = "shuffled batches"

    def __init__(
        self,
        *,
        steps: int,
        batch_size: int | None = None,
        source_dataset_size: int | None = None,
    ) -> None:
        """Take the number of batches, and of records of one, or of all."""
        self.steps, self.batch = steps, batch_size or 1
        if source_dataset_size is not None:
            self.batch, rest = divmod(source_dataset_size, steps)
            if rest or not self.batch:
                raise DomainError(
                    f"n={source_dataset_size} records are not t={steps} batches of the same size:"
                    " n has to be a multiple of t, or leave it out"
                )

    def terms(self, tree: Wrapped, adjacency: Adjacency, records: int, walk: Walk) -> Terms:
        """Return the laws above and below; of a replaced record those of twice the distance."""
        from privcalc.losses.noise.gaussian import GaussianLaw
        from privcalc.losses.term import Term

        if adjacency is Adjacency.REPLACE:
            law = one_step(tree, Adjacency.REMOVE, records, walk)
            law = GaussianLaw.of(law.enclosure * 2)
            if self.steps == 1:
                return [(Term(law, law), 1)]
            return [(Term(law, allocated(self.steps, law, Adjacency.REMOVE, walk).lower), 1)]
        if self.steps == 1:
            return walk.terms(tree.event, adjacency, records)
        law = one_step(tree, adjacency, records, walk)
        return [(self._term(tree, law, adjacency, walk), 1)]

    def _term(self, tree: Wrapped, law: GaussianLaw, adjacency: Adjacency, walk: Walk) -> Term:
        """Return the laws for a record that comes or goes."""
        from privcalc.losses.term import Term

        low, high = (each.mu for each in law.ends)
        known = high * LEAST_NOISE <= 1.0 + 1e-9 and low * MOST_NOISE >= 1.0 - 1e-9
        if not known or wrappers_in(tree.event):
            return Term(law, allocated(self.steps, law, adjacency, walk).lower)
        from privcalc.losses.batches.laws import law_above, law_below

        remove = adjacency is Adjacency.REMOVE
        lower = law_below(self.steps, low, remove=remove)
        if not _adds_noise(tree.event):
            return Term(law, lower)
        above = law_above(self.steps, self.batch, high, remove=remove)
        return Term(above, lower, accuracy=ACCURACY)

    @property
    def splits(self) -> bool:
        """Return True: a record that is left out leaves its place in the permutation."""
        return True

    def rough_divergence(self, inner: float) -> float:
        """Say what a record costs where others pull the other way, and between the ends."""
        if inner > MOST_ROUGH:
            return inner
        pair = math.exp(4.0 * inner) - 2.0 * math.exp(2.0 * inner) + math.exp(inner)
        return min(inner, math.log1p(BETWEEN * pair / self.steps))


def _adds_noise(tree: Node) -> bool:
    """Say whether a step is one value with Gaussian noise, of which all that is used is known."""
    if isinstance(tree, Repeated) and tree.count == 1:
        return _adds_noise(tree.event)
    if isinstance(tree, Composed) and len(tree.events) == 1:
        return _adds_noise(tree.events[0])
    return isinstance(tree, Leaf) and tree.name == "gaussian"
