"""The command `compose`: the privacy cost of a composition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import TOLERANCE
from privcalc.commands.command import command, limited
from privcalc.errors import UsageError
from privcalc.render.words import proof_remarks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.accounting.directions import Answer
    from privcalc.commands.command import Values
    from privcalc.relation import Relation
    from privcalc.render.report import Estimate, Quantity, Report
    from privcalc.spec.read import Question

EXAMPLES = """\
  privcalc compose gaussian:sigma=1.1@poisson:q=256/60000@14063 --delta 1e-5
  privcalc compose gaussian:sigma=5@100 laplace:scale=20 --epsilon 1,2 --json
  privcalc compose --file ./privacy.toml
  privcalc compose gaussian:sigma=1@50 --delta 1e-6 --sweep sigma=5..20/16
  privcalc compose gaussian:sigma=8@50 --delta 1e-6 --max-epsilon 5"""


def _prepared(values: Values) -> Values:
    if values.get("engine") == "afa" and limited(values):
        raise UsageError(
            "--engine afa gives an estimate without certificate; a budget check needs a proof"
        )
    return values


@command(
    "specs delta epsilon max_epsilon max_delta exit_zero sweep relation tolerance engine"
    " file certificate",
    examples=EXAMPLES,
    prepare=_prepared,
)
def compose(
    question: Question,
    *,
    delta: tuple[float, ...] = (),
    epsilon: tuple[float, ...] = (),
    max_epsilon: float | None = None,
    max_delta: float | None = None,
    relation: Relation | None = None,
    tolerance: float = TOLERANCE,
    engine: str = "auto",
) -> Iterator[Report]:
    """Compute the privacy cost of a composition: epsilon at each delta, or delta at each epsilon.

    With neither --delta nor --epsilon the answer is the privacy profile at 21 values of
    epsilon.
    Every number is a bracket that is proved to contain the answer.

        >>> import privcalc
        >>> answer = privcalc.compose("gaussian:sigma=5@100", delta=1e-6)
        >>> round(answer.epsilon.upper, 6)
        10.997151
        >>> answer.epsilon.verdict(11)
        <Verdict.WITHIN: 'within'>

    Of several deltas each has an answer, and so has each of several epsilons:

        >>> [each.epsilon.upper for each in privcalc.compose("pure:epsilon=1", delta=[0, "10%"])]
        [1.0, 0.8529051013813803]
    """
    from privcalc.accounting import compose as accounting
    from privcalc.render.report import Report

    found = accounting.compose(
        question.tree,
        relation=relation,
        deltas=delta,
        epsilons=epsilon,
        tolerance=tolerance,
        engine=engine,
        max_epsilon=max_epsilon,
        max_delta=max_delta,
    )
    for answer in found.answers:
        remarks = proof_remarks(answer.method, answer.query)
        yield Report.of(found, answer, _result(answer), remarks=remarks)


def _result(answer: Answer) -> dict[str, Quantity | Estimate]:
    """Put an answer into the form of the output contract."""
    from privcalc.render.report import Estimate

    if answer.quantity == "profile":
        return {
            "epsilon": [epsilon for epsilon, _ in answer.profile],
            "delta": [bound for _, bound in answer.profile],
        }
    if answer.estimate is not None:
        return {answer.quantity: Estimate(answer.estimate)}
    return {answer.quantity: answer.proved}
