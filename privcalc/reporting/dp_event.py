"""What `convert --to dp-event` asks of a specification, and its answers as reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Proof
from privcalc.record import record
from privcalc.reporting.questions import relation_in_force

if TYPE_CHECKING:
    from privcalc.relation import Relation
    from privcalc.render.report import Report
    from privcalc.spec.read import Question


@record
class Writing:
    """What is asked of every specification of one invocation."""

    relation: Relation | None

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question."""
        from privcalc.accounting.answer import Method
        from privcalc.accounting.realize import default_relation, sampling_words
        from privcalc.render.report import Report
        from privcalc.spec.events.to_event import event_text
        from privcalc.spec.registry import check_relation

        tree = question.tree
        relation = relation_in_force(self.relation, question.relation) or default_relation(tree)
        check_relation(tree, relation)
        return [
            Report(
                command="convert",
                spec=tree,
                relation=relation,
                sampling=sampling_words(tree),
                query={},
                result={"dp_event": event_text(tree, relation)},
                method=Method(Proof.CLOSED_FORM, tolerance_met=True),
            )
        ]
