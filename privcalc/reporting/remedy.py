"""What would bring a specification within its budget: the noise that calibrate finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.errors import PrivcalcError
from privcalc.render.words import number

if TYPE_CHECKING:
    from privcalc.accounting.answer import Answer
    from privcalc.relation import Relation
    from privcalc.render.report import Check
    from privcalc.spec.tree import Node


# A hint is worth a second of work; rough brackets prove that it fits, and it should not be far from
# the least that would.
WORK, TOLERANCE, FAR = 1e7, 1e-3, 0.01
# Of more mechanisms with noise it takes longer.
MOST_NOISES = 50


def remedy(
    tree: Node, answer: Answer, check: Check, relation: Relation, *, questions: int = 1
) -> str:
    """Return a clause that names the noise that would fit, or "" where none is soon found.

    Of several mechanisms with noise all are scaled together.

    Args:
        tree: the specification.
        answer: what it costs.
        check: the budget check that it failed.
        relation: the neighbouring relation in force.
        questions: how many hints share the work that one may cost.
    """
    from privcalc.accounting.calibrate import calibrate
    from privcalc.accounting.noise import emptied, noise
    from privcalc.calibration.target import CalibrationTarget
    from privcalc.spec.tree import holes

    found = noise(tree)
    if not 0 < len(found) <= MOST_NOISES:
        return ""
    # delta(epsilon) <= D where epsilon(D) <= epsilon.
    budget, at = check.budget, answer.query.get("delta", 0.0)
    if answer.quantity == "delta":
        budget, at = answer.query["epsilon"], check.budget
    open_tree = emptied(tree, found)
    try:
        fit = calibrate(
            open_tree,
            CalibrationTarget("epsilon", budget, at),
            relation=relation,
            tolerance=TOLERANCE,
            ratio=[found[path] for path in holes(open_tree)] if len(found) > 1 else (),
            work=WORK / questions,
        )
    except PrivcalcError:
        # A hint is not worth an error.
        return ""
    if abs(fit.sufficient - fit.unproved) > FAR * fit.sufficient:
        return ""
    if len(found) > 1:
        return f"; all noise times {number(fit.sufficient)} would fit"
    return f"; {fit.parameter}={number(fit.sufficient)} would fit"
