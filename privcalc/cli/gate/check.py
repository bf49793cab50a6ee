"""The gate: all that touches the data, composed, against the budget of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Verdict
from privcalc.cli.gate.file import STANDARD_INPUT, BudgetFile, Part, read_budget_file
from privcalc.cli.output import Printer
from privcalc.errors import FileError, PrivcalcError, UsageError
from privcalc.exact import distinct
from privcalc.record import replace
from privcalc.render.words import number
from privcalc.reporting.budget import Budget
from privcalc.reporting.questions import relation_in_force, summed

if TYPE_CHECKING:
    from privcalc.cli.exit_status import ExitStatus
    from privcalc.cli.output import Output
    from privcalc.render.report import Report, Row
    from privcalc.reporting.compose import Composing


def check_file(file: str, ask: Composing, output: Output) -> ExitStatus:
    """Check the budget of a file, and print what each part costs by itself, and all together.

    Args:
        file: its name, or `-` for standard input.
        ask: what the command line asks: a relation, a tolerance, an engine.
        output: how to print.

    Raises:
        FileError: something in the file is wrong, or cannot be answered; it says in which line.
    """
    found = read_budget_file(file)
    try:
        whole = summed([part.question for part in found.parts])
        asked = relation_in_force(ask.relation, found.relation)
        relation = relation_in_force(asked, whole.relation)
        if relation is None:
            from privcalc.accounting.realize import default_relation

            relation = default_relation(whole.tree)
    except UsageError as error:
        raise FileError(error, found.file, None) from None
    budget = Budget(max_epsilon=found.epsilon)
    ask = replace(ask, deltas=(found.delta,), relation=relation, budget=budget)
    costs = _costs(found, ask)
    try:
        (report,) = ask(whole)
    except PrivcalcError as error:
        raise FileError(error, found.file, None) from None
    return Printer(output).print([_with_parts(report, found, costs)])


def _costs(found: BudgetFile, ask: Composing) -> list[Bound]:
    """Return what each part costs by itself, at the delta and under the relation of the whole."""
    ask = replace(ask, budget=Budget())
    known: dict[object, Bound] = {}
    costs = []
    for part in found.parts:
        key = distinct(part.question.tree)
        if key not in known:
            known[key] = _cost(found.file, part, ask)
        costs.append(known[key])
    return costs


def _cost(file: str, part: Part, ask: Composing) -> Bound:
    try:
        (report,) = ask(part.question)
    except PrivcalcError as error:
        raise FileError(error, file, part.line) from None
    bound = report.result["epsilon"]
    if not isinstance(bound, Bound):
        raise TypeError("epsilon at a delta is a bracket")
    return bound


def _with_parts(report: Report, found: BudgetFile, costs: list[Bound]) -> Report:
    """Put the parts into the answer for the whole, and point at the one that costs most."""
    total, check = report.result["epsilon"], report.check
    if check is None or not isinstance(total, Bound):
        raise TypeError("a budget is checked")
    rows: list[Row] = [
        {"name": part.name, "epsilon": cost} for part, cost in zip(found.parts, costs, strict=True)
    ]
    most = max(range(len(costs)), key=lambda index: costs[index].upper)
    worst = found.parts[most]
    if check.verdict is not Verdict.WITHIN and len(costs) > 1:
        cost = costs[most].decimals()[1]
        words = f"{check.sentence}; {worst.name} costs most, {cost} by itself"
        check = replace(check, sentence=words)
    notes = [(part.name, part.note) for part in found.parts if part.note]
    return replace(
        report,
        result={"epsilon": total, "mechanisms": rows},
        tables=(("mechanisms",),),
        closing=(
            {"name": "total", "epsilon": total},
            {"name": "budget", "at least": "", "at most": number(found.epsilon)},
        ),
        remarks=(*report.remarks, *notes),
        check=check,
        # Nothing can be shown beside a line of a pipe.
        source=None if found.file == STANDARD_INPUT else (found.file, worst.line),
    )
