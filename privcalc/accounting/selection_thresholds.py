"""What candidates that differ in their privacy have to keep, and how long each may run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.accounting.calibrate import calibrate
from privcalc.accounting.realize import default_relation
from privcalc.accounting.selection import facts_of
from privcalc.bounds import Bound, Verdict
from privcalc.calibration.target import CalibrationTarget
from privcalc.errors import UsageError
from privcalc.record import record
from privcalc.spec.brief import brief
from privcalc.spec.registry import holes
from privcalc.spec.tree import Leaf, filled
from privcalc.wrappers.select import runs_of, selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.relation import Relation
    from privcalc.selection.thresholds import ProfileThresholds, TuningThresholds
    from privcalc.spec.tree import Node, Parameters

# Relative width with which one use of a candidate is judged.
TOLERANCE = 1e-7
EXAMPLE = "gaussian:sigma=2@poisson:q=0.01@_"


@record
class TunedThresholds:
    """Thresholds, and the counts that they allow.

    Attributes:
        tree: the Gaussian mechanism that the thresholds are from, with its selection.
        relation: the neighbouring relation in force.
        thresholds: the published choice, and the best.
        total: epsilon of the whole: an upper end.
        runs: what is known of the number of runs, by name.
        counts: the largest count of each candidate that keeps both thresholds; 0 for none.
    """

    tree: Node
    relation: Relation
    thresholds: TuningThresholds
    total: Bound
    runs: dict[str, float | str]
    counts: tuple[int, ...]


def tuning(
    candidates: Sequence[Node],
    runs: Parameters,
    epsilon_q: float,
    delta: float,
    *,
    relation: Relation | None = None,
) -> TunedThresholds:
    """Return the thresholds of one run at (epsilon_q, delta), and what candidates may run.

    Args:
        candidates: each with one hole, a count.
        runs: the distribution of the number of runs, as the parameters of `@select`.
        epsilon_q: what a Gaussian mechanism that meets the thresholds has at delta.
        delta: of the whole.
        relation: the neighbouring relation; None for the default of the candidates.

    Raises:
        DomainError: a number is out of range.
        UnsupportedError: the number of runs, or a part of a candidate.
        UsageError: a candidate has no count left open, or something else.
    """
    from privcalc.selection.thresholds import tuning_thresholds

    for candidate in candidates:
        if [path[-1] for path in holes(candidate)] != ["count"]:
            raise UsageError(
                f"a candidate leaves one count open, as in {EXAMPLE}; got {brief(candidate)}"
            )
    number = runs_of(selection(Leaf("gdp", (("mu", 1.0),)), runs))
    found = tuning_thresholds(number, epsilon_q, delta)
    tree = selection(Leaf("gdp", (("mu", found.mu),)), runs)
    default = default_relation(candidates[0]) if candidates else default_relation(tree)
    relation = relation or default
    return TunedThresholds(
        tree,
        relation,
        found,
        Bound(found.tight.total),
        facts_of(number),
        tuple(_largest(candidate, found.tight, relation) for candidate in candidates),
    )


def _largest(candidate: Node, thresholds: ProfileThresholds, relation: Relation) -> int:
    """Return the largest count whose profile is below both points for certain; 0 for none."""
    points = (
        (thresholds.epsilon_1, thresholds.delta_1),
        (thresholds.epsilon_hat, thresholds.delta_hat),
    )
    targets = [CalibrationTarget("epsilon", *point) for point in points]
    once = filled(candidate, {holes(candidate)[0]: 1})
    for target in targets:
        bound, _ = target.ask(once, relation, TOLERANCE)
        if bound.verdict(target.budget) is not Verdict.WITHIN:
            return 0
    found = (calibrate(candidate, target, relation=relation) for target in targets)
    return min(int(each.sufficient) for each in found)
