"""What `select` asks of a specification, and its answers as reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.record import record
from privcalc.reporting.budget import Budget
from privcalc.reporting.questions import relation_in_force
from privcalc.reporting.runs import runs_remark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.accounting.select import Selected, Selection
    from privcalc.relation import Relation
    from privcalc.render.report import Named, Quantity, Report
    from privcalc.spec.read import Question
    from privcalc.spec.tree import Parameters


# The columns of the table of methods.
RIVALS = ("methods", "constants", "candidates")
# What each method is, for people.
THEOREMS = {
    "paper": "as published (Koskela, Redberg, Wang 2024), at the best of its free parameter",
    "tight": "the same argument with the smallest constant that it allows",
    "pointwise": "the worst test at each outcome, instead of one ratio for all of them",
    "rdp": "Renyi divergences (Papernot, Steinke 2022), at the best orders",
    "liu_talwar": "Liu, Talwar 2019",
    "pure": "closed form for a base with a largest loss",
    "composition": "the most runs that there can be, composed",
}


@record
class Selecting:
    """What is asked of every specification of one invocation.

    Attributes:
        runs: the distribution of the number of runs, as the parameters of `@select`.
        deltas: epsilon is asked at each.
        epsilons: delta is asked at each.
        relation: the relation that the command line asks for.
        tolerance: relative width wished for of what the base costs.
        engine: for the base.
        verbose: whether -v is to say more.
        limits: what epsilon and delta are compared with.
    """

    runs: Parameters
    deltas: tuple[float, ...]
    epsilons: tuple[float, ...]
    relation: Relation | None
    tolerance: float
    engine: str
    verbose: bool = False
    limits: Budget = Budget()

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question."""
        from privcalc.accounting.select import select

        found = select(
            question.tree,
            self.runs,
            relation=relation_in_force(self.relation, question.relation),
            deltas=self.deltas,
            epsilons=self.epsilons,
            tolerance=self.tolerance,
            engine=self.engine,
        )
        return [self._report(found, answer) for answer in found.answers]

    def _report(self, found: Selection, answer: Selected) -> Report:
        from privcalc.render.report import Report

        result = _result(found, answer)
        rivals = tuple(name for name in RIVALS if name in result)
        return Report(
            command="select",
            spec=found.tree,
            relation=found.relation,
            sampling=found.sampling,
            query=answer.query,
            result=result,
            method=answer.method,
            directions=answer.directions,
            check=self.limits.check(
                answer.quantity, answer.query, answer.bound, narrowed=answer.method.tolerance_met
            ),
            tables=((answer.quantity, f"base_{answer.quantity}"), rivals),
            headings={f"base_{answer.quantity}": "one run"},
            remarks=tuple(_remarks(found, answer)),
            details=tuple(self._details(found, answer)),
        )

    def _details(self, found: Selection, answer: Selected) -> Iterator[str]:
        """Say what each method is, and what the best of them buys."""
        if not self.verbose:
            return
        from privcalc.accounting.select import candidates_of_answer
        from privcalc.render.words import number

        yield from (f"{name}: {THEOREMS[name]}" for name in answer.methods)
        mean = candidates_of_answer(found, answer)
        if mean is not None:
            times = mean / found.mean
            yield (
                f"pointwise proves the paper's price for {number(mean)} expected runs,"
                f" {times:.3g} times as many"
            )


def _result(found: Selection, answer: Selected) -> dict[str, Quantity]:
    """Put an answer into the form of the output contract; what does not apply is left out."""
    from privcalc.render.report import OneSided

    columns: dict[str, Named] = {
        "methods": {name: OneSided(value) for name, value in answer.methods.items()},
        "constants": {name: OneSided(value) for name, value in answer.constants.items()},
        "candidates": dict(answer.candidates),
    }
    result: dict[str, Quantity] = {
        answer.quantity: answer.bound,
        f"base_{answer.quantity}": answer.base,
    }
    result |= {name: column for name, column in columns.items() if column}
    result["runs"] = dict(found.runs)
    return result


def _remarks(found: Selection, answer: Selected) -> list[tuple[str, str]]:
    """Say what the runs are, and what the difference to the published bound buys."""
    remarks = [runs_remark(found.runs)]
    if answer.candidates:
        most = max(answer.candidates.values())
        times = most / found.mean
        remarks.append(
            ("candidates", "expected runs that each method proves at the price of the paper's")
        )
        if times >= 1.01:
            remarks.append(("gain", f"{times:.3g} times as many candidates at the paper's price"))
    return remarks
