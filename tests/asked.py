"""What `compose` answers to a text: the brackets that many tests compare with truths."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from privcalc.accounting.compose import compose
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.bounds import Bound
    from privcalc.relation import Relation


@cache
def epsilon(
    text: str, delta: float = 1e-5, relation: Relation | None = None, **options: Any
) -> Bound:
    """Return the bracket of epsilon at a delta."""
    found = compose(parse(text).tree, deltas=[delta], relation=relation, **options)
    return found.answers[0].proved


def deltas(
    text: str, epsilons: Sequence[float], relation: Relation | None = None, **options: Any
) -> list[Bound]:
    """Return the brackets of delta at epsilons."""
    found = compose(parse(text).tree, epsilons=epsilons, relation=relation, **options)
    return [each.proved for each in found.answers]


def delta(text: str, epsilon: float, relation: Relation | None = None, **options: Any) -> Bound:
    """Return the bracket of delta at an epsilon."""
    return deltas(text, [epsilon], relation, **options)[0]
