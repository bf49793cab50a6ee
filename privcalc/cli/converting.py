"""What `convert` asks of every specification of one invocation, and its answers as reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privcalc.cli.questions import relation_in_force

if TYPE_CHECKING:
    from privcalc.accounting.convert import Conversion, Converted, Target, Value
    from privcalc.relation import Relation
    from privcalc.render.report import Quantity, Report
    from privcalc.spec.read import Question

POINTS = 21
# What each number of `--to risk` means, and where it is from.
DEFINITIONS = {
    "advantage": "largest true positive minus false positive rate of a membership attack (Yeom et"
    " al. 2018)",
    "tpr": "largest true positive rate of an attack with that false positive rate (Dong, Roth, Su"
    " 2022)",
    "bayes_success": "largest chance of a right guess, given the prior chance that the record is"
    " there",
    "reconstruction": "largest chance of guessing a secret that without the output is guessed with"
    " the baseline chance (Hayes, Mahloujifar, Balle 2023; Kulynych et al. 2025)",
}
TABLES = {"risk": (("advantage",), ("tpr_at_fpr",), ("bayes_success",), ("reconstruction",))}


@dataclass(frozen=True, slots=True)
class Converting:
    """What is asked of every specification of one invocation."""

    to: Target
    deltas: tuple[float, ...]
    epsilons: tuple[float, ...]
    orders: tuple[float, ...]
    points: int | None
    rates: tuple[float, ...]
    priors: tuple[float, ...]
    records: int
    relation: Relation | None
    tolerance: float
    engine: str

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question."""
        from privcalc.accounting import convert as accounting

        asked = accounting.Question(
            to=self.to,
            deltas=self.deltas,
            epsilons=self.epsilons,
            orders=self.orders,
            points=self.points or POINTS,
            alphas=self.rates if self.to == "tradeoff" else (),
            false_positive_rates=self.rates if self.to == "risk" else (),
            priors=self.priors,
            records=self.records,
        )
        found = accounting.convert(
            question.tree,
            asked,
            relation=relation_in_force(self.relation, question.relation),
            tolerance=self.tolerance,
            engine=self.engine,
        )
        return [self._report(found, answer) for answer in found.answers]

    def _report(self, found: Conversion, answer: Converted) -> Report:
        from privcalc.render.report import Report
        from privcalc.spec.text import to_text

        remarks = [("conversion", found.kind), *_proof(answer)]
        if self.to == "risk":
            remarks += DEFINITIONS.items()
        return Report(
            command="convert",
            spec=found.tree,
            text=to_text(found.tree),
            relation=found.relation,
            sampling=found.sampling,
            query=answer.query,
            result={name: _quantity(name, value) for name, value in answer.result.items()},
            method=replace(answer.method, kind=found.kind.partition(":")[0]),
            directions=answer.directions,
            tables=TABLES.get(self.to, ()),
            remarks=tuple(remarks),
            details=_textbook(found, answer),
        )


def _quantity(name: str, value: Value) -> Quantity:
    """Put an answer into the form that reports have."""
    from privcalc.render.report import OneSided

    if name == "omega" and isinstance(value, float):
        return OneSided(value, is_upper=False)
    if isinstance(value, dict):
        return {name: OneSided(number) for name, number in value.items()}
    return [*value] if isinstance(value, tuple) else value


def _proof(answer: Converted) -> list[tuple[str, str]]:
    """Name the Renyi order that proved an answer, where nothing better did."""
    from privcalc.render.words import renyi_remark
    from privcalc.render.written import written

    method = answer.method
    if method.order is None:
        return []
    at = "".join(f"at {name} {written(value)}: " for name, value in answer.query.items())
    return [("proof", at + renyi_remark(method.order, method.conversion))]


def _textbook(found: Conversion, answer: Converted) -> tuple[str, ...]:
    """Return what textbook formulas say of the same question, for -v."""
    if "delta" not in answer.query or "epsilon" not in answer.result:
        return ()
    from privcalc.accounting.classical import comparisons
    from privcalc.render.words import number

    return tuple(
        f"{each.name}: {number(float(f'{each.epsilon:.12g}'))}, {each.condition}"
        for each in comparisons(found.tree, answer.query["delta"])
    )
