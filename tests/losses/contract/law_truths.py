"""What the privacy-loss laws of the registered mechanisms are, to 50 digits and from definitions.

A `Truth` is one direction of one dominating pair: atoms, a density, and masses at infinity. The
numbers are those that a specification stands for (`privcalc.exact`: 0.1 is one tenth), and nothing
here is computed by the code under test. `TRUTHS` of `law_mechanisms.py` has one entry for each
mechanism of closed form; sampling, groups and gluing act on these.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mpmath import mp, mpf

from privcalc.exact import exact
from privcalc.relation import Adjacency
from privcalc.spec.tree import Leaf, Node, Repeated, Wrapped
from tests.losses.contract.law_densities import (
    DIGITS,
    Mixture,
    Normal,
)
from tests.losses.contract.law_mechanisms import TRUTHS
from tests.losses.contract.law_opposite import opposite
from tests.losses.contract.law_truth import (
    Truth,
    chained,
    glued,
    mixed_chain,
    sampled,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.losses.contract.law_densities import Number

# A chain of neighbours is iterated for so many records and atoms.
FEW = 6


def written(value: Any) -> Number | None:
    """Return the number that a value of a specification stands for."""
    found = exact(value)
    return None if found is None else mpf(found.numerator) / found.denominator


def printed(value: Any) -> Number:
    """Return the decimal that is printed of a value, which is another number for 1/3."""
    found = Fraction(repr(float(value)))
    return mpf(found.numerator) / found.denominator


def stored(value: Any) -> Number:
    """Return the double that a value is stored as, which is another number for 0.1."""
    found = Fraction(value)
    return mpf(found.numerator) / found.denominator


def truth_of(
    tree: Node,
    adjacency: Adjacency,
    records: int = 1,
    read: Callable[[Any], Number | None] = written,
) -> Truth | None:
    """Return the law of one use of a tree in one direction; None where no closed form is known."""
    with mp.workdps(DIGITS):
        return _truth_of(tree, adjacency, records, read)


def _truth_of(tree: Node, adjacency: Adjacency, records: int, read: Any) -> Truth | None:
    if isinstance(tree, Repeated) and tree.count == 1:
        return _truth_of(tree.event, adjacency, records, read)
    if isinstance(tree, Leaf):
        make = TRUTHS.get(tree.name)
        if make is None:
            return None
        found = make(dict(tree.parameters), read, adjacency, records)
        if found is not None or records == 1:
            return found
        return _chain(make(dict(tree.parameters), read, adjacency, 1), records)
    if not isinstance(tree, Wrapped):
        return None
    given = dict(tree.parameters)
    if tree.name == "group":
        return _truth_of(tree.event, adjacency, records * int(str(given["records"])), read)
    if tree.name not in {"poisson_sampled", "sampled_without_replacement"}:
        return None
    if "truncated_batch_size" in given:
        # Known by bounds; their truths are those of `tests/wrappers`.
        return None
    q, event = _rate(tree, read)
    if isinstance(event, Leaf) and event.name == "matrix_gaussian":
        # Its steps are sampled, in one or two kinds of rounds.
        return None
    poisson, removing = tree.name == "poisson_sampled", adjacency is Adjacency.REMOVE
    base = _truth_of(event, Adjacency.ADD if poisson else Adjacency.REPLACE, 1, read)
    if base is None:
        return None
    if not q:
        return Truth(((mpf(0), mpf(1), mpf(1)),))
    replaced = poisson and adjacency is Adjacency.REPLACE
    if q == 1:
        # A record replaced is one removed and one added.
        return _truth_of(event, adjacency, records * (2 if replaced else 1), read)
    if records > 1:
        group = None
        if poisson and not replaced:
            steps = [_truth_of(event, Adjacency.REMOVE, j, read) for j in range(1, records + 1)]
            group = _sampled_group(base, steps, q, removing=removing)
        return group or _chain(_truth_of(tree, adjacency, 1, read), records)
    if replaced and not _categories(event):
        return opposite(base, q)
    return glued(base, q) if adjacency is Adjacency.REPLACE else sampled(base, q, removing=removing)


def _rate(tree: Wrapped, read: Any) -> tuple[Number, Node]:
    """Return the probability of a sample of samples, and what is sampled."""
    rate = mpf(1)
    event: Node = tree
    while isinstance(event, Wrapped) and event.name == tree.name:
        given = dict(event.parameters)
        if "sampling_probability" in given:
            rate *= read(given["sampling_probability"])
        else:
            rate *= mpf(int(str(given["sample_size"]))) / int(str(given["source_dataset_size"]))
        event = event.event
    return rate, event


def _categories(event: Node) -> bool:
    """Say whether an event tells categories apart: three of them are one pair glued of halves.

    With p for the true category and r for each other, of a sample for one category against
    another and against neither, the largest profile is that of the pair for removing.
    """
    return isinstance(event, Leaf) and event.name == "randomized_response"


def _chain(base: Truth | None, records: int) -> Truth | None:
    """Return the bound of a chain of neighbours, where the losses are few."""
    if base is None or base.density is not None or len(base.atoms) > FEW or records > FEW:
        return None
    return chained(base, records)


def _sampled_group(
    base: Truth, steps: list[Truth | None], q: Number, *, removing: bool
) -> Truth | None:
    """Return the pair of a group under Poisson sampling: of Gaussian noise, or few losses.

    `steps` are the pairs of 1, 2, ... records that are removed.
    """
    records = len(steps)
    known = [step for step in steps if step is not None and not step.unbounded]
    if all(step.density is None and len(step.atoms) <= FEW**2 for step in known):
        return mixed_chain(known, q, removing=removing) if len(known) == records else None
    if not isinstance(base.density, Normal) or q == 1:
        return None
    centres = tuple(j * base.density.mu for j in range(records + 1))
    weights = tuple(
        mp.binomial(records, j) * q**j * (1 - q) ** (records - j) for j in range(records + 1)
    )
    return Truth(density=Mixture(centres, weights, removing))
