"""`select --thresholds`: what candidates that differ in privacy have to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Proof, round_down
from privcalc.commands.questions import common_relation, question, relation_in_force
from privcalc.commands.select import runs_remark
from privcalc.render.report import OneSided, Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.relation import Relation
    from privcalc.spec.tree import Parameters


def thresholds(
    runs: Parameters, one_run: float, delta: float, relation: Relation | None, specs: Sequence[str]
) -> Report:
    """Answer `select --thresholds`: what candidates have to keep, and how often each may be used.

    Args:
        runs: the distribution of the number of runs.
        one_run: epsilon of one run at delta, which is `--epsilon-q`.
        delta: of the whole.
        relation: the relation that the command line asks for.
        specs: candidates, each with a free count.
    """
    from privcalc.accounting.directions import Method
    from privcalc.accounting.select import tuning
    from privcalc.spec.brief import brief

    questions = [question(spec, holes=True, relation=relation) for spec in specs]
    candidates = tuple(each.tree for each in questions)
    relation = relation_in_force(relation, common_relation(questions))
    found = tuning(candidates, runs, one_run, delta, relation=relation)
    best, published = found.thresholds.tight, found.thresholds.published
    kept = (
        "every candidate keeps delta_1 at epsilon_1, and"
        f" {round_down(best.delta_hat)} at epsilon_hat, in both directions"
    )
    paper = f"charges {published.total:.6g} with epsilon_1 = {round(published.epsilon_1, 12):.6g}"
    names = [brief(each.tree, each.text) for each in questions]
    counts = [f"{name}: {count}" for name, count in zip(names, found.counts, strict=True)]
    one_sided = (
        "thresholds bound all candidates that keep them; these may cost less, and select without"
        " --thresholds answers what the best of several runs of one costs, from both sides"
    )
    return Report(
        command="select",
        spec=found.tree,
        relation=found.relation,
        query={"delta": delta, "epsilon_q": one_run},
        result={
            # A candidate that keeps what is printed keeps what was proved.
            "thresholds": {
                name: OneSided(getattr(best, name), is_upper=False)
                for name in ("epsilon_1", "delta_1", "epsilon_hat")
            },
            "epsilon": found.total,
            "counts": list(found.counts),
            "runs": dict(found.runs),
        },
        method=Method(Proof.CLOSED_FORM, tolerance_met=True),
        tables=(("thresholds", "epsilon"),),
        remarks=(
            runs_remark(found.runs),
            ("thresholds", kept),
            ("paper", paper),
            *(("count", words) for words in counts),
        ),
        candidates=candidates,
        reasons=(one_sided,),
    )
