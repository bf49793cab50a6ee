"""The command `compose`: what the whole costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Verdict
from privcalc.cli import choices
from privcalc.cli.answering import answered, proof
from privcalc.cli.check import read_budget
from privcalc.cli.numbers import read_all, read_delta, read_epsilon, read_tolerance
from privcalc.cli.questions import relation_in_force
from privcalc.errors import UsageError
from privcalc.record import record, replace

if TYPE_CHECKING:
    from privcalc.accounting.answer import Answer, Composition
    from privcalc.cli import options
    from privcalc.cli.check import Budget
    from privcalc.cli.output import Output
    from privcalc.relation import Relation
    from privcalc.render.report import Estimate, Quantity, Report
    from privcalc.spec.read import Question


@record
class Composing:
    """What is asked of every specification of one invocation."""

    deltas: tuple[float, ...]
    epsilons: tuple[float, ...]
    relation: Relation | None
    tolerance: float
    engine: str
    budget: Budget
    hints: bool = True

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question."""
        from privcalc.accounting import compose as accounting

        composition = accounting.compose(
            question.tree,
            relation=relation_in_force(self.relation, question.relation),
            deltas=self.deltas,
            epsilons=self.epsilons,
            tolerance=self.tolerance,
            engine=self.engine,
            max_epsilon=self.budget.max_epsilon,
            max_delta=self.budget.max_delta,
        )
        return [self._report(question, composition, each) for each in composition.answers]

    def _report(self, question: Question, composition: Composition, answer: Answer) -> Report:
        from privcalc.render.report import Report

        check = None
        if answer.bound is not None:
            check = self.budget.check(
                answer.quantity,
                answer.query,
                answer.bound,
                narrowed=answer.method.tolerance_met,
            )
        failed = check is not None and check.verdict is not Verdict.WITHIN
        # calibrate decides with all engines; what one of them leaves open it would not see.
        if check is not None and failed and self.engine == "auto" and self.hints:
            from privcalc.cli.remedy import remedy

            words = remedy(
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
            remarks=proof(answer.method, answer.query),
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


EXAMPLES = """\
\b
Examples:
  privcalc compose gaussian:sigma=1.1@poisson:q=256/60000@14063 --delta 1e-5
  privcalc compose gaussian:sigma=5@100 laplace:scale=20 --epsilon 1,2 --json
  privcalc compose gaussian:sigma=8@50 --delta 1e-6 --max-epsilon 5"""


def compose(
    *,
    specs: options.SpecsArgument,
    delta: options.DeltaOption = None,
    epsilon: options.EpsilonOption = None,
    max_epsilon: options.MaxEpsilonOption = None,
    max_delta: options.MaxDeltaOption = None,
    relation: options.RelationOption = None,
    tolerance: options.ToleranceOption = "1e-9",
    engine: options.EngineOption = choices.Engine.AUTO,
    output: Output,
    file: options.FileOption = None,
) -> int:
    """Say what everything together costs: epsilon at each delta, or delta at each epsilon.

    With neither --delta nor --epsilon the answer is the privacy profile at 21 values of
    epsilon.
    Every number is a bracket that is proved to contain the answer.
    """
    if file is not None:
        raise UsageError("--file is not available yet; write the specification as SPEC, or pipe -")
    deltas = read_all(read_delta, "--delta", delta)
    epsilons = read_all(read_epsilon, "--epsilon", epsilon)
    estimate = engine is choices.Engine.AFA
    if output.terse and not (deltas or epsilons):
        raise UsageError("-t prints one number for each question: add --delta D or --epsilon E")
    if output.terse and estimate:
        raise UsageError("-t prints a proved number; --engine afa gives an estimate only")
    ask = Composing(
        deltas,
        epsilons,
        choices.relation_named(relation),
        read_tolerance("--tolerance", tolerance),
        engine.value,
        read_budget(
            max_epsilon,
            max_delta,
            deltas=bool(deltas),
            epsilons=bool(epsilons),
            estimate=estimate,
        ),
        hints=not output.quiet,
    )
    return answered(specs, ask, output)
