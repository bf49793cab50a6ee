"""What candidates that differ in their privacy have to keep, and how long each may run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.accounting.compose import compose
from privcalc.accounting.realize import default_relation
from privcalc.bounds import Bound, Verdict
from privcalc.errors import NotCertifiedError, UsageError
from privcalc.record import record
from privcalc.spec.brief import brief
from privcalc.spec.entry import MAX_INTEGER
from privcalc.spec.registry import holes
from privcalc.spec.tree import Leaf, filled
from privcalc.wrappers.select import runs_of, selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.relation import Relation
    from privcalc.selection.thresholds import ProfileThresholds, TuningThresholds
    from privcalc.spec.tree import Node, Parameters

# Relative widths with which candidates are judged: a count is decided by far less.
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
    facts: dict[str, float | str] = {"family": number.family, **number.parameters}
    facts.setdefault("mean", number.mean.upper)
    facts["no_run"] = number.no_runs.upper
    return TunedThresholds(
        tree,
        relation,
        found,
        Bound(found.tight.total),
        facts,
        tuple(_largest(candidate, found.tight, relation) for candidate in candidates),
    )


def _largest(candidate: Node, thresholds: ProfileThresholds, relation: Relation) -> int:
    """Return the largest count that keeps both thresholds for certain."""
    path = holes(candidate)[0]

    def keeps(count: int) -> bool:
        return _keeps(filled(candidate, {path: count}), thresholds, relation)

    if not keeps(1):
        return 0
    good, bad = 1, 2
    while keeps(bad):
        if bad == MAX_INTEGER:
            raise UsageError(f"{brief(candidate)} keeps the thresholds at every count")
        good, bad = bad, min(4 * bad, MAX_INTEGER)
    while bad - good > 1:
        # Counts of all sizes: halve the logarithm first.
        middle = math.isqrt(good * bad) if bad > 2 * good else (good + bad) // 2
        middle = min(max(middle, good + 1), bad - 1)
        good, bad = (middle, bad) if keeps(middle) else (good, middle)
    return good


def _keeps(tree: Node, thresholds: ProfileThresholds, relation: Relation) -> bool:
    """Say whether the profile of a candidate is below both points for certain."""
    points = (
        (thresholds.epsilon_1, thresholds.delta_1),
        (thresholds.epsilon_hat, thresholds.delta_hat),
    )
    return all(_below(tree, relation, *point) for point in points)


def _below(tree: Node, relation: Relation, epsilon: float, delta: float) -> bool:
    """Say whether delta at epsilon is at most a bound, by the first engine that can tell.

    Short runs have a delta that is tiny, and takes the engines long that are most precise.
    """
    for engine in ("contour", "rdp", "auto"):
        try:
            found = compose(
                tree, relation=relation, epsilons=(epsilon,), tolerance=TOLERANCE, engine=engine
            )
        except NotCertifiedError:
            continue
        verdict = found.answers[0].proved.verdict(delta)
        if verdict is not Verdict.UNDECIDED:
            return verdict is Verdict.WITHIN
    return False
