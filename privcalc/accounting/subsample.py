"""What sampling buys: the entry function of the command `subsample`."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from privcalc.accounting.compose import compose
from privcalc.accounting.directions import Directions
from privcalc.accounting.realize import has_parts, realize
from privcalc.bounds import TOLERANCE
from privcalc.errors import DomainError, NotCertifiedError, UnsupportedError, UsageError
from privcalc.exact import shown
from privcalc.numerics.rounding import non_negative
from privcalc.numerics.work import QUESTION, allowance
from privcalc.record import record
from privcalc.relation import Relation
from privcalc.spec.registry import entry, holes
from privcalc.spec.tree import Repeated, leaves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.accounting.amplification import Amplification
    from privcalc.accounting.directions import Answer
    from privcalc.engine.terms import Realized
    from privcalc.spec.tree import Node, Wrapped

LARGEST_ORDER = 1e6


@record
class Subsampled:
    """The amplified Renyi curve of a specification, and what comes of it after some rounds.

    Attributes:
        tree: one round: the specification that sees a sample.
        rounds: all rounds, which epsilon is of.
        relation: the neighbouring relation in force.
        curve: the columns, and what proves them; of one round.
        count: number of rounds.
        accounted: epsilon at each delta: by Renyi accountants alone, with the conversion of Mironov
            2017 (rdp_classic) or the best one (rdp_best), at the best real order; and by `compose`.
    """

    tree: Node
    rounds: Node
    relation: Relation
    curve: Amplification
    count: int
    accounted: tuple[tuple[dict[str, float], Answer], ...]


@allowance(QUESTION)
def subsample(
    sampled: Wrapped,
    orders: Sequence[float],
    *,
    relation: Relation | None = None,
    deltas: Sequence[float] = (),
    count: int = 1,
    tolerance: float = TOLERANCE,
    engine: str = "auto",
) -> Subsampled:
    """Bound the Renyi divergences of a sampled specification, and epsilon after `count` rounds.

    Args:
        sampled: an event that sees a sample, Poisson or of a fixed size, without holes.
        orders: real orders in (1, LARGEST_ORDER].
        relation: None, or one that the sampling has: for Poisson sampling add-or-remove-one or
            replace-special, for a fixed size replace-one.
        deltas: epsilon is answered at each.
        count: rounds, each with a fresh sample.
        tolerance: target relative width.
        engine: auto, contour, fft or rdp, for epsilon.

    Raises:
        DomainError: an order, a delta or the count is out of range.
        UnsupportedError: the relation, or a part of the tree.
        UsageError: the tree has a hole.
    """
    from privcalc.accounting.amplification import amplification

    tree = sampled.event
    _check(sampled, orders, count)
    fixed = sampled.name != "poisson_sampled"
    relation = relation or (Relation.REPLACE_ONE if fixed else Relation.ADD_OR_REMOVE_ONE)
    if (relation is Relation.REPLACE_ONE) != fixed:
        raise UnsupportedError(
            "subsample reads samples of a fixed size (--n and --m) under replace-one, and Poisson"
            f" samples (--q) under add-or-remove-one, not under {relation.text}; convert --to rdp"
            " has the curve of a specification under any relation it supports"
        )
    curve = amplification(tree, sampled, relation, orders, tolerance)
    rounds: Node = Repeated(count, sampled) if count > 1 else sampled
    accounted: list[tuple[dict[str, float], Answer]] = []
    if deltas:
        found = compose(
            rounds, relation=relation, deltas=deltas, tolerance=tolerance, engine=engine
        )
        directions = Directions(realize(rounds, relation), tolerance, engine)
        for delta, answer in zip(deltas, found.answers, strict=True):
            # A search that runs out of work may miss the best order.
            classic, best = (
                directions.largest(partial(_renyi, delta=delta, conversion=conversion))
                for conversion in ("classic", "trade_off")
            )
            methods = {"rdp_classic": classic, "rdp_best": min(classic, best)}
            accounted.append((methods, answer))
    return Subsampled(sampled, rounds, relation, curve, count, tuple(accounted))


def _renyi(part: Realized, delta: float, conversion: str) -> float:
    """Return an upper bound on epsilon from the Renyi curve alone; infinity where it has none.

    A Renyi divergence is infinite where there is an infinite loss.
    """
    from privcalc.engine.accountants import renyi_epsilon

    composition = part.upper
    if delta >= 1.0:
        return 0.0
    if composition.infinity_mass().upper > 0.0:
        return math.inf
    if delta == 0.0:
        return non_negative(composition.max_loss().upper)
    try:
        return renyi_epsilon(composition, delta, conversion).bound.upper
    except NotCertifiedError:
        return math.inf


def _check(tree: Node, orders: Sequence[float], count: int) -> None:
    if holes(tree):
        raise UsageError("subsample needs every value; calibrate finds a free parameter")
    for leaf in leaves(tree):
        if getattr(entry(leaf.name).factory, "run", False):
            raise UnsupportedError(
                f"{entry(leaf.name).spelling} is a whole run, each step of which sees its own"
                " sample: write @poisson:q= after it, and ask compose or convert"
            )
    if has_parts(tree):
        raise UnsupportedError(
            "subsample shows the curve of one event; ask about each part of max by itself, or"
            " compose for epsilon"
        )
    for order in orders:
        if not 1.0 < order <= LARGEST_ORDER:
            raise DomainError(
                f"an order must be > 1 and at most {LARGEST_ORDER:.0f}, got {shown(order)}"
            )
    if count < 1:
        raise DomainError(f"the number of rounds must be at least 1, got {count}")
