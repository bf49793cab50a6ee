"""What one private selection costs: the bracket that `select` prints, and `compose` of a lone node.

Every method of `selection/methods.py` proves an upper end by itself, in each direction; the least
counts. The lower end is the cost of one order of results, or of ranking them by lot.
"""

from __future__ import annotations

import math
from functools import cache, reduce
from typing import TYPE_CHECKING

import numpy as np

from privcalc.accounting.directions import Directions
from privcalc.accounting.realize import realize
from privcalc.bounds import Bound
from privcalc.errors import DisagreementError, NotCertifiedError
from privcalc.exact import distinct
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import remembered, share
from privcalc.record import record
from privcalc.selection.base import bases
from privcalc.selection.methods import TOLERANCE, Methods
from privcalc.wrappers.select import runs_of

if TYPE_CHECKING:
    from privcalc.accounting.directions import Answer, Quantity
    from privcalc.relation import Relation
    from privcalc.selection.runs import Runs
    from privcalc.spec.tree import Node, Wrapped

# Profiles of the base are asked for at this width at the narrowest: what a selection adds is
# never known so well.
BASE_TOLERANCE = 1e-7


@record
class SelectionBound:
    """One answer.

    Attributes:
        bound: its bracket, the worse direction.
        base: the answer for one run.
        methods: what each method proves, the worse direction.
        directions: the bracket of each direction.
    """

    bound: Bound
    base: Answer
    methods: dict[str, float]
    directions: dict[str, Bound]


class PreparedBase:
    """What one run costs, prepared once for all questions about selections from it."""

    def __init__(self, event: Node, relation: Relation, tolerance: float, engine: str) -> None:
        """Find its laws; see `compose` for the arguments and what may be raised."""
        self.directions = realize(event, relation)
        self.pairs = bases(self.directions, max(tolerance, BASE_TOLERANCE), engine)
        # What one run costs, as `compose` answers.
        self.answer = cache(Directions(self.directions, tolerance, engine).answer)


@remembered(4)
def _prepared(
    event: Node, relation: Relation, tolerance: float, engine: str, numbers: object
) -> PreparedBase:
    """Return the same base for the same numbers: equal doubles may stand for different ones."""
    del numbers
    return PreparedBase(event, relation, tolerance, engine)


def facts_of(runs: Runs) -> dict[str, float | str]:
    """Return what is known of a number of runs, by name."""
    facts: dict[str, float | str] = {"family": runs.family, **runs.parameters}
    return {**facts, "mean": facts.get("mean", runs.mean.upper), "no_run": runs.no_runs.upper}


class SelectionBrackets:
    """One selection, and what answers questions about it.

    Attributes:
        runs: the number of runs.
        base: what one run costs.
        methods: what proves the bounds, by direction.
    """

    def __init__(self, whole: Wrapped, relation: Relation, tolerance: float, engine: str) -> None:
        """Take a selection without holes.

        Args:
            whole: the selection.
            relation: the neighbouring relation.
            tolerance: target relative width: of the base, and, where it is wider than what the
                bounds reach anyway, of theirs.
            engine: for the base.
        """
        self.runs = runs_of(whole)
        event = whole.event
        self.base = _prepared(event, relation, tolerance, engine, distinct(event))
        self.methods = {
            name: Methods(
                self.runs, self.base.directions[name], *pair, engine, max(TOLERANCE, tolerance)
            )
            for name, pair in self.base.pairs.items()
        }

    @np.errstate(all="ignore")
    def answer(self, quantity: Quantity, at: float) -> SelectionBound:
        """Bracket epsilon at a delta, or delta at an epsilon.

        Raises:
            DisagreementError: a lower end is above an upper one, so that one of them is wrong.
            NotCertifiedError: no finite upper end could be proved.
        """
        base = self.base.answer(quantity, at)
        tables: list[dict[str, float]] = []
        bounds: dict[str, Bound] = {}
        for number, (name, part) in enumerate(self.methods.items()):
            with share(len(self.methods) - number):
                found, lower = part.proved(quantity, at)
            tables.append(found)
            bounds[name] = _bracket(min(found.values()), lower)
        bound = reduce(Bound.maximum, bounds.values())
        if math.isinf(bound.upper):
            raise NotCertifiedError(self._why(quantity, at))
        if bound.lower is not None:
            bound = _bracket(bound.upper, max(bound.lower, self._one_run(base)))
        # A loss that is bounded in one direction only has a closed form there only.
        names = [name for name in tables[0] if all(name in table for table in tables)]
        worst = {name: max(table[name] for table in tables) for name in names}
        return SelectionBound(bound, base, worst, bounds)

    def _one_run(self, base: Answer) -> float:
        """Return a lower end that one run proves.

        Where results are ranked by lot, the best is one of them by lot: what is published has the
        law of one run, with probability P(K > 0).
        """
        none = self.runs.no_runs.upper
        lower = base.proved.lower
        if lower is None:
            return 0.0
        if base.quantity == "delta":
            return lower * (1.0 - none) * (1.0 - 4.0 * UNIT)
        return lower if none == 0.0 else 0.0

    def _why(self, quantity: Quantity, at: float) -> str:
        """Say why there is no finite epsilon."""
        mass = max(each.forward.infinity_mass for each in self.methods.values())
        mean = self.runs.mean.upper
        if mass > 0.0 and quantity == "epsilon" and at <= mean * mass * (1.0 + 1e-9):
            return (
                f"one run may reveal everything with probability {mass:.6g}, and {mean:.6g} runs"
                " are expected: ask for a delta above the product"
            )
        return f"no method proves a finite epsilon for {self.runs.family} runs of this base"


def _bracket(upper: float, lower: float | None) -> Bound:
    """Return a bracket of two ends that were proved independently.

    Raises:
        DisagreementError: they exclude each other.
    """
    if lower is not None and lower > upper:
        raise DisagreementError(
            f"an order of results costs {lower!r}, but a bound on all orders is {upper!r}"
        )
    return Bound(upper, lower)
