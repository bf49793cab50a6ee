"""Random allocation of each record to one step of an epoch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import UnsupportedError
from privcalc.exact import Enclosed
from privcalc.relation import Adjacency, Relation
from privcalc.spec.entry import whole
from privcalc.spec.registry import wrapper
from privcalc.wrappers.base import Wrapper, gaussian_step, spelled

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.losses.gaussian import GaussianLaw
    from privcalc.losses.law import Term
    from privcalc.spec.tree import Wrapped
    from privcalc.wrappers.base import Walk

# What the lattices are made for.
MOST_STEPS = 100_000
LEAST_NOISE, MOST_NOISE = 0.4, 100.0
# Brackets of epsilon are about that wide, relative, for what lattices do to one epoch.
ACCURACY = 1e-7
# Work that has to be left for fine lattices.
PLENTY = 2e7
# Where less work is left than lattices may take, so many points of small ones: epsilon is a few
# hundredths larger at 20,000 steps, and then up to 1.7 times as large.
SMALL = (4e5, 2**10), (3e6, 2**12)
# Different epochs of a specification that may be fine, and rough, and there may be at all: a fine
# one has sixty megabytes, the roughest ten.
NAME, MOST_FINE, MOST_ROUGH, MOST_EPOCHS = "allocated", 2, 8, 30
# Steps for which the roughest of them is good for a look.
FEW_STEPS = 10_000


@wrapper(
    name="randomly_allocated",
    place=22,
    short="allocation",
    parameters=(
        # The mean of t + 1 independent ratios is that of t, averaged over which is left out.
        whole("steps", "decreases", most=MOST_STEPS, short="t", cost_unless=("participations",)),
        whole("participations", most=MOST_STEPS, short="k", default=1),
    ),
    ordered=(("participations", "steps"),),
    relations=frozenset({Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_SPECIAL}),
    inner_relation=Relation.ADD_OR_REMOVE_ONE,
    example="gaussian:sigma=1@allocation:t=1000@10",
)
class RandomlyAllocated(Wrapper):
    """Random allocation: one epoch of t steps, each record in one of them, drawn by itself.

    What is wrapped is one step. A count after it is a number of epochs, with a fresh draw in each;
    a count before it one draw that is kept, so that the record meets the step of every epoch.

    For removing a record the epoch is dominated by the mixture (1/t) sum_j N(v e_j, I) against N(0,
    I), v = 1 / sigma, and for adding one by the same in the reverse direction, also where every
    step is chosen adaptively. Proof. Fix the places of all other records; they are drawn alike with
    and without the record, and profiles are jointly convex. Given the outputs so far, let Q_i be
    the law of step i without the record, and W_i with it: some kernel takes N(v, 1) to W_i and
    N(0, 1) to Q_i (Blackwell 1953). Applied to x_1, ..., x_t one by one, with kernels chosen by
    what came before, these take N(0, I) to the outputs without the record, and N(v e_j, I) to those
    with the record in step j, for every j. A record in a data set whose others add nothing attains
    it. Draws that are kept for k epochs give N(v, 1) k times at step j, which is N(v sqrt(k), 1).

    Of k different steps of t, drawn evenly, the law above is a composition of epochs in which the
    record is in one step. Proof. Draw a division of the steps into k blocks evenly, r = t mod k of
    floor(t / k) + 1 steps and the others of floor(t / k), and one step of each block: by symmetry
    all sets of k are equally likely. Given the division the blocks are epochs with draws of their
    own, as the proof above has one kernel for all steps; and profiles are jointly convex in the
    mixture over divisions (Feldman, Shenfeld 2025). The laws below are what the sum of all outputs
    tells apart, N(k v / sqrt(t), 1), and what the sum of their likelihood ratios does
    (`losses/allocated.py`).

    Adding and removing are composed each by itself. That is not what a shuffled data set does,
    whose batches have a fixed size: `@batches`.
    """

    sampling: ClassVar[str] = "random allocation"
    splits = True

    def __init__(self, *, steps: int, participations: int = 1) -> None:
        """Take the number of steps, and in how many of them a record is."""
        self.steps, self.participations = steps, participations

    def terms(self, tree: Wrapped, adjacency: Adjacency, records: int, walk: Walk) -> Terms:
        """Return the laws of one epoch, above and below; in all steps there is the event itself."""
        k = self.participations
        if self.steps == k:
            return [(term, k * n) for term, n in walk.terms(tree.event, adjacency, records)]
        law = one_step(tree, adjacency, records, walk)
        if k == 1:
            return [(allocated(self.steps, law, adjacency, walk), 1)]
        return several(self.steps, k, law, adjacency, walk)


def several(steps: int, k: int, law: GaussianLaw, adjacency: Adjacency, walk: Walk) -> Terms:
    """Return the laws of an epoch of which each record is in k steps, 2 <= k < t.

    Above there are blocks, and below one law of all: each has nothing on the other side.
    """
    from privcalc.losses.allocated import sum_law
    from privcalc.losses.atoms import nothing
    from privcalc.losses.gaussian import GaussianLaw
    from privcalc.losses.law import Term

    remove = adjacency is Adjacency.REMOVE
    linear = GaussianLaw.of(law.enclosure * k / Enclosed.of(steps).root())
    below = sum_law(law.ends[0].mu, steps, k, linear, remove=remove) or linear
    size, longer = divmod(steps, k)
    found: Terms = [(Term(nothing(), below), 1)]
    for length, count in ((size, k - longer), (size + 1, longer)):
        if count and length == 1:
            found.append((Term(law, nothing()), count))
        elif count:
            above = allocated(length, law, adjacency, walk)
            found.append((Term(above.upper, nothing(), accuracy=above.accuracy), count))
    return found


def one_step(tree: Wrapped, adjacency: Adjacency, records: int, walk: Walk) -> GaussianLaw:
    """Return the law of one step."""
    return gaussian_step(tree, (adjacency, records), walk, spelled(tree), groups=True)


def allocated(steps: int, law: GaussianLaw, adjacency: Adjacency, walk: Walk) -> Term:
    """Return the laws of one epoch of t >= 2 steps in one direction, above and below.

    More noise is post-processing, so that all profiles grow with v = 1 / sigma. Where v is too
    large for lattices the law above is that of one step without sampling, of which the epoch is a
    mixture, and the law below that of tests of the largest output. Where it is too small the law
    above is an epoch with more v, or one step if that is less; and below is what the sum of all
    outputs tells apart, N(v / sqrt(t), 1).
    """
    from privcalc.losses.allocated import (
        ROUGH_SIZE,
        ROUGHEST_SIZE,
        SIZE,
        allocated_laws,
        largest_output,
    )
    from privcalc.losses.gaussian import GaussianLaw
    from privcalc.losses.law import Term
    from privcalc.numerics.work import left

    low, high = (each.mu for each in law.ends)
    least, most = 1.0 / MOST_NOISE, 1.0 / LEAST_NOISE
    if high > most * (1.0 + 1e-9):
        return Term(law, largest_output(steps, low, remove=adjacency is Adjacency.REMOVE))
    if low < least * (1.0 - 1e-9):
        below = GaussianLaw.of(law.enclosure / Enclosed.of(steps).root())
        if law.mu * math.sqrt(steps) < least:
            return Term(law, below)
        return Term(allocated(steps, GaussianLaw(least), adjacency, walk).upper, below)
    key = (NAME, steps, low, high, adjacency)
    if key not in walk.kept:
        kept = sum(isinstance(each, tuple) and each[0] == NAME for each in walk.kept) // 2
        if kept >= MOST_EPOCHS:
            raise UnsupportedError(
                f"at most {MOST_EPOCHS} different epochs with @allocation in one specification are"
                " supported; equal ones count as one, also where each has its own draw: @EPOCHS"
            )
        size = SIZE if left() >= PLENTY and kept < MOST_FINE else ROUGH_SIZE
        if kept >= MOST_ROUGH or (walk.rough and steps <= FEW_STEPS):
            size = ROUGHEST_SIZE
        size = next((small for work, small in SMALL if left() < work), size)
        upper = allocated_laws(steps, high, lower=False, size=size)
        lower = allocated_laws(steps, low, lower=True, size=size)
        for each in (Adjacency.ADD, Adjacency.REMOVE):
            name = each.value
            walk.kept[NAME, steps, low, high, each] = Term(
                upper[name], lower[name], accuracy=ACCURACY
            )
    return walk.kept[key]
