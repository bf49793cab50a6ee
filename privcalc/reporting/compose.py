"""What `compose` asks of a specification, and its answers as reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Verdict
from privcalc.record import record, replace
from privcalc.render.words import proof_remarks
from privcalc.reporting.questions import explained, relation_in_force

if TYPE_CHECKING:
    from privcalc.accounting.directions import Answer, ComposedAnswers
    from privcalc.relation import Relation
    from privcalc.render.report import Estimate, Quantity, Report
    from privcalc.reporting.budget import Budget
    from privcalc.spec.read import Question


@record
class Composing:
    """What is asked of every specification of one invocation; `hints` cost more work."""

    deltas: tuple[float, ...]
    epsilons: tuple[float, ...]
    relation: Relation | None
    tolerance: float
    engine: str
    budget: Budget | None = None
    hints: bool = True

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question."""
        from privcalc.accounting import compose as accounting
        from privcalc.accounting.realize import explaining

        with explaining() as seen:
            composition = accounting.compose(
                question.tree,
                relation=relation_in_force(self.relation, question.relation),
                deltas=self.deltas,
                epsilons=self.epsilons,
                tolerance=self.tolerance,
                engine=self.engine,
                max_epsilon=None if self.budget is None else self.budget.max_epsilon,
                max_delta=None if self.budget is None else self.budget.max_delta,
            )
        reports = [self._report(question, composition, each) for each in composition.answers]
        return explained(reports, seen, self.engine) if self.hints else reports

    def _report(self, question: Question, composition: ComposedAnswers, answer: Answer) -> Report:
        from privcalc.render.report import Report

        check = None
        if self.budget is not None and answer.bound is not None:
            check = self.budget.check(
                answer.quantity,
                answer.query,
                answer.bound,
                narrowed=answer.method.tolerance_met,
            )
        failed = check is not None and check.verdict is not Verdict.WITHIN
        # calibrate decides with all engines; what one of them leaves open it would not see.
        if check is not None and failed and self.engine == "auto" and self.hints:
            from privcalc.reporting.budget import suggestion

            words = suggestion(
                question.tree,
                answer,
                check,
                composition.relation,
                questions=len(composition.answers),
            )
            check = replace(check, sentence=check.sentence + words)
        return Report(
            command="compose",
            spec=question.tree,
            relation=composition.relation,
            sampling=composition.sampling,
            query=answer.query,
            result=_result(answer),
            method=answer.method,
            directions=answer.directions,
            check=check,
            remarks=proof_remarks(answer.method, answer.query),
            written=question.text,
        )


def _result(answer: Answer) -> dict[str, Quantity | Estimate]:
    """Put an answer into the form of the output contract."""
    from privcalc.render.report import Estimate

    if answer.quantity == "profile":
        return {
            "epsilon": [epsilon for epsilon, _ in answer.profile],
            "delta": [bound for _, bound in answer.profile],
        }
    if answer.bound is not None:
        return {answer.quantity: answer.bound}
    if answer.estimate is None:
        raise AssertionError("an answer has a bracket or an estimate")
    return {answer.quantity: Estimate(answer.estimate)}
