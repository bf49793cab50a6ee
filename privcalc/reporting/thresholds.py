"""What `select --thresholds` says, as a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Proof
from privcalc.reporting.questions import common_relation, question, relation_in_force
from privcalc.reporting.runs import runs_remark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.relation import Relation
    from privcalc.render.report import Quantity, Report
    from privcalc.selection.thresholds import Thresholds
    from privcalc.spec.tree import Parameters


def thresholds_report(
    runs: Parameters,
    epsilon_q: float,
    delta: float,
    relation: Relation | None,
    specs: Sequence[str],
) -> Report:
    """Answer `select --thresholds`.

    Args:
        runs: the distribution of the number of runs.
        epsilon_q: epsilon of one run.
        delta: where it is asked.
        relation: the relation that the command line asks for.
        specs: candidates, each with its count left open.
    """
    from privcalc.accounting.answer import Method
    from privcalc.accounting.realize import sampling_words
    from privcalc.accounting.selection_thresholds import tuning
    from privcalc.render.report import OneSided, Report
    from privcalc.spec.text import to_text

    questions = [question(spec, holes=True, relation=relation) for spec in specs]
    candidates = [each.tree for each in questions]
    relation = relation_in_force(relation, common_relation(questions))
    found = tuning(candidates, runs, epsilon_q, delta, relation=relation)
    best, published = found.thresholds.tight, found.thresholds.published
    result: dict[str, Quantity] = {
        "thresholds": {
            # A candidate that keeps what is printed keeps what was proved.
            "epsilon_1": OneSided(best.epsilon_1, is_upper=False),
            "delta_1": OneSided(best.delta_1, is_upper=False),
            "epsilon_hat": OneSided(best.epsilon_hat, is_upper=False),
        },
        "epsilon": found.total,
        "counts": list(found.counts),
        "runs": dict(found.runs),
    }
    remarks = [
        runs_remark(found.runs),
        ("thresholds", _meaning(best)),
        ("paper", f"charges {published.total:.6g} with epsilon_1 = {published.epsilon_1:.6g}"),
    ]
    remarks += [
        ("count", f"{to_text(tree)}: {count}")
        for tree, count in zip(candidates, found.counts, strict=True)
    ]
    return Report(
        command="select",
        spec=found.tree,
        relation=found.relation,
        sampling=sampling_words(candidates[0]) if candidates else "none",
        query={"delta": delta, "epsilon_q": epsilon_q},
        result=result,
        method=Method(Proof.CLOSED_FORM, tolerance_met=True),
        tables=(("thresholds", "epsilon"),),
        remarks=tuple(remarks),
    )


def _meaning(thresholds: Thresholds) -> str:
    from privcalc.bounds import round_down

    return (
        "every candidate keeps delta_1 at epsilon_1, and"
        f" {round_down(thresholds.delta_hat)} at epsilon_hat, in both directions"
    )
